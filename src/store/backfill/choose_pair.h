// Chooses the recording and the benchmark result that belong together, among a run's candidates.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/backfill/pairing.h"
#include "store/catalogue/run_pieces.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {

struct PairChoice {
  std::optional<Pairing> pairing;  // nullopt: that is undecidable
  bool are_own = false;            // its files certainly belong to the run
  std::string why_none;
};

using TryPair = std::function<Pairing(const StorePath& telemetry, const StorePath& load)>;

// The only pair that fits; or the only pair there is, unless its parts certainly belong to two
// runs. There must be at least one candidate of each kind. Throws FileError, and what `try_pair`
// throws.
PairChoice choose_pair(const StoredRun& run, const OneNodePieces& pieces, const TryPair& try_pair);

// The candidates without copies of each other. Throws FileError.
std::vector<StorePath> distinct_files(std::vector<StorePath> files);

}  // namespace aggregate_power
