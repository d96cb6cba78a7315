// Keeps the stretch of each series, and compares those of one device.
#include "recorders/series_overlap.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "core/telemetry/gpu_names.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostSeriesShown = 160;
constexpr std::string_view kInstanceLabels[] = {"GPU_I_ID", "GPU_I_PROFILE"};

std::string series_text(const MetricLabels& series) {
  std::string text = series.metric + "{";
  for (const auto& [label, value] : series.labels) {
    text += fmt::format("{}{}=\"{}\"", text.back() == '{' ? "" : ",", label, value);
  }
  return text + "}";
}

std::string text_unless_instance(const MetricLabels& series) {
  const bool is_instance = std::ranges::any_of(
      kInstanceLabels, [&](std::string_view label) { return !series.of(label).empty(); });
  return is_instance ? std::string() : series_text(series);
}

}  // namespace

std::size_t SeriesOverlap::add(const MetricLabels& series) {
  series_.push_back({.text = text_unless_instance(series), .labels = series});
  return series_.size() - 1;
}

std::size_t SeriesOverlap::find(const MetricLabels& series) {
  const auto [place, is_new] = found_.try_emplace(series_text(series), series_.size());
  if (is_new) series_.push_back({.text = text_unless_instance(series), .labels = series});
  return place->second;
}

void SeriesOverlap::add_samples(const Series& more, Series& to) {
  to.device = more.device;
  const bool is_first = to.samples == 0;
  to.first_unix_s = is_first ? more.first_unix_s : std::min(to.first_unix_s, more.first_unix_s);
  to.last_unix_s = is_first ? more.last_unix_s : std::max(to.last_unix_s, more.last_unix_s);
  to.samples += more.samples;
}

void SeriesOverlap::merge(const SeriesOverlap& part, std::span<const std::uint32_t> numbers) {
  std::map<std::string, std::deque<std::size_t>> known;  // that may be equal, in their order
  for (std::size_t i = 0; i < series_.size(); ++i) {
    known[series_text(series_[i].labels)].push_back(i);
  }
  for (Series more : part.series_) {
    if (more.device < numbers.size()) more.device = numbers[more.device];
    std::deque<std::size_t>& equal = known[series_text(more.labels)];
    if (equal.empty()) {
      series_.push_back(std::move(more));
      continue;
    }
    if (more.samples > 0) add_samples(more, series_[equal.front()]);
    equal.pop_front();
  }
}

std::vector<std::string> SeriesOverlap::silent() const {
  std::vector<std::string> texts;
  for (const Series& series : series_) {
    if (series.samples == 0 && !series.text.empty()) {
      texts.push_back(printable(series.text, kMostSeriesShown));
    }
  }
  return texts;
}

std::vector<std::pair<std::uint32_t, GpuKey>> SeriesOverlap::keys() const {
  std::vector<std::pair<std::uint32_t, GpuKey>> keys;
  for (const Series& series : series_) {
    if (series.samples > 0 && series.device != kNoDevice) {
      keys.emplace_back(series.device, key_of(series.labels));
    }
  }
  return keys;
}

std::vector<std::string> SeriesOverlap::conflicts() const {
  std::vector<std::string> conflicts;
  std::vector<const Series*> whole;
  std::map<std::string, const Series*> by_uuid;
  for (const Series& series : series_) {
    if (series.samples == 0 || series.device == kNoDevice) continue;
    if (!series.text.empty()) whole.push_back(&series);
    const GpuKey key = key_of(series.labels);
    if (key.uuid.empty()) continue;
    const Series& first = *by_uuid.try_emplace(key.uuid, &series).first->second;
    if (first.device == series.device) continue;
    conflicts.push_back(fmt::format(
        "{} and {} are of one GPU, {}, and count as two: leave out --device-column, which names a label that does not tell GPUs apart",
        printable(series_text(first.labels), kMostSeriesShown),
        printable(series_text(series.labels), kMostSeriesShown), printable(key.uuid)));
  }
  std::ranges::sort(whole, [](const Series* a, const Series* b) {
    return a->device != b->device ? a->device < b->device : a->first_unix_s < b->first_unix_s;
  });
  for (std::size_t i = 1; i < whole.size(); ++i) {
    const Series& before = *whole[i - 1];
    const Series& after = *whole[i];
    if (before.device != after.device || after.first_unix_s > before.last_unix_s) continue;
    if (repeat_one_gpu(before.labels, after.labels)) continue;
    const GpuKey key = key_of(before.labels);
    const bool is_one_uuid =
        !key.uuid.empty() && same_gpu(key, key_of(after.labels)) == SameGpu::yes;
    conflicts.push_back(fmt::format(
        "{} and {} are of one GPU at the same time: {}query one of them",
        printable(before.text, kMostSeriesShown), printable(after.text, kMostSeriesShown),
        is_one_uuid ? "" : "name the label that tells GPUs apart with --device-column, or "));
  }
  return conflicts;
}

}  // namespace aggregate_power
