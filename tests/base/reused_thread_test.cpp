#include "base/reused_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace aggregate_power {
namespace reused_thread_test {

TEST(ReusedThread, WorksElsewhereAndIsWaitedFor) {
  std::thread::id worker;
  {
    const ReusedThread thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      worker = std::this_thread::get_id();
    });
  }
  EXPECT_NE(worker, std::thread::id());
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(ReusedThread, IsUsedAgain) {
  std::set<std::thread::id> workers;
  for (int i = 0; i < 50; ++i) {
    const ReusedThread thread([&] { workers.insert(std::this_thread::get_id()); });
  }
  EXPECT_EQ(workers.size(), 1);
}

TEST(ReusedThread, IsNotGivenWorkThatWouldWaitForAnother) {
  // Each waits until all have begun.
  constexpr int kThreads = 8;
  for (int i = 0; i < 20; ++i) {
    std::latch all_began(kThreads);
    std::mutex mutex;
    std::set<std::thread::id> workers;
    {
      std::vector<ReusedThread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&] {
          all_began.arrive_and_wait();
          const std::lock_guard guard(mutex);
          workers.insert(std::this_thread::get_id());
        });
      }
    }
    EXPECT_EQ(workers.size(), kThreads);
  }
}

TEST(ReusedThread, MayUseOthersInItsWork) {
  int sum = 0;
  {
    const ReusedThread outer([&] { const ReusedThread inner([&] { sum += 1; }); });
  }
  EXPECT_EQ(sum, 1);
}

}  // namespace reused_thread_test
}  // namespace aggregate_power
