// Compares a stored run with its earlier record.
#include "store/past_run.h"

#include <algorithm>
#include <tuple>

#include "base/files/path.h"
#include "results/aggregate_json.h"

namespace aggregate_power {
namespace {

bool same_options(const Origin& a, const Origin& b) {
  const auto options = [](const Origin& origin) {
    return std::tie(origin.contract, origin.schema_version, origin.expected_num_gpus,
                    origin.timezone, origin.max_sample_gap_s, origin.expected_producer_sha,
                    origin.salvage, origin.power_unit, origin.columns, origin.select, origin.window,
                    origin.idle, origin.uncertainty);
  };
  return options(a) == options(b);
}

bool is_as_left(const StoredAggregate& aggregate, const Origin& origin) {
  const auto is_patched = [&](std::string_view text) {
    return text.size() == origin.patched.bytes && hashed_text(text).hash == origin.patched.hash;
  };
  const RunTarget& target = aggregate.target;
  if (!target.is_elsewhere) return is_patched(aggregate.text);
  const auto others = std::ranges::find(origin.inputs, "aggregate_result", &InputFile::role);
  return others != origin.inputs.end() && disk_tree()->find_file(target.aggregate) &&
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
  const bool is_done = same_options(record->origin, question.wanted) &&
                       is_of(record->telemetry_source, question.telemetry) &&
                       is_of(record->benchmark_result, question.benchmark) &&
                       is_as_left(aggregate, record->origin) &&
                       question.is_as_read(record->origin, facts->modified_ns);
  return is_done ? std::move(record) : std::nullopt;
}

}  // namespace aggregate_power
