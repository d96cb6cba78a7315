// Compares a stored run and its inputs with its earlier record.
#include "store/backfill/backfill.h"

#include <algorithm>

#include "base/files/hash.h"
#include "base/files/path.h"
#include "core/record/aggregate.h"
#include "recorders/recorder_context.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

using IsSame = std::function<bool(const StorePath&, const InputFile&)>;

// The second zone file is read if the first one was missing.
bool counts(const SideFile& side, const PastInputs& inputs, const Sources& sources) {
  const bool is_of_zone = std::string_view(side.role).starts_with("timezone");
  if (is_of_zone && !inputs.zone_files_count) return false;
  const bool is_second = is_of_zone && *side.name != '\0';
  return !is_second || input_of_role(sources.inputs, "timezone_file") == nullptr;
}

bool are_as_read(const PastInputs& inputs, const Sources& sources, const IsSame& is_same) {
  const auto is_input = [&](const StorePath& place, std::string_view role) {
    const InputFile* const input = input_of_role(sources.inputs, role);
    return input != nullptr && is_same(place, *input);
  };
  if (!is_input(inputs.telemetry, "telemetry") || !is_input(inputs.benchmark, "benchmark_result")) {
    return false;
  }
  const auto is_as_it_was = [&](const std::optional<StorePath>& place, std::string_view role) {
    return place ? is_input(*place, role) : input_of_role(sources.inputs, role) == nullptr;
  };
  if (const auto profile = profile_files(inputs.benchmark)) {
    if (!is_as_it_was(profile->summary, "profile_summary")) return false;
    if (!is_as_it_was(profile->captured_zone, "profile_timezone_offset")) return false;
  }
  const auto profile = disk_file(inputs.calibration);
  if (!inputs.calibration.empty() && !is_as_it_was(profile, "calibration")) return false;
  const auto is_model_as_it_was = [&](const ModelFile& file) {
    const std::string name = plain_stem(inputs.telemetry.path) + file.end;
    return is_as_it_was(find_beside(inputs.telemetry, name), file.role);
  };
  if (inputs.model_files_count && !std::ranges::all_of(kModelFiles, is_model_as_it_was)) {
    return false;
  }
  return std::ranges::all_of(kSideFiles, [&](const SideFile& side) {
    return !counts(side, inputs, sources) ||
           is_as_it_was(find_beside(inputs.telemetry, side_name(side, inputs.telemetry.path)),
                        side.role);
  });
}

bool is_as_left(const StoredAggregate& aggregate, const StoredRecord& past) {
  const auto is_patched = [&](std::string_view text) {
    return text.size() == past.patched.bytes && hashed_text(text).hash == past.patched.hash;
  };
  const RunTarget& target = aggregate.target;
  if (!target.is_elsewhere) return is_patched(aggregate.text);
  const InputFile* const others = input_of_role(past.sources.inputs, "aggregate_result");
  return others != nullptr && disk_tree()->find_file(target.aggregate) &&
         is_patched(read_file(target.aggregate, kAggregateFile)) &&
         hashed_others(aggregate.text).hash == others->hash;
}

}  // namespace

bool have_the_sizes(const PastInputs& inputs, const Sources& sources, std::int64_t record_ns) {
  return are_as_read(inputs, sources, [&](const StorePath& place, const InputFile& input) {
    const auto facts = place.facts ? place.facts : place.tree->find_file(place.path);
    return facts && facts->bytes == input.bytes && facts->modified_ns < record_ns;
  });
}

bool have_the_hashes(const PastInputs& inputs, const Sources& sources) {
  return are_as_read(inputs, sources, [](const StorePath& place, const InputFile& input) {
    const OpenedFile file = place.tree->open(place.path);
    return file.size() == input.bytes && hash_of(file) == input.hash;
  });
}

std::optional<StoredRecord> previous_record(const StoredRun& run, const StoredAggregate& aggregate,
                                            const PreviousQuestion& question) {
  const std::string& path = aggregate.target.record;
  const auto facts = disk_tree()->find_file(path);
  const auto text = earlier_record(path);
  auto record = facts && text ? read_stored_record(*text) : std::nullopt;
  if (!record || record->tool_version != AGGREGATE_POWER_VERSION) return std::nullopt;
  const auto is_of = [&](const std::string& recorded, const std::string& now) {
    return recorded == printable_path(relative_path(run.folder.below, now));
  };
  const bool is_done =
      record->contract == question.contract && record->sources.options == question.options &&
      is_of(record->telemetry_source, question.telemetry) &&
      is_of(record->benchmark_result, question.benchmark) && is_as_left(aggregate, *record) &&
      question.is_as_read(record->sources, facts->modified_ns);
  return is_done ? std::move(record) : std::nullopt;
}

}  // namespace aggregate_power
