// What walk_json() visits, and what it refuses.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/json.h"
#include "test_util.h"

namespace aggregate_power {
namespace json_paths_test {

using test::kWhole;
using test::StutterSource;
using Paths = std::vector<std::string_view>;
using Lines = std::vector<std::string>;

// Writes down each visit: "duration=5", "benchmarks[]{", "}benchmarks[]".
class Diary : public JsonVisitor {
 public:
  explicit Diary(const Paths& paths) : paths_(paths) {}
  void key(std::size_t path, std::string_view key) override {
    lines.push_back(name(path) + ":" + std::string(key));
  }
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

TEST(WalkJson, TellsTheKeysOfMembersThatNoPathNames) {
  const Diary diary =
      walked({"a.*", "a.b", "*[]", "c.*.d"},
             R"({"a": {"x": 1, "b": 2, "\u0079": {}}, "z": [3], "c": {"q": {"d": 4}}})");
  EXPECT_EQ(diary.lines,
            (Lines{"a.*:x", "a.*=1", "a.b=2", "a.*:y", "a.*{", "}a.*", "*[]=3", "c.*.d=4"}));
  // Where the members of one object were seen before.
  EXPECT_EQ(walked({"*"}, R"({"k": 1}{"k": 2})", JsonTexts::several).lines,
            (Lines{"*:k", "*=1", "*:k", "*=2"}));
  EXPECT_EQ(walked({"*"}, "{\"" + std::string(300, 'k') + "\": 1}").lines[0],
            "*:" + std::string(256, 'k'));
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

// ---- Text is scanned in blocks of 16, 32 and 64 bytes; these lengths reach over several of them.

constexpr std::size_t kBlocks = 140;

TEST(WalkJson, FindsTheEndOfAStringAnywhereInABlock) {
  for (std::size_t size = 0; size < kBlocks; ++size) {
    const std::string x(size, 'x');
    const std::string text = R"({"z": ")" + x + R"(\\", "a": ")" + x + R"(\"y\\\n", "b": 2})";
    EXPECT_EQ(walked({"a", "b"}, text).lines, (Lines{"a=" + x + "\"y\\\n", "b=2"})) << size;
    const std::string quotes = R"({"a": ")" + x + R"(\"\"\"\"", "b": [")" + x + R"("]})";
    EXPECT_EQ(walked({"a", "b[]"}, quotes).lines, (Lines{"a=" + x + R"("""")", "b[]=" + x}))
        << size;
  }
}

TEST(WalkJson, NamesThePlaceOfAFaultAnywhereInABlock) {
  for (std::size_t size = 0; size < kBlocks; ++size) {
    for (const char* const begin : {R"({"a": ")", R"({"z": ")"}) {  // a wanted string, and another
      const std::string text = begin + std::string(size, 'x');
      const std::string at = "1:" + std::to_string(text.size() + 1) + ": ";
      const auto fault = [&](std::string_view rest) {
        return walk_fault(text + std::string(rest) + "\"}", JsonTexts::one);
      };
      EXPECT_EQ(fault("\x01"), at + "control character U+0001 in string");
      EXPECT_EQ(fault(std::string_view("\0", 1)), at + "control character U+0000 in string");
      EXPECT_EQ(fault("\n"), at + "control character U+000A in string");
      EXPECT_EQ(fault("\\q"), at + "invalid escape in string");
      EXPECT_EQ(fault("\\u00g0"), at + "expected four hexadecimal digits after \\u");
      EXPECT_EQ(fault("\xC0\x80"), at + "invalid UTF-8 in string");
      EXPECT_EQ(walk_fault(text, JsonTexts::one), "1:7: unterminated string");
      EXPECT_EQ(walk_fault(text + "\\", JsonTexts::one), "1:7: unterminated string");
    }
  }
}

TEST(WalkJson, ReadsNumbersOfAnyLength) {
  for (std::size_t size = 1; size < kBlocks; ++size) {
    const std::string digits(size, '7');
    for (const std::string& number : {digits, "-" + digits, digits + ".5", "0." + digits,
                                      digits + "e1", "-" + digits + ".25E-3"}) {
      EXPECT_EQ(walked({"a", "b[]"}, "{\"a\": " + number + ", \"b\": [" + number + "]}").lines,
                (Lines{"a=" + number, "b[]=" + number}));
      EXPECT_EQ(walked({""}, number).lines, Lines{"=" + number});
    }
    const std::string column = "1:" + std::to_string(size + 1);
    for (const std::string_view rest : {"/5", "x", ".", "..5", ".5.5", "e", "-1", ".-1"}) {
      const std::string fault = walk_fault(digits + std::string(rest), JsonTexts::one);
      const std::size_t taken = rest == ".5.5" ? 2 : rest[0] == '.' || rest == "e" ? 1 : 0;
      EXPECT_EQ(fault.substr(0, fault.find(": ")), "1:" + std::to_string(size + 1 + taken)) << rest;
    }
    EXPECT_EQ(walk_fault("0" + digits, JsonTexts::one), "1:2: leading zero in number");
    EXPECT_EQ(walk_fault("[-0" + digits + "]", JsonTexts::one), "1:4: leading zero in number");
  }
}

TEST(WalkJson, FindsBracketsAnywhereInABlock) {
  for (std::size_t size = 0; size < kBlocks; ++size) {
    const std::string blanks(size, ' ');
    const std::string text = "{" + blanks + "\"z\": [[{}," + blanks + "[]]," + blanks +
                             "{\"a\": 0}" + blanks + "]" + blanks + ",\"a\":" + blanks + "[{\"a\"" +
                             blanks + ":1}]" + blanks + "}";
    EXPECT_EQ(walked({"a[].a"}, text).lines, Lines{"a[].a=1"}) << size;
    EXPECT_EQ(walk_fault(text + "]", JsonTexts::one),
              "1:" + std::to_string(text.size() + 1) + ": expected nothing more after the value");
  }
}

// ---- Objects that are alike

TEST(WalkJson, ReadsMembersThatComeAgain) {
  const Paths paths = {"a", "b.a", "c[].a"};
  EXPECT_EQ(
      walked(paths,
             "{\"z\": 0, \"a\": 1, \"b\": {\"a\": 2, \"z\": 3}, \"c\": [{\"a\": 4}, {\"a\": 5}]}\n"
             "{\"z\": 0, \"a\": 6, \"b\": {\"a\": 7, \"z\": 8}, \"c\": [{\"a\": 9}]}\n",
             JsonTexts::several)
          .lines,
      (Lines{"a=1", "b.a=2", "c[].a=4", "c[].a=5", "a=6", "b.a=7", "c[].a=9"}));
  // In another order, missing, twice, spelled otherwise, of another kind, and after others.
  const Lines once = {"a=1", "b.a=2"};
  for (const char* const line :
       {R"({"b": {"z": 3, "a": 2}, "a": 1})", R"({"b": 5, "a": 1, "b": {"a": 2}})",
        R"({"\u0061": 1, "b": {"a" : 2}})", R"({"b":{"a":2},"a":1,"z":0})",
        R"({"aa": 3, "a": 1, "b": {"a": 2}})", R"({"b": [{"a": 3}], "a": 1, "b": {"a": 2}})",
        R"({"z": {"a": 3}, "a":1, "b":  {"a":2}})"}) {
    const std::string first = R"({"z": 0, "a": 1, "b": {"a": 2, "z": 3}})";
    const std::string text = first + "\n" + line + "\n" + first + "\n" + line;
    Lines lines = walked(paths, text, JsonTexts::several).lines;
    ASSERT_EQ(lines.size(), 8U) << line;
    for (std::size_t i = 0; i < 4; ++i) {
      std::sort(lines.begin() + 2 * i, lines.begin() + 2 * i + 2);
      EXPECT_EQ(lines[2 * i], once[0]) << line;
      EXPECT_EQ(lines[2 * i + 1], once[1]) << line;
    }
  }
}

TEST(WalkJson, ReadsMoreMembersThanItRemembers) {
  std::string text = "{";
  Lines wanted;
  for (int i = 0; i < 3000; ++i) {
    text += "\"key " + std::to_string(i) + "\": {\"a\": " + std::to_string(i) + "}, ";
  }
  for (int i = 0; i < 2; ++i) {
    text +=
        "\"" + std::string(i == 0 ? 55 : 300, 'k') + "\": 1, \"a\": " + std::to_string(i) + ", ";
  }
  text += "\"b\": {\"a\": 7}}";
  const Lines line = {"a=0", "a=1", "b.a=7"};
  EXPECT_EQ(walked({"a", "b.a"}, text).lines, line);
  EXPECT_EQ(walked({"a", "b.a"}, text + text, JsonTexts::several).lines,
            (Lines{"a=0", "a=1", "b.a=7", "a=0", "a=1", "b.a=7"}));
}

TEST(WalkJson, RefusesWhatOnlyLooksLikeMembersThatComeAgain) {
  const std::string first = "{\"a\": 1, \"b\": 2}\n";
  const auto fault = [&](const char* line) { return walk_fault(first + line, JsonTexts::several); };
  EXPECT_EQ(fault("{\"a\": 1 \"b\": 2}"), "2:9: expected ',' or '}' after \"a\"");
  EXPECT_EQ(fault("{\"a\": 1\"b\": 2}"), "2:8: expected ',' or '}' after \"a\"");
  EXPECT_EQ(fault("{, \"b\": 2}"), "2:2: expected a key in double quotes after \"b\"");
  EXPECT_EQ(fault("{\"a\": 1, \"b\": }"), "2:15: expected a value after \"b\"");
  EXPECT_EQ(fault("{\"a\": 1, \"b\": [x]}"), "2:16: expected a value in \"b\"");
  EXPECT_EQ(fault("{\"a\": 1, \"b\" 2}"), "2:14: expected ':' after \"b\"");
  EXPECT_EQ(fault("{\"a\": 1, \"b\": 2, }"), "2:18: expected a key in double quotes after \"b\"");
  EXPECT_EQ(fault("{\"a\": 1, \"b\": "), "2:15: expected a value after \"b\", but the text ends");
}

TEST(WalkJson, RemembersMembersAcrossBuffers) {
  // The buffer's end (256 KiB) falls on each byte of a line.
  const std::string line = "{\"a\": 12.5, \"zz\": {\"a\": \"x\\\"y\"}, \"b\": [{\"c\": null}]}\n";
  constexpr std::size_t kBuffer = 256 * 1024;
  const std::size_t lines = kBuffer / line.size() + 2;
  std::string all;
  for (std::size_t i = 0; i < lines; ++i) all += line;
  for (std::size_t shift = 0; shift < line.size(); ++shift) {
    const Diary diary = walked({"a", "b[].c"}, std::string(shift, ' ') + all, JsonTexts::several);
    ASSERT_EQ(diary.lines.size(), 2 * lines) << shift;
    for (std::size_t i = 0; i < diary.lines.size(); ++i) {
      ASSERT_EQ(diary.lines[i], i % 2 == 0 ? "a=12.5" : "b[].c=null") << shift;
    }
  }
}

// ---- Elements that are handed over in pieces

TEST(PlainElements, AreAllVisitedInOrder) {
  std::string numbers;
  std::string pairs;
  Lines wanted;
  Lines wanted_pairs;
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i) + (i % 3 == 0 ? ".25" : "");
    numbers += (i == 0 ? "" : i % 2 == 0 ? "," : ", ") + number;
    wanted.push_back("v[]=" + number);
    pairs += (i == 0 ? "" : ",") + ("[" + number + ",\"" + number + " W\"]");
    wanted_pairs.insert(wanted_pairs.end(),
                        {"p[]{", "p[][]=" + number, "p[][]=" + number + " W", "}p[]"});
  }
  wanted.insert(wanted.end(), wanted_pairs.begin(), wanted_pairs.end());
  const std::string text = "{\"v\":[" + numbers + "],\"p\":[" + pairs + "]}";
  EXPECT_EQ(walked({"v[]", "p[]", "p[][]"}, text).lines, wanted);
}

struct Walk {
  Lines lines;
  std::vector<JsonKind> kinds;
  std::string fault;
  bool operator==(const Walk&) const = default;
};

Walk walk_in_pieces(const Paths& paths, const std::string& text, std::size_t piece) {
  Diary diary(paths);
  std::string fault;
  try {
    StutterSource source(text, piece);
    walk_json(source, JsonPaths(paths), diary, JsonTexts::several);
  } catch (const JsonError& error) {
    fault = error.what();
  }
  return {diary.lines, diary.kinds, fault};
}

// With one byte at a time no comma is ever found ahead.
TEST(PlainElements, AreReadAsOneByOne) {
  const std::string_view elements[] = {"0",
                                       "1",
                                       "-2",
                                       "3.5",
                                       "1777118400.5",
                                       "-0",
                                       "-0.0",
                                       "1e3",
                                       "01",
                                       "1.",
                                       ".5",
                                       "-",
                                       "+1",
                                       "1.2.3",
                                       "12345678901234567890123456789012",
                                       "1234567890123456789012345678901.5",
                                       "\"\"",
                                       "\"1.5\"",
                                       "\"a,b\"",
                                       "\"a]\"",
                                       "\"\\n\"",
                                       "\"\xC3\xA9\"",
                                       "\"\xFF\"",
                                       "\"",
                                       "\"\t\"",
                                       "null",
                                       "true",
                                       "NaN",
                                       "Infinity",
                                       "",
                                       " ",
                                       "  7",
                                       "7 ",
                                       "\n8",
                                       "[]",
                                       "[1]",
                                       "[1,2]",
                                       "[1, \"2\"]",
                                       "[1 ,2]",
                                       "[ 1,2]",
                                       "[1,2 ]",
                                       "[1,2,3]",
                                       "[1,[2]]",
                                       "[[1],2]",
                                       "[1,]",
                                       "[,1]",
                                       "[1,2",
                                       "1,2]",
                                       "[1777118400.25,\"310.5\"]",
                                       "[\"a\",\"b\"]",
                                       "{}",
                                       "{\"a\":1}",
                                       "[{\"a\":1},2]",
                                       "[1,\"a,b\"]",
                                       "[1,\"\\u0041\"]"};
  const Paths choices[] = {
      {"v[]"}, {"v[]", "v[][]"}, {"v[][]"}, {"v[]", "v[].a"}, {"v", "v[][][]"}};
  std::minstd_rand random(20260425);
  const auto below = [&](std::size_t n) { return random() % n; };
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string usual(elements[std::array{3, 17, 36, 48}[below(4)]]);
    std::string text = "{\"v\":[";
    const std::size_t count = 1 + below(i % 10 == 0 ? 150 : 8);
    for (std::size_t j = 0; j < count; ++j) {
      const bool is_odd = below(count) == 0;
      text += (j == 0          ? ""
               : below(4) == 0 ? ", "
                               : ",") +
              (is_odd ? std::string(elements[below(std::size(elements))]) : usual);
    }
    text += "]}\n";
    if (below(4) == 0) text.resize(below(text.size()));
    if (below(4) == 0 && !text.empty()) text[below(text.size())] = "\0,]\"[ 1"[below(7)];
    const Paths& paths = choices[below(std::size(choices))];
    const Walk slow = walk_in_pieces(paths, text, 1);
    ASSERT_EQ(walk_in_pieces(paths, text, kWhole), slow) << text;
    ASSERT_EQ(walk_in_pieces(paths, text, 1 + below(100)), slow) << text;
    valid += slow.fault.empty() ? 1 : 0;
  }
  EXPECT_GT(valid, 5'000);
}

// Texts of more than 5000 bytes are not kept, wherever they are.
TEST(PlainElements, AreNotKeptIfTheyAreLong) {
  const std::string most(4998, 'a');
  const std::string over(4999, 'a');
  const std::string text = "[\"" + most + "\",\"" + over + "\",1,2]";
  EXPECT_EQ(walked({"[]"}, text).lines, (Lines{"[]=" + most, "[]=", "[]=1", "[]=2"}));
  const std::string pair = "[[1,\"" + over + "\"],[1,\"" + most + "\"],3]";
  EXPECT_EQ(walked({"[]", "[][]"}, pair).lines, (Lines{"[]{", "[][]=1", "[][]=", "}[]", "[]{",
                                                       "[][]=1", "[][]=" + most, "}[]", "[]=3"}));
}

TEST(PlainElements, AreNotNestedDeeperThanOthers) {
  std::string path;
  std::string open;
  std::string close;
  for (int i = 0; i < kMaxJsonDepth; ++i) {
    path += "[]";
    open += "[";
    close += "]";
  }
  const std::string item = path + "[]";
  const Paths paths = {path, item};
  const Walk walk = walk_in_pieces(paths, open + "[1,2],[3,4],5" + close, kWhole);
  EXPECT_EQ(walk.fault, "1:1001: nested more than 1000 levels deep");
  EXPECT_EQ(walk.lines, Lines{path + "{"});  // the element begins, and its bracket is one too many
}

}  // namespace json_paths_test
}  // namespace aggregate_power
