// Fills in a write plan.
#include "core/record/plan.h"

#include <algorithm>
#include <utility>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/json_value.h"
#include "core/record/aggregate.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "core/record/record_read.h"
#include "core/record/withdrawal.h"

namespace aggregate_power {
namespace {

// `now`: the aggregate as it will be; empty: it is not changed.
PatchedAggregate patched_from(const StoredBefore& before, std::string_view now) {
  if (now.empty()) return {hashed_text(before.text), before.replaced};
  PatchedAggregate patched = {hashed_text(now), before.replaced};
  const std::vector<JsonEdit> members = members_of_ours(before.text);
  const std::string text = members_text(members);
  if (claim_nothing(members) || text == members_text(members_of_ours(now))) return patched;
  std::string hash = hashed_text(text).hash;
  if (std::ranges::find(patched.replaced, hash) == patched.replaced.end()) {
    patched.replaced.push_back(std::move(hash));
  }
  return patched;
}

// The path of the aggregate that a record says it is of, if it is there; empty: it is not.
std::string aggregate_of(const JsonValue& record, const std::string& record_path) {
  const JsonValue& named = recorded_origin(record).at("aggregate");
  if (!named.is_string()) return {};
  for (const std::string& path :
       {named.text, beside(record_path, std::string(last_name(named.text)))}) {
    if (is_regular_file(path)) return path;
  }
  return {};
}

// The aggregate of a valid record, if it is another one than `own`; empty: it is not.
std::string other_aggregate(std::string_view text, const std::string& record_path,
                            const std::string& own) {
  try {
    const JsonValue record = parse_json(text);
    if (!is_power_valid(record)) return {};
    const std::string other = aggregate_of(record, record_path);
    return other.empty() || is_same_file(other, own) ? std::string() : printable_path(other);
  } catch (const JsonError&) {
    return {};
  }
}

}  // namespace

WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, StoredBefore before) {
  WritePlan plan = std::move(target);
  plan.valid = claims_power(*result);
  plan.edits =
      edits_of(*result, result->audit_source.empty() ? std::string(last_name(plan.record_path))
                                                     : result->audit_source);
  if (!plan.only_together) plan.edits_without_audit = edits_without_record(*result);
  plan.leftovers = leftovers_of(result->way);
  plan.is_record = is_record_text;
  plan.other_aggregate = [path = plan.record_path, own = plan.aggregate_path](
                             std::string_view text) { return other_aggregate(text, path, own); };
  // As in the original, which has one reason for both.
  if (result->way == Way::native) plan.missing_aggregate = Reason::aggregate_result_unwritable;
  plan.record = [result = std::move(result), before = std::move(before)](
                    const Reasons& aggregate_reasons, std::string_view aggregate) {
    PatchedAggregate patched;
    if (result->sources.is_of_store) patched = patched_from(before, aggregate);
    return record_text(*result, aggregate_reasons, patched);
  };
  return plan;
}

}  // namespace aggregate_power
