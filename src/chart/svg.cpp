// Writes the elements of a chart, from the back to the front.
#include "chart/svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

// Places labels one after the other: to the right of a point, else to the left, above, below or at
// a corner, where they hide neither a point nor an earlier label, and where no line strikes them
// through if there is such a place; where all is taken, to the right.
class DotLabels {
 public:
  explicit DotLabels(Box area) : area_(area) {}

  void add_dot(Point place, double radius);
  void add_line(const Polyline& pixels);
  struct Placed {
    double x = 0, y = 0;     // of the text's base line
    bool ends_here = false;  // x is its end, and not its beginning
  };
  Placed place(Point dot, double radius, const std::string& label);

 private:
  bool is_free(Box box) const;
  bool is_clear(Box box) const;  // of lines

  Box area_;
  std::vector<Box> taken_;
  std::vector<Point> lines_;  // a point every few pixels
};

constexpr double kTextHeight = 12;

bool do_overlap(Box a, Box b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

void DotLabels::add_dot(Point place, double radius) {
  taken_.push_back({place.x - radius, place.y - radius, place.x + radius, place.y + radius});
}

void DotLabels::add_line(const Polyline& pixels) {
  constexpr double kStep = 3;
  constexpr double kMostSteps = 1000;
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    const Point from = pixels[i - 1];
    const double dx = pixels[i].x - from.x;
    const double dy = pixels[i].y - from.y;
    const double steps = std::clamp(std::ceil(std::hypot(dx, dy) / kStep), 1.0, kMostSteps);
    for (double step = 0; step <= steps; ++step) {
      lines_.push_back({from.x + dx * step / steps, from.y + dy * step / steps});
    }
  }
}

bool DotLabels::is_clear(Box box) const {
  return std::ranges::none_of(lines_, [&](Point point) {
    return point.x > box.left && point.x < box.right && point.y > box.top && point.y < box.bottom;
  });
}

bool DotLabels::is_free(Box box) const {
  if (box.left < area_.left || box.right > area_.right || box.top < area_.top ||
      box.bottom > area_.bottom) {
    return false;
  }
  return std::ranges::none_of(taken_, [&](Box other) { return do_overlap(box, other); });
}

DotLabels::Placed DotLabels::place(Point dot, double radius, const std::string& label) {
  const double width = text_pixels(label);
  const double away = radius + 3;
  const auto box_at = [&](double left, double middle) {
    return Box{left, middle - kTextHeight / 2, left + width, middle + kTextHeight / 2};
  };
  const Box boxes[] = {box_at(dot.x + away, dot.y),
                       box_at(dot.x - away - width, dot.y),
                       box_at(dot.x - width / 2, dot.y - away - kTextHeight / 2),
                       box_at(dot.x - width / 2, dot.y + away + kTextHeight / 2),
                       box_at(dot.x + away, dot.y - away - kTextHeight / 2),
                       box_at(dot.x + away, dot.y + away + kTextHeight / 2)};
  const auto* free =
      std::ranges::find_if(boxes, [&](Box box) { return is_free(box) && is_clear(box); });
  if (free == std::end(boxes)) {
    free = std::ranges::find_if(boxes, [&](Box box) { return is_free(box); });
  }
  const Box box = free == std::end(boxes) ? boxes[0] : *free;
  taken_.push_back(box);
  const bool is_left = free == &boxes[1];
  return {is_left ? box.right : box.left, box.bottom - 2, is_left};
}

constexpr double kDotRadius = 3.5;
constexpr double kMarkedRadius = 6;

std::string svg_title(const std::string& text) {
  return text.empty() ? "" : fmt::format("<title>{}</title>", xml_text(one_line(text)));
}

std::string svg_words(double x, double y, std::string_view classes, const std::string& text,
                      std::string_view more = "") {
  const std::string name = classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", pixels_text(x), pixels_text(y),
                     name, more, xml_text(one_line(text)));
}

std::string svg_segment(Point from, Point to, std::string_view classes) {
  return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes, path_data({from, to}));
}

std::string svg_rectangle(Box box, std::string_view attributes, const std::string& tooltip = "") {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}>{}</rect>\n",
                     pixels_text(box.left), pixels_text(box.top), pixels_text(box.width()),
                     pixels_text(box.height()), attributes, svg_title(tooltip));
}

std::string stroke_of(const Series& series) {
  return series.is_ink ? "ink" : fmt::format("c{}", colour_number(series.style));
}

std::string area_of(const Series& series) {
  return series.is_ink ? "ink-area" : fmt::format("a{}", colour_number(series.style));
}

std::string dash_attribute(const Series& series) {
  const std::string_view dashes = series.is_ink ? "" : dashes_of(series.style);
  return dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes);
}

std::string tag_attribute(const std::string& tag) {
  return tag.empty() ? "" : fmt::format(" data-tag=\"{}\"", xml_text(one_line(tag)));
}

std::string tooltip_of(const Series& series) {
  if (!series.tooltip.empty()) return series.tooltip;
  return series.value.empty() ? series.label : fmt::format("{}: {}", series.label, series.value);
}

// Draws one chart.
class SvgDrawing {
 public:
  SvgDrawing(const Chart& chart, const SvgOptions& options)
      : chart_(chart), options_(options), layout_(svg_layout(chart)) {}

  std::string draw() {
    head();
    for (std::size_t i = 0; i < layout_.panels.size() && i < chart_.panels.size(); ++i) {
      const Panel& panel = chart_.panels[i];
      const Box area = layout_.panels[i];
      if (!chart_.is_small) grid(panel, area);
      stretches(area);
      out_ += fmt::format("<g clip-path=\"url(#{}-area{})\">\n", options_.id, i);
      for (const Series& series : panel.series) lines(series, panel.y, area);
      out_ += "</g>\n";
      dots(panel, area);
      if (chart_.is_small) continue;
      levels(panel, area);
      frame(panel, area);
      legend(panel, area);
    }
    if (!chart_.is_small) foot();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  void head() {
    const std::string& id = options_.id;
    out_ += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" id=\"{0}\" width=\"{1}\" "
        "height=\"{2}\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-title "
        "{0}-desc\">\n<title id=\"{0}-title\">{3}</title>\n<desc id=\"{0}-desc\">{4}</desc>\n",
        id, pixels_text(layout_.width), pixels_text(layout_.height),
        xml_text(one_line(chart_.title)), xml_text(one_line(chart_.description)));
    if (options_.has_style) out_ += fmt::format("<style>\n{}</style>\n", svg_style());
    out_ += "<defs>\n";
    for (std::size_t i = 0; i < layout_.panels.size(); ++i) {
      Box area = layout_.panels[i];
      if (chart_.is_small) area = {0, 0, layout_.width, layout_.height};
      out_ +=
          fmt::format("<clipPath id=\"{}-area{}\">{}</clipPath>\n", id, i, svg_rectangle(area, ""));
    }
    hatch("gap", "M0 6L6 0");
    hatch("invalid", "M0 0L6 6M0 6L6 0");
    out_ += "</defs>\n";
    if (chart_.is_small) return;
    out_ += svg_rectangle({0, 0, layout_.width, layout_.height}, "class=\"ground\"");
    if (!chart_.title.empty()) {
      const std::string title = text_within(chart_.title, (layout_.width - 24) * 0.8);
      out_ += svg_words(12, 24, "title", title);
    }
  }

  bool has(Stretch::Kind kind) const {
    return std::ranges::find(chart_.stretches, kind, &Stretch::kind) != chart_.stretches.end();
  }

  void hatch(std::string_view name, std::string_view data) {
    if (!has(name == "gap" ? Stretch::Kind::gap : Stretch::Kind::invalid)) return;
    out_ += fmt::format(
        "<pattern id=\"{}-{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<path class=\"{} hair\" d=\"{}\"/></pattern>\n",
        options_.id, name, name, data);
  }

  std::string fill_of(Stretch::Kind kind) const {
    if (kind == Stretch::Kind::window) return "class=\"window\"";
    return fmt::format("fill=\"url(#{}-{})\"", options_.id,
                       kind == Stretch::Kind::gap ? "gap" : "invalid");
  }

  void grid(const Panel& panel, Box area) {
    for (const Tick& tick : panel.y.ticks) {
      const double share = panel.y.place(tick.at);
      out_ += svg_segment(area.at({0, share}), area.at({1, share}), "grid hair");
      out_ += svg_words(area.left - 7, area.at({0, share}).y + 4, "muted number", tick.label,
                        " text-anchor=\"end\"");
    }
    for (const Tick& tick : chart_.x.ticks) {
      const double share = chart_.x.place(tick.at);
      out_ += svg_segment(area.at({share, 0}), area.at({share, 1}), "grid hair");
    }
  }

  void stretches(Box area) {
    for (const Stretch& stretch : chart_.stretches) {
      const double from = chart_.x.place(stretch.from);
      const double to = chart_.x.place(stretch.to);
      if (!(to >= 0 && from <= 1)) continue;
      Box box = area;
      box.left = area.at({std::clamp(from, 0.0, 1.0), 0}).x;
      box.right = std::max(area.at({std::clamp(to, 0.0, 1.0), 0}).x, box.left + 1);
      out_ += svg_rectangle(box, fill_of(stretch.kind), stretch.label);
      if (stretch.kind != Stretch::Kind::window) continue;
      for (const double edge : {from, to}) {
        if (edge < 0 || edge > 1) continue;
        out_ += svg_segment(area.at({edge, 0}), area.at({edge, 1}), "window-edge");
      }
    }
  }

  void lines(const Series& series, const Axis& y, Box area) {
    for (const Ribbon& ribbon : series.ribbons) {
      Polyline outline;
      for (const RangeAt& at : ribbon) outline.push_back({at.x, at.high});
      for (auto at = ribbon.rbegin(); at != ribbon.rend(); ++at) {
        outline.push_back({at->x, at->low});
      }
      for (const Polyline& part : placed_lines(outline, chart_.x, y)) {
        out_ += fmt::format("<path class=\"ribbon {}\" d=\"{}z\">{}</path>\n", area_of(series),
                            path_data(in_pixels(part, area)), svg_title(tooltip_of(series)));
      }
    }
    std::string data;
    std::string alone;  // points that no line leads to
    for (const Polyline& line : series.lines) {
      for (const Polyline& part : placed_lines(line, chart_.x, y)) {
        (part.size() == 1 ? alone : data) += path_data(in_pixels(part, area));
      }
    }
    const std::string title = svg_title(tooltip_of(series));
    if (!data.empty()) {
      out_ += fmt::format("<path class=\"line {}{}\"{}{} d=\"{}\">{}</path>\n", stroke_of(series),
                          series.is_ink ? " strong" : "", dash_attribute(series),
                          tag_attribute(series.tag), data, title);
    }
    if (!alone.empty()) {
      out_ += fmt::format("<path class=\"line alone {}\"{} d=\"{}\">{}</path>\n", stroke_of(series),
                          tag_attribute(series.tag), alone, title);
    }
  }

  static Polyline in_pixels(const Polyline& places, Box area) {
    Polyline pixels;
    for (const Point place : places) pixels.push_back(area.at(place));
    return pixels;
  }

  std::optional<Point> dot_place(const Dot& dot, const Axis& y, Box area) const {
    const auto placed = placed_lines({dot.at}, chart_.x, y);
    if (placed.empty()) return std::nullopt;
    return area.at(placed[0][0]);
  }

  void dots(const Panel& panel, Box area) {
    DotLabels labels(area);
    for (const Series& series : panel.series) {
      add_lines(series, panel.y, area, labels);
      for (const Dot& dot : series.dots) {
        const auto place = dot_place(dot, panel.y, area);
        if (place) labels.add_dot(*place, kDotRadius);
      }
    }
    for (const Series& series : panel.series) {
      for (const Dot& dot : series.dots) {
        const auto place = dot_place(dot, panel.y, area);
        if (place) draw_dot(series, dot, *place, panel.y, area, labels);
        if (!place && !dot.tag.empty()) hidden_dot(series, dot);
      }
    }
  }

  // Lines and bars that a label is not to hide behind.
  void add_lines(const Series& series, const Axis& y, Box area, DotLabels& labels) const {
    std::vector<Polyline> lines = series.lines;
    for (const Dot& dot : series.dots) {
      if (dot.label.empty() || !dot.y_error) continue;
      lines.push_back({{dot.at.x, dot.y_error->low}, {dot.at.x, dot.y_error->high}});
    }
    for (const Polyline& line : lines) {
      for (const Polyline& part : placed_lines(line, chart_.x, y)) {
        labels.add_line(in_pixels(part, area));
      }
    }
  }

  // For a script that places it.
  void hidden_dot(const Series& series, const Dot& dot) {
    out_ += fmt::format(
        "<g class=\"none\"{}><title/><circle class=\"{}\" cx=\"0\" cy=\"0\" r=\"{}\"/></g>\n",
        tag_attribute(dot.tag), area_of(series), kDotRadius);
  }

  void draw_dot(const Series& series, const Dot& dot, Point place, const Axis& y, Box area,
                DotLabels& labels) {
    out_ += fmt::format("<g{}>{}\n", tag_attribute(dot.tag),
                        svg_title(dot.tooltip.empty() ? dot.label : dot.tooltip));
    error_bars(series, dot, place, y, area);
    out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", area_of(series),
                        pixels_text(place.x), pixels_text(place.y), kDotRadius);
    const double radius = dot.is_marked ? kMarkedRadius : kDotRadius;
    if (dot.is_marked) {
      out_ += fmt::format(
          "<circle class=\"ink\" fill=\"none\" stroke-width=\"1.5\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n",
          pixels_text(place.x), pixels_text(place.y), kMarkedRadius);
    }
    if (!dot.label.empty() && !chart_.is_small) {
      const DotLabels::Placed at = labels.place(place, radius, one_line(dot.label));
      out_ += svg_words(at.x, at.y, "small halo", dot.label,
                        at.ends_here ? " text-anchor=\"end\"" : "");
    }
    out_ += "</g>\n";
  }

  void error_bars(const Series& series, const Dot& dot, Point place, const Axis& y, Box area) {
    const auto bar = [&](Point from, Point to, Point cap) {
      std::string data = path_data({from, to});
      for (const Point end : {from, to}) {
        data += path_data({{end.x - cap.x, end.y - cap.y}, {end.x + cap.x, end.y + cap.y}});
      }
      out_ += fmt::format("<path class=\"hair {}\" d=\"{}\"/>\n", stroke_of(series), data);
    };
    const auto limited = [](double share) {
      return std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
    };
    constexpr double kCap = 3;
    if (dot.y_error) {
      bar({place.x, area.at({0, limited(y.place(dot.y_error->low))}).y},
          {place.x, area.at({0, limited(y.place(dot.y_error->high))}).y}, {kCap, 0});
    }
    if (dot.x_error) {
      bar({area.at({limited(chart_.x.place(dot.x_error->low)), 0}).x, place.y},
          {area.at({limited(chart_.x.place(dot.x_error->high)), 0}).x, place.y}, {0, kCap});
    }
  }

  void levels(const Panel& panel, Box area) {
    for (const Level& level : panel.levels) {
      const double share = panel.y.place(level.y);
      if (!(share >= 0 && share <= 1)) continue;
      const bool is_limit = level.kind == Level::Kind::limit;
      const double y = area.at({0, share}).y;
      out_ += svg_segment(area.at({0, share}), area.at({1, share}), is_limit ? "limit" : "idle");
      const bool has_room_above = y - area.top > kLineHeight;
      out_ += svg_words(area.right - 4, has_room_above ? y - 4 : y + 13, "small halo",
                        text_within(level.label, area.width()), " text-anchor=\"end\"");
    }
  }

  void frame(const Panel& panel, Box area) {
    out_ += fmt::format(
        "<path class=\"axis hair\" d=\"{}\"/>\n",
        path_data({{area.left, area.top}, {area.left, area.bottom}, {area.right, area.bottom}}));
    const double middle = (area.top + area.bottom) / 2;
    out_ += svg_words(22, middle, "", text_within(panel.y.title, area.height() + 20),
                      fmt::format(" text-anchor=\"middle\" transform=\"rotate(-90 22 {})\"",
                                  pixels_text(middle)));
  }

  void legend(const Panel& panel, Box area) {
    double y = area.top + 10;
    const double left = layout_.legend_left;
    const double right = layout_.legend_right;
    if (left >= right) return;
    if (!panel.title.empty()) {
      out_ += svg_words(left, y, "head", text_within(panel.title, right - left));
      y += kLineHeight;
    }
    for (const Series& series : panel.series) {
      if (series.label.empty()) continue;
      out_ += fmt::format("<g>{}\n", svg_title(tooltip_of(series)));
      swatch(series, {left, y - 8, left + 22, y});
      const double value = series.value.empty() ? 0 : text_pixels(series.value) + 12;
      out_ += svg_words(left + 28, y, "", text_within(series.label, right - left - 28 - value));
      if (!series.value.empty()) {
        out_ += svg_words(right, y, "number", series.value, " text-anchor=\"end\"");
      }
      out_ += "</g>\n";
      y += kLineHeight;
    }
  }

  void swatch(const Series& series, Box box) {
    const double middle = (box.top + box.bottom) / 2;
    if (!series.ribbons.empty()) {
      out_ += svg_rectangle(box, fmt::format("class=\"ribbon {}\"", area_of(series)));
    }
    if (!series.lines.empty()) {
      out_ += fmt::format("<path class=\"line {}{}\"{} d=\"{}\"/>\n", stroke_of(series),
                          series.is_ink ? " strong" : "", dash_attribute(series),
                          path_data({{box.left, middle}, {box.right, middle}}));
    }
    if (!series.dots.empty()) {
      out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", area_of(series),
                          pixels_text((box.left + box.right) / 2), pixels_text(middle), kDotRadius);
    }
  }

  void foot() {
    if (!layout_.panels.empty()) {
      const Box area = layout_.panels.back();
      for (const Tick& tick : chart_.x.ticks) {
        out_ += svg_words(area.at({chart_.x.place(tick.at), 0}).x, area.bottom + 16, "muted number",
                          tick.label, " text-anchor=\"middle\"");
      }
      out_ += svg_words((area.left + area.right) / 2, area.bottom + 33, "",
                        text_within(chart_.x.title, area.width()), " text-anchor=\"middle\"");
    }
    double x = layout_.panels.empty() ? 12 : layout_.panels.back().left;
    for (const auto& [kind, text] : chart_.stretch_key) {
      const double y = layout_.key_top + 14;
      out_ += svg_rectangle({x, y - 9, x + 16, y + 1}, fill_of(kind));
      out_ += svg_words(x + 22, y, "small", text);
      x += 22 + text_pixels(text) + 16;
    }
    double y = layout_.caption_top + 14;
    for (const std::string& line : layout_.caption) {
      out_ += svg_words(12, y, "small muted", line);
      y += kLineHeight - 1;
    }
  }

  const Chart& chart_;
  const SvgOptions& options_;
  SvgLayout layout_;
  std::string out_;
};

}  // namespace

std::string svg(const Chart& chart, const SvgOptions& options) {
  return SvgDrawing(chart, options).draw();
}

// ---- Finds room for the axes, the legend and the caption.

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

// ---- Writes numbers in tenths of a pixel, and escapes text.

namespace {

std::int64_t tenths_of(double pixels) {
  if (std::isnan(pixels)) return 0;
  constexpr double kFar = 1e6;  // beyond any page
  return std::llround(std::clamp(pixels, -kFar, kFar) * 10);
}

std::string tenths_text(std::int64_t tenths) {
  const std::int64_t size = std::abs(tenths);
  std::string text = tenths < 0 ? "-" : "";
  if (size >= 10 || size == 0) text += fmt::format("{}", size / 10);
  if (size % 10 != 0) text += fmt::format(".{}", size % 10);
  return text;
}

bool is_in_xml(char32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code <= 0xD7FF) ||
         (code >= 0xE000 && code <= 0xFFFD) || code >= 0x10000;
}

// The colours of what is not a series.
struct Theme {
  std::string_view ground, ink, muted, grid, axis, window, gap, invalid, limit, idle;
};
constexpr Theme kLight = {"#ffffff", "#1f2328", "#57606a", "#e4e7eb", "#8c959f",
                          "#2f6fb5", "#6e7781", "#b3261e", "#b3261e", "#57606a"};
constexpr Theme kDark = {"#16181d", "#e6e8eb", "#a0a8b2", "#2c3138", "#6b7480",
                         "#79b8ff", "#9aa3ad", "#ff8a80", "#ff8a80", "#a0a8b2"};

std::string rules_of(const Theme& theme, std::string_view Colour::*ground) {
  std::string rules = fmt::format(
      ".chart .ground{{fill:{}}}.chart text{{fill:{}}}.chart .muted{{fill:{}}}"
      ".chart .grid{{stroke:{}}}.chart .axis{{stroke:{}}}"
      ".chart .halo{{stroke:{}}}.chart .ink{{stroke:{}}}.chart .ink-area{{fill:{}}}"
      ".chart .window{{fill:{}}}.chart .window-edge{{stroke:{}}}.chart .gap{{stroke:{}}}"
      ".chart .invalid{{stroke:{}}}.chart .limit{{stroke:{}}}.chart .idle{{stroke:{}}}\n",
      theme.ground, theme.ink, theme.muted, theme.grid, theme.axis, theme.ground, theme.ink,
      theme.ink, theme.window, theme.window, theme.gap, theme.invalid, theme.limit, theme.idle);
  for (std::size_t i = 0; i < kColours; ++i) {
    const std::string_view colour = colour_of(i).*ground;
    rules += fmt::format(".chart .c{}{{stroke:{}}}.chart .a{}{{fill:{}}}", i, colour, i, colour);
  }
  return rules + "\n";
}

}  // namespace

std::string pixels_text(double pixels) { return tenths_text(tenths_of(pixels)); }

std::string path_data(const Polyline& pixels) {
  if (pixels.empty()) return {};
  std::int64_t x = tenths_of(pixels[0].x);
  std::int64_t y = tenths_of(pixels[0].y);
  std::string data = fmt::format("M{} {}", tenths_text(x), tenths_text(y));
  if (pixels.size() == 1) return data + "h0";
  bool is_first = true;
  for (std::size_t i = 1; i < pixels.size(); ++i) {
    const std::int64_t next_x = tenths_of(pixels[i].x);
    const std::int64_t next_y = tenths_of(pixels[i].y);
    if (next_x == x && next_y == y && !(is_first && i + 1 == pixels.size())) continue;
    const std::string dx = tenths_text(next_x - x);
    const std::string dy = tenths_text(next_y - y);
    data += is_first ? "l" : dx.starts_with('-') ? "" : " ";
    data += dx;
    if (!dy.starts_with('-')) data += ' ';
    data += dy;
    x = next_x;
    y = next_y;
    is_first = false;
  }
  return data;
}

std::string xml_text(std::string_view bytes) {
  static constexpr std::pair<char32_t, std::string_view> kEntities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string text;
  const std::string valid = replace_invalid_utf8(bytes);
  std::string_view rest = valid;
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const char32_t code = character.code.value_or(0);
    const auto* const entity =
        std::ranges::find(kEntities, code, [](const auto& known) { return known.first; });
    if (entity != std::end(kEntities)) {
      text += entity->second;
    } else {
      text += is_in_xml(code) ? rest.substr(0, character.size) : "\uFFFD";
    }
    rest.remove_prefix(character.size);
  }
  return text;
}

std::string svg_style() {
  return ".chart{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,"
         "sans-serif}\n"
         ".chart .title{font-size:15px;font-weight:600}.chart .head{font-weight:600}"
         ".chart .small{font-size:11px}.chart .number{font-variant-numeric:tabular-nums}"
         ".chart .halo{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}\n"
         ".chart .line{fill:none;stroke-width:1.2px;stroke-linejoin:round;stroke-linecap:round}"
         ".chart .strong{stroke-width:1.6px}.chart .alone{stroke-width:4px}.chart .hair{fill:none;stroke-width:1px}"
         ".chart .gap,.chart .invalid{stroke-opacity:.55}"
         ".chart .ribbon{stroke:none;fill-opacity:.18}.chart .window{fill-opacity:.09}"
         ".chart .limit,.chart .idle{fill:none;stroke-width:1px;stroke-dasharray:5 3}"
         ".chart .idle{stroke-dasharray:2 3}"
         ".chart .window-edge{fill:none;stroke-width:1px;stroke-dasharray:4 3}\n" +
         rules_of(kLight, &Colour::light) + "@media screen and (prefers-color-scheme:dark){\n" +
         rules_of(kDark, &Colour::dark) + "}\n";
}

}  // namespace aggregate_power
