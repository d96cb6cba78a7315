// A comparison as JSON.
#include <cmath>
#include <limits>

#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "decide/compare/compare_parts.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

Json compare_head(const RunComparisons& compared) {
  Json json = {{"schema", "aggregate-power/compare-1"},
               {"metric", compared.rule.metric},
               {"higher_is_better", compared.rule.is_higher_better},
               {"level", 0.95}};
  if (compared.rates.is_asked()) json["facility"] = facility_terms_json(compared.rates, "gpu");
  if (compared.kind != CompareKind::base_alone) json["margin"] = compared.rule.margin;
  return json;
}

Json compare_configuration_json(const Configuration& configuration) {
  Json json = Json::object();
  for (const auto& [key, value] : configuration) json[one_line(key)] = one_line(value);
  return json;
}

Json compared_side_json(const ComparedSide& side) {
  const RepeatStatistics statistics = side.statistics.value_or(RepeatStatistics());
  const bool is_there = side.statistics.has_value();
  const auto number = [&](double value) { return is_there ? Json(value) : Json(); };
  Json files = Json::array();
  for (const std::string& file : side.files) files.push_back(one_line(file));
  return {{"n", side.files.size()},
          {"mean", number(statistics.mean)},
          {"median", number(statistics.median)},
          {"standard_deviation", number_or_null(statistics.standard_deviation)},
          {"low", number_or_null(statistics.low)},
          {"high", number_or_null(statistics.high)},
          {"smallest", number(statistics.smallest)},
          {"largest", number(statistics.largest)},
          {"files", std::move(files)}};
}

Json compare_excluded_json(const std::vector<ExcludedRun>& excluded) {
  Json json = Json::array();
  for (const ExcludedRun& run : excluded) {
    json.push_back({{"file", one_line(run.file)},
                    {"side", run.is_new ? "new" : "base"},
                    {"reason", one_line(run.reason)}});
  }
  return json;
}

Json compare_texts_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(one_line(text));
  return json;
}

// null: there is no change.
void add_change_json(Json& json, const std::optional<RelativeChange>& change) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const RelativeChange shown = change.value_or(RelativeChange{kNone, kNone, kNone});
  json["change"] = number_or_null(shown.change);
  json["change_low"] = number_or_null(shown.low);
  json["change_high"] = number_or_null(shown.high);
}

void add_run_counts(Json& json, const RunComparison& comparison) {
  json["n_base"] = comparison.base.files.size();
  json["n_new"] = comparison.next.files.size();
}

void add_compared_configuration(Json& json, const RunComparison& comparison) {
  json["configuration"] = one_line(configuration_text(comparison.configuration));
  json["members"] = compare_configuration_json(comparison.configuration);
}

const char* compared_values_name(const RunComparison& comparison) {
  return comparison.uses_estimates ? "estimate" : "published";
}

Json one_comparison_json(const RunComparison& comparison, const CompareRule& rule) {
  Json json;
  add_compared_configuration(json, comparison);
  json["metric"] = rule.metric;
  json["verdict"] = change_verdict_name(comparison.verdict);
  json["lack"] = text_or_null(one_line(comparison.lack));
  json["base"] = compared_side_json(comparison.base);
  json["new"] = compared_side_json(comparison.next);
  add_change_json(json, comparison.change);
  add_run_counts(json, comparison);
  const auto& change = comparison.change;
  json["method"] = change ? Json(change_method_name(change->method)) : Json();
  // JSON has no infinity: null where all uncertainties are stated.
  json["degrees_of_freedom"] =
      number_or_null(change ? std::optional(change->degrees_of_freedom) : std::nullopt);
  json["values"] = compared_values_name(comparison);
  json["boards"] = boards_name(comparison.boards);
  json["sensor_accuracy"] = comparison.accuracy;
  json["notes"] = compare_texts_json(comparison.notes);
  json["excluded"] = compare_excluded_json(comparison.excluded);
  return json;
}

std::string compare_text_of(Json json, const RunComparisons& compared) {
  json["without_power"] = compare_excluded_json(compared.without_power);
  json["warnings"] = compare_texts_json(compared.warnings);
  return indented_lines(json);
}

}  // namespace

std::string comparison_json(const RunComparisons& compared) {
  Json json = compare_head(compared);
  const OverallVerdict overall = overall_verdict(compared);
  json["verdict"] = change_verdict_name(overall.verdict);
  add_change_json(json, overall.decided_by == nullptr ? std::nullopt : overall.decided_by->change);
  add_run_counts(json, overall.decided_by == nullptr ? RunComparison() : *overall.decided_by);
  json["decided_by"] = overall.decided_by == nullptr
                           ? Json()
                           : Json(one_line(configuration_text(overall.decided_by->configuration)));
  Json& comparisons = json["comparisons"] = Json::array();
  for (const RunComparison& comparison : compared.comparisons) {
    comparisons.push_back(one_comparison_json(comparison, compared.rule));
  }
  return compare_text_of(std::move(json), compared);
}

std::string summary_json(const RunComparisons& compared) {
  Json json = compare_head(compared);
  Json& summaries = json["summaries"] = Json::array();
  for (const RunComparison& comparison : compared.comparisons) {
    Json summary;
    add_compared_configuration(summary, comparison);
    summary["metric"] = compared.rule.metric;
    const auto& statistics = comparison.base.statistics;
    summary.update(compared_side_json(comparison.base));
    std::optional<double> deviation;
    std::optional<double> range;
    if (statistics && statistics->standard_deviation) {
      deviation = *statistics->standard_deviation / statistics->mean;
      range = (statistics->largest - statistics->smallest) / statistics->mean;
    }
    summary["relative_standard_deviation"] = number_or_null(deviation);
    summary["relative_range"] = number_or_null(range);
    summary["values"] = compared_values_name(comparison);
    summary["notes"] = compare_texts_json(comparison.notes);
    summary["excluded"] = compare_excluded_json(comparison.excluded);
    summaries.push_back(std::move(summary));
  }
  return compare_text_of(std::move(json), compared);
}

std::string gate_test_json(const RunComparisons& compared, const std::vector<GateTest>& tests) {
  Json json = compare_head(compared);
  json["can_fail"] = gate_can_fail(tests);
  Json& list = json["self_test"] = Json::array();
  for (const GateTest& test : tests) {
    Json one;
    add_compared_configuration(one, *test.comparison);
    add_run_counts(one, *test.comparison);
    one["boards"] = boards_name(test.comparison->boards);
    one["smallest_caught"] = number_or_null(test.smallest_caught);
    Json& trials = one["amounts"] = Json::array();
    for (const GateTrial& trial : test.trials) {
      Json row = {{"amount", trial.amount}, {"verdict", change_verdict_name(trial.verdict)}};
      add_change_json(row, trial.change);
      trials.push_back(std::move(row));
    }
    one["excluded"] = compare_excluded_json(test.comparison->excluded);
    list.push_back(std::move(one));
  }
  return compare_text_of(std::move(json), compared);
}

}  // namespace aggregate_power
