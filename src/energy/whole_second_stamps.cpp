// Tries all lengths of a round.
#include "energy/whole_second_stamps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace aggregate_power {
namespace {

constexpr double kShortestRound_s = 0.985;
constexpr double kLongestRound_s = 1.05;
constexpr double kRoundStep_s = 0.0005;
constexpr double kLateShare = 0.05;  // of rounds that may be late by seconds that they skip

// Begins of the loop that fit all stamps but some that are late.
struct Fit {
  double low_s = 0;
  double high_s = 0;
  double width() const { return high_s - low_s; }
};

Fit fit_of(std::span<const double> stamps, std::span<const double> rounds, double round_s) {
  Fit fit = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<double> earliest;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const double begin_s = stamps[i] - stamps[0] - rounds[i] * round_s;
    fit.high_s = std::min(fit.high_s, begin_s + 1);  // never early
    earliest.push_back(begin_s);
  }
  const auto late = static_cast<std::ptrdiff_t>(kLateShare * static_cast<double>(stamps.size()));
  std::ranges::nth_element(earliest, earliest.end() - 1 - late);
  fit.low_s = *(earliest.end() - 1 - late);
  return fit;
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
  double weight = 0;
  double round_sum = 0;
  double begin_sum = 0;
  double begin_squares = 0;
  const double middle = rounds[rounds.size() / 2];
  for (double round_s = kShortestRound_s; round_s <= kLongestRound_s; round_s += kRoundStep_s) {
    const Fit fit = fit_of(stamps, rounds, round_s);
    if (!(fit.width() > 0)) continue;
    // All begins that fit are equally probable. What counts is the place of the middle.
    const double centre_s = (fit.low_s + fit.high_s) / 2 + middle * round_s;
    weight += fit.width();
    round_sum += fit.width() * round_s;
    begin_sum += fit.width() * centre_s;
    begin_squares += fit.width() * (centre_s * centre_s + fit.width() * fit.width() / 12);
  }
  if (!(weight > 0)) return std::nullopt;
  const double round_s = round_sum / weight;
  const double centre_s = begin_sum / weight;
  RegularLoop loop;
  loop.uncertainty_s = std::sqrt(std::max(0.0, begin_squares / weight - centre_s * centre_s));
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const double at_s = stamps[0] + centre_s + (rounds[i] - middle) * round_s;
    // A late round is where its stamp says.
    loop.unix_s.push_back(std::max(at_s, stamps[i]));
  }
  return loop;
}

}  // namespace aggregate_power
