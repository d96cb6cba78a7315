// Shows a recommendation to people, in at most 80 columns as long as its numbers are not huge, and
// to programs.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "decide/recommend/recommend.h"

namespace aggregate_power {
namespace {

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
  const TextTable table(fmt::format(
      "[{} >8.6g] [{} >6] [mean W >8.1f] [time s >10.2f] [energy J >12.1f] [{} >9.4g] [slowdown >8.3f] [+- % >6] [ <]",
      choice.is_of_clocks ? "MHz" : "limit W", choice.is_of_rows ? "rows" : "runs",
      choice.is_of_rows || !choice.has_tokens ? "J/token" : "J/out.tok"));
  text += table.head();
  for (const JudgedLimit& limit : choice.groups) {
    table.add(
        {limit.group.limit_w, limit.group.n, limit.group.mean_power_w, limit.time_s, limit.energy_j,
         limit.joules_per_token, limit.slowdown, plus_minus(limit), mark(choice, limit)},
        text);
  }
}

void add_unconfirmed(const LimitChoice& choice, std::string& text) {
  std::vector<std::string> limits;
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.lacks_confirmation()) limits.push_back(watts(limit.group.limit_w));
  }
  if (limits.empty()) return;
  constexpr std::size_t kFew = 3;
  const std::string where =
      limits.size() == choice.groups.size() ? ""
      : limits.size() <= kFew
          ? fmt::format(" at {} {}", fmt::join(limits, ", "), choice.is_of_clocks ? "MHz" : "W")
          : fmt::format(" at {} limits", limits.size());
  text += fmt::format("limit_not_confirmed{}: nothing was recorded of the limit in force\n", where);
}

void add_faults(const LimitChoice& choice, std::string& text) {
  for (const JudgedLimit& limit : choice.groups) {
    if (limit.group.state == LimitState::ok) continue;
    text += fmt::format("! {}: {}: {}\n", limit_text(choice, limit.group.limit_w),
                        name(limit.group.state), limit.group.why);
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
  if (!choice.ties_w.empty()) text += "= a tie: " + ties_text(choice) + "\n";
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
  text += fmt::format("recommended {}, by {}", limit_text(choice, *choice.recommended_limit_w),
                      objective_text(choice));
  text += choice.runner_up_w ? runner_up_text(choice) : "; no other limit can be judged";
  text += "\n";
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

void add_half_row(const LimitChoice& choice, double limit_w, std::vector<TextCell>& cells) {
  for (const JudgedLimit& limit : choice.groups) {
    if (!is_same_limit(limit.group.limit_w, limit_w)) continue;
    cells.insert(cells.end(), {limit.joules_per_token, limit.slowdown, limit.group.mean_power_w,
                               mark(choice, limit)});
    return;
  }
  cells.insert(cells.end(), {"-", "-", "-", ""});
}

std::string side_by_side(const LimitChoice& training, const LimitChoice& inference) {
  std::vector<double> limits;
  for (const LimitChoice* const choice : {&training, &inference}) {
    for (const JudgedLimit& limit : choice->groups) limits.push_back(limit.group.limit_w);
  }
  const TextTable table(
      "[limit W >8.6g]  [J/token >9.4g] [slowdown >8.3f] [mean W >8.1f] [ <1]  [J/token >9.4g] [slowdown >8.3f] [mean W >8.1f] [ <1]");
  std::string text = TextTable("[ <8] [training >19] [inference >30]").head() + table.head();
  for (const double limit_w : distinct_limits(std::move(limits))) {
    std::vector<TextCell> cells = {limit_w};
    add_half_row(training, limit_w, cells);
    add_half_row(inference, limit_w, cells);
    table.add(cells, text);
  }
  return text;
}

std::string scaling_text(const ScalingSweep& scaling) {
  const TextTable table("[ <24] [limit W >8.6g] [runs >5] [speed >12.6g] [J/out.tok >9.4g] [ <]");
  std::string text = fmt::format("{}: J/output token against {}\n{}", one_line(scaling.scenario),
                                 one_line(scaling.speed_key), table.head());
  for (const ScalingPoint& point : scaling.points) {
    table.add(
        {shortened(point.name, 24), point.limit_w, point.n, point.speed, point.joules_per_token,
         point.is_knee       ? "front, knee"
         : point.is_on_front ? "front"
                             : ""},
        text);
  }
  return text;
}

Json interval_json(const std::optional<LimitInterval>& interval) {
  if (!interval) return Json();
  return {{"low", number_or_null(interval->low)}, {"high", number_or_null(interval->high)}};
}

// A limit has a member in W and one in MHz; the one that it is not is null.
void add_limit_json(const LimitChoice& choice, const std::string& name, std::optional<double> limit,
                    Json& json) {
  json[name + "_w"] = number_or_null(choice.is_of_clocks ? std::nullopt : limit);
  json[name + "_mhz"] = number_or_null(choice.is_of_clocks ? limit : std::nullopt);
}

Json group_json(const LimitChoice& choice, const JudgedLimit& limit) {
  const LimitGroup& group = limit.group;
  Json json;
  add_limit_json(choice, "limit", group.limit_w, json);
  add_limit_json(choice, "limit_in_force", group.limit_in_force_w, json);
  json.update({{"n", group.n},
               {"runs", group.pieces.size()},
               {"mean_power_w", number_or_null(group.mean_power_w)},
               {"time_s", number_or_null(limit.time_s)},
               {"tokens", number_or_null(limit.tokens)},
               {"energy_j", number_or_null(limit.energy_j)},
               {"joules_per_token", number_or_null(limit.joules_per_token)},
               {"mean_joules_per_token", number_or_null(group.mean_joules_per_token)},
               {"slowdown", number_or_null(limit.slowdown)},
               {"value", number_or_null(limit.value)},
               {"interval", interval_json(limit.interval)},
               {"gpu_power_w", number_or_null(group.gpu_power_w)},
               {"note", text_or_null(limit.lacks_confirmation() ? "limit_not_confirmed" : "")},
               {"state", name(group.state)},
               {"why", text_or_null(group.why)},
               {"outliers", group.outliers}});
  return json;
}

// The members that the top level repeats.
void add_verdict_json(const LimitChoice& choice, Json& json) {
  add_limit_json(choice, "recommended_limit", choice.recommended_limit_w, json);
  add_limit_json(choice, "runner_up", choice.runner_up_w, json);
  json["margin"] = number_or_null(choice.margin);
  json["margin_interval"] = interval_json(choice.margin_interval);
  json["ties"] = choice.ties_w;
  json["ties_judged"] = choice.are_ties_judged;
  json["why_not"] = text_or_null(choice.recommended_limit_w ? "" : choice.why_not);
  json["groups"] =
      list_of(choice.groups, [&](const JudgedLimit& limit) { return group_json(choice, limit); });
}

Json choice_json(const LimitChoice& choice) {
  Json json = {{"scenario", choice.scenario},
               {"objective", name(choice.objective)},
               {"rows", choice.is_of_rows},
               {"clocks", choice.is_of_clocks},
               {"interval_from", text_or_null(choice.interval_from)}};
  add_limit_json(choice, "reference_limit", choice.reference_limit_w, json);
  add_verdict_json(choice, json);
  return json;
}

Json scaling_json(const ScalingSweep& scaling) {
  return {{"scenario", scaling.scenario},
          {"speed_key", scaling.speed_key},
          {"points", list_of(scaling.points, [&](const ScalingPoint& point) -> Json {
             return {{"name", point.name},
                     {"limit_w", number_or_null(point.limit_w)},
                     {"n", point.n},
                     {"speed", number_or_null(point.speed)},
                     {"joules_per_token", number_or_null(point.joules_per_token)},
                     {"front", point.is_on_front},
                     {"knee", point.is_knee}};
           })}};
}

Json join_json(const JoinedRows& join) {
  return {{"tokens", join.tokens},
          {"joined", join.tokens - join.out_of_tolerance - join.unreadable},
          {"out_of_tolerance", join.out_of_tolerance},
          {"unreadable", join.unreadable},
          {"gpus", join.gpus}};
}

}  // namespace

std::string limit_text(const LimitChoice& choice, double limit_w) {
  return watts(limit_w) + (choice.is_of_clocks ? " MHz" : " W");
}

std::string runner_up_text(const LimitChoice& choice) {
  if (!choice.runner_up_w) return {};
  const auto& margin = choice.margin_interval;
  return fmt::format(
      "; then {}, {:.2f} % more{}", limit_text(choice, *choice.runner_up_w),
      100 * choice.margin.value_or(0),
      margin && margin->low < margin->high
          ? fmt::format(" ({:.2f} to {:.2f} %)", 100 * margin->low, 100 * margin->high)
          : "");
}

std::string ties_text(const LimitChoice& choice) {
  std::vector<std::string> tied;
  for (const double limit_w : choice.ties_w) tied.push_back(limit_text(choice, limit_w));
  return fmt::format("{} cannot be told from it", fmt::join(tied, ", "));
}

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
  for (const SloFront& front : recommendation.fronts) {
    parts.push_back(front_text(front, recommendation.slo));
  }
  if (parts.empty()) parts.emplace_back("no recommendation: there is nothing to compare\n");
  return joined_text(parts, "\n");
}

std::string recommendation_json(const Recommendation& recommendation) {
  Json json = {{"schema", "aggregate-power/recommend-2"}};
  add_verdict_json(recommendation.choices.empty() ? LimitChoice() : recommendation.choices.front(),
                   json);
  json["scenarios"] = list_of(recommendation.choices, choice_json);
  json["scaling"] = list_of(recommendation.scalings, scaling_json);
  if (recommendation.slo.is_asked()) {
    json["slo"] = recommendation.slo.text();
    json["fronts"] = list_of(recommendation.fronts, front_json);
  }
  json["outliers"] = name(recommendation.row_rules.outliers);
  json["join"] = recommendation.was_joined ? join_json(recommendation.join) : Json();
  json["written"] = recommendation.written;
  return indented_lines(json);
}

}  // namespace aggregate_power
