// Keeps samples of recordings, and finds what speaks against them.
#include "runs/series_doubts.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"
#include "base/text/unicode.h"
#include "energy/gather.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostKept = 1 << 17;
constexpr std::size_t kMostStates = 1 << 14;  // of a device
constexpr std::size_t kMostPairs = 3;         // that a message names

// By the number of the device, as it was recorded.
std::vector<DeviceSeries> series_of(const Samples& samples, std::span<const std::string> names) {
  std::vector<DeviceSeries> devices;
  for (std::size_t i = 0; i < std::min(samples.devices().size(), names.size()); ++i) {
    devices.push_back({names[i], samples.devices()[i]});
  }
  return devices;
}

// Unless it is NaN.
void keep(double value, std::vector<double>& values) {
  if (!std::isnan(value) && values.size() < kMostStates) values.push_back(value);
}

// Adds the states of the devices from the stretches in which their power did not change.
void read_states(const Recording& recording, std::span<const energy::ConstantStretch> stretches,
                 std::vector<DeviceSeries>& devices) {
  std::vector<Window> where(devices.size(), kNever);
  for (const energy::ConstantStretch& constant : stretches)
    where[constant.device] = constant.stretch;
  const auto wanted = [](const Telemetry&) {
    return quantity_set({GpuQuantity::utilization_pct, GpuQuantity::temperature_c});
  };
  const auto take = [&](const Batch& batch) {
    if (batch.states.empty()) return;
    for (std::size_t i = 0; i < batch.readings.size(); ++i) {
      const Reading& reading = batch.readings[i];
      if (reading.device >= where.size() || reading.kind == Reading::Kind::bad_timestamp) continue;
      if (!where[reading.device].contains(reading.unix_s)) continue;
      const GpuState& state = batch.states[i];
      keep(state[GpuQuantity::utilization_pct], devices[reading.device].utilization_pct);
      keep(state[GpuQuantity::temperature_c], devices[reading.device].temperature_c);
    }
  };
  read_whole(recording, {.take = take, .begin = wanted, .may_use_threads = false});
}

// Whether most samples are twice there, to the last digit.
bool are_copies(std::span<const Sample> samples) {
  std::size_t twice = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const bool is_same =
        samples[i].unix_s == samples[i - 1].unix_s && samples[i].watts == samples[i - 1].watts;
    twice += is_same ? 1 : 0;
  }
  return 3 * twice >= samples.size();
}

std::string name_of(const KeptSeries& series) {
  return fmt::format("GPU {} of {}", printable(series.device), printable_path(series.recording));
}

// Which of the devices to keep, where that can be said.
std::string remedy_of(std::span<const std::string> kept, std::span<const std::string> others) {
  const bool have_own_names = std::ranges::none_of(
      others, [&](const std::string& name) { return std::ranges::find(kept, name) != kept.end(); });
  std::string text = "give one of the recordings";
  if (have_own_names) {
    text += fmt::format(", or keep one of each sensor with --gpus {}", fmt::join(kept, ","));
  }
  return text;
}

}  // namespace

void SeriesKeeper::take(std::span<const Reading> readings) {
  if (samples_.size() >= kMostKept) {
    if (is_narrow_) return;
    samples_.narrow(gathered_around(window_));
    is_narrow_ = true;
  }
  samples_.take(readings);
  for (const Reading& reading : readings) {
    if (reading.device == kNoDevice) continue;
    if (reading.kind == Reading::Kind::power) note_pass(reading);
    if (reading.kind != Reading::Kind::no_power) continue;
    if (reading.device >= powerless_.size()) powerless_.resize(reading.device + 1);
    ++powerless_[reading.device];
  }
}

void SeriesKeeper::note_pass(const Reading& reading) {
  constexpr double kBackS = 10;
  constexpr std::size_t kMostPasses = 16;
  if (reading.device >= passes_.size()) passes_.resize(reading.device + std::size_t{1});
  std::vector<Pass>& passes = passes_[reading.device];
  const bool is_new = passes.empty() || reading.unix_s < passes.back().last_unix_s - kBackS;
  if (is_new && passes.size() < kMostPasses) passes.push_back({reading.unix_s, reading.unix_s, 0});
  Pass& pass = passes.back();
  pass.last_unix_s = reading.unix_s;
  ++pass.rows;
}

bool SeriesKeeper::repeats(std::size_t device, Window window) const {
  constexpr std::uint64_t kFewestRows = 20;
  const auto rows_in = [](const Pass& pass, double from_s, double to_s) {
    const double length_s = pass.last_unix_s - pass.first_unix_s;
    return length_s > 0 ? static_cast<double>(pass.rows) * (to_s - from_s) / length_s : 0;
  };
  const std::vector<Pass>& passes = passes_[device];
  for (std::size_t i = 0; i < passes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double from_s =
          std::max({window.start_unix_s, passes[i].first_unix_s, passes[j].first_unix_s});
      const double to_s =
          std::min({window.end_unix_s, passes[i].last_unix_s, passes[j].last_unix_s});
      if (rows_in(passes[i], from_s, to_s) < kFewestRows) continue;
      if (rows_in(passes[j], from_s, to_s) < kFewestRows) continue;
      return !are_copies(samples_in(samples_.devices()[device], {from_s, to_s}));
    }
  }
  return false;
}

Reasons SeriesKeeper::repeated_passes(std::span<const std::string> names, Window window) const {
  Reasons reasons;
  for (std::size_t i = 0; i < std::min(passes_.size(), names.size()); ++i) {
    if (i >= samples_.devices().size() || !repeats(i, window)) continue;
    reasons.add(Reason::several_gpus_in_one_series,
                fmt::format("the rows of GPU {} go through the same time twice, with other "
                            "readings: it seems to be several GPUs",
                            printable(names[i])));
    return reasons;
  }
  return reasons;
}

std::vector<std::uint32_t> SeriesKeeper::silent() const {
  constexpr std::uint64_t kFewestRows = 10;
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < powerless_.size(); ++i) {
    const bool has_any = i < samples_.devices().size() && !samples_.devices()[i].empty();
    if (!has_any && powerless_[i] >= kFewestRows) devices.push_back(i);
  }
  return devices;
}

const Samples& SeriesKeeper::finish() {
  samples_.sort();
  return samples_;
}

void keep_series(const Samples& samples, std::span<const std::string> names, Window window,
                 const std::string& recording, SeriesSink& sink) {
  for (std::size_t i = 0; i < std::min(samples.devices().size(), names.size()); ++i) {
    std::span<const Sample> all = samples.devices()[i];
    const auto before = std::ranges::lower_bound(all, window.start_unix_s, {}, &Sample::unix_s);
    const std::size_t in_front = static_cast<std::size_t>(before - all.begin());
    const std::size_t spare = all.size() - std::min(all.size(), sink.most);
    all = all.subspan(std::min(in_front, spare));
    all = all.first(std::min(all.size(), sink.most));
    if (!all.empty()) sink.kept.push_back({recording, names[i], {all.begin(), all.end()}});
  }
}

Reasons possible_series_doubts(const Samples& samples, std::span<const std::string> names,
                               const SeriesRules& rules) {
  std::vector<DeviceSeries> devices = series_of(samples, names);
  std::erase_if(devices, [](const DeviceSeries& device) { return device.samples.empty(); });
  return possible_series_reasons(devices, rules);
}

Reasons series_doubts(const Recording& recording, SeriesKeeper& series,
                      std::span<const std::string> names, const SeriesRules& rules) {
  std::vector<DeviceSeries> devices = series_of(series.finish(), names);
  const std::vector<energy::ConstantStretch> constant = energy::constant_stretches(devices, rules);
  if (!constant.empty()) {
    try {
      read_states(recording, constant, devices);
    } catch (const std::exception&) {  // it changed meanwhile; the power was read
    }
  }
  std::erase_if(devices, [](const DeviceSeries& device) { return device.samples.empty(); });
  Reasons reasons = series_reasons(devices, rules);
  if (!reasons.contains(Reason::several_gpus_in_one_series)) {
    reasons.add(series.repeated_passes(names, rules.window));
  }
  return reasons;
}

SharedSensors shared_sensors(std::span<const KeptSeries> before, std::span<const KeptSeries> more) {
  std::vector<std::string> certain;
  std::vector<std::string> possible;
  std::vector<std::string> kept;
  std::vector<std::string> others;
  for (const KeptSeries& own : more) {
    for (const KeptSeries& other : before) {
      const Sameness same = sameness(other.samples, own.samples, true);
      if (same == Sameness::none) continue;
      (same == Sameness::certain ? certain : possible)
          .push_back(fmt::format("{} and {}", name_of(other), name_of(own)));
      kept.push_back(printable(other.device));
      others.push_back(printable(own.device));
      break;
    }
  }
  const auto first = [](const std::vector<std::string>& pairs) {
    const std::size_t shown = std::min(pairs.size(), kMostPairs);
    std::string text = fmt::format("{}", fmt::join(std::span(pairs).first(shown), ", of "));
    if (shown < pairs.size()) text += fmt::format(", and of {} more", pairs.size() - shown);
    return text;
  };
  SharedSensors shared;
  if (!certain.empty()) {
    shared.reasons.add(
        Reason::same_sensor,
        fmt::format("the readings of {} are the same at all times: they are of one sensor; {}",
                    first(certain), remedy_of(kept, others)));
  } else if (!possible.empty()) {
    shared.warnings.push_back(fmt::format(
        "the readings of {} are equal at all times, but of few values: they may be of the same GPU, whose energy then counts twice; if so, {}",
        first(possible), remedy_of(kept, others)));
  }
  return shared;
}

}  // namespace aggregate_power
