// Whatever a file says stays text: in HTML, links and CSV.
#include "views/page/page.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace html_text_test {

TEST(Html, EscapesWhatCouldBeMarkup) {
  EXPECT_EQ(html("tp=8 fp8"), "tp=8 fp8");
  EXPECT_EQ(html("<b a=\"1\" c='2'>&amp;"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  EXPECT_EQ(html("\u00B5J \u2192 \U0001F600"), "\u00B5J \u2192 \U0001F600");
  EXPECT_EQ(html(""), "");
}

TEST(Html, IsOneLineOfValidCharacters) {
  EXPECT_EQ(html("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(html("a\xFF\xC3(b"), "a\uFFFD\uFFFD(b");
  // U+202E turns the direction of what follows, U+FFFE is no character of XML.
  EXPECT_EQ(html("a\u202Egpj.exe\uFFFE"), "a?gpj.exe\uFFFD");
}

TEST(CutText, KeepsTheBeginningAndMoreOfTheEnd) {
  EXPECT_EQ(cut_text("abcdefghij", 10), "abcdefghij");
  // A third of 9 before the ellipsis, 5 behind it.
  EXPECT_EQ(cut_text("abcdefghij", 9), "abc\u2026fghij");
  EXPECT_EQ(cut_text("\u00E4\u00F6\u00FC\u00E4\u00F6\u00FC", 5), "\u00E4\u2026\u00E4\u00F6\u00FC");
}

TEST(CutText, LooksLikeWhatItIs) { EXPECT_EQ(cut_text("a\u202Egpj\n", 10), "a?gpj?"); }

TEST(CutText, LooksAtNoMoreOfALongTextThanItShows) {
  const std::string text = "begin" + std::string(100'000'000, 'x') + "end";
  EXPECT_EQ(cut_text(text, 12), "begi\u2026xxxxend");
  const std::string bytes(10'000, '\x80');
  EXPECT_EQ(cut_text(bytes, 3), "\uFFFD\u2026\uFFFD");
}

TEST(LinkText, IsAPathAndNeverAScheme) {
  EXPECT_EQ(link_text("a b/c%d#e?.json"), "a%20b/c%25d%23e%3F.json");
  EXPECT_EQ(link_text("javascript:alert(1)"), "./javascript%3Aalert%281%29");
  EXPECT_EQ(link_text("a/b:c"), "a/b%3Ac");
  EXPECT_EQ(link_text("\xFF\"'<"), "%FF%22%27%3C");
}

TEST(PathBetween, LeadsFromAFolderToAFile) {
  EXPECT_EQ(path_between("/a/b", "/a/b/c/d.json"), "c/d.json");
  EXPECT_EQ(path_between("/a/b/", "/a/x.json"), "../x.json");
  EXPECT_EQ(path_between("/a/b/c", "/d/e.json"), "../../../d/e.json");
  EXPECT_EQ(path_between("/", "/e.json"), "e.json");
  // The last part of the file is its name, even if a folder is called so.
  EXPECT_EQ(path_between("/a/b", "/a/b"), "../b");
}

TEST(DataLink, HoldsAnyBytes) {
  EXPECT_EQ(data_link("text/csv", "a,b\r\n1 %\"\u00B5"),
            "data:text/csv;charset=utf-8,a,b%0D%0A1%20%25%22%C2%B5");
}

}  // namespace html_text_test
}  // namespace aggregate_power
