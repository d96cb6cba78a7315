// Recomputes a stored run on one node from a recording and a load.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "core/record/aggregate.h"
#include "core/record/record_write.h"
#include "runs/evaluate/option_codec.h"
#include "store/backfill/choose_pair.h"
#include "store/backfill/recompute.h"
#include "store/backfill/run_zone.h"
#include "store/backfill/up_to_date.h"

namespace aggregate_power {
namespace {

std::optional<StoredRecord> past_pair(const StoredRun& run, const OneNodePieces& pieces,
                                      const RecomputeContext& context) {
  const std::vector<StorePath>& telemetry = pieces.telemetry.places;
  const std::vector<StorePath>& loads = pieces.loads.places;
  const RecomputeOptions& options = context.options;
  if (options.force || telemetry.size() != 1 || loads.size() != 1) return std::nullopt;
  const auto is_as_read = [&](const Sources& sources, std::int64_t record_ns) {
    const PastInputs inputs{telemetry[0], loads[0], !options.zone.has_value(),
                            options.may_need_interval()};
    return options.verify ? have_the_hashes(inputs, sources)
                          : have_the_sizes(inputs, sources, record_ns);
  };
  return previous_record(run, context.aggregate,
                         {options.contract, options_for_record(options, RunKind::stored_recording),
                          telemetry[0].below, loads[0].below, is_as_read});
}

// A run that has to wait for the others of its recorder.
Recomputed waiting(Recomputed run, const Pairing& pairing, bool are_own) {
  run.aggregate_text = store_path_text(run.run.aggregate);
  run.zone_case->waiting_telemetry = store_path_text(pairing.telemetry);
  run.zone_case->waiting_benchmark = store_path_text(pairing.benchmark);
  run.zone_case->are_own = are_own;
  return run;
}

// The result as the record shows it: with its files, its zone and its options.
Result completed(const Recomputed& run, bool of_agents, Pairing pairing,
                 const RecomputeOptions& options) {
  Result result = std::move(pairing.result);
  const std::string& folder = run.run.folder.below;
  result.telemetry_source = relative_path(folder, pairing.telemetry.below);
  result.benchmark_result = relative_path(folder, pairing.benchmark.below);
  if (pairing.zone_report) {
    result.zone_evidence = {*pairing.zone_report, run.zone_case ? run.zone_case->recorder : "",
                            run.zone_case ? run.zone_case->vote : std::nullopt};
  }
  if (of_agents) result.window_source = kProfileWindowSource;
  result.sources = {true, "", std::move(pairing.inputs),
                    options_for_record(options, RunKind::stored_recording)};
  return result;
}

Recomputed concluded_node(Recomputed run, bool of_agents, Pairing pairing, const InputFile& others,
                          const RecomputeContext& context) {
  const Result& result = pairing.result;
  run.telemetry = pairing.telemetry.display;
  run.benchmark = pairing.benchmark.display;
  run.reasons = result.reasons;
  run.inputs = std::move(pairing.opened);
  if (!pairing.has_window || !pairing.has_zone) {
    run.outcome = pairing.has_window ? Outcome::ambiguous : Outcome::not_recomputable;
    return run;
  }
  if (result.telemetry) run.timezone = result.telemetry->timezone;
  for (const std::string& hint : result.hints) {
    run.warnings.push_back(fmt::format("{}: {}", run.telemetry, hint));
  }
  std::ranges::copy(result.warnings, std::back_inserter(run.warnings));
  run.zone_report = pairing.zone_report;
  Result all = completed(run, of_agents, std::move(pairing), context.options);
  return planned(std::move(run), std::move(all), others, context);
}

}  // namespace

Recomputed recompute_kind(Recomputed begun, const OneNodePieces& pieces,
                          const RecomputeContext& context) {
  const auto& [aggregate, options, witnesses] = context;
  if (const auto past = past_pair(begun.run, pieces, context)) {
    return unchanged(std::move(begun), *past, aggregate);
  }
  if (auto ending = unusable(begun.run, aggregate)) return ended(std::move(begun), *ending);
  const InputFile others = hashed_others(aggregate.text);
  const StatedGpus stated = gpus_stated_in(aggregate.text);
  PairRequest request{options, options.expected_num_gpus};
  request.witnesses = witnesses;
  request.aggregate = aggregate.text;
  request.aggregate_name = last_name(begun.run.aggregate.path);
  if (!options.expected_num_gpus) {
    request.expected_num_gpus = stated.count;
    request.gpus_fault = stated.fault;
  }
  std::optional<std::string> hardware;
  if (options.may_need_interval() || !options.idle.empty()) {
    hardware = hardware_of(aggregate.text);
  }
  // Of several candidates only the chosen one needs an interval and idle power.
  const bool is_only = pieces.telemetry.places.size() == 1 && pieces.loads.places.size() == 1;
  if (is_only) request.hardware = hardware;
  PairChoice choice =
      choose_pair(begun.run, pieces, [&](const StorePath& telemetry, const StorePath& load) {
        return try_pair(telemetry, load, request);
      });
  if (choice.pairing && hardware && !is_only) {
    request.hardware = hardware;
    choice.pairing = try_pair(choice.pairing->telemetry, choice.pairing->benchmark, request);
  }
  if (!choice.pairing) {
    return ended(std::move(begun),
                 {Outcome::ambiguous, Reason::pairing_ambiguous, std::move(choice.why_none)});
  }
  Pairing& pairing = *choice.pairing;
  if (!options.zone) begun.zone_case = zone_case_of(begun.run, aggregate.text, pairing);
  const bool is_open = !pairing.has_zone && pairing.zone_finding && witnesses == nullptr;
  if (is_open) return waiting(std::move(begun), pairing, choice.are_own);
  return concluded_node(std::move(begun), pieces.of_agents, std::move(pairing), others, context);
}

}  // namespace aggregate_power
