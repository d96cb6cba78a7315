// Draws requests, the power that they make, and its readings.
#include "truth/request_load.h"

#include <algorithm>
#include <cmath>

namespace truth {
namespace {

using aggregate_power::PhaseModel;
using aggregate_power::RequestTimes;

constexpr double kStartUnixS = 1788852000;
constexpr double kLead_s = 9;

double skewed(double mean, Random& random) {
  return mean * std::exp(random.normal(0.5) - 0.125);  // log-normal
}

RequestTimes request_of(double start_s, double prefill_s, double decode_s) {
  RequestTimes request;
  request.start_s = start_s;
  request.first_token_s = start_s + prefill_s;
  request.end_s = request.first_token_s + decode_s;
  request.input_tokens = static_cast<std::int64_t>(prefill_s * 10000);
  request.output_tokens = static_cast<std::int64_t>(decode_s * 50) + 1;
  return request;
}

std::vector<RequestTimes> closed_loop(double duration_s, double prefill_s, double decode_s,
                                      Random& random) {
  std::vector<RequestTimes> requests;
  const std::size_t in_flight = 4 + random.below(60);
  for (std::size_t i = 0; i < in_flight; ++i) {
    for (double at_s = 0.001 * static_cast<double>(i); at_s < duration_s;) {
      requests.push_back(request_of(at_s, skewed(prefill_s, random), skewed(decode_s, random)));
      at_s = requests.back().end_s + 0.002;
    }
  }
  return requests;
}

// Each waits for the prefills before it.
void serve_one_at_a_time(std::vector<RequestTimes>& requests) {
  std::ranges::sort(requests, {}, &RequestTimes::start_s);
  double free_s = -1e9;
  for (RequestTimes& request : requests) {
    const double prefill_s = request.first_token_s - request.start_s;
    const double decode_s = request.end_s - request.first_token_s;
    request.first_token_s = std::max(free_s, request.start_s) + prefill_s;
    request.end_s = request.first_token_s + decode_s;
    free_s = request.first_token_s;
  }
}

std::vector<RequestTimes> draw_requests(const RequestClass& wanted, double duration_s,
                                        Random& random) {
  const bool is_states = wanted.model == PhaseModel::states;
  const double prefill_s = is_states ? random.uniform(0.15, 0.4) : random.uniform(0.2, 0.8);
  const double decode_s = random.uniform(1, 5);
  if (wanted.arrivals == Arrivals::closed_loop) {
    return closed_loop(duration_s, prefill_s, decode_s, random);
  }
  const double load = is_states ? random.uniform(0.25, 0.5) : random.uniform(0.3, 2.0);
  const double apart_s = prefill_s / load;
  std::vector<RequestTimes> requests;
  double at_s = 0;
  while ((at_s += random.exponential(apart_s)) < duration_s - 0.5) {
    const std::size_t together =
        wanted.arrivals == Arrivals::bursts ? 1 + random.below(5) : std::size_t{1};
    for (std::size_t i = 0; i < together; ++i) {
      requests.push_back(request_of(at_s, skewed(prefill_s, random), skewed(decode_s, random)));
    }
    at_s += static_cast<double>(together - 1) * apart_s;
  }
  if (is_states) serve_one_at_a_time(requests);
  for (RequestTimes& request : requests) request.end_s = std::min(request.end_s, duration_s);
  for (RequestTimes& request : requests) {
    request.first_token_s = std::min(request.first_token_s, request.end_s);
  }
  return requests;
}

}  // namespace

std::vector<RequestClass> request_classes() {
  using enum Arrivals;
  using enum Sensor;
  constexpr auto kStates = PhaseModel::states;
  constexpr auto kCounts = PhaseModel::counts;
  return {{"1 s average at 1 Hz", poisson, kCounts, average_1s, 1},
          {"1 s average at 10 Hz", poisson, kCounts, average_1s, 0.1},
          {"1 s average, bursts", bursts, kCounts, average_1s, 1},
          {"100 ms at 10 Hz", poisson, kCounts, full_100ms, 0.1},
          {"100 ms at 1 Hz", poisson, kCounts, full_100ms, 1},
          {"A100 at 10 Hz", poisson, kCounts, a100, 0.1},
          {"V100 at 10 Hz", poisson, kCounts, v100, 0.1},
          {"states, 1 s average", poisson, kStates, average_1s, 1},
          {"states, 100 ms at 10 Hz", poisson, kStates, full_100ms, 0.1},
          {"closed loop, 1 s average", closed_loop, kCounts, average_1s, 1, true},
          {"closed loop, 100 ms", closed_loop, kCounts, full_100ms, 0.1, true}};
}

RequestLoad simulate_requests(const RequestClass& wanted, std::uint64_t seed) {
  Random random(seed);
  RequestLoad load;
  const double duration_s = random.uniform(180, 600);
  const bool is_counts = wanted.model == PhaseModel::counts;
  load.idle_w = random.uniform(80, 130);
  load.prefill_w = is_counts ? random.uniform(120, 300) : random.uniform(500, 680);
  load.decode_w = is_counts ? random.uniform(10, 40) : random.uniform(250, 350);
  const double further_w = random.uniform(3, 8);
  std::vector<RequestTimes> requests = draw_requests(wanted, duration_s, random);

  std::vector<double> watts;
  const aggregate_power::PhaseActivity activity(requests);
  double noise_w = 0;
  for (double at_s = -kLead_s; at_s < duration_s + kLead_s; at_s += TruePower::kStep_s) {
    const auto in = activity.in({at_s, at_s + TruePower::kStep_s}) / TruePower::kStep_s;
    // Slow and fast noise of the chip: some 2 % of the power.
    noise_w += 0.01 * (random.normal(20) - noise_w);
    const double drawn_w =
        is_counts ? load.idle_w + load.prefill_w * in.prefills + load.decode_w * in.decodes
                  : load.idle_w * in.idle_s + load.prefill_w * in.prefill_s +
                        load.decode_w * in.decode_s + further_w * in.further_decodes;
    watts.push_back(drawn_w + noise_w + random.normal(5));
  }
  load.power = TruePower(-kLead_s, std::move(watts));
  load.question.window = {kStartUnixS, kStartUnixS + duration_s};
  load.question.energy_j = load.power.energy_j(0, duration_s);
  load.question.readings =
      readings_of(wanted.sensor, load.power, kStartUnixS, duration_s, wanted.period_s, random);
  load.question.sensors = known_of(wanted.sensor);
  for (RequestTimes& request : requests) {
    request.start_s += kStartUnixS;
    request.first_token_s += kStartUnixS;
    request.end_s += kStartUnixS;
  }
  load.question.requests = std::move(requests);
  return load;
}

}  // namespace truth
