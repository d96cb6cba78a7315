// Compares a stored run with its earlier record.
#include "store/past_run.h"

#include <algorithm>

#include "base/files/path.h"
#include "results/aggregate_json.h"

namespace aggregate_power {
namespace {

bool is_as_left(const StoredAggregate& aggregate, const PastRecord& past) {
  const auto is_patched = [&](std::string_view text) {
    return text.size() == past.patched.bytes && hashed_text(text).hash == past.patched.hash;
  };
  const RunTarget& target = aggregate.target;
  if (!target.is_elsewhere) return is_patched(aggregate.text);
  const auto others = std::ranges::find(past.sources.inputs, "aggregate_result", &InputFile::role);
  return others != past.sources.inputs.end() && disk_tree()->find_file(target.aggregate) &&
         is_patched(read_file(target.aggregate)) &&
         hashed_others(aggregate.text).hash == others->hash;
}

}  // namespace

std::optional<PastRecord> past_run(const StoredRun& run, const StoredAggregate& aggregate,
                                   const PastRunQuestion& question) {
  const std::string& path = aggregate.target.record;
  const auto facts = disk_tree()->find_file(path);
  if (!facts) return std::nullopt;
  auto record = parse_record(read_file(path));
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
