// The table that a backfill ends with.
#include "aggregate_power/commands/backfill_summary.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

TEST(BackfillSummary, NamesTheFirstRunsOfEachReasonInWhateverOrderTheyCame) {
  BackfillCounts counts;
  counts.outcomes[static_cast<std::size_t>(Outcome::ambiguous)] = 6;
  for (const char* run : {"e", "b", "d", "a", "c"}) {
    counts.reasons[Reason::pairing_ambiguous].add(run);
  }
  counts.reasons[Reason::input_changed].add("a\nrun");
  EXPECT_EQ(summary_text(counts, false),
            "runs                         6\n"
            "  ambiguous                  6\n"
            "reason                            runs  what to do\n"
            "  pairing_ambiguous                  5  several files could belong to the run: move "
            "those that do not out of the store\n"
            "    a, b, c, ...\n"
            "  input_changed                      1  run again when nobody writes to the "
            "run's files\n"
            "    a?run\n");
}

TEST(BackfillSummary, SaysThatItWasADryRun) {
  EXPECT_EQ(summary_text({}, true), "runs (dry run)               0\n");
}

}  // namespace
}  // namespace aggregate_power
