// What the program publishes of recordings with faults, and of sound ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "truth/recording_classes.h"

namespace truth {

struct RecordingFigures {
  bool is_good = false;
  std::string name;
  double hidden_share = 0;  // RecordingClass's
  std::size_t runs = 0;
  std::size_t refused = 0;
  std::size_t warned = 0;    // valid, and something is said
  std::size_t harmless = 0;  // valid, nothing is said, and off by 5 % at most
  std::size_t wrong = 0;     // valid, nothing is said, and off by more
  std::map<std::string, std::size_t> reasons = {};
  std::vector<std::uint64_t> seeds = {};  // of those that are wrong, or refused although good
};

// `runs` of each class whose name contains `filter`, measured in a folder of their own.
std::vector<RecordingFigures> make_recording_table(std::size_t runs, std::uint64_t first_seed,
                                                   const std::string& filter = {});
std::string as_text(const std::vector<RecordingFigures>& table);

// Writes the recordings of one run into a folder.
std::vector<std::string> write_recordings(const RecordedRun& run, const std::string& folder);

}  // namespace truth
