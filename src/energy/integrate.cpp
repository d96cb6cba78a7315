// Integrates devices, and judges them against window and gap.
#include "energy/integrate.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/text/shown_time.h"
#include "base/text/unicode.h"

namespace aggregate_power {

PowerIntegrator::PowerIntegrator(const IntegrationOptions& options)
    : options_(options),
      band_{options.window.start_unix_s - options.max_sample_gap_s,
            options.window.end_unix_s + options.max_sample_gap_s},
      rounds_(options.window),
      unplaced_rows_(band_) {
  if (options.expected_num_gpus && *options.expected_num_gpus <= 0) {
    reasons_.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *options.expected_num_gpus));
  }
}

void PowerIntegrator::take_bad_stamp() {
  if (rules_of(options_.contract).allows_rows_without_time) {
    unplaced_rows_.add();
  } else {
    reasons_.add(Reason::invalid_timestamp_sample);
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

// Returns how many were taken from the front. They are in order of time: the first and the last one
// say where all are.
std::size_t PowerIntegrator::take_rounds(std::span<const Reading> readings) {
  const std::size_t count = rounds_.add(readings, integrators_);
  if (count == 0) return 0;
  note_place(readings.front());
  note_place(readings[count - 1]);
  return count;
}

void PowerIntegrator::take_singly(std::span<const Reading> readings) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double inside_unix_s = kNone;  // the time of the reading before, if that was inside the window
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::power && reading.unix_s == inside_unix_s) {
      take_power(reading);
    } else {
      inside_unix_s = take_one(reading) ? reading.unix_s : kNone;
    }
  }
}

void PowerIntegrator::take(std::span<const Reading> readings) {
  constexpr std::size_t kSingly = 64;  // before rounds are looked for again
  while (!readings.empty()) {
    std::size_t count = take_rounds(readings);
    if (count == 0) {
      count = std::min(kSingly, readings.size());
      take_singly(readings.first(count));
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
