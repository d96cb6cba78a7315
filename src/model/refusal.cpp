// What the words of uncertainty, idle power and requests mean: assumptions, refusals and verdicts.
#include "aggregate_power/refusal.h"
#include "aggregate_power/assumption.h"
#include "aggregate_power/verdict.h"

namespace aggregate_power {
namespace {

constexpr ExplainedWord kNoInterval[] = {
    {"power_not_valid", "the run itself is refused", "see the run's own `reasons`"},
    {"stuck_all_window",
     "the sensor shows one value under load for more than nine tenths of the window; or one value with a fraction throughout, for more than 10 s, and there is no counter",
     "measure again: the driver or the recorder hung"},
    {"sensor_scope_unknown",
     "the readings may be those of more or less than a GPU: a module, a MIG instance, GH200's `instant`, a GPU that reads 0 W throughout, or a `--gpu-model` that contradicts the file",
     "do what `advice` in the record says"},
    {"too_few_readings", "fewer than three readings of a GPU are in the window",
     "sample more often, or measure for longer"},
};

constexpr ExplainedWord kNoIdle[] = {
    {"no_plateau", "neither before nor after the load is there a plateau",
     "record 15 s without load before the benchmark, or give --idle watts or a stretch"},
    {"other_load",
     "the plateaus beside the load are those of other work: near it, a GPU was steady at less than four fifths of that power",
     "record 15 s without any load before the benchmark, or give --idle watts or a stretch"},
    {"too_few_readings",
     "the given stretch has less than 10 s, fewer than 10 readings of a GPU, or a gap",
     "the stretch needs 10 s and 10 readings of each GPU, without gaps; give another --idle"},
    {"overlaps_load", "the given stretch is partly in the window",
     "the stretch must begin before it ends, outside the load's window; give another --idle"},
    {"ends_before_it_begins", "the given stretch ends before it begins",
     "the stretch must begin before it ends, outside the load's window; give another --idle"},
    {"idle_not_below_load", "the GPUs drew no more in the window than idle",
     "the GPUs drew no more under load; give another --idle"},
    {"recording_changed", "the recording could not be read again",
     "run again when nothing writes the recording any more"},
    {"not_for_packages", "the run was measured by a package, in a backfill",
     "the samples of a package are not searched for idle time; subtract it by hand"},
    {"power_not_valid", "the run itself is refused", "see the run's own `reasons`"},
};

constexpr ExplainedWord kNoRequestEnergy[] = {
    {"too_few_readings", "fewer than 20 readings were averaged inside the window",
     "measure for longer, or sample more often"},
    {"stamps_of_whole_seconds", "the recorder cut its stamps: when it read is unknown by up to 1 s",
     "record stamps with fractions of a second"},
    {"first_tokens_unknown", "a request that succeeded does not say when its first token came",
     "give a list with the times to first token: let the load generator stream"},
    {"phase_never_varies",
     "a phase's requests, or all in flight, vary by less than 2 % of their mean, as in closed loops at constant concurrency",
     "send requests at random times (a Poisson rate), or with pauses"},
    {"phase_shorter_than_refresh",
     "a phase takes less time on average than the sensor needs to show a new value",
     "use longer prompts, or a sensor that refreshes faster"},
    {"phases_collinear", "the phases go up and down together: condition above 6 in `counts`",
     "vary the lengths of prompts and outputs independently"},
    {"model_does_not_fit", "r2 below 0.5, or no idle power",
     "see that the list is of this run and has all of its requests"},
    {"phase_power_too_uncertain",
     "a standard error above 25 % of a slope (`counts`), or above 10 % of a state's energy (`states`)",
     "measure for longer, or sample more often"},
    {"no_request_in_window", "no request of the list was in flight in the window",
     "give the list of this run; its times must be those of the window's clock"},
    {"requests_unreadable", "the file that lists the requests cannot be read",
     "the warning names the file and the fault"},
    {"power_not_valid", "the run itself is refused", "see the run's own `reasons`"},
};

constexpr ExplainedWord kAssumptions[] = {
    {"one_clock", "always: recorder and load generator agree within `--clock-uncertainty`",
     "nothing on one host; for two, synchronize their clocks and state how well with `--clock-uncertainty`"},
    {"gain_prior_of_19_boards",
     "always: the boards' sensors are as accurate as 19 boards of 15 models were against an external meter",
     "state what is known of calibrated boards with `--sensor-accuracy`"},
    {"load_starts_in_window",
     "power steps between two readings at an edge of the window: the load does not rise before the window, nor go on after it",
     "nothing, if the window is that of the load; else give its times"},
    {"regular_recorder_loop",
     "stamps are whole seconds: they are those of a regular loop, which is never early",
     "record stamps with fractions of a second"},
    {"amd_reading_is_a_moment",
     "the GPUs are an MI300 or later: they report the power at the moment of the query",
     "record an energy counter, too, which needs no such assumption"},
    {"amd_filter_undocumented",
     "the GPUs are an MI200, an MI300A or older: how they average is not public, a moment or a mean over 1 s",
     "record an energy counter, too, which needs no such assumption"},
    {"sensor_not_characterised",
     "nobody has measured the window of the sensor of this Blackwell: 1 s by NVML's reference, as on a B300",
     "record an energy counter, too, which needs no such assumption"},
    {"rdna3_reads_low",
     "the GPUs are RDNA3 (Radeon RX 7000, PRO W7000): a W7700 read 14 to 15 % below a meter, so what flowed is taken to be 0 to 17 % more than the reading, and how they average is not public",
     "measure at the wall, or calibrate the boards and state it with `--sensor-accuracy`"},
    {"first_dies_report_both", "the GPUs are MI250X: the even ids report both dies of a package",
     "record rocm-smi's or amd-smi's power of the first dies"},
    {"counter_of_module_not_used",
     "the GPUs are GH200: their energy counter includes the CPU, so it is not used", "nothing"},
    {"first_request_starts_with_window",
     "the requests have times of a monotonic clock that is not tied to the window: the first one starts with it",
     "record with `aggregate-power-monitor run`, or give a list with Unix times"},
    {"mean_token_rate_where_unknown",
     "`--share tokens`, and some requests have no number of output tokens: they count like the mean of the others",
     "give a list with all numbers, or use another `--share`"},
    {"sensor_by_best_fit",
     "several sensors are possible: `--phases` takes the one that explains the readings best",
     "name the GPU with `--gpu-model`, or record `name` and `power.draw.average`, too"},
};

constexpr ExplainedWord kVerdicts[] = {
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

std::span<const ExplainedWord> interval_refusals() { return kNoInterval; }
std::span<const ExplainedWord> idle_refusals() { return kNoIdle; }
std::span<const ExplainedWord> request_refusals() { return kNoRequestEnergy; }

std::span<const ExplainedWord> assumption_words() { return kAssumptions; }

std::span<const ExplainedWord> verdict_words() { return kVerdicts; }

}  // namespace aggregate_power
