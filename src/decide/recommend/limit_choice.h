// Chooses the power limit of each scenario of a sweep. Pure arithmetic.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/recommend/limit_sweep.h"

namespace aggregate_power {

enum class LimitObjective { energy, energy_per_token, time, cost };
std::string_view name(LimitObjective objective);
std::optional<LimitObjective> limit_objective(std::string_view name);

struct LimitQuestion {
  // Nullopt: energy per token where tokens are known, else energy.
  std::optional<LimitObjective> objective = {};
  double eta = 0.5;                         // of the cost: the share of energy
  std::optional<double> max_slowdown = {};  // against the highest limit
  std::optional<double> max_power_w = {};   // of the cost, all GPUs together
};

// An interval of 95 %.
struct LimitInterval {
  double low = 0;
  double high = 0;
};

struct JudgedLimit {
  LimitGroup group;
  std::optional<double> value = {};  // of the objective; the least is the best
  std::optional<LimitInterval> interval = {};
  std::optional<double> slowdown = {};
  std::optional<double> time_s = {};  // of rows all together; of runs and epochs the mean
  std::optional<double> tokens = {};
  std::optional<double> energy_j = {};
  std::optional<double> joules_per_token = {};

  // It can win, although nothing says that the limit was in force.
  bool lacks_confirmation() const { return group.state == LimitState::ok && !group.is_confirmed; }
  bool can_win() const { return group.state == LimitState::ok && value.has_value(); }
};

struct LimitChoice {
  std::string scenario;
  LimitObjective objective = LimitObjective::energy;
  bool has_tokens = false;
  bool is_of_rows = false;
  std::string why_not = {};  // why nothing is recommended
  std::optional<double> recommended_limit_w = {};
  std::optional<double> runner_up_w = {};
  // By how much the runner-up is worse, as a share of the recommended limit's value.
  std::optional<double> margin = {};
  std::optional<LimitInterval> margin_interval = {};
  std::vector<double> ties_w = {};  // limits that cannot be told from the recommended one
  // Whether all limits that can win have an interval. Otherwise only equal values tie.
  bool are_ties_judged = false;
  bool are_repeats_equal = false;  // in every digit: copies, which say nothing about the spread
  std::optional<double> reference_limit_w = {};  // whose time is a slowdown of 1
  // What the intervals are from: "repeats", "rows", "records"; empty: there are none.
  std::string interval_from = {};
  std::vector<JudgedLimit> groups = {};
};

// Marks the groups that cannot win. The order of a group's pieces makes no difference.
LimitChoice choose_limit(LimitScenario scenario, const LimitQuestion& question);

}  // namespace aggregate_power
