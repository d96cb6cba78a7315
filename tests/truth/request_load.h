// Loads of requests whose phases have known watts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "energy/shares/phases.h"
#include "truth/simulated_run.h"

namespace truth {

enum class Arrivals {
  poisson,
  bursts,       // several requests at once, with pauses
  closed_loop,  // a constant number in flight
};

struct RequestClass {
  std::string name;
  Arrivals arrivals = Arrivals::poisson;
  // Counts: each request in a phase draws its watts. States: one prefill at a time, while no decode
  // goes on.
  aggregate_power::PhaseModel model = aggregate_power::PhaseModel::counts;
  Sensor sensor = Sensor::average_1s;
  double period_s = 1;
  bool is_refused = false;  // nothing can be told apart
};
std::vector<RequestClass> request_classes();

struct RequestLoad {
  aggregate_power::PhaseQuestion question;
  TruePower power = {0, {}};  // times are seconds from the window's start
  // Each request in the phase, or the server in the state.
  double idle_w = 0;
  double prefill_w = 0;
  double decode_w = 0;
};

RequestLoad simulate_requests(const RequestClass& request_class, std::uint64_t seed);

}  // namespace truth
