// Recomputes a stored run on several nodes from its package and a benchmark result.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "results/aggregate_json.h"
#include "results/record.h"
#include "runs/option_codec.h"
#include "store/artifact_names.h"
#include "store/choose_pair.h"
#include "store/package_pairing.h"
#include "store/recompute.h"
#include "store/up_to_date.h"

namespace aggregate_power {
namespace {

// Packages have no other options.
std::vector<RecordedOption> package_options(const RecomputeOptions& options) {
  RunSpec of_package;
  static_cast<PackageOptions&>(of_package) = options;
  of_package.idle = options.idle;
  of_package.uncertainty = options.uncertainty;
  of_package.salvage = options.salvage;
  return options_for_record(of_package, RunKind::stored_package);
}

std::optional<StoredRecord> past_package(const StoredRun& run, const PackagePieces& pieces,
                                         const RecomputeContext& context) {
  const std::vector<StorePath>& results = pieces.results.places;
  const RecomputeOptions& options = context.options;
  if (options.force || results.size() != 1 || pieces.logs.size() != 1) return std::nullopt;
  const MultinodeLogs& package = *pieces.package();
  if (package.has_both) return std::nullopt;
  const auto is_as_read = [&](const Sources& sources, std::int64_t record_ns) {
    return package_is_as_read(package, results[0], sources, record_ns, options.verify);
  };
  return previous_record(run, context.aggregate,
                         {options.contract, package_options(options), package.power->below,
                          results[0].below, is_as_read});
}

// Logs with packages of both kinds do not say which is the run's. Empty: there are none.
std::string two_kinds(const PackagePieces& pieces) {
  const auto logs = std::ranges::find_if(pieces.logs, &MultinodeLogs::has_both);
  if (logs == pieces.logs.end()) return {};
  return fmt::format("{} has both power and native_power; remove the one that is not this run's",
                     logs->logs.display);
}

// Packages that exist several times must be equal. Empty: they are.
std::string difference(const PackagePieces& pieces, const StorePath& benchmark) {
  const MultinodeLogs& package = *pieces.package();
  for (const MultinodeLogs& other : pieces.logs) {
    if (&other == &package || is_same_package(package, other, benchmark)) continue;
    return fmt::format("{} and {} differ", package.power->display, other.power->display);
  }
  return {};
}

// A package's window may have another concurrency than the run's name. Empty: it does not.
std::string contradiction(const std::string& run, const StorePath& benchmark,
                          const Result& result) {
  const auto named = concurrency_in_name(run);
  if (!named || !result.package || !result.package->window) return {};
  const std::int64_t found = result.package->window->concurrency;
  return found == *named ? std::string()
                         : fmt::format("{}: max_concurrency is {}, the run's name says {}",
                                       benchmark.display, found, *named);
}

Recomputed concluded_package(Recomputed run, const PackagePieces& pieces,
                             const StorePath& benchmark, PackagePairing pairing,
                             const InputFile& others, const RecomputeContext& context) {
  Result result = std::move(pairing.result);
  run.benchmark = benchmark.display;
  run.reasons = result.reasons;
  run.inputs = std::move(pairing.opened);
  run.warnings = result.warnings;
  if (!result.load) {
    run.outcome = Outcome::not_recomputable;
    return run;
  }
  run.timezone = "UTC";
  const std::string& folder = run.run.folder.below;
  result.telemetry_source = relative_path(folder, pieces.package()->power->below);
  result.benchmark_result = relative_path(folder, benchmark.below);
  if (pieces.of_agents) result.window_source = kFormalWindowSource;
  result.sources = {true, "", std::move(pairing.inputs), package_options(context.options)};
  return planned(std::move(run), std::move(result), others, context);
}

}  // namespace

Recomputed recompute_kind(Recomputed begun, const PackagePieces& pieces,
                          const RecomputeContext& context) {
  const auto& [aggregate, options, witnesses] = context;
  if (const auto past = past_package(begun.run, pieces, context)) {
    return unchanged(std::move(begun), *past, aggregate);
  }
  if (auto ending = unusable(begun.run, aggregate)) return ended(std::move(begun), *ending);
  const InputFile others = hashed_others(aggregate.text);
  const auto ambiguous = [&](std::string why) {
    return ended(std::move(begun), {Outcome::ambiguous, Reason::pairing_ambiguous, std::move(why)});
  };
  if (std::string why = two_kinds(pieces); !why.empty()) return ambiguous(std::move(why));
  const std::vector<StorePath> results = distinct_files(pieces.results.places);
  if (pieces.results.are_too_many || results.size() != 1) {
    return ambiguous(
        fmt::format("{} different files are named {}.json", results.size(), begun.run.name));
  }
  if (std::string why = difference(pieces, results[0]); !why.empty()) {
    return ambiguous(std::move(why));
  }
  PackagePairing pairing =
      try_package(*pieces.package(), results[0], begun.run, aggregate.text, options);
  if (rules_of(options.contract).checks_run_name && !pieces.of_agents) {
    if (std::string why = contradiction(begun.run.name, results[0], pairing.result); !why.empty()) {
      return ambiguous(std::move(why));
    }
  }
  return concluded_package(std::move(begun), pieces, results[0], std::move(pairing), others,
                           context);
}

}  // namespace aggregate_power
