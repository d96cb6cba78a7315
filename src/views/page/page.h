// A chart on a page: the picture, and its numbers as a table and as a CSV.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "chart/chart.h"
#include "decide/compare/change.h"
#include "decide/recommend/recommend.h"
#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

struct FigureTable {
  std::vector<std::string> titles = {};
  std::vector<std::vector<std::string>> rows = {};
  // Columns from here on are numbers.
  std::size_t first_number = 0;
  bool rows_are_points = false;  // the first number leads to the runs of the point
};

// A table has at most so many rows; the CSV of a figure has all.
inline constexpr std::size_t kMostFigureRows = 500;

// `id` begins the ids of the charts, and is the name of the CSV. Several charts are side by side.
// `before` and `after` are elements around them.
std::string chart_figure(std::vector<Chart> charts, const FigureTable& table, const std::string& id,
                         std::string_view before = {}, std::string_view after = {});

// A table of its own. `others` says where rows beyond the first kMostFigureRows are.
std::string html_table(const FigureTable& table,
                       std::string_view others = "name fewer files to see others");

// ---- Text of files as HTML, links and CSV have it: whatever it is, it stays text.

// Appends a text on one line, also within attributes in double quotes. What could be markup is
// escaped, control characters become '?', and bytes that are not UTF-8 U+FFFD.
void append_html(std::string& out, std::string_view text);
std::string html(std::string_view text);

// At most so many characters of a text, on one line of valid UTF-8: its beginning and, since what
// tells paths apart is at their end, more of its end, with an ellipsis between them.
std::string cut_text(std::string_view text, std::size_t most_characters);

// A path as a relative link has it.
std::string link_text(std::string_view path);

// The relative path from a folder to a file; both are absolute and without links.
std::string path_between(std::string_view from_folder, std::string_view to_file);

// A file as a link: nothing is fetched.
std::string data_link(std::string_view media_type, std::string_view bytes);

// ---- The curve of a run in a report, and its numbers in few characters.

// ---- Numbers of 64 levels as a text of one character each, for what a page holds by the thousand

inline constexpr int kCompactLevels = 64;
inline constexpr std::string_view kCompactCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Stands for a number that is missing: that is no level.
inline constexpr char kCompactMissing = '.';

// `levels` are limited to 0 to 63.
std::string compact_numbers(std::span<const std::optional<int>> levels);
// What a character stands for; nullopt: a missing number, or not one of ours.
std::optional<int> compact_level(char character);

// ---- The power of one run as a small curve

// A curve shows the window and this share of its length before and after it.
inline constexpr double kCurveMargin = 0.1;
inline constexpr std::size_t kCurveColumns = 40;

// The mean power of the GPUs, in columns of equal width.
struct RunCurve {
  struct Range {
    double low_w = 0;
    double high_w = 0;
  };
  std::vector<std::optional<Range>> columns;  // nullopt: unknown
  double peak_w = 0;

  // The peak, or what the curve usually is, three times, if the peak is a spike that would leave
  // nothing to see of other curves on its scale.
  double scale_w() const;
};

// From lines of the sum of all GPUs over Unix time.
RunCurve run_curve(const std::vector<Polyline>& sum, std::size_t gpus, Window window);

// A curve in compact numbers, two for each column: its lowest and its highest power, or the other
// way round where the curve falls. Level 0 is 0 W, the last one `scale_w` and more.
std::string compact_curve(const RunCurve& curve, double scale_w);

// The same as the data of an SVG path, in a view box of kCurveViewBox. The script of a page draws
// the same.
std::string curve_path(const std::string& compact);
inline constexpr const char* kCurveViewBox = "0 0 39 63";

// ---- What a report shows: its runs, and the points that the repeats of each configuration make.

enum class ReportQuantity {
  energy_per_token,
  energy_per_total_token,
  energy_per_query,
  gpu_power,
  energy,
  duration,
  throughput,
  input_throughput,
  interactivity,
  prefill_power,
  decode_power,
  prefill_worker_power,
  decode_worker_power,
  good_requests,
  energy_per_good_token,
  prefill_energy_per_good_token,
  decode_energy_per_good_token,
  missed_energy,
  temperature,
  utilization,
};
inline constexpr std::size_t kReportQuantities = 20;

// The metric by which energy is divided by work in a whole report.
struct EnergyMetric {
  std::string_view key;      // "joules_per_output_token"
  std::string_view unit;     // "J/output token"
  std::string_view formula;  // "energy / output tokens"
};
// The first that some run `has`; joules_per_output_token if none has any.
const EnergyMetric& energy_metric_of(const std::function<bool(std::string_view key)>& has);

struct QuantityFacts {
  std::string key;          // of its column
  std::string title;        // of an axis: "energy (J/output token)"
  std::string column = {};  // of a column: "J/output token"
  double column_unit = 1;   // that its numbers are divided by
  std::string unit = {};    // "J/output token"
  std::string formula;      // what it is, in a few words
};
QuantityFacts facts_of(ReportQuantity quantity, const EnergyMetric& metric);

// Nullopt: unknown, which is not 0. Power and energy are known of valid runs only.
std::optional<double> quantity_of(const PublishedRun& run, ReportQuantity quantity,
                                  const EnergyMetric& metric);
// Its interval between runs on the same boards; nullopt: the record states none.
std::optional<Spread> repeatability_of(const PublishedRun& run, ReportQuantity quantity,
                                       const EnergyMetric& metric);
struct ReportRun {
  PublishedRun run;
  bool is_computed_here = false;       // for this report; nothing of it was written
  std::optional<double> limit_w = {};  // of the power of a GPU; nullopt: unknown
  Boxed<RunCurve> curve = {};

  // From arrange_runs().
  std::size_t name_begin = 0;
  std::size_t name_end = 0;
  std::size_t hardware = 0;  // among ReportRuns::hardware
  Shared<Configuration> configuration = {};
  std::optional<std::size_t> point = {};  // among ReportRuns::points

  // Without the folders and the name of a file that all share.
  std::string_view name() const {
    return std::string_view(run.name).substr(name_begin, name_end - name_begin);
  }
};

// The valid runs of one configuration.
struct ReportPoint {
  Shared<Configuration> configuration;
  std::string label;  // the members that differ from those of others, without the hardware
  std::size_t hardware = 0;
  std::vector<std::size_t> runs;  // each measurement once
  std::array<Boxed<RepeatStatistics>, kReportQuantities> values = {};

  const Boxed<RepeatStatistics>& operator[](ReportQuantity quantity) const {
    return values[static_cast<std::size_t>(quantity)];
  }
};

// What a chart shows of a point, with its interval of 95 % if that is known.
struct PointValue {
  double mean = 0;
  std::optional<ErrorBar> interval = {};
};
std::optional<PointValue> point_value(const std::optional<RepeatStatistics>& statistics);
std::string shown_value(const PointValue& value);

struct ReportRuns {
  std::vector<ReportRun> runs;
  const EnergyMetric* metric = nullptr;    // by which all of them are judged
  std::vector<std::string> hardware = {};  // sorted
  Configuration shared = {};               // members that all runs have with the same value
  std::vector<std::string> varying = {};   // the keys of the others, without that of the hardware
  std::vector<ReportPoint> points = {};    // in the order of their configurations
  std::string boundary = "GPU boards";     // what was measured, of the valid runs
  FacilityRates rates = {};                // for cost and carbon; none: not asked for
  std::size_t copies = 0;                  // runs that are copies of a measurement: no repeats
  // Those with a row on the page: all, or a sample with as many of each configuration as fit.
  std::vector<std::size_t> shown = {};
  // The link from the page to a run's record; empty: there are none.
  std::function<std::string(const PublishedRun&)> record_link = {};

  bool is_sampled() const { return shown.size() < runs.size(); }
  std::size_t count(PowerState state) const;
  // The runs that make a point.
  std::vector<const PublishedRun*> runs_of(const ReportPoint& point) const;
};

// Runs with equal configurations are repeats, and make a point if they are valid. `keys` make a
// configuration, with the power limit; empty: all that are known.
ReportRuns arrange_runs(std::vector<ReportRun> runs, const std::vector<std::string>& keys);

// Of more points than rows, keeps the ones whose runs have a row.
void keep_shown_points(ReportRuns& report);

// The member of a configuration; empty: there is none.
std::string_view member_in(const Configuration& configuration, std::string_view key);

// The key under which the power limit is in a configuration.
inline constexpr std::string_view kLimitKey = "power_limit_w";

// ---- What a page has besides the runs: its rules, its script, its summary.

// For the <style> element: light, dark, print, narrow screens; with the rules of charts.
std::string page_style();

// For the <script> element: filters, sorting, compact curves. The page is complete without it.
const std::string& page_script();
// What a Content-Security-Policy calls it: nothing else on the page may run.
std::string page_script_hash();

// The best configuration of each kind of work and by how much, with the counts.
std::string summary_section(const ReportRuns& report);
// What each hardware came to.
std::string hardware_section(const ReportRuns& report);
// The chart of energy and power whose axes may be chosen; empty if nothing can be drawn.
std::string energy_section(const ReportRuns& report, std::string_view source);

// Each reason why power is not valid, with how often, what it means and what to do; empty if all
// runs are valid.
std::string validity_section(const ReportRuns& report);

// ---- From the places where runs are to the page about them.

struct ReportRequest {
  std::vector<std::string> places;     // normal paths: of runs, or CSVs of power-limit sweeps
  std::string title = {};              // empty: by the places
  std::vector<std::string> keys = {};  // that make a configuration; empty: all that are known
  std::string limit_key = {};  // the member with the power limit; empty: those that are known
  // The power limit of runs whose own is not known; 0: the one that the maker of their GPU states.
  std::optional<double> otherwise_limit_w = {};
  FacilityOptions facility = {};  // energy of the facility, cost and carbon
  Slo slo = {};                   // the configurations that keep it
  // Of so many runs, the first ones, the power curves are read from their recordings; nullopt: of
  // all if there are at most kMostRunsWithCurves, and of none if there are more.
  std::optional<std::size_t> curves = {};
  std::string out = {};    // normal path of the page; empty: unknown. Links are relative to it.
  RunSpec measuring = {};  // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};
inline constexpr std::size_t kMostRunsWithCurves = 200;

struct Report {
  std::string html;
  // Writes the CSV of all runs, in pieces, for the file next to the page, and consumes them; empty:
  // all runs are on the page.
  std::function<void(const std::function<void(std::string_view)>&)> write_csv;
  std::size_t runs = 0;
  std::size_t valid = 0;
  std::size_t sweeps = 0;
  std::size_t clock_sweeps = 0;       // of these
  std::vector<std::string> warnings;  // files that were passed over, and why
  std::vector<std::string> notes;
};

// The name of a page with another ending.
std::string csv_of_page(const std::string& page);

// Changes nothing. Throws FileError for a place that cannot be opened, Error for one that holds
// something else.
Report make_report(const ReportRequest& request);

// ---- The parts of a report: its table of runs, its sweeps over power limits with their charts,
// and the page of all.

// ---- The charts of a sweep over power limits

// What was measured at one limit; nullopt: unknown.
struct LimitPoint {
  double limit_w = 0;
  std::size_t n = 0;
  std::optional<PointValue> throughput = {};
  std::optional<PointValue> temperature = {};
  std::optional<PointValue> utilization = {};
  std::optional<PointValue> time = {};
  std::optional<PointValue> energy = {};
  std::string note = {};  // why it cannot be chosen; empty: it can
};

struct LimitSweep {
  std::string name;
  std::string source = {};    // for captions; empty: that of the page
  std::size_t hardware = 0;   // its colour
  std::string n_is = "runs";  // what n counts
  std::string time_title = "time (s)";
  std::string energy_title;  // "energy (J/output token)"
  std::string energy_formula;
  std::string boundary = "GPU boards";  // what was measured
  std::string throughput_title = "throughput (output tokens/s/GPU)";
  bool is_of_clocks = false;            // then each limit is a clock, in MHz
  std::vector<LimitPoint> points = {};  // by rising limit
  std::optional<double> recommended_w = {};
  std::optional<double> runner_up_w = {};
  std::optional<double> margin = {};  // by which the runner-up is worse; 0.01: 1 %
  std::string verdict = {};           // for people: what is recommended and why, or why nothing is

  const char* unit() const { return is_of_clocks ? "MHz" : "W"; }
};

struct LimitCharts {
  std::vector<Chart> charts;  // side by side
  FigureTable table;
  std::vector<std::string> missing;  // quantities that no point has
};
LimitCharts limit_charts(const LimitSweep& sweep, std::string_view source);

// ---- Sweeps over power limits for charts, with what is recommended

struct LimitSweepRequest {
  std::vector<std::string> keys = {};  // that name a scenario, as in arrange_runs()
  std::string limit_key = {};
  unsigned most_threads = 1;
};

// One for each configuration that was measured at two limits or more, and one for each whose clock
// was swept, by runs whose recording was read or whose aggregate states the clock.
std::vector<LimitSweep> sweeps_of_runs(const ReportRuns& report, const LimitSweepRequest& request);

// Those of tables that a sweep tool left behind.
std::vector<LimitSweep> sweeps_of_tables(const Recommendation& recommendation);

// ---- A report as one HTML page that needs nothing else

struct ReportPage {
  std::string title = {};
  std::string subtitle = {};  // below the title; empty: none
  std::string source = {};    // for captions: "artifacts, results.json"
  ReportRuns runs = {};
  std::vector<SloFront> fronts = {};  // of `slo`
  Slo slo = {};
  std::vector<LimitSweep> sweeps = {};
  std::string curves_note = {};              // why there are no curves; empty: there are
  std::string csv_name = {};                 // of the file with all runs; empty: there is none
  std::vector<std::string_view> notes = {};  // what was passed over; they outlive the page
};

// The same page gives the same bytes, which are also well-formed XML.
std::string page_html(ReportPage& page);

// ---- The table of runs: one row each

// Up to so many curves are drawn here, and seen without a script; of more, the page holds the
// compact numbers, which the script draws.
inline constexpr std::size_t kMostDrawnCurves = 500;

// Of more runs, so many have a row.
inline constexpr std::size_t kMostRunRows = 4000;

// Members that tell runs apart have a column each, up to so many.
inline constexpr std::size_t kMostMemberColumns = 8;

// With the id "runs". A column that no run has a value for is left out, and so is the hardware if
// all runs have the same. The page's script filters by the attributes of the table and its cells:
//   table: data-shared, the members that all runs share, as JSON;
//   th: data-k, the column's key; data-f, it is offered as a filter;
//   tr: data-p, the number of the point that the run belongs to;
//   td: data-v, the value to filter and sort by, if it is not the text; data-c, a curve.
std::string run_table(const ReportRuns& report);

}  // namespace aggregate_power
