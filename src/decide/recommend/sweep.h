// From published runs to what was measured at each power limit, and how they scale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Which points of a sweep are worth choosing: the Pareto front of energy per token against speed,
// and its knee. Pure arithmetic.

struct ScalingPoint {
  std::string name;  // "conc=16"
  std::optional<double> limit_w = {};
  double speed = 0;             // the more the better
  double joules_per_token = 0;  // the less the better
  std::size_t n = 1;            // runs
  bool is_on_front = false;
  bool is_knee = false;
};

// Runs that differ in their concurrency, and perhaps in their limit, alone.
struct ScalingSweep {
  std::string scenario;
  std::string speed_key;                  // "output_tput_per_gpu"
  std::vector<ScalingPoint> points = {};  // from the slowest to the fastest
};

// Marks the points that no other one beats: none is at least as good in both and better in one. The
// knee is the point of the front that is furthest from the straight line between the front's ends,
// on the better side of it, both axes scaled to the front's range (Kneedle, Satopaa and others
// 2011). A front of fewer than three different points, or one without a point on that side, has no
// knee. Sorts the points.
void mark_front(std::vector<ScalingPoint>& points);

// ---- A sweep over power limits: what was measured at each limit, by scenario.

// Measured at one limit without interruption: a run, an epoch, or a stretch of rows.
struct LimitPiece {
  double energy_j = 0;  // of all GPUs together
  std::optional<double> time_s = {};
  double work = 1;  // tokens where they are known, else this one run or epoch
};

enum class LimitState { ok, insufficient, limit_not_in_force, too_slow };
std::string_view name(LimitState state);

// Where clocks were swept instead of power limits, each limit is a clock, in MHz.
struct LimitGroup {
  double limit_w = 0;  // of each GPU, as asked for
  std::size_t n = 0;   // rows or runs that count
  std::size_t outliers = 0;
  std::vector<LimitPiece> pieces = {};
  // Parts of the pieces in time order, about as many rows each. Only rows have them.
  std::vector<LimitPiece> blocks = {};
  bool has_totals = true;  // false: the energy of one token is known, but not how many there were
  std::optional<double> mean_power_w = {};      // of all GPUs together
  std::optional<double> gpu_power_w = {};       // mean of one GPU
  std::optional<double> temperature_c = {};     // mean of the runs, if all state it
  std::optional<double> utilization_pct = {};   // the same
  std::optional<double> limit_in_force_w = {};  // as the GPUs reported it
  bool is_confirmed = false;                    // all of them reported one
  // The mean of power over rate of the rows.
  std::optional<double> mean_joules_per_token = {};
  // Of the energy of one run, root mean square, without what is the same in all runs on the same
  // GPUs; nullopt: some run does not state it.
  std::optional<double> relative_uncertainty = {};
  LimitState state = LimitState::ok;
  std::string why = {};  // if it is not ok
};

struct LimitScenario {
  std::string name;
  bool has_tokens = false;    // the work of its pieces is tokens
  bool is_of_rows = false;    // else of runs or epochs
  bool is_of_clocks = false;  // else of power limits
  std::optional<double> gpus = {};
  std::vector<LimitGroup> groups = {};  // from the lowest limit to the highest
};

// Whether two limits are the same: within 1 W or 0.5 %.
bool is_same_limit(double limit_w, double other_w);

// Whether two clocks are the same: within 16 MHz, since clocks come in steps.
bool is_same_clock(double clock_mhz, double other_mhz);

// The lowest of each set of limits that are the same, in ascending order.
std::vector<double> distinct_limits(std::vector<double> limits_w);
// The one of these that is the same as `limit_w`, or the nearest one. `distinct_w` is not empty.
std::size_t limit_index(const std::vector<double>& distinct_w, double limit_w);

// Why the limit was not in force: the GPUs reported another one, or drew over 3 % more. Empty:
// nothing says so.
std::string limit_fault(double limit_w, std::optional<double> in_force_w,
                        std::optional<double> gpu_power_w);

struct RunSweepRequest {
  std::vector<std::string> keys = {};  // that name a scenario; empty: the whole configuration
  std::string limit_key = {};          // the member with the limit; empty: those that are known
  unsigned most_threads = 1;
};

struct RunSweep {
  std::vector<LimitScenario> scenarios = {};
  std::vector<ScalingSweep> scalings = {};  // over concurrency
  std::vector<std::string> warnings = {};
  std::size_t without_limit = 0;
};

// The limit of a run is a member of its aggregate, else the one that its recording reports for the
// window. Runs with equal configurations are repeats.
RunSweep sweep_of_runs(const std::vector<PublishedRun>& runs, const RunSweepRequest& request);

}  // namespace aggregate_power
