// Chooses what is drawn, and words it.
#include "runs/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/metric.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "chart/curve.h"
#include "core/telemetry/device_names.h"
#include "runs/measure/measure_report.h"

namespace aggregate_power {
namespace {

constexpr int kEnergyDecimals = 3;  // as the aggregate's
constexpr double kJoulesInKilowattHour = 3.6e6;
constexpr std::size_t kColumnsOfRange = 300;
// A window farther away than that many times the recording is named and not drawn.
constexpr double kMostStretched = 4;

std::string joules_text(double joules) {
  return fmt::format("{:.{}f} J", rounded(joules, kEnergyDecimals), kEnergyDecimals);
}

std::string watts_text(double watts) { return fmt::format("{} W", rounded(watts, 1)); }

std::string count_text(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Times and shapes of all recordings.
struct PictureSpan {
  double first_unix_s = std::numeric_limits<double>::infinity();
  double last_unix_s = -std::numeric_limits<double>::infinity();
  bool is_empty() const { return !(first_unix_s <= last_unix_s); }
};

PictureSpan extent_of_picture(const PowerPicture& picture) {
  PictureSpan extent;
  for (const PicturedRecording& recording : picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      extent.first_unix_s = std::min(extent.first_unix_s, device.first_unix_s);
      extent.last_unix_s = std::max(extent.last_unix_s, device.last_unix_s);
    }
  }
  return extent;
}

std::vector<Polyline> since(double start_s, std::vector<Polyline> lines) {
  for (Polyline& line : lines) {
    for (Point& point : line) point.x -= start_s;
  }
  return lines;
}

double highest_of(const Panel& panel) {
  double highest = 0;
  for (const Series& series : panel.series) {
    for (const Polyline& line : series.lines) {
      for (const Point& point : line) highest = std::max(highest, point.y);
    }
    for (const Ribbon& ribbon : series.ribbons) {
      for (const RangeAt& at : ribbon) highest = std::max(highest, at.high);
    }
  }
  for (const Level& level : panel.levels) highest = std::max(highest, level.y);
  return highest;
}

// Builds one chart.
class PictureChart {
 public:
  explicit PictureChart(const PowerPicture& picture)
      : picture_(picture),
        extent_(extent_of_picture(picture)),
        start_s_(picture.start_unix_s()),
        gpus_(picture.gpus()) {}

  Chart build() {
    chart_.title = title();
    set_time();
    if (gpus_ > 1) chart_.panels.push_back(sum_panel());
    chart_.panels.push_back(gpus_ > kMostLines ? range_panel() : gpu_panel());
    if (has_all_times()) {
      std::ranges::move(load_panels(picture_), std::back_inserter(chart_.panels));
    }
    for (Panel& panel : chart_.panels) {
      const double highest = highest_of(panel);
      const std::size_t most_ticks = panel.height > kLoadPanelHeight ? 6 : 3;
      panel.y = linear_axis(std::move(panel.y.title), 0, highest > 0 ? highest : 1, most_ticks);
    }
    mark_stretches();
    chart_.description = description();
    add_caption();
    return std::move(chart_);
  }

 private:
  std::string source_names() const {
    std::vector<std::string> names;
    for (const PicturedRecording& recording : picture_.recordings) {
      names.push_back(printable_path(recording.path));
    }
    constexpr std::size_t kMostNames = 4;
    if (names.size() <= kMostNames) return fmt::format("{}", fmt::join(names, ", "));
    return fmt::format("{} and {} more", names[0], names.size() - 1);
  }

  std::string title() const {
    const std::string of =
        picture_.result.empty() ? source_names() : printable_path(picture_.result);
    return fmt::format("Power of {}: {}", count_text(gpus_, "GPU"), of);
  }

  // The part of the window that the axis can show beside the recording.
  bool shows_window() const {
    if (!picture_.window || extent_.is_empty() || !has_all_times()) return false;
    const double span_s = std::max(extent_.last_unix_s - extent_.first_unix_s, 1.0);
    return picture_.window->end_unix_s <= extent_.last_unix_s + kMostStretched * span_s &&
           picture_.window->start_unix_s >= extent_.first_unix_s - kMostStretched * span_s;
  }

  bool has_all_times() const {
    return std::ranges::all_of(picture_.recordings, &PicturedRecording::has_times) ||
           (picture_.window && picture_.window->start_unix_s < kFirstAbsoluteUnixS);
  }

  void set_time() {
    double low_s = 0;
    double high_s = extent_.is_empty() ? 1 : extent_.last_unix_s - start_s_;
    if (shows_window()) {
      low_s = std::min(low_s, picture_.window->start_unix_s - start_s_);
      high_s = std::max(high_s, picture_.window->end_unix_s - start_s_);
    }
    constexpr double kEdge = 0.008;  // so that nothing is hidden by the frame
    const double edge_s = std::max(high_s - low_s, 0.1) * kEdge;
    low_s -= edge_s;
    high_s += edge_s;
    constexpr std::size_t kMostTicks = 10;
    const std::string_view what =
        picture_.window ? "time since the recording's start" : "time since the start";
    chart_.x = time_axis(what, low_s, high_s, kMostTicks);
  }

  std::string energy_title() const {
    if (!picture_.is_valid()) return "no energy: not valid";
    if (!picture_.total_j) return "power";
    return picture_.window ? "energy in the window" : "energy of the recording";
  }

  Panel sum_panel() const {
    Panel panel{energy_title(), {.title = "power together (W)"}};
    const bool is_one = picture_.recordings.size() == 1;
    for (std::size_t i = 0; i < picture_.recordings.size(); ++i) {
      const PicturedRecording& recording = picture_.recordings[i];
      Series series;
      series.is_ink = is_one;
      series.style = i;
      series.lines = since(start_s_, recording.curves.sum);
      const std::string count = count_text(recording.curves.devices.size(), "GPU");
      series.label = is_one ? fmt::format("sum of {}", count)
                            : fmt::format("{}, {}", plain_stem(recording.path), count);
      if (is_one && picture_.total_j) series.value = joules_text(*picture_.total_j);
      panel.series.push_back(std::move(series));
    }
    if (!is_one && picture_.total_j) {
      panel.series.push_back(
          {.label = "all together", .value = joules_text(*picture_.total_j), .is_ink = true});
    }
    constexpr double kHeight = 190;
    panel.height = kHeight;
    if (is_one && picture_.idle) {
      panel.levels.push_back({Level::Kind::idle, picture_.idle->total.watts,
                              "idle " + watts_text(picture_.idle->total.watts)});
    }
    if (const auto limit_w = limit_together(); limit_w && is_one) {
      panel.levels.push_back(
          {Level::Kind::limit, *limit_w, fmt::format("limits together {}", watts_text(*limit_w))});
    }
    return panel;
  }

  Panel gpu_panel() const {
    Panel panel{gpus_ > 1 ? "" : energy_title(), {.title = "power of each GPU (W)"}};
    std::size_t style = 0;
    for (std::size_t i = 0; i < picture_.recordings.size(); ++i) {
      for (const DeviceCurve* const device : sorted_devices(i)) {
        panel.series.push_back(gpu_series(i, *device));
        panel.series.back().style = style++;
      }
    }
    if (panel.series.size() == 1) panel.y.title = "power (W)";
    add_levels(panel);
    return panel;
  }

  Series gpu_series(std::size_t recording, const DeviceCurve& device) const {
    Series series;
    series.label = gpu_label(picture_, recording, device.name);
    series.lines = since(start_s_, device.lines);
    const auto energy = picture_.energies_j.find({recording, device.name});
    if (energy != picture_.energies_j.end()) series.value = joules_text(energy->second);
    series.tooltip = fmt::format("{}: {}at most {}, n = {} samples", series.label,
                                 series.value.empty() ? "" : series.value + ", ",
                                 watts_text(device.highest_w), device.samples);
    return series;
  }

  std::vector<const DeviceCurve*> sorted_devices(std::size_t recording) const {
    std::vector<const DeviceCurve*> devices;
    for (const DeviceCurve& device : picture_.recordings[recording].curves.devices) {
      devices.push_back(&device);
    }
    std::ranges::stable_sort(devices, [](const DeviceCurve* a, const DeviceCurve* b) {
      return device_name_less(a->name, b->name);
    });
    return devices;
  }

  Panel range_panel() const {
    Panel panel{"", {.title = "power of a GPU (W)"}};
    std::vector<Polyline> all;
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const DeviceCurve& device : recording.curves.devices) {
        for (Polyline& line : since(start_s_, device.lines)) all.push_back(std::move(line));
      }
    }
    panel.series.push_back({.label = fmt::format("lowest to highest of {}", gpus_),
                            .style = 0,
                            .ribbons = envelope(all, kColumnsOfRange)});
    const bool is_one = picture_.recordings.size() == 1;
    for (std::size_t i = 0; i < picture_.recordings.size(); ++i) {
      const PicturedRecording& recording = picture_.recordings[i];
      const auto count = static_cast<double>(recording.curves.devices.size());
      Series mean;
      mean.label = is_one ? "mean" : fmt::format("mean of {}", plain_stem(recording.path));
      mean.is_ink = is_one;
      mean.style = i;
      mean.lines = since(start_s_, recording.curves.sum);
      for (Polyline& line : mean.lines) {
        for (Point& point : line) point.y /= count;
      }
      if (is_one && picture_.total_j) mean.value = joules_text(*picture_.total_j / count);
      panel.series.push_back(std::move(mean));
    }
    add_levels(panel);
    return panel;
  }

  // Each limit once, and the idle power of a GPU.
  void add_levels(Panel& panel) const {
    std::set<double> limits_w;
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const DeviceCurve& device : recording.curves.devices) {
        limits_w.insert(device.limits_w.begin(), device.limits_w.end());
      }
    }
    constexpr std::size_t kFewLimits = 4;
    if (limits_w.size() > kFewLimits) limits_w = {*limits_w.begin(), *limits_w.rbegin()};
    for (const double limit_w : limits_w) {
      panel.levels.push_back({Level::Kind::limit, limit_w, "limit " + watts_text(limit_w)});
    }
    if (!picture_.idle || picture_.idle->gpus.empty()) return;
    double sum_w = 0;
    for (const auto& [gpu, power] : picture_.idle->gpus) sum_w += power.watts;
    const double mean_w = sum_w / static_cast<double>(picture_.idle->gpus.size());
    panel.levels.push_back(
        {Level::Kind::idle, mean_w,
         fmt::format("idle {}{}", watts_text(mean_w), gpus_ > 1 ? " (mean)" : "")});
  }

  // If each GPU has one limit.
  std::optional<double> limit_together() const {
    double sum_w = 0;
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const DeviceCurve& device : recording.curves.devices) {
        if (device.limits_w.size() != 1) return std::nullopt;
        sum_w += device.limits_w[0];
      }
    }
    return sum_w > 0 ? std::optional(sum_w) : std::nullopt;
  }

  std::string seconds_text(double unix_s) const {
    return fmt::format("{:.3f} s", unix_s - start_s_);
  }

  void mark_stretches() {
    std::uint64_t gaps = 0;
    std::uint64_t invalid = 0;
    const auto add = [&](Stretch::Kind kind, const Window& at, const char* what) {
      chart_.stretches.push_back({kind, at.start_unix_s - start_s_, at.end_unix_s - start_s_,
                                  fmt::format("{}: {} to {}", what, seconds_text(at.start_unix_s),
                                              seconds_text(at.end_unix_s))});
    };
    if (shows_window()) {
      add(Stretch::Kind::window, *picture_.window, "window");
      chart_.stretch_key.emplace_back(
          Stretch::Kind::window,
          fmt::format("window, {:.3f} s to {:.3f} s", picture_.window->start_unix_s - start_s_,
                      picture_.window->end_unix_s - start_s_));
    }
    constexpr std::size_t kMostLogged = 500;
    for (const NamedWindow& logged :
         std::span(picture_.logged).first(std::min(kMostLogged, picture_.logged.size()))) {
      add(Stretch::Kind::window, logged.window, one_line(logged.name).c_str());
    }
    if (!picture_.logged.empty()) {
      chart_.stretch_key.emplace_back(
          Stretch::Kind::window,
          count_text(picture_.logged.size(), "logged window") +
              (picture_.logged.size() > kMostLogged ? ", the first 500 drawn" : ""));
    }
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const Window& gap : recording.curves.gaps) add(Stretch::Kind::gap, gap, "no samples");
      for (const Window& at : recording.curves.invalid) {
        add(Stretch::Kind::invalid, at, "rows without a valid power");
      }
      gaps += recording.curves.gap_count;
      invalid += recording.curves.invalid_rows;
    }
    if (gaps > 0) {
      chart_.stretch_key.emplace_back(
          Stretch::Kind::gap, fmt::format("no samples of a GPU ({})", count_text(gaps, "gap")));
    }
    if (invalid > 0) {
      chart_.stretch_key.emplace_back(
          Stretch::Kind::invalid, fmt::format("no valid power ({})", count_text(invalid, "row")));
    }
  }

  std::string description() const {
    if (extent_.is_empty()) return "There is no sample to draw.";
    std::string text = fmt::format(
        "Power in watts over {:.3f} s, of {}.", extent_.last_unix_s - extent_.first_unix_s,
        gpus_ > kMostLines ? fmt::format("{} GPUs: their sum, their range and their mean", gpus_)
        : gpus_ > 1        ? fmt::format("each of {} GPUs, and their sum", gpus_)
                           : std::string("one GPU"));
    double highest_w = 0;
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const DeviceCurve& device : recording.curves.devices) {
        highest_w = std::max(highest_w, device.highest_w);
      }
    }
    text += fmt::format(" The highest sample of a GPU is {}.", watts_text(highest_w));
    if (picture_.total_j)
      text += fmt::format(" {}: {}.", energy_title(), joules_text(*picture_.total_j));
    return text;
  }

  static std::string_view boundary(std::string_view scope) {
    constexpr std::pair<std::string_view, std::string_view> kBoundaries[] = {
        {"package", "GPU packages as reported"},
        {"module", "modules of GPU, CPU and memory as reported"},
        {"rail", "power rails as reported"},
        {"node", "whole nodes as reported"},
        {"wall", "whole machines at the wall, as reported"}};
    const auto found = std::ranges::find(kBoundaries, scope,
                                         &std::pair<std::string_view, std::string_view>::first);
    return found == std::end(kBoundaries) ? "GPU boards as reported" : found->second;
  }

  std::string metric_text() const {
    const PicturedRecording& first = picture_.recordings.front();
    std::string column;
    if (first.facts.power_column) {
      column = fmt::format(" ('{}')", printable(strip(*first.facts.power_column)));
    }
    std::string text = fmt::format("Metric: electrical power in watts{}. Boundary: {}.", column,
                                   boundary(first.facts.sensor.scope));
    if (gpus_ > kMostLines) {
      text += fmt::format(" More than {} GPUs: drawn are their sum, their range and their mean.",
                          kMostLines);
    }
    return text;
  }

  std::string formula_text() const {
    const bool is_held = picture_.recordings.front().facts.interpolation == Interpolation::hold;
    const std::string_view rule =
        is_held ? "E = sum of (t2 - t1) P1, each power held until the next"
                : "E = sum of (t2 - t1) (P1 + P2) / 2, linear between samples";
    if (!picture_.is_valid()) {
      return fmt::format("Not valid, so no energy is claimed: {}.", picture_.reasons.text());
    }
    if (!picture_.total_j) return "No energy: there is nothing to integrate.";
    std::string text = fmt::format(
        "Energy: {} ({} kWh), {}, {}.", joules_text(*picture_.total_j),
        rounded(*picture_.total_j / kJoulesInKilowattHour, 6), rule,
        picture_.window ? "inside the window" : "from each GPU's first to its last sample");
    const char* before = " As measured: ";
    for (const PowerPicture::Ratio& ratio : picture_.ratios) {
      text += std::exchange(before, ", ") + ratio.text;
    }
    if (!picture_.ratios.empty()) text += ".";
    if (picture_.low_j && picture_.high_j) {
      text += fmt::format(" As the window is estimated: between {} and {}.",
                          joules_text(*picture_.low_j), joules_text(*picture_.high_j));
    }
    return text;
  }

  std::string window_text() const {
    if (!picture_.window) return {};
    const Window& window = *picture_.window;
    const std::string_view why =
        explained_window(picture_.window_class, picture_.is_window_in_command);
    std::string text = fmt::format("Window: {:.3f} s, {}{}{}", window.duration_s(),
                                   picture_.window_class, why.empty() ? "" : ": ", why);
    if (picture_.window_half_width_s) {
      text += fmt::format(", give or take {:.1f} s", std::max(0.1, *picture_.window_half_width_s));
    }
    if (!picture_.result.empty()) text += fmt::format(" ({})", printable_path(picture_.result));
    text += ".";
    if (!shows_window() && !extent_.is_empty()) {
      text += has_all_times()
                  ? fmt::format(
                        " It is far from the recording and not shown: it begins {} {} its start.",
                        difference_in_words(std::abs(window.start_unix_s - start_s_)),
                        window.start_unix_s < start_s_ ? "before" : "after")
                  : " Where it is in the recording is not known.";
    }
    return text;
  }

  std::string source_text() const {
    std::uint64_t samples = 0;
    for (const PicturedRecording& recording : picture_.recordings) {
      for (const DeviceCurve& device : recording.curves.devices) samples += device.samples;
    }
    std::string text =
        fmt::format("Source: {}, {}.", source_names(), count_text(samples, "sample"));
    if (extent_.is_empty()) return text;
    const PicturedRecording& first = picture_.recordings.front();
    if (first.has_times) {
      const std::string start = wall_time(start_s_, first.zone);
      const std::string& zone = first.zone.name();
      text += start.ends_with(zone) ? fmt::format(" 0 s is {}.", start)
                                    : fmt::format(" 0 s is {} ({}).", start, zone);
    } else {
      text += " The recording's absolute time is not known.";
    }
    return text;
  }

  void add_caption() {
    chart_.caption = {metric_text(), formula_text()};
    if (std::string text = window_text(); !text.empty()) chart_.caption.push_back(std::move(text));
    chart_.caption.push_back(source_text());
    std::uint64_t gaps = 0;
    std::uint64_t unnamed = 0;
    for (const PicturedRecording& recording : picture_.recordings) {
      gaps += recording.curves.gap_count;
      unnamed += recording.curves.unnamed_rows;
    }
    if (gaps > 0) {
      chart_.caption.push_back(fmt::format(
          "A line breaks where two samples of a GPU are more than {} s apart, and the sum where one GPU's power is not known; what is missing is never drawn as 0 W.",
          picture_.max_gap_s));
    }
    if (picture_.are_requests_assumed) {
      chart_.caption.emplace_back(
          "The times of the requests are of another clock: the first one is drawn where the window begins.");
    }
    if (unnamed > 0) {
      chart_.caption.push_back(
          fmt::format("Not drawn: {} that name no GPU.", count_text(unnamed, "row")));
    }
  }

  const PowerPicture& picture_;
  PictureSpan extent_;
  double start_s_;
  std::size_t gpus_;
  Chart chart_;
};

}  // namespace

std::size_t PowerPicture::gpus() const {
  std::size_t count = 0;
  for (const PicturedRecording& recording : recordings) count += recording.curves.devices.size();
  return count;
}

double PowerPicture::start_unix_s() const {
  const PictureSpan extent = extent_of_picture(*this);
  return extent.is_empty() ? 0 : extent.first_unix_s;
}

std::string gpu_label(const PowerPicture& picture, std::size_t recording, const std::string& gpu) {
  const std::string name = is_ascii_digits(gpu) ? "GPU " + gpu : gpu;
  if (picture.recordings.size() == 1) return name;
  return fmt::format("{}: {}", plain_stem(picture.recordings[recording].path), name);
}

Chart power_chart(const PowerPicture& picture) { return PictureChart(picture).build(); }

}  // namespace aggregate_power
