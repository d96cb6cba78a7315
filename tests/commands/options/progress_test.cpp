// The line that says how far a backfill is.
#include "commands/options/terminal.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace progress_test {

BackfillProgress after(std::uint64_t patched, std::uint64_t found, bool all_found) {
  BackfillProgress progress;
  progress.counts.outcomes[static_cast<std::size_t>(Outcome::patched)] = patched;
  progress.counts.valid = patched;
  progress.found = found;
  progress.all_found = all_found;
  return progress;
}

TEST(ProgressText, SaysHowLongItWillTakeWhenAllIsFound) {
  // 500 in 10 s; the 1500 that are left take 30 s.
  EXPECT_EQ(progress_text(after(500, 2000, true), 10),
            "500/2000 runs, 50/s, 30 s left: 500 valid, 0 invalid, 0 skipped, 0 failed");
}

TEST(ProgressText, SaysThatThereMayBeMore) {
  EXPECT_EQ(progress_text(after(5, 725, false), 2.5),
            "5/725+ runs, 2.0/s, over 6 min 0 s left: 5 valid, 0 invalid, 0 skipped, "
            "0 failed");
}

TEST(ProgressText, CountsRunsThatWereNotValidBefore) {
  BackfillProgress progress = after(1, 6, true);
  progress.counts.outcomes[static_cast<std::size_t>(Outcome::unchanged)] = 3;
  progress.counts.unchanged_not_valid = 2;
  progress.counts.outcomes[static_cast<std::size_t>(Outcome::not_valid)] = 1;
  progress.counts.outcomes[static_cast<std::size_t>(Outcome::failed)] = 1;
  EXPECT_EQ(progress_text(progress, 0.06),
            "6/6 runs, 100/s: 1 valid, 3 invalid, 3 skipped, 1 failed");
}

TEST(ProgressText, SaysNothingOfARateBeforeThereIsOne) {
  EXPECT_EQ(progress_text(after(0, 0, false), 0),
            "0/0+ runs, 0.0/s: 0 valid, 0 invalid, 0 skipped, 0 failed");
}

}  // namespace progress_test
}  // namespace aggregate_power
