// Integrates devices, and judges them against window and gap.
#include "core/energy/integrate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/text/show_time.h"
#include "base/text/characters.h"

namespace aggregate_power {

namespace {

// Of the readings that count.
Window band_of(const IntegrationOptions& options) {
  return {options.window.start_unix_s - options.max_sample_gap_s,
          options.window.end_unix_s + options.max_sample_gap_s};
}

bool counts(const IntegrationOptions& options, Sample sample) {
  return !options.is_power || sample.watts > 0 || options.window.contains(sample.unix_s);
}

Integration unfinished(const IntegrationOptions& options, const WindowRows& rows, bool is_end,
                       std::span<const std::string> names) {
  Integration result;
  result.expected_num_gpus = options.expected_num_gpus;
  result.reasons = rows.reasons(is_end);
  result.boundary_degenerate_rows = rows.boundary_rows().by_name(names);
  return result;
}

constexpr const char* kUnnamedRows = "unknown";

std::size_t boundary_place(std::uint32_t device) {
  return device == kNoDevice ? 0 : std::size_t{device} + 1;
}

}  // namespace

void BoundaryRows::add(std::uint32_t device) {
  const std::size_t place = boundary_place(device);
  if (place >= counts_.size()) counts_.resize(place + 1);
  if (counts_[place]++ == 0) met_.push_back(place);
}

std::uint64_t BoundaryRows::of(std::uint32_t device) const {
  const std::size_t place = boundary_place(device);
  return place < counts_.size() ? counts_[place] : 0;
}

BoundaryRows::ByName BoundaryRows::by_name(std::span<const std::string> devices) const {
  ByName rows;
  for (const std::size_t place : met_) {
    const std::string name = place == 0 ? kUnnamedRows : devices[place - 1];
    // A GPU may have this name too; no other name occurs twice.
    const auto same = name == kUnnamedRows
                          ? std::ranges::find(rows, name, &ByName::value_type::first)
                          : rows.end();
    if (same == rows.end()) {
      rows.emplace_back(name, counts_[place]);
    } else {
      same->second += counts_[place];
    }
  }
  return rows;
}

WindowRows::WindowRows(const IntegrationOptions& options)
    : options_(options), band_(band_of(options)), unplaced_rows_(band_) {
  if (options.expected_num_gpus && *options.expected_num_gpus <= 0) {
    reasons_.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *options.expected_num_gpus));
  }
}

void WindowRows::take_bad_stamp() {
  if (rules_of(options_.contract).allows_rows_without_time) {
    unplaced_rows_.add();
  } else {
    reasons_.add(Reason::invalid_timestamp_sample);
  }
}

// A row near the window that states no device's power.
void WindowRows::take_no_power(const Reading& reading) {
  if (states_power(reading, options_.window)) {
    missing_identity_ = true;
  } else if (!options_.window.contains(reading.unix_s)) {
    boundary_rows_.add(reading.device);
  } else {
    if (options_.keeps_blanks) blanks_.emplace_back(reading.device, reading.unix_s);
    if (reasons_.contains(Reason::invalid_power_sample)) return;
    reasons_.add(Reason::invalid_power_sample, "the first at " + unix_and_iso(reading.unix_s));
  }
}

inline void WindowRows::take_row(const Reading& reading) {
  if (unplaced_rows_.add(reading.unix_s)) reasons_.add(Reason::invalid_timestamp_sample);
  if (!band_.contains(reading.unix_s)) return;
  if (reading.kind != Reading::Kind::power || !counts(options_, {reading.unix_s, reading.watts})) {
    return take_no_power(reading);
  }
  const std::uint32_t device = reading.device;
  if (device < is_met_.size() && is_met_[device] != 0) return;
  if (device >= is_met_.size()) is_met_.resize(device + 1);
  is_met_[device] = 1;
  met_.push_back(device);
}

// Most rows are the power of a device that was met, inside the window.
void WindowRows::take(std::span<const Reading> readings) {
  const Window window = options_.window;
  for (const Reading& reading : readings) {
    const bool is_plain = reading.kind == Reading::Kind::power && window.contains(reading.unix_s) &&
                          reading.device < is_met_.size() && is_met_[reading.device] != 0;
    if (is_plain && unplaced_rows_.add_inside(reading.unix_s)) continue;
    if (reading.kind == Reading::Kind::bad_timestamp) {
      take_bad_stamp();
    } else {
      take_row(reading);
    }
  }
}

Reasons WindowRows::reasons(bool is_end) const {
  Reasons reasons = reasons_;
  if (unplaced_rows_.may_be_inside()) reasons.add(Reason::invalid_timestamp_sample);
  if (is_end && missing_identity_) reasons.add(Reason::gpu_identity_missing);
  return reasons;
}

Integration abandoned(const IntegrationOptions& options, const WindowRows& rows, Reason reason,
                      std::string detail, std::span<const std::string> names) {
  Integration result = unfinished(options, rows, false, names);
  result.reasons.add(reason, std::move(detail));
  return result;
}

void PowerIntegrator::take(const Samples& samples) {
  while (integrators_.size() < samples.devices().size()) {
    integrators_.emplace_back(options_.window);
  }
  for (std::size_t i = 0; i < samples.devices().size(); ++i) {
    DeviceIntegrator& integrator = integrators_[i];
    const std::span<const Sample> near = samples_in(samples.devices()[i], band_of(options_));
    if (near.empty()) continue;
    is_out_of_order_ = is_out_of_order_ || integrator.is_behind(near.front().unix_s);
    if (is_out_of_order_) return;
    const std::span<const Sample> inside = samples_in(near, options_.window);
    const auto begin = inside.empty() ? near.end() : near.begin() + (inside.data() - near.data());
    const auto add_outside = [&](auto from, auto to) {
      for (; from != to; ++from) {
        if (counts(options_, *from)) integrator.add(from->unix_s, from->watts);
      }
    };
    add_outside(near.begin(), begin);
    integrator.add(inside);
    add_outside(begin + std::ssize(inside), near.end());
  }
}

Integration PowerIntegrator::finish(const WindowRows& rows, std::span<const std::string> names) {
  Integration result = unfinished(options_, rows, true, names);
  std::vector<std::uint32_t> order(rows.met().begin(), rows.met().end());
  if (order.empty()) {
    result.reasons.add(Reason::no_usable_power_samples);
    return result;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return device_name_less(names[a], names[b]);
  });
  const auto expected = options_.expected_num_gpus;
  if (expected && *expected > 0 && static_cast<std::int64_t>(order.size()) != *expected) {
    result.reasons.add(Reason::expected_gpu_count_mismatch,
                       fmt::format("{} seen, {} expected", order.size(), *expected));
  }

  double total_j = 0;
  bool complete = true;
  for (const std::uint32_t i : order) {
    const DeviceEnergy gpu = integrators_[i].finish();
    std::optional<Reason> issue;
    std::string detail;
    const std::string name = printable(names[i]);
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
      const std::uint64_t outside = rows.boundary_rows().of(i);
      if (outside > 0 && integrators_[i].has_only_zeros()) {
        detail = fmt::format(
            "GPU {} states 0 W in all its {} rows in and near the window: it has no sensor, or was "
            "not used; --gpus leaves it out if the load did not use it",
            name, gpu.samples + outside);
      } else if (outside > 0) {
        detail += fmt::format("; rows outside it without power above 0 W: {}", outside);
      }
    } else if (gpu.max_sample_gap_s > options_.max_sample_gap_s) {
      issue = Reason::sampling_gap_exceeded;
      detail = fmt::format("GPU {}: {:.3f} s, at most {} s", name, gpu.max_sample_gap_s,
                           options_.max_sample_gap_s);
    }
    if (issue) result.reasons.add(*issue, detail);
    if (gpu.bracketed) total_j += gpu.energy_j;
    complete = complete && gpu.bracketed;
    result.gpu_ids.push_back(names[i]);
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
