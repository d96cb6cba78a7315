// Decimals in the cells of rows, read several at a time and one by one.
#include "base/text/decimal_cells.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/byte_masks.h"
#include "base/text/decimal.h"
#include "base/text/line_cells.h"
#include "base/text/line_parts.h"
#include "test_util.h"

namespace aggregate_power {
namespace decimal_cells_test {

TEST(DecimalCells, AreReadAtOnce) {
  const std::string text = "x,400.25,0.5,y,12345678" + std::string(kLineSlack, '9');
  LineCells cells;
  ASSERT_TRUE(cells.split(std::string_view(text).substr(0, 23)));
  DecimalCells numbers({1, 2, 4});
  ASSERT_TRUE(numbers.read(cells));
  const std::span<double> values = numbers.values();
  EXPECT_EQ(std::vector(values.begin(), values.end()), std::vector({400.25, 0.5, 12345678.0}));
}

TEST(DecimalCells, MayBeLongIntegers) {
  const std::string text = "123456789012345,7,100000000,90000000001" + std::string(kLineSlack, '9');
  LineCells cells;
  ASSERT_TRUE(cells.split(std::string_view(text).substr(0, 39)));
  DecimalCells numbers({0, 1, 2, 3});
  ASSERT_TRUE(numbers.read(cells));
  const std::span<double> values = numbers.values();
  EXPECT_EQ(std::vector(values.begin(), values.end()),
            std::vector({123456789012345.0, 7.0, 100000000.0, 90000000001.0}));
}

TEST(DecimalCells, AreNotThoseOfARowThatWasNotRead) {
  LineCells cells;
  DecimalCells numbers({0, 1});
  for (const std::string line : {"11,22", "1,222", "333,4"}) {
    const std::string text = line + std::string(kLineSlack, '9');
    ASSERT_TRUE(cells.split(std::string_view(text).substr(0, line.size())));
    if (line == "1,222") continue;
    ASSERT_TRUE(numbers.read(cells));
  }
  EXPECT_EQ(numbers.values()[0], 333);
  EXPECT_EQ(numbers.values()[1], 4);
}

// Rows like the one before, rows that differ from it a little, with anything behind them.
TEST(DecimalCells, AreReadLikeAnyOther) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  int read = 0;
  for (int i = 0; i < 3'000; ++i) {
    const std::size_t columns = 1 + dice.below(5);
    std::vector<std::size_t> all(columns);
    std::vector<std::string> shapes(columns);
    for (std::size_t column = 0; column < columns; ++column) {
      all[column] = column;
      shapes[column] = std::string(1 + dice.below(dice.one_in(9) ? 17 : 8), '0');
      if (dice.one_in(2)) shapes[column][dice.below(shapes[column].size())] = '.';
    }
    LineCells cells;
    DecimalCells numbers(all);
    for (int row = 0; row < 30; ++row) {
      std::string line;
      std::vector<double> wanted;
      for (const std::string& shape : shapes) {
        std::string cell = shape;
        for (char& c : cell) c = c == '.' ? c : static_cast<char>('0' + dice.below(10));
        if (dice.one_in(30)) cell[dice.below(cell.size())] = "./:-+eE \xB0"[dice.below(9)];
        if (dice.one_in(30)) cell.resize(dice.below(cell.size() + 1));
        double value = 0;
        const bool is_read = cell.size() <= (cell.find('.') == cell.npos ? 15u : 8u);
        if (is_read && read_whole_decimal(cell, value)) wanted.push_back(value);
        line += (&shape == &shapes[0] ? "" : ",") + cell;
      }
      const std::size_t size = line.size();
      for (std::size_t k = 0; k < kLineSlack; ++k) line += ",.5 \x00\n\xFF\xAE"[dice.below(8)];
      ASSERT_TRUE(cells.split(std::string_view(line).substr(0, size)));
      const bool are_all = wanted.size() == columns;
      ASSERT_EQ(numbers.read(cells), are_all) << line.substr(0, size) << ", TEST_SEED=" << seed;
      if (!are_all) continue;
      const std::span<double> values = numbers.values();
      ASSERT_EQ(std::vector(values.begin(), values.end()), wanted)
          << line.substr(0, size) << ", TEST_SEED=" << seed;
      ++read;
    }
  }
  EXPECT_GT(read, 10'000);
}

template <typename Kernel>
void expect_right_fours() {
  const std::array<std::string, 4> texts = {"400.25,99", "7,999999,", "0.5,12345", "12345678"};
  const std::array<std::size_t, 4> sizes = {6, 1, 3, 8};
  DecimalFour four;
  std::array<const char*, 4> cells{};
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(four.note(i, texts[i].data(), sizes[i]));
    cells[i] = texts[i].data();
  }
  std::array<double, 4> values{};
  EXPECT_TRUE(Kernel::read({&four, 1}, cells.data(), values.data()));
  EXPECT_EQ(values, std::to_array({400.25, 7.0, 0.5, 12345678.0}));
  for (const std::string other : {"4000.5,99", "400:25,99", "400/25,99", "40x.25,99",
                                  "40\xB1.25,99", "400.2/,99", "400.2:,99"}) {
    cells[0] = other.data();
    EXPECT_FALSE(Kernel::read({&four, 1}, cells.data(), values.data())) << other;
  }
}

TEST(DecimalCells, AreRightWithPortableInstructions) { expect_right_fours<PortableDecimals>(); }

// Anything else that a cell may contain, in each of the four.
template <typename Kernel>
void expect_the_same_as_portable() {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const std::array<std::string, 4> shapes = {"000.0000", "00000000", "0.000000", "000000.0"};
  DecimalFour four;
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(four.note(i, shapes[i].data(), 8));
  for (int i = 0; i < 100'000; ++i) {
    std::array<std::string, 4> texts = shapes;
    std::array<const char*, 4> cells{};
    for (std::string& text : texts) {
      for (char& c : text) c = c == '.' ? c : static_cast<char>('0' + dice.below(10));
      if (dice.one_in(8)) text[dice.below(8)] = static_cast<char>(dice.below(256));
      cells[static_cast<std::size_t>(&text - texts.data())] = text.data();
    }
    const std::string all = texts[0] + ' ' + texts[1] + ' ' + texts[2] + ' ' + texts[3];
    std::array<double, 4> a{};
    std::array<double, 4> b{};
    const bool is_right = PortableDecimals::read({&four, 1}, cells.data(), a.data());
    ASSERT_EQ(Kernel::read({&four, 1}, cells.data(), b.data()), is_right)
        << all << ", TEST_SEED=" << seed;
    if (!is_right) continue;
    ASSERT_EQ(a, b) << all << ", TEST_SEED=" << seed;
  }
}

#if defined(__SSE2__)
TEST(DecimalCells, AreRightWithSse2) { expect_right_fours<Sse2Decimals>(); }

TEST(DecimalCells, AreTheSameWithSse2) { expect_the_same_as_portable<Sse2Decimals>(); }
#endif

#if defined(__x86_64__)
TEST(DecimalCells, AreRightWithAvx2) {
  if (!Avx2Kernel::is_supported()) GTEST_SKIP() << "this processor has no AVX2";
  expect_right_fours<Avx2Decimals>();
}

TEST(DecimalCells, AreTheSameWithAvx2) {
  if (!Avx2Kernel::is_supported()) GTEST_SKIP() << "this processor has no AVX2";
  expect_the_same_as_portable<Avx2Decimals>();
}
#endif

}  // namespace decimal_cells_test
}  // namespace aggregate_power
