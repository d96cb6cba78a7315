// What walk_json() visits, and what it refuses.
#include "base/text/json_paths.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/json.h"
#include "test_util.h"

namespace aggregate_power {
namespace {

using test::kWhole;
using test::StutterSource;
using Paths = std::vector<std::string_view>;
using Lines = std::vector<std::string>;

// Writes down each visit: "duration=5", "benchmarks[]{", "}benchmarks[]".
class Diary : public JsonVisitor {
 public:
  explicit Diary(const Paths& paths) : paths_(paths) {}
  void begin(std::size_t path) override { lines.push_back(name(path) + "{"); }
  void end(std::size_t path) override { lines.push_back("}" + name(path)); }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    kinds.push_back(kind);
    lines.push_back(name(path) + "=" + std::string(text));
  }

  Lines lines;
  std::vector<JsonKind> kinds;

 private:
  std::string name(std::size_t path) const { return std::string(paths_.at(path)); }
  const Paths& paths_;
};

Diary walked(const Paths& paths, std::string_view text, JsonTexts texts = JsonTexts::one,
             std::size_t piece = kWhole) {
  Diary diary(paths);
  StutterSource source(std::string(text), piece);
  walk_json(source, JsonPaths(paths), diary, texts);
  return diary;
}

std::uint64_t values(std::string_view text, JsonTexts texts = JsonTexts::several) {
  const Paths paths = {"a"};
  Diary diary(paths);
  MemorySource source(text);
  return walk_json(source, JsonPaths(paths), diary, texts);
}

std::string walk_fault(std::string_view text, JsonTexts texts, std::size_t piece = kWhole) {
  try {
    walked({"a", "b[].c", "d[][]"}, text, texts, piece);
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

std::string scan_fault(std::string_view text) {
  try {
    MemorySource source(text);
    scan_json(source, [](const JsonMember&) {});
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

TEST(WalkJson, VisitsScalarsOfAllKinds) {
  const Diary diary = walked({"n", "t", "i", "r", "s", "x"},
                             R"({"n": null, "t": true, "i": -5, "r": 1.5e3, "s": "a", "x": NaN})");
  EXPECT_EQ(diary.lines, (Lines{"n=null", "t=true", "i=-5", "r=1.5e3", "s=a", "x=NaN"}));
  using enum JsonKind;
  EXPECT_EQ(diary.kinds, (std::vector{null, boolean, integer, real, string, real}));
}

TEST(WalkJson, VisitsNestedPathsInTheOrderOfTheText) {
  const Diary diary =
      walked({"a.b.c", "d", "a.e"},
             R"({"d": 1, "a": {"x": {"c": 9}, "e": 2, "b": {"c": 3, "b": 4}}, "e": 5})");
  EXPECT_EQ(diary.lines, (Lines{"d=1", "a.e=2", "a.b.c=3"}));
}

TEST(WalkJson, VisitsAPathAndWhatIsBelowIt) {
  const Diary diary = walked({"a", "a.b", ""}, R"({"a": {"b": 1}, "c": {}})");
  EXPECT_EQ(diary.lines, (Lines{"{", "a{", "a.b=1", "}a", "}"}));
}

TEST(WalkJson, VisitsArraysOfArrays) {
  const Diary diary = walked({"a[][]", "a[]"}, R"({"a": [[1, 2], [], 3, [[4], {"a": 5}, 6]]})");
  EXPECT_EQ(diary.lines,
            (Lines{"a[]{", "a[][]=1", "a[][]=2", "}a[]", "a[]{", "}a[]", "a[]=3", "a[]{", "a[][]{",
                   "}a[][]", "a[][]{", "}a[][]", "a[][]=6", "}a[]"}));
}

TEST(WalkJson, VisitsMembersOfElements) {
  const Diary diary = walked({"[].a", "[]"}, R"([{"a": 1}, 2, {"b": 3}])");
  EXPECT_EQ(diary.lines, (Lines{"[]{", "[].a=1", "}[]", "[]=2", "[]{", "}[]"}));
  EXPECT_EQ(walked({"[].a"}, R"({"a": 1})").lines, Lines());
  EXPECT_EQ(walked({"a"}, R"([{"a": 1}])").lines, Lines());
  EXPECT_EQ(walked({"a.b"}, R"({"a": [{"b": 1}], "a.b": 2})").lines, Lines());
}

TEST(WalkJson, VisitsDuplicatesAgain) {
  EXPECT_EQ(walked({"a", "b[]"}, R"({"a": 1, "b": [1], "a": {"a": 2}, "b": [2]})").lines,
            (Lines{"a=1", "b[]=1", "a{", "}a", "b[]=2"}));
}

TEST(WalkJson, DecodesStrings) {
  EXPECT_EQ(walked({"a"}, R"({"a": "q\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"})").lines,
            (Lines{"a=q\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80"}));
  // Not wanted, but checked.
  EXPECT_EQ(walk_fault(R"({"x": "\q"})", JsonTexts::one), scan_fault(R"({"x": "\q"})"));
}

TEST(WalkJson, ReadsLongStrings) {
  const std::string half(2499, 'x');
  EXPECT_EQ(walked({"a"}, "{\"a\": \"" + half + half + "\"}").lines, (Lines{"a=" + half + half}));
  // 5001 bytes with the quotes.
  EXPECT_EQ(walked({"a"}, "{\"a\": \"" + half + half + "x\"}").lines, (Lines{"a="}));
  const std::string huge(300000, 'x');
  EXPECT_EQ(walked({"a", "b"}, "{\"a\": \"" + huge + "\", \"" + huge + "\": 1, \"b\": 2}").lines,
            (Lines{"a=", "b=2"}));
  EXPECT_EQ(walked({"a"}, "{\"a\": " + std::string(6000, '1') + "}").lines, (Lines{"a="}));
}

TEST(WalkJson, IsTheSameInPieces) {
  const std::string text =
      R"({"a": {"b": [[1, 22], [333]], "c": "l\u00f6\ng"}, "d": [{"e": -1.5e-7}, {"e": null}]})";
  const Paths paths = {"a.b[][]", "a.c", "d[].e", "d[]"};
  const Lines whole = walked(paths, text).lines;
  EXPECT_EQ(whole.size(), 10U);
  for (std::size_t piece = 1; piece < 9; ++piece) {
    EXPECT_EQ(walked(paths, text, JsonTexts::one, piece).lines, whole) << piece;
  }
}

TEST(WalkJson, ReadsSeveralValues) {
  const Diary diary = walked({"a", ""}, "{\"a\": 1}\n\n {\"a\": 2}[3] 4\n", JsonTexts::several);
  EXPECT_EQ(diary.lines, (Lines{"{", "a=1", "}", "{", "a=2", "}", "{", "}", "=4"}));
  EXPECT_EQ(values("{}{}\n{}"), 3U);
  EXPECT_EQ(values("{}", JsonTexts::one), 1U);
  EXPECT_EQ(walk_fault("{}\n{}", JsonTexts::one), "2:1: expected nothing more after the value");
}

TEST(WalkJson, NamesThePlaceAsAScanDoes) {
  for (const char* const text : {"",
                                 " ",
                                 "{",
                                 "[",
                                 "{\"a\"",
                                 "{\"a\":",
                                 "{\"a\": 1",
                                 "{\"a\": 1,",
                                 "{\"a\": 1,}",
                                 "{\"a\" 1}",
                                 "{a: 1}",
                                 "{\"a\": 01}",
                                 "{\"a\": 1.}",
                                 "{\"a\": -}",
                                 "{\"a\": 1e}",
                                 "{\"a\": tru}",
                                 "{\"a\": \"x}",
                                 "{\"a\": \"\\u12\"}",
                                 "{\n\"x\": [1,\n2,, 3]}",
                                 "{\"a\": \"\n\"}",
                                 "\xEF\xBB\xBF{}",
                                 "{\"a\": \"\xC0\x80\"}",
                                 "{\"\xC3\xA9\": x}",
                                 "{\"b\": [{\"c\": 1, }]}",
                                 "{\"d\": [[1 2]]}",
                                 "[1, 2",
                                 "{\"a\": +1}",
                                 "{\"a\": .5}",
                                 "}",
                                 "nul"}) {
    const std::string wanted = scan_fault(text);
    EXPECT_NE(wanted, "") << text;
    for (const std::size_t piece : {std::size_t{1}, kWhole}) {
      const std::string found = walk_fault(text, JsonTexts::one, piece);
      // A scan may also name the member that it is in.
      EXPECT_EQ(found.substr(0, found.find(' ')), wanted.substr(0, wanted.find(' '))) << text;
    }
  }
}

TEST(WalkJson, RefusesWhatFollowsTheLastOfSeveral) {
  EXPECT_EQ(walk_fault("{}\n{\"a\": 1}\ngarbage", JsonTexts::several), "3:1: expected a value");
  EXPECT_NE(walk_fault("{}\n{\"a\": ", JsonTexts::several), "");
  EXPECT_NE(walk_fault("{},{}", JsonTexts::several), "");
}

TEST(WalkJson, RefusesTooManyLevels) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_EQ(walk_fault(nested(kMaxJsonDepth), JsonTexts::one), "");
  EXPECT_NE(walk_fault(nested(kMaxJsonDepth + 1), JsonTexts::one), "");
  EXPECT_EQ(walk_fault(nested(kMaxJsonDepth) + nested(kMaxJsonDepth), JsonTexts::several), "");
}

}  // namespace
}  // namespace aggregate_power
