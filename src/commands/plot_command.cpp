// aggregate-power plot: a picture of a recording.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/byte_source.h"
#include "base/text/characters.h"
#include "chart/svg.h"
#include "chart/terminal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/measure/named_files.h"
#include "runs/picture/picture.h"
#include "verify/bundle/bundle.h"

namespace aggregate_power {
namespace {

enum class PlotFormat { svg, csv, json, term };
constexpr const char* kStandardOutput = "-";

struct PlotOptions {
  RunSpec request;
  std::optional<PlotFormat> format;  // nullopt: by the output
  bool in_terminal = false;
  std::string title;    // empty: what is drawn
  std::string out;      // "-": standard output
  std::string windows;  // a file; empty: none

  bool is_to_file() const { return !out.empty() && out != kStandardOutput; }
  PlotFormat chosen() const {
    if (in_terminal) return PlotFormat::term;
    if (format) return *format;
    return out.empty() && is_terminal(stdout) ? PlotFormat::term : PlotFormat::svg;
  }
};

TerminalOptions terminal_options(const PlotOptions& options) {
  constexpr std::size_t kMostColumns = 240;
  TerminalOptions terminal;
  terminal.columns = std::min(terminal_columns(stdout), kMostColumns);
  terminal.is_utf8 = is_utf8_locale();
  terminal.has_colour = !options.is_to_file() && has_colour(stdout);
  return terminal;
}

std::string drawn(const PlotOptions& options, const PowerPicture& picture) {
  Chart chart = power_chart(picture);
  if (!options.title.empty()) chart.title = options.title;
  switch (options.chosen()) {
    case PlotFormat::svg:
      return svg(chart, {.id = "power"});
    case PlotFormat::csv:
      return picture_csv(chart);
    case PlotFormat::json:
      return picture_json(picture, chart);
    default:
      return terminal_picture(chart, terminal_options(options));
  }
}

void write_picture(const std::string& path, const std::string& text) {
  constexpr std::size_t kTold = 24;  // characters in which all pictures of a format are alike
  replace_output("--out", path, bundle::with_names_of_bundles(text),
                 std::string_view(text).substr(0, kTold), "picture of this format");
}

// A picture in colour has nothing of files but words that terminal_picture() has made harmless.
void show(const PlotOptions& options, const std::string& text) {
  const bool is_picture = options.chosen() == PlotFormat::term;
  if (is_picture && !has_colour(stdout)) {
    print_result(text);
  } else if (!is_picture || !is_quiet()) {
    print(stdout, text);
  }
}

int run_plot(const PlotOptions& options) {
  RunSpec request = options.request;
  if (options.is_to_file()) request.out = options.out;
  try {
    const PlottedRun run = plotted_run(request, options.windows);
    const std::string text = drawn(options, run.picture);
    if (options.is_to_file()) {
      write_picture(options.out, text);
    } else {
      show(options, text);
    }
    for (const std::string& warning : run.warnings) print_note("warning: " + warning);
    if (run.picture.is_valid()) return 0;
    print_message(fmt::format("power not valid: {}", run.picture.reasons.text()));
    return 1;
  } catch (const FileError& error) {
    std::string hint = missing_file_hint(request.bench_result);
    if (hint.empty()) hint = missing_file_hint(options.windows);
    throw Error(hint.empty() ? error.what() : hint);
  }
}

// The format that a file's name means; a picture that the program cannot draw is wrong use.
void settle_format(PlotOptions& plot) {
  if (!plot.is_to_file() || plot.in_terminal) return;
  const std::string_view name = last_name(plot.out);
  const std::size_t dot = name.rfind('.');
  const std::string end = dot == name.npos ? "" : lower_ascii(name.substr(dot + 1));
  constexpr std::string_view kOtherPictures[] = {"png", "jpg", "jpeg", "webp", "gif", "pdf",
                                                 "eps", "ps",  "bmp",  "tif",  "tiff"};
  if (std::ranges::find(kOtherPictures, end) != std::end(kOtherPictures)) {
    throw Error(fmt::format(
        "--out: {}: only .svg (or --format csv|json) can be written; a browser turns an SVG into a picture of another kind",
        printable_path(plot.out)));
  }
  if (plot.format) return;
  if (end == "csv") plot.format = PlotFormat::csv;
  if (end == "json") plot.format = PlotFormat::json;
}

// A folder is the only run in it.
void settle_folder(RunSpec& request) {
  std::vector<RunSpec> runs = runs::runs_in_folders(request);
  if (runs.size() > 1) {
    throw Error(fmt::format("{}: {} runs are in it: name one, as in 'aggregate-power plot {}'",
                            printable_path(request.telemetry.front()), runs.size(),
                            printable_path(runs.front().bench_result)));
  }
  request = std::move(runs.front());
}

void settle_plot(PlotOptions& plot, const Options& options) {
  RunSpec& request = plot.request;
  settle_format(plot);
  settle_folder(request);
  runs::find_result(request);
  settle_given_load(options, request.given);
  if (request.bench_result.empty() && request.given.has_window() &&
      !(request.given.start_unix_s && request.given.end_unix_s) && !request.given.duration_s) {
    throw Error("plot: expected --end or --duration beside --start");
  }
  if (request.bench_result.empty()) {
    refuse_options(options, options_of_loads(), "expected --bench-result beside it");
  }
}

void add_output(Options& options, PlotOptions& plot) {
  options.value(
      "--out", "FILE", into_optional_path(plot.out),
      "Write the picture there; - is standard output (default: standard output: text on a terminal, otherwise SVG)");
  options.value("--title", "TEXT", into(plot.title),
                "Title of the picture (default: the GPUs and the file)");
  options.choice(
      "--format", "FORMAT",
      {{"svg", PlotFormat::svg}, {"csv", PlotFormat::csv}, {"json", PlotFormat::json}}, plot.format,
      "svg, or the points that it draws as csv or json (default: by the name of --out, else svg)");
  options
      .flag(
          "--term", plot.in_terminal,
          "Draw with characters, as wide as the terminal or $COLUMNS; in ASCII if the locale is not UTF-8")
      .excludes("--format");
}

}  // namespace

Command plot_command() {
  const auto plot = std::make_shared<PlotOptions>();
  RunSpec* const request = &plot->request;
  Command command;
  command.called_here = {{"--csv", "--telemetry"}};
  Options& options = command.options;
  options.positionals(
      "TELEMETRY", into_paths(request->telemetry),
      "Recordings, and the load generator's result, in any order; - is standard input (default: $GPU_METRICS_CSV, else the first of gpu_metrics.csv and /workspace/gpu_metrics.csv that exists)");
  options.list("--telemetry", "FILE", into_paths(request->telemetry),
               "A recording; may be repeated, as for hosts");
  options.value(
      "--bench-result", "FILE", into_optional_path(request->bench_result),
      "What the load generator wrote; without it and without --start the whole recording counts");
  options
      .value("--windows", "FILE", into_path(plot->windows),
             "Windows that a script logged, to be marked; as 'windows' reads them")
      .check(not_empty());
  add_output(options, *plot);
  add_load_choice(options, *request);
  add_given_load(options, request->given);
  accept_auto_count(
      add_expected_num_gpus(
          options, *request,
          "GPUs that must be in the recording; auto: as many as the result names (default: those that are there)"),
      *request);
  add_gpus(options, *request);
  add_max_sample_gap(options, *request).help =
      "Longest gap between two samples of a GPU that a line bridges (default: 3)";
  add_calibration(options, *request).help =
      "A profile of 'calibrate': what its meter would show is drawn, too, with a band of 95 %; it is modelled, never measured";
  add_recording_options(options, *request);
  add_compat(options, *request);
  accept_evidence(options.at("--timezone"), *request);
  command.examples =
      "aggregate-power plot gpu_metrics.csv --bench-result run.json --out power.svg\n"
      "aggregate-power plot gpu_metrics.csv --term\n"
      "aggregate-power plot gpu_metrics.csv --start 2026-09-08T07:20:30Z --end +60s --gpus 0-3 --out power.svg\n"
      "aggregate-power plot gpu_metrics.csv --bench-result run.json --format csv";
  command.exit_statuses =
      "0 drawn; 1 drawn, but the run is not valid: the picture says why and claims no energy; 2 a file cannot be opened or written, or wrong options";
  command.settle = [plot](const Options& given) { settle_plot(*plot, given); };
  command.run = [plot] { return run_plot(*plot); };
  return command;
}

}  // namespace aggregate_power
