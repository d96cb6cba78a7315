// Any bytes as an audit record beside an aggregate: all that reads back what it says, and the runs
// that are found in its folder.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/text/json.h"
#include "core/record/record_read.h"
#include "fuzz/fuzz_util.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/run_record.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

void read_parts(const JsonValue& record) {
  std::ignore = is_power_valid(record);
  std::ignore = recorded_contract(record);
  std::ignore = recorded_options(record);
  std::ignore = recorded_zone(recorded_origin(record));
  std::ignore = recorded_patch(record);
  std::ignore = recorded_verdicts(record);
  std::ignore = recorded_recordings(record);
  try {
    std::ignore = recorded_columns(record);
  } catch (const Error&) {
  }
  for (const InputFile& input : recorded_inputs(record)) {
    require(input_of_role(recorded_inputs(record), input.role) != nullptr);
  }
}

void find_files(const fuzz::Folder& folder) {
  const auto place = place_on_disk(folder.at("power_validation_r.json"));
  const auto record = place ? read_run_record(*place) : std::nullopt;
  if (!record) return;
  std::ignore = record->find_aggregate();
  std::ignore = record->find(record->telemetry());
  std::ignore = record->find(record->benchmark());
}

void require_sound(const PublishedRuns& runs) {
  for (const PublishedRun& run : runs.runs) {
    require(run.state == PowerState::valid || run.numbers.empty());
    for (const PublishedNumber& number : run.numbers) require(std::isfinite(number.value));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    const JsonValue record = parse_json(text);
    if (!record.is_object()) return 0;
    std::ignore = read_stored_record(text);
    read_parts(record);
    folder.clear();
    folder.put("power_validation_r.json", text);
    folder.put("agg_r.json",
               R"({"power_valid": 1, "avg_power_w": 5.0, "total_gpu_energy_j": 5.0})");
    find_files(folder);
    require_sound(read_published_runs({folder.path()}, 1));
  } catch (const JsonError&) {
  } catch (const FileError&) {
  } catch (const Error&) {
  }
  return 0;
}
