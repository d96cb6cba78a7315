// The energy of requests, phases and good work: in the audit record, in the aggregate, in a file of
// requests, and for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "base/text/json_patch.h"

namespace aggregate_power {

// Without numbers if the run is not valid.
Json request_energy_json(const RequestEnergy& energy, bool is_valid);
Json phase_energy_json(const PhaseEnergy& energy, bool is_valid);

// One request with what it used. A request without times has no energy, and neither has one that
// the sensor does not resolve.
struct RequestLine {
  const RequestTimes& request;
  std::size_t number = 0;  // in its file, from 1: its id if it has none
  std::optional<double> energy_j = {};
  std::optional<double> low_j = {};
  std::optional<double> high_j = {};
  std::string_view no_interval =
      {};  // why there is no interval; empty: it was not asked for, or is there
  RequestShare share = RequestShare::equal;

  void set_interval(const PlacedInterval& interval);
};
std::string request_line(const RequestLine& line);  // with its line feed

// What was found, or why nothing was, in a sentence.
std::string request_energy_text(const RequestEnergy& energy);
std::string phase_energy_text(const PhaseEnergy& energy);
// Those that were requested.
std::vector<std::string> request_texts(const Result& result);

// ---- Good work

// A number of the run's energy over a count, with the energy's interval; the count is exact.
struct EnergyRatio {
  double value = 0;
  std::optional<Interval> bounds = {};
};
std::optional<EnergyRatio> energy_per(const GoodWork& work, std::optional<double> count);
// The members `key`, `key`_low and `key`_high.
void set_ratio(const std::string& key, const std::optional<EnergyRatio>& ratio, Json& json);
std::string energy_ratio_text(const EnergyRatio& ratio, std::string_view unit, double factor = 1);

// By the keys of `good_work`, which compare has, too; only those that are known. Joules without any
// good work are infinite.
std::vector<std::pair<std::string, double>> good_numbers(const GoodWork& work);

// Without joules if the run is not valid.
Json good_work_json(GoodWork work, bool is_valid);
Json correct_answers_json(CorrectAnswers correct, bool is_valid);
std::vector<std::string> good_work_texts(const GoodWork& work);
std::vector<std::string> correct_answers_texts(const CorrectAnswers& correct);

// The keys of a new aggregate, of the published energy as its others are; and all that there may
// be: first the keys of an objective, then the keys of an evaluation.
std::vector<JsonEdit> good_work_edits(const Result& result);
std::vector<std::vector<std::string_view>> good_work_keys();

}  // namespace aggregate_power
