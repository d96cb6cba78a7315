// aggregate-power windows: the energy of each window that a script logged.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/measure/named_files.h"
#include "runs/windows/windows.h"

namespace aggregate_power {
namespace {

bool is_power(const std::string& text) {
  const auto watts = python_float(text);
  return watts && std::isfinite(*watts) && *watts >= 0;
}

int print_windows(const WindowsRequest& request) {
  const bool is_table = request.format == WindowFormat::table;
  try {
    const WindowsOutcome outcome = run_windows(request, [&](const std::string& text) {
      is_table ? print_result(text) : print(stdout, text);
    });
    print_after_report(outcome.err);
    return outcome.exit_status;
  } catch (const FileError& error) {
    const std::vector<std::string> windows = {normal_path(request.windows)};
    refuse_missing({request.telemetry, request.witnesses, windows}, error);
  }
}

// Without --windows, the only file that is not a recording has the windows.
void find_windows(WindowsRequest& request) {
  std::vector<std::string>& files = request.telemetry;
  if (request.windows.empty() && files.size() > 1) {
    const auto others = std::stable_partition(files.begin(), files.end(), runs::is_recording);
    if (files.end() - others == 1) {
      request.windows = (runs::is_result_file(*others) ? "bench:" : "") + *others;
      files.erase(others);
    }
  }
  constexpr const char* kHint = "see 'aggregate-power windows --help'";
  if (files.empty()) throw Error(fmt::format("--telemetry is required; {}", kHint));
  if (!request.windows.empty()) return;
  for (const std::string& file : files) {
    if (file != "-") std::ignore = OpenedFile(file);
  }
  throw Error(fmt::format(
      "--windows is required, with the file of the windows, or bench:RESULT for a benchmark result; {}",
      kHint));
}

}  // namespace

Command windows_command() {
  const auto request = std::make_shared<WindowsRequest>();
  const auto json = std::make_shared<bool>(false);
  Command command;
  command.called_here = {{"--csv", "--telemetry"}, {"--bench-result", "--windows bench:FILE"}};
  Options& options = command.options;
  options.list(
      "--telemetry", "FILE", into_paths(request->telemetry),
      "A recording of the run; may be repeated, as for hosts, or for GPUs in files of their own");
  options.positionals("FILE", into_paths(request->telemetry),
                      "More recordings, and the windows file, in any order");
  options
      .value(
          "--windows", "FILE", into(request->windows),
          "Lines 'begin NAME TIME' and 'end NAME TIME', a CSV or JSON with name, start and end, or a CSV of Zeus; bench:FILE takes the windows of a benchmark result")
      .check(not_empty());
  options.choice("--format", "table|csv|json|zeus",
                 {{"table", WindowFormat::table},
                  {"csv", WindowFormat::csv},
                  {"json", WindowFormat::json},
                  {"zeus", WindowFormat::zeus}},
                 request->format, "How to print; zeus: the CSV that Zeus writes (default: table)");
  options.flag("--json", *json, "The same as --format json").excludes("--format");
  options.flag("--per-process", request->per_process,
               "Divide the energy of each GPU among the processes that used it; recordings of "
               "AIPowerMeter only");
  const auto take_idle_power = [request](const std::string& text) {
    request->idle_power_w = python_float(text);
    return true;
  };
  options
      .value("--idle-power", "WATTS", take_idle_power,
             "What a GPU draws when it is idle, shared equally by the processes that use it "
             "(default: the least that it drew in the recording)")
      .check(expecting("a number of watts from 0", is_power))
      .needs("--per-process");
  add_witness(options, *request);
  add_calibration(options, *request);
  add_facility_options(options, request->facility);
  add_gpus(options, *request).help =
      "GPUs of the recordings that count, as in 0,2-5 or GPU-5f0c1a2b; rows of others are left out (default: all)";
  add_max_sample_gap(options, *request).help =
      "Longest stretch of a window between two samples of a GPU; recorders that write only changes have none (default: 3)";
  add_uncertainty_options(options, *request);
  tie_gpu_to_uncertainty(options);
  options.at("--uncertainty").help = "Put an interval on each energy; see 'help uncertainty'";
  add_accept(options, *request).help =
      "Measure in spite of these reasons, which 'help reasons' marks as ours";
  add_clock_offset(options, *request);
  add_recording_options(options, *request);
  options.at("--timezone").help += "; in a windows file, times without an offset need this option";
  command.examples =
      "aggregate-power windows --telemetry gpu_metrics.csv --windows windows.txt\n"
      "aggregate-power windows --telemetry gpu_metrics.csv --windows steps.csv --gpus 0,2-5 --format csv\n"
      "aggregate-power windows --telemetry gpu_metrics.csv --windows bench:benchmarks.json --json\n"
      "aggregate-power windows --telemetry power_metrics.json --windows windows.txt --per-process";
  command.exit_statuses =
      "0 all windows were measured; 1 some were not, with the reason; 2 a file cannot be opened or used, or wrong options";
  command.settle = [request, json](const Options&) {
    try {
      find_windows(*request);
    } catch (const FileError& error) {
      refuse_missing({request->telemetry}, error);
    }
    if (*json) request->format = WindowFormat::json;
    const bool has_rows_of_gpus =
        request->format == WindowFormat::csv || request->format == WindowFormat::zeus;
    if (!request->witnesses.empty() && has_rows_of_gpus) {
      throw Error(
          "--witness: the formats csv and zeus have rows of GPUs alone, which programs sum: use --format table or json");
    }
    if (request->per_process && request->format == WindowFormat::zeus) {
      throw Error("--per-process: --format zeus has no form for it");
    }
    if (request->per_process) refuse_facility_options(request->facility, "--per-process");
    if (request->format == WindowFormat::zeus) {
      refuse_facility_options(request->facility, "--format zeus");
    }
    if (request->uncertainty.is_wanted &&
        (request->per_process || request->format == WindowFormat::zeus)) {
      throw Error(fmt::format("--uncertainty: {} has no form for it",
                              request->per_process ? "--per-process" : "--format zeus"));
    }
    if (!request->calibration.empty() && (has_rows_of_gpus || request->per_process)) {
      throw Error(
          "--calibration: the formats csv and zeus and --per-process have rows of GPUs alone: use --format table or json");
    }
    if (request->per_process && !request->witnesses.empty()) {
      throw Error("--per-process: --witness is for the energy of whole GPUs: ask for one of them");
    }
  };
  command.run = [request] { return print_windows(*request); };
  return command;
}

}  // namespace aggregate_power
