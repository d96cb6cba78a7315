// Judges the groups of a sweep, then compares those that can win.
#include "decide/recommend/recommend.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/energy/curve.h"
#include "decide/compare/change.h"
#include "energy/uncertainty/interval.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kObjectives[] = {"energy", "energy-per-token", "time", "cost"};
constexpr double kRounding = 1e-12;  // of an objective's value, relative

// Equal, whatever the order in which they were computed.
bool are_equal_values(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

struct PieceSums {
  double energy_j = 0;
  double work = 0;
  std::optional<double> time_s;  // nullopt: that of a piece is not known
};

PieceSums sums_of(const std::vector<LimitPiece>& pieces) {
  LongSum energy_j, work, time_s;
  bool has_time = true;
  for (const LimitPiece& piece : pieces) {
    energy_j.add(piece.energy_j);
    work.add(piece.work);
    time_s.add(piece.time_s.value_or(0));
    has_time = has_time && piece.time_s;
  }
  return {energy_j.value(), work.value(), has_time ? std::optional(time_s.value()) : std::nullopt};
}

// Of runs each counts alike, as compare has it; rows add up.
PieceSums sums_for_value(std::vector<LimitPiece> pieces, bool is_of_rows) {
  if (is_of_rows) return sums_of(pieces);
  for (LimitPiece& piece : pieces) {
    piece.energy_j /= piece.work;
    if (piece.time_s) *piece.time_s /= piece.work;
    piece.work = 1;
  }
  return sums_of(pieces);
}

// What an objective is computed with.
struct ObjectiveRule {
  LimitObjective objective = LimitObjective::energy;
  double eta = 0;
  double max_power_w = 0;

  // For one unit of work.
  std::optional<double> value(const PieceSums& sums) const {
    if (!(sums.work > 0)) return std::nullopt;
    const double energy_j = sums.energy_j / sums.work;
    if (objective == LimitObjective::energy || objective == LimitObjective::energy_per_token) {
      return energy_j;
    }
    if (!sums.time_s) return std::nullopt;
    const double time_s = *sums.time_s / sums.work;
    if (objective == LimitObjective::time) return time_s;
    return eta * energy_j + (1 - eta) * max_power_w * time_s;
  }
};

std::vector<LimitPiece> without(const std::vector<LimitPiece>& pieces, std::size_t left_out) {
  std::vector<LimitPiece> others = pieces;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
  return others;
}

// What says how sure the value of a group is.
struct KnownValues {
  RepeatedValues repeats;
  RepeatStatistics statistics = {};
};

std::optional<KnownValues> known_values(std::vector<MeasuredValue> values) {
  if (values.empty()) return std::nullopt;
  KnownValues known{.repeats = {.values = std::move(values)}};
  known.statistics = repeat_statistics(known.repeats);
  return known;
}

// From the values that result when one block after another is left out (jackknife).
std::optional<KnownValues> known_by_blocks(const LimitGroup& group, const ObjectiveRule& rule) {
  constexpr std::size_t kLeastBlocks = 4;
  const std::size_t count = group.blocks.size();
  const auto whole = rule.value(sums_of(group.blocks));
  if (count < kLeastBlocks || !whole || !(*whole > 0)) return std::nullopt;
  std::vector<double> values;
  double mean = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = rule.value(sums_of(without(group.blocks, i)));
    if (!value) return std::nullopt;
    values.push_back(*value);
    mean += *value / static_cast<double>(count);
  }
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double share = static_cast<double>(count - 1) / static_cast<double>(count);
  const double relative = std::sqrt(share * squares) / *whole;
  if (relative <= kRounding) return std::nullopt;  // equal in every digit: no spread is known
  // As wide as its own degrees of freedom make the interval.
  const double factor = student_t_quantile(0.975, static_cast<double>(count - 1)) /
                        student_t_quantile(0.975, std::numeric_limits<double>::infinity());
  return known_values({{.value = *whole, .repeatability = factor * relative}});
}

// What was measured at a limit. Values that are equal in every digit are one: copies, or digits
// that are too few to show a spread.
std::vector<MeasuredValue> distinct_values(const LimitGroup& group, const ObjectiveRule& rule) {
  std::vector<MeasuredValue> values;
  const bool is_energy = rule.objective == LimitObjective::energy ||
                         rule.objective == LimitObjective::energy_per_token;
  for (const LimitPiece& piece : group.pieces) {
    const auto value = rule.value({piece.energy_j, piece.work, piece.time_s});
    if (!value || !(*value > 0)) continue;
    values.push_back({.value = *value});
    if (is_energy) values.back().repeatability = group.relative_uncertainty;
  }
  std::ranges::sort(values, {}, &MeasuredValue::value);
  const auto same = [](const MeasuredValue& a, const MeasuredValue& b) {
    return are_equal_values(a.value, b.value);
  };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  return values;
}

std::string insufficiency(const LimitGroup& group, bool is_of_rows) {
  if (group.state == LimitState::insufficient) return group.why;
  const PieceSums sums = sums_of(group.pieces);
  if (is_of_rows && group.n < 2) return "one row has no duration";
  if (group.pieces.empty() || (sums.time_s && !(*sums.time_s > 0))) {
    return "no two rows belong together: there is no duration";
  }
  if (!(sums.energy_j > 0)) return "no energy was measured";
  if (!(sums.work > 0)) return "no tokens were counted";
  return {};
}

JudgedLimit judged(LimitGroup group, const LimitScenario& scenario, const ObjectiveRule& rule) {
  if (const std::string why = insufficiency(group, scenario.is_of_rows); !why.empty()) {
    group.state = LimitState::insufficient;
    group.why = why;
  }
  JudgedLimit limit{.group = std::move(group)};
  const PieceSums sums = sums_of(limit.group.pieces);
  if (limit.group.pieces.empty()) return limit;
  if (limit.group.has_totals) {
    const double count = scenario.is_of_rows ? 1 : static_cast<double>(limit.group.pieces.size());
    limit.energy_j = sums.energy_j / count;
    if (sums.time_s) limit.time_s = *sums.time_s / count;
    if (scenario.has_tokens) limit.tokens = sums.work / count;
  }
  if (sums.time_s && *sums.time_s > 0) {
    limit.group.mean_power_w = sums.energy_j / *sums.time_s;
  }
  if (limit.group.state == LimitState::insufficient) return limit;
  const PieceSums alike = sums_for_value(limit.group.pieces, scenario.is_of_rows);
  if (scenario.has_tokens) limit.joules_per_token = alike.energy_j / alike.work;
  limit.value = rule.value(alike);
  return limit;
}

void set_slowdowns(const LimitQuestion& question, LimitChoice& choice) {
  const auto time_of_work = [&](const JudgedLimit& limit) -> std::optional<double> {
    const PieceSums sums = sums_for_value(limit.group.pieces, choice.is_of_rows);
    if (!sums.time_s || !(sums.work > 0)) return std::nullopt;
    return *sums.time_s / sums.work;
  };
  std::optional<double> reference_s;
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.group.state != LimitState::ok || !time_of_work(limit)) continue;
    choice.reference_limit_w = limit.group.limit_w;
    reference_s = time_of_work(limit);
  }
  if (!reference_s) return;
  for (JudgedLimit& limit : choice.groups) {
    const auto time_s = time_of_work(limit);
    if (!time_s || limit.group.state == LimitState::insufficient) continue;
    limit.slowdown = *time_s / *reference_s;
    if (!question.max_slowdown || limit.group.state != LimitState::ok) continue;
    if (*limit.slowdown <= *question.max_slowdown * (1 + 1e-12)) continue;
    limit.group.state = LimitState::too_slow;
    limit.group.why = fmt::format("{:.4g} times the time at {:.6g} {}, at most {:.6g}",
                                  *limit.slowdown, *choice.reference_limit_w,
                                  choice.is_of_clocks ? "MHz" : "W", *question.max_slowdown);
  }
}

// In the order of the groups. Repeats say it where any limit has them.
std::vector<std::optional<KnownValues>> values_of_groups(const ObjectiveRule& rule,
                                                         LimitChoice& choice) {
  std::vector<std::optional<KnownValues>> known;
  for (const JudgedLimit& limit : choice.groups) {
    known.push_back(known_values(distinct_values(limit.group, rule)));
    const bool counts = limit.can_win() || limit.group.state == LimitState::too_slow;
    if (counts && known.back() && known.back()->statistics.count > 1) {
      choice.interval_from = "repeats";
    }
  }
  if (!choice.interval_from.empty()) return known;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const LimitGroup& group = choice.groups[i].group;
    choice.are_repeats_equal = choice.are_repeats_equal || group.pieces.size() > 1;
    if (choice.is_of_rows) {
      known[i] = known_by_blocks(group, rule);
      if (known[i]) choice.interval_from = "rows";
    } else if (group.pieces.size() > 1) {
      known[i].reset();
    } else if (known[i] && known[i]->statistics.uncertainty) {
      choice.interval_from = "records";
    }
  }
  return known;
}

// By how much `other` is worse than `best`, as a share of it, as compare has it.
std::optional<LimitInterval> difference(double best, const std::optional<KnownValues>& of_best,
                                        double other, const std::optional<KnownValues>& of_other) {
  constexpr double kMost = 140;  // a factor of 1e60: an interval that is wider says no more
  if (!of_best || !of_other || !(best > 0) || !(other > 0)) return std::nullopt;
  const auto ratio = ratio_of_means(of_best->repeats, of_best->statistics, of_other->repeats,
                                    of_other->statistics, 0);
  if (!ratio) return std::nullopt;
  const double half =
      std::min(kMost, ratio->uncertainty * student_t_quantile(0.975, ratio->degrees_of_freedom));
  const double centre = std::log(other / best);
  return LimitInterval{std::expm1(centre - half), std::expm1(centre + half)};
}

// Of equal values the shorter time is better, then the lower limit.
bool is_better(const JudgedLimit& a, const JudgedLimit& b) {
  if (!are_equal_values(*a.value, *b.value)) return *a.value < *b.value;
  const double slowdown = a.slowdown.value_or(0);
  const double other = b.slowdown.value_or(0);
  if (!are_equal_values(slowdown, other)) return slowdown < other;
  return a.group.limit_w < b.group.limit_w;
}

void compare_limits(const std::vector<std::optional<KnownValues>>& known, LimitChoice& choice) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < choice.groups.size(); ++i) {
    if (choice.groups[i].can_win()) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return is_better(choice.groups[a], choice.groups[b]);
  });
  if (order.empty()) {
    choice.why_not = "no limit can be judged";
    return;
  }
  if (choice.groups.size() == 1) {
    choice.why_not = "only one limit was measured: there is nothing to compare";
    return;
  }
  const std::size_t best = order[0];
  const double value = *choice.groups[best].value;
  choice.recommended_limit_w = choice.groups[best].group.limit_w;
  choice.are_ties_judged = order.size() > 1;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const JudgedLimit& other = choice.groups[order[i]];
    const auto worse = difference(value, known[best], *other.value, known[order[i]]);
    choice.are_ties_judged = choice.are_ties_judged && worse;
    if (i == 1) {
      choice.runner_up_w = other.group.limit_w;
      choice.margin = are_equal_values(*other.value, value) ? 0 : *other.value / value - 1;
      choice.margin_interval = worse;
    }
    if (are_equal_values(*other.value, value) || (worse && worse->low <= 0)) {
      choice.ties_w.push_back(other.group.limit_w);
    }
  }
  std::ranges::sort(choice.ties_w);
}

// Why the objective cannot be computed; empty: it can. Sets what it needs.
std::string objective_fault(const LimitScenario& scenario, const LimitQuestion& question,
                            ObjectiveRule& rule) {
  if (rule.objective == LimitObjective::energy_per_token && !scenario.has_tokens) {
    return "the tokens are not known: choose another objective, such as energy";
  }
  if (rule.objective != LimitObjective::cost) return {};
  rule.eta = question.eta;
  if (question.max_power_w) {
    rule.max_power_w = *question.max_power_w;
  } else if (scenario.is_of_clocks) {
    return "clocks were swept: give --max-power, the most that all GPUs may draw together";
  } else if (!scenario.gpus) {
    return "the number of GPUs is not known: give --max-power, the most that all may draw together";
  } else if (!scenario.groups.empty()) {
    rule.max_power_w = scenario.groups.back().limit_w * *scenario.gpus;
  }
  return {};
}

}  // namespace

std::string_view name(LimitObjective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}

std::optional<LimitObjective> limit_objective(std::string_view name) {
  if (name == "energy-time") return LimitObjective::cost;
  const auto found = std::ranges::find(kObjectives, name);
  if (found == std::end(kObjectives)) return std::nullopt;
  return static_cast<LimitObjective>(found - std::begin(kObjectives));
}

LimitChoice choose_limit(LimitScenario scenario, const LimitQuestion& question) {
  LimitChoice choice{.scenario = scenario.name,
                     .has_tokens = scenario.has_tokens,
                     .is_of_rows = scenario.is_of_rows,
                     .is_of_clocks = scenario.is_of_clocks};
  choice.objective = question.objective.value_or(
      scenario.has_tokens ? LimitObjective::energy_per_token : LimitObjective::energy);
  ObjectiveRule rule{choice.objective};
  choice.why_not = objective_fault(scenario, question, rule);
  for (LimitGroup& group : scenario.groups) {
    std::ranges::sort(group.pieces, {}, [](const LimitPiece& piece) {
      return std::tuple(piece.energy_j, piece.time_s, piece.work);
    });
    choice.groups.push_back(judged(std::move(group), scenario, rule));
    if (!choice.why_not.empty()) choice.groups.back().value.reset();
  }
  set_slowdowns(question, choice);
  if (!choice.why_not.empty()) return choice;
  const auto known = values_of_groups(rule, choice);
  for (std::size_t i = 0; i < choice.groups.size(); ++i) {
    JudgedLimit& limit = choice.groups[i];
    if (!limit.value || !known[i] || !known[i]->statistics.uncertainty) continue;
    const RepeatStatistics& statistics = known[i]->statistics;
    const double unit = *limit.value / statistics.mean;
    limit.interval = {unit * *statistics.low, unit * *statistics.high};
  }
  compare_limits(known, choice);
  return choice;
}

}  // namespace aggregate_power
