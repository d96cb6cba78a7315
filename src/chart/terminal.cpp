// Lays out panels, marks, legend and caption as lines of text.
#include "chart/terminal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

// Each character is two by four braille dots, or one sign in ASCII.
class DotCanvas {
 public:
  DotCanvas(std::size_t columns, std::size_t rows, bool is_utf8);

  // Places are shares of the field, from 0 at the lower left; what is outside is left out.
  // `colour`: 0 for none, else an ANSI colour.
  void draw(const Polyline& places, char sign, int colour);
  // A sign for where nothing is drawn.
  void put_behind(std::size_t column, std::size_t row, const char* utf8, char ascii);
  // Text in a row, over all else.
  void write(std::size_t column, std::size_t row, const std::string& text);

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return rows_; }
  std::size_t column_of(double share) const;
  std::size_t row_of(double share) const;
  // From the top.
  std::string row(std::size_t row, bool has_colour) const;

 private:
  struct Cell {
    std::uint8_t dots = 0;
    char sign = 0;
    int colour = 0;
    std::string text;  // of what is behind or over it
    bool is_over = false;
  };
  Cell& cell(std::size_t column, std::size_t row) { return cells_[row * columns_ + column]; }
  void dot(double x, double y, char sign, int colour);
  void segment(Point from, Point to, char sign, int colour);

  std::size_t columns_;
  std::size_t rows_;
  bool is_utf8_;
  std::vector<Cell> cells_;
};

constexpr std::size_t kDotsAcross = 2;
constexpr std::size_t kDotsDown = 4;
// The bits of the braille block, U+2800, by column and row of the cell.
constexpr std::uint8_t kBits[kDotsAcross][kDotsDown] = {{0x01, 0x02, 0x04, 0x40},
                                                        {0x08, 0x10, 0x20, 0x80}};

std::string braille(std::uint8_t dots) {
  const unsigned code = 0x2800U + dots;
  return {static_cast<char>(0xE0U | code >> 12U), static_cast<char>(0x80U | (code >> 6U & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

std::size_t index_of(double share, std::size_t count) {
  const double index = std::floor(share * static_cast<double>(count));
  return static_cast<std::size_t>(std::clamp(index, 0.0, static_cast<double>(count - 1)));
}

DotCanvas::DotCanvas(std::size_t columns, std::size_t rows, bool is_utf8)
    : columns_(columns), rows_(rows), is_utf8_(is_utf8), cells_(columns * rows) {}

std::size_t DotCanvas::column_of(double share) const { return index_of(share, columns_); }

std::size_t DotCanvas::row_of(double share) const { return rows_ - 1 - index_of(share, rows_); }

// In dots from the lower left, as real numbers.
void DotCanvas::dot(double x, double y, char sign, int colour) {
  const auto across = static_cast<double>(columns_ * kDotsAcross);
  const auto down = static_cast<double>(rows_ * kDotsDown);
  if (!(x >= 0 && x <= across && y >= 0 && y <= down)) return;
  const auto column = static_cast<std::size_t>(std::min(x, across - 1));
  const auto row = static_cast<std::size_t>(down - 1 - std::min(std::floor(y), down - 1));
  Cell& at = cell(column / kDotsAcross, row / kDotsDown);
  at.dots |= kBits[column % kDotsAcross][row % kDotsDown];
  at.sign = sign;
  at.colour = colour;
}

void DotCanvas::segment(Point from, Point to, char sign, int colour) {
  const double steps = std::ceil(std::max(std::abs(to.x - from.x), std::abs(to.y - from.y)));
  const double most = static_cast<double>((columns_ * kDotsAcross + rows_ * kDotsDown) * 4);
  const double count = std::clamp(steps, 1.0, most);
  for (double i = 0; i <= count; ++i) {
    const double share = i / count;
    dot(from.x + share * (to.x - from.x), from.y + share * (to.y - from.y), sign, colour);
  }
}

void DotCanvas::draw(const Polyline& places, char sign, int colour) {
  const auto in_dots = [&](Point place) {
    return Point{place.x * static_cast<double>(columns_ * kDotsAcross),
                 place.y * static_cast<double>(rows_ * kDotsDown)};
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    segment(in_dots(places[i == 0 ? 0 : i - 1]), in_dots(places[i]), sign, colour);
  }
}

void DotCanvas::put_behind(std::size_t column, std::size_t row, const char* utf8, char ascii) {
  if (column >= columns_ || row >= rows_) return;
  cell(column, row).text = is_utf8_ ? std::string(utf8) : std::string(1, ascii);
}

void DotCanvas::write(std::size_t column, std::size_t row, const std::string& text) {
  std::string_view rest = text;
  for (; !rest.empty() && column < columns_ && row < rows_; ++column) {
    const std::size_t size = first_character(rest).size;
    Cell& at = cell(column, row);
    at.text = rest.substr(0, size);
    at.is_over = true;
    rest.remove_prefix(size);
  }
}

std::string DotCanvas::row(std::size_t row, bool has_colour) const {
  std::string line;
  for (std::size_t column = 0; column < columns_; ++column) {
    const Cell& at = cells_[row * columns_ + column];
    if (at.is_over || at.dots == 0) {
      line += at.text.empty() ? " " : at.text;
      continue;
    }
    const std::string sign = is_utf8_ ? braille(at.dots) : std::string(1, at.sign);
    line += has_colour && at.colour != 0 ? fmt::format("\x1B[{}m{}\x1B[0m", at.colour, sign) : sign;
  }
  return line;
}

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
