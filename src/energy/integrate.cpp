// Integrates devices, and judges them against window and gap.
#include "energy/integrate.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/text/shown_time.h"
#include "base/text/unicode.h"
#include "energy/interpolation.h"

namespace aggregate_power {

Sample DeviceIntegrator::finished_stamp() {
  const double watts = same_stamp_->mean();
  same_stamp_.reset();
  return {stamp_.unix_s, watts};
}

void DeviceIntegrator::take_near_edge(Sample sample) {
  const bool is_first = result_.samples++ == 0;
  if (is_first) {
    result_.first_unix_s = sample.unix_s;
  } else if (sample.unix_s > window_.start_unix_s && before_.unix_s < window_.end_unix_s) {
    result_.max_sample_gap_s = std::max(result_.max_sample_gap_s, sample.unix_s - before_.unix_s);
  }
  if (is_first) before_ = sample;
  if (!done_) integrate_to(sample);
  before_ = sample;
}

void DeviceIntegrator::integrate_to(Sample sample) {
  if (!inside_) {
    if (sample.unix_s < window_.start_unix_s) return;
    inside_ = true;
    const bool counts_before =
        before_.unix_s < window_.start_unix_s && sample.unix_s > window_.start_unix_s;
    if (counts_before && before_.watts > kMostBoardWatts) note_odd(before_);
    point_ = {window_.start_unix_s, watts_at(window_.start_unix_s, before_, sample)};
  }
  note_if_odd(sample);
  if (sample.unix_s > window_.start_unix_s && sample.unix_s < window_.end_unix_s) {
    result_.energy_j += trapezoid_j(point_, sample);
    point_ = sample;
    is_steady_ = true;
  }
  if (sample.unix_s >= window_.end_unix_s) {
    const Sample end = {window_.end_unix_s, watts_at(window_.end_unix_s, before_, sample)};
    result_.energy_j += trapezoid_j(is_steady_ ? before_ : point_, end);
    is_steady_ = false;
    done_ = true;
  }
}

void DeviceIntegrator::note_odd(Sample sample) {
  constexpr double kOnW = 15;
  constexpr std::uint32_t kMostLoneZeros = 3;
  if (sample.watts > kMostBoardWatts) {
    ++result_.absurd_samples;
    if (sample.watts > result_.highest_w) {
      result_.highest_w = sample.watts;
      result_.highest_unix_s = sample.unix_s;
    }
  }
  if (sample.watts == 0) {
    if (zeros_++ == 0) is_on_before_zeros_ = before_.watts > kOnW;
    return;
  }
  const bool are_lone = is_on_before_zeros_ && zeros_ <= kMostLoneZeros && sample.watts > kOnW;
  if (are_lone) result_.lone_zeros += zeros_;
  zeros_ = 0;
}

std::size_t DeviceIntegrator::add_steady(std::span<const Reading> readings) {
  if (!is_steady_ || same_stamp_ || zeros_ > 0 || is_odd(stamp_.watts)) return 0;
  Sample before = before_;
  Sample stamp = stamp_;
  double energy_j = result_.energy_j;
  double max_gap_s = result_.max_sample_gap_s;
  std::size_t count = 0;
  for (const Reading& reading : readings) {
    const bool is_steady = reading.kind == Reading::Kind::power &&
                           reading.device == readings.front().device &&
                           reading.unix_s > stamp.unix_s && reading.unix_s < window_.end_unix_s &&
                           !is_odd(reading.watts);
    if (!is_steady) break;
    max_gap_s = std::max(max_gap_s, stamp.unix_s - before.unix_s);
    energy_j += trapezoid_j(before, stamp);
    before = stamp;
    stamp = {reading.unix_s, reading.watts};
    ++count;
  }
  before_ = before;
  stamp_ = stamp;
  result_.energy_j = energy_j;
  result_.max_sample_gap_s = max_gap_s;
  result_.samples += count;
  return count;
}

DeviceEnergy DeviceIntegrator::finish() {
  if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
  has_stamp_ = false;
  result_.last_unix_s = before_.unix_s;
  result_.bracketed = result_.samples >= 2 && result_.first_unix_s <= window_.start_unix_s &&
                      result_.last_unix_s >= window_.end_unix_s;
  if (!result_.bracketed) result_.energy_j = result_.max_sample_gap_s = 0;
  return result_;
}

PowerIntegrator::PowerIntegrator(const IntegrationOptions& options)
    : options_(options),
      band_{options.window.start_unix_s - options.max_sample_gap_s,
            options.window.end_unix_s + options.max_sample_gap_s},
      unplaced_rows_(band_) {
  if (options.expected_num_gpus && *options.expected_num_gpus <= 0) {
    reasons_.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *options.expected_num_gpus));
  }
}

void PowerIntegrator::take_bad_stamp() {
  if (options_.contract == Contract::august) {
    reasons_.add(Reason::invalid_timestamp_sample);
  } else {
    unplaced_rows_.add();
  }
}

void PowerIntegrator::meet(std::uint32_t device) {
  if (device >= integrators_.size()) integrators_.resize(device + 1);
  integrators_[device].emplace(options_.window);
  met_.push_back(device);
}

inline void PowerIntegrator::take_power(const Reading& reading) {
  const std::uint32_t device = reading.device;
  if (device >= integrators_.size() || !integrators_[device]) meet(device);
  if (!integrators_[device]->add(reading.unix_s, reading.watts)) out_of_order_ = true;
}

// A row near the window that states no device's power.
void PowerIntegrator::take_no_power(const Reading& reading) {
  if (states_power(reading, options_.window)) {
    missing_identity_ = true;
  } else if (!options_.window.contains(reading.unix_s)) {
    if (!is_second_pass_) boundary_rows_.add(reading.device);
  } else if (!reasons_.contains(Reason::invalid_power_sample)) {
    reasons_.add(Reason::invalid_power_sample, "the first at " + unix_and_iso(reading.unix_s));
  }
}

void PowerIntegrator::note_place(const Reading& reading) {
  if (!is_second_pass_ && unplaced_rows_.add(reading.unix_s)) {
    reasons_.add(Reason::invalid_timestamp_sample);
  }
}

// Returns whether it is a power inside the window.
inline bool PowerIntegrator::take_one(const Reading& reading) {
  if (reading.kind == Reading::Kind::bad_timestamp) {
    take_bad_stamp();
    return false;
  }
  note_place(reading);
  if (reading.unix_s < band_.start_unix_s || reading.unix_s > band_.end_unix_s) return false;
  if (reading.kind != Reading::Kind::power ||
      (options_.is_power && !states_power(reading, options_.window))) {
    take_no_power(reading);
    return false;
  }
  take_power(reading);
  return options_.window.contains(reading.unix_s);
}

// In some recordings each device has many readings in a row. Returns how many were taken from the
// front. Their times rise, so the first and the last one say where they are.
std::size_t PowerIntegrator::take_steady(std::span<const Reading> readings) {
  const std::uint32_t device = readings.front().device;
  if (readings.size() == 1 || readings[1].device != device) return 0;
  if (device >= integrators_.size() || !integrators_[device]) return 0;
  const std::size_t count = integrators_[device]->add_steady(readings);
  if (count == 0) return 0;
  note_place(readings.front());
  note_place(readings[count - 1]);
  return count;
}

void PowerIntegrator::take(std::span<const Reading> readings) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double inside_unix_s = kNone;  // the time of the reading before, if that was inside the window
  while (!readings.empty()) {
    const Reading& reading = readings.front();
    std::size_t count = 1;
    if (reading.kind == Reading::Kind::power && reading.unix_s == inside_unix_s) {
      take_power(reading);
    } else if (const std::size_t steady = take_steady(readings); steady > 0) {
      count = steady;
      inside_unix_s = readings[count - 1].unix_s;
    } else {
      inside_unix_s = take_one(reading) ? reading.unix_s : kNone;
    }
    readings = readings.subspan(count);
  }
}

void PowerIntegrator::start_over() {
  for (const std::uint32_t device : met_) integrators_[device].emplace(options_.window);
  out_of_order_ = false;
  is_second_pass_ = true;
}

Integration PowerIntegrator::unfinished(std::span<const std::string> devices) const {
  Integration result;
  result.expected_num_gpus = options_.expected_num_gpus;
  result.reasons = reasons_;
  if (unplaced_rows_.may_be_inside()) result.reasons.add(Reason::invalid_timestamp_sample);
  result.boundary_degenerate_rows = boundary_rows_.by_name(devices);
  return result;
}

Integration PowerIntegrator::abandon(Reason reason, std::string detail,
                                     std::span<const std::string> devices) const {
  Integration result = unfinished(devices);
  result.reasons.add(reason, std::move(detail));
  return result;
}

Integration PowerIntegrator::finish(std::span<const std::string> devices) {
  Integration result = unfinished(devices);
  if (missing_identity_) result.reasons.add(Reason::gpu_identity_missing);

  std::vector<std::uint32_t> order = met_;
  if (order.empty()) {
    result.reasons.add(Reason::no_usable_power_samples);
    return result;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return device_name_less(devices[a], devices[b]);
  });
  const auto expected = options_.expected_num_gpus;
  if (expected && *expected > 0 && static_cast<std::int64_t>(order.size()) != *expected) {
    result.reasons.add(Reason::expected_gpu_count_mismatch,
                       fmt::format("{} seen, {} expected", order.size(), *expected));
  }

  double total_j = 0;
  bool complete = true;
  for (const std::uint32_t i : order) {
    const DeviceEnergy gpu = integrators_[i]->finish();
    std::optional<Reason> issue;
    std::string detail;
    const std::string name = printable(devices[i]);
    if (gpu.samples < 2) {
      issue = Reason::insufficient_power_samples;
      detail = fmt::format("GPU {}: 1 sample", name);
    } else if (!gpu.bracketed) {
      issue = Reason::benchmark_window_not_bracketed;
      const double late_s = gpu.first_unix_s - options_.window.start_unix_s;
      const double early_s = options_.window.end_unix_s - gpu.last_unix_s;
      detail = late_s > 0
                   ? fmt::format("GPU {}: first sample {:.3f} s after the start", name, late_s)
                   : fmt::format("GPU {}: last sample {:.3f} s before the end", name, early_s);
      if (const std::uint64_t rows = boundary_rows_.of(i)) {
        detail += fmt::format("; rows outside it without power above 0 W: {}", rows);
      }
    } else if (gpu.max_sample_gap_s > options_.max_sample_gap_s) {
      issue = Reason::sampling_gap_exceeded;
      detail = fmt::format("GPU {}: {:.3f} s, at most {} s", name, gpu.max_sample_gap_s,
                           options_.max_sample_gap_s);
    }
    if (issue) result.reasons.add(*issue, detail);
    if (gpu.bracketed) total_j += gpu.energy_j;
    complete = complete && gpu.bracketed;
    result.gpu_ids.push_back(devices[i]);
    result.gpus.push_back(gpu);
    result.issues.push_back(issue);
  }
  if (complete) {
    result.total_gpu_energy_j = total_j;
    result.avg_total_gpu_power_w = total_j / options_.window.duration_s();
    result.avg_power_w = *result.avg_total_gpu_power_w / static_cast<double>(order.size());
  }
  return result;
}

}  // namespace aggregate_power
