#include "base/system/parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace parallel_test {

TEST(InParallel, DoesEachPieceOnce) {
  for (const std::size_t threads : {1, 2, 100}) {
    for (const std::size_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      in_parallel(count, threads, [&](std::size_t i) { ++calls.at(i); });
      for (const auto& times : calls) EXPECT_EQ(times, 1);
    }
  }
}

TEST(InParallel, ThrowsWhatAPieceThrewOnceAllHaveEnded) {
  for (const std::size_t threads : {1, 4}) {
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    const auto work = [&](std::size_t i) {
      ++begun;
      ++ended;
      if (i == 3) throw std::runtime_error("the fourth");
    };
    try {
      in_parallel(1000, threads, work);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the fourth");
    }
    EXPECT_EQ(begun, ended);
    if (threads == 1) {
      EXPECT_EQ(begun, 4);
    }
  }
}

}  // namespace parallel_test
}  // namespace aggregate_power
