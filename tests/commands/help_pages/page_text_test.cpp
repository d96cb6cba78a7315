// A help page as text for a terminal, and as a man page.
#include "commands/help_pages/help_pages.h"

#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace page_text_test {

std::string text(std::string_view source) { return page_text(markdown::parse(source), 80); }
std::string roff(std::string_view source) { return page_roff(markdown::parse(source)); }

TEST(PageText, UnderlinesHeadingsAndIndentsCode) {
  EXPECT_EQ(text("# A page\n\nText.\n\n## Part\n\n```sh\ncd /\n\nls\n```\n"),
            "A page\n======\n\nText.\n\nPart\n----\n\n    cd /\n\n    ls\n");
}

TEST(PageText, WrapsAtEightyColumns) {
  // 16 words of four letters and a blank each fill 79 columns.
  std::string words;
  for (int i = 0; i < 17; ++i) words += "word ";
  EXPECT_EQ(text(words), words.substr(0, 79) + "\nword\n");
  EXPECT_EQ(text("* " + words), "  * " + words.substr(0, 74) + "\n    word word\n");
}

TEST(PageText, NamesTheTopicsThatLinksLeadTo) {
  EXPECT_EQ(text("See [Time zones](time-zones.md#x), **[this](https://x.org)** or `it`."),
            "See Time zones (help time-zones), [this](https://x.org) or `it`.\n");
  EXPECT_EQ(text("[that](https://x.org)"), "that <https://x.org>\n");
}

TEST(PageText, PutsNarrowTablesInColumns) {
  EXPECT_EQ(text("| a | bb |\n|---|---|\n| `x` | 1 |\n| µ | |\n"), "  a    bb\n  `x`  1\n  µ\n");
}

TEST(PageText, FoldsTheWidestColumnOfATableThatIsALittleTooWide) {
  // "  " + 2 + 2 + 80 are 6 columns too many: the second column has 74.
  std::string words;
  for (int i = 0; i < 16; ++i) words += "word ";
  EXPECT_EQ(text("| a | b |\n|---|---|\n| xx | " + words + "|\n"),
            "  a   b\n  xx  " + words.substr(0, 74) + "\n      word\n");
}

TEST(PageText, FoldsLongLinesOfCode) {
  const std::string word(40, 'w');
  const std::string line = "  " + word + " " + word;
  EXPECT_EQ(text("```\n" + line + "\n```\n"), "      " + word + "\n        " + word + "\n");
  const std::string long_word(100, 'x');
  EXPECT_EQ(text("```\n" + long_word + "\n```\n"),
            "    " + std::string(76, 'x') + "\n        " + std::string(24, 'x') + "\n");
}

TEST(PageText, DescribesTheRowsOfWideTables) {
  const std::string wide(100, 'w');
  EXPECT_EQ(text("| a | b | c |\n|---|---|---|\n| x | " + wide + " | y |\n"),
            "  x\n      b:\n      " + wide + "\n      c: y\n");
  EXPECT_EQ(text("| a | b |\n|---|---|\n| x | " + wide + " |\n"), "  x\n      " + wide + "\n");
}

TEST(PageRoff, UsesTheManMacros) {
  EXPECT_EQ(
      roff("# Page\n\nText.\n\n## Part\n\n### Piece\n\n* **b** `-c`\n1. one\n"),
      ".PP\nText.\n.SH Part\n.SS Piece\n.IP \\(bu 2\n\\fBb\\fR \\fB\\-c\\fR\n.IP 1. 4\none\n");
  EXPECT_EQ(roff("```sh\n.x\n```\n"), ".PP\n.RS 4\n.nf\n\\&.x\n.fi\n.RE\n");
  EXPECT_EQ(roff("[Stores](stores.md)"), ".PP\nStores (\\fBaggregate\\-power\\-stores\\fR(7))\n");
}

TEST(PageRoff, EscapesWhatTroffWouldTakeForItsOwn) {
  EXPECT_EQ(roff("'a' \\ -1 \"µs\" ~^`"),
            ".PP\n\\(aqa\\(aq \\e \\-1 \\(dq\\[u00B5]s\\(dq \\(ti\\(ha\\(ga\n");
  EXPECT_EQ(roff(".start"), ".PP\n\\&.start\n");
}

}  // namespace page_text_test
}  // namespace aggregate_power
