// Fits loops to the stamps that matter.
#include "energy/uncertainty/uncut_stamps.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/system/parallel.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kManyStamps = 900;
constexpr double kNearEdge_s = 150;

// Where whole-second stamps cannot be fitted to a loop: half a second late, give or take.
constexpr double kCutMiddle_s = 0.5;
constexpr double kCutUncertainty_s = 0.29;

}  // namespace

UncutStamps::UncutStamps(std::span<const Sample> samples, Window window, std::size_t most_threads)
    : window_(window),
      parts_(parts_in(samples)),
      uncertainty_{kCutUncertainty_s, std::sqrt(2.0) * kCutUncertainty_s} {
  std::vector<std::optional<RegularLoop>> loops(parts_.size());
  in_parallel(parts_.size(), most_threads,
              [&](std::size_t i) { loops[i] = regular_loop(parts_[i].stamps); });
  if (!std::ranges::all_of(loops, [](const auto& loop) { return loop.has_value(); })) return;
  uncertainty_ = {};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    RegularLoop& loop = *loops[i];
    uncertainty_.place_s = std::max(uncertainty_.place_s, loop.uncertainty_s);
    uncertainty_.span_s = loop.span_uncertainty_s;
    parts_[i].instants = std::move(loop.unix_s);
  }
  // The two edges are off independently.
  if (parts_.size() > 1) uncertainty_.span_s = std::sqrt(2.0) * uncertainty_.place_s;
}

std::vector<UncutStamps::FittedPart> UncutStamps::parts_in(std::span<const Sample> samples) const {
  std::vector<FittedPart> parts;
  const auto add = [&](auto first, auto end) {
    FittedPart& part = parts.emplace_back();
    part.first = static_cast<std::size_t>(first - samples.begin());
    for (auto sample = first; sample != end; ++sample) part.stamps.push_back(sample->unix_s);
  };
  if (samples.size() < kManyStamps || window_.duration_s() < 3 * kNearEdge_s) {
    add(samples.begin(), samples.end());
    return parts;
  }
  for (const double edge : {window_.start_unix_s, window_.end_unix_s}) {
    add(std::ranges::lower_bound(samples, edge - kNearEdge_s, {}, &Sample::unix_s),
        std::ranges::upper_bound(samples, edge + kNearEdge_s, {}, &Sample::unix_s));
  }
  return parts;
}

bool UncutStamps::is_same_of(std::span<const Sample> samples) const {
  return std::ranges::equal(parts_, parts_in(samples), [](const auto& one, const auto& other) {
    return one.first == other.first && one.stamps == other.stamps;
  });
}

void UncutStamps::place(std::vector<CounterSample>& counter) const {
  auto part = parts_.begin();
  std::size_t k = 0;
  double last_stamp = NAN;
  for (CounterSample& sample : counter) {
    // Two rounds may share a second.
    const bool is_next_of_second = sample.unix_s == last_stamp && part != parts_.end() &&
                                   k + 1 < part->stamps.size() && part->stamps[k + 1] == last_stamp;
    k += is_next_of_second ? 1 : 0;
    last_stamp = sample.unix_s;
    while (part != parts_.end() &&
           (k == part->instants.size() || part->stamps[k] < sample.unix_s)) {
      const bool is_last = k == part->instants.size();
      k = is_last ? 0 : k + 1;
      part += is_last ? 1 : 0;
    }
    const bool is_of_loop = part != parts_.end() && part->stamps[k] == sample.unix_s;
    sample.unix_s = is_of_loop ? part->instants[k] : sample.unix_s + kCutMiddle_s;
  }
}

void UncutStamps::place(GpuReadings& gpu) const {
  place(gpu.counter);
  for (Sample& sample : gpu.samples) sample.unix_s += kCutMiddle_s;
  for (const FittedPart& part : parts_) {
    for (std::size_t k = 0; k < part.instants.size(); ++k) {
      gpu.samples[part.first + k].unix_s = part.instants[k];
    }
  }
}

}  // namespace aggregate_power
