// Keeps the stretch of each series, and compares those of one device.
#include "recorders/series_overlap.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "recorders/telemetry.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kInstanceLabels[] = {"GPU_I_ID", "GPU_I_PROFILE"};

std::string series_text(const MetricLabels& series) {
  constexpr std::size_t kMostShown = 160;
  std::string text = series.metric + "{";
  for (const auto& [label, value] : series.labels) {
    text += fmt::format("{}{}=\"{}\"", text.back() == '{' ? "" : ",", label, value);
  }
  return printable(text + "}", kMostShown);
}

}  // namespace

std::size_t SeriesOverlap::add(const MetricLabels& series) {
  const bool is_instance = std::ranges::any_of(
      kInstanceLabels, [&](std::string_view label) { return !series.of(label).empty(); });
  series_.emplace_back().text = is_instance ? std::string() : series_text(series);
  return series_.size() - 1;
}

void SeriesOverlap::note(std::size_t series, std::uint32_t device, double unix_s) {
  Series& noted = series_[series];
  noted.device = device;
  noted.first_unix_s = noted.samples == 0 ? unix_s : std::min(noted.first_unix_s, unix_s);
  noted.last_unix_s = noted.samples == 0 ? unix_s : std::max(noted.last_unix_s, unix_s);
  ++noted.samples;
}

void SeriesOverlap::check() const {
  std::vector<const Series*> whole;
  for (const Series& series : series_) {
    if (series.samples > 0 && !series.text.empty() && series.device != kNoDevice) {
      whole.push_back(&series);
    }
  }
  std::ranges::sort(whole, [](const Series* a, const Series* b) {
    return a->device != b->device ? a->device < b->device : a->first_unix_s < b->first_unix_s;
  });
  for (std::size_t i = 1; i < whole.size(); ++i) {
    const Series& before = *whole[i - 1];
    const Series& after = *whole[i];
    if (before.device != after.device || after.first_unix_s > before.last_unix_s) continue;
    throw TelemetryError(fmt::format(
        "{} and {} are of one GPU at the same time: name the label that tells GPUs apart with --device-column, or query one of them",
        before.text, after.text));
  }
}

}  // namespace aggregate_power
