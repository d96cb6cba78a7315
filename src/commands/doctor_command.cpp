// aggregate-power doctor: what to change before a campaign of measurements.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/inspect/inspect.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

struct DoctorRequest : CheckupRequest {
  bool json = false;
};

// For a folder of runs, the recording of one of them; empty: it has none.
std::string recording_in(const std::string& folder) {
  RunSpec named;
  named.telemetry = {folder};
  try {
    const RunSpec run = runs::runs_in_folders(named).front();
    return run.bench_result.empty() ? std::string() : runs::recordings_near(run, true).front();
  } catch (const Error&) {  // several of them
    return {};
  }
}

int run_doctor(const DoctorRequest& request) {
  Checkup checkup;
  try {
    checkup = request.telemetry.empty() ? check_machine() : check_recording(request);
  } catch (const FileError& error) {
    std::string near = missing_file_hint(request.telemetry);
    const std::string recording = near.empty() ? recording_in(request.telemetry) : "";
    if (!recording.empty()) {
      near = fmt::format("{}: name a recording in it, as in 'aggregate-power doctor {}'",
                         error.what(), printable_path(recording));
    }
    print_message(fmt::format("error: {}", near.empty() ? error.what() : near));
    return 2;
  }
  request.json ? print(stdout, checkup_json(checkup)) : print_result(checkup_text(checkup));
  return has_problem(checkup) ? 1 : 0;
}

}  // namespace

Command doctor_command() {
  const auto request = std::make_shared<DoctorRequest>();
  Command command;
  Options& options = command.options;
  options.positional("TELEMETRY", into_path(request->telemetry),
                     "A short recording; without one, this machine is checked");
  options
      .value("--window-s", "N", into(request->window_s),
             "Length of the window whose expected interval is shown (default: 60)")
      .check(number_between(0.001, 1e9));
  options
      .value("--shortest-phase", "SECONDS", into(request->shortest_phase_s),
             "Shortest phase of the load that is to be told apart from others")
      .check(number_between(1e-6, 1e9));
  options
      .value("--gpu-model", "NAME", into(request->gpu),
             "Model of the GPUs, such as H100 or MI300X, where no file names it")
      .formerly("--gpu")
      .check(model_of_gpus());
  options.flag("--json", request->json, "Print one JSON object");
  add_recording_options(options, *request);
  command.examples =
      "aggregate-power doctor\n"
      "aggregate-power doctor gpu_metrics.csv --window-s 300\n"
      "aggregate-power doctor gpu_metrics.csv --shortest-phase 0.5 --json";
  command.exit_statuses =
      "0 no problem, though there may be advice; 1 a problem; 2 the file cannot be opened, or wrong options";
  command.run = [request] { return run_doctor(*request); };
  return command;
}

}  // namespace aggregate_power
