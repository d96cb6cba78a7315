// Hardly any recording with a fault gives a wrong energy that nothing is said about, and hardly any
// sound one is refused. The bounds are for a few recordings of each class; `recording_truth
// 400` shows the figures of many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "test_util.h"
#include "truth/recording_table.h"
#include "truth/rounds.h"

namespace truth {
namespace recording_truth_test {

const std::size_t kRunsOfEach =
    static_cast<std::size_t>(aggregate_power::test::rounds(kIsSanitized ? 20 : 100));

TEST(RecordingTruth, PublishesNoWrongEnergyAndRefusesNoSoundRun) {
  const std::vector<RecordingFigures> table = make_recording_table(kRunsOfEach, 1);
  std::fputs(as_text(table).c_str(), stdout);
  double good = 0, faults = 0, refused = 0, wrong = 0;
  for (const RecordingFigures& row : table) {
    (row.is_good ? good : faults) += static_cast<double>(row.runs);
    const double hidden = row.hidden_share * static_cast<double>(row.runs);
    wrong += std::max(0.0, static_cast<double>(row.wrong) - hidden);
    refused += row.is_good ? static_cast<double>(row.refused) : 0;
    EXPECT_LE(static_cast<double>(row.wrong), 1 + hidden + 0.02 * static_cast<double>(row.runs))
        << row.name;
  }
  EXPECT_LE(wrong, 1 + 0.003 * faults);
  EXPECT_LE(refused, 2 + 0.012 * good);
}

}  // namespace recording_truth_test
}  // namespace truth
