// Options that several commands share: each is declared only here. A command that words or checks
// one differently changes the returned option, or Options::at().
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files/tree.h"
#include "commands/options/options.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// Columns, unit and zone of recordings.
void add_recording_options(Options& options, RecordingOptions& recording);
Option& add_columns(Options& options, RecordingOptions& recording);
Option& add_power_unit(Options& options, RecordingOptions& recording);
Option& add_timezone(Options& options, RecordingOptions& recording);
// Lets --timezone also take auto and evidence; the help of a command that tries a zone in other
// ways must say so.
Option& accept_evidence(Option& timezone, RunOptions& run);

// --keys and --extended, which has different keys in each command, --require-power and --dry-run.
void add_outcome_options(Options& options, RunOptions& run, const std::string& extended);
// Publishes in spite of reasons of ours.
Option& add_accept(Options& options, RunOptions& run);
Option& add_require_power(Options& options, RunOptions& run);
Option& add_dry_run(Options& options, RunOptions& run);
Option& add_lock_timeout(Options& options);

Option& add_expected_num_gpus(Options& options, RunOptions& run, const std::string& help);
// Lets --expected-num-gpus also take auto. The help must say what that means.
Option& accept_auto_count(Option& gpus, RunOptions& run);
Option& add_gpus(Options& options, RunOptions& run);
Option& add_schema_version(Options& options, RunOptions& run, const std::string& otherwise);
// Sensors beside the GPUs.
Option& add_witness(Options& options, RunOptions& run);
Option& add_calibration(Options& options, RunOptions& run);
// The same for commands that measure unpublished runs, and show no energy of nodes.
void add_calibration_of_measured(Options& options, RunOptions& run);
// --idle; it may name a stretch of the recording unless the command has several.
Option& add_idle_option(Options& options, RunOptions& run);
Option& add_idle_of_many(Options& options, RunOptions& run);
// --uncertainty and what it takes.
void add_uncertainty_options(Options& options, RunOptions& run);
// For commands that measure unpublished runs, as `measure` does.
void add_measuring_options(Options& options, RunSpec& measuring);
// An interval is printed by default; --no-uncertainty leaves it out.
void show_interval(Options& options, RunOptions& run);
// For commands without --phases.
void tie_gpu_to_uncertainty(Options& options);
Option& add_max_sample_gap(Options& options, RunOptions& run);
// --clock-offset of runs with one recording, or with several that one clock stamped.
Option& add_clock_offset(Options& options, RunOptions& run);

// The energy of each request, and of prefill and decode. A command that takes the number of
// requests by --requests takes a file as well.
void add_request_options(Options& options, RunOptions& run, const std::string& otherwise);
// Throws Error for an option that would do nothing.
// Limits of latency, and what keeps them.
Option& add_slo(Options& options, Slo& slo);
// How many answers are correct.
void add_quality_options(Options& options, QualityOptions& quality);

void settle_request_options(const Options& options, const RunOptions& run);

// How stores are read: what they may lead to, and what their archives may expand to.
void add_access_options(Options& options, StoreAccess& access);
// --no-sandbox, for commands with a Command::reach.
void add_no_sandbox(Options& options);
// --max-unpacked, once.
void add_max_unpacked(Options& options);

void add_facility_options(Options& options, FacilityOptions& facility);
void add_rate_options(Options& options, FacilityOptions& facility);
// --tdp: the power limit of a GPU, in W, or "auto".
Option& add_tdp(Options& options, Take take, const std::string& help);
// Throws Error if any of them was given: `what` has no form for them.
void refuse_facility_options(const FacilityOptions& facility, const std::string& what);

// Throws Error, with the reason, for the first of these options that was given.
void refuse_options(const Options& options, std::span<const char* const> names,
                    const std::string& why);
// Those about a load that a result states, and those about a run of a recording.
std::span<const char* const> options_of_loads();
std::span<const char* const> options_of_recordings();

// Which version of the original judges.
Option& add_compat(Options& options, RunOptions& run);

// The files of a run.
// Which benchmark of a result, which windows are accepted, and the zone of its local times:
// --select, --window, --result-timezone.
void add_load_choice(Options& options, RunOptions& run);
Option& add_select(Options& options, RunOptions& run);
Option& add_result_timezone(Options& options, RunOptions& run);
Option& add_window(Options& options, RunOptions& run, const std::string& help);

Option& add_bench_result(Options& options, RunSpec& files);
Option& add_agg_result(Options& options, std::string& path);
Option& add_validation_result(Options& options, RunSpec& files, const std::string& otherwise);

// What commands need to know about a dcgm-power package; `root` says what is below the logs root.
// Missing values are taken from the environment.
void add_package_options(Options& options, RunSpec& package, const std::string& root);
// The same from the environment alone, for commands whose package the environment names.
void read_package_environment(PackageOptions& package);
// For packages of benchmarks: $POWER_EXPECTED_CPU_SOURCE. August did not read it.
std::optional<std::string> expected_cpu_source_in_environment(Contract contract);
Option& add_expected_producer_sha(Options& options, PackageOptions& package);
Option& add_salvage(Options& options, RunOptions& run);
// Its help for commands without packages.
inline constexpr const char* kSalvageOfRecordings =
    "Bound the energy of a run that is not valid for gaps or single cells without a reading alone";

// The variable's value, or `otherwise` if that is empty.
std::string from_environment(const char* variable, const char* otherwise);

// ---- Options that state when a load ran and what it did, in place of its result.

void add_given_load(Options& options, GivenLoad& given);
// Throws Error for options that contradict each other, or that would have no effect.
// Times without an offset are in the zone of --timezone.
void settle_given_load(const Options& options, GivenLoad& given);

// "60", "60s", "1.5m", "2h", "250ms"; above 0.
std::optional<double> duration_in(std::string_view text);

// "2%" or "2 %", from 0 to 100, as a share. A number alone could be meant either way, except 0.
std::optional<double> share_of_percent(std::string text);

struct ShareBounds {
  double above = 0;
  double below = 1;
  std::string text;  // "above 0% and below 100% such as 2%"
};
Option& add_percent(Options& options, const std::string& name, ShareBounds bounds,
                    const std::function<void(double)>& take, const std::string& help);
// --alpha of comparisons.
Option& add_alpha(Options& options, double& alpha);

}  // namespace aggregate_power
