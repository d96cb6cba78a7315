// How often a comparison of repeats reaches the right verdict, how many repeats that takes, and how
// intervals widen if one looks at them several times. Pure arithmetic. change.h has the intervals
// and the verdicts.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "decide/compare/change.h"

namespace aggregate_power {

inline constexpr double kUsualPower = 0.9;
inline constexpr std::size_t kMostRepeats = 1000;  // of a side

// Shares are relative: 0.01 is 1 %.
struct PowerQuestion {
  double change = 0;  // the true one; at most the margin: the verdict may also be "equivalent"
  double margin = 0;  // of the verdict
  double spread = 0;  // standard deviation of repeats
  // By which the spread is known: k pilot runs of each side have 2 (k - 1). Infinite: it is stated.
  double spread_freedom = std::numeric_limits<double>::infinity();
  double stated = 0;    // repeatability that runs state: no interval is made of less
  double accuracy = 0;  // between different boards
  double alpha = kChangeAlpha;
};

// The probability of the right verdict with so many repeats on each side, at least two: that the
// interval excludes 0 on the side of the change, or is within a margin that holds the change. With
// `spread_freedom`, its mean over the true spreads that are as probable as the pilot runs make them
// (a chi-square distribution; prior 1 / spread). The normal mean and the two sample variances are
// integrated by the midpoint rule; the error is below 0.005 (tests/truth simulates it).
double decided_share(const PowerQuestion& question, std::size_t base, std::size_t next);

// How many repeats of each side, besides the ones that are there, come nearest to this power, and
// at most a fifth of what may fail below it: of 90 %, 88 %. Returns nullopt for more than
// kMostRepeats.
std::optional<std::size_t> repeats_for_power(const PowerQuestion& question, double power,
                                             std::size_t base = 0, std::size_t next = 0);

// The smallest change that so many repeats find with this power; the margin does not count. Returns
// nullopt if even 100 % is not found.
std::optional<double> smallest_change(PowerQuestion question, double power, std::size_t repeats);

// What these repeats of two sides let one expect, if they differ as much as all repeats do.
PowerQuestion power_question(const RepeatedValues& base, const RepeatedValues& next,
                             double accuracy, double margin, double alpha);

// How many repeats of each side more decide an open comparison, in most cases. The change that is
// seen is smaller than most changes that leave it: the change l of half width h is taken for
// l / (1 - (l / h)^2), at most 1.2 h, in logarithms. `seen` is the change of the two sides, which
// are not both single runs. Returns nullopt for more than kMostRepeats.
std::optional<std::size_t> more_repeats(const RepeatedValues& base, const RepeatedValues& next,
                                        const RelativeChange& seen, double accuracy, double margin,
                                        double alpha);

// ---- Looks: the same runs, compared again after each part of the planned repeats.

enum class Spending { obrien_fleming, pocock };

// A look at equal steps of the repeats that were planned.
struct Look {
  std::size_t number = 1;  // from 1 on
  std::size_t planned = 1;
  Spending spending = Spending::obrien_fleming;
};

inline constexpr std::size_t kMostLooks = 20;

// The alpha of the interval at this look, so that all planned looks together err as rarely as one
// would. Spending functions of Lan and DeMets (Biometrika 70, 1983), for each side half of alpha:
// 2 - 2 Phi(z / sqrt(t)), near O'Brien and Fleming, and alpha ln(1 + (e - 1) t), near Pocock; the
// bounds by the recursion of Armitage, McPherson and Rowe (JRSS A 132, 1969).
double look_alpha(const Look& look);

}  // namespace aggregate_power
