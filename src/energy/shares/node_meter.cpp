// Turns each witness into a trace of power, and looks at its gaps.
#include "energy/shares/node_meter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text/lists.h"
#include "base/text/show_time.h"

namespace aggregate_power {
namespace {

constexpr double kTotalResolutionS = 1;
// Sensors of nodes are read less often than GPUs. Readings this far apart, or a tenth of the
// window, are accepted.
constexpr double kMaxWitnessGapS = 10;
constexpr double kMaxGapOfWindow = 0.1;
// More than a part with a counter that wraps draws.
constexpr double kMostCounterW = 1000;
// A counter that wraps at an energy that is only assumed must have been this near to it, and its
// power at most so many times that beside it, or that many times less.
constexpr double kNearWrap = 0.9;
constexpr double kMostPowerRatio = 3;

using WitnessReading = NodeWitness::Reading;

// The mean power in the intervals before and after that which begins at `i`, of those in which the
// counter did not fall.
std::optional<double> power_beside(const std::vector<WitnessReading>& readings, std::size_t i) {
  double joules = 0;
  double seconds = 0;
  const auto add = [&](const WitnessReading& from, const WitnessReading& to) {
    if (to.value < from.value) return;
    joules += to.value - from.value;
    seconds += to.unix_s - from.unix_s;
  };
  if (i > 0) add(readings[i - 1], readings[i]);
  if (i + 2 < readings.size()) add(readings[i + 1], readings[i + 2]);
  return seconds > 0 ? std::optional(joules / seconds) : std::nullopt;
}

// The energy between the counter's reading `i` and the next. Returns nullopt if `why` it is not
// known.
std::optional<double> difference_j(const NodeWitness& witness,
                                   const std::vector<WitnessReading>& readings, std::size_t i,
                                   std::string& why) {
  const WitnessReading& from = readings[i];
  const WitnessReading& to = readings[i + 1];
  const double seconds = to.unix_s - from.unix_s;
  if (!witness.wraps_j.empty() && seconds > witness.wraps_j.front() / kMostCounterW) {
    why = fmt::format("{:.3f} s between two readings, in which the counter may have wrapped unseen",
                      seconds);
    return std::nullopt;
  }
  if (to.value >= from.value) return to.value - from.value;
  const auto beside_w = witness.states_wrap ? std::nullopt : power_beside(readings, i);
  for (const double wrap_j : witness.wraps_j) {
    const double joules = wrap_j - from.value + to.value;
    const bool is_like_beside = beside_w && joules <= kMostPowerRatio * *beside_w * seconds &&
                                *beside_w * seconds <= kMostPowerRatio * joules;
    const bool is_wrap = witness.states_wrap || (from.value > kNearWrap * wrap_j && is_like_beside);
    if (from.value <= wrap_j && is_wrap && joules <= seconds * kMostCounterW) return joules;
  }
  why = fmt::format("the counter was set back at {}", unix_and_iso(to.unix_s));
  return std::nullopt;
}

}  // namespace

WitnessMeter::WitnessMeter(const NodeWitness& witness)
    : witness_(witness),
      trace_(witness.kind == NodeWitness::Kind::counter ? trace_of_counter() : trace_of_power()),
      coverage_(trace_, std::numeric_limits<double>::infinity()) {
  const std::span<const Sample> samples = trace_.samples();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window between{samples[i - 1].unix_s, samples[i].unix_s};
    if (between.duration_s() > kMaxWitnessGapS) gaps_.push_back(between);
  }
}

// The mean power between two readings holds from the one to the other, so that the energy of the
// trace is the difference of the counter.
PowerTrace WitnessMeter::trace_of_counter() {
  const std::vector<WitnessReading> readings = ordered_readings(witness_.readings);
  std::vector<Sample> samples;
  samples.reserve(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    samples.push_back({readings[i].unix_s, 0});
    if (i + 1 == readings.size()) break;
    std::string why;
    const auto joules = difference_j(witness_, readings, i, why);
    const Window between{readings[i].unix_s, readings[i + 1].unix_s};
    if (joules) {
      samples.back().watts = *joules / between.duration_s();
    } else {
      unknown_.push_back({between, std::move(why)});
    }
  }
  return {witness_.name, std::move(samples), Interpolation::hold};
}

PowerTrace WitnessMeter::trace_of_power() const {
  auto samples = mapped(witness_.readings, [](const WitnessReading& reading) {
    return Sample{reading.unix_s, reading.value};
  });
  return {witness_.name, std::move(samples), Interpolation::linear};
}

// A counter misses nothing between two readings, unless an edge is there.
std::string WitnessMeter::gap_fault(Window window) const {
  const double most_s = std::max(kMaxWitnessGapS, kMaxGapOfWindow * window.duration_s());
  const auto after_start = [&](Window between) {
    return between.end_unix_s <= window.start_unix_s;
  };
  const auto before_end = [&](Window between) { return between.start_unix_s < window.end_unix_s; };
  const auto first = std::ranges::partition_point(gaps_, after_start);
  const auto end = std::partition_point(first, gaps_.end(), before_end);
  const bool is_power = witness_.kind == NodeWitness::Kind::power;
  const auto misses = [&](Window gap) {
    const bool has_edge =
        gap.start_unix_s < window.start_unix_s || window.end_unix_s < gap.end_unix_s;
    return gap.duration_s() > most_s && (is_power || has_edge);
  };
  auto gap = is_power ? std::find_if(first, end, misses) : first;
  // Of a counter's gaps only the first and the last can have an edge.
  if (!is_power && first != end && !misses(*first)) {
    gap = misses(*std::prev(end)) ? std::prev(end) : end;
  }
  if (gap == end) return {};
  return fmt::format("{:.3f} s between two readings, at most {:.3f} s", gap->duration_s(), most_s);
}

std::vector<NodeWitness::Reading> ordered_readings(std::vector<NodeWitness::Reading> readings) {
  std::ranges::stable_sort(readings, {}, &WitnessReading::unix_s);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const bool is_last = i + 1 == readings.size() || readings[i + 1].unix_s > readings[i].unix_s;
    if (is_last) readings[kept++] = readings[i];
  }
  readings.resize(kept);
  return readings;
}

std::vector<double> leave_zeros_out(NodeWitness& meter) {
  std::vector<double> zeros_unix_s;
  if (meter.kind != NodeWitness::Kind::power) return zeros_unix_s;
  std::erase_if(meter.readings, [&](const WitnessReading& reading) {
    if (reading.value == 0) zeros_unix_s.push_back(reading.unix_s);
    return reading.value == 0;
  });
  return zeros_unix_s;
}

WitnessEnergy WitnessMeter::measure(Window window) const {
  if (witness_.kind == NodeWitness::Kind::total) {
    const Window& span = witness_.span;
    const bool is_span = std::abs(window.start_unix_s - span.start_unix_s) <= kTotalResolutionS &&
                         std::abs(window.end_unix_s - span.end_unix_s) <= kTotalResolutionS;
    if (is_span) return {{}, witness_.total_j};
    return {fmt::format("it is one total, from {} to {}", unix_and_iso(span.start_unix_s),
                        unix_and_iso(span.end_unix_s))};
  }
  if (trace_.samples().size() < 2) return {"it has fewer than two readings"};
  WitnessEnergy energy;
  energy.fault = coverage_.fault(window);
  if (!energy.fault.empty()) return energy;
  const auto is_before = [&](const Unknown& unknown) {
    return unknown.between.end_unix_s <= window.start_unix_s;
  };
  const auto unknown = std::ranges::partition_point(unknown_, is_before);
  if (unknown != unknown_.end() && unknown->between.start_unix_s < window.end_unix_s) {
    return {unknown->why};
  }
  energy.fault = gap_fault(window);
  if (energy.fault.empty()) energy.energy_j = trace_.energy_j(window);
  return energy;
}

}  // namespace aggregate_power
