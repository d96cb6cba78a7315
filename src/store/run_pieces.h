// The files that a stored run is computed from. Their type says which kind of run it is.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "store/multinode_logs.h"
#include "store/store_path.h"

namespace aggregate_power {

// What bears one name in the whole store.
struct Namesakes {
  std::array<std::vector<std::string>, 2>
      pieces;  // by PieceKind: store_path_text(), but not too many
  std::size_t runs = 0;
};

// The files of a run that can be one kind of piece.
struct Candidates {
  std::vector<StorePath> places;
  // They are near the run, where its own would be; else they only have its name.
  bool are_own = true;
  bool are_too_many = false;  // and not all of them here
  // No other run of the store, and no other piece of this kind, has its name.
  bool are_only_namesakes = false;
};
inline constexpr std::size_t kMostCandidates = 16;

// Of a run on one node.
struct OneNodePieces {
  Candidates telemetry;
  Candidates loads;        // benchmark results; of a run of agents the records of its profile
  bool of_agents = false;  // the load was agents, not a benchmark
};

// Of a run on several nodes.
struct PackagePieces {
  // The most complete one; of several, any could be the run's. None: nothing is left of them.
  std::vector<MultinodeLogs> logs;
  Candidates results;      // of the benchmark; of a run of agents the formal ones
  bool of_agents = false;  // likewise

  // The package is in the first of them. Nothing: there is none.
  const MultinodeLogs* package() const {
    return !logs.empty() && logs[0].power ? &logs[0] : nullptr;
  }
};

using RunPieces = std::variant<OneNodePieces, PackagePieces>;

}  // namespace aggregate_power
