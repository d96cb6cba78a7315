// Which recording and which benchmark result, of those that can be a run's, belong together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/pairing.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

struct PairChoice {
  std::optional<Pairing> pairing;  // nothing: it cannot be told
  bool are_own = false;            // its files are the run's own beyond doubt
  std::string why_none;
};

using TryPair = std::function<Pairing(const StorePath& telemetry, const StorePath& load)>;

// The only pair that fits; also the only pair there is, unless it is certainly that of two runs.
// There is one candidate of each kind at least. Throws FileError, and what `try_pair` throws.
PairChoice choose_pair(const StoredRun& run, const OneNodePieces& pieces, const TryPair& try_pair);

// Candidates without copies of each other. Throws FileError.
std::vector<StorePath> distinct_files(std::vector<StorePath> files);

}  // namespace aggregate_power
