// Which requests met a service level objective (SLO), what the good ones add up to, and what a
// correct answer costs. Pure arithmetic: no files, no clock, no printing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"

namespace aggregate_power::shares {

// "p90:ttft=500ms,tpot=30ms,e2e=10s". Throws Error for any other text.
Slo parse_slo(std::string_view text);

// Seconds; nullopt: the request does not say it, or says what cannot be. The time per output token
// of a request with at most one is 0.
std::optional<double> latency_s(const RequestTimes& request, LatencyKind kind);

enum class RequestOutcome { good, late, failed, unknown, not_counted };

struct JudgedRequests {
  std::vector<RequestOutcome> outcomes;  // by request
  GoodWork work;                         // the counts, and the tokens of the good requests
};

// The requests that end in the window count, and of a good one the output tokens of the window,
// evenly from its first token to its end. A list that reaches beyond the window by at most what its
// duration may differ by is the window's: all of it counts. Warm-ups count nowhere, and neither do
// requests that the generator cancelled. `refused`: what the limits need is in no request.
JudgedRequests judge_requests(std::span<const RequestTimes> requests, Window window,
                              const Slo& slo);

// By limit: the latency that its share of the requests, or 99 % where that is all of them, kept; a
// failed request never ends, and neither does the first of none. The bounds are order statistics,
// with 95 %; infinite where there are too few requests.
struct LatencyQuantile {
  double share = 0;
  double seconds = 0;
  Interval bounds = {};
};
std::vector<LatencyQuantile> latency_quantiles(std::span<const RequestTimes> requests,
                                               std::span<const RequestOutcome> outcomes,
                                               const Slo& slo);

// The share of requests whose latency stands for a limit: 0.99 for a limit on all requests.
double quantile_share(const SloLimit& limit);

// The sign of a wrong unit: a limit that nothing could miss, or that the fastest request missed.
std::vector<std::string> slo_doubts(const Slo& slo, const GoodWork& work);

// Wilson's interval of 95 % for a share, if `count` of `all` were observed.
Interval wilson_interval(std::size_t count, std::size_t all);

// A quotient of two numbers that are known independently, with intervals of 95 %: MOVER (Zou and
// Donner 2008) in logarithms. All numbers are above 0.
Interval quotient_interval(double above, const Interval& above_bounds, double below,
                           const Interval& below_bounds);

}  // namespace aggregate_power::shares
