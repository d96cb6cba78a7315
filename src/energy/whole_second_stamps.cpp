// Tries all lengths of a round.
#include "energy/whole_second_stamps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

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

// How probable a stamp is if the loop was due so long after the stamp's second began.
double probability_of(double after_s) {
  if (after_s >= 1) return kImpossible;
  if (after_s >= 0) return 1;
  return kImpossible + (1 - kLateShare) * std::exp(after_s / kUsuallyLate_s) +
         kLateShare * std::max(0.0, 1 + after_s / kMostLate_s);
}

// When a loop would be due for stamps, if its middle round were at 0.
class DueTimes {
 public:
  DueTimes(std::span<const double> stamps, std::span<const double> rounds, double middle,
           double round_s) {
    for (std::size_t i = 0; i < stamps.size(); ++i) {
      all_.push_back({(rounds[i] - middle) * round_s, stamps[i]});
    }
    std::ranges::sort(all_, {}, [](const Due& one) { return one.at_s - one.stamp; });
  }

  // Of the loop whose middle round is at `place_s`. Not all of it is summed up if it is below
  // `least`: the least probable stamps come first.
  double log_probability(double place_s, double least) const {
    const auto after_s = [&](const Due& due) { return place_s + due.at_s - due.stamp; };
    double sum = 0;
    for (auto at = all_.rbegin(); at != all_.rend(); ++at) {
      const Due& due = *at;
      if (after_s(due) < 1 - kRounding_s || sum < least) break;
      if (after_s(due) >= 1) sum += std::log(kImpossible);
    }
    for (const Due& due : all_) {
      if (after_s(due) > kRounding_s || sum < least) break;
      if (after_s(due) < 0) sum += std::log(probability_of(after_s(due)));
    }
    return sum;
  }

 private:
  static constexpr double kRounding_s = 1e-6;
  struct Due {
    double at_s;
    double stamp;
  };
  std::vector<Due> all_;  // in the order of how long they are after their stamps
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

Loop loop_of(std::span<const double> stamps, std::span<const double> rounds, double middle) {
  const double half = std::max(1.0, (rounds.back() - rounds.front()) / 2);
  const double round_step_s = kPlaceStep_s / half;
  const double at_s = stamps[stamps.size() / 2];
  double weights = 0;
  Weighed round;
  Weighed begin;
  Weighed place;
  Weighed end;
  double best = -std::numeric_limits<double>::max();
  for (double round_s = kShortestRound_s; round_s <= kLongestRound_s; round_s += round_step_s) {
    const DueTimes due(stamps, rounds, middle, round_s);
    for (double place_s = -kMostLate_s; place_s < 1; place_s += kPlaceStep_s) {
      const double log_p = due.log_probability(at_s + place_s, best - kHopeless);
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
        loop_of(stamps.subspan(first, count), std::span(rounds).subspan(first, count), middle);
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

}  // namespace aggregate_power
