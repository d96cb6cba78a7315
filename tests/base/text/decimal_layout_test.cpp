// Decimals that are laid out like the one before, and others in between.
#include "base/text/decimal_layout.h"

#include <string>

#include <gtest/gtest.h>

#include "base/text/decimal.h"
#include "test_util.h"

namespace aggregate_power {
namespace {

// Texts like the one before, and texts that differ from it a little, with anything behind them.
TEST(SimilarDecimals, AreReadLikeAnyOther) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  SimilarDecimals similar;
  std::size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string shape(dice.below(11), '0');
    if (!shape.empty() && dice.one_in(2)) shape[dice.below(shape.size())] = '.';
    for (int j = 0; j < 20; ++j) {
      std::string text = shape;
      for (char& c : text) c = c == '.' ? c : static_cast<char>('0' + dice.below(10));
      if (!text.empty() && dice.one_in(6))
        text[dice.below(text.size())] = "./:-+eE \x00\xB0"[dice.below(10)];
      if (dice.one_in(6)) text.resize(dice.below(text.size() + 1));
      std::string line = text;
      for (int k = 0; k < 8; ++k) line += ",.5 \x00\n\xFF\xAE"[dice.below(8)];
      double wanted = -1;
      double value = -1;
      const bool is_decimal = read_whole_decimal(text, wanted);
      ASSERT_EQ(similar.read(line.data(), text.size(), value), is_decimal)
          << '"' << text << "\", TEST_SEED=" << seed;
      ASSERT_EQ(value, wanted) << text << ", TEST_SEED=" << seed;
      read += is_decimal ? 1 : 0;
    }
  }
  EXPECT_GT(read, 100'000U);
}

}  // namespace
}  // namespace aggregate_power
