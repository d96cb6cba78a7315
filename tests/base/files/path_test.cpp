// Paths as Python writes them. Expected values are CPython 3.11's PurePosixPath.
#include "base/files/path.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace path_test {

struct Case {
  const char* text;
  const char* expected;
};

TEST(NormalPath, IsWhatPathlibWrites) {
  const Case cases[] = {
      {"", "."},
      {".", "."},
      {"./", "."},
      {"./a//b/", "a/b"},
      {"a/./b", "a/b"},
      {"a/../b", "a/../b"},
      {"..", ".."},
      {"../..", "../.."},
      {"/", "/"},
      {"//", "//"},
      {"///", "/"},
      {"//a", "//a"},
      {"///a", "/a"},
      {"/a/", "/a"},
      {"/./a", "/a"},
      {"a//b///c", "a/b/c"},
      {"./.", "."},
      {"a/.", "a"},
      {"/..", "/.."},
      {"~", "~"},
      {"-", "-"},
      {" ", " "},
      {"a b", "a b"},
      {"a/b/./", "a/b"},
      {"//./a", "//a"},
      {"/.//a", "/a"},
      {".hidden", ".hidden"},
      {"a\n", "a\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(normal_path(c.text), c.expected) << '\'' << c.text << '\'';
}

TEST(PathStem, DropsTheLastSuffixOnly) {
  const Case cases[] = {
      {"run.json", "run"},
      {"run", "run"},
      {"a/b/run.json", "run"},
      {"run.tar.gz", "run.tar"},
      {".bashrc", ".bashrc"},
      {".a.json", ".a"},
      {"a.", "a."},
      {"a..", "a.."},
      {"..", ".."},
      {"a/.b", ".b"},
      {"a..b", "a."},
      {"x.y.", "x.y."},
      {"dir.d/run", "run"},
      {"a/...", "..."},
      {".. .", ".. ."},
      {"...a", ".."},
      {"a.b/..", ".."},
  };
  for (const Case& c : cases) EXPECT_EQ(path_stem(c.text), c.expected) << c.text;
}

TEST(PlainStem, DropsTheSuffixOfACompressedFileToo) {
  const std::pair<const char*, const char*> cases[] = {
      {"run.json", "run"},          {"a/run.json.gz", "run"}, {"a/m.csv.zst", "m"},
      {"run.tar.gz", "run.tar"},    {".csv.gz", ".csv"},      {"run.gz", "run"},
      {"run.json.bz2", "run.json"}, {"a.b.csv.gz", "a.b"},    {"gz", "gz"},
  };
  for (const auto& [path, stem] : cases) EXPECT_EQ(plain_stem(path), stem) << path;
}

TEST(Beside, PutsANameInTheSameFolder) {
  EXPECT_EQ(beside("run.json", "n"), "n");
  EXPECT_EQ(beside("a/b/run.json", "n"), "a/b/n");
  EXPECT_EQ(beside("/run.json", "n"), "/n");
  EXPECT_EQ(beside("//run.json", "n"), "//n");
  EXPECT_EQ(beside("../run.json", "n"), "../n");
}

TEST(PrintablePath, EscapesOnlyWhatIsNoUtf8) {
  const Case cases[] = {
      {"", ""},
      {"a/b c%41.json", "a/b c%41.json"},
      {"m\xC3\xBC"
       "de/\xF0\x9F\x94\x8B",
       "m\xC3\xBC"
       "de/\xF0\x9F\x94\x8B"},
      {"\xFF", "%FF"},
      {"a\xB0"
       "b",
       "a%B0b"},
      {"\xC3", "%C3"},         // cut off
      {"\xE2\x82", "%E2%82"},  // cut off
      {"\xE2\x82x", "%E2%82x"},
      {"\xC0\x80", "%C0%80"},                // overlong
      {"\xED\xA0\x80", "%ED%A0%80"},         // a surrogate
      {"\xF4\x90\x80\x80", "%F4%90%80%80"},  // beyond Unicode
      {"\x80\xC3\xBC", "%80\xC3\xBC"},
      {"\xC3\xBC\xBC", "\xC3\xBC%BC"},
  };
  for (const Case& c : cases) EXPECT_EQ(printable_path(c.text), c.expected) << c.text;
}

TEST(LastName, FollowsTheLastSlash) {
  EXPECT_EQ(last_name("a/b/run.json"), "run.json");
  EXPECT_EQ(last_name("run.json"), "run.json");
  EXPECT_EQ(last_name("a/"), "");
  EXPECT_EQ(last_name(""), "");
}

TEST(JoinPath, HasOneSlashBetween) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("/", "b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
}

TEST(PathBelow, IsNormal) {
  EXPECT_EQ(path_below("a", "./b//c"), "a/b/c");
  EXPECT_EQ(path_below("", "./b"), "b");
}

}  // namespace path_test
}  // namespace aggregate_power
