// Values of a JSON text that is in memory, and what Python makes of them.
#include "aggregate_power/base/spelled_json.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

SpelledJson member(const std::string& text) {
  SpelledJson value;
  EXPECT_TRUE(find_members(text, {{"a", value}})) << text;
  return value;
}

TEST(FindMembers, TakesTheLastOfAKeyAndLooksIntoNoOther) {
  EXPECT_EQ(member(R"({"a": 1, "b": {"a": 2}, "\u0061" :[3] })").spelling, "[3]");
  EXPECT_EQ(member(R"({"b": {"a": 2}})").spelling, "");
  EXPECT_EQ(member(R"({"a": null})").spelling, "null");
  SpelledJson value;
  EXPECT_FALSE(find_members("[1]", {{"a", value}}));
  EXPECT_THROW(find_members("{", {{"a", value}}), JsonError);
}

TEST(TextOf, DecodesStringsOnly) {
  const std::string text = R"({"a": "x\u00e9\n"})";
  EXPECT_EQ(text_of(member(text)), "x\u00e9\n");
  EXPECT_EQ(text_of(member(R"({"a": "\ud800"})")), std::nullopt);
  EXPECT_EQ(text_of(member(R"({"a": 1})")), std::nullopt);
}

TEST(IsTruthy, IsPythonsBool) {
  for (const char* spelling :
       {"null", "false", "0", "-0", "0.0", "-0e5", "1e-400", "\"\"", "[]", "{ }", "[\n]"}) {
    const std::string text = std::string("{\"a\": ") + spelling + "}";
    EXPECT_FALSE(is_truthy(member(text))) << spelling;
  }
  for (const char* spelling :
       {"true", "1", "-0.5", "NaN", "-Infinity", "1e999", "\" \"", "[0]", "{\"b\": 0}"}) {
    const std::string text = std::string("{\"a\": ") + spelling + "}";
    EXPECT_TRUE(is_truthy(member(text))) << spelling;
  }
}

TEST(WholeNumber, IsPythonsInt) {
  const std::pair<const char*, std::optional<std::int64_t>> kCases[] = {
      {"7", 7},
      {"-7", -7},
      {"100.9", 100},
      {"-0.5", 0},
      {"1e3", 1000},
      {"true", 1},
      {"false", 0},
      {"\" 1_0 \"", 10},
      {"\"-3\"", -3},
      {"\"\\u0663\"", 3},
      {"9223372036854775807", 9223372036854775807},
      {"9223372036854775808", {}},
      {"9223372036854775808.0", {}},
      {"NaN", {}},
      {"Infinity", {}},
      {"\"1.5\"", {}},
      {"\"\"", {}},
      {"null", {}},
      {"[1]", {}},
      {"{}", {}},
  };
  for (const auto& [spelling, number] : kCases) {
    const std::string text = std::string("{\"a\": ") + spelling + "}";
    EXPECT_EQ(whole_number(member(text)), number) << spelling;
  }
}

}  // namespace
}  // namespace aggregate_power
