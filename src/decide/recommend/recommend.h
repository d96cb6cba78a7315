// Which power limit to choose, from whatever a sweep left behind.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/tree.h"
#include "base/report/json_parts.h"
#include "base/text/time_zone.h"
#include "decide/compare/compare.h"
#include "decide/recommend/sweep.h"
#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Rows of a power-limit sweep: a rate of tokens and the power at one moment, under one limit.

// The columns of the sweep tool (gpu-tune), in its order. The last two need not be there.
inline constexpr std::string_view kSweepColumns[] = {
    "timestamp",   "tokens_per_sec", "temperature",      "fan_speed",
    "memory_used", "power_draw",     "gpu_utilization",  "memory_utilization",
    "power_limit", "max_watt",       "total_power_draw", "loss"};
inline constexpr std::size_t kLeastSweepColumns = 10;

// A CSV in memory. Names are trimmed and in lower case.
struct SweepTable {
  std::string path;
  std::shared_ptr<const std::vector<std::string>> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // each with as many cells as there are columns
  std::size_t gpus = 1;                             // that a power of the table is of

  std::optional<std::size_t> column(std::string_view name) const;
  // The cell, trimmed; empty if the table has no such column.
  std::string_view cell(std::size_t row, std::string_view name) const;
};

// May be compressed. Throws FileError, and Error for a file that is not a CSV.
SweepTable read_sweep_table(const std::string& path);
// Whether all `names` are columns.
bool has_columns(const SweepTable& table, std::initializer_list<std::string_view> names);

// The number in a cell, with or without the unit W; NaN for anything else, and for what no run can
// have.
double sweep_number(std::string_view cell);

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// NaN where it is not known.
struct SweepRow {
  double unix_s = 0;
  double limit_w = kNoNumber;     // as asked for; else the one in force
  double in_force_w = kNoNumber;  // as a GPU reported it
  double tokens_per_s = kNoNumber;
  double gpu_power_w = kNoNumber;    // of one GPU
  double total_power_w = kNoNumber;  // of all GPUs
  std::shared_ptr<const std::vector<std::string>> columns = {};
  std::vector<std::string> cells = {};  // as they were
};

// The rows of one load: training or inference.
struct SweepRows {
  std::string scenario;
  std::vector<SweepRow> rows = {};
  std::size_t unusable = 0;  // without a time, a rate, a power or a limit
  std::size_t repeated = 0;  // exactly like another one
};

inline constexpr const char* kTraining = "training";
inline constexpr const char* kInference = "inference";

// Adds the rows of `table` to those of their scenario: the one given, else what a column that is
// named after it, the file's name or a column `loss` says, else inference. Stamps without an offset
// are read in `zone`.
void add_sweep_rows(const SweepTable& table, const std::string& scenario, const Zone& zone,
                    std::vector<SweepRows>& all);

// Whether the energy is that of all GPUs: each row has a total.
bool have_total_power(const SweepRows& rows);

// In an order that does not depend on that of the files and rows, each once, all with the same kind
// of power.
void settle_rows(SweepRows& rows);

// ---- Joins rows of tokens with the last sample of the GPUs before each of them.

// For each time, the last sample at or before it, if that is at most `tolerance_s` earlier.
// `samples_unix_s` is sorted; of equal times the last one counts.
std::vector<std::optional<std::size_t>> last_before(std::span<const double> times_unix_s,
                                                    std::span<const double> samples_unix_s,
                                                    double tolerance_s);

struct JoinRequest {
  std::vector<std::string> tokens;   // CSVs with timestamp and tokens_per_sec; perhaps max_watt
  std::vector<std::string> samples;  // recordings
  double tolerance_s = 5;
  RecordingOptions recording = {};
};

struct JoinedRows {
  std::vector<SweepTable> tables =
      {};                              // one for each file of tokens, with the sweep tool's columns
  std::size_t tokens = 0;              // rows
  std::size_t out_of_tolerance = 0;    // left out: no sample of some GPU is near enough
  std::size_t unreadable = 0;          // left out: their time cannot be read
  std::vector<std::string> gpus = {};  // in the samples
};

// A column that a file of tokens has itself stays as it is. Of several GPUs `power_draw` is the
// mean, `total_power_draw` the sum, `power_limit` the highest, and the others are means. Throws
// FileError and Error.
JoinedRows join_tokens(const JoinRequest& request);

// ---- Chooses the power limit of each scenario of a sweep. Pure arithmetic.

enum class LimitObjective { energy, energy_per_token, time, cost };
std::string_view name(LimitObjective objective);
std::optional<LimitObjective> limit_objective(std::string_view name);

struct LimitQuestion {
  // Nullopt: energy per token where tokens are known, else energy.
  std::optional<LimitObjective> objective = {};
  double eta = 0.5;                         // of the cost: the share of energy
  std::optional<double> max_slowdown = {};  // against the highest limit
  std::optional<double> max_power_w = {};   // of the cost, all GPUs together
};

// An interval of 95 %.
struct LimitInterval {
  double low = 0;
  double high = 0;
};

struct JudgedLimit {
  LimitGroup group;
  std::optional<double> value = {};  // of the objective; the least is the best
  std::optional<LimitInterval> interval = {};
  std::optional<double> slowdown = {};
  std::optional<double> time_s = {};  // of rows all together; of runs and epochs the mean
  std::optional<double> tokens = {};
  std::optional<double> energy_j = {};
  std::optional<double> joules_per_token = {};

  // It can win, although nothing says that the limit was in force.
  bool lacks_confirmation() const { return group.state == LimitState::ok && !group.is_confirmed; }
  bool can_win() const { return group.state == LimitState::ok && value.has_value(); }
};

struct LimitChoice {
  std::string scenario;
  LimitObjective objective = LimitObjective::energy;
  bool has_tokens = false;
  bool is_of_rows = false;
  bool is_of_clocks = false;  // then each limit is a clock, in MHz
  std::string why_not = {};   // why nothing is recommended
  std::optional<double> recommended_limit_w = {};
  std::optional<double> runner_up_w = {};
  // By how much the runner-up is worse, as a share of the recommended limit's value.
  std::optional<double> margin = {};
  std::optional<LimitInterval> margin_interval = {};
  std::vector<double> ties_w = {};  // limits that cannot be told from the recommended one
  // Whether all limits that can win have an interval. Otherwise only equal values tie.
  bool are_ties_judged = false;
  bool are_repeats_equal = false;  // in every digit: copies, which say nothing about the spread
  std::optional<double> reference_limit_w = {};  // whose time is a slowdown of 1
  // What the intervals are from: "repeats", "rows", "records"; empty: there are none.
  std::string interval_from = {};
  std::vector<JudgedLimit> groups = {};
};

// Marks the groups that cannot win. The order of a group's pieces makes no difference.
LimitChoice choose_limit(LimitScenario scenario, const LimitQuestion& question);

// "250 W"; "; then 300 W, 3.43 % more (2.10 to 4.77 %)"; "200 W, 225 W cannot be told from it".
std::string limit_text(const LimitChoice& choice, double limit_w);
std::string runner_up_text(const LimitChoice& choice);
std::string ties_text(const LimitChoice& choice);

enum class RowOutliers { none, zscore, mad };
std::optional<RowOutliers> row_outliers(std::string_view name);
std::string_view name(RowOutliers outliers);

struct RowRules {
  RowOutliers outliers = RowOutliers::zscore;
  bool is_cumulative = false;  // a rate is the mean since the load began, not that of the moment
};

// `rows` are settled. Power and rate are linear between two rows of a stretch. A stretch ends where
// the limit changes, and at a gap of more than ten median steps; what is between two stretches is
// not counted.
LimitScenario scenario_of_rows(const SweepRows& rows, const RowRules& rules);

// ---- Which configuration keeps an objective, and what that costs: by energy, latency and quality.

struct FrontPoint {
  std::string name;
  std::vector<const PublishedRun*> runs;
  std::vector<NumberOfRuns> numbers = {};  // by SloFront::keys
  // By SloFront::keys: the places of the points from which the number cannot be told.
  std::vector<std::vector<std::size_t>> ties = {};
  std::optional<NumberOfRuns> missed_share = {};     // of the energy, for requests that missed it
  std::optional<double> joules_per_good_token = {};  // infinite: a run has no good request
  bool holds = false;                                // in each of its runs
  // No other point is as good in all numbers, or tied, and better in one by more than the
  // intervals.
  bool is_on_front = false;
  bool is_knee = false;
};

// The configurations of the same work.
struct SloFront {
  std::string work;
  std::vector<std::string> keys = {};   // "joules_per_output_token", "p90_ttft_s", "accuracy"
  std::vector<FrontPoint> points = {};  // from the least energy on
  std::optional<std::size_t> cheapest_that_holds = {};  // among the points
  std::optional<NumberOfRuns> price = {};  // in joules per output token, above the cheapest of all
};

struct FrontQuestion {
  Slo slo = {};
  std::vector<std::string> keys = {};  // that make a configuration; empty: all that are known
  std::string limit_key = {};
  std::string quality_key = {};  // a member of the aggregates, the more the better; empty: none
  // By how many answers a quality from 0 to 1 is known; 0: as the aggregates state it.
  double questions = 0;
};

// The runs have the numbers of add_good_numbers(), or are left out. The knee is the point of the
// front that is furthest below the plane through the worst of each number, all scaled to the range
// of the front.
std::vector<SloFront> slo_fronts(const std::vector<const PublishedRun*>& runs,
                                 const FrontQuestion& question);
std::string number_text(const NumberOfRuns& number);
// "114.3", or why they are infinite.
std::string good_token_text(double joules);
std::string front_text(const SloFront& front, const Slo& slo);
// The cheapest configuration that keeps the objective, and the price, in a sentence.
std::string front_verdict(const SloFront& front);
Json front_json(const SloFront& front);

struct RecommendRequest {
  std::vector<std::string> results = {};  // normal paths
  JoinRequest join = {};
  std::vector<std::pair<std::string, std::string>> scenarios = {};  // "training" and a normal path
  std::vector<std::string> keys = {};                               // --group-by
  std::string limit_key = {};
  LimitQuestion question = {};
  Slo slo = {};
  std::string quality_key = {};
  double questions = 0;
  RowRules rows = {};
  std::string stats_out = {};  // normal path of a folder; empty: nothing is written
  RunSpec measuring = {};      // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};

struct Recommendation {
  std::vector<LimitChoice> choices = {};  // rows first; sorted by name within a kind
  std::vector<ScalingSweep> scalings = {};
  std::shared_ptr<const std::vector<PublishedRun>> runs = {};  // of the fronts
  std::vector<SloFront> fronts = {};                           // with --slo
  Slo slo = {};
  std::vector<SweepRows> rows = {};  // of training and inference
  RowRules row_rules = {};
  JoinedRows join = {};
  bool was_joined = false;
  std::vector<std::string> written = {};  // files
  std::vector<std::string> notes = {};    // for people
  std::vector<std::string> warnings = {};

  // Whether each scenario has a recommendation, and there is something at all.
  bool is_complete() const;
};

// Whether a place holds runs, in JSON, and is no CSV of a sweep. Throws FileError.
bool holds_runs(const std::string& path);

// Throws FileError and Error.
Recommendation recommend(const RecommendRequest& request);

std::string recommendation_text(const Recommendation& recommendation);
std::string recommendation_json(const Recommendation& recommendation);

// ---- Plans a sweep over power limits, as a shell script for a person to read and run.

struct SweepPlan {
  std::vector<int> limits_w = {};  // ascending; clocks in MHz if those are swept
  bool is_of_clocks = false;
  int repeats = 3;
  int cool_down_s = 60;
  std::string gpus = {};  // as the vendor's tool names them, with commas; empty: all
  std::string vendor = "nvidia";
  std::string load = {};  // the command; empty: the reader fills it in
};

// The limits of "START:END:STEP" in whole watts; END is included if a step ends there. Throws Error
// for anything else.
std::vector<int> planned_limits(std::string_view text);

// The limits of all runs, in their order: up, down, up and so on, so that what drifts slowly
// affects all limits alike.
std::vector<int> planned_order(const SweepPlan& plan);

// The script sets each limit, checks that it is in force, cools down, records the load with
// aggregate-power-monitor, and at last puts the limits back that it found, also when it fails.
std::string plan_script(const SweepPlan& plan);

}  // namespace aggregate_power
