#include "energy/change_correlation.h"

#include <gtest/gtest.h>

#include <span>

namespace aggregate_power {
namespace {

TEST(ChangeCorrelation, SaysHowAlikeGpusChange) {
  const Sample up[] = {{0, 1}, {1, 3}, {2, 2}, {3, 5}};
  const Sample also_up[] = {{0, 11}, {1, 15}, {2, 13}, {3, 19}};
  const Sample down[] = {{0, 5}, {1, 3}, {2, 4}, {3, 1}};
  const std::span<const Sample> alike[] = {up, also_up};
  EXPECT_NEAR(change_correlation(alike, {0, 3}), 1, 1e-12);
  const std::span<const Sample> opposite[] = {up, down};
  EXPECT_EQ(change_correlation(opposite, {0, 3}), 0);  // never less than nothing
  const std::span<const Sample> one[] = {up};
  EXPECT_EQ(change_correlation(one, {0, 3}), 0);
}

}  // namespace
}  // namespace aggregate_power
