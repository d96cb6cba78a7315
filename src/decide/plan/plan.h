// How many repeats a comparison needs, and how to record them, before it is measured: by the test
// of `compare` (decide/compare/power.h) and the intervals of energy/uncertainty.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/files/tree.h"
#include "decide/compare/compare.h"
#include "energy/uncertainty/estimate.h"
#include "energy/uncertainty/interval.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// ---- What a window of a load is worth, by how it is recorded. Shares are relative.

// Half a minute of idle GPUs, a load that rises to five times their power and swings by 5 % (the
// standard deviation of means over 100 ms), and idle GPUs again, as these sensors show it to a
// recorder that asks every `period_s`, with an energy counter or without. The same arguments give
// the same readings.
EstimateQuestion modelled_load(const std::vector<SensorModel>& sensors, double period_s,
                               double window_s, bool has_counter);

// The same readings, every `step`th alone.
EstimateQuestion thinned(EstimateQuestion seen, std::size_t step);
// ---- The plan

struct PlanRequest : RecordingOptions {
  std::vector<std::string> pilots;  // places of runs, as `compare` reads them
  std::string recording;            // normal path of a recording of the load; empty: none
  std::string gpu;                  // model of the GPUs; empty: as the recording says
  std::string metric = kDefaultCompareMetric;
  double detect = 0;  // a change that is to be found; 0: none
  double margin = 0;  // that no change is to be shown to be within, or that does not matter
  double power = kUsualPower;
  double alpha = kChangeAlpha;
  std::size_t looks = 1;
  std::optional<double> spread = {};
  std::optional<double> sampling_s = {};
  std::optional<double> window_s = {};
  std::optional<double> cool_down_s = {};
  std::string base_load;  // lines of shell, for the commands that are printed
  std::string next_load;
  RunSpec measuring = {};
  StoreAccess access = {};
  unsigned most_threads = 1;
};

// One way to record, and what it takes.
struct PlannedWay {
  double sampling_s = 0;  // between readings; 0: as the pilot runs did
  bool has_counter = false;
  WindowWorth worth = {};
  std::optional<std::size_t> repeats = {};  // of each side; nullopt: more than kMostRepeats
  double share = 0;                         // that is decided with these
};

// What a load that is this short is worth.
struct ShortLoad {
  double seconds = 0;
  WindowWorth power = {};
  WindowWorth counter = {};
};

struct Plan {
  PlanRequest request;
  double spread = 0;
  double spread_freedom = std::numeric_limits<double>::infinity();
  std::string spread_from = {};
  std::string sensor = {};  // what a reading is
  double window_s = 0;      // 0: as long as the pilot runs
  double idle_s = 0;        // before and after each run
  double cool_down_s = 60;
  std::string cool_down_from = "a guess: no recording of the load says how fast the GPUs cool down";
  std::vector<PlannedWay> ways = {};
  std::optional<std::size_t> chosen = {};  // of the ways; nullopt: none is enough
  // Of the chosen way: what is found with the power that was asked for, and how many repeats were
  // enough if the spread were known.
  std::optional<double> smallest = {};
  std::optional<std::size_t> repeats_if_known = {};
  std::vector<ShortLoad> short_loads = {};
  std::vector<std::string> notes = {};
};

// Throws FileError and Error as compare_runs() does, and Error for a recording without a load.
Plan plan_comparison(const PlanRequest& request);

// Minutes that all runs take, with what is before, between and after them; nullopt: not known.
std::optional<double> plan_minutes(const Plan& plan);

std::string plan_text(const Plan& plan);
std::string plan_json(const Plan& plan);

}  // namespace aggregate_power
