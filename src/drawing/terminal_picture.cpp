// Lays out panels, marks, legend and caption as lines of text.
#include "drawing/terminal_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "base/text/utf8.h"
#include "base/text/wrap.h"
#include "drawing/dot_canvas.h"
#include "drawing/palette.h"

namespace aggregate_power {
namespace {

// ANSI colours near those of the palette.
constexpr std::array<int, kColours> kAnsi = {34, 33, 36, 32, 35, 31, 95, 93};
constexpr std::string_view kSigns = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kLeastColumns = 30;

class TerminalDrawing {
 public:
  TerminalDrawing(const Chart& chart, const TerminalOptions& options)
      : chart_(chart), options_(options) {
    for (const Panel& panel : chart.panels) {
      for (const Tick& tick : panel.y.ticks) {
        margin_ = std::max(margin_, columns(tick.label));
      }
    }
    const std::size_t width = std::max(options.columns, kLeastColumns);
    width_ = width;
    across_ = width - std::min(margin_ + 2, width / 2);
  }

  std::string draw() {
    if (!chart_.title.empty()) line(chart_.title);
    for (const Panel& panel : chart_.panels) draw_panel(panel);
    marks();
    time_ticks();
    for (const Panel& panel : chart_.panels) legend(panel);
    for (const std::string& paragraph : chart_.caption) {
      out_ += plain(wrapped(one_line(paragraph), "", 0, width_));
    }
    return std::move(out_);
  }

 private:
  // As the terminal can show it.
  std::string plain(const std::string& text) const {
    if (options_.is_utf8) return text;
    std::string ascii;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = first_character(rest).size;
      ascii += size == 1 ? rest[0] : '?';
      rest.remove_prefix(size);
    }
    return ascii;
  }

  void line(const std::string& text) { out_ += plain(one_line(text)) + "\n"; }

  static char letter_of(const Series& series) {
    return series.is_ink ? '*' : kSigns[series.style % kSigns.size()];
  }
  static int ansi_of(const Series& series) {
    return series.is_ink ? 0 : kAnsi[colour_number(series.style)];
  }

  void draw_panel(const Panel& panel) {
    DotCanvas canvas(across_, std::max<std::size_t>(options_.rows, 2), options_.is_utf8);
    edges(canvas);
    levels(panel, canvas);
    for (const Series& series : panel.series) draw_series(series, panel.y, canvas);
    line(panel.y.title);
    std::vector<std::string> labels(canvas.rows());
    for (const Tick& tick : panel.y.ticks) {
      const double share = panel.y.place(tick.at);
      if (share >= 0 && share <= 1) labels[canvas.row_of(share)] = tick.label;
    }
    for (std::size_t row = 0; row < canvas.rows(); ++row) {
      const bool is_tick = !labels[row].empty();
      const std::string_view axis =
          !options_.is_utf8 ? (is_tick ? "+" : "|") : (is_tick ? "┤" : "│");
      std::string drawn = canvas.row(row, options_.has_colour);
      drawn.erase(drawn.find_last_not_of(' ') + 1);
      out_ += fmt::format("{:>{}} {}{}\n", labels[row], margin_, axis, drawn);
    }
    std::string axis;
    for (std::size_t i = 0; i < across_; ++i) axis += options_.is_utf8 ? "─" : "-";
    out_ += fmt::format("{:>{}} {}{}\n", "", margin_, options_.is_utf8 ? "└" : "+", axis);
  }

  void draw_series(const Series& series, const Axis& y, DotCanvas& canvas) const {
    for (const Ribbon& ribbon : series.ribbons) {
      for (const RangeAt& at : ribbon) {
        for (const Polyline& part : placed_lines({{at.x, at.low}, {at.x, at.high}}, chart_.x, y)) {
          canvas.draw(part, ':', ansi_of(series));
        }
      }
    }
    for (const Polyline& each : series.lines) {
      for (const Polyline& part : placed_lines(each, chart_.x, y)) {
        canvas.draw(part, letter_of(series), ansi_of(series));
      }
    }
    for (const Dot& dot : series.dots) {
      for (const Polyline& part : placed_lines({dot.at}, chart_.x, y)) {
        canvas.draw(part, letter_of(series), ansi_of(series));
      }
    }
  }

  void edges(DotCanvas& canvas) const {
    for (const Stretch& stretch : chart_.stretches) {
      if (stretch.kind != Stretch::Kind::window) continue;
      for (const double edge : {stretch.from, stretch.to}) {
        const double share = chart_.x.place(edge);
        if (!(share >= 0 && share <= 1)) continue;
        for (std::size_t row = 0; row < canvas.rows(); ++row) {
          canvas.put_behind(canvas.column_of(share), row, "┊", ':');
        }
      }
    }
  }

  void levels(const Panel& panel, DotCanvas& canvas) const {
    for (const Level& level : panel.levels) {
      const double share = panel.y.place(level.y);
      if (!(share >= 0 && share <= 1)) continue;
      const std::size_t row = canvas.row_of(share);
      for (std::size_t column = 0; column < canvas.columns(); ++column) {
        canvas.put_behind(column, row, "╌", '.');
      }
      const std::string label = plain(one_line(level.label));
      const std::size_t length = columns(label);
      if (length + 2 < canvas.columns()) canvas.write(canvas.columns() - length, row, label);
    }
  }

  // A line in which each column says what happened there; what is worse hides what is better.
  void marks() {
    if (chart_.stretches.empty()) return;
    std::vector<std::string> signs(across_, " ");
    const DotCanvas places(across_, 1, true);
    for (const Stretch::Kind kind :
         {Stretch::Kind::window, Stretch::Kind::gap, Stretch::Kind::invalid}) {
      for (const Stretch& stretch : chart_.stretches) {
        const double from = chart_.x.place(stretch.from);
        const double to = chart_.x.place(stretch.to);
        if (stretch.kind != kind || !(to >= 0 && from <= 1)) continue;
        for (std::size_t i = places.column_of(from); i <= places.column_of(to); ++i) {
          signs[i] = sign_of(kind);
        }
      }
    }
    std::string all;
    for (const std::string& sign : signs) all += sign;
    all.erase(all.find_last_not_of(' ') + 1);
    out_ += fmt::format("{:>{}}  {}\n", "", margin_, all);
  }

  std::string_view sign_of(Stretch::Kind kind) const {
    if (kind == Stretch::Kind::window) return options_.is_utf8 ? "━" : "=";
    if (kind == Stretch::Kind::gap) return options_.is_utf8 ? "╱" : "/";
    return options_.is_utf8 ? "╳" : "x";
  }

  void time_ticks() {
    std::string labels;
    const DotCanvas places(across_, 1, true);
    for (const Tick& tick : chart_.x.ticks) {
      const double share = chart_.x.place(tick.at);
      if (!(share >= 0 && share <= 1)) continue;
      const std::size_t column = places.column_of(share);
      const std::size_t half = columns(tick.label) / 2;
      const std::size_t begin = column > half ? column - half : 0;
      const bool is_free = labels.empty() || begin > labels.size();
      if (!is_free || begin + tick.label.size() > across_) continue;
      labels.resize(begin, ' ');
      labels += tick.label;
    }
    out_ += fmt::format("{:>{}}  {}\n", "", margin_, labels);
    const std::string title = plain(one_line(chart_.x.title));
    const std::size_t half = (across_ - std::min(across_, columns(title))) / 2;
    out_ += fmt::format("{:>{}}  {:>{}}{}\n", "", margin_, "", half, title);
    std::string key;
    for (const auto& [kind, text] : chart_.stretch_key) {
      key += fmt::format("{}{} {}", key.empty() ? "" : "   ", sign_of(kind), one_line(text));
    }
    if (!key.empty()) out_ += plain(wrapped(key, "", 0, width_));
  }

  void legend(const Panel& panel) {
    std::size_t label_width = 0;
    std::size_t value_width = 0;
    for (const Series& series : panel.series) {
      label_width = std::max(label_width, columns(one_line(series.label)));
      value_width = std::max(value_width, columns(one_line(series.value)));
    }
    for (const Series& series : panel.series) {
      if (series.label.empty()) continue;
      const int colour = ansi_of(series);
      std::string swatch = options_.is_utf8 ? "──" : std::string(2, letter_of(series));
      if (options_.is_utf8 && !series.ribbons.empty()) swatch = "██";
      const bool is_drawn =
          !(series.lines.empty() && series.ribbons.empty() && series.dots.empty());
      if (!is_drawn) swatch = "  ";
      if (options_.has_colour && colour != 0)
        swatch = fmt::format("\x1B[{}m{}\x1B[0m", colour, swatch);
      const std::string label = plain(one_line(series.label));
      const std::string value = plain(one_line(series.value));
      const std::size_t blanks =
          series.value.empty() ? 0
                               : label_width - columns(label) + 2 + value_width - columns(value);
      out_ += fmt::format("{} {}{:>{}}{}\n", swatch, label, "", blanks, value);
    }
  }

  const Chart& chart_;
  const TerminalOptions& options_;
  std::size_t margin_ = 1;  // of the labels of the y axes
  std::size_t width_ = 0;
  std::size_t across_ = 0;  // columns between the axes
  std::string out_;
};

}  // namespace

std::string terminal_picture(const Chart& chart, const TerminalOptions& options) {
  return TerminalDrawing(chart, options).draw();
}

}  // namespace aggregate_power
