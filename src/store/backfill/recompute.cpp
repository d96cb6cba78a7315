// Checks a stored run's aggregate, and recomputes the run by its kind.
#include "store/backfill/recompute.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "base/files/whole_file.h"
#include "generators/aiperf_folder.h"
#include "core/record/aggregate.h"
#include "core/record/withdrawal.h"
#include "store/catalogue/layouts.h"
#include "store/catalogue/pieces.h"
#include "store/catalogue/run_pieces.h"
#include "store/backfill/run_zone.h"
#include "store/backfill/stored_aggregate.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {
namespace {

void add_missing(const StoredRun& run, Reason reason, const std::string& name, bool is_searched,
                 Reasons& missing) {
  missing.add(reason,
              fmt::format("no {} in {} or beside it{}", name, run.folder.display,
                          is_searched ? ", or by the run's name in the store"
                                      : "; the rest of the store was not searched"),
              is_searched ? Obstacle::none : Obstacle::not_searched);
}

void add_missing_result(const StoredRun& run, bool is_searched, Reasons& missing) {
  add_missing(run, Reason::benchmark_result_missing, run.name + ".json", is_searched, missing);
}

std::string why_no_profile(const StoredRun& run) {
  const auto results = agentic_results(run);
  return results ? fmt::format("no {} in {}", kProfileRecords, results->display)
                 : fmt::format("no agentic_{} in {} or beside it", run.name, run.folder.display);
}

std::string why_no_package(const StoredRun& run, const PackagePieces& pieces) {
  return pieces.logs.empty()
             ? fmt::format("no LOGS/power in {} or in power_audit_{} in it or beside it",
                           run.folder.display, run.artifact)
             : fmt::format("no power in {}", pieces.logs[0].logs.display);
}

std::string why_no_formal_result(const StoredRun& run, const PackagePieces& pieces) {
  const MultinodeLogs& logs = pieces.logs[0];
  return logs.agentic ? fmt::format("{} formal results of {} in {}", pieces.results.places.size(),
                                    run.name, logs.agentic->display)
                      : fmt::format("no agentic in {}", logs.logs.display);
}

// Empty: nothing is missing. May throw FileError.
Reasons missing_pieces(const StoredRun& run, const OneNodePieces& pieces,
                       const RecomputeOptions& options) {
  const bool is_searched = options.is_searched;
  Reasons missing;
  if (pieces.telemetry.places.empty()) {
    add_missing(run, Reason::telemetry_file_missing, "gpu_metrics.csv", is_searched, missing);
  }
  if (!pieces.loads.places.empty()) return missing;
  if (pieces.of_agents) {
    missing.add(Reason::profile_artifacts_missing, why_no_profile(run));
  } else {
    add_missing_result(run, is_searched, missing);
  }
  return missing;
}

Reasons missing_pieces(const StoredRun& run, const PackagePieces& pieces,
                       const RecomputeOptions& options) {
  Reasons missing;
  if (pieces.package() == nullptr) {
    missing.add(Reason::power_artifacts_missing, why_no_package(run, pieces));
  }
  const std::size_t results = pieces.results.places.size();
  if (pieces.of_agents && results != 1) {
    missing.add(Reason::formal_benchmark_result_missing, why_no_formal_result(run, pieces));
  } else if (!pieces.of_agents && results == 0) {
    add_missing_result(run, options.is_searched, missing);
  }
  return missing;
}

void drop_trees(StoredRun& run) {
  for (StorePath* place : {&run.folder, &run.aggregate}) {
    place->tree.reset();
    place->folder.reset();
  }
}

std::string first_of(const Candidates& candidates) {
  return candidates.places.empty() ? std::string() : candidates.places[0].display;
}

Recomputed begin(const StoredRun& run, const OneNodePieces& pieces) {
  Recomputed begun;
  begun.run = run;
  begun.telemetry = first_of(pieces.telemetry);
  begun.benchmark = first_of(pieces.loads);
  return begun;
}

Recomputed begin(const StoredRun& run, const PackagePieces& pieces) {
  Recomputed begun;
  begun.run = run;
  if (!pieces.of_agents) begun.run.layout = Layout::multinode;
  if (const MultinodeLogs* const package = pieces.package()) {
    begun.telemetry = package->power->display;
  }
  begun.benchmark = first_of(pieces.results);
  return begun;
}

// May throw FileError or Error.
template <typename Pieces>
Recomputed recompute_or_throw(const StoredRun& run, const Pieces& pieces,
                              const RecomputeOptions& options, const OtherWitnesses* witnesses) {
  Recomputed begun = begin(run, pieces);
  begun.reasons = missing_pieces(begun.run, pieces, options);
  if (!begun.reasons.empty()) {
    begun.outcome = Outcome::not_recomputable;
    return begun;
  }
  const StoredAggregate aggregate = read_aggregate(begun.run, options);
  if (!options.republish && is_retracted(begun.run, aggregate)) {
    return ended(std::move(begun), {Outcome::unchanged, Reason::retracted, ""});
  }
  try {
    return recompute_kind(std::move(begun), pieces, {aggregate, options, witnesses});
  } catch (const JsonError& error) {
    // Someone may have been writing to the file while it was read.
    const RunTarget& target = aggregate.target;
    const bool is_changed = !target.is_elsewhere && !holds(target.aggregate, aggregate.text);
    return ended(
        begin(run, pieces),
        {Outcome::failed, is_changed ? Reason::input_changed : Reason::aggregate_result_unwritable,
         fmt::format("{}:{}", run.aggregate.display, error.what())});
  }
}

template <typename Pieces>
Recomputed recompute_pieces(const StoredRun& run, const Pieces& pieces,
                            const RecomputeOptions& options, const OtherWitnesses* witnesses) {
  try {
    return recompute_or_throw(run, pieces, options, witnesses);
  } catch (const std::exception& error) {
    return ended(begin(run, pieces),
                 {Outcome::failed, Reason::input_unreadable, error_text(error)});
  }
}

void note_outcome(Recomputed& run, const Metrics& metrics) {
  run.valid = run.reasons.empty();
  run.outcome = run.valid ? Outcome::patched : Outcome::not_valid;
  if (!run.valid) return;
  for (const Metric& metric : metrics) {
    run.metrics.emplace_back(metric.key, rounded(metric.value, metric.decimals));
  }
}

}  // namespace

Recomputed ended(Recomputed run, Ending ending) {
  run.outcome = ending.outcome;
  run.reasons.add(ending.reason, std::move(ending.detail));
  return run;
}

std::optional<Ending> unusable(const StoredRun& run, const StoredAggregate& aggregate) {
  const std::string& name = run.aggregate.display;
  if (const auto fault = replacement_fault(aggregate)) {
    return Ending{Outcome::not_writable, Reason::replacement_unsafe,
                  fmt::format("{}: {}", name, *fault)};
  }
  if (is_object(aggregate)) return std::nullopt;
  return Ending{Outcome::failed, Reason::aggregate_result_unwritable,
                name + ": is not a JSON object"};
}

Recomputed unchanged(Recomputed run, const StoredRecord& record, const StoredAggregate& aggregate) {
  run.outcome = Outcome::unchanged;
  run.valid = record.valid;
  run.timezone = record.timezone;
  if (const auto& evidence = record.zone_evidence) {
    run.zone_report = evidence->report;
    run.zone_case = past_zone_case(run.run, *evidence);
  }
  for (const std::string& code : record.reasons) {
    if (const auto reason = reason_of(code)) run.reasons.add(*reason);
  }
  if (record.valid) {
    const RunTarget& target = aggregate.target;
    run.metrics = metrics_in(target.is_elsewhere ? read_file(target.aggregate, kAggregateFile)
                                                 : aggregate.text);
  }
  return run;
}

Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context) {
  MemorySource aggregate(context.aggregate.text);
  std::string failure = benchmark_failure_in(aggregate);
  if (rules_of(result.contract).refuses_failed_benchmark && !failure.empty()) {
    result.reasons.add(Reason::benchmark_failed, std::move(failure));
    accept_reasons(result);
    run.reasons = result.reasons;
  }
  note_outcome(run, result.metrics);
  if (const RunTarget& target = context.aggregate.target; !target.is_elsewhere) {
    run.before = members_of_ours(context.aggregate.text);
    run.had_record = is_regular_file(target.record);
    run.record_path = target.record;
  }
  run.plan =
      plan_of(run.run, context.aggregate, others, run.inputs, context.options, std::move(result));
  return run;
}

std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options) {
  const bool has_aggregate = run.aggregate.tree != nullptr;
  const std::string out = has_aggregate ? run.aggregate.tree->way_out(run.aggregate.path) : "";
  if (out.empty() && has_aggregate &&
      (!run.aggregate.tree->is_archive() || !options.output.empty())) {
    return std::nullopt;
  }
  Recomputed refused;
  refused.run = run;
  if (!out.empty()) {
    refused.outcome = Outcome::not_writable;
    refused.reasons.add(Reason::aggregate_result_unwritable,
                        fmt::format("{}: {}", run.aggregate.display, not_read(out)));
  } else if (has_aggregate) {
    refused.outcome = Outcome::not_writable;
    refused.reasons.add(Reason::aggregate_in_archive, run.aggregate.display);
  } else {
    refused.outcome = Outcome::not_recomputable;
    refused.reasons.add(Reason::aggregate_result_missing, run.folder.display);
  }
  drop_trees(refused.run);
  return refused;
}

Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses) {
  Recomputed recomputed = std::visit(
      [&](const auto& found) { return recompute_pieces(run, found, options, witnesses); }, pieces);
  drop_trees(recomputed.run);
  return recomputed;
}

}  // namespace aggregate_power
