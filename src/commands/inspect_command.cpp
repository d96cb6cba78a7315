// aggregate-power inspect: what was understood of a telemetry file.
#include <fmt/format.h>

#include "base/files/path.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/shared_options.h"
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
  print(stdout, report.out);
  for (const std::string& line : report.err) print_message(line);
  return report.exit_status;
}

}  // namespace

Command inspect_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  Options& options = command.options;
  options.positional("FILE", into(texts->file), "Telemetry CSV; - is standard input").required();
  options.value("--bench-result", "FILE", into(texts->bench_result),
                "Show also how this benchmark's window lies in the telemetry");
  options.flag("--json", texts->json, "Print one JSON object");
  add_telemetry_options(options, texts->telemetry);
  command.examples =
      "aggregate-power inspect gpu_metrics.csv\n"
      "aggregate-power inspect gpu_metrics.csv --json --timezone +05:30\n"
      "aggregate-power inspect gpu_metrics.csv --bench-result run.json";
  command.exit_statuses =
      "0 a usable power series was read; 1 not, with the reason and what to do; 2 the file cannot "
      "be opened, or wrong options";
  command.run = [texts](const Options&) { return run(*texts); };
  return command;
}

}  // namespace aggregate_power
