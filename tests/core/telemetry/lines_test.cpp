// Lines of a stream, however it is given out.
#include "core/telemetry/lines.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/telemetry/telemetry.h"
#include "test_util.h"

namespace aggregate_power {
namespace lines_test {

using Lines = std::vector<std::pair<std::string, bool>>;  // and whether each is whole

Lines lines_of(const std::string& text, std::size_t at_a_time) {
  test::StutterSource source(text, at_a_time);
  Lines lines;
  for_each_line(source,
                [&](std::string_view line, bool is_whole) { lines.emplace_back(line, is_whole); });
  return lines;
}

Lines lines_one_by_one(const std::string& text) {
  Lines lines;
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.ends_with('\r')) line.pop_back();
    lines.emplace_back(std::exchange(line, {}), true);
  }
  if (!line.empty()) lines.emplace_back(line, false);
  return lines;
}

TEST(Lines, HaveTheirBreaksTakenOff) {
  EXPECT_EQ(lines_of("a\r\n\nb\r\r\nc\r", 100),
            Lines({{"a", true}, {"", true}, {"b\r", true}, {"c\r", false}}));
  EXPECT_EQ(lines_of("", 100), Lines());
  EXPECT_EQ(lines_of("a\n", 100), Lines({{"a", true}}));
}

TEST(Lines, AreTheSameHoweverTheyAreRead) {
  const std::uint64_t seed = test::fresh_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < test::rounds(60); ++i) {
    std::string text;
    const std::size_t longest = i % 3 == 0 ? 100'000 : 200;
    while (text.size() < 300'000) {
      text += std::string(random() % longest, static_cast<char>('a' + random() % 26));
      text += random() % 4 == 0 ? "\r\n" : "\n";
    }
    if (i % 2 == 0) text += "cut off";
    const std::size_t at_a_time = i % 5 == 0 ? 1000 : 1 + random() % 200'000;
    ASSERT_EQ(lines_of(text, at_a_time), lines_one_by_one(text))
        << at_a_time << ", TEST_SEED=" << seed;
  }
}

TEST(Lines, AreNotEndless) {
  const std::string text((1 << 20) + (1 << 17), 'a');
  EXPECT_THROW(lines_of(text, text.size()), TelemetryError);
  EXPECT_THROW(lines_of(text + "\n", 1000), TelemetryError);
  const std::string longest(1 << 20, 'a');
  EXPECT_EQ(lines_of(longest, 10'000), Lines({{longest, false}}));
}

// A line of so many bytes, wherever it lies in the pieces that are read.
TEST(Lines, HaveAtMostAMebibyte) {
  constexpr std::size_t kMost = 1 << 20;
  for (const std::size_t before : {0, 1, 1000, 100'000, 200'000, 262'143, 262'144}) {
    const std::string head = std::string(before, 'a') + "\n";
    for (const char* const tail : {"", "\n", "\nmore\n"}) {
      const std::string longest = head + std::string(kMost, 'b') + tail;
      EXPECT_GE(lines_of(longest, 300'000).size(), 2U) << before;
      const std::string too_long = head + std::string(kMost + 1, 'b') + tail;
      EXPECT_THROW(lines_of(too_long, 300'000), TelemetryError) << before;
    }
  }
}

}  // namespace lines_test
}  // namespace aggregate_power
