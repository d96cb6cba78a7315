// Sums energy along a trace once, so that any stretch of it is a difference.
#include "core/energy/curve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/energy/exact_mean.h"
#include "core/energy/interpolation.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kBlock = 32;

// Of readings with one stamp. Instances of one GPU, and readings within a stamp's resolution, are
// closer.
constexpr double kFarApart = 0.1;

// Returns how many stamps have samples that are far apart.
std::uint64_t join_equal_stamps(std::vector<Sample>& samples) {
  std::uint64_t disagreeing = 0;
  std::ranges::stable_sort(samples, {}, &Sample::unix_s);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t end = i + 1;
    while (end < samples.size() && samples[end].unix_s == samples[i].unix_s) ++end;
    double watts = samples[i].watts;
    if (end - i > 1) {
      ExactMean mean;
      for (std::size_t j = i; j < end; ++j) mean.add(samples[j].watts);
      watts = mean.mean();
      const auto [low, high] =
          std::minmax_element(samples.begin() + static_cast<std::ptrdiff_t>(i),
                              samples.begin() + static_cast<std::ptrdiff_t>(end),
                              [](const Sample& a, const Sample& b) { return a.watts < b.watts; });
      if (high->watts - low->watts > kFarApart * watts) ++disagreeing;
    }
    samples[kept++] = {samples[i].unix_s, watts};
    i = end;
  }
  samples.resize(kept);
  return disagreeing;
}

// The energy from a sample to an instant before the next one, or at it.
double stretch_j(Sample left, Sample right, double to, Interpolation interpolation) {
  const double watts = interpolation == Interpolation::hold
                           ? left.watts
                           : (left.watts + watts_at(to, left, right)) / 2;
  return (to - left.unix_s) * watts;
}

}  // namespace

PowerTrace::PowerTrace(std::string device, std::vector<Sample> samples, Interpolation interpolation,
                       std::span<const Window> pauses, std::vector<double> invalid_unix_s)
    : device_(std::move(device)),
      samples_(std::move(samples)),
      invalid_unix_s_(std::move(invalid_unix_s)),
      interpolation_(interpolation) {
  std::ranges::sort(invalid_unix_s_);
  disagreeing_ = join_equal_stamps(samples_);
  for (const Window& pause : pauses) note(pause);
  std::ranges::sort(behind_pauses_);
  energies_.resize(samples_.size());
  for (std::size_t i = 1; i < samples_.size(); ++i) {
    const double more_j = is_pause_before(i) ? 0
                                             : stretch_j(samples_[i - 1], samples_[i],
                                                         samples_[i].unix_s, interpolation_);
    const Energy& before = energies_[i - 1];
    const double sum_j = before.high_j + more_j;
    const double lost_j = before.high_j >= more_j ? (before.high_j - sum_j) + more_j
                                                  : (more_j - sum_j) + before.high_j;
    energies_[i] = {sum_j, before.low_j + lost_j};
  }
  highest_w_.emplace_back((samples_.size() + kBlock - 1) / kBlock, 0.0);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    double& block_w = highest_w_[0][i / kBlock];
    block_w = std::max(block_w, samples_[i].watts);
  }
  for (std::size_t blocks = 2; blocks <= highest_w_[0].size(); blocks *= 2) {
    const std::vector<double>& halves_w = highest_w_.back();
    std::vector<double> joined_w(highest_w_[0].size() - blocks + 1);
    for (std::size_t i = 0; i < joined_w.size(); ++i) {
      joined_w[i] = std::max(halves_w[i], halves_w[i + blocks / 2]);
    }
    highest_w_.push_back(std::move(joined_w));
  }
}

void PowerTrace::note(Window pause) {
  const auto next = std::ranges::upper_bound(samples_, pause.start_unix_s, {}, &Sample::unix_s);
  for (auto i = static_cast<std::size_t>(next - samples_.begin()); i < samples_.size(); ++i) {
    if (i == 0) continue;
    if (samples_[i - 1].unix_s >= pause.end_unix_s) return;
    behind_pauses_.push_back(i);
  }
}

std::optional<double> PowerTrace::first_invalid_unix_s(Window window) const {
  const auto first = std::ranges::lower_bound(invalid_unix_s_, window.start_unix_s);
  if (first == invalid_unix_s_.end() || *first > window.end_unix_s) return std::nullopt;
  return *first;
}

bool PowerTrace::covers(Window window) const {
  if (samples_.empty() || samples_.front().unix_s > window.start_unix_s ||
      samples_.back().unix_s < window.end_unix_s) {
    return false;
  }
  const auto next = std::ranges::upper_bound(samples_, window.start_unix_s, {}, &Sample::unix_s);
  const auto paused =
      std::ranges::lower_bound(behind_pauses_, static_cast<std::size_t>(next - samples_.begin()));
  return paused == behind_pauses_.end() || samples_[*paused - 1].unix_s >= window.end_unix_s;
}

PowerTrace::Energy PowerTrace::until(double unix_s) const {
  const auto next = std::ranges::upper_bound(samples_, unix_s, {}, &Sample::unix_s);
  if (next == samples_.begin()) return {};
  const auto last = static_cast<std::size_t>(next - samples_.begin()) - 1;
  Energy energy = energies_[last];
  if (next != samples_.end() && !is_pause_before(last + 1)) {
    energy.low_j += stretch_j(samples_[last], *next, unix_s, interpolation_);
  }
  return energy;
}

double PowerTrace::energy_j(Window window) const {
  if (samples_.size() < 2 || !(window.start_unix_s < window.end_unix_s)) return 0;
  const double from = std::max(window.start_unix_s, samples_.front().unix_s);
  const double to = std::min(window.end_unix_s, samples_.back().unix_s);
  const auto next = std::ranges::upper_bound(samples_, from, {}, &Sample::unix_s);
  // Inside one stretch, which may be much longer than the window.
  if (next == samples_.end() || to <= next->unix_s) {
    const bool is_pause = is_pause_before(static_cast<std::size_t>(next - samples_.begin()));
    return to <= from || is_pause ? 0 : (to - from) * mean_w(from, to);
  }
  const Energy end = until(window.end_unix_s);
  const Energy start = until(window.start_unix_s);
  return (end.high_j - start.high_j) + (end.low_j - start.low_j);
}

// Between two instants with no sample between them.
double PowerTrace::mean_w(double from, double to) const {
  const double watts = watts_at(from);
  return interpolation_ == Interpolation::hold ? watts : (watts + watts_at(to)) / 2;
}

double PowerTrace::watts_at(double unix_s) const {
  const auto right = std::ranges::lower_bound(samples_, unix_s, {}, &Sample::unix_s);
  if (right == samples_.end()) return samples_.back().watts;
  if (right == samples_.begin() || right->unix_s == unix_s) return right->watts;
  if (is_pause_before(static_cast<std::size_t>(right - samples_.begin()))) return 0;
  return interpolation_ == Interpolation::hold
             ? (right - 1)->watts
             : aggregate_power::watts_at(unix_s, *(right - 1), *right);
}

double PowerTrace::peak_w(Window window) const {
  if (samples_.empty()) return 0;
  const double start = std::max(window.start_unix_s, samples_.front().unix_s);
  const double end = std::min(window.end_unix_s, samples_.back().unix_s);
  if (start > end) return 0;
  const auto at = [&](double unix_s, auto bound) {
    return static_cast<std::size_t>(bound(samples_, unix_s, {}, &Sample::unix_s) -
                                    samples_.begin());
  };
  const std::size_t first = at(start, std::ranges::lower_bound);
  const std::size_t behind = at(end, std::ranges::upper_bound);
  return std::max({watts_at(start), watts_at(end), highest_w(first, behind)});
}

double PowerTrace::highest_w(std::size_t begin, std::size_t end) const {
  double highest_w = 0;
  const auto look_at = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) highest_w = std::max(highest_w, samples_[i].watts);
  };
  const std::size_t first = (begin + kBlock - 1) / kBlock;
  const std::size_t behind = end / kBlock;
  if (first >= behind) {
    look_at(begin, end);
    return highest_w;
  }
  look_at(begin, first * kBlock);
  look_at(behind * kBlock, end);
  // Two stretches of a power of two that cover all blocks, possibly some of them twice.
  const auto level = static_cast<std::size_t>(std::bit_width(behind - first) - 1);
  const std::vector<double>& stretches_w = highest_w_[level];
  return std::max({highest_w, stretches_w[first], stretches_w[behind - (std::size_t{1} << level)]});
}

}  // namespace aggregate_power
