// Prints what is published of recordings with faults, and of sound ones.
// usage: recording_truth [RUNS [FIRST_SEED [CLASS]]]
//        recording_truth --write FOLDER CLASS SEED
// RUNS of each class (default: 40). With CLASS, a part of its name, seeds of failures are shown,
// too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "truth/recording_table.h"

int main(int count, char** words) {
  if (count > 4 && std::string(words[1]) == "--write") {
    for (const truth::RecordingClass& one : truth::recording_classes()) {
      if (one.name != words[3]) continue;
      truth::Random random(std::strtoull(words[4], nullptr, 10));
      const truth::RecordedRun run = one.make(random);
      std::filesystem::create_directories(words[2]);
      truth::write_recordings(run, words[2]);
      fmt::print("{:.3f} {:.3f} {:.3f}\n", run.window.start_unix_s, run.window.end_unix_s,
                 run.true_j);
    }
    return 0;
  }
  const std::size_t runs = count > 1 ? std::strtoull(words[1], nullptr, 10) : 40;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  const auto table = truth::make_recording_table(runs, seed, count > 3 ? words[3] : "");
  fmt::print("{}", truth::as_text(table));
  for (const auto& row : table) {
    if (count > 3) fmt::print("{}: {}\n", row.name, fmt::join(row.seeds, " "));
  }
}
