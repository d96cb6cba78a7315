// The tables of environment variables and files.
#include "commands/surroundings.h"

namespace aggregate_power {
namespace {

constexpr Surrounding kEnvironment[] = {
    {"GPU_METRICS_CSV",
     "the telemetry, when there is no --csv; no other file is taken when that one is absent"},
    {"POWER_ARTIFACT_DIR, POWER_RESULT_ROOT, POWER_PRODUCER_SHA",
     "of multinode: what --power-dir, --logs-root and --expected-producer-sha are when they are not given; of agentic --power-dir the last two"},
    {"REQUIRE_POWER", "1, true or yes, in capitals or not: the same as --require-power"},
    {"TZ",
     "the zone 'local': that of stamps without an offset where nothing else says theirs, and of those that synthesize writes"},
    {"TZDIR", "the folder of named time zones, instead of /usr/share/zoneinfo"},
};

constexpr Surrounding kFiles[] = {
    {"gpu_metrics.csv, /workspace/gpu_metrics.csv",
     "read: the telemetry when neither --csv nor GPU_METRICS_CSV names one; the first that exists"},
    {"STEM_context.json",
     "read, when it stands beside the telemetry STEM.csv and there is no --timezone: its timestamp_timezone is the zone of stamps without an offset; a run whose stamps need it is refused when it cannot be used"},
    {"agentic_power_timezone_offset.txt",
     "read, when it stands beside the telemetry and the file above is not there: the UTC offset of stamps without one, such as +0900; by agentic also for the profile's times"},
    {"STEM_energy_start.csv, STEM_energy_end.csv",
     "read, when they stand beside the telemetry STEM.csv and an audit record is written: the energy counters to compare with"},
    {"STEM_identity.csv, STEM_devices.json, STEM_identity.json",
     "read by multinode, the first that stands beside the telemetry STEM.csv: the GPUs' UUIDs"},
    {"NODES/HOST/gpu_metrics.csv",
     "read by multinode --nodes NODES: the telemetry of each host; or the only other CSV there"},
    {"LOGS/power",
     "read by multinode, and by agentic --power-dir: a dcgm-power package with manifest.json, samples.csv, windows/*.json and perhaps cpu/samples.csv; its windows name their original results below LOGS"},
    {"the benchmark result", "read: the window and the counts"},
    {"the aggregate result", "read, and replaced by itself with our members in it"},
    {"power_validation_STEM.json",
     "written beside the benchmark result STEM.json under schema 2, or where --validation-result says, with the folders that are missing: the audit record"},
    {"aiperf_artifacts/profile_export_aiperf.json, profile_export.jsonl",
     "read by agentic, in the result folder, or in the first folder below aiperf_artifacts that has them: the window and the counts"},
    {"agentic_power_concurrency_N.json",
     "read by agentic --power-dir in the result folder: the window and the counts; of AIPerf's files then only profile_export.jsonl, for what failed requests used"},
    {"agentic_power_window.json, power_validation.json",
     "written by agentic into the result folder: the window and the counts as a benchmark result, and the audit record"},
    {"agg_NAME.json, NAME.json, gpu_metrics.csv",
     "of past runs, looked for by backfill as 'aggregate-power help stores' says; it writes power_validation_NAME.json beside the aggregate"},
    {".NAME.XXXXXXXX.aggregate-power.tmp",
     "written beside each file and renamed to it; one that a killed run left is removed by the next"},
};

}  // namespace

std::span<const Surrounding> environment_variables() { return kEnvironment; }

std::span<const Surrounding> files() { return kFiles; }

}  // namespace aggregate_power
