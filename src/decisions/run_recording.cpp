// Finds what lies beside a recording in its own folder or archive.
#include "decisions/run_recording.h"

#include <string>

#include "store/catalogue/run_record.h"

namespace aggregate_power {

std::unique_ptr<Recording> recording_of_run(const StorePath& telemetry, const JsonValue& record) {
  const auto beside = [telemetry](const std::string& name) -> std::unique_ptr<ByteSource> {
    const auto found = find_beside(telemetry, name);
    return found ? found->tree->open(found->path).source() : nullptr;
  };
  return std::make_unique<Recording>(
      telemetry.display, std::make_unique<OpenedFile>(telemetry.tree->open(telemetry.path)), beside,
      recorded_zone(record), recorded_columns(record));
}

}  // namespace aggregate_power
