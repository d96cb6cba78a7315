// Results that are not JSON, as JSON. Expected texts are PyYAML's, or RFC 4180's.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "generators/generators.h"

namespace aggregate_power {
namespace converted_test {

const Conversion& conversion(std::string_view kind) {
  for (const Conversion& one : conversions()) {
    if (one.kind == kind) return one;
  }
  throw Error("no such conversion");
}

std::string json_of(std::string_view yaml) { return conversion("YAML").json_of(yaml); }

TEST(Yaml, HasTheMeaningOfJson) {
  struct Case {
    std::string_view yaml;
    std::string_view json;
  };
  constexpr Case kCases[] = {
      {"a: 1\nb: -2.5e+3\n", R"({"a":1,"b":-2.5e+3})"},
      {"a: 01\nb: 0.2.1\nc: 1_000\n", R"({"a":"01","b":"0.2.1","c":"1_000"})"},
      {"a:\nb: ~\nc: null\nd: true\n", R"({"a":null,"b":null,"c":null,"d":true})"},
      {"a:\n- 1\n- b: 2\n  c: 3\n- - 4\n  - 5\n", R"({"a":[1,{"b":2,"c":3},[4,5]]})"},
      {"a:\n  b:\n    c: d\ne: f\n", R"({"a":{"b":{"c":"d"}},"e":"f"})"},
      {"- a\n-\n  b: 1\n", R"(["a",{"b":1}])"},
      {"a: {}\nb: []\nc: [1, 'x, y', {d: e}]\n", R"({"a":{},"b":[],"c":[1,"x, y",{"d":"e"}]})"},
      {"a: one\n  two\n\n  three\n", R"({"a":"one two\nthree"})"},
      {"a: 'it''s\n  here'\n'b c': d\n", R"({"a":"it's here","b c":"d"})"},
      {"a: \"x\\n\\\n  \\ y\\x41\\U0001F600\"\n", R"({"a":"x\n y\u0041\ud83d\ude00"})"},
      {"a: |\n  x: 1\n   y\nb: >-\n  p\n  q\n\n  r\n", R"({"a":"x: 1\n y\n","b":"p q\nr"})"},
      {"# c\n---\na: http://b:1 # d\ne: f#g\n...\n", R"({"a":"http://b:1","e":"f#g"})"},
      {"a: 1\r\nb:\r\n- 2\r\n", R"({"a":1,"b":[2]})"},
  };
  for (const Case& one : kCases) EXPECT_EQ(json_of(one.yaml), one.json) << one.yaml;
}

TEST(Yaml, NamesWhatItDoesNotRead) {
  struct Case {
    std::string_view yaml;
    std::string_view fault;
  };
  constexpr Case kCases[] = {
      {"a: 1\nb: &x 2\n", "line 2: an anchor or an alias"},
      {"a: !!python/object:x {}\n", "line 1: a tag"},
      {"? a\n: b\n", "line 1: a complex key"},
      {"a: 1\n---\nb: 2\n", "line 2: a second document"},
      {"  a: 1\nb: 2\n", "line 2: a second document, or a wrong indent"},
      {"a: 'b\nc: d\n", "line 1: a quoted text without an end"},
      {"a: [1, 2\nb: 3\n", "line 1: a bracket that is not closed"},
      {"a: 'b' c\n", "line 1: text after a quoted one"},
      {"a: 1\nb\n", "line 2: a line without a key"},
      {"a: [b: c]\n", "line 1: a wrong bracket, or a colon in a list"},
      {"a: [}\n", "line 1: a wrong bracket, or a colon in a list"},
      {"a: {b]\n", "line 1: a wrong bracket, or a colon in a list"},
      {"a: {{b: c}: d}\n", "line 1: a complex key"},
      {"a: \"\\UFFFFFFFF\"\n", "line 1: an escape beyond U+10FFFF"},
  };
  for (const Case& one : kCases) {
    try {
      ADD_FAILURE() << one.yaml << json_of(one.yaml);
    } catch (const Error& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(one.fault)) << error.what();
    }
  }
  EXPECT_THROW(json_of(std::string(100000, '[')), Error);
  std::string deep;
  for (std::size_t i = 0; i < 1000; ++i) deep += std::string(i, ' ') + "a:\n";
  EXPECT_THROW(json_of(deep), Error);
}

TEST(Yaml, TakesTimeByItsSize) {
  const std::string empty(1'000'000, '\n');
  // {"a":"x","b":"y...z"}: each empty line but the first break is \\n, two characters.
  EXPECT_EQ(json_of("a: x" + empty + "b: 'y" + empty + "  z'\n").size(), 18 + 2 * 999'999);
  std::string lines = "a: [1";
  for (int i = 0; i < 100000; ++i) lines += ",\n  1";
  EXPECT_THROW(json_of(lines + "]\n"), Error);
  std::string long_lines = "a: [1";
  for (int i = 0; i < 100; ++i) long_lines += ",\n  '" + std::string(20'000, 'x') + "'";
  EXPECT_THROW(json_of(long_lines + "]\n"), Error);
  // Each dash is a list of one item: [[...["xx...x"]...]].
  std::string dashes;
  for (int i = 0; i < 198; ++i) dashes += "- ";
  EXPECT_EQ(json_of(dashes + std::string(1'000'000, 'x')).size(), 2 * 198 + 1'000'002);
}

// Brackets, quotes and colons in each order of up to five.
TEST(Yaml, EndsWithAnyBrackets) {
  constexpr std::string_view kSigns = "[]{}:,' a";
  std::size_t orders = 1;
  for (int length = 1; length <= 5; ++length) orders *= kSigns.size();
  for (std::size_t order = 0; order < orders; ++order) {
    std::string text = "a: ";
    for (std::size_t rest = order; rest > 0; rest /= kSigns.size()) {
      text += kSigns[rest % kSigns.size()];
    }
    try {
      EXPECT_LT(json_of(text).size(), 100) << text;
    } catch (const Error&) {
    }
  }
}

TEST(Yaml, MayBreakOffAnywhere) {
  const std::string text =
      "a: [1, {b: 'c'}]\nd:\n- \"e\\\n  f\"\n- |\n  g\nh: 'i\n\n  j'\nk: {l: m}\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    try {
      EXPECT_FALSE(json_of(std::string_view(text).substr(0, size)).empty());
    } catch (const Error&) {
    }
  }
}

TEST(Csv, IsALineForEachRow) {
  EXPECT_EQ(conversion("CSV").json_of("a,b\n1,\"x, y\"\n\n2\n"),
            "{\"row\":{\"a\":\"1\",\"b\":\"x, y\"}}\n{\"row\":{\"a\":\"2\"}}\n");
}

TEST(Csv, IsRefusedIfItsHeaderMakesItTooLarge) {
  const std::string header(100'000, 'a');
  std::string rows;
  for (int i = 0; i < 1000; ++i) rows += "1\n";
  EXPECT_THROW(conversion("CSV").json_of(header + "\n" + rows), Error);
}

TEST(Conversions, AreOnlyOfWhatGeneratorsWrite) {
  EXPECT_TRUE(conversion("YAML").is_result("results:\n  a: 1\n"));
  EXPECT_FALSE(conversion("YAML").is_result("timestamp: 5\n"));
  EXPECT_FALSE(conversion("YAML").fits("{\"a\": 1}"));
  EXPECT_FALSE(conversion("CSV").fits("timestamp,gpu,power_w\n"));
}

}  // namespace converted_test
}  // namespace aggregate_power
