// The files that a stored run is computed from. Their type shows which kind of run it is.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// Everything with the same name in the whole store.
struct Namesakes {
  std::array<std::vector<std::string>, 2>
      pieces;  // by PieceKind: store_path_text(), a limited number
  std::size_t runs = 0;
};

// The files that can be one kind of piece of a run.
struct Candidates {
  std::vector<StorePath> places;
  // They are near the run, where its own would be; otherwise they only have its name.
  bool are_own = true;
  bool are_too_many = false;  // then some of them are missing here
  // No other run in the store, and no other piece of this kind, has its name.
  bool are_only_namesakes = false;
};
inline constexpr std::size_t kMostCandidates = 16;

// The pieces of a run on one node.
struct OneNodePieces {
  Candidates telemetry;
  Candidates loads;        // benchmark results; for a run of agents, the records of its profile
  bool of_agents = false;  // the load came from agents, not from a benchmark
};

// The pieces of a run on several nodes.
struct PackagePieces {
  // The most complete one; if there are several, any could be the run's. Empty: none was found.
  std::vector<MultinodeLogs> logs;
  Candidates results;      // of the benchmark; for a run of agents, the formal ones
  bool of_agents = false;  // the load came from agents, not from a benchmark

  // The first logs, which contain the package. Returns nullptr if there are none.
  const MultinodeLogs* package() const {
    return !logs.empty() && logs[0].power ? &logs[0] : nullptr;
  }
};

using RunPieces = std::variant<OneNodePieces, PackagePieces>;

}  // namespace aggregate_power
