// How much room is made for the samples of a window.
#include "energy/window_room.h"

#include <limits>

#include <gtest/gtest.h>

#include "aggregate_power/sample.h"

namespace aggregate_power {
namespace window_room_test {

// After one sample each second.
std::size_t room_after(std::size_t seconds, double end_unix_s) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i <= seconds; ++i) samples.push_back({static_cast<double>(i), 100});
  samples.shrink_to_fit();
  make_window_room(samples, end_unix_s);
  return samples.capacity();
}

TEST(WindowRoom, IsForAllSamplesAtThePaceSoFar) {
  EXPECT_NEAR(static_cast<double>(room_after(2000, 10'000)), 1.02 * 10'000, 10);
  EXPECT_EQ(room_after(1023, 1e9), 256U * 1024) << "the recording may end before";
  EXPECT_EQ(room_after(3999, 4000), 5000U) << "the pace may change";
}

TEST(WindowRoom, DoublesWhereThePaceSaysNothing) {
  EXPECT_EQ(room_after(99, 10'000), 200U);
  EXPECT_EQ(room_after(4999, std::numeric_limits<double>::infinity()), 10'000U);
  std::vector<Sample> none;
  make_window_room(none, 100);
  EXPECT_EQ(none.capacity(), 16U);
}

TEST(WindowRoom, IsForAsManyAsAreComing) {
  std::vector<Sample> samples = {{0, 100}, {1, 100}};
  samples.shrink_to_fit();
  make_window_room(samples, 100, 512);
  EXPECT_EQ(samples.capacity(), 514U);
  samples.resize(500);
  make_window_room(samples, 100, 14);
  EXPECT_EQ(samples.capacity(), 514U) << "they fit";
  make_window_room(samples, 100, 15);
  EXPECT_EQ(samples.capacity(), 1000U);
}

}  // namespace window_room_test
}  // namespace aggregate_power
