// The table of verdict words.
#include "aggregate_power/verdict.h"

namespace aggregate_power {
namespace {

constexpr ExplainedWord kWords[] = {
    {"steady_state",
     "after the first 5 s (or the first tenth of the window, if that is shorter) every mean over a tenth of the window, up to its end, is within 3 % of the mean of all that time",
     "nothing: the mean describes the load"},
    {"not_steady",
     "one of these means is further off; the detail has the largest deviation and the trend in % per minute",
     "measure for longer, or leave out the start; the energy is right, but the mean power describes no state"},
    {"throttled",
     "a column of clocks event (throttle) reasons is active, for heat or by the hardware, for at least 1 % of the window",
     "check cooling and power supply before comparing this run with others"},
    {"throttling_suspected",
     "there is no such column, utilization is at least 95 % throughout, and the last third of the window is at least 8 % below the first",
     "record `clocks_event_reasons.active`, too"},
    {"power_capped",
     "at least half of the window is above 94 % of the power limit in force, or the reason is `sw_power_cap` for at least half of it",
     "nothing, if the limit is meant; else raise it, since the limit decides the speed"},
    {"idle_gpu",
     "a GPU draws less than 40 % of what the busiest one draws, and varies by less than 5 %",
     "leave it out with `--gpus` if the run did not use it; it counts as it was recorded"},
    {"averaged_sensor", "a reading is a mean over at least 0.5 s",
     "nothing: the estimate takes it into account; the published number is late by half of it at both edges"},
    {"part_time_sensor",
     "the sensor looks at a part of the time only: its window is known to be shorter than three quarters of its refresh (A100, V100, Hopper's `instant`)",
     "record the average, or an energy counter: a load in step with the sensor can be far off, however often it is asked"},
    {"under_sampled_window",
     "readings are moments (the sensor's window is shorter than a fifth of the sampling period), no counter is used, and they vary by more than 8 % (standard deviation over mean)",
     "sample more often, or record the average or an energy counter"},
    {"sensor_unknown",
     "several windows are possible for the sensor, since no file names the GPU, or its driver is not known to average",
     "name the GPU with `--gpu-model`, or record `name` and `power.draw.average`, too"},
    {"window_too_short", "the window is shorter than ten sampling periods or ten sensor windows",
     "measure for longer, or sample more often"},
    {"second_die",
     "a GPU of an MI250X reads 0 W throughout: the sensor of its other die counts both",
     "nothing: the energy is counted once"},
    {"stuck_sensor",
     "a stretch of at least 4 s and 6 readings shows one value under load (above 40 % of the 95th percentile), five times longer than all but 2 % of the other repeats, while readings under load otherwise move by more than 0.01 % and their last digit; constant values at idle are no fault",
     "measure again; the stretch is bridged, and the interval is wider for it"},
    {"implausible_readings",
     "up to three zeros stand between readings above 15 W, or single readings are above 1.5 times the power limit and at most a third of those under load are, or, without a limit, above twice the 99th percentile of the others and at most a tenth of those under load and three, or 1 %, are; or readings are above 3 kW",
     "use the estimate of --uncertainty, which leaves them out: the published number does not"},
    {"counter_rejected",
     "the energy counter runs backwards, or does not move, or differs from the power by more than 1.5 % and four standard uncertainties, to which 4 % are added in quadrature if the readings are moments (so by more than 16 %)",
     "compare with another run; the estimate is made from the power alone, and its interval holds the counter, too, if readings that are moments can have missed what it counted"},
    {"clock_offset_suspected",
     "power rises once near the window's start and falls once near its end (within half of its length, at least 5 s and at most 60 s), and is where it cannot be: up more than 0.2 s before the start, or more than 0.4 s after the end; both edges agree on an offset above 0.3 s; where readings are moments, the first or last of them under load is there",
     "synchronize the clocks of recorder and load generator; the estimate is for the shifted window, the published number is not"},
    {"published_outside_interval",
     "the published number, of all GPUs or of those that are named, is outside `low` to `high`",
     "do not quote it; quote the estimate, or measure again"},
    {"published_biased",
     "the published number, of all GPUs or of those that are named, is outside the interval of repeatability",
     "compare runs by their estimates"},
};

}  // namespace

std::span<const ExplainedWord> verdict_words() { return kWords; }

}  // namespace aggregate_power
