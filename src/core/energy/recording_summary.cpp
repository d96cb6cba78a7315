// Counts and averages the readings of each device, and finds oddities.
#include "core/energy/recording_summary.h"

#include <numeric>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// A series this short may be equal by chance.
constexpr std::uint64_t kFewSamples = 10;

}  // namespace

void Surveyor::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::no_device) ++unnamed_readings_;
    if (reading.kind != Reading::Kind::power) continue;
    if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
    Device& device = devices_[reading.device];
    const bool is_first = device.samples++ == 0;
    if (!is_first) {
      device.repeats += reading.watts == device.last_w ? 1 : 0;
      device.backwards += reading.unix_s < device.stamps.back() ? 1 : 0;
    }
    device.stamps.push_back(reading.unix_s);
    device.mean.add(reading.watts);
    device.min_w = is_first ? reading.watts : std::min(device.min_w, reading.watts);
    device.max_w = is_first ? reading.watts : std::max(device.max_w, reading.watts);
    device.last_w = reading.watts;
  }
}

std::vector<DeviceSurvey> Surveyor::devices(std::span<const std::string> names) {
  std::vector<DeviceSurvey> surveys;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    if (device.samples == 0) continue;
    std::vector<double> stamps = std::move(device.stamps);
    std::ranges::sort(stamps);
    stamps.erase(std::unique(stamps.begin(), stamps.end()), stamps.end());
    DeviceSurvey survey{names[i],           device.samples, stamps.front(),
                        stamps.back(),      std::nullopt,   std::nullopt,
                        device.mean.mean(), device.min_w,   device.max_w};
    if (stamps.size() >= 2) {
      std::adjacent_difference(stamps.begin(), stamps.end(), stamps.begin());
      const std::span intervals = std::span(stamps).subspan(1);
      std::ranges::sort(intervals);
      const std::size_t middle = intervals.size() / 2;
      survey.median_interval_s = intervals.size() % 2 == 1
                                     ? intervals[middle]
                                     : (intervals[middle - 1] + intervals[middle]) / 2;
      survey.max_gap_s = intervals.back();
    }
    surveys.push_back(std::move(survey));
  }
  std::ranges::sort(surveys, device_name_less, &DeviceSurvey::id);
  return surveys;
}

std::vector<std::string> Surveyor::warnings(std::span<const std::string> names,
                                            PowerUnit::Size read_as,
                                            const PlausibleWatts& plausible) const {
  std::vector<std::string> warnings;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].samples > 0) order.push_back(i);
  }
  std::ranges::sort(order, device_name_less, [&](std::size_t i) { return names[i]; });
  for (const std::size_t i : order) {
    const Device& device = devices_[i];
    const std::string name = printable(names[i]);
    const std::uint64_t samples = device.samples;
    const double mean_w = device.mean.mean();
    if (device.max_w == 0) {
      warnings.push_back(
          fmt::format("only_zeros: device {} reads 0 W in each of its {} samples", name, samples));
    } else if (samples >= kFewSamples && device.min_w == device.max_w) {
      warnings.push_back(fmt::format(
          "constant_series: device {} reads {} W in each of its {} samples; the sensor may be stuck",
          name, device.max_w, samples));
    } else if (samples >= kFewSamples && device.repeats * 2 > samples) {
      warnings.push_back(fmt::format(
          "mostly_repeated: {} of the {} samples of device {} repeat the one before; the sensor is slower than the recorder",
          device.repeats, samples, name));
    }
    if (is_impossible(mean_w, plausible.most_w)) {
      warnings.push_back(fmt::format("implausible_power: device {} has {}", name,
                                     impossible_mean_text(mean_w, read_as, plausible.most_w)));
    } else if (is_impossible(device.max_w, plausible.most_w)) {
      warnings.push_back(fmt::format("implausible_power: device {} has {}", name,
                                     impossible_reading_text(device.max_w, read_as)));
    } else if (device.max_w > 0 && is_doubtful(mean_w, device.max_w, plausible.usual_w)) {
      warnings.push_back(fmt::format(
          "implausible_watts: device {} has a mean of {:.6g} W and at most {:.6g} W; the header's unit may be wrong",
          name, mean_w, device.max_w));
    }
    if (device.backwards > 0) {
      warnings.push_back(
          fmt::format("out_of_order: {} samples of device {} are earlier than the one before",
                      device.backwards, name));
    }
  }
  return warnings;
}

}  // namespace aggregate_power
