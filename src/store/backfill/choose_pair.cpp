// Tries the candidates for a run's recording and benchmark result.
#include "store/backfill/choose_pair.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/hash.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

// Whether a result was found only by its name, but already has an aggregate beside it.
bool is_another_runs(const StoredRun& run, const std::vector<StorePath>& results) {
  const std::string name = fmt::format("agg_{}.json", run.name);
  return std::ranges::any_of(
      results, [&](const StorePath& place) { return find_beside(place, name).has_value(); });
}

// Whether these are the only recording and the only result in the store that are named after this
// run and no other. Results are always named like that. `telemetry`: without copies.
bool are_only_namesakes(const StoredRun& run, const OneNodePieces& pieces,
                        const std::vector<StorePath>& telemetry) {
  const auto bears_its_name = [&](const StorePath& recording) {
    const std::string name = "gpu_metrics_" + run.name;
    return plain_stem(last_name(recording.path)) == name ||
           (recording.folder && archive_stem(last_name(recording.folder->display)) == name);
  };
  return pieces.telemetry.are_only_namesakes && pieces.loads.are_only_namesakes &&
         std::ranges::all_of(telemetry, bears_its_name);
}

// Whether a recording whose zone is still open shows the run's load under exactly one offset.
bool shows_window(const Pairing& pairing) {
  return pairing.zone_finding && pairing.zone_finding->by_edges;
}

std::string names_of(const std::vector<StorePath>& telemetry, const std::vector<StorePath>& loads) {
  std::vector<std::string> names;
  for (const StorePath& place : telemetry) names.push_back(place.display);
  for (const StorePath& place : loads) names.push_back(place.display);
  names.resize(std::min(names.size(), kMostCandidates));
  return fmt::format("{}", fmt::join(names, ", "));
}

PairChoice none(std::string why) { return {std::nullopt, false, std::move(why)}; }

}  // namespace

std::vector<StorePath> distinct_files(std::vector<StorePath> files) {
  if (files.size() < 2) return files;
  std::vector<std::pair<std::uint64_t, std::string>> seen;
  std::vector<StorePath> result;
  for (StorePath& place : files) {
    const OpenedFile file = place.tree->open(place.path);
    std::pair<std::uint64_t, std::string> content{file.size(), hash_of(file)};
    if (std::ranges::find(seen, content) != seen.end()) continue;
    seen.push_back(std::move(content));
    result.push_back(std::move(place));
  }
  return result;
}

PairChoice choose_pair(const StoredRun& run, const OneNodePieces& pieces, const TryPair& try_pair) {
  if (pieces.telemetry.are_too_many || pieces.loads.are_too_many) {
    return none(fmt::format("more than {} files with its name", kMostCandidates));
  }
  if (!pieces.loads.are_own && is_another_runs(run, pieces.loads.places)) {
    return none(
        fmt::format("{} is beside an aggregate of its own", pieces.loads.places[0].display));
  }
  const std::vector<StorePath> telemetry = distinct_files(pieces.telemetry.places);
  const std::vector<StorePath> loads = distinct_files(pieces.loads.places);
  const std::size_t pairs = telemetry.size() * loads.size();
  if (pairs > kMostCandidates) {
    return none(fmt::format("{} pairs of a recording and a result, at most {} are tried, among {}",
                            pairs, kMostCandidates, names_of(telemetry, loads)));
  }
  const bool are_own = (pieces.telemetry.are_own && pieces.loads.are_own) ||
                       are_only_namesakes(run, pieces, telemetry);
  std::vector<Pairing> fitting;
  std::vector<Pairing> others;
  for (const StorePath& recording : telemetry) {
    for (const StorePath& load : loads) {
      Pairing tried = try_pair(recording, load);
      (fits(tried) || shows_window(tried) ? fitting : others).push_back(std::move(tried));
    }
  }
  if (fitting.size() == 1) return {std::move(fitting[0]), are_own, {}};
  if (others.size() == 1 && pairs == 1 && (are_own || !is_apart(others[0]))) {
    return {std::move(others[0]), are_own, {}};
  }
  return none(fmt::format("{} of {} pairs fit, among {}", fitting.size(), pairs,
                          names_of(telemetry, loads)));
}

}  // namespace aggregate_power
