// The table of assumptions.
#include "aggregate_power/assumption.h"

namespace aggregate_power {
namespace {

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

}  // namespace

std::span<const ExplainedWord> assumption_words() { return kAssumptions; }

}  // namespace aggregate_power
