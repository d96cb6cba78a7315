// Finds room for the axes, the legend and the caption.
#include "chart/svg_text.h"

#include <algorithm>
#include <cmath>

#include "base/text/characters.h"
#include "base/text/utf8.h"
#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

constexpr double kMargin = 12;
constexpr double kPanelDistance = 22;
constexpr double kSwatch = 30;
constexpr double kBoldWidth = 1.1;  // of a letter, against a plain one
constexpr double kMostLegend = 330;

std::size_t bytes_of_first(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  while (characters-- > 0 && bytes < text.size()) bytes += first_character(text.substr(bytes)).size;
  return bytes;
}

// As base/text/wrap.h has it, but a word that is too long is cut: nothing leaves the picture.
std::vector<std::string> wrapped_lines(const std::string& paragraph, std::size_t width) {
  std::vector<std::string> lines;
  std::string_view text = paragraph;
  while (columns(text) > width) {
    const std::size_t end = bytes_of_first(text, width + 1);
    std::size_t cut = text.substr(0, end).rfind(' ');
    if (cut == std::string_view::npos || cut == 0) cut = bytes_of_first(text, width);
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

double left_margin(const Chart& chart) {
  double labels = 0;
  for (const Panel& panel : chart.panels) {
    for (const Tick& tick : panel.y.ticks) labels = std::max(labels, text_pixels(tick.label));
  }
  constexpr double kTitle = 20;
  return kMargin + kTitle + labels + 8;
}

double legend_pixels(const Chart& chart) {
  double widest = 0;
  for (const Panel& panel : chart.panels) {
    widest = std::max(widest, text_pixels(panel.title) * kBoldWidth);
    for (const Series& series : panel.series) {
      if (series.label.empty()) continue;
      const double value = series.value.empty() ? 0 : text_pixels(series.value) + 12;
      widest = std::max(widest, kSwatch + text_pixels(series.label) + value);
    }
  }
  return std::min(widest, kMostLegend);
}

double legend_height(const Panel& panel) {
  double lines = panel.title.empty() ? 0 : 1;
  for (const Series& series : panel.series) lines += series.label.empty() ? 0 : 1;
  return lines * kLineHeight;
}

SvgLayout small_layout(const Chart& chart) {
  constexpr double kEdge = 3;
  SvgLayout layout{chart.width, chart.panels.empty() ? 0 : chart.panels[0].height};
  layout.panels.push_back({kEdge, kEdge, layout.width - kEdge, layout.height - kEdge});
  return layout;
}

}  // namespace

double text_pixels(std::string_view text) {
  return static_cast<double>(columns(text)) * kCharacterWidth;
}

std::string text_within(const std::string& text, double pixels) {
  const std::string shown = one_line(text);
  const auto most = static_cast<std::size_t>(std::max(1.0, pixels / kCharacterWidth));
  if (columns(shown) <= most) return shown;
  return shown.substr(0, bytes_of_first(shown, most - 1)) + "\u2026";
}

SvgLayout svg_layout(const Chart& chart) {
  if (chart.is_small) return small_layout(chart);
  SvgLayout layout{chart.width};
  const double legend = legend_pixels(chart);
  layout.legend_right = chart.width - kMargin;
  layout.legend_left = layout.legend_right - legend;
  const double right = legend > 0 ? layout.legend_left - 18 : chart.width - kMargin - 8;
  const double left = std::min(left_margin(chart), right - 50);
  double y = kMargin + (chart.title.empty() ? 6 : 26);
  for (const Panel& panel : chart.panels) {
    const double height = std::max(panel.height, legend_height(panel));
    layout.panels.push_back({left, y, right, y + height});
    y += height + kPanelDistance;
  }
  constexpr double kTicksAndTitle = 20;
  y += kTicksAndTitle;
  layout.key_top = y;
  if (!chart.stretch_key.empty()) y += kLineHeight + 4;
  layout.caption_top = y;
  const auto width =
      static_cast<std::size_t>((chart.width - 2 * kMargin) / (kCharacterWidth - 0.4));
  for (const std::string& paragraph : chart.caption) {
    for (std::string& line : wrapped_lines(one_line(paragraph), width)) {
      layout.caption.push_back(std::move(line));
    }
  }
  layout.height = y + static_cast<double>(layout.caption.size()) * (kLineHeight - 1) + 6;
  return layout;
}

}  // namespace aggregate_power
