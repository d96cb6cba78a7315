// Pictures small enough to draw by hand.
#include "chart/terminal.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/wrap.h"

namespace aggregate_power {
namespace terminal_picture_test {

Chart diagonal() {
  Chart chart{"power", "", {"metric: watts"}, linear_axis("time (s)", 0, 10, 2)};
  chart.panels.push_back({"", linear_axis("W", 0, 4, 2), {}, {}, 0});
  chart.panels[0].series.push_back(
      {.label = "GPU 0", .value = "16.000 J", .lines = {{{0, 0}, {10, 4}}}});
  return chart;
}

// 27 columns between the axes, 54 dots, and 4 rows, 16 dots: dot i is 16 / 54 i high, so the rows
// have the dots to 13, to 26, to 40 and to 54.
TEST(TerminalPicture, IsAscii) {
  Chart chart = diagonal();
  chart.stretches.push_back({Stretch::Kind::gap, 0, 5});
  chart.stretch_key.emplace_back(Stretch::Kind::gap, "no samples");
  EXPECT_EQ(terminal_picture(chart, {.columns = 30, .rows = 4, .is_utf8 = false}),
            "power\n"
            "W\n"
            "4 +                    0000000\n"
            "2 +             00000000\n"
            "  |       0000000\n"
            "0 +0000000\n"
            "  +---------------------------\n"
            "   //////////////\n"
            "   0            5           10\n"
            "            time (s)\n"
            "/ no samples\n"
            "00 GPU 0  16.000 J\n"
            "metric: watts\n");
}

// Eight dots a character: the first column's lower left and the one above to the right.
TEST(TerminalPicture, IsBraille) {
  const std::string text = terminal_picture(diagonal(), {.columns = 30, .rows = 4});
  EXPECT_NE(text.find("┤⣀"), std::string::npos) << text;
  EXPECT_EQ(text.find("0000"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TerminalPicture, StaysInItsWidth) {
  Chart chart = diagonal();
  chart.caption = {std::string(300, 'x') + " and more"};
  chart.title = "short";
  const std::string text = terminal_picture(chart, {.columns = 40, .rows = 6});
  std::size_t begin = 0;
  std::size_t wide = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    wide += columns(text.substr(begin, end - begin)) > 40 ? 1 : 0;
    begin = end + 1;
  }
  EXPECT_EQ(wide, 1U) << "only a word that is too long";
}

TEST(TerminalPicture, ShowsNoControlCharacters) {
  Chart chart = diagonal();
  chart.title = "a\x1b[2J\nb";
  chart.panels[0].series[0].label = "\x07\xff";
  const std::string text = terminal_picture(chart, {.is_utf8 = false});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(TerminalPicture, IsColouredOnRequest) {
  const std::string text =
      terminal_picture(diagonal(), {.columns = 40, .rows = 4, .has_colour = true});
  EXPECT_NE(text.find("\x1b[34m"), std::string::npos);
  EXPECT_EQ(text.find("\x1b[34m") == std::string::npos, text.find("\x1b[0m") == std::string::npos);
}

}  // namespace terminal_picture_test
}  // namespace aggregate_power
