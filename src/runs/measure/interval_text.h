// The numbers of a run for people: each with its one interval.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/result.h"

namespace aggregate_power::results {

// The estimate of a metric with its interval of 95 %, where the readings allow one; else what is
// published, with the bounds that an estimated window gives it.
struct BestNumber {
  double value = 0;
  std::optional<Interval> bounds = {};
  bool is_estimate = false;
};
BestNumber best_number(const Result& result, const Metric& metric);

// "307.4 kJ  (95 %: 294.8 to 320.1 kJ; ±0.4 % between runs on these GPUs)"
std::string energy_text(const Result& result, const Metric& energy);
// "307412.6 J (85.392 Wh) is published, 0.2 % less; a reading is a mean over 1 s"
std::string published_text(const Result& result, const Metric& energy);
// "18.74 J per output token  (17.65 to 19.83)"
std::string ratio_text(const Result& result, const Metric& ratio, std::string_view what);
// "0.05337 output tokens per joule, 5.205 Wh per 1,000 output tokens, 2.665 Wh per request", as the
// counts allow; empty: they allow none.
std::string rates_text(const Result& result);

// All of it in one line. Empty: no interval was asked for, or the run is not valid.
std::string interval_line(const Result& result);

// The joules per token and per request that a run has, and what each is "J per".
struct ShownRatio {
  const Metric* metric;
  std::string_view what;  // "output token"
};
std::vector<ShownRatio> ratios_of(const Result& result);

}  // namespace aggregate_power::results
