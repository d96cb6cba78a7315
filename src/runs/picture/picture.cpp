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

#include "aggregate_power/metric.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "base/text/shown_number.h"
#include "chart/curve.h"
#include "core/telemetry/device_names.h"
#include "energy/uncertainty/sensor_table.h"
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
struct Picturing {
  const PowerPicture& picture;
  PictureSpan extent;
  double start_s;
  std::size_t gpus;
  Chart chart;
};

std::string source_names(const Picturing& of) {
  const auto names = mapped<std::string>(
      of.picture.recordings,
      [](const PicturedRecording& recording) { return printable_path(recording.path); });
  constexpr std::size_t kMostNames = 4;
  if (names.size() <= kMostNames) return joined_text(names, ", ");
  return fmt::format("{} and {} more", names[0], names.size() - 1);
}

std::string title(const Picturing& of) {
  const std::string what =
      of.picture.result.empty() ? source_names(of) : printable_path(of.picture.result);
  return fmt::format("Power of {}: {}", counted(of.gpus, "GPU"), what);
}

bool has_all_times(const Picturing& of) {
  return std::ranges::all_of(of.picture.recordings, &PicturedRecording::has_times) ||
         (of.picture.window && of.picture.window->start_unix_s < kFirstAbsoluteUnixS);
}

// The part of the window that the axis can show beside the recording.
bool shows_window(const Picturing& of) {
  if (!of.picture.window || of.extent.is_empty() || !has_all_times(of)) return false;
  const double span_s = std::max(of.extent.last_unix_s - of.extent.first_unix_s, 1.0);
  return of.picture.window->end_unix_s <= of.extent.last_unix_s + kMostStretched * span_s &&
         of.picture.window->start_unix_s >= of.extent.first_unix_s - kMostStretched * span_s;
}

void set_time(Picturing& of) {
  double low_s = 0;
  double high_s = of.extent.is_empty() ? 1 : of.extent.last_unix_s - of.start_s;
  if (shows_window(of)) {
    low_s = std::min(low_s, of.picture.window->start_unix_s - of.start_s);
    high_s = std::max(high_s, of.picture.window->end_unix_s - of.start_s);
  }
  constexpr double kEdge = 0.008;  // so that nothing is hidden by the frame
  const double edge_s = std::max(high_s - low_s, 0.1) * kEdge;
  low_s -= edge_s;
  high_s += edge_s;
  constexpr std::size_t kMostTicks = 10;
  const std::string_view what =
      of.picture.window ? "time since the recording's start" : "time since the start";
  of.chart.x = time_axis(what, low_s, high_s, kMostTicks);
}

std::string energy_title(const Picturing& of) {
  if (!of.picture.is_valid()) return "no energy: not valid";
  if (!of.picture.total_j) return "power";
  return of.picture.window ? "energy in the window" : "energy of the recording";
}

// If each GPU has one limit.
std::optional<double> limit_together(const Picturing& of) {
  double sum_w = 0;
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      if (device.limits_w.size() != 1) return std::nullopt;
      sum_w += device.limits_w[0];
    }
  }
  return sum_w > 0 ? std::optional(sum_w) : std::nullopt;
}

void add_modelled(const Picturing& of, Panel& panel) {
  if (!of.picture.modelled) return;
  const ModelledMeter& modelled = *of.picture.modelled;
  Series& series = panel.series.emplace_back();
  series.label = modelled.label;
  series.value = modelled.value;
  series.style = panel.series.size();
  series.lines = since(of.start_s, modelled.lines);
  series.ribbons = modelled.ribbons;
  for (Ribbon& ribbon : series.ribbons) {
    for (RangeAt& at : ribbon) at.x -= of.start_s;
  }
}

Panel sum_panel(const Picturing& of) {
  Panel panel{energy_title(of), {.title = "power together (W)"}};
  const bool is_one = of.picture.recordings.size() == 1;
  for (std::size_t i = 0; i < of.picture.recordings.size(); ++i) {
    const PicturedRecording& recording = of.picture.recordings[i];
    Series series;
    series.is_ink = is_one;
    series.style = i;
    series.lines = since(of.start_s, recording.curves.sum);
    const std::string count = counted(recording.curves.devices.size(), "GPU");
    series.label = is_one ? fmt::format("sum of {}", count)
                          : fmt::format("{}, {}", plain_stem(recording.path), count);
    if (is_one && of.picture.total_j) series.value = joules_text(*of.picture.total_j);
    panel.series.push_back(std::move(series));
  }
  if (!is_one && of.picture.total_j) {
    panel.series.push_back(
        {.label = "all together", .value = joules_text(*of.picture.total_j), .is_ink = true});
  }
  add_modelled(of, panel);
  constexpr double kHeight = 190;
  panel.height = kHeight;
  if (is_one && of.picture.idle) {
    panel.levels.push_back({Level::Kind::idle, of.picture.idle->total.watts,
                            "idle " + watts_text(of.picture.idle->total.watts)});
  }
  if (const auto limit_w = limit_together(of); limit_w && is_one) {
    panel.levels.push_back(
        {Level::Kind::limit, *limit_w, fmt::format("limits together {}", watts_text(*limit_w))});
  }
  return panel;
}

Series gpu_series(const Picturing& of, std::size_t recording, const DeviceCurve& device) {
  Series series;
  series.label = gpu_label(of.picture, recording, device.name);
  series.lines = since(of.start_s, device.lines);
  const auto energy = of.picture.energies_j.find({recording, device.name});
  if (energy != of.picture.energies_j.end()) series.value = joules_text(energy->second);
  series.tooltip = fmt::format("{}: {}at most {}, n = {} samples", series.label,
                               series.value.empty() ? "" : series.value + ", ",
                               watts_text(device.highest_w), device.samples);
  return series;
}

std::vector<const DeviceCurve*> sorted_devices(const Picturing& of, std::size_t recording) {
  std::vector<const DeviceCurve*> devices;
  for (const DeviceCurve& device : of.picture.recordings[recording].curves.devices) {
    devices.push_back(&device);
  }
  std::ranges::stable_sort(devices, [](const DeviceCurve* a, const DeviceCurve* b) {
    return device_name_less(a->name, b->name);
  });
  return devices;
}

// Each limit once, and the idle power of a GPU.
void add_levels(const Picturing& of, Panel& panel) {
  std::set<double> limits_w;
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      limits_w.insert(device.limits_w.begin(), device.limits_w.end());
    }
  }
  constexpr std::size_t kFewLimits = 4;
  if (limits_w.size() > kFewLimits) limits_w = {*limits_w.begin(), *limits_w.rbegin()};
  for (const double limit_w : limits_w) {
    panel.levels.push_back({Level::Kind::limit, limit_w, "limit " + watts_text(limit_w)});
  }
  if (!of.picture.idle || of.picture.idle->gpus.empty()) return;
  double sum_w = 0;
  for (const auto& [gpu, power] : of.picture.idle->gpus) sum_w += power.watts;
  const double mean_w = sum_w / static_cast<double>(of.picture.idle->gpus.size());
  panel.levels.push_back(
      {Level::Kind::idle, mean_w,
       fmt::format("idle {}{}", watts_text(mean_w), of.gpus > 1 ? " (mean)" : "")});
}

Panel gpu_panel(const Picturing& of) {
  Panel panel{of.gpus > 1 ? "" : energy_title(of), {.title = "power of each GPU (W)"}};
  std::size_t style = 0;
  for (std::size_t i = 0; i < of.picture.recordings.size(); ++i) {
    for (const DeviceCurve* const device : sorted_devices(of, i)) {
      panel.series.push_back(gpu_series(of, i, *device));
      panel.series.back().style = style++;
    }
  }
  if (panel.series.size() == 1) panel.y.title = "power (W)";
  if (of.gpus == 1) add_modelled(of, panel);
  add_levels(of, panel);
  return panel;
}

Panel range_panel(const Picturing& of) {
  Panel panel{"", {.title = "power of a GPU (W)"}};
  std::vector<Polyline> all;
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      for (Polyline& line : since(of.start_s, device.lines)) all.push_back(std::move(line));
    }
  }
  panel.series.push_back({.label = fmt::format("lowest to highest of {}", of.gpus),
                          .style = 0,
                          .ribbons = envelope(all, kColumnsOfRange)});
  const bool is_one = of.picture.recordings.size() == 1;
  for (std::size_t i = 0; i < of.picture.recordings.size(); ++i) {
    const PicturedRecording& recording = of.picture.recordings[i];
    const auto count = static_cast<double>(recording.curves.devices.size());
    Series mean;
    mean.label = is_one ? "mean" : fmt::format("mean of {}", plain_stem(recording.path));
    mean.is_ink = is_one;
    mean.style = i;
    mean.lines = since(of.start_s, recording.curves.sum);
    for (Polyline& line : mean.lines) {
      for (Point& point : line) point.y /= count;
    }
    if (is_one && of.picture.total_j) mean.value = joules_text(*of.picture.total_j / count);
    panel.series.push_back(std::move(mean));
  }
  add_levels(of, panel);
  return panel;
}

std::string seconds_text(const Picturing& of, double unix_s) {
  return fmt::format("{:.3f} s", unix_s - of.start_s);
}

void mark_stretches(Picturing& of) {
  std::uint64_t gaps = 0;
  std::uint64_t invalid = 0;
  const auto add = [&](Stretch::Kind kind, const Window& at, const char* what) {
    of.chart.stretches.push_back(
        {kind, at.start_unix_s - of.start_s, at.end_unix_s - of.start_s,
         fmt::format("{}: {} to {}", what, seconds_text(of, at.start_unix_s),
                     seconds_text(of, at.end_unix_s))});
  };
  if (shows_window(of)) {
    add(Stretch::Kind::window, *of.picture.window, "window");
    of.chart.stretch_key.emplace_back(
        Stretch::Kind::window,
        fmt::format("window, {:.3f} s to {:.3f} s", of.picture.window->start_unix_s - of.start_s,
                    of.picture.window->end_unix_s - of.start_s));
  }
  constexpr std::size_t kMostLogged = 500;
  for (const NamedWindow& logged :
       std::span(of.picture.logged).first(std::min(kMostLogged, of.picture.logged.size()))) {
    add(Stretch::Kind::window, logged.window, one_line(logged.name).c_str());
  }
  if (!of.picture.logged.empty()) {
    of.chart.stretch_key.emplace_back(
        Stretch::Kind::window,
        counted(of.picture.logged.size(), "logged window") +
            (of.picture.logged.size() > kMostLogged ? ", the first 500 drawn" : ""));
  }
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const Window& gap : recording.curves.gaps) add(Stretch::Kind::gap, gap, "no samples");
    for (const Window& at : recording.curves.invalid) {
      add(Stretch::Kind::invalid, at, "rows without a valid power");
    }
    gaps += recording.curves.gap_count;
    invalid += recording.curves.invalid_rows;
  }
  if (gaps > 0) {
    of.chart.stretch_key.emplace_back(
        Stretch::Kind::gap, fmt::format("no samples of a GPU ({})", counted(gaps, "gap")));
  }
  if (invalid > 0) {
    of.chart.stretch_key.emplace_back(Stretch::Kind::invalid,
                                      fmt::format("no valid power ({})", counted(invalid, "row")));
  }
}

std::string description(const Picturing& of) {
  if (of.extent.is_empty()) return "There is no sample to draw.";
  std::string text = fmt::format(
      "Power in watts over {:.3f} s, of {}.", of.extent.last_unix_s - of.extent.first_unix_s,
      of.gpus > kMostLines ? fmt::format("{} GPUs: their sum, their range and their mean", of.gpus)
      : of.gpus > 1        ? fmt::format("each of {} GPUs, and their sum", of.gpus)
                           : std::string("one GPU"));
  double highest_w = 0;
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      highest_w = std::max(highest_w, device.highest_w);
    }
  }
  text += fmt::format(" The highest sample of a GPU is {}.", watts_text(highest_w));
  if (of.picture.total_j)
    text += fmt::format(" {}: {}.", energy_title(of), joules_text(*of.picture.total_j));
  return text;
}

std::string_view boundary(std::string_view scope) {
  constexpr std::pair<std::string_view, std::string_view> kBoundaries[] = {
      {"package", "GPU packages as reported"},
      {"module", "modules of GPU, CPU and memory as reported"},
      {"rail", "power rails as reported"},
      {"node", "whole nodes as reported"},
      {"wall", "whole machines at the wall, as reported"}};
  const auto found =
      std::ranges::find(kBoundaries, scope, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kBoundaries) ? "GPU boards as reported" : found->second;
}

std::string metric_text(const Picturing& of) {
  const PicturedRecording& first = of.picture.recordings.front();
  std::string column;
  if (first.facts.power_column) {
    column = fmt::format(" ('{}')", printable(strip(*first.facts.power_column)));
  }
  std::string text = fmt::format("Metric: electrical power in watts{}. Boundary: {}.", column,
                                 boundary(first.facts.sensor.scope));
  if (of.gpus > kMostLines) {
    text += fmt::format(" More than {} GPUs: drawn are their sum, their range and their mean.",
                        kMostLines);
  }
  return text;
}

std::string formula_text(const Picturing& of) {
  const bool is_held = of.picture.recordings.front().facts.interpolation == Interpolation::hold;
  const std::string_view rule = is_held
                                    ? "E = sum of (t2 - t1) P1, each power held until the next"
                                    : "E = sum of (t2 - t1) (P1 + P2) / 2, linear between samples";
  if (!of.picture.is_valid()) {
    return fmt::format("Not valid, so no energy is claimed: {}.", of.picture.reasons.text());
  }
  if (!of.picture.total_j) return "No energy: there is nothing to integrate.";
  std::string text = fmt::format(
      "Energy: {} ({} kWh), {}, {}.", joules_text(*of.picture.total_j),
      rounded(*of.picture.total_j / kJoulesInKilowattHour, 6), rule,
      of.picture.window ? "inside the window" : "from each GPU's first to its last sample");
  if (are_means(of.picture.recordings.front().facts.sensor)) {
    text += " Each reading is drawn as what it is, the mean of the time since the one before.";
  }
  const char* before = " As measured: ";
  for (const PowerPicture::Ratio& ratio : of.picture.ratios) {
    text += std::exchange(before, ", ") + ratio.text;
  }
  if (!of.picture.ratios.empty()) text += ".";
  if (of.picture.low_j && of.picture.high_j) {
    text += fmt::format(" As the window is estimated: between {} and {}.",
                        joules_text(*of.picture.low_j), joules_text(*of.picture.high_j));
  }
  return text;
}

std::string window_text(const Picturing& of) {
  if (!of.picture.window) return {};
  const Window& window = *of.picture.window;
  const std::string_view why =
      explained_window(of.picture.window_class, of.picture.is_window_in_command);
  std::string text = fmt::format("Window: {:.3f} s, {}{}{}", window.duration_s(),
                                 of.picture.window_class, why.empty() ? "" : ": ", why);
  if (of.picture.window_half_width_s) {
    text += fmt::format(", give or take {:.1f} s", std::max(0.1, *of.picture.window_half_width_s));
  }
  if (!of.picture.result.empty()) text += fmt::format(" ({})", printable_path(of.picture.result));
  text += ".";
  if (!shows_window(of) && !of.extent.is_empty()) {
    text +=
        has_all_times(of)
            ? fmt::format(" It is far from the recording and not shown: it begins {} {} its start.",
                          difference_in_words(std::abs(window.start_unix_s - of.start_s)),
                          window.start_unix_s < of.start_s ? "before" : "after")
            : " Where it is in the recording is not known.";
  }
  return text;
}

std::string source_text(const Picturing& of) {
  std::uint64_t samples = 0;
  for (const PicturedRecording& recording : of.picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) samples += device.samples;
  }
  std::string text = fmt::format("Source: {}, {}.", source_names(of), counted(samples, "sample"));
  if (of.extent.is_empty()) return text;
  const PicturedRecording& first = of.picture.recordings.front();
  if (first.has_times) {
    const std::string start = wall_time(of.start_s, first.zone);
    const std::string& zone = first.zone.name();
    text += start.ends_with(zone) ? fmt::format(" 0 s is {}.", start)
                                  : fmt::format(" 0 s is {} ({}).", start, zone);
  } else {
    text += " The recording's absolute time is not known.";
  }
  return text;
}

void add_caption(Picturing& of) {
  of.chart.caption = {metric_text(of), formula_text(of)};
  if (of.picture.modelled) of.chart.caption.push_back(of.picture.modelled->caption);
  if (std::string text = window_text(of); !text.empty())
    of.chart.caption.push_back(std::move(text));
  of.chart.caption.push_back(source_text(of));
  std::uint64_t gaps = 0;
  std::uint64_t unnamed = 0;
  for (const PicturedRecording& recording : of.picture.recordings) {
    gaps += recording.curves.gap_count;
    unnamed += recording.curves.unnamed_rows;
  }
  if (gaps > 0) {
    of.chart.caption.push_back(fmt::format(
        "A line breaks where two samples of a GPU are more than {} s apart, and the sum where one GPU's power is not known; what is missing is never drawn as 0 W.",
        of.picture.max_gap_s));
  }
  if (of.picture.are_requests_assumed) {
    of.chart.caption.emplace_back(
        "The times of the requests are of another clock: the first one is drawn where the window begins.");
  }
  if (unnamed > 0) {
    of.chart.caption.push_back(
        fmt::format("Not drawn: {} that name no GPU.", counted(unnamed, "row")));
  }
}

Chart build(Picturing& of) {
  of.chart.title = title(of);
  set_time(of);
  if (of.gpus > 1) of.chart.panels.push_back(sum_panel(of));
  of.chart.panels.push_back(of.gpus > kMostLines ? range_panel(of) : gpu_panel(of));
  if (has_all_times(of)) {
    append(of.chart.panels, load_panels(of.picture));
  }
  for (Panel& panel : of.chart.panels) {
    const double highest = highest_of(panel);
    const std::size_t most_ticks = panel.height > kLoadPanelHeight ? 6 : 3;
    panel.y = linear_axis(std::move(panel.y.title), 0, highest > 0 ? highest : 1, most_ticks);
  }
  mark_stretches(of);
  of.chart.description = description(of);
  add_caption(of);
  return std::move(of.chart);
}

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

Chart power_chart(const PowerPicture& picture) {
  Picturing of{picture, extent_of_picture(picture), picture.start_unix_s(), picture.gpus(), {}};
  return build(of);
}

}  // namespace aggregate_power
