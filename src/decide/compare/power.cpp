// Integrates over what repeats may show.
#include "decide/compare/power.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

double normal_probability(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double normal_quantile(double probability) {
  return student_t_quantile(probability, std::numeric_limits<double>::infinity());
}

// ---- Quantiles of t for many degrees of freedom: their logarithm over 1 / freedom, from 1 degree
// to infinity, between Chebyshev points. Relative error below 1e-6.

class StudentQuantiles {
 public:
  explicit StudentQuantiles(double tail) {
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double angle = (2.0 * static_cast<double>(i) + 1) * std::numbers::pi / (2.0 * kPoints);
      at_[i] = (1 + std::cos(angle)) / 2;
      weight_[i] = (i % 2 == 0 ? 1 : -1) * std::sin(angle);
      logarithm_[i] = std::log(student_t_upper_quantile(tail, 1 / at_[i]));
    }
  }

  double operator()(double degrees_of_freedom) const {
    const double x = 1 / degrees_of_freedom;
    double above = 0;
    double below = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      if (x == at_[i]) return std::exp(logarithm_[i]);
      const double term = weight_[i] / (x - at_[i]);
      above += term * logarithm_[i];
      below += term;
    }
    return std::exp(above / below);
  }

 private:
  static constexpr std::size_t kPoints = 16;
  std::array<double, kPoints> at_ = {};
  std::array<double, kPoints> weight_ = {};
  std::array<double, kPoints> logarithm_ = {};
};

// ---- Sample standard deviations, relative to the true one

struct WeightedRatio {
  double ratio = 1;
  double weight = 1;
};

// Of the chi distribution, divided by the root of its degrees of freedom. The nodes are at equal
// steps of the ratio's root: of few degrees much is near 0, where a ratio changes most.
std::vector<WeightedRatio> deviation_ratios(double degrees_of_freedom, int nodes) {
  constexpr double kFar = 5;  // standard deviations, nearly 1 / sqrt(2 freedom)
  if (!std::isfinite(degrees_of_freedom)) return {{}};
  const double reach = kFar / std::sqrt(2 * degrees_of_freedom);
  const double from = std::sqrt(std::max(0.0, 1 - reach));
  const double step = (std::sqrt(1 + reach) - from) / nodes;
  std::vector<WeightedRatio> ratios;
  double sum = 0;
  for (int i = 0; i < nodes; ++i) {
    const double root = from + step * (i + 0.5);
    const double ratio = root * root;
    const double density = root * std::exp((degrees_of_freedom - 1) * std::log(ratio) -
                                           degrees_of_freedom * (ratio * ratio - 1) / 2);
    ratios.push_back({ratio, density});
    sum += density;
  }
  for (WeightedRatio& one : ratios) one.weight /= sum;
  return ratios;
}

// ---- Verdicts

// The probability that the logarithm of the change, normal about the true one, leads to the right
// verdict where the interval is half_width to either side.
double right_share(const PowerQuestion& question, double deviation, double half_width) {
  const double centre = std::log1p(question.change);
  const double within_from = std::log1p(-std::min(question.margin, 0.999999)) + half_width;
  const double within_to = std::log1p(question.margin) - half_width;
  const auto between = [&](double from, double to) {
    if (!(from < to)) return 0.0;
    return normal_probability((to - centre) / deviation) -
           normal_probability((from - centre) / deviation);
  };
  const double within = between(within_from, within_to);
  if (question.change > question.margin) {
    return between(std::max(half_width, within_to), std::numeric_limits<double>::infinity());
  }
  if (question.change == 0) return within;
  if (!(within > 0)) return between(half_width, std::numeric_limits<double>::infinity());
  return between(within_from, std::min(within_to, half_width)) +
         between(half_width, std::numeric_limits<double>::infinity());
}

class PowerOf {
 public:
  explicit PowerOf(const PowerQuestion& question)
      : question_(question),
        quantiles_(question.alpha / 2),
        spreads_(deviation_ratios(question.spread_freedom, kNodesOfPilots)) {}

  double with(std::size_t base, std::size_t next) const {
    const std::vector<WeightedRatio> of_base =
        deviation_ratios(static_cast<double>(base) - 1, kNodesOfSide);
    const std::vector<WeightedRatio> of_next =
        deviation_ratios(static_cast<double>(next) - 1, kNodesOfSide);
    double share = 0;
    for (const WeightedRatio& known : spreads_) {
      const Sides sides = {question_.spread / known.ratio, static_cast<double>(base),
                           static_cast<double>(next)};
      for (const WeightedRatio& a : of_base) {
        for (const WeightedRatio& b : of_next) {
          share += known.weight * a.weight * b.weight * once(sides, a.ratio, b.ratio);
        }
      }
    }
    return share;
  }

 private:
  static constexpr int kNodesOfPilots = 32;
  static constexpr int kNodesOfSide = 16;

  struct Sides {
    double spread;
    double base;
    double next;
  };

  double once(const Sides& sides, double base_ratio, double next_ratio) const {
    const auto mean_of = [&](double ratio, double count) {
      const double seen = std::max(sides.spread * ratio, question_.stated);
      return MeanUncertainty{seen / std::sqrt(count), count - 1};
    };
    const MeanUncertainty base = mean_of(base_ratio, sides.base);
    const MeanUncertainty next = mean_of(next_ratio, sides.next);
    const double boards = question_.accuracy * question_.accuracy;
    const double square = base.relative * base.relative + next.relative * next.relative + boards;
    const double freedom = welch_satterthwaite(square, base, next);
    const double half_width = std::sqrt(square) * quantiles_(freedom);
    const double deviation =
        std::sqrt(sides.spread * sides.spread * (1 / sides.base + 1 / sides.next) + boards);
    return right_share(question_, std::max(deviation, 1e-12), half_width);
  }

  PowerQuestion question_;
  StudentQuantiles quantiles_;
  std::vector<WeightedRatio> spreads_;
};

// The least number from `least` to `most` that is enough, as all above it are.
template <typename IsEnough>
std::optional<std::size_t> least_enough(std::size_t least, std::size_t most, IsEnough is_enough) {
  std::size_t step = 1;
  std::size_t high = least;
  while (!is_enough(high)) {
    if (high == most) return std::nullopt;
    least = high + 1;
    high = std::min(most, high + step);
    step *= 2;
  }
  while (least < high) {
    const std::size_t middle = least + (high - least) / 2;
    is_enough(middle) ? static_cast<void>(high = middle) : static_cast<void>(least = middle + 1);
  }
  return high;
}

}  // namespace

double decided_share(const PowerQuestion& question, std::size_t base, std::size_t next) {
  assert(base >= 2 && next >= 2);
  return PowerOf(question).with(base, next);
}

std::optional<std::size_t> repeats_for_power(const PowerQuestion& question, double power,
                                             std::size_t base, std::size_t next) {
  const PowerOf shares(question);
  const std::size_t fewest = std::min(base, next);
  const std::size_t least =
      fewest > 0 ? std::max<std::size_t>(1, 2 - std::min<std::size_t>(fewest, 2)) : 2;
  constexpr double kMostBelow = 0.2;
  const auto share = [&](std::size_t more) { return shares.with(base + more, next + more); };
  auto enough =
      least_enough(least, kMostRepeats, [&](std::size_t more) { return share(more) >= power; });
  if (enough && *enough > least) {
    const double below = power - share(*enough - 1);
    const bool is_nearer = below < share(*enough) - power;
    if (is_nearer && below <= kMostBelow * (1 - power)) --*enough;
  }
  return enough;
}

std::optional<double> smallest_change(PowerQuestion question, double power, std::size_t repeats) {
  question.margin = 0;
  const auto share_of = [&](double change) {
    question.change = change;
    return decided_share(question, repeats, repeats);
  };
  double low = 0;
  double high = 1;
  if (share_of(high) < power) return std::nullopt;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (share_of(middle) < power ? low : high) = middle;
  }
  return high;
}

PowerQuestion power_question(const RepeatedValues& base, const RepeatedValues& next,
                             double accuracy, double margin, double alpha) {
  PowerQuestion question{.margin = margin, .accuracy = accuracy, .alpha = alpha};
  const RepeatStatistics before = repeat_statistics(base);
  const RepeatStatistics after = repeat_statistics(next);
  question.change = std::expm1(std::abs(std::log(after.mean / before.mean)));
  double squares = 0;
  double freedom = 0;
  double stated_squares = 0;
  std::size_t stated = 0;
  for (const auto& [side, of_side] : {std::pair(&base, &before), std::pair(&next, &after)}) {
    if (of_side->standard_deviation) {
      const double relative = *of_side->standard_deviation / of_side->mean;
      freedom += of_side->degrees_of_freedom;
      squares += of_side->degrees_of_freedom * relative * relative;
    }
    for (const MeasuredValue& one : side->values) {
      const double rounding = side->half_last_digit / std::numbers::sqrt3 / of_side->mean;
      const double own = one.repeatability.value_or(0);
      stated_squares += own * own + rounding * rounding;
      ++stated;
    }
  }
  question.stated = std::sqrt(stated_squares / static_cast<double>(stated));
  if (freedom > 0) question.spread = std::sqrt(squares / freedom);
  return question;
}

std::optional<std::size_t> more_repeats(const RepeatedValues& base, const RepeatedValues& next,
                                        const RelativeChange& seen, double accuracy, double margin,
                                        double alpha) {
  constexpr double kPower = 0.95;
  constexpr double kMostHalfWidths = 1.2;
  PowerQuestion question = power_question(base, next, accuracy, margin, alpha);
  const double half_width = (std::log1p(seen.high) - std::log1p(seen.low)) / 2;
  const double part = std::min(std::log1p(question.change) / half_width, 1 - 1e-9);
  question.change = std::expm1(half_width * std::min(part / (1 - part * part), kMostHalfWidths));
  return repeats_for_power(question, kPower, base.values.size(), next.values.size());
}

// ---- Looks

namespace {

double spent(const Look& look, std::size_t number) {
  const double share = static_cast<double>(number) / static_cast<double>(look.planned);
  if (look.spending == Spending::pocock) {
    return kChangeAlpha * std::log1p((std::numbers::e - 1) * share);
  }
  return 4 * normal_probability(-normal_quantile(1 - kChangeAlpha / 4) / std::sqrt(share));
}

// The density of a Brownian motion that no look has stopped, over a grid about 0. A look comes
// after each unit of time.
class Unstopped {
 public:
  explicit Unstopped(std::size_t looks)
      : step_(kReach * std::sqrt(static_cast<double>(looks)) / kHalf), density_(2 * kHalf + 1, 0) {
    density_[kHalf] = 1 / step_;
  }

  void pass_unit() {
    std::vector<double> next(density_.size(), 0);
    const auto width = static_cast<int>(kReach / step_);
    for (int i = 0; i < static_cast<int>(density_.size()); ++i) {
      const double mass = density_[static_cast<std::size_t>(i)] * step_;
      if (mass < 1e-14) continue;
      const int last = std::min(static_cast<int>(density_.size()) - 1, i + width);
      for (int j = std::max(0, i - width); j <= last; ++j) {
        const double z = (j - i) * step_;
        next[static_cast<std::size_t>(j)] +=
            mass * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
      }
    }
    density_ = std::move(next);
  }

  // Beyond both bounds.
  double share_beyond(double bound) const {
    double share = 0;
    for (std::size_t i = 0; i < density_.size(); ++i)
      share += density_[i] * step_ * outside(i, bound);
    return share;
  }
  void stop_beyond(double bound) {
    for (std::size_t i = 0; i < density_.size(); ++i) density_[i] *= 1 - outside(i, bound);
  }

 private:
  static constexpr int kHalf = 600;
  static constexpr double kReach = 6;

  // The share of a cell of the grid.
  double outside(std::size_t i, double bound) const {
    const double at = std::abs(static_cast<double>(i) - kHalf) * step_;
    return std::clamp((at - bound) / step_ + 0.5, 0.0, 1.0);
  }

  double step_;
  std::vector<double> density_;
};

}  // namespace

double look_alpha(const Look& look) {
  if (look.planned <= 1) return kChangeAlpha;
  Unstopped motion(look.planned);
  for (std::size_t number = 1;; ++number) {
    motion.pass_unit();
    const double wanted = spent(look, number) - (number > 1 ? spent(look, number - 1) : 0);
    const double root = std::sqrt(static_cast<double>(number));
    double low = 0;
    double high = 12 * root;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (motion.share_beyond(middle) > wanted ? low : high) = middle;
    }
    // The first look spends what its own bound says; no grid is needed for that.
    if (number == look.number) return number == 1 ? wanted : 2 * normal_probability(-high / root);
    motion.stop_beyond(high);
  }
}

}  // namespace aggregate_power
