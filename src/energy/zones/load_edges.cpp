// Compares the mean power on both sides of each second.
#include "energy/zones/load_edges.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text/lists.h"
#include "core/energy/recording_summary.h"

namespace aggregate_power {
namespace {

constexpr double kVisibleNoises = 3.5;  // an edge must be this many times as high as its noise

double mean_w(const PowerCurve::Second& second) {
  return second.sum_w / static_cast<double>(second.readings);
}

// The indices of all seconds with readings.
std::vector<std::size_t> filled_seconds(const PowerCurve& curve) {
  std::vector<std::size_t> filled;
  const auto& seconds = curve.seconds;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i].readings > 0) filled.push_back(i);
  }
  return filled;
}

std::size_t median_interval_s(const std::vector<std::size_t>& filled) {
  std::vector<std::size_t> distances;
  for (std::size_t i = 1; i < filled.size(); ++i) distances.push_back(filled[i] - filled[i - 1]);
  return upper_median(std::move(distances));
}

// Standard deviation of values, from the differences of neighbours, so that edges are not noise.
double deviation_of(const std::vector<double>& values) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(std::abs(values[i] - values[i - 1]));
  }
  constexpr double kDeviationsInMedian = 0.6745;  // for a normal distribution
  return upper_median(std::move(differences)) / kDeviationsInMedian / std::sqrt(2.0);
}

// The noise of a second's mean.
double noise_w(const PowerCurve& curve, const std::vector<std::size_t>& filled) {
  return deviation_of(
      mapped<double>(filled, [&](const std::size_t i) { return mean_w(curve.seconds[i]); }));
}

// The means of stretches of `size` seconds from `begin` to `end`, each `step` after the previous
// one. Stretches with readings in too few seconds are left out.
std::vector<double> block_means(const CurveSums& sums, std::ptrdiff_t begin, std::ptrdiff_t end,
                                std::ptrdiff_t size, std::ptrdiff_t step) {
  std::vector<double> means;
  for (std::ptrdiff_t i = begin; i + size <= end; i += step) {
    const CurveSums::Stretch stretch = sums.between(i, i + size);
    if (stretch.filled >= kLeastFilled) means.push_back(stretch.mean_w);
  }
  return means;
}

// Both noises count: the recording's, and that of these seconds.
Edge edge_between(const CurveSums::Stretch& idle, const CurveSums::Stretch& load,
                  double second_noise_w) {
  if (idle.filled < kLeastFilled || load.filled < kLeastFilled) return {};
  const double height_w = load.mean_w - idle.mean_w;
  const double all_w2 = second_noise_w * second_noise_w;
  const double noise_w = std::sqrt(std::max(idle.variance_w2, all_w2) / idle.filled +
                                   std::max(load.variance_w2, all_w2) / load.filled);
  const bool clear =
      height_w > 0 && height_w >= kClearNoises * noise_w && height_w >= kClearShare * load.mean_w;
  return {.height_w = static_cast<float>(height_w),
          .idle_w = static_cast<float>(idle.mean_w),
          .known = true,
          .visible = height_w > 0 && height_w >= kVisibleNoises * noise_w,
          .clear = clear};
}

void look_around(std::vector<Edge>& edges) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!edges[i].known) continue;
    const std::size_t begin = i - std::min(i, Edges::kNear_s);
    const std::size_t end = std::min(edges.size(), i + Edges::kNear_s + 1);
    for (std::size_t j = begin; j < end; ++j) {
      edges[i].highest_near_w = std::max(edges[i].highest_near_w, edges[j].height_w);
      if (!edges[j].visible) continue;
      edges[i].highest_visible_near_w =
          std::max(edges[i].highest_visible_near_w, edges[j].height_w);
    }
  }
}

}  // namespace

PowerCurve CurveGatherer::curve() const {
  const auto has_readings = [](const Piece& piece) { return !piece.empty(); };
  const auto first = std::ranges::find_if(pieces_, has_readings);
  const auto last = std::find_if(pieces_.rbegin(), pieces_.rend(), has_readings).base();
  PowerCurve curve;
  curve.first_s = first_s_ + static_cast<double>((first - pieces_.begin()) * kPiece);
  for (auto piece = first; piece < last; ++piece) {
    curve.seconds.insert(curve.seconds.end(), piece->begin(), piece->end());
    if (piece->empty()) curve.seconds.resize(curve.seconds.size() + kPiece);
  }
  return curve;
}

CurveSums::CurveSums(const PowerCurve& curve) {
  before_.reserve(curve.seconds.size() + 1);
  Sum sum;
  for (const PowerCurve::Second& second : curve.seconds) {
    before_.push_back(sum);
    if (second.readings == 0) continue;
    const double w = mean_w(second);
    sum = {sum.filled + 1, sum.sum_w + w, sum.sum_w2 + w * w};
  }
  before_.push_back(sum);
}

const CurveSums::Sum& CurveSums::before(std::ptrdiff_t second) const {
  const auto last = static_cast<std::ptrdiff_t>(before_.size()) - 1;
  return before_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(second, 0, last))];
}

CurveSums::Stretch CurveSums::between(std::ptrdiff_t begin, std::ptrdiff_t end) const {
  const Sum& a = before(begin);
  const Sum& b = before(end);
  if (a.filled >= b.filled) return {};
  const double filled = static_cast<double>(b.filled - a.filled);
  const double mean = (b.sum_w - a.sum_w) / filled;
  return {filled, mean, std::max(0.0, (b.sum_w2 - a.sum_w2) / filled - mean * mean)};
}

Edges::Edges(const PowerCurve& curve, std::size_t most_side_s)
    : sums_(curve), rises_(curve.seconds.size()), falls_(curve.seconds.size()) {
  const std::vector<std::size_t> filled = filled_seconds(curve);
  interval_s_ = median_interval_s(filled);
  if (filled.empty()) return;
  first_filled_ = static_cast<std::ptrdiff_t>(filled.front());
  last_filled_ = static_cast<std::ptrdiff_t>(filled.back());
  const double second_noise_w = noise_w(curve, filled);
  find_holes(filled);
  find_levels(second_noise_w);
  const auto side =
      static_cast<std::ptrdiff_t>(std::min(most_side_s, std::max<std::size_t>(6, 4 * interval_s_)));

  constexpr auto kIn = static_cast<std::ptrdiff_t>(kInside_s);
  constexpr auto kOut = static_cast<std::ptrdiff_t>(kOutside_s);
  for (std::size_t i = filled.front(); i <= filled.back(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    rises_[i] = edge_between(sums_.between(at - kOut - side, at - kOut),
                             sums_.between(at + kIn, at + kIn + side), second_noise_w);
    falls_[i] = edge_between(sums_.between(at + kOut, at + kOut + side),
                             sums_.between(at - kIn - side, at - kIn), second_noise_w);
  }
  look_around(rises_);
  look_around(falls_);
}

// A hole is a pause of more than six seconds and three intervals.
void Edges::find_holes(const std::vector<std::size_t>& filled) {
  constexpr std::size_t kShortestHole_s = 6;
  const std::size_t longest_s = std::max(kShortestHole_s, 3 * interval_s_ + 1);
  holes_before_.assign(rises_.size() + 1, 0);
  for (std::size_t i = 1; i < filled.size(); ++i) {
    if (filled[i] - filled[i - 1] <= longest_s) continue;
    for (std::size_t j = filled[i - 1] + 1; j < filled[i]; ++j) holes_before_[j + 1] = 1;
  }
  std::partial_sum(holes_before_.begin(), holes_before_.end(), holes_before_.begin());
}

bool Edges::has_hole(std::ptrdiff_t begin, std::ptrdiff_t end) const {
  const auto last = static_cast<std::ptrdiff_t>(holes_before_.size()) - 1;
  if (last < 0) return false;
  const auto before = [&](std::ptrdiff_t second) {
    return holes_before_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(second, 0, last))];
  };
  return before(std::max(begin, end)) > before(begin);
}

void Edges::find_levels(double second_noise_w) {
  constexpr std::ptrdiff_t kBlock_s = 10;
  const std::ptrdiff_t end = last_filled_ + 1;
  const std::vector<double> longer =
      block_means(sums_, first_filled_, end, 2 * kBlock_s, kBlock_s / 2);
  const CurveSums::Stretch all = sums_.between(first_filled_, end);
  extremes_ = {all.mean_w, all.mean_w};
  if (!longer.empty()) {
    const auto [lowest, highest] = std::ranges::minmax(longer);
    extremes_ = {lowest, highest};
  }
  const double readings_in_block =
      static_cast<double>(kBlock_s) / static_cast<double>(std::max<std::size_t>(interval_s_, 1));
  block_noise_w_ =
      std::max(deviation_of(block_means(sums_, first_filled_, end, kBlock_s, kBlock_s)),
               second_noise_w / std::sqrt(std::max(readings_in_block, 1.0)));
}

bool Edges::has_clear_edge() const {
  return std::ranges::any_of(rises_, &Edge::clear) || std::ranges::any_of(falls_, &Edge::clear);
}

Edge Edges::at(const std::vector<Edge>& edges, std::ptrdiff_t second) {
  const bool is_known = second >= 0 && second < static_cast<std::ptrdiff_t>(edges.size());
  return is_known ? edges[static_cast<std::size_t>(second)] : Edge{};
}

}  // namespace aggregate_power
