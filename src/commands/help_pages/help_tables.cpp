// The tables of environment variables and files.
#include "commands/help_pages/help_pages.h"

namespace aggregate_power {
namespace {

constexpr Surrounding kEnvironment[] = {
    {"COLUMNS", "the width of help and of plot --term, instead of the terminal's"},
    {"GPU_METRICS_CSV",
     "the telemetry, if none is named; if this file is missing, no other is tried"},
    {"GPU_COUNT",
     "how many GPUs a package of one node has, if --expected-num-gpus does not say it"},
    {"LC_ALL, LC_CTYPE, LANG",
     "plot --term draws in ASCII unless the first of these that is set names UTF-8"},
    {"NO_COLOR, TERM", "nothing is coloured if NO_COLOR is set, or if TERM is dumb or not set"},
    {"POWER_ARTIFACT_DIR",
     "multinode's default of --power-dir; without a command's name, the package that is read instead of a recording, unless --csv, --schema-version 1 or --compat august is given"},
    {"POWER_RESULT_ROOT, POWER_PRODUCER_SHA",
     "the defaults of --logs-root and --expected-producer-sha wherever a package is read"},
    {"POWER_EXPECTED_CPU_SOURCE",
     "the default of multinode's --expected-cpu-source, also without a command's name; not read under --compat august"},
    {"REQUIRE_POWER", "1, true or yes, in upper or lower case: the same as --require-power"},
    {"TZ",
     "the zone 'local': that of timestamps without an offset if nothing else states their zone, and of those that synthesize writes"},
    {"TZDIR", "the folder of named time zones, instead of /usr/share/zoneinfo"},
};

constexpr Surrounding kFiles[] = {
    {"gpu_metrics.csv, /workspace/gpu_metrics.csv",
     "read: the telemetry when neither --csv nor GPU_METRICS_CSV names one; the first that exists; measure then tries gpu_metrics.csv beside the result"},
    {"STEM_context.json",
     "read if it is beside the telemetry STEM.csv: its timestamp_timezone is the zone of timestamps without an offset, unless --timezone is given; if it cannot be used, a run whose timestamps need it is refused; its clock_pairs and window place a load whose result does not state its window"},
    {"agentic_power_timezone_offset.txt",
     "read if it is beside the telemetry and the file above is missing: the UTC offset of timestamps without one, such as +0900; agentic uses it for the profile's times too"},
    {"STEM_energy_start.csv, STEM_energy_end.csv",
     "read if they are beside the telemetry STEM.csv and an audit record is written: the energy counters to compare with"},
    {"latency.csv, model_summary.json, omegawatt.csv",
     "read by inspect if they are beside a recording of AIPowerMeter: the seconds of each inference, the size of the model, and the power at the wall"},
    {"STEM_identity.csv, STEM_devices.json, STEM_identity.json",
     "read by multinode, the first that is beside the telemetry STEM.csv: the GPUs' UUIDs"},
    {"NODES/HOST/gpu_metrics.csv",
     "read by multinode --nodes NODES: the telemetry of each host; or the only other CSV there"},
    {"LOGS/power",
     "read by multinode, and by agentic --power-dir: a dcgm-power package with manifest.json, samples.csv, windows/*.json and optionally cpu/samples.csv; its windows name their original results below LOGS"},
    {"LOGS/native_power",
     "read by multinode: a native package with manifest.json, gpu_metrics.csv and the GPUs' identities from before and after the recording in node-0, node-1 ..."},
    {"the benchmark result", "read: what a load generator wrote, the window and the counts"},
    {"the file of measure --out",
     "written with the power keys, and power_validation_STEM.json beside it; if it exists, it must be such a file"},
    {"the file of plot --out",
     "written: the picture, or its points; an existing one is replaced, unless it is an input"},
    {"the file of export --out", "written in one step; a file that export reads is not replaced"},
    {"the report of backfill --report",
     "appended to, one line of JSON for each run; read by backfill --undo"},
    {"the aggregate result", "read, and rewritten with the power keys added"},
    {"power_validation_STEM.json",
     "written beside the benchmark result STEM.json under schema 2, or where --validation-result says, creating missing folders: the audit record"},
    {"aiperf_artifacts/profile_export_aiperf.json, profile_export.jsonl",
     "read by agentic, in the result folder, or in the first folder below aiperf_artifacts that has them: the window and the counts"},
    {"agentic_power_concurrency_N.json",
     "read by agentic --power-dir in the result folder: the window and the counts; of AIPerf's files only profile_export.jsonl is then read, for what failed requests used"},
    {"agentic_power_window.json, power_validation.json",
     "written by agentic into the result folder: the window and the counts as a benchmark result, and the audit record"},
    {"agg_NAME.json, NAME.json, gpu_metrics.csv",
     "files of past runs, which backfill finds as 'aggregate-power help stores' says; it writes power_validation_NAME.json beside the aggregate"},
    {".NAME.XXXXXXXX.aggregate-power.tmp",
     "written beside each file and renamed to it; one that a killed run left behind is removed by the next run"},
};

}  // namespace

std::span<const Surrounding> environment_variables() { return kEnvironment; }

std::span<const Surrounding> files() { return kFiles; }

}  // namespace aggregate_power
