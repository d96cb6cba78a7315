// Texts in order.
#include "store/sorted_texts.h"

#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace sorted_texts_test {

using Texts = std::vector<std::string>;

Texts all_of(SortedTexts& sorted) {
  Texts texts;
  sorted.take_all([&](std::string_view text) { texts.emplace_back(text); });
  return texts;
}

TEST(SortedTexts, AreInTheOrderOfTheBytesOfTheirKeys) {
  SortedTexts sorted;
  for (const char* key : {"b", "a/b", "a", "\xFF", "a.b", "B"}) {
    sorted.add(key, fmt::format("of {}", key));
  }
  sorted.add("a", "another");
  // B is 42, a is 61 in hexadecimal; a full stop is 2E, a slash 2F.
  EXPECT_EQ(all_of(sorted),
            (Texts{"of B", "another", "of a", "of a.b", "of a/b", "of b", "of \xFF"}));
  EXPECT_EQ(all_of(sorted), Texts());
}

TEST(SortedTexts, AreTheSameWhetherTheyFitIntoMemoryOrNot) {
  for (const std::size_t most_bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    SortedTexts sorted(most_bytes);
    // 7 is coprime to 500: each number once, in another order.
    for (int i = 0; i < 500; ++i) {
      const std::string number = fmt::format("{:03}", i * 7 % 500);
      sorted.add(number, number);
    }
    const Texts texts = all_of(sorted);
    ASSERT_EQ(texts.size(), 500U) << most_bytes;
    for (int i = 0; i < 500; ++i) EXPECT_EQ(texts[i], fmt::format("{:03}", i)) << most_bytes;
  }
}

TEST(SortedTexts, MayHoldAnyBytes) {
  SortedTexts sorted(1);
  sorted.add("b", std::string("a\0b\n", 4));
  sorted.add("a", "");
  EXPECT_EQ(all_of(sorted), (Texts{"", std::string("a\0b\n", 4)}));
}

TEST(SortedTexts, SaysWhenThereIsNoRoomForThem) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nonexistent", 1);
  SortedTexts sorted(1);
  std::string message;
  try {
    sorted.add("a", "");
  } catch (const Error& error) {
    message = error.what();
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(message,
            "cannot create the list of what is in the store, in /nonexistent: No such file or "
            "directory; set $TMPDIR to a folder that is writable and has free space");
}

}  // namespace sorted_texts_test
}  // namespace aggregate_power
