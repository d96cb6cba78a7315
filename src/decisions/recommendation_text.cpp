// Shows a recommendation to people, in at most 80 columns as long as its numbers are not huge.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/unicode.h"
#include "decisions/recommendation.h"
#include "results/short_names.h"

namespace aggregate_power {
namespace {

std::string cell(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string cell_of_four(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "-";
}

std::string plus_minus(const JudgedLimit& limit) {
  if (!limit.interval || !limit.value || !(*limit.value > 0)) return "-";
  const double percent = 100 * (limit.interval->high / *limit.value - 1);
  return percent >= 1000 ? ">1000" : fmt::format("{:.2f}", percent);
}

std::string watts(double limit_w) { return fmt::format("{:.6g}", limit_w); }

std::string_view mark(const LimitChoice& choice, const JudgedLimit& limit) {
  if (limit.group.state != LimitState::ok) return "!";
  if (choice.recommended_limit_w == limit.group.limit_w) return "*";
  return std::ranges::find(choice.ties_w, limit.group.limit_w) == choice.ties_w.end() ? "" : "=";
}

std::string_view objective_text(const LimitChoice& choice) {
  switch (choice.objective) {
    case LimitObjective::energy_per_token:
      return "energy per token";
    case LimitObjective::energy:
      return choice.has_tokens ? "energy for the same tokens" : "energy";
    case LimitObjective::time:
      return choice.has_tokens ? "time for the same tokens" : "time";
    case LimitObjective::cost:
      break;
  }
  return choice.has_tokens ? "cost for the same tokens" : "cost";
}

void add_limits(const LimitChoice& choice, std::string& text) {
  text += fmt::format("{:>8} {:>6} {:>8} {:>10} {:>12} {:>9} {:>8} {:>6}\n", "limit W",
                      choice.is_of_rows ? "rows" : "runs", "mean W", "time s", "energy J",
                      "J/token", "slowdown", "+- %");
  for (const JudgedLimit& limit : choice.groups) {
    std::string line = fmt::format("{:>8} {:>6} {:>8} {:>10} {:>12} {:>9} {:>8} {:>6} {}",
                                   watts(limit.group.limit_w), limit.group.n,
                                   cell(limit.group.mean_power_w, 1), cell(limit.time_s, 2),
                                   cell(limit.energy_j, 1), cell_of_four(limit.joules_per_token),
                                   cell(limit.slowdown, 3), plus_minus(limit), mark(choice, limit));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

void add_unconfirmed(const LimitChoice& choice, std::string& text) {
  std::vector<std::string> limits;
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.lacks_confirmation()) limits.push_back(watts(limit.group.limit_w));
  }
  if (limits.empty()) return;
  constexpr std::size_t kFew = 3;
  const std::string where = limits.size() == choice.groups.size() ? ""
                            : limits.size() <= kFew
                                ? fmt::format(" at {} W", fmt::join(limits, ", "))
                                : fmt::format(" at {} limits", limits.size());
  text += fmt::format("limit_not_confirmed{}: nothing was recorded of the limit in force\n", where);
}

void add_faults(const LimitChoice& choice, std::string& text) {
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.group.state == LimitState::ok) continue;
    text += fmt::format("! {} W: {}: {}\n", watts(limit.group.limit_w), name(limit.group.state),
                        limit.group.why);
  }
}

std::string_view why_no_ties(const LimitChoice& choice) {
  if (!choice.interval_from.empty()) return "a limit has no interval";
  if (choice.are_repeats_equal) return "no intervals: repeats are equal in every digit";
  return choice.is_of_rows ? "no intervals: too few rows, or all are equal"
                           : "no intervals: each limit was measured once";
}

// Equal values tie also where the others cannot be judged.
void add_ties(const LimitChoice& choice, std::string& text) {
  if (!choice.ties_w.empty()) {
    std::vector<std::string> tied;
    for (const double limit_w : choice.ties_w) tied.push_back(watts(limit_w) + " W");
    text += fmt::format("= a tie: {} cannot be told from it\n", fmt::join(tied, ", "));
  }
  const auto able = static_cast<std::size_t>(std::ranges::count_if(
      choice.groups, [](const JudgedLimit& limit) { return limit.can_win(); }));
  const bool are_all_told = able <= choice.ties_w.size() + 1;
  if (choice.are_ties_judged || are_all_told) return;
  text += fmt::format("{}, so {} cannot be judged\n", why_no_ties(choice),
                      choice.ties_w.empty() ? "ties" : "other ties");
}

void add_verdict(const LimitChoice& choice, std::string& text) {
  if (!choice.recommended_limit_w) {
    text += fmt::format("no recommendation: {}\n", choice.why_not);
    return;
  }
  text += fmt::format("recommended {} W, by {}", watts(*choice.recommended_limit_w),
                      objective_text(choice));
  if (choice.runner_up_w) {
    text += fmt::format("; then {} W, {:.2f} % more", watts(*choice.runner_up_w),
                        100 * choice.margin.value_or(0));
    if (choice.margin_interval && choice.margin_interval->low < choice.margin_interval->high) {
      text += fmt::format(" ({:.2f} to {:.2f} %)", 100 * choice.margin_interval->low,
                          100 * choice.margin_interval->high);
    }
    text += "\n";
  } else {
    text += "; no other limit can be judged\n";
  }
  add_ties(choice, text);
}

std::string choice_text(const LimitChoice& choice, const RowRules& rules) {
  std::string text = one_line(choice.scenario) + "\n";
  add_limits(choice, text);
  add_faults(choice, text);
  add_unconfirmed(choice, text);
  std::size_t outliers = 0;
  for (const JudgedLimit& limit : choice.groups) outliers += limit.group.outliers;
  if (outliers > 0) {
    text += fmt::format("{} {} left out, by {}\n", outliers, outliers == 1 ? "outlier" : "outliers",
                        name(rules.outliers));
  }
  add_verdict(choice, text);
  return text;
}

const LimitChoice* choice_named(const Recommendation& recommendation, std::string_view scenario) {
  const auto found = std::ranges::find_if(recommendation.choices, [&](const LimitChoice& choice) {
    return choice.is_of_rows && choice.scenario == scenario;
  });
  return found == recommendation.choices.end() ? nullptr : &*found;
}

std::string half_row(const LimitChoice& choice, double limit_w) {
  for (const JudgedLimit& limit : choice.groups) {
    if (!is_same_limit(limit.group.limit_w, limit_w)) continue;
    return fmt::format("{:>9} {:>8} {:>8} {:1}", cell_of_four(limit.joules_per_token),
                       cell(limit.slowdown, 3), cell(limit.group.mean_power_w, 1),
                       mark(choice, limit));
  }
  return fmt::format("{:>9} {:>8} {:>8}  ", "-", "-", "-");
}

std::string side_by_side(const LimitChoice& training, const LimitChoice& inference) {
  std::vector<double> limits;
  for (const LimitChoice* const choice : {&training, &inference}) {
    for (const JudgedLimit& limit : choice->groups) limits.push_back(limit.group.limit_w);
  }
  std::string text =
      fmt::format("{:8} {:>19} {:>30}\n{:>8}", "", "training", "inference", "limit W");
  for (int side = 0; side < 2; ++side) {
    text += fmt::format("  {:>9} {:>8} {:>8}  ", "J/token", "slowdown", "mean W");
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += "\n";
  for (const double limit_w : distinct_limits(std::move(limits))) {
    std::string line = fmt::format("{:>8}  {}  {}", watts(limit_w), half_row(training, limit_w),
                                   half_row(inference, limit_w));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string scaling_text(const ScalingSweep& scaling) {
  std::string text = fmt::format("{}: J/token against {}\n{:<24} {:>8} {:>5} {:>12} {:>9}\n",
                                 one_line(scaling.scenario), one_line(scaling.speed_key), "",
                                 "limit W", "runs", "speed", "J/token");
  for (const ScalingPoint& point : scaling.points) {
    text += fmt::format("{:<24} {:>8} {:>5} {:>12} {:>9}{}\n", shortened(point.name, 24),
                        point.limit_w ? watts(*point.limit_w) : "-", point.n,
                        fmt::format("{:.6g}", point.speed),
                        fmt::format("{:.4g}", point.joules_per_token),
                        point.is_knee       ? " front, knee"
                        : point.is_on_front ? " front"
                                            : "");
  }
  return text;
}

}  // namespace

std::string recommendation_text(const Recommendation& recommendation) {
  std::vector<std::string> parts;
  if (recommendation.was_joined) {
    const JoinedRows& join = recommendation.join;
    parts.push_back(fmt::format(
        "{} rows of tokens, {} joined with samples of {}; {} out of tolerance{}\n", join.tokens,
        join.tokens - join.out_of_tolerance - join.unreadable,
        join.gpus.size() == 1 ? "1 GPU" : fmt::format("{} GPUs", join.gpus.size()),
        join.out_of_tolerance,
        join.unreadable > 0 ? fmt::format(", {} without a readable time", join.unreadable) : ""));
  }
  for (const LimitChoice& choice : recommendation.choices) {
    parts.push_back(choice_text(choice, recommendation.row_rules));
  }
  const LimitChoice* const training = choice_named(recommendation, kTraining);
  const LimitChoice* const inference = choice_named(recommendation, kInference);
  if (training != nullptr && inference != nullptr) {
    parts.push_back(side_by_side(*training, *inference));
  }
  for (const ScalingSweep& scaling : recommendation.scalings) {
    parts.push_back(scaling_text(scaling));
  }
  if (parts.empty()) parts.emplace_back("no recommendation: there is nothing to compare\n");
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace aggregate_power
