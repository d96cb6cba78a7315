// The SVG of small charts; their coordinates are computed by hand.
#include "chart/svg.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace aggregate_power {
namespace svg_test {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

Chart small_chart() {
  Chart chart{"power", "three points", {}, linear_axis("", 0, 2, 2), {}, {}, {}, 206, true};
  chart.panels.push_back({"", linear_axis("", 0, 10, 2), {}, {}, 106});
  return chart;
}

TEST(PixelsText, IsShort) {
  EXPECT_EQ(pixels_text(12), "12");
  EXPECT_EQ(pixels_text(0), "0");
  EXPECT_EQ(pixels_text(-0.01), "0");
  EXPECT_EQ(pixels_text(0.26), ".3");
  EXPECT_EQ(pixels_text(-10.54), "-10.5");
}

// 0.04 three times: rounded one by one they would add up to 0, but the last place is at 0.1.
TEST(PathData, DoesNotAddUpItsRounding) {
  EXPECT_EQ(path_data({{0, 0}, {0.04, 1}, {0.08, 1}, {0.12, 0}}), "M0 0l0 1 .1 0 0-1");
  EXPECT_EQ(path_data({{1, 2}}), "M1 2h0");
  EXPECT_EQ(path_data({{1, 2}, {1, 2}}), "M1 2l0 0");
  EXPECT_EQ(path_data({}), "");
}

TEST(XmlText, EscapesWhatXmlReads) {
  EXPECT_EQ(xml_text("<a b=\"c\" d='e'>&amp;"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  EXPECT_EQ(xml_text(std::string("a\0b", 3)), "a\uFFFDb");
  EXPECT_EQ(xml_text("\x1b[31m"), "\uFFFD[31m");
  EXPECT_EQ(xml_text("\xEF\xBF\xBE|\xff"), "\uFFFD|\uFFFD");
  EXPECT_EQ(xml_text("Größe ≤ 4 µs"), "Größe ≤ 4 µs");
}

// The area of a small chart is 200 by 100 pixels, 3 pixels from the edges.
TEST(Svg, PlacesPoints) {
  Chart chart = small_chart();
  chart.panels[0].series.push_back({.lines = {{{0, 0}, {1, 10}, {2, 5}}}});
  EXPECT_TRUE(contains(svg(chart), "d=\"M3 103l100-100 100 50\""));
}

TEST(Svg, BreaksLinesAtWhatIsMissing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Chart chart = small_chart();
  chart.panels[0].series.push_back({.lines = {{{0, 0}, {0.5, 0}, {1, nan}, {1.5, 0}, {2, 0}}}});
  EXPECT_TRUE(contains(svg(chart), "d=\"M3 103l50 0M153 103l50 0\""));
}

TEST(Svg, IsTheSameEachTime) {
  Chart chart = small_chart();
  chart.panels[0].series.push_back({.lines = {{{0, 0}, {1, 10}}}});
  EXPECT_EQ(svg(chart), svg(chart));
}

TEST(Svg, HasTitleDescriptionAndIdsOfItsOwn) {
  Chart chart = small_chart();
  chart.is_small = false;
  chart.stretches.push_back({Stretch::Kind::gap, 0.5, 1, "nothing for 3 s"});
  const std::string text = svg(chart, {.id = "run7"});
  EXPECT_TRUE(contains(text, "id=\"run7\""));
  EXPECT_TRUE(contains(text, "aria-labelledby=\"run7-title run7-desc\""));
  EXPECT_TRUE(contains(text, "<title id=\"run7-title\">power</title>"));
  EXPECT_TRUE(contains(text, "<desc id=\"run7-desc\">three points</desc>"));
  EXPECT_EQ(count(text, " id=\""), count(text, " id=\"run7"));
  EXPECT_EQ(count(text, "url(#"), count(text, "url(#run7-"));
  EXPECT_TRUE(contains(text, "prefers-color-scheme:dark"));
  EXPECT_FALSE(contains(svg(chart, {.id = "run7", .has_style = false}), "<style>"));
}

// A line of five points at one height: there is room above the point in the middle.
TEST(Svg, DoesNotStrikeALabelThrough) {
  Chart chart = small_chart();
  chart.is_small = false;
  chart.width = 600;
  chart.panels[0].series.push_back({.lines = {{{0, 5}, {2, 5}}}, .dots = {{.at = {1, 5}}}});
  Dot& dot = chart.panels[0].series[0].dots[0];
  dot.label = "250 W";
  const std::string drawn = svg(chart);
  const double line_y = std::stod(drawn.substr(drawn.find("cy=\"") + 4));
  const std::size_t text = drawn.rfind("<text", drawn.find(">250 W<"));
  const double base_y = std::stod(drawn.substr(drawn.find("y=\"", text) + 3));
  EXPECT_LE(base_y, line_y - 3);
}

TEST(Svg, EscapesLabels) {
  Chart chart = small_chart();
  chart.is_small = false;
  chart.title = "</title><script>alert(1)</script>";
  chart.caption = {"<b>&"};
  chart.panels[0].series.push_back({.label = "\"/><image href='x'>",
                                    .dots = {{.at = {1, 1}, .label = "<g>", .tooltip = "a<b"}}});
  const std::string text = svg(chart);
  for (const char* const tag : {"<script", "<image", "<b>", "<g>&"}) {
    EXPECT_FALSE(contains(text, tag)) << tag;
  }
  EXPECT_TRUE(contains(text, "<title>a&lt;b</title>"));
}

TEST(Svg, DrawsDotsWithErrorsAndMarks) {
  Chart chart = small_chart();
  chart.panels[0].series.push_back(
      {.style = 2,
       .dots = {
           {.at = {1, 5}, .y_error = ErrorBar{2.5, 7.5}, .tooltip = "n = 5", .is_marked = true}}});
  const std::string text = svg(chart);
  // y = 103 - 100 * 2.5 / 10 = 78, and 28 for 7.5.
  EXPECT_TRUE(contains(text, "d=\"M103 78l0-50M100 78l6 0M100 28l6 0\""));
  EXPECT_TRUE(contains(text, "<circle class=\"a2\" cx=\"103\" cy=\"53\" r=\"3.5\"/>"));
  EXPECT_TRUE(contains(text, "r=\"6\""));
  EXPECT_TRUE(contains(text, "<title>n = 5</title>"));
}

TEST(Svg, TagsDotsAndLinesForScripts) {
  Chart chart = small_chart();
  chart.panels[0].series.push_back(
      {.tag = "1 2", .lines = {{{0, 0}, {2, 10}}}, .dots = {{.at = {1, 5}, .tag = "\"7"}}});
  const std::string text = svg(chart);
  EXPECT_TRUE(contains(text, "<path class=\"line c0\" data-tag=\"1 2\" d=\""));
  EXPECT_TRUE(contains(text, "<g data-tag=\"&quot;7\">"));
  EXPECT_EQ(count(text, "data-tag"), 2U);
}

TEST(Svg, LeavesOutDotsWithoutAPlace) {
  Chart chart = small_chart();
  chart.panels[0].y = logarithmic_axis("", 1, 10);
  chart.panels[0].series.push_back({.dots = {{.at = {1, 0}}, {.at = {1, 10}}}});
  EXPECT_EQ(count(svg(chart), "<circle"), 1U);
}

TEST(Svg, ShadesRanges) {
  Chart chart = small_chart();
  chart.panels[0].series.push_back({.ribbons = {{{0, 2, 4}, {2, 2, 4}}}});
  EXPECT_TRUE(contains(svg(chart), "d=\"M3 63l200 0 0 20-200 0z\""));
}

TEST(Svg, OfNothingIsStillAPicture) {
  const std::string text = svg(Chart{"", "", {}, linear_axis("", 0, 1, 2)});
  EXPECT_TRUE(text.starts_with("<svg "));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

}  // namespace svg_test
}  // namespace aggregate_power
