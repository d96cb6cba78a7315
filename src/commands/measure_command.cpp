// aggregate-power measure: what a run used, without changing anything.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "generators/benchmark_choice.h"
#include "runs/measure/good_work.h"
#include "runs/measure/measure.h"
#include "runs/measure/measure_report.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

int run_measure(const RunSpec& request) {
  const MeasureReport report = measure_run(request);
  request.json ? print(stdout, report.out) : print_result(report.out);
  for (const std::string& line : report.err) print_message(line);
  for (const std::string& line : report.refusals) {
    if (is_quiet() && !request.json) print_message("power not valid: " + line);
  }
  return report.exit_status;
}

void refuse_repeated_settings(const RunSpec& request) {
  std::set<std::string_view> seen;
  for (const auto& [key, value] : request.settings) {
    if (seen.insert(key).second) continue;
    throw Error(fmt::format("--set: '{}' is given twice; give it once", key));
  }
}

// Without a result, the first file is a recording too.
void settle_measure(RunSpec& request, const Options& options) {
  settle_given_load(options, request.given);
  settle_request_options(options, request);
  refuse_repeated_settings(request);
  const GivenLoad& given = request.given;
  runs::find_result(request);
  const bool is_recording = request.bench_result.find(".csv") != std::string::npos
                                ? !runs::is_result_file(request.bench_result)
                                : runs::is_recording(request.bench_result);
  if (is_recording && given.start_unix_s && (given.end_unix_s || given.duration_s)) {
    request.telemetry.insert(request.telemetry.begin(), std::exchange(request.bench_result, {}));
  } else if (is_recording && !runs::is_recording_of_generator(request.bench_result)) {
    throw Error(fmt::format(
        "measure: {} looks like a recording: name the load generator's result, too, or give --start and --end",
        printable(request.bench_result, 200)));
  }
  if (request.bench_result.empty() && !request.given.has_window()) {
    throw Error(
        "measure: expected a benchmark result, or --start and --end; see 'aggregate-power measure --help'");
  }
  if (request.bench_result.empty() && !(request.given.start_unix_s && request.given.end_unix_s) &&
      !request.given.duration_s) {
    throw Error("measure: expected --end or --duration beside --start");
  }
}

}  // namespace

Command measure_command() {
  const auto request = std::make_shared<RunSpec>();
  Command command;
  command.called_here = {{"--csv", "--telemetry"},
                         {"--bench-result", "RESULT without an option's name"},
                         {"--agg-result", "--out"}};
  Options& options = command.options;
  options.positional(
      "RESULT", into_optional_path(request->bench_result),
      "What the load generator wrote, in any order with the recordings; or a folder with both, or with folders of runs; without it give --start and --end");
  options.positionals(
      "TELEMETRY", into_paths(request->telemetry),
      "Recordings of the run, one for each host (default: $GPU_METRICS_CSV, else gpu_metrics.csv beside RESULT, here or in /workspace, else the only recording beside RESULT)");
  options.list("--telemetry", "FILE", into_paths(request->telemetry),
               "A recording; may be repeated");
  Option& select = add_select(options, *request);
  select.help =
      "Which benchmarks of a result with several: a number from 1, last, all, or KEY=VALUE such as max_concurrency=8 (default: all)";
  select.checks = {expecting("a number, 'last', 'all' or KEY=VALUE", is_selection)};
  add_given_load(options, request->given);
  options.flag("--json", request->json, "Print one JSON object");
  options.value(
      "--out", "FILE", into_optional_path(request->out),
      "Also write the aggregate's keys into a new JSON file, with an audit record beside it");
  const auto is_setting = [](const std::string& text) {
    const std::size_t sign = text.find('=');
    if (sign == text.npos || sign == 0 || sign + 1 == text.size()) return false;
    const std::string key = text.substr(0, sign);
    constexpr const char* kKeyCharacters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return key.find_first_not_of(kKeyCharacters) == std::string::npos && !is_measured_member(key);
  };
  options
      .list(
          "--set", "KEY=VALUE",
          [request](const std::string& text) {
            const std::size_t sign = text.find('=');
            request->settings.emplace_back(text.substr(0, sign), text.substr(sign + 1));
            return true;
          },
          "How the run was run, such as precision=fp8, beside or instead of what the files say; may be repeated; see 'help settings'")
      .check(expecting(
          "KEY=VALUE such as precision=fp8, with a key that is not one of measure's own numbers",
          is_setting));
  add_window(
      options, *request,
      "What --out accepts beside exact windows: one placed by the power, or the whole command that the recorder ran (default: exact)");
  add_result_timezone(options, *request);
  accept_auto_count(
      add_expected_num_gpus(
          options, *request,
          "GPUs that must be in the recording; auto: as many as the result names (default: those that are there)"),
      *request);
  add_gpus(options, *request);
  add_witness(options, *request);
  add_calibration(options, *request);
  add_max_sample_gap(options, *request);
  add_clock_offset(options, *request);
  add_salvage(options, *request).help = kSalvageOfRecordings;
  add_recording_options(options, *request);
  add_compat(options, *request);
  add_idle_option(options, *request).help =
      "Also state the energy above idle; idle power is read from a stretch of the only recording, from a plateau beside the load (auto), or given for each GPU, as in 85 or 85+-3; see 'help uncertainty'";
  add_uncertainty_options(options, *request);
  show_interval(options, *request);
  options.at("--uncertainty").help =
      "Say as a warning, too, why there is no interval, and put one on each request; the interval of the energy is printed anyway; see 'help uncertainty'";
  add_accept(options, *request);
  add_request_options(options, *request, "RESULT itself");
  add_slo(options, request->requests.slo);
  options
      .list(
          "--role", "ROLE=GPUS",
          [request](const std::string& text) {
            const std::size_t sign = text.find('=');
            if (sign == text.npos) return false;
            const std::vector<std::string> texts = {fmt::format(
                "{}={}:{}", text.substr(0, sign), runs::kRoleHost, text.substr(sign + 1))};
            const std::vector<std::string> hosts = {runs::kRoleHost};
            std::ranges::move(parse_roles(texts, hosts), std::back_inserter(request->roles));
            return true;
          },
          "Which GPUs are prefill, decode or agg workers, as in prefill=0-3 or decode=4,5: also state the energy of each role, with --slo by good output token; each GPU has one; may be repeated")
      .check(not_empty());
  add_quality_options(options, request->quality);
  add_facility_options(options, request->facility);
  accept_evidence(options.at("--timezone"), *request);
  command.examples =
      "aggregate-power measure result.json\n"
      "aggregate-power measure result.json gpu_metrics.csv --json\n"
      "aggregate-power measure runs/*/\n"
      "aggregate-power measure sweep.json --select max_concurrency=8\n"
      "aggregate-power measure --start 2026-09-08T07:20:30Z --end +60s --telemetry gpu_metrics.csv";
  command.exit_statuses =
      "0 all benchmarks were measured; 1 one was not, with the reason and what to do; 2 a file cannot be opened, or wrong options";
  command.settle = [request](const Options& parsed) { settle_measure(*request, parsed); };
  command.run = [request] { return run_measure(*request); };
  return command;
}

}  // namespace aggregate_power
