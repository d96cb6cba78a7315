// aggregate-power inspect: what was understood of a telemetry file.
#include <fmt/format.h>

#include "base/files/path.h"
#include "commands/command.h"
#include "runs/inspect.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::string file;
  std::string bench_result;
  bool json = false;
  TelemetryOptionTexts telemetry;
};

int run(const Texts& texts) {
  InspectRequest request;
  request.file = normal_path(texts.file);
  request.bench_result = path_of(texts.bench_result);
  request.json = texts.json;
  request.columns = columns_of(texts.telemetry);
  request.zone = zone_of(texts.telemetry.timezone);
  const InspectReport report = inspect(request);
  say(stdout, report.out);
  for (const std::string& line : report.err) {
    say(stderr, fmt::format("aggregate-power: {}\n", line));
  }
  return report.exit_status;
}

}  // namespace

Command inspect_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.options = std::make_unique<CLI::App>(
      "Show what is understood of a telemetry file: columns, zone, devices, gaps, skipped rows.",
      "aggregate-power inspect");
  command.usage = "FILE [OPTIONS]";
  CLI::App& app = *command.options;
  add_option(app, "FILE", texts->file, "Telemetry CSV; - is standard input")->required();
  add_option(app, "--bench-result", texts->bench_result,
             "Show also how this benchmark's window lies in the telemetry")
      ->type_name("FILE");
  app.add_flag("--json", texts->json, "Print one JSON object");
  add_telemetry_options(command, texts->telemetry);
  command.examples =
      "aggregate-power inspect gpu_metrics.csv\n"
      "aggregate-power inspect gpu_metrics.csv --json --timezone +05:30\n"
      "aggregate-power inspect gpu_metrics.csv --bench-result run.json";
  command.exit_statuses =
      "0 a usable power series was read; 1 not, with the reason and what to do; 2 the file cannot "
      "be opened, or wrong options";
  command.run = [texts] { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
