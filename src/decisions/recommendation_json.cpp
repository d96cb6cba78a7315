// A recommendation as one JSON object.

#include "base/report/json_parts.h"
#include "decisions/recommendation.h"

namespace aggregate_power {
namespace {

Json interval_json(const std::optional<LimitInterval>& interval) {
  if (!interval) return Json();
  return {{"low", number_or_null(interval->low)}, {"high", number_or_null(interval->high)}};
}

Json group_json(const JudgedLimit& limit) {
  const LimitGroup& group = limit.group;
  return {{"limit_w", group.limit_w},
          {"n", group.n},
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
          {"limit_in_force_w", number_or_null(group.limit_in_force_w)},
          {"gpu_power_w", number_or_null(group.gpu_power_w)},
          {"note", text_or_null(limit.lacks_confirmation() ? "limit_not_confirmed" : "")},
          {"state", name(group.state)},
          {"why", text_or_null(group.why)},
          {"outliers", group.outliers}};
}

// The members that the top level repeats.
void add_verdict_json(const LimitChoice& choice, Json& json) {
  json["recommended_limit_w"] = number_or_null(choice.recommended_limit_w);
  json["runner_up_w"] = number_or_null(choice.runner_up_w);
  json["margin"] = number_or_null(choice.margin);
  json["margin_interval"] = interval_json(choice.margin_interval);
  json["ties"] = choice.ties_w;
  json["ties_judged"] = choice.are_ties_judged;
  json["why_not"] = text_or_null(choice.recommended_limit_w ? "" : choice.why_not);
  Json groups = Json::array();
  for (const JudgedLimit& limit : choice.groups) groups.push_back(group_json(limit));
  json["groups"] = std::move(groups);
}

Json choice_json(const LimitChoice& choice) {
  Json json = {{"scenario", choice.scenario},
               {"objective", name(choice.objective)},
               {"rows", choice.is_of_rows},
               {"reference_limit_w", number_or_null(choice.reference_limit_w)},
               {"interval_from", text_or_null(choice.interval_from)}};
  add_verdict_json(choice, json);
  return json;
}

Json scaling_json(const ScalingSweep& scaling) {
  Json points = Json::array();
  for (const ScalingPoint& point : scaling.points) {
    points.push_back({{"name", point.name},
                      {"limit_w", number_or_null(point.limit_w)},
                      {"n", point.n},
                      {"speed", number_or_null(point.speed)},
                      {"joules_per_token", number_or_null(point.joules_per_token)},
                      {"front", point.is_on_front},
                      {"knee", point.is_knee}});
  }
  return {{"scenario", scaling.scenario},
          {"speed_key", scaling.speed_key},
          {"points", std::move(points)}};
}

Json join_json(const JoinedRows& join) {
  return {{"tokens", join.tokens},
          {"joined", join.tokens - join.out_of_tolerance - join.unreadable},
          {"out_of_tolerance", join.out_of_tolerance},
          {"unreadable", join.unreadable},
          {"gpus", join.gpus}};
}

}  // namespace

std::string recommendation_json(const Recommendation& recommendation) {
  Json json = {{"schema", "aggregate-power/recommend-1"}};
  add_verdict_json(recommendation.choices.empty() ? LimitChoice() : recommendation.choices.front(),
                   json);
  Json scenarios = Json::array();
  for (const LimitChoice& choice : recommendation.choices) {
    scenarios.push_back(choice_json(choice));
  }
  json["scenarios"] = std::move(scenarios);
  Json scalings = Json::array();
  for (const ScalingSweep& scaling : recommendation.scalings) {
    scalings.push_back(scaling_json(scaling));
  }
  json["scaling"] = std::move(scalings);
  json["outliers"] = name(recommendation.row_rules.outliers);
  json["join"] = recommendation.was_joined ? join_json(recommendation.join) : Json();
  json["written"] = recommendation.written;
  return indented_lines(json);
}

}  // namespace aggregate_power
