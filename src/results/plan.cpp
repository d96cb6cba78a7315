// Fills in a write plan.
#include "results/plan.h"

#include <utility>

#include "base/files/path.h"
#include "results/aggregate_json.h"
#include "results/edits.h"
#include "results/record.h"
#include "results/record_read.h"

namespace aggregate_power {

WritePlan plan(std::shared_ptr<const Result> result, WritePlan target, std::string before) {
  WritePlan plan = std::move(target);
  plan.valid = claims_power(*result);
  plan.edits =
      edits_of(*result, result->audit_source.empty() ? std::string(last_name(plan.record_path))
                                                     : result->audit_source);
  if (!plan.only_together) plan.edits_without_audit = edits_without_record(*result);
  plan.leftovers = leftovers_of(result->way);
  plan.is_record = is_record_text;
  // As in the original, which has one reason for both.
  if (result->way == Way::native) plan.missing_aggregate = Reason::aggregate_result_unwritable;
  plan.record = [result = std::move(result), before = std::move(before)](
                    const Reasons& aggregate_reasons, std::string_view aggregate) {
    InputFile patched;
    if (result->sources.is_of_store) patched = hashed_text(aggregate.empty() ? before : aggregate);
    return record_text(*result, aggregate_reasons, patched);
  };
  return plan;
}

}  // namespace aggregate_power
