// aggregate-power inspect: how a telemetry file is understood.
#include <memory>
#include <string>

#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/inspect/inspect.h"

namespace aggregate_power {
namespace {

int run_inspect(const InspectRequest& request) {
  const InspectReport report = inspect(request);
  request.json ? print(stdout, report.out) : print_result(report.out);
  for (const std::string& line : report.err) print_message(line);
  return report.exit_status;
}

}  // namespace

Command inspect_command() {
  const auto request = std::make_shared<InspectRequest>();
  Command command;
  Options& options = command.options;
  options
      .positional(
          "FILE", into_path(request->file),
          "Telemetry, or the result of a load generator; - is telemetry from standard input; with --validate, the folder of a package of several nodes")
      .required();
  options.value("--bench-result", "FILE", into_optional_path(request->bench_result),
                "Also show how the telemetry covers this benchmark's window");
  options.flag(
      "--validate", request->validates,
      "Judge a dcgm-power package by itself, as its recorder's validator does: each window, "
      "each failure; status 1 if it is not publishable");
  options
      .value(
          "--logs-root", "FOLDER", into_path(request->logs_root),
          "Folder that the package's windows name their results from (default: the one that the package is in)")
      .needs("--validate");
  options.flag("--json", request->json, "Print one JSON object");
  options.flag("--per-process", request->per_process,
               "Also show what each process used; recordings of AIPowerMeter only");
  options.flag(
      "--sensor", request->with_sensors,
      "Also show what is understood of the power sensors, and what the file shows of them");
  options
      .value("--gpu-model", "NAME", into(request->gpu),
             "Model of the GPUs, such as H100 or MI300X, where no file names it")
      .formerly("--gpu")
      .check(model_of_gpus())
      .needs("--sensor");
  add_recording_options(options, *request);
  command.examples =
      "aggregate-power inspect gpu_metrics.csv\n"
      "aggregate-power inspect gpu_metrics.csv --json --timezone +05:30\n"
      "aggregate-power inspect gpu_metrics.csv --bench-result run.json\n"
      "aggregate-power inspect gpu_metrics.csv --sensor --gpu-model H100\n"
      "aggregate-power inspect LOGS/power --validate";
  command.exit_statuses =
      "0 a usable power series was read; 1 none was, with the reason and what to do, or the package is not publishable; 2 the file cannot be opened, or wrong options";
  command.run = [request] { return run_inspect(*request); };
  return command;
}

}  // namespace aggregate_power
