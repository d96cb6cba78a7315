// Work done ahead on another thread: order, faults, ends.
#include "base/ahead.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace ahead_test {

// 1 to `last`, then the end.
Ahead<int>::Fill numbers(int last) {
  return [i = 0, last](int& piece) mutable {
    piece = ++i;
    return i <= last;
  };
}

std::vector<int> all_of(Ahead<int>& ahead) {
  std::vector<int> taken;
  while (const int* const piece = ahead.next()) taken.push_back(*piece);
  return taken;
}

TEST(Ahead, GivesAllPiecesInOrder) {
  for (const std::size_t pieces : {1, 2, 7}) {
    Ahead<int> ahead(std::vector<int>(pieces), numbers(100));
    const std::vector<int> taken = all_of(ahead);
    ASSERT_EQ(taken.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i + 1);
    EXPECT_EQ(ahead.next(), nullptr) << "the end stays the end";
  }
}

TEST(Ahead, MayHaveNothingToGive) {
  Ahead<int> ahead(std::vector<int>(2), numbers(0));
  EXPECT_EQ(ahead.next(), nullptr);
}

TEST(Ahead, FillsNoMoreThanThereIsRoomFor) {
  std::atomic<int> filled = 0;
  Ahead<int> ahead(std::vector<int>(3), [&](int& piece) {
    piece = ++filled;
    return true;
  });
  for (int taken = 1; taken <= 20; ++taken) {
    ASSERT_EQ(*ahead.next(), taken);
    EXPECT_LE(filled, taken + 2) << "the one that was taken still has its place";
  }
}

TEST(Ahead, ThrowsWhatFillingThrewAfterThePiecesBefore) {
  Ahead<int> ahead(std::vector<int>(4), [i = 0](int& piece) mutable {
    piece = ++i;
    if (i == 3) throw std::runtime_error("no more");
    return true;
  });
  EXPECT_EQ(*ahead.next(), 1);
  EXPECT_EQ(*ahead.next(), 2);
  EXPECT_EQ(*ahead.next(), 3) << "as far as it was filled";
  try {
    ahead.next();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no more");
  }
}

TEST(Ahead, ThrowsWhatIsNoStandardException) {
  struct Stopped {};
  Ahead<int> ahead(std::vector<int>(1), [](int&) -> bool { throw Stopped(); });
  EXPECT_NE(ahead.next(), nullptr);
  EXPECT_THROW(ahead.next(), Stopped);
}

TEST(Ahead, StopsWhenNobodyWantsMore) {
  std::atomic<bool> is_filling = false;
  {
    Ahead<int> ahead(std::vector<int>(2), [&](int&) {
      is_filling = true;
      std::this_thread::yield();
      is_filling = false;
      return true;  // for ever
    });
    EXPECT_NE(ahead.next(), nullptr);
  }
  EXPECT_FALSE(is_filling) << "its thread has ended";
  const auto give_up = [] {
    Ahead<int> ahead(std::vector<int>(2), [](int&) { return true; });
    ahead.next();
    throw std::runtime_error("of who takes");
  };
  EXPECT_THROW(give_up(), std::runtime_error);
}

TEST(Ahead, UsesPiecesAgain) {
  std::vector<const char*> places;
  Ahead<std::string> ahead(std::vector<std::string>(2), [n = 0](std::string& piece) mutable {
    piece.assign(100, 'x');
    return ++n <= 50;
  });
  const char* first = ahead.next()->data();
  std::ignore = ahead.next();
  EXPECT_EQ(ahead.next()->data(), first);
}

}  // namespace ahead_test
}  // namespace aggregate_power
