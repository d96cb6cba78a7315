// What is JSON and what is not; patches, byte by byte.
#include "base/text/json.h"
#include "base/text/json_patch.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "test_util.h"

namespace aggregate_power {
namespace json_test {

using test::kWhole;
using test::StutterSource;

// A member that outlives the call it was given to.
struct Seen {
  std::string key;
  JsonKind kind;
  std::string scalar;
  bool key_kept = true;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> members(std::string_view text, std::size_t piece = kWhole) {
  std::vector<Seen> seen;
  StutterSource source(std::string(text), piece);
  scan_json(source, [&](const JsonMember& m) {
    seen.push_back({std::string(m.key), m.kind, std::string(m.scalar), m.key_kept});
  });
  return seen;
}

JsonKind kind(std::string_view text) {
  MemorySource source(text);
  return scan_json(source, [](const JsonMember&) {}).kind;
}

// What is wrong with `text`; empty when nothing is.
std::string fault(std::string_view text, std::size_t piece = kWhole) {
  try {
    StutterSource source(std::string(text), piece);
    scan_json(source, [](const JsonMember&) {});
  } catch (const JsonError& error) {
    return error.what();
  }
  return "";
}

std::string nested(std::size_t levels, std::string_view open, std::string_view close) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += open;
  for (std::size_t i = 0; i < levels; ++i) text += close;
  return text;
}

std::string patched(std::string_view text, std::vector<JsonEdit> edits) {
  const std::string once = patch_json(text, edits);
  EXPECT_EQ(patch_json(once, edits), once) << "patched a second time";
  return once;
}

using namespace std::string_literals;

const struct {
  std::string text;
  JsonKind kind;
} kSound[] = {
    {"null", JsonKind::null},
    {"true", JsonKind::boolean},
    {"false", JsonKind::boolean},
    {"0", JsonKind::integer},
    {"-0", JsonKind::integer},
    {"1234567890123456789012345678901234567890", JsonKind::integer},
    {"0.5", JsonKind::real},
    {"-12.0500", JsonKind::real},
    {"1e5", JsonKind::real},
    {"1E+5", JsonKind::real},
    {"0e-0", JsonKind::real},
    {"1E400", JsonKind::real},
    {"NaN", JsonKind::real},
    {"Infinity", JsonKind::real},
    {"-Infinity", JsonKind::real},
    {R"("")", JsonKind::string},
    {R"("\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00")", JsonKind::string},
    {R"("\ud800")", JsonKind::string},
    {R"("\udc00\ud800x\u0000")", JsonKind::string},
    {"\"\x7F\"", JsonKind::string},
    {"\"\u0080 \u07FF \u0800 \uD7FF \uE000 \uFEFF \uFFFF \U00010000 \U0010FFFF\"",
     JsonKind::string},
    {"[]", JsonKind::array},
    {"[1,[2, {}],\"\"]", JsonKind::array},
    {"{}", JsonKind::object},
    {R"({"a":{"a":[{"a":1}]},"a":2})", JsonKind::object},
    {" \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n} \t\r\n",
     JsonKind::object},
};

TEST(ScanJson, TakesWhatPythonTakes) {
  for (const auto& [text, expected] : kSound) {
    ASSERT_EQ(fault(text), "") << text;
    EXPECT_EQ(kind(text), expected) << text;
  }
}

const struct {
  std::string text;
  std::string fault;
} kFaulty[] = {
    // No value, or none where one belongs.
    {"", "1:1: expected a value, but the text ends"},
    {" \n ", "2:2: expected a value, but the text ends"},
    {"x", "1:1: expected a value"},
    {"\0"s, "1:1: expected a value"},
    {"'a'", "1:1: expected a value"},
    {"+1", "1:1: expected a value"},
    {".5", "1:1: expected a value"},
    {"\xC2\xA0"s, "1:1: expected a value"},
    {"\f1", "1:1: expected a value"},
    {"/* no */ 1", "1:1: expected a value"},
    {"nul", "1:1: expected a value, but the text ends"},
    {"True", "1:1: expected a value"},
    {"nan", "1:1: expected a value"},
    {"Inf", "1:1: expected a value, but the text ends"},
    {"-Inf", "1:2: expected a value, but the text ends"},
    {"[", "1:2: expected a value, but the text ends"},
    {"[1,]", "1:4: expected a value"},
    {"[,1]", "1:2: expected a value"},
    // Bytes that begin or end the text and should not be there.
    {"\xEF\xBB\xBF{}"s, "1:1: a byte-order mark is not allowed"},
    {"\xEF\xBB\xBF"s, "1:1: a byte-order mark is not allowed"},
    {"\xEF\xBB{}"s, "1:1: expected a value"},
    {"\xEF"s, "1:1: expected a value, but the text ends"},
    {"1 2", "1:3: expected nothing more after the value"},
    {"{}}", "1:3: expected nothing more after the value"},
    {"{}\n\n,", "3:1: expected nothing more after the value"},
    {"NaNN", "1:4: expected nothing more after the value"},
    {"1\0"s, "1:2: expected nothing more after the value"},
    // Arrays and objects.
    {"[1", "1:3: expected ',' or ']', but the text ends"},
    {"[1 2]", "1:4: expected ',' or ']'"},
    {"[1}", "1:3: expected ',' or ']'"},
    {"{", "1:2: expected a key in double quotes, but the text ends"},
    {"{1: 2}", "1:2: expected a key in double quotes"},
    {"{,}", "1:2: expected a key in double quotes"},
    {R"({"a" 1})", "1:6: expected ':' after \"a\""},
    {R"({"a")", "1:5: expected ':' after \"a\", but the text ends"},
    {R"({"a":)", "1:6: expected a value after \"a\", but the text ends"},
    {R"({"a":})", "1:6: expected a value after \"a\""},
    {R"({"a": tru})", "1:7: expected a value after \"a\""},
    {R"({"a": 1)", "1:8: expected ',' or '}' after \"a\", but the text ends"},
    {R"({"a": 1])", "1:8: expected ',' or '}' after \"a\""},
    {R"({"a": 1, })", "1:10: expected a key in double quotes after \"a\""},
    {R"({"a": 1,)", "1:9: expected a key in double quotes after \"a\", but the text ends"},
    {"{\n  \"completed\": 10\n  \"duration\": 1\n}",
     "3:3: expected ',' or '}' after \"completed\""},
    {R"({"a": [1, 2)", "1:12: expected ',' or ']' in \"a\", but the text ends"},
    {R"({"a": {"b" 1}})", "1:12: expected ':' in \"a\""},
    {R"({"a": {"b": 1} 2})", "1:16: expected ',' or '}' after \"a\""},
    {R"({"a": 1, "b": [x]})", "1:16: expected a value in \"b\""},
    {R"([{"a": x}])", "1:8: expected a value"},
    // Numbers.
    {"-", "1:2: no digit after '-' in number"},
    {"-NaN", "1:2: no digit after '-' in number"},
    {"--1", "1:2: no digit after '-' in number"},
    {"01", "1:2: leading zero in number"},
    {"-00", "1:3: leading zero in number"},
    {"1.", "1:3: no digit after '.' in number"},
    {"[1.e5]", "1:4: no digit after '.' in number"},
    {"1e", "1:3: no digit in the exponent of a number"},
    {"1E+", "1:4: no digit in the exponent of a number"},
    {"1e+-1", "1:4: no digit in the exponent of a number"},
    {"1e5.5", "1:4: expected nothing more after the value"},
    {"0x10", "1:2: expected nothing more after the value"},
    {"1_000", "1:2: expected nothing more after the value"},
    // Strings.
    {"\"", "1:1: unterminated string"},
    {"[1,\n \"abc", "2:2: unterminated string"},
    {R"("abc\)", "1:1: unterminated string"},
    {R"("abc\")", "1:1: unterminated string"},
    {R"("\u00)", "1:1: unterminated string"},
    {R"({"a": "b)", "1:7: unterminated string"},
    {R"({"a)", "1:2: unterminated string"},
    {R"("a\x41")", "1:3: invalid escape in string"},
    {R"("\'")", "1:2: invalid escape in string"},
    {R"("\U0041")", "1:2: invalid escape in string"},
    {"\"\\\0\""s, "1:2: invalid escape in string"},
    {"\"\\\n\"", "1:2: invalid escape in string"},
    {R"("\u12g4")", "1:2: expected four hexadecimal digits after \\u"},
    {R"("\u+123")", "1:2: expected four hexadecimal digits after \\u"},
    {R"("\u")", "1:2: expected four hexadecimal digits after \\u"},
    {"\"a\nb\"", "1:3: control character U+000A in string"},
    {"\"\t\"", "1:2: control character U+0009 in string"},
    {"\"\0\""s, "1:2: control character U+0000 in string"},
    {"\"\x1F\"", "1:2: control character U+001F in string"},
};

TEST(ScanJson, SaysWhatIsWrongAndWhere) {
  for (const auto& [text, expected] : kFaulty) EXPECT_EQ(fault(text), expected) << text;
}

TEST(ScanJson, RefusesIllFormedUtf8) {
  const std::string kIllFormed[] = {
      "\x80",              // a tail without a lead
      "\xC3",              // a lead without a tail
      "\xE2\x82",          // one tail too few
      "\xF0\x9F\x98",      //
      "\xC0\x80",          // overlong: U+0000 in two bytes
      "\xC1\xBF",          // U+007F
      "\xE0\x9F\xBF",      // U+07FF in three
      "\xF0\x8F\xBF\xBF",  // U+FFFF in four
      "\xED\xA0\x80",      // surrogates
      "\xED\xBF\xBF",      //
      "\xF4\x90\x80\x80",  // U+110000
      "\xF5\x80\x80\x80",
      "\xFF",
  };
  for (const std::string& bytes : kIllFormed) {
    EXPECT_EQ(fault("\"é" + bytes + "\""), "1:3: invalid UTF-8 in string");
    EXPECT_EQ(fault("{\"" + bytes + "\": 1}"), "1:3: invalid UTF-8 in string");
    EXPECT_EQ(fault("\"" + bytes), "1:2: invalid UTF-8 in string");  // and the text ends
  }
}

TEST(ScanJson, CountsColumnsInCharactersAndLinesByTheirFeed) {
  EXPECT_EQ(fault("[\"é€😀\" x]"), "1:8: expected ',' or ']'");
  EXPECT_EQ(fault("[\"é\",\r\n\"é\" x]"), "2:5: expected ',' or ']'");
  EXPECT_EQ(fault("\r\r\r x"), "1:5: expected a value");
  EXPECT_EQ(fault("[\"\\n\" x]"), "1:7: expected ',' or ']'");
}

TEST(ScanJson, TakesAThousandLevelsAndNoMore) {
  EXPECT_EQ(fault(nested(1000, "[", "]")), "");
  EXPECT_EQ(fault(nested(1001, "[", "]")), "1:1001: nested more than 1000 levels deep");
  // 500 objects hold 500 arrays; six characters a pair.
  EXPECT_EQ(fault(nested(500, "{\"a\":[", "]}")), "");
  EXPECT_EQ(fault(nested(501, "{\"a\":[", "]}")), "1:3001: nested more than 1000 levels deep");
  // Depth, not count.
  EXPECT_EQ(fault("[" + nested(999, "[", "]") + "," + nested(999, "[", "]") + "]"), "");
}

TEST(ScanJson, GivesEachMemberOfTheTopLevelInOrder) {
  const std::string_view text = R"( {"s": "x", "i": -17, "r": 0.1000, "n": null, "b": true,
      "f": false, "nan": NaN, "inf": -Infinity, "a": [1, {"x": 2}], "o": {"y": 3}, "": 1e5} )";
  const std::vector<Seen> expected = {
      {"s", JsonKind::string, ""},      {"i", JsonKind::integer, "-17"},
      {"r", JsonKind::real, "0.1000"},  {"n", JsonKind::null, "null"},
      {"b", JsonKind::boolean, "true"}, {"f", JsonKind::boolean, "false"},
      {"nan", JsonKind::real, "NaN"},   {"inf", JsonKind::real, "-Infinity"},
      {"a", JsonKind::array, ""},       {"o", JsonKind::object, ""},
      {"", JsonKind::real, "1e5"},
  };
  EXPECT_EQ(members(text), expected);
}

TEST(ScanJson, GivesNoMembersOfAnythingElse) {
  EXPECT_TRUE(members(R"([{"a": 1}])").empty());
  EXPECT_TRUE(members("{}").empty());
  EXPECT_TRUE(members("1").empty());
}

TEST(ScanJson, GivesADuplicateKeyEachTime) {
  const std::vector<Seen> expected = {
      {"a", JsonKind::integer, "1"}, {"b", JsonKind::integer, "2"}, {"a", JsonKind::string, ""}};
  EXPECT_EQ(members(R"({"a": 1, "b": 2, "a": ""})"), expected);
}

TEST(ScanJson, GivesOffsetsInBytes) {
  const std::string_view text = "\n{\"é\" :  [1] , \"k\":2}\n";
  std::vector<std::string> pieces;
  MemorySource source(text);
  const JsonDocument document = scan_json(source, [&](const JsonMember& m) {
    pieces.emplace_back(text.substr(m.key_begin, m.key_end - m.key_begin));
    pieces.emplace_back(text.substr(m.value_begin, m.value_end - m.value_begin));
  });
  EXPECT_EQ(pieces, (std::vector<std::string>{"\"é\"", "[1]", "\"k\"", "2"}));
  EXPECT_EQ(document.begin, 1);
  EXPECT_EQ(document.end, text.size() - 1);
}

TEST(ScanJson, DecodesTheEscapesOfAKey) {
  const struct {
    std::string spelling;
    std::string key;
  } kKeys[] = {
      {R"(power\u005fvalid)", "power_valid"},
      {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
      {R"(\u0000)", "\0"s},
      {R"(\u007f\u0080\u07FF\u0800\uffff)", "\x7F\u0080\u07FF\u0800\uFFFF"},
      {R"(\ud83d\ude00)", "\U0001F600"},
      {R"(\uD800\uDC00\udbff\udfff)", "\U00010000\U0010FFFF"},
      // Lone surrogates: a high one, a low one, two in the wrong order, a high one before a letter.
      {R"(\ud800)", "\xED\xA0\x80"},
      {R"(\udfff)", "\xED\xBF\xBF"},
      {R"(\udc00\ud800)", "\xED\xB0\x80\xED\xA0\x80"},
      {R"(\ud800\u0041)", "\xED\xA0\x80"s + "A"},
      {R"(\ud800\ud800\udc00)", "\xED\xA0\x80\U00010000"},
  };
  for (const auto& [spelling, key] : kKeys) {
    EXPECT_EQ(members("{\"" + spelling + "\": 1}"),
              (std::vector<Seen>{{key, JsonKind::integer, "1"}}))
        << spelling;
  }
}

TEST(ScanJson, KeepsKeysOf256BytesAndNoLonger) {
  std::string escaped;
  for (int i = 0; i < 256; ++i) escaped += "\\u0061";
  const std::string a256(256, 'a');
  const Seen kept = {a256, JsonKind::integer, "1"};
  const Seen not_kept = {"", JsonKind::integer, "1", false};
  for (const std::size_t piece : {kWhole, std::size_t{1}, std::size_t{7}}) {
    EXPECT_EQ(members("{\"" + a256 + "\": 1}", piece)[0], kept);
    EXPECT_EQ(members("{\"" + escaped + "\": 1}", piece)[0], kept);
    EXPECT_EQ(members("{\"" + a256 + "a\": 1}", piece)[0], not_kept);
    EXPECT_EQ(members("{\"" + escaped + "\\u0061\": 1}", piece)[0], not_kept);
    EXPECT_EQ(members("{\"" + std::string(9000, '\x7F') + "\": 1}", piece)[0], not_kept);
  }
}

TEST(ScanJson, KeepsNumbersOf5000BytesAndNoLonger) {
  const std::string ones(5000, '1');
  for (const std::size_t piece : {kWhole, std::size_t{1}, std::size_t{7}}) {
    EXPECT_EQ(members("{\"n\": " + ones + "}", piece)[0], (Seen{"n", JsonKind::integer, ones}));
    EXPECT_EQ(members("{\"n\": " + ones + "1}", piece)[0], (Seen{"n", JsonKind::integer, ""}));
    EXPECT_EQ(members("{\"n\": 0." + ones + "}", piece)[0], (Seen{"n", JsonKind::real, ""}));
  }
}

TEST(ScanJson, ShowsALongKeyShortenedAndAStrangeOneTamed) {
  const std::string forty = "0123456789012345678901234567890123456789";
  EXPECT_EQ(fault("{\"" + forty + "\"}"), "1:44: expected ':' after \"" + forty + "\"");
  EXPECT_EQ(fault("{\"" + forty + "é\"}"), "1:45: expected ':' after \"" + forty + "...\"");
  // Forty characters of two bytes each.
  std::string accented;
  for (int i = 0; i < 40; ++i) accented += "é";
  EXPECT_EQ(fault("{\"" + accented + "x\"}"), "1:45: expected ':' after \"" + accented + "...\"");
  // As written, escapes and all; what a terminal might obey is masked.
  EXPECT_EQ(fault(R"({"a\n\ud800"})"), R"(1:13: expected ':' after "a\n\ud800")");
  EXPECT_EQ(fault("{\"a\x7F\u009B\u00A0\"}"), "1:8: expected ':' after \"a??\u00A0\"");
  EXPECT_EQ(fault("{\"" + std::string(6000, 'k') + "\"}"),
            "1:6004: expected ':' after \"" + std::string(40, 'k') + "...\"");
}

TEST(ScanJson, FindsTheSameHoweverTheBytesArrive) {
  for (std::size_t piece = 1; piece < 20; ++piece) {
    for (const auto& [text, expected] : kSound) {
      EXPECT_EQ(fault(text, piece), "") << text;
      EXPECT_EQ(members(text, piece), members(text)) << text;
    }
    for (const auto& [text, expected] : kFaulty) EXPECT_EQ(fault(text, piece), expected) << text;
  }
}

// The scanner reads 256 KiB at a time: everything here meets that edge at each of its bytes.
TEST(ScanJson, FindsTheSameAcrossTheEndOfItsBuffer) {
  const std::string text = R"({"k\u005fé": [-12.5e+10, "a\n\ud83d\ude00€", true], "n": 1234})";
  const std::vector<Seen> expected = members(text);
  const std::string broken = text.substr(0, text.size() - 1) + "x";  // the 62nd character
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const std::string blank(256 * 1024 - i, ' ');
    EXPECT_EQ(members(blank + text), expected);
    EXPECT_EQ(fault(blank + broken),
              "1:" + std::to_string(blank.size() + 62) + ": expected ',' or '}' after \"n\"");
  }
}

std::vector<std::string> texts(std::string_view text) {
  std::vector<std::string> all;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& m) { all.emplace_back(m.text); });
  return all;
}

TEST(ScanJson, GivesTheTextOfAValueWhateverKeysAreInIt) {
  const std::string value = R"({"k\u005f": {"é": [1], "plain": {"\"": 2}}})";
  const std::string text = R"({"o": )" + value + R"(, "n": 5})";
  const std::vector<std::string> expected = {value, "5"};
  for (std::size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(texts(std::string(256 * 1024 - i, ' ') + text), expected) << i;
  }
}

TEST(ScanJson, GivesNoTextOfALongValueWhateverKeysAreInIt) {
  const std::string rest = R"({"a key": 1, "another": {"and": 2}})";
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    const std::string begin = R"({"o": [")";
    const std::string filler(256 * 1024 - begin.size() - 3 - i, 'x');
    const std::string text = begin + filler + "\", " + rest + R"(], "n": 5})";
    EXPECT_EQ(texts(text), (std::vector<std::string>{"", "5"})) << i;
  }
}

TEST(ScanJson, TakesTokensLongerThanItsBuffer) {
  const std::string digits(600'000, '7');
  const std::string blanks(600'000, ' ');
  std::string accents;
  for (int i = 0; i < 300'000; ++i) accents += "é";
  std::string text = "{\"";
  text += accents + "\":" + blanks + digits + ",\"s\":\"" + accents + "\",\"r\":0." + digits;
  const std::vector<Seen> expected = {
      {"", JsonKind::integer, "", false}, {"s", JsonKind::string, ""}, {"r", JsonKind::real, ""}};
  EXPECT_EQ(members(text + "}"), expected);
  // 2 + 300000 + 2 + 600000 + 600000 + 6 + 300000 + 8 + 600000 characters come before it.
  EXPECT_EQ(fault(text + "]"), "1:2400019: expected ',' or '}' after \"r\"");
}

// The keys inside a member are not its own, however they are written.
TEST(ScanJson, KeepsAMemberApartFromTheKeysInIt) {
  const auto seen = [](const std::string& text) {
    std::vector<std::pair<std::string, std::string>> members;
    MemorySource source(text);
    scan_json(source,
              [&](const JsonMember& member) { members.emplace_back(member.key, member.text); });
    return members;
  };
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", R"({"d\u00e9":{"\u00e9":[{"\"":1}]},"é":2})"}, {"b", "3"}};
  EXPECT_EQ(seen(R"({"a":{"d\u00e9":{"\u00e9":[{"\"":1}]},"é":2},"b":3})"), expected);
}

// Wherever the buffer ends: in a key, after it, or in its value.
TEST(ScanJson, KeepsAMemberApartFromKeysAtTheEndOfItsBuffer) {
  constexpr std::size_t kBuffer = 256 * 1024;
  for (std::size_t shift = 0; shift < 40; ++shift) {
    std::string text = R"({"long":[")" + std::string(kBuffer - 60 + shift, 'x') + "\"";
    const std::size_t begin = 8;
    while (text.size() < 2 * kBuffer + 100) text += R"(,{"request_id":1})";
    text += "]";
    const std::string value = text.substr(begin, text.size() - begin);
    text += R"(,"last":4})";
    std::vector<std::string> keys;
    std::size_t value_end = 0;
    MemorySource source(text);
    scan_json(source, [&](const JsonMember& member) {
      keys.emplace_back(member.key);
      if (keys.size() == 1) value_end = member.value_end;
    });
    EXPECT_EQ(keys, (std::vector<std::string>{"long", "last"})) << shift;
    EXPECT_EQ(value_end, begin + value.size()) << shift;
  }
}

TEST(ScanJson, LetsWhatOthersThrowThrough) {
  struct Broken : ByteSource {
    std::size_t read(std::span<char>) override { throw Error("disk on fire"); }
  } broken;
  EXPECT_THROW(scan_json(broken, [](const JsonMember&) {}), Error);
  MemorySource source(R"({"a": 1})");
  EXPECT_THROW(scan_json(source, [](const JsonMember&) { throw std::logic_error("enough"); }),
               std::logic_error);
}

TEST(JsonError, TellsLineColumnAndMessage) {
  const JsonError error(12, 8, "expected a value");
  EXPECT_EQ(error.line(), 12);
  EXPECT_EQ(error.column(), 8);
  EXPECT_STREQ(error.what(), "12:8: expected a value");
}

TEST(PatchJson, ReplacesAValueAndNothingElse) {
  const std::string before =
      "\n{\r\n\t\"a\" : 1e5,\"power\\u005fvalid\"  :\t[1,\n2] ,\n\"b\": 0.1000,\"b\":NaN,"
      "\"long\":1234567890123456789, \"t\\/\\u00e9\":\"\\/\"  }\r\n ";
  const std::string after =
      "\n{\r\n\t\"a\" : 1e5,\"power\\u005fvalid\"  :\ttrue ,\n\"b\": 0.1000,\"b\":NaN,"
      "\"long\":1234567890123456789, \"t\\/\\u00e9\":\"\\/\"  }\r\n ";
  EXPECT_EQ(patched(before, {{"power_valid", "true"}}), after);
  EXPECT_EQ(patched(before, {}), before);
  EXPECT_EQ(patched(before, {{"absent", ""}}), before);
}

TEST(PatchJson, AppendsInTheLayoutItFinds) {
  const std::vector<JsonEdit> kEdits = {{"k", "1"}, {"j", "[2]"}};
  const struct {
    std::string before;
    std::string after;
  } kTexts[] = {
      // As the last two members are set apart.
      {R"({"a": 0, "b": 0})", R"({"a": 0, "b": 0, "k": 1, "j": [2]})"},
      {R"({"a":0,"b":0})", R"({"a":0,"b":0,"k":1,"j":[2]})"},
      {R"({ "a" : 0 , "b" : 0 })", R"({ "a" : 0 , "b" : 0 , "k" : 1 , "j" : [2] })"},
      {R"({"a":0,   "b"  :  0})", R"({"a":0,   "b"  :  0,   "k"  :  1,   "j"  :  [2]})"},
      {"{\n  \"a\": 0,\n  \"b\": 0\n}\n",
       "{\n  \"a\": 0,\n  \"b\": 0,\n  \"k\": 1,\n  \"j\": [2]\n}\n"},
      {"{\r\n\t\"a\": 0,\r\n\t\"b\": 0\r\n}",
       "{\r\n\t\"a\": 0,\r\n\t\"b\": 0,\r\n\t\"k\": 1,\r\n\t\"j\": [2]\r\n}"},
      {"{\n    \"a\": 0\n  , \"b\": 0\n}",
       "{\n    \"a\": 0\n  , \"b\": 0\n  , \"k\": 1\n  , \"j\": [2]\n}"},
      // As the only member is set apart from the brace, or from its value.
      {R"({"a": 0})", R"({"a": 0, "k": 1, "j": [2]})"},
      {R"({"a":0})", R"({"a":0,"k":1,"j":[2]})"},
      {R"({ "a": 0 })", R"({ "a": 0, "k": 1, "j": [2] })"},
      {"{\n  \"a\": 0\n}", "{\n  \"a\": 0,\n  \"k\": 1,\n  \"j\": [2]\n}"},
      {"{\r\n\"a\":0}", "{\r\n\"a\":0,\r\n\"k\":1,\r\n\"j\":[2]}"},
      // As Python would.
      {"{}", R"({"k": 1, "j": [2]})"},
      {"{ }", R"({ "k": 1, "j": [2] })"},
      {"{\n}", "{\n  \"k\": 1,\n  \"j\": [2]\n}"},
      {" {\r\n }\n", " {\r\n   \"k\": 1,\r\n   \"j\": [2]\r\n }\n"},
  };
  for (const auto& [before, after] : kTexts) {
    EXPECT_EQ(patched(before, kEdits), after);
    if (before.find('a') == before.npos) continue;
    EXPECT_EQ(patched(after, {{"j", ""}, {"k", ""}}), before) << "and back";
  }
}

TEST(PatchJson, RemovesAMemberWithTheSeparatorBeforeIt) {
  const std::string text = "{ \"a\": 1,\n\"b\": 2,  \"c\": 3 }\n";
  const struct {
    std::vector<std::string> keys;
    std::string after;
  } kRemovals[] = {
      {{"a"}, "{ \"b\": 2,  \"c\": 3 }\n"}, {{"b"}, "{ \"a\": 1,  \"c\": 3 }\n"},
      {{"c"}, "{ \"a\": 1,\n\"b\": 2 }\n"}, {{"a", "b"}, "{ \"c\": 3 }\n"},
      {{"c", "b"}, "{ \"a\": 1 }\n"},       {{"a", "b", "c"}, "{ }\n"},
  };
  for (const auto& [keys, after] : kRemovals) {
    std::vector<JsonEdit> edits;
    for (const std::string& key : keys) edits.push_back({key, ""});
    EXPECT_EQ(patched(text, edits), after);
  }
  EXPECT_EQ(patched("{\n  \"a\": 1\n}\n", {{"a", ""}}), "{\n}\n");
}

TEST(PatchJson, ReplacesRemovesAndAppendsAtOnce) {
  EXPECT_EQ(patched("{\n  \"old\": 1,\n  \"kept\": 2,\n  \"mine\": 3\n}",
                    {{"new", "4"}, {"mine", "5"}, {"old", ""}, {"newer", "\"6\""}}),
            "{\n  \"kept\": 2,\n  \"mine\": 5,\n  \"new\": 4,\n  \"newer\": \"6\"\n}");
  // Nothing of the file's own is left, its layout is.
  EXPECT_EQ(patched("{\n\t\"old\":1\n}", {{"old", ""}, {"k", "1"}, {"j", "2"}}),
            "{\n\t\"k\":1,\n\t\"j\":2\n}");
}

TEST(PatchJson, ReplacesTheFirstOfAKeyAndDropsTheRest) {
  const std::string text = R"({"k": 1, "a": 2, "\u006b": 3, "a": 4, "k": 5})";
  EXPECT_EQ(patched(text, {{"k", "0"}}), R"({"k": 0, "a": 2, "a": 4})");
  EXPECT_EQ(patched(text, {{"k", ""}}), R"({"a": 2, "a": 4})");
}

TEST(PatchJson, TouchesTheTopLevelOnly) {
  EXPECT_EQ(patched(R"({"a": {"k": 1}, "k": {"k": 2}})", {{"k", "0"}}),
            R"({"a": {"k": 1}, "k": 0})");
}

TEST(PatchJson, WritesANewKeyWithTheEscapesItNeeds) {
  EXPECT_EQ(patched("{}", {{"a\"\\/\n\x01é", "1"}}), R"({"a\"\\/\u000a\u0001é": 1})");
}

TEST(PatchJson, LeavesKeysAloneThatAreTooLongToBeOurs) {
  const std::string text = "{\"" + std::string(300, 'k') + "\": 1}";
  EXPECT_EQ(patched(text, {{"", ""}}), text);
}

TEST(PatchJson, RefusesWhatIsNoObject) {
  const struct {
    std::string text;
    std::string fault;
  } kTexts[] = {
      {"[]", "1:1: expected an object"},
      {"\n 1", "1:1: expected an object"},
      {"", "1:1: expected a value, but the text ends"},
      {"[1", "1:3: expected ',' or ']', but the text ends"},
      {"{\"k\": 1}\n{", "2:1: expected nothing more after the value"},
      {"{\"k\": \"\xFF\"}", "1:8: invalid UTF-8 in string"},
  };
  for (const auto& [text, expected] : kTexts) {
    try {
      patch_json(text, std::vector<JsonEdit>{{"k", "2"}});
      ADD_FAILURE() << "took " << text;
    } catch (const JsonError& error) {
      EXPECT_EQ(error.what(), expected);
    }
  }
}

TEST(JsonNumber, IsWrittenAsPythonWritesIt) {
  const struct {
    double value;
    const char* text;
  } kNumbers[] = {
      {600, "600.0"},
      {0, "0.0"},
      {-0.0, "-0.0"},
      {0.1, "0.1"},
      {-412.3, "-412.3"},
      {1.0 / 3, "0.3333333333333333"},
      {0.1 + 0.2, "0.30000000000000004"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {0.000012345, "1.2345e-05"},
      {123456789012345680, "1.2345678901234568e+17"},
      {9999999999999998, "9999999999999998.0"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1e22, "1e+22"},
      {1e100, "1e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
  };
  for (const auto& [value, text] : kNumbers) EXPECT_EQ(json_number(value), text);
}

}  // namespace json_test
}  // namespace aggregate_power
