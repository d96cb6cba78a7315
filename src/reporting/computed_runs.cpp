// Takes what a dry run of a backfill would write.
#include "reporting/computed_runs.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/nameless_file.h"
#include "base/text/json_value.h"
#include "store/backfill.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

// What would be written of one run.
struct ComputedRun {
  std::vector<JsonEdit> edits = {};
  JsonValue record = {};  // null: none
  std::vector<std::string> reasons;
  std::string telemetry;
};

void apply_edits(const std::vector<JsonEdit>& edits, JsonValue& members) {
  for (const JsonEdit& edit : edits) {
    std::erase_if(members.members,
                  [&](const JsonValue::Member& member) { return member.first == edit.key; });
    if (!edit.value.empty()) members.members.emplace_back(edit.key, parse_json(edit.value));
  }
}

ComputedRun computed_run(const Recomputed& recomputed) {
  ComputedRun computed{.reasons = recomputed.reasons.codes(), .telemetry = recomputed.telemetry};
  if (!recomputed.plan || !recomputed.is_written()) return computed;
  computed.edits = recomputed.plan->edits;
  computed.record = parse_json(recomputed.plan->record({}, {}));
  return computed;
}

void take_computed(const ComputedRun& computed, ReportRun& run) {
  if (!computed.record.is_object()) {
    run.run.reasons = computed.reasons;
    return;
  }
  JsonValue members = std::move(run.run.members);
  apply_edits(computed.edits, members);
  PublishedRun published = published_run_of(std::move(members), &computed.record);
  published.name = std::move(run.run.name);
  published.identity = std::move(run.run.identity);
  published.aggregate = std::move(run.run.aggregate);
  run.run = std::move(published);
  run.is_computed_here = true;
  run.record_content = computed.record;
  run.telemetry = place_on_disk(computed.telemetry);
}

}  // namespace

std::vector<std::string> compute_missing_runs(const std::vector<std::string>& stores,
                                              unsigned most_threads, const StoreAccess& access,
                                              std::vector<ReportRun>& runs) {
  std::map<std::string, ReportRun*> missing;  // by the identity of the aggregate
  for (ReportRun& run : runs) {
    if (run.run.state == PowerState::none && !run.run.aggregate.empty()) {
      missing[file_identity(run.run.aggregate)] = &run;
    }
  }
  if (missing.empty() || stores.empty()) return {};
  BackfillRequest request;
  request.stores = stores;
  request.jobs = most_threads;
  request.recompute.dry_run = true;
  request.recompute.stores = stores;
  request.recompute.access = access;
  // So that aggregates in archives are computed, too. It is not made.
  request.recompute.output = temporary_folder() + "/aggregate-power-report";
  std::map<std::string, ComputedRun> computed;
  BackfillWatcher watcher;
  watcher.trouble = [](const std::string&) {};
  watcher.progress = [](const BackfillProgress&) {};
  watcher.done = [&](const Recomputed& recomputed) {
    const std::string identity = file_identity(recomputed.run.aggregate.display);
    if (missing.contains(identity)) computed[identity] = computed_run(recomputed);
  };
  try {
    Backfill(request, watcher).run();
  } catch (const FileError& error) {
    return {fmt::format("runs without power were not computed: {}", error.what())};
  } catch (const Error& error) {
    return {fmt::format("runs without power were not computed: {}", error.what())};
  }
  std::size_t taken = 0;
  for (const auto& [identity, one] : computed) {
    take_computed(one, *missing[identity]);
    taken += missing[identity]->is_computed_here ? 1 : 0;
  }
  if (taken == 0) return {};
  return {fmt::format(
      "{} had no power yet: computed for this report, not written ('aggregate-power backfill' writes it)",
      taken == 1 ? "1 run" : fmt::format("{} runs", taken))};
}

}  // namespace aggregate_power
