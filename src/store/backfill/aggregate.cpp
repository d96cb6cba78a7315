// Reads a stored aggregate and plans to write its results.
#include "store/backfill/backfill.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/text/json.h"
#include "base/text/json_value.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/withdrawal.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
namespace {

RunTarget target_of(const StoredRun& run, const RecomputeOptions& options) {
  const bool is_elsewhere = !options.output.empty();
  const auto in = [&](const std::string& name) {
    return is_elsewhere ? join_path(options.output, join_path(run.folder.below, name))
                        : join_path(run.folder.path, name);
  };
  return {is_elsewhere ? in(aggregate_name(run)) : run.aggregate.path,
          in(fmt::format("power_validation_{}.json", run.name)),
          is_elsewhere ? options.output : store_of(run.folder).path, is_elsewhere};
}

// What the earlier record at `path` says; nothing if there is none that can be read.
std::vector<std::string> replacements_in(const std::string& path) {
  try {
    const auto text = earlier_record(path);
    return text ? recorded_replacements(parse_json(*text)) : std::vector<std::string>();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::optional<std::string> earlier_record(const std::string& path) {
  if (!is_regular_file(path)) return std::nullopt;
  try {
    return read_file(path, kAuditRecordFile);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

StoredAggregate read_aggregate(const StoredRun& run, const RecomputeOptions& options) {
  return {read_whole(run.aggregate.tree->open(run.aggregate.path), kAggregateFile),
          target_of(run, options)};
}

std::optional<std::string> replacement_fault(const StoredAggregate& aggregate) {
  if (aggregate.target.is_elsewhere) return std::nullopt;
  std::string risk = replacement_risk(aggregate.target.aggregate);
  return risk.empty() ? std::nullopt : std::optional(std::move(risk));
}

bool is_object(const StoredAggregate& aggregate) {
  MemorySource source(aggregate.text);
  return scan_json(source, [](const JsonMember&) {}).kind == JsonKind::object;
}

bool is_retracted(const StoredRun& run, const StoredAggregate& aggregate) {
  const std::string& record = aggregate.target.record;
  const auto in_store = find_beside(run.aggregate, std::string(last_name(record)));
  if (in_store &&
      is_withdrawn(read_whole(in_store->tree->open(in_store->path), kAuditRecordFile))) {
    return true;
  }
  if (!aggregate.target.is_elsewhere) return false;
  const auto earlier = earlier_record(record);
  return earlier && is_withdrawn(*earlier);
}

std::string relative_path(std::string_view folder, std::string_view path) {
  const auto first = [](std::string_view text) { return text.substr(0, text.find('/')); };
  const auto drop = [&](std::string_view& text) {
    text.remove_prefix(std::min(first(text).size() + 1, text.size()));
  };
  while (!folder.empty() && path.find('/') != std::string_view::npos &&
         first(folder) == first(path)) {
    drop(folder);
    drop(path);
  }
  std::string result;
  for (; !folder.empty(); drop(folder)) result += "../";
  return result + std::string(path);
}

std::unique_ptr<WritePlan> plan_of(const StoredRun& run, const StoredAggregate& aggregate,
                                   const InputFile& others,
                                   const std::vector<std::pair<std::string, FileFacts>>& inputs,
                                   const RecomputeOptions& options, Result result) {
  result.sources.inputs.push_back(others);
  WritePlan target;
  target.aggregate_path = aggregate.target.aggregate;
  target.record_path = aggregate.target.record;
  target.only_together = true;
  for (const auto& [path, facts] : inputs) target.inputs.push_back(path);
  target.inputs.push_back(path_on_disk(run.aggregate));
  if (aggregate.target.is_elsewhere) {
    target.aggregate_text = aggregate.text;
    target.make_record_folder = true;
    target.input_folders = options.stores;
  }
  target.root = aggregate.target.root;
  target.is_as_read = [hash = others.hash](std::string_view text) {
    try {
      return hashed_others(text).hash == hash;
    } catch (const JsonError&) {
      return false;
    }
  };
  StoredBefore before = {aggregate.text, replacements_in(target.record_path)};
  return std::make_unique<WritePlan>(plan(std::make_shared<const Result>(std::move(result)),
                                          std::move(target), std::move(before)));
}

}  // namespace aggregate_power
