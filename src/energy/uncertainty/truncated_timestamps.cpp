// Tries all lengths of a round.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/system/parallel.h"
#include "energy/uncertainty/uncertainty.h"

namespace aggregate_power {
namespace {

constexpr double kShortestRound_s = 0.985;
constexpr double kLongestRound_s = 1.05;
constexpr double kPlaceStep_s = 0.02;
constexpr double kUsuallyLate_s = 0.005;
constexpr double kLateShare = 0.03;  // of rounds that are late by more
constexpr double kMostLate_s = 0.5;
constexpr double kImpossible = 1e-4;  // early all the same
// Loops drift: longer recordings are fitted in pieces.
constexpr std::size_t kLongestPiece = 150;
constexpr double kHopeless = 30;  // a logarithm: such a loop adds nothing

// How probable a stamp is if the loop was due so long after the stamp's second began, at most 1 s.
double probability_of(double after_s) {
  constexpr double kNever = -50 * kUsuallyLate_s;  // later by this, its exp() is too small to count
  if (after_s >= 0) return 1;
  return kImpossible +
         (after_s > kNever ? (1 - kLateShare) * std::exp(after_s / kUsuallyLate_s) : 0) +
         kLateShare * std::max(0.0, 1 + after_s / kMostLate_s);
}

// When a loop would be due for stamps, if its middle round were at the middle one.
class DueTimes {
 public:
  DueTimes(std::span<const double> stamps, std::span<const double> rounds) {
    const std::size_t middle = stamps.size() / 2;
    for (std::size_t i = 0; i < stamps.size(); ++i) {
      all_.push_back({rounds[i] - rounds[middle], stamps[i] - stamps[middle]});
    }
  }

  void set_round(double round_s) {
    for (Due& due : all_) due.after_s = due.round * round_s - due.stamp_s;
    // A slightly longer round hardly changes their order.
    for (std::size_t i = 1; i < all_.size(); ++i) {
      if (all_[i - 1].after_s <= all_[i].after_s) continue;
      const auto due = all_.begin() + static_cast<std::ptrdiff_t>(i);
      const auto place = std::find_if(std::reverse_iterator(due), all_.rend(),
                                      [&](const Due& one) { return one.after_s <= due->after_s; });
      std::rotate(place.base(), due, due + 1);
    }
  }

  // Whether the loop whose middle round is so long after the middle stamp is less
  // probable than `least`, because too many stamps are impossible.
  bool is_hopeless(double place_s, double least) const {
    const double most = std::max(0.0, least / std::log(kImpossible));
    if (most >= static_cast<double>(all_.size())) return false;
    const auto others = static_cast<std::size_t>(most);
    return place_s + all_[all_.size() - 1 - others].after_s >= kSecondOver_s ||
           place_s + all_[others].after_s <= -kMostLate_s;
  }

  // Of that loop. Not all of it is summed up if it is below `least`: the least probable stamps come
  // first.
  double log_probability(double place_s, double least) const {
    double sum = 0;
    double product = 1;  // of those that are not in the sum yet, so that few logarithms are taken
    const auto is_enough = [&](double probability) {
      product *= probability;
      if (product > kLeastProduct) return false;
      sum += std::log(std::exchange(product, 1));
      return sum < least;
    };
    for (auto due = all_.rbegin(); due != all_.rend() && place_s + due->after_s >= kSecondOver_s;
         ++due) {
      if (is_enough(kImpossible)) return sum;
    }
    for (auto due = all_.begin(); due != all_.end() && place_s + due->after_s < 0; ++due) {
      if (is_enough(probability_of(place_s + due->after_s))) return sum;
    }
    return sum + std::log(product);
  }

 private:
  // Loops that are tried are a multiple of hundredths of a second from stamps: it must not depend
  // on rounding whether they are due when a stamp's second ends.
  static constexpr double kSecondOver_s = 1 - 1e-7;
  static constexpr double kLeastProduct = 1e-13;  // about exp(-kHopeless)
  struct Due {
    double round;    // from the middle one
    double stamp_s;  // from the middle one
    double after_s = 0;
  };
  std::vector<Due> all_;  // in the order of how long the loop is due after their stamps
};

// The mean of all loops that may have written the stamps, weighed by their probability.
struct Loop {
  double round_s = 0;
  double place_s = 0;  // of the middle round
  double uncertainty_s = 0;
  double span_uncertainty_s = 0;
  double log_probability = 0;  // of the best
};

// Mean and spread of something that differs from loop to loop.
struct Weighed {
  double sum = 0;
  double squares = 0;

  void add(double value, double weight) {
    sum += weight * value;
    squares += weight * value * value;
  }
  void scale(double factor) {
    sum *= factor;
    squares *= factor;
  }
  double mean(double weights) const { return sum / weights; }
  double variance(double weights) const {
    return std::max(0.0, squares / weights - std::pow(sum / weights, 2));
  }
};

Loop loop_of(std::span<const double> stamps, std::span<const double> rounds) {
  constexpr int kPlaces = static_cast<int>((1 + kMostLate_s) / kPlaceStep_s + 0.5);
  const auto place_at_s = [](int place) { return -kMostLate_s + place * kPlaceStep_s; };
  const double all_rounds = rounds.back() - rounds.front();
  const double half = std::max(1.0, all_rounds / 2);
  const double round_step_s = kPlaceStep_s / half;
  const int steps = static_cast<int>((kLongestRound_s - kShortestRound_s) / round_step_s + 1e-6);
  const auto round_at_s = [&](int step) { return kShortestRound_s + step * round_step_s; };
  const double at_s = stamps[stamps.size() / 2];
  double weights = 0;
  Weighed round;
  Weighed begin;
  Weighed place;
  Weighed end;
  double best = -std::numeric_limits<double>::max();
  DueTimes due(stamps, rounds);
  // The mean round is near the best one: with it, most others are hopeless at once.
  const double mean_s = (stamps.back() - stamps.front()) / std::max(1.0, all_rounds);
  const double mean_step = (mean_s - kShortestRound_s) / round_step_s;
  due.set_round(round_at_s(static_cast<int>(std::clamp(mean_step, 0.0, 1.0 * steps))));
  for (int i = 0; i < kPlaces; ++i) {
    best = std::max(best, due.log_probability(place_at_s(i), best));
  }
  for (int step = 0; step <= steps; ++step) {
    const double round_s = round_at_s(step);
    due.set_round(round_s);
    for (int i = 0; i < kPlaces; ++i) {
      const double place_s = place_at_s(i);
      if (due.is_hopeless(place_s, best - kHopeless)) continue;
      const double log_p = due.log_probability(place_s, best - kHopeless);
      if (log_p < best - kHopeless) continue;
      if (log_p > best) {
        const double less = std::exp(best - log_p);
        weights *= less;
        for (Weighed* const one : {&round, &begin, &place, &end}) one->scale(less);
        best = log_p;
      }
      const double weight = std::exp(log_p - best);
      weights += weight;
      round.add(round_s, weight);
      begin.add(place_s - half * (round_s - 1), weight);
      place.add(place_s, weight);
      end.add(place_s + half * (round_s - 1), weight);
    }
  }
  const double variance =
      std::max({begin.variance(weights), place.variance(weights), end.variance(weights)});
  return {round.mean(weights), at_s + place.mean(weights),
          std::max(std::sqrt(variance), kPlaceStep_s),
          2 * half * std::max(std::sqrt(round.variance(weights)), round_step_s), best};
}

}  // namespace

std::optional<RegularLoop> regular_loop(std::span<const double> stamps) {
  if (stamps.size() < 3) return std::nullopt;
  // Rounds that were dropped show as jumps of more than two seconds.
  std::vector<double> rounds = {0};
  for (std::size_t i = 1; i < stamps.size(); ++i) {
    const double step_s = stamps[i] - stamps[i - 1];
    rounds.push_back(rounds.back() + (step_s > 2 ? std::round(step_s / 1.01) : 1));
  }
  RegularLoop found;
  const std::size_t pieces = (stamps.size() + kLongestPiece - 1) / kLongestPiece;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t first = stamps.size() * piece / pieces;
    const std::size_t count = stamps.size() * (piece + 1) / pieces - first;
    const double middle = rounds[first + count / 2];
    const Loop loop =
        loop_of(stamps.subspan(first, count), std::span(rounds).subspan(first, count));
    // One round in ten may be impossible, not more.
    if (loop.log_probability < std::log(kImpossible) * 0.1 * static_cast<double>(count))
      return std::nullopt;
    found.uncertainty_s = std::max(found.uncertainty_s, loop.uncertainty_s);
    // Of several pieces, each is placed on its own.
    found.span_uncertainty_s =
        pieces > 1 ? std::sqrt(2.0) * found.uncertainty_s : loop.span_uncertainty_s;
    for (std::size_t i = first; i < first + count; ++i) {
      // A late round is where its stamp says.
      found.unix_s.push_back(
          std::max(loop.place_s + (rounds[i] - middle) * loop.round_s, stamps[i]));
    }
  }
  return found;
}

// ---- Fits loops to the stamps that matter.

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
