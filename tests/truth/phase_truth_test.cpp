// The watts of phases against loads whose truth is known.
#include <gtest/gtest.h>

#include <cstdio>

#include "truth/phase_table.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AGGREGATE_POWER_IS_SANITIZED
#endif
#endif

namespace truth {
namespace phase_truth_test {

#ifdef AGGREGATE_POWER_IS_SANITIZED
constexpr std::size_t kLoads = 1;
#else
constexpr std::size_t kLoads = 4;
#endif

TEST(PhaseTruth, KnowsTheWattsAndHowFarTheyMayBeOff) {
  const std::vector<PhaseFigures> table = make_phase_table(kLoads, 1);
  std::fputs(as_text(table).c_str(), stdout);
  double covered = 0;
  double judged = 0;
  for (const PhaseFigures& row : table) {
    if (row.is_refused) {
      EXPECT_EQ(row.given, 0U) << row.name;
      continue;
    }
    const auto given = static_cast<double>(row.right_model);
    covered += given * row.prefill_coverage;
    judged += given;
    if (kLoads == 1) continue;
    EXPECT_GE(row.given, kLoads / 2) << row.name;
    EXPECT_EQ(row.given, row.right_model) << row.name;
    EXPECT_LE(row.prefill_error, 0.02) << row.name;
  }
  if (kLoads == 1) GTEST_SKIP() << "a load of each class gives no figures";
  EXPECT_GE(covered / judged, 0.88);
}

}  // namespace phase_truth_test
}  // namespace truth
