#include "base/text/pattern.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace pattern_test {

TEST(Pattern, MatchesAWholeText) {
  const Pattern pattern = "power([ ._-]?draw)?";
  EXPECT_TRUE(pattern.matches("power"));
  EXPECT_TRUE(pattern.matches("power.draw"));
  EXPECT_FALSE(pattern.matches("power.draw "));
  EXPECT_FALSE(pattern.matches("Power"));
  EXPECT_FALSE(pattern.matches(""));
}

// These are matched without RE2.
TEST(Pattern, MatchesAlternativesOfSingleCharacters) {
  const Pattern pattern = "gpu|gpu.?id|pci\\.bus|time[ ._-]?s?";
  for (const char* text : {"gpu", "gpuid", "gpu_id", "gpu\xffid", "pci.bus", "time", "times",
                           "time-s", "time_", "time.s"}) {
    EXPECT_TRUE(pattern.matches(text)) << text;
  }
  for (const char* text : {"", "g", "gp", "gpu ", "gpu__id", "gpu\nid", "pci_bus", "pcibus",
                           "time]", "time[", "timess", "|", "gpu|gpu", "time\\", "Gpu"}) {
    EXPECT_FALSE(pattern.matches(text)) << text;
  }
  EXPECT_TRUE(Pattern("a|").matches(""));
  EXPECT_TRUE(Pattern("a\\||[|]").matches("a|"));
  EXPECT_TRUE(Pattern("a\\||[|]").matches("|"));
  EXPECT_TRUE(Pattern("gpu[0-9]").matches("gpu5"));
  EXPECT_TRUE(Pattern("gpu\\d").matches("gpu5"));
}

TEST(Pattern, IsFoundAnywhereInAText) {
  const Pattern pattern(R"(\bpower \d\b)", Pattern::Case::either);
  EXPECT_TRUE(pattern.is_found_in("the POWER 1 of it"));
  EXPECT_FALSE(pattern.is_found_in("the power 12"));
}

TEST(Pattern, TakesBytesThatAreNoText) {
  const Pattern pattern = "(.*[^a-z])?max.*";
  EXPECT_TRUE(pattern.matches("\xff\xc3max"));
  EXPECT_TRUE(pattern.matches(std::string_view("\0max\0", 5)));
  EXPECT_FALSE(pattern.matches("amax"));
  EXPECT_FALSE(Pattern("k", Pattern::Case::either).is_found_in("\u212A"));  // the sign of kelvin
}

TEST(Pattern, TakesALongTextInLinearTime) {
  const std::string text = std::string(1 << 20, 'a') + "!";
  EXPECT_FALSE(Pattern("(a*)*b").matches(text));
  EXPECT_TRUE(Pattern("(.*a)?(.*a)?(.*a)?!").matches(text));
}

TEST(Pattern, IsCompiledOnceForSeveralThreads) {
  const Pattern pattern = "gpu[0-9]+";
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([pattern] { EXPECT_TRUE(pattern.matches("gpu17")); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace pattern_test
}  // namespace aggregate_power
