// The energy of requests and phases: in the audit record, in a file of requests, and for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/request.h"
#include "aggregate_power/result.h"
#include "base/report/json_parts.h"

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

}  // namespace aggregate_power
