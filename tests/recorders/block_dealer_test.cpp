#include "recorders/block_dealer.h"

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "recorders/breaking_source.h"

namespace aggregate_power {
namespace block_dealer_test {

constexpr std::size_t kBuffer = 1000;

std::size_t end_of_line(std::string_view bytes) { return bytes.rfind('\n') + 1; }

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

// What several threads were dealt, put together in the order of next_owner().
struct Dealt {
  std::string text;
  std::size_t blocks = 0;
  int faults = 0;
};

Dealt deal(BlockDealer& dealer, std::size_t threads) {
  std::mutex mutex;
  std::vector<std::vector<std::string>> pieces(threads);  // whole blocks, then the rest
  Dealt dealt;
  {
    std::vector<std::jthread> workers;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        std::array<char, kBuffer> buffer;
        std::string rest;
        try {
          bool is_whole = false;
          while (const std::size_t size = dealer.deal(thread, buffer, is_whole)) {
            rest.append(buffer.data(), size);
            if (is_whole) pieces[thread].push_back(std::exchange(rest, {}));
          }
        } catch (const std::exception&) {
          const std::lock_guard guard(mutex);
          ++dealt.faults;
        }
        pieces[thread].push_back(rest);
      });
    }
    dealer.begin();
  }
  // The last piece of each thread is what it got of the rest.
  std::vector<std::size_t> next(threads);
  std::size_t owner = 0;
  while (true) {
    dealt.text += pieces[owner][next[owner]++];
    ++dealt.blocks;
    if (next[owner] == pieces[owner].size()) return dealt;
    owner = dealer.next_owner();
  }
}

TEST(BlockDealer, DealsAllBytesInOrder) {
  for (const std::size_t threads : {1, 2, 3, 5}) {
    for (const int count : {0, 1, 50, 5'000}) {
      const std::string text = lines(count);
      test::BreakingSource source(text, std::string::npos, "a.txt");
      BlockDealer dealer("ahead\n", source, end_of_line);
      const Dealt dealt = deal(dealer, threads);
      EXPECT_EQ(dealt.text, "ahead\n" + text) << count << " lines, " << threads << " threads";
      EXPECT_GE(dealt.blocks, text.size() / kBuffer);
    }
  }
}

TEST(BlockDealer, DealsTheRestToOneThreadWhereItCannotCut) {
  const std::string text = lines(300) + "\"" + lines(3'000);
  test::BreakingSource source(text, std::string::npos, "a.txt");
  BlockDealer dealer("", source, [](std::string_view bytes) {
    return bytes.find('"') == bytes.npos ? end_of_line(bytes) : 0;
  });
  const Dealt dealt = deal(dealer, 3);
  EXPECT_EQ(dealt.text, text);
  EXPECT_LE(dealt.blocks, 5U);
}

TEST(BlockDealer, DealsTheBytesBeforeAFaultAndThrowsItOnce) {
  const std::string text = lines(3'000);
  test::BreakingSource source(text, 12'345, "a.txt");
  BlockDealer dealer("", source, end_of_line);
  const Dealt dealt = deal(dealer, 3);
  EXPECT_EQ(dealt.text, text.substr(0, 12'345));
  EXPECT_EQ(dealt.faults, 1);
}

TEST(BlockDealer, DealsTheFirstBlockToTheFirstThread) {
  for (int i = 0; i < 20; ++i) {
    const std::string text = lines(1'000);
    test::BreakingSource source(text, std::string::npos, "a.txt");
    BlockDealer dealer("", source, end_of_line);
    dealer.begin();
    std::array<char, kBuffer> others_buffer;
    bool is_others_whole = false;
    std::jthread other([&] { dealer.deal(1, others_buffer, is_others_whole); });
    std::array<char, kBuffer> buffer;
    bool is_whole = false;
    const std::string first(buffer.data(), dealer.deal(0, buffer, is_whole));
    EXPECT_EQ(first, text.substr(0, first.size()));
    EXPECT_TRUE(is_whole);
    EXPECT_EQ(dealer.next_owner(), 1U);
  }
}

TEST(BlockDealer, LetsNoThreadWaitWhenItIsOver) {
  test::BreakingSource source(lines(1'000), std::string::npos, "a.txt");
  BlockDealer dealer("", source, end_of_line);
  std::size_t dealt = 1;
  bool is_whole = false;
  std::array<char, kBuffer> buffer;
  {
    const std::jthread waiting([&] { dealt = dealer.deal(1, buffer, is_whole); });
    dealer.end();
  }
  EXPECT_EQ(dealt, 0U);
}

}  // namespace block_dealer_test
}  // namespace aggregate_power
