// Plans a sweep over power limits, as a shell script for a person to read and run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

struct SweepPlan {
  std::vector<int> limits_w = {};  // ascending
  int repeats = 3;
  int cool_down_s = 60;
  std::string gpus = {};  // as the vendor's tool names them, with commas; empty: all
  std::string vendor = "nvidia";
  std::string load = {};  // the command; empty: the reader fills it in
};

// The limits of "START:END:STEP" in whole watts; END is included if a step ends there. Throws Error
// for anything else.
std::vector<int> planned_limits(std::string_view text);

// The limits of all runs, in their order: up, down, up and so on, so that what drifts slowly
// affects all limits alike.
std::vector<int> planned_order(const SweepPlan& plan);

// The script sets each limit, checks that it is in force, cools down, records the load with
// aggregate-power-monitor, and at last puts the limits back that it found, also when it fails.
std::string plan_script(const SweepPlan& plan);

}  // namespace aggregate_power
