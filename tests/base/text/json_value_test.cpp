// JSON values, and what is equal. What is expected was taken from CPython 3.11: of json.loads(), of
// its ==, and of json.dumps(value, sort_keys=True).
#include "base/text/json_value.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace aggregate_power {
namespace json_value_test {

TEST(ParseJson, ReadsEachKind) {
  const JsonValue value = parse_json(
      R"( {"n": null, "t": true, "f": false, "i": -12, "r": 1.50e1, "s": "a\u00e9\n", "l": [1, []],
           "o": {"x": {}}} )");
  ASSERT_TRUE(value.is_object());
  ASSERT_EQ(value.members.size(), 8u);
  EXPECT_TRUE(value.at("n").is_null());
  EXPECT_EQ(value.at("n").text, "");
  EXPECT_TRUE(value.at("t").is_true());
  EXPECT_EQ(value.at("f").kind, JsonKind::boolean);
  EXPECT_FALSE(value.at("f").is_true());
  EXPECT_EQ(value.at("i").as_integer(), -12);
  EXPECT_EQ(value.at("r").kind, JsonKind::real);
  EXPECT_EQ(value.at("r").as_double(), 15);
  EXPECT_EQ(value.at("s").text, "a\u00e9\n");
  ASSERT_EQ(value.at("l").items.size(), 2u);
  EXPECT_TRUE(value.at("l").items[1].is_array());
  EXPECT_TRUE(value.at("o").at("x").is_object());
}

TEST(ParseJson, GivesNullForAMemberThatIsNotThere) {
  EXPECT_TRUE(parse_json(R"({"a": 1})").at("b").is_null());
  EXPECT_TRUE(parse_json("[1]").at("b").is_null());
  EXPECT_TRUE(parse_json("null").at("b").is_null());
}

TEST(ParseJson, TellsAMemberThatIsNullFromOneThatIsNotThere) {
  const JsonValue value = parse_json(R"({"a": null})");
  ASSERT_NE(value.find("a"), nullptr);
  EXPECT_TRUE(value.find("a")->is_null());
  EXPECT_EQ(value.find("b"), nullptr);
}

TEST(ParseJson, KeepsTheFirstPlaceAndTheLastValueOfARepeatedKey) {
  const JsonValue value = parse_json(R"({"a": 1, "b": {"x": 1, "x": 2}, "a": [3], "\u0061": 4})");
  ASSERT_EQ(value.members.size(), 2u);
  EXPECT_EQ(value.members[0].first, "a");
  EXPECT_EQ(value.members[0].second.as_integer(), 4);
  EXPECT_EQ(value.members[1].second.members.size(), 1u);
  EXPECT_EQ(value.at("b").at("x").as_integer(), 2);
}

// However many members an object has.
TEST(RepeatedJsonKey, IsTheFirstOne) {
  for (const auto& [text, key] : std::vector<std::pair<std::string, std::optional<std::string>>>{
           {R"({})", std::nullopt},
           {R"([1, "a", {"a": 1}, {"a": 2}])", std::nullopt},
           {R"({"a": {"a": {"a": 1}}, "b": "a", "A": "\"a\": 1"})", std::nullopt},
           {R"({"a": 1, "a": 1})", "a"},
           {R"({"a": 1, "b": 2, "\u0061": 3, "b": 4})", "a"},
           {R"({"x": {"y": [0, {"z": 1}, {"z": 1, "z": 2}]}, "x": 1})", "x.y.z"},
           {R"([[{"k": 1, "k": {"k": 1, "k": 2}}]])", "k"},
           {R"({"": 1, "": 2, "a": 1, "a": 2})", ""},
       }) {
    EXPECT_EQ(repeated_json_key(text), key) << text;
  }
}

TEST(ParseJson, FindsRepeatedKeysAmongMany) {
  for (const std::size_t count : {2, 16, 17, 500}) {
    std::string members;
    for (std::size_t i = 0; i < count; ++i) members += fmt::format("\"k{}\":{},", i, i);
    const JsonValue value = parse_json(fmt::format("{{{}\"k1\":-1}}", members));
    ASSERT_EQ(value.members.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t expected = i == 1 ? -1 : static_cast<std::int64_t>(i);
      EXPECT_EQ(value.members[i].first, fmt::format("k{}", i));
      EXPECT_EQ(value.members[i].second.as_integer(), expected);
    }
  }
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const char* const text : {"",         " ",        "{",         "[1,]",  "{\"a\":1,}",
                                 "01",       "+1",       ".5",        "1.",    "'a'",
                                 "nan",      "infinity", "NaN1",      "[1] 2", "\xEF\xBB\xBF{}",
                                 "\"\xFF\"", "\"\n\"",   "{\"a\" 1}", "True",  "\"\\x\""}) {
    EXPECT_THROW(parse_json(text), JsonError) << text;
  }
}

TEST(ParseJson, TakesIntegersOfUpTo4300Digits) {
  const std::string digits(4300, '7');
  EXPECT_EQ(parse_json(digits).text, digits);
  EXPECT_EQ(parse_json("-" + digits).text, "-" + digits);
  for (const std::string& text :
       {digits + "7", "-7" + digits, "[[" + digits + "7]]", "{\"a\":{\"b\":7" + digits + "}}",
        "{\"a\":7" + digits + ",\"a\":1}"}) {
    EXPECT_THROW(parse_json(text), JsonError) << text.size();
  }
  EXPECT_TRUE(std::isinf(parse_json(digits + "7.0").as_double()));
}

TEST(ParseJson, TakesAThousandLevels) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(parse_json(nested(1000)).is_array());
  EXPECT_THROW(parse_json(nested(1001)), JsonError);
}

TEST(JsonValue, KnowsItsNumbers) {
  const struct {
    const char* text;
    bool is_number;
    bool is_finite;
    std::optional<std::int64_t> integer;
  } cases[] = {
      {"0", true, true, 0},
      {"-0", true, true, 0},
      {"9223372036854775807", true, true, std::numeric_limits<std::int64_t>::max()},
      {"9223372036854775808", true, true, {}},
      {"1.0", true, true, {}},
      {"1e2", true, true, {}},
      {"1e999", true, false, {}},
      {"NaN", true, false, {}},
      {"Infinity", true, false, {}},
      {"-Infinity", true, false, {}},
      {"true", false, false, {}},
      {"null", false, false, {}},
      {"\"1\"", false, false, {}},
  };
  for (const auto& c : cases) {
    const JsonValue value = parse_json(c.text);
    EXPECT_EQ(value.is_number(), c.is_number) << c.text;
    EXPECT_EQ(value.is_finite_number(), c.is_finite) << c.text;
    EXPECT_EQ(value.as_integer(), c.integer) << c.text;
  }
}

TEST(JsonValue, BecomesAnIntegerAsInPython) {
  const std::pair<const char*, std::optional<std::int64_t>> kCases[] = {
      {"7", 7},
      {"-7", -7},
      {"-0", 0},
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
  for (const auto& [text, integer] : kCases) {
    EXPECT_EQ(parse_json(text).to_int(), integer) << text;
  }
}

TEST(JsonValue, IsTruthyAsInPython) {
  for (const char* const text :
       {"true", "1", "-0.5", "NaN", "-Infinity", "1e999", "\"0\"", "\" \"", "[0]", "{\"a\":0}"}) {
    EXPECT_TRUE(parse_json(text).is_truthy()) << text;
  }
  for (const char* const text :
       {"null", "false", "0", "-0", "-0.0", "0e9", "1e-400", "\"\"", "[]", "{}"}) {
    EXPECT_FALSE(parse_json(text).is_truthy()) << text;
  }
}

TEST(JsonValue, ShowsItselfOnOneLine) {
  EXPECT_EQ(parse_json("null").shown(), "null");
  EXPECT_EQ(parse_json("1.50").shown(), "1.50");
  EXPECT_EQ(parse_json("\"a\\n\\u001b[1m\"").shown(), "'a??[1m'");
  EXPECT_EQ(parse_json("[1]").shown(), "an array");
  EXPECT_EQ(parse_json("{}").shown(), "an object");
  EXPECT_EQ(parse_json('"' + std::string(1000, 'x') + '"').shown(),
            "'" + std::string(64, 'x') + "...'");
}

struct Pair {
  std::string a;
  std::string b;
  bool are_equal;
};

TEST(EqualInPython, IsPythonsEquality) {
  const Pair pairs[] = {
      {"1", "1.0", true},
      {"1", "true", true},
      {"1.0", "true", true},
      {"0", "false", true},
      {"-0.0", "0", true},
      {"-0", "0.0", true},
      {"2", "true", false},
      {"true", "true", true},
      {"true", "false", false},
      {"0.5", "0", false},
      {"0.1", "0.10000000000000001", true},
      {"NaN", "NaN", false},
      {"NaN", "0", false},
      {"Infinity", "1e999", true},
      {"Infinity", "-Infinity", false},
      {"Infinity", "1", false},
      {"9007199254740992", "9007199254740992.0", true},
      {"9007199254740993", "9007199254740992.0", false},
      {"9007199254740993", "9007199254740992", false},
      {"100000000000000000000", "1e20", true},
      {"10000000000000000000000", "1e22", true},
      {"100000000000000000000000", "1e23", false},
      {"123456789012345678901234567890", "123456789012345678901234567890", true},
      {"123456789012345678901234567890", "123456789012345678901234567891", false},
      {"\"1\"", "1", false},
      {"\"a\"", "\"\\u0061\"", true},
      {"\"a\"", "\"A\"", false},
      {"\"true\"", "true", false},
      {"null", "null", true},
      {"null", "0", false},
      {"null", "false", false},
      {"null", "\"\"", false},
      {"null", "\"null\"", false},
      {"[]", "false", false},
      {"[]", "{}", false},
      {"[1,[2.0]]", "[true,[2]]", true},
      {"[1,2]", "[2,1]", false},
      {"[1,2]", "[1]", false},
      {R"({"a":1,"b":null})", R"({"b":null,"a":true})", true},
      {R"({"a":1})", R"({"a":1,"b":null})", false},
      {R"({"a":1,"b":null})", R"({"a":1,"c":null})", false},
      {R"({"a":1,"a":2})", R"({"a":2})", true},
      {R"({"a":[{"b":1.0}]})", R"({"a":[{"b":1}]})", true},
  };
  for (const auto& [a, b, are_equal] : pairs) {
    EXPECT_EQ(equal_in_python(parse_json(a), parse_json(b)), are_equal) << a << ' ' << b;
    EXPECT_EQ(equal_in_python(parse_json(b), parse_json(a)), are_equal) << b << ' ' << a;
  }
}

TEST(EqualInPython, ComparesWhatWasBuiltWithWhatWasRead) {
  JsonValue built = JsonValue::object();
  built.members = {{"none", JsonValue()},
                   {"text", JsonValue::string("a\"b")},
                   {"count", JsonValue::integer(4)},
                   {"time", JsonValue::real(998)},
                   {"third", JsonValue::real(1.0 / 3)},
                   {"flag", JsonValue::boolean(true)},
                   {"list", JsonValue::array()}};
  EXPECT_TRUE(equal_in_python(
      built, parse_json(R"({"list": [], "flag": true, "third": 0.3333333333333333, "time": 998.0,
                            "count": 4, "text": "a\"b", "none": null})")));
}

TEST(SameJson, IsWhatPythonWouldWriteTheSame) {
  const Pair pairs[] = {
      {R"({"a":1,"b":2})", R"({"b":2,"a":1})", true},
      {" [ 1 ,\n2 ]\t", "[1,2]", true},
      {"[1,2]", "[2,1]", false},
      {"4", "4.0", false},
      {"4.0", "40e-1", true},
      {"1e2", "100.0", true},
      {"1E2", "1e+2", true},
      {"1.5", "1.50", true},
      {"0.1", "0.10000000000000001", true},
      {"0.1", "0.10000000000000002", false},
      {"-0", "0", true},
      {"-0.0", "0.0", false},
      {"1e400", "Infinity", true},
      {"-1e400", "-Infinity", true},
      {"1e-400", "0.0", true},
      {"NaN", "NaN", true},
      {"NaN", "null", false},
      {"NaN", "Infinity", false},
      {"9007199254740993", "9007199254740992", false},
      {"9007199254740993.0", "9007199254740992.0", true},
      {"123456789012345678901234567890", "123456789012345678901234567891", false},
      {"true", "1", false},
      {"false", "0", false},
      {"null", "false", false},
      {"null", "\"null\"", false},
      {"1", "\"1\"", false},
      {R"("a")", R"("\u0061")", true},
      {R"("\/")", R"("/")", true},
      {R"("\ud83d\ude00")", "\"\U0001F600\"", true},
      {R"("\ud83d")", R"("\uD83D")", true},
      {R"("\ud83d")", R"("\ud83e")", false},
      {R"("a")", R"("A")", false},
      {R"("\"}")", R"("\u0022}")", true},
      {R"({"\u00e9":1})", "{\"\u00e9\":1}", true},
      {R"({"a":1,"a":2})", R"({"a":2})", true},
      {R"({"a":1,"a":2})", R"({"a":1})", false},
      {R"({"b":1,"a":0,"b":2})", R"({"b":2,"a":0,"a":0})", true},
      {R"({"a":{"c":1,"b":[{"y":0,"x":1}]}})", R"({"a":{"b":[{"x":1,"y":0}],"c":1}})", true},
      {R"({"a":"]}","b":[{}]})", R"({"b":[{}],"a":"]}"})", true},
      {"{}", "{ }", true},
      {"[]", "[ ]", true},
      {"{}", "[]", false},
      {"[]", "[[]]", false},
      {"[]", "[1]", false},
      {"[1]", "[1,1]", false},
      {"[[1],[2]]", "[[1,2]]", false},
      {R"({"a":null})", "{}", false},
      {R"({"a":[]})", R"({"a":{}})", false},
      {R"({"a":1})", R"({"b":1})", false},
  };
  for (const auto& [a, b, are_same] : pairs) {
    EXPECT_EQ(same_json(a, b), are_same) << a << ' ' << b;
    EXPECT_EQ(same_json(b, a), are_same) << b << ' ' << a;
  }
}

}  // namespace json_value_test
}  // namespace aggregate_power
