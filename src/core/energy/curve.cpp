// Sums energy along a trace once, so that any stretch of it is a difference.
#include "core/energy/curve.h"

#include <bit>

#include <fmt/format.h>

#include "base/text/show_time.h"
#include "core/energy/exact_mean.h"

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

// ---- Integrates straight lines.

namespace {

double area_j(const Sample& left, const Sample& right) {
  return (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2;
}

// From one sample to another.
double areas_j(std::span<const Sample> samples, std::size_t first, std::size_t last) {
  return sum_of(first, last, [&](std::size_t i) { return area_j(samples[i], samples[i + 1]); });
}

}  // namespace

std::size_t PowerLine::first_from(double unix_s) const {
  const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
  return static_cast<std::size_t>(std::ranges::lower_bound(samples_, unix_s, {}, place) -
                                  samples_.begin());
}

std::size_t PowerLine::first_after(double unix_s) const {
  const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
  return static_cast<std::size_t>(std::ranges::upper_bound(samples_, unix_s, {}, place) -
                                  samples_.begin());
}

double PowerLine::watts_at(double at_unix_s) const {
  const std::size_t after = first_from(at_unix_s);
  if (after == 0) return samples_.front().watts;
  if (after == samples_.size()) return samples_.back().watts;
  const Sample& left = samples_[after - 1];
  const Sample& right = samples_[after];
  return left.watts + (at_unix_s - unix_s(after - 1)) / (right.unix_s - left.unix_s) *
                          (right.watts - left.watts);
}

double PowerLine::inside_j(std::size_t first, std::size_t last) const {
  const std::size_t first_block = (first + kBlock - 1) / kBlock;
  const std::size_t end_block = std::min(last / kBlock, blocks_j_.size());
  if (first_block >= end_block) return areas_j(samples_, first, last);
  const double blocks_j =
      sum_of(first_block, end_block, [this](std::size_t block) { return blocks_j_[block]; });
  return areas_j(samples_, first, first_block * kBlock) + blocks_j +
         areas_j(samples_, end_block * kBlock, last);
}

double PowerLine::energy_j(Window window) const {
  const Sample start = {window.start_unix_s, watts_at(window.start_unix_s)};
  const Sample end = {window.end_unix_s, watts_at(window.end_unix_s)};
  const std::size_t first = first_after(start.unix_s);
  const std::size_t last = first_from(end.unix_s);
  if (first >= last) return area_j(start, end);
  return area_j(start, sample(first)) + inside_j(first, last - 1) + area_j(sample(last - 1), end);
}

double PowerLine::later_energy_change_j(Window window, double later_s) const {
  // What a stretch that begins here holds.
  const auto passed_j = [&](double from) {
    return later_s < 0 ? -energy_j({from + later_s, from}) : energy_j({from, from + later_s});
  };
  return passed_j(window.end_unix_s) - passed_j(window.start_unix_s);
}

std::vector<Sample> PowerLine::samples_near(Window stretch) const {
  const std::size_t first = first_from(stretch.start_unix_s);
  const std::size_t end = std::min(first_after(stretch.end_unix_s) + 1, samples_.size());
  std::vector<Sample> near;
  for (std::size_t i = first - std::min<std::size_t>(first, 1); i < end; ++i) {
    near.push_back(sample(i));
  }
  return near;
}

std::vector<double> line_blocks_j(std::span<const Sample> samples) {
  std::vector<double> blocks_j;
  for (std::size_t last = PowerLine::kBlock; last < samples.size(); last += PowerLine::kBlock) {
    blocks_j.push_back(areas_j(samples, last - PowerLine::kBlock, last));
  }
  return blocks_j;
}

bool share_stamps(std::span<const Sample> samples) {
  return std::ranges::adjacent_find(samples, {}, &Sample::unix_s) != samples.end();
}

std::vector<Sample> merged(std::span<const Sample> samples) {
  std::vector<Sample> found;
  std::size_t same = 0;
  for (const Sample& sample : samples) {
    if (!found.empty() && found.back().unix_s == sample.unix_s) {
      ++same;
      found.back().watts += (sample.watts - found.back().watts) / static_cast<double>(same);
    } else {
      found.push_back(sample);
      same = 1;
    }
  }
  return found;
}

// ---- Finds a trace's long gaps once, and looks at both edges of each window.

TraceCoverage::TraceCoverage(const PowerTrace& trace, double max_sample_gap_s)
    : trace_(trace), max_sample_gap_s_(max_sample_gap_s) {
  if (trace.interpolation() == Interpolation::hold) return;
  const std::span<const Sample> samples = trace.samples();
  has_zeros_ = std::ranges::find(samples, 0.0, &Sample::watts) != samples.end();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window between{samples[i - 1].unix_s, samples[i].unix_s};
    if (between.duration_s() > max_sample_gap_s) gaps_.push_back(between);
  }
}

// A GPU that is being set up or torn down reports 0 W: such a sample outside the window says
// nothing about the power at its edge (states_power()).
std::string TraceCoverage::edge_fault(Window window) const {
  if (!has_zeros_) return {};
  const std::span<const Sample> samples = trace_.samples();
  const auto first = std::ranges::lower_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  if (first->unix_s > window.start_unix_s && (first - 1)->watts == 0) {
    return "the last reading before the window is 0 W";
  }
  const auto last = std::ranges::lower_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  if (last->unix_s > window.end_unix_s && last->watts == 0) {
    return "the first reading after the window is 0 W";
  }
  return {};
}

std::string TraceCoverage::fault(Window window) const {
  const std::span<const Sample> samples = trace_.samples();
  if (!(window.start_unix_s < window.end_unix_s)) return "the window takes no time";
  if (window.end_unix_s < samples.front().unix_s) {
    return fmt::format("the window ends {:.3f} s before the first reading",
                       samples.front().unix_s - window.end_unix_s);
  }
  if (window.start_unix_s > samples.back().unix_s) {
    return fmt::format("the window begins {:.3f} s after the last reading",
                       window.start_unix_s - samples.back().unix_s);
  }
  if (window.start_unix_s < samples.front().unix_s) {
    return fmt::format("the window begins {:.3f} s before the first reading",
                       samples.front().unix_s - window.start_unix_s);
  }
  if (window.end_unix_s > samples.back().unix_s) {
    return fmt::format("the window ends {:.3f} s after the last reading",
                       window.end_unix_s - samples.back().unix_s);
  }
  const auto gap = std::ranges::upper_bound(gaps_, window.start_unix_s, {}, &Window::end_unix_s);
  if (gap != gaps_.end() && gap->start_unix_s < window.end_unix_s) {
    return fmt::format("{:.3f} s between two readings, at most {} s", gap->duration_s(),
                       max_sample_gap_s_);
  }
  if (const auto invalid_unix_s = trace_.first_invalid_unix_s(window)) {
    return "invalid_power_sample: a row states no power, or an impossible one, at " +
           unix_and_iso(*invalid_unix_s);
  }
  if (!trace_.covers(window)) return "the recorder was stopped for a while inside the window";
  return edge_fault(window);
}

}  // namespace aggregate_power

// ---- Missing samples

namespace aggregate_power::energy {

SampleHoles holes_of(std::span<const Sample> samples, std::span<const double> blanks_unix_s,
                     Window window, double longest_gap_s) {
  SampleHoles found;
  const auto count = [&](double from, double to) {  // cells in [from, to)
    const auto first = std::ranges::lower_bound(blanks_unix_s, from);
    const auto last = std::ranges::lower_bound(blanks_unix_s, to);
    return first < last ? static_cast<std::size_t>(last - first) : 0;
  };
  found.missing_cells = static_cast<std::size_t>(
      std::ranges::count_if(blanks_unix_s, [&](double unix_s) { return window.contains(unix_s); }));
  if (samples.empty()) return found;
  found.has_start = samples.front().unix_s <= window.start_unix_s;
  found.has_end = samples.back().unix_s >= window.end_unix_s;
  double uncovered_s = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window hole = {samples[i - 1].unix_s, samples[i].unix_s};
    const double from = std::max(hole.start_unix_s, window.start_unix_s);
    const double to = std::min(hole.end_unix_s, window.end_unix_s);
    if (to <= from) continue;
    if (hole.duration_s() > longest_gap_s) {
      uncovered_s += to - from;
      found.holes.push_back(hole);
    } else if (const std::size_t cells = count(from, to); cells > 0) {
      found.isolated_cells += cells;
      found.holes.push_back(hole);
    }
  }
  found.covered_share = 1 - uncovered_s / window.duration_s();
  return found;
}

std::size_t allowed_missing_cells(std::size_t readings, std::size_t missing) {
  return std::max<std::size_t>(2, (readings + missing) / 100);
}

}  // namespace aggregate_power::energy
