// Lines that are as the one before but for their scalars are visited as any others.
#include "base/text/json_shape.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/json.h"
#include "test_util.h"

namespace aggregate_power {
namespace json_shape_test {

using test::kWhole;
using test::StutterSource;

constexpr std::array<std::string_view, 8> kPaths = {"",    "a",   "o",     "o.*",
                                                    "v[]", "g[]", "g[].p", "o.x.y"};

// Keeps each call as a line of text. If told to, it also accepts again(), and counts how often.
class Notes : public JsonVisitor {
 public:
  explicit Notes(bool takes_again = false) : takes_again_(takes_again) {}
  void key(std::size_t path, std::string_view key) override { note("key", path, key); }
  void begin(std::size_t path) override { note("begin", path, ""); }
  void end(std::size_t path) override { note("end", path, ""); }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    note("scalar " + std::to_string(static_cast<int>(kind)), path, text);
  }
  bool again(std::span<const JsonScalar> scalars) override {
    ++agains;
    for (const JsonScalar& scalar : scalars) {
      if (!std::isnan(scalar.number)) {
        EXPECT_EQ(scalar.number, std::strtod(std::string(scalar.text).c_str(), nullptr));
      }
      if (takes_again_) all.append("again ").append(scalar.text).append("\n");
    }
    return takes_again_;
  }

  std::string all;
  int agains = 0;

 private:
  void note(const std::string& what, std::size_t path, std::string_view text) {
    all += what + " " + std::to_string(path) + " " + std::string(text) + "\n";
  }
  bool takes_again_;
};

// What is visited, and at the end what is wrong. One byte at a time, no line is ever whole in the
// buffer, and none is compared with the one before.
std::string visited(const std::string& text, std::size_t piece, int* agains = nullptr) {
  static const JsonPaths paths(kPaths);
  Notes notes;
  StutterSource source(text, piece);
  try {
    walk_json(source, paths, notes, JsonTexts::several);
  } catch (const JsonError& error) {
    notes.all += error.what();
  }
  if (agains != nullptr) *agains = notes.agains;
  return notes.all;
}

Notes noted(const std::string& text, bool takes_again) {
  static const JsonPaths paths(kPaths);
  Notes notes(takes_again);
  MemorySource source(text);
  walk_json(source, paths, notes, JsonTexts::several);
  return notes;
}

TEST(AlikeLines, AreToldByTheirScalars) {
  const std::string text =
      "{\"a\":1,\"b\":2,\"g\":[{\"p\":3}]}\n"
      "{\"a\":10.5,\"b\":\"c\",\"g\":[{\"p\":null}]}\n"
      "{\"a\":-1e-3,\"b\":2,\"g\":[{\"p\":3}]}\n";  // the walker reads numbers with an exponent
  const Notes notes = noted(text, true);
  EXPECT_EQ(notes.agains, 1);
  EXPECT_EQ(notes.all,
            "begin 0 \nscalar 2 1 1\nbegin 5 \nscalar 2 6 3\nend 5 \nend 0 \n"
            "again 10.5\nagain null\n"
            "begin 0 \nscalar 3 1 -1e-3\nbegin 5 \nscalar 2 6 3\nend 5 \nend 0 \n");
}

TEST(AlikeLines, AreVisitedAsIfNoneWasBefore) {
  const std::string line = R"({"a": 1.5, "o": {"x": "z", "w": 12}, "v": [1, 2], "g": [{"p": 1}]})";
  int agains = 0;
  std::string three = line + "\n" + line + "\n" + line + "\n";
  EXPECT_EQ(visited(three, kWhole, &agains), visited(three, 1));
  EXPECT_EQ(agains, 2);
  // Each byte of the third line, replaced by each other one.
  const std::size_t begin = 2 * (line.size() + 1);
  for (std::size_t at = begin; at < three.size(); ++at) {
    const char kept = three[at];
    for (int c = 0; c < 256; ++c) {
      three[at] = static_cast<char>(c);
      ASSERT_EQ(visited(three, kWhole), visited(three, 1)) << at - begin << ' ' << c;
    }
    three[at] = kept;
  }
  for (std::size_t size = begin; size < three.size(); ++size) {
    const std::string cut = three.substr(0, size);
    ASSERT_EQ(visited(cut, kWhole), visited(cut, 1)) << size;
  }
}

TEST(AlikeLines, AreVisitedTheSameWhateverTheyHave) {
  const std::string_view scalars[] = {"0",
                                      "1",
                                      "-2",
                                      "12.25",
                                      "400.5",
                                      "1777118400000000000",
                                      "null",
                                      "true",
                                      "false",
                                      "\"\"",
                                      "\"abc\"",
                                      "\"a\\\\b\"",
                                      "\"\\u0041\"",
                                      "\"\xC3\xA9\"",
                                      "NaN",
                                      "1e3",
                                      "01",
                                      "\"x",
                                      "1.",
                                      "[]",
                                      "{}",
                                      "[1,2]",
                                      "{\"p\":1}",
                                      "\"a\tb\"",
                                      "12345678901234567890123456789012345"};
  const std::string_view lines[] = {
      R"({"a":$,"b":$,"o":{"x":$,"y":$},"g":[{"p":$,"q":$},{"p":$,"q":$}]})",
      R"({"b": $, "a": $, "o": {"k": $}, "v": [$, $, $], "c": {"d": [$, {"e": $}]}})",
      R"({"a":$,"a":$,"o":{"x":{"y":$},"x":$}})",
      R"({"b":$,"c":[[$],[{"a":$}]],"o":$,"v":$ , "g" : [$]})",
      R"({})",
      R"([{"a":$}])",
      R"($)",
      "{\"a\":$,\n\"b\":$}",
      R"({"\u0061":$,"b":$})"};
  std::minstd_rand random(20260426);
  const auto below = [&](std::size_t n) { return random() % n; };
  int alike = 0;
  int valid = 0;
  const int rounds = test::rounds(10'000);
  for (int i = 0; i < rounds; ++i) {
    std::string text;
    const std::size_t usual = below(4);
    const std::size_t count = 2 + below(12);
    for (std::size_t line = 0; line < count; ++line) {
      const bool is_odd = below(8) == 0;
      for (const char c : lines[is_odd ? below(std::size(lines)) : usual]) {
        if (c != '$') {
          text += c;
        } else {
          text += scalars[below(60) == 0 ? below(std::size(scalars)) : below(12)];
        }
      }
      text += below(20) == 0 ? " \r\n" : "\n";
    }
    if (below(4) == 0) text.resize(below(text.size()));
    const std::string slow = visited(text, 1);
    int agains = 0;
    ASSERT_EQ(visited(text, kWhole, &agains), slow) << text;
    ASSERT_EQ(visited(text, 1 + below(300)), slow) << text;
    alike += agains;
    valid += slow.ends_with('\n') ? 1 : 0;
  }
  EXPECT_GT(alike, rounds);
  EXPECT_GT(valid, rounds / 5);
}

TEST(AlikeLines, MayHaveOnlySoManyScalars) {
  const auto lines = [](std::size_t unwanted, std::size_t wanted) {
    std::string line = "{\"u\":[";
    for (std::size_t i = 0; i < unwanted; ++i) line += i == 0 ? "1" : ",1";
    line += "],\"v\":[";
    for (std::size_t i = 0; i < wanted; ++i) line += i == 0 ? "1" : ",1";
    return line + "]}\n" + line + "]}\n";
  };
  // The object itself begins and ends.
  EXPECT_EQ(noted(lines(kMostJsonAgain, kMostJsonAgain - 2), false).agains, 1);
  EXPECT_EQ(noted(lines(kMostJsonAgain + 1, 1), false).agains, 0);
  EXPECT_EQ(noted(lines(1, kMostJsonAgain - 1), false).agains, 0);
}

// Lines that are alike but two by two are learned less and less often.
TEST(AlikeLines, AreStillFoundAfterManyThatWereNot) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += i % 2 == 0 ? "{\"a\":1}\n" : "{\"b\":1}\n";
  EXPECT_EQ(noted(text, false).agains, 0);
  for (int i = 0; i < 100; ++i) text += "{\"a\":1}\n";
  EXPECT_GE(noted(text, false).agains, 36);  // at most 63 are let pass
}

TEST(AlikeLines, AreFoundAcrossBuffers) {
  std::string text;
  std::string wanted;
  int lines = 0;
  for (; text.size() < 1'000'000; ++lines) {
    const std::string number = std::to_string(lines) + ".5";
    text += "{\"a\":" + number + ",\"b\":\"" + std::string(lines % 7, 'x') + "\"}\n";
    wanted += "begin 0 \nscalar 3 1 " + number + "\nend 0 \n";
  }
  const Notes notes = noted(text, false);
  EXPECT_GT(notes.agains, lines - 30);
  EXPECT_TRUE(notes.all == wanted);
}

TEST(AlikeLines, MayBeLong) {
  const std::string most(4998, 'a');
  const std::string over(4999, 'a');
  std::string text;
  for (const std::string& value : {most, over, most}) text += "{\"a\":\"" + value + "\"}\n";
  EXPECT_EQ(visited(text, kWhole), visited(text, 1));
  EXPECT_EQ(visited(text, 300'000), visited(text, 1));
  std::string keys;
  for (int i = 0; i < 3; ++i) keys += "{\"o\":{\"" + std::string(300, 'k') + "\":1}}\n";
  EXPECT_EQ(visited(keys, kWhole), visited(keys, 1));
}

TEST(AlikeLines, AreNamedInAFaultAsOthers) {
  const std::string text = "{\"a\":1,\"b\":1}\n{\"a\":2,\"b\":2}\n{]";
  EXPECT_EQ(visited(text, kWhole), visited(text, 1));
  EXPECT_TRUE(visited(text, kWhole).ends_with("3:2: expected a key in double quotes after \"b\""));
}

}  // namespace json_shape_test
}  // namespace aggregate_power
