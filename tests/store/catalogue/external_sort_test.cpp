// Texts in order.
#include "store/catalogue/external_sort.h"

#include <cstdlib>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace external_sort_test {

using Texts = std::vector<std::string>;

Texts all_of(ExternalSort& sorted) {
  Texts all;
  sorted.for_each_key([&](const std::string& key, const Texts& texts) {
    for (const std::string& text : texts) all.push_back(fmt::format("{}: {}", key, text));
  });
  return all;
}

TEST(ExternalSort, IsInTheOrderOfTheBytesOfKeysAndTexts) {
  for (const std::size_t most_bytes : {1, 200, 1 << 20}) {
    ExternalSort sorted(most_bytes);
    for (const char* key : {"b", "a/b", "a", "\xFF", "a.b", "B"}) sorted.add(key, "one");
    sorted.add("a", "another");
    // B is 42, a is 61 in hexadecimal; a full stop is 2E, a slash 2F.
    EXPECT_EQ(all_of(sorted), (Texts{"B: one", "a: another", "a: one", "a.b: one", "a/b: one",
                                     "b: one", "\xFF: one"}));
    EXPECT_EQ(all_of(sorted), Texts());
  }
}

TEST(ExternalSort, IsTheSameWhetherAllFitsIntoMemoryOrNot) {
  for (const std::size_t most_bytes : {1, 1000, 10000, 1 << 20}) {
    ExternalSort sorted(most_bytes);
    // 7 is coprime to 500: each number once, in another order.
    for (int i = 0; i < 500; ++i) sorted.add(fmt::format("{:03}", i * 7 % 500), "");
    const Texts texts = all_of(sorted);
    ASSERT_EQ(texts.size(), 500U) << most_bytes;
    for (int i = 0; i < 500; ++i) EXPECT_EQ(texts[i], fmt::format("{:03}: ", i)) << most_bytes;
  }
}

TEST(ExternalSort, KeepsAnyBytes) {
  for (const std::size_t most_bytes : {1, 1 << 20}) {
    ExternalSort sorted(most_bytes);
    const std::string odd("a\0b\n", 4);
    sorted.add(odd, odd);
    sorted.add("a", "");
    sorted.add("", "");
    EXPECT_EQ(all_of(sorted), (Texts{": ", "a: ", odd + ": " + odd}));
  }
}

TEST(ExternalSort, SaysWhenThereIsNoRoomForIt) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nonexistent", 1);
  std::string message;
  try {
    const ExternalSort sorted;
  } catch (const Error& error) {
    message = error.what();
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(message,
            "cannot create the list of what is in the store, in /nonexistent: No such file or "
            "directory; set $TMPDIR to a folder that is writable and has free space");
}

TEST(ScatteredKey, GivesEachNameOneKey) {
  ExternalSort sorted(1000);
  const std::string odd("a\0b\n\xFF", 5);
  for (const std::string& name : {std::string("a"), std::string("b"), std::string(), odd}) {
    sorted.add(scattered_key(name), "one");
    sorted.add(scattered_key(name), "two");
  }
  std::map<std::string, Texts> found;
  sorted.for_each_key([&](const std::string& key, const Texts& texts) {
    EXPECT_TRUE(found.emplace(name_of_key(key), texts).second);
  });
  const Texts both = {"one", "two"};
  EXPECT_EQ(found,
            (std::map<std::string, Texts>{{"", both}, {"a", both}, {"b", both}, {odd, both}}));
}

}  // namespace external_sort_test
}  // namespace aggregate_power
