// A table for each object.
#include "aggregate_power/refusal.h"

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
    {"large_recording",
     "the recording has more than 16 MiB, whose readings a single run keeps only with `--uncertainty`",
     "add `--uncertainty`, or use `measure`"},
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

}  // namespace

std::span<const ExplainedWord> interval_refusals() { return kNoInterval; }
std::span<const ExplainedWord> idle_refusals() { return kNoIdle; }
std::span<const ExplainedWord> request_refusals() { return kNoRequestEnergy; }

}  // namespace aggregate_power
