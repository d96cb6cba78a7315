// The part of Markdown that the help pages are written in.
#include "commands/help_pages/help_pages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power::markdown {
namespace markdown_test {

TEST(Markdown, IsAListOfBlocks) {
  const std::vector<Block> blocks = parse(
      "# Title\n\nOne line\nand another.\n<!-- a comment -->\n* first\n  goes on\n* second\n\n"
      "2. numbered\n\n```sh\ncd /\n\n# no heading\n```\n## Next\n");
  ASSERT_EQ(blocks.size(), 7U);
  EXPECT_EQ(std::get<Heading>(blocks[0]).level, 1);
  EXPECT_EQ(std::get<Heading>(blocks[0]).text, "Title");
  EXPECT_EQ(std::get<Paragraph>(blocks[1]).text, "One line and another.");
  EXPECT_EQ(std::get<ListItem>(blocks[2]).mark, "*");
  EXPECT_EQ(std::get<ListItem>(blocks[2]).text, "first goes on");
  EXPECT_EQ(std::get<ListItem>(blocks[3]).text, "second");
  EXPECT_EQ(std::get<ListItem>(blocks[4]).mark, "2.");
  EXPECT_EQ(std::get<Code>(blocks[5]).lines,
            (std::vector<std::string>{"cd /", "", "# no heading"}));
  EXPECT_EQ(std::get<Heading>(blocks[6]).level, 2);
}

TEST(Markdown, ReadsTablesWithBarsInTheirCells) {
  const std::vector<Block> blocks =
      parse("| a | b |\n|---|---|\n| `x\\|y` | |\n| 1 | 2 |\nAfter.\n");
  ASSERT_EQ(blocks.size(), 2U);
  const Table& table = std::get<Table>(blocks[0]);
  EXPECT_EQ(table.header, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"`x|y`", ""}));
  EXPECT_EQ(table.rows[1], (std::vector<std::string>{"1", "2"}));
}

TEST(Markdown, KnowsTheTablesThatOthersFillIn) {
  const std::vector<Block> blocks =
      parse("Text.\n*See the program.* <!-- table: options backfill -->\nMore.\n");
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(std::get<Placeholder>(blocks[1]).name, "options backfill");
  EXPECT_EQ(std::get<Paragraph>(blocks[2]).text, "More.");
}

TEST(Markdown, TakesTextApart) {
  const std::vector<MarkdownSpan> spans = spans_of("a **b** `[W]` [c d](e.md#f) [x] 2 * 3 `open");
  const std::vector<std::pair<MarkdownSpan::Kind, std::string>> expected = {
      {MarkdownSpan::Kind::plain, "a "},
      {MarkdownSpan::Kind::bold, "b"},
      {MarkdownSpan::Kind::plain, " "},
      {MarkdownSpan::Kind::code, "[W]"},
      {MarkdownSpan::Kind::plain, " "},
      {MarkdownSpan::Kind::link, "c d"},
      {MarkdownSpan::Kind::plain, " [x] 2 * 3 `open"},
  };
  ASSERT_EQ(spans.size(), expected.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].kind, expected[i].first) << i;
    EXPECT_EQ(spans[i].text, expected[i].second) << i;
  }
  EXPECT_EQ(spans[5].target, "e.md#f");
}

}  // namespace markdown_test
}  // namespace aggregate_power::markdown
