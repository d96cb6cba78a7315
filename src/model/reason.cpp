// The table of reasons: code, remedy, meaning.
#include "aggregate_power/reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aggregate_power {
namespace {

struct Row {
  Reason reason;
  std::string_view code;
  ReasonGroup group;
  std::string_view meaning;
  std::string_view remedy;
};

#define ROW(name, group, meaning, remedy) \
  Row { Reason::name, #name, ReasonGroup::group, meaning, remedy }

// In the order of the enumeration.
constexpr auto kRows = std::to_array<Row>({
    ROW(invalid_benchmark_result, run,
        "the benchmark result cannot be read, is not JSON (the message gives line and column), or is not an object",
        "check the path, and that the benchmark finished writing its result: one JSON object"),
    ROW(invalid_benchmark_window, run,
        "start, end or duration is missing or is not a finite number (schema 2: booleans are not numbers); or the end is not after the start; or the duration is not above 0. All three must come from one clock",
        "the result needs finite benchmark_start_time_unix < benchmark_end_time_unix and duration > 0"),
    ROW(benchmark_duration_mismatch, run,
        "`duration` differs from end - start by more than 0.5 s and more than 1 %",
        "start, end and duration must all be in seconds and agree; if they do not, the clock was set during the run: run it again on a host with a steady clock"),
    ROW(invalid_successful_query_count, run, "`completed` is not a whole number above 0",
        "'completed' must be a whole number above 0: no request succeeded, or the key is missing"),
    ROW(invalid_input_token_count, run, "`total_input_tokens` is not a whole number above 0",
        "'total_input_tokens' must be a whole number above 0"),
    ROW(invalid_output_token_count, run,
        "`total_output_tokens` is not a whole number above 0; without it schema 1 reports nothing either",
        "'total_output_tokens' must be a whole number above 0"),
    ROW(invalid_expected_gpu_count, run, "`--expected-num-gpus` is not above 0",
        "give --expected-num-gpus a number above 0"),
    ROW(invalid_max_sample_gap, run, "`--max-sample-gap` is not a finite number above 0",
        "give --max-sample-gap a finite number of seconds above 0"),
    ROW(telemetry_file_missing, run,
        "the telemetry (`--csv` or `$GPU_METRICS_CSV`) is missing or is not a regular file",
        "start the monitor before the load, and check the path of its file"),
    ROW(telemetry_file_empty, run, "the telemetry has no bytes, or expands to none",
        "the monitor wrote nothing: check that it can see the GPUs"),
    ROW(telemetry_file_unreadable, run,
        "the telemetry cannot be opened or read, or a quote in it was never closed (the message names the line); or its zone file exists and cannot be used",
        "check the file's permissions, whether a quote in it was never closed, and whether it was cut off; of a zone file, correct it or pass --timezone"),
    ROW(timestamp_column_missing, run, "there is no column of absolute times",
        "record a column of absolute times, or name it with --timestamp-column"),
    ROW(power_column_missing, run, "there is no column of power draw",
        "record a column of power draw, or name it with --power-column"),
    ROW(gpu_identity_column_missing, run,
        "no column identifies the GPUs, such as an index or a UUID (schema 2)",
        "record a column that tells the GPUs apart, or name it with --device-column"),
    ROW(invalid_timestamp_sample, run,
        "a row, anywhere in the file, has no readable time; `aggregate-power inspect FILE` counts such rows. They are often stray lines",
        "rows without a readable time make the whole recording doubtful: mend the recorder, or name another column with --timestamp-column"),
    ROW(invalid_power_sample, run,
        "a row inside the window has no usable reading, a negative reading, or more cells than the header: the sensor or the driver failed for a moment",
        "some rows at the window have no usable power reading: check the recorder's log"),
    ROW(gpu_identity_missing, run,
        "a row within `--max-sample-gap` of the window does not name its GPU; fix the recorder",
        "some rows at the window do not name their GPU"),
    ROW(no_usable_power_samples, run,
        "the recording and the window do not overlap; the message names a `--timezone` that would fit, if there is one",
        "no power reading could be used: check the clocks, the time zone and the file"),
    ROW(expected_gpu_count_mismatch, run, "more or fewer GPUs were seen than expected",
        "record all GPUs of the run and no others, or correct --expected-num-gpus"),
    ROW(insufficient_power_samples, run, "a GPU has fewer than two samples at the window",
        "a GPU has fewer than two samples at the window: sample more often"),
    ROW(benchmark_window_not_bracketed, run,
        "a GPU's samples begin after the window's start or stop before its end",
        "start the monitor before the load and let it take a sample after it; samples further apart than --max-sample-gap do not bracket either: sample more often, or allow more"),
    ROW(sampling_gap_exceeded, run, "the gap between two samples of a GPU is longer than allowed",
        "the monitor was silent too long: sample more often, or allow more with --max-sample-gap"),
    ROW(aggregate_result_missing, run, "the aggregate is missing or is not a regular file",
        "write the aggregate result before calling this tool"),
    ROW(aggregate_result_unwritable, run,
        "the aggregate is not a JSON object; or it is an input of the run (of a package: its `manifest.json`, `samples.csv`, `power-producer-sha.txt`, any file in `windows` and `cpu`, and each result that a window names); or it cannot be replaced (permissions, space, file system); or it is a link that leads out of its store; or a metric is too large for a number. Its bytes are unchanged. Where the disk is full, the file system read-only or a permission missing, the message and a backfill's summary say so and what to do",
        "the aggregate must be one JSON object in a file and folder that can be written, and no input of the run; it was left as it is"),
    ROW(power_artifacts_missing, nodes,
        "the power folder is missing; for a single run check `--power-dir`",
        "check that the recorder ran and that its folder LOGS/power was copied back; a single run is told where by --power-dir"),
    ROW(manifest_missing, nodes, "the power folder has no `manifest.json`",
        "the recorder writes manifest.json beside samples.csv: copy the whole folder"),
    ROW(manifest_malformed, nodes,
        "the manifest is not a JSON object, or its devices or windows are not what the recorder writes",
        "manifest.json must be the object that the recorder wrote: copy it again"),
    ROW(producer_pin_missing, nodes, "no trusted recorder was named",
        "name the commit of the recorder that you trust: --expected-producer-sha; a single run also takes $POWER_PRODUCER_SHA, a backfill the package's power-producer-sha.txt"),
    ROW(producer_commit_mismatch, nodes, "the package comes from another recorder",
        "the package comes from another recorder than --expected-producer-sha says: record with that one, or trust this one by naming it"),
    ROW(package_recompute_invalid, nodes,
        "the package does not hold what its format promises; `failures` in the audit record lists everything",
        "'failures' in the record lists what is wrong with the package; where it concerns only other windows, or rows more than 3 s from this one, --salvage lets this one count"),
    ROW(producer_verdict_mismatch, nodes,
        "the recorder's own verdict differs from ours: the package was changed, or the recorder's rules were",
        "the recorder judged its package otherwise than we do: see 'failures' in the record; was the package changed since?"),
    ROW(topology_env_mismatch, nodes,
        "the roles and their GPU counts are not those asked for, or roles share a het group; correct `--prefill-gpus`, `--decode-gpus`, `--aggregate-gpus` or `--role`; in a backfill, the run's name, else its aggregate",
        "the GPUs asked for in each role (by options; in a backfill by the run's name, else by its aggregate) must be those recorded, each role in a het group of its own"),
    ROW(window_for_result_missing, nodes,
        "there is not exactly one completed window with the result's `max_concurrency`; see `windows/` of the package",
        "just one completed window of the package must have the result's max_concurrency"),
    ROW(measurement_window_result_missing, nodes,
        "the original result that the window names is missing",
        "keep the original result where the window file's result_path says, below --logs-root"),
    ROW(result_content_mismatch, nodes,
        "the processed result is not a copy of the original; give the result of this window",
        "the processed result must be a copy of the original that the window names"),
    ROW(measurement_window_result_mismatch, nodes,
        "the result's start or end is not the window's; give the result of this window",
        "the result's start and end must be those of its window file"),
    ROW(non_finite_power_metric, nodes, "a metric is too large for a number",
        "a reading is absurdly large: look into samples.csv"),
    ROW(implausible_power, run,
        "a GPU has a mean above 10 kW in the window, so its numbers have another unit; the message names the likely one. This also applies to packages, which take no `--power-unit`",
        "no GPU draws that: say what a bare number in the power column counts with --power-unit; the samples of a package must be in watts"),
    ROW(gpu_uuid_repeated, nodes, "two hosts or two ids have one UUID",
        "one GPU was recorded as two: leave out one of the files, or mend its identity file"),
    ROW(gpu_identity_unreadable, nodes,
        "an identity file has no `index` and `uuid` columns, or lacks a GPU of its recording; fix or remove it",
        "an identity file needs the columns index and uuid, one row for each GPU of its recording"),
    ROW(cpu_artifacts_missing, cpu, "CPU power was asked for, and the package has no `cpu` folder",
        "the package has no folder cpu: record CPU power, or do not ask for it"),
    ROW(cpu_manifest_invalid, cpu, "`cpu_manifest.json` is missing or is not a JSON object",
        "cpu/cpu_manifest.json must be a JSON object: copy the folder again"),
    ROW(cpu_samples_missing, cpu, "there is no `cpu/samples.csv`",
        "the recorder wrote no cpu/samples.csv: see its log"),
    ROW(cpu_samples_header_mismatch, cpu,
        "the header is not that of either version; see the recorder's log",
        "the header of cpu/samples.csv is none of the recorder's"),
    ROW(cpu_samples_malformed, cpu,
        "a row cannot be read, or a sensor has one stamp twice; see the recorder's log",
        "some row of cpu/samples.csv cannot be read, or is there twice"),
    ROW(cpu_window_unavailable, cpu,
        "the GPUs' window is not known; see `reasons` in the audit record",
        "the power of CPUs is integrated over the GPUs' window, and there is none"),
    ROW(cpu_socket_count_mismatch, cpu,
        "a host does not have exactly two sockets, or is not part of the run",
        "every host must have its two sockets recorded, and no other host"),
    ROW(cpu_sensor_kind_mixed, cpu,
        "the sockets share no kind of sensor, or the kind has several sources; record all hosts of the run",
        "all sockets need one kind of sensor, from one source"),
    ROW(cpu_sensor_source_mismatch, cpu,
        "the sensor has another source than asked for; correct `--expected-cpu-source`",
        "the sensor is not of the source that --expected-cpu-source names"),
    ROW(cpu_window_not_bracketed, cpu,
        "a socket's samples begin too late or end too early; start the recorder before the load",
        "samples of CPUs must begin before the window and end behind it"),
    ROW(cpu_sample_gap_exceeded, cpu,
        "the gap between two samples of a socket is longer than 3 s; see the recorder's log",
        "samples of CPUs were more than 3 s apart"),
    ROW(profile_artifacts_missing, agents, "an AIPerf export is missing",
        "let AIPerf write profile_export_aiperf.json and profile_export.jsonl to aiperf_artifacts: copy both"),
    ROW(profile_artifacts_invalid, agents,
        "an AIPerf export cannot be read; check that AIPerf finished",
        "the AIPerf files cannot be read: were they written to their end?"),
    ROW(profile_window_missing, agents,
        "the profile has no `start_time` or no `end_time`; check that AIPerf finished",
        "profile_export_aiperf.json needs start_time and end_time"),
    ROW(profile_timezone_offset_missing, agents,
        "the profile's times have no zone, and no file states it",
        "the profile's times have no zone: say it with --timezone, or write 'date +%z' to agentic_power_timezone_offset.txt when the run starts"),
    ROW(profile_timezone_offset_invalid, agents,
        "`agentic_power_timezone_offset.txt` does not hold an offset",
        "agentic_power_timezone_offset.txt must hold one offset such as +0200, or --timezone say the zone"),
    ROW(profile_window_invalid, agents,
        "the times cannot be read, or the end is not after the start; see the profile",
        "start_time and end_time must be times, the end after the start"),
    ROW(successful_request_count_invalid, agents, "no request succeeded; see the profile's errors",
        "no request of the profile succeeded"),
    ROW(incomplete_token_accounting, agents,
        "a successful request lacks a length, or all lengths are 0; let AIPerf count tokens",
        "every successful request needs its input and output length"),
    ROW(power_window_unwritable, agents,
        "`agentic_power_window.json` cannot be written; the message says why",
        "agentic_power_window.json is written to the result folder: see what hinders it, such as rights"),
    ROW(agentic_aggregate_invalid, agent_nodes,
        "the aggregate cannot be read, or is not a JSON object, so nothing is known about its GPUs either; write it before calling this tool",
        "the aggregate of agents on several nodes must be one JSON object: it says how many GPUs they had"),
    ROW(agentic_gpu_topology_invalid, agent_nodes,
        "the aggregate does not have `disagg`, true or false, with `num_prefill_gpu` and `num_decode_gpu`, whole numbers that are not both 0; fix what writes it",
        "the aggregate needs 'num_prefill_gpu' and 'num_decode_gpu', whole numbers that are not both 0, and 'disagg', true or false"),
    ROW(formal_benchmark_result_missing, agent_nodes,
        "the result folder does not have exactly one `agentic_power_concurrency_N.json`; in a store also: it belongs to another load. Give the folder of one load",
        "the result folder must hold just one agentic_power_concurrency_N.json: that of this load"),
    ROW(agentic_concurrency_mismatch, agent_nodes,
        "the N of `agentic_power_concurrency_N.json`, its `max_concurrency`, the aggregate's `conc` and the package's window do not all belong to one load",
        "the N of agentic_power_concurrency_N.json, its max_concurrency, the aggregate's 'conc' and the package's window must be of one load: give the files of one"),
    ROW(agentic_result_outside_logs_root, agent_nodes,
        "the result folder, after following links, is not the logs root or inside it (in a store: `LOGS`); correct `--result-dir` or `--logs-root`. Where a link leads out of the store, replace it by the results themselves",
        "the result folder must be the logs root or lie below it (--logs-root; in a store LOGS), also once links are followed"),
    ROW(expected_producer_sha_invalid, agent_nodes,
        "the recorder's commit is not 40 digits and letters a to f",
        "give the recorder's whole commit: 40 digits and letters a to f; --expected-producer-sha, $POWER_PRODUCER_SHA or the package's power-producer-sha.txt"),
    ROW(no_header, header, "the first line is data",
        "record with a header line; without one nothing says what a column means"),
    ROW(relative_time, header, "times count from the start of the run",
        "record absolute times: seconds from a run's start cannot be placed in a window"),
    ROW(time_without_date, header, "the file has times of day, without a date",
        "record the date too: a time of day cannot be placed in a window"),
    ROW(only_power_limits, header, "the only power columns are limits",
        "record the draw, not the limit, such as 'power.draw'"),
    ROW(run_summary, header, "the file has one row per run instead of samples",
        "this is a summary of runs, not a series of samples: use the recorder's raw log"),
    ROW(ambiguous_power_column, header, "several power columns have equal rank",
        "several columns are power draws of equal rank: choose with --power-column"),
    ROW(wide_power_columns, header, "the file has one column per GPU",
        "one column per GPU is not read: record one row per GPU, or choose one with --power-column (schema 1 only: nothing tells GPUs apart then)"),
    ROW(model_name_as_device, header, "the device column holds model names",
        "the device column holds model names: record an index or UUID, or choose with --device-column"),
    ROW(named_column_missing, header, "the header has no column of the name given",
        "name a column that the header has"),
    ROW(validation_result_unwritable, run,
        "the audit record cannot be written, or would overwrite an input, or is a link that leads out of its store. The aggregate then does not claim to be valid, and this code appears in the message only. Check the folder, or give another `--validation-result`; a full disk, a read-only file system and missing permissions are reported as above",
        "the audit record was not written: see what stands beside it"),
    ROW(benchmark_result_missing, store, "the store has no raw result with the run's name",
        "keep the raw benchmark result NAME.json beside agg_NAME.json, or anywhere in the store"),
    ROW(pairing_ambiguous, store,
        "several files could belong to the run, and not exactly one pair of them fits; or there are two packages that differ",
        "several files could belong to the run: move those that do not out of the store"),
    ROW(timezone_ambiguous, store,
        "nothing states the zone of the stamps, and no two witnesses agree on one",
        "no two witnesses agree in which time zone the stamps are: give it with --timezone, or in STEM_context.json beside STEM.csv; --timezone evidence accepts one witness"),
    ROW(aggregate_in_archive, store, "the aggregate is in an archive",
        "files in archives are not replaced: give --output FOLDER"),
    ROW(replacement_unsafe, store,
        "the aggregate is on a mount without locks or atomic renames; `aggregate-power help backfill` lists them",
        "on a mount without locks or atomic renames files are not replaced: give --output FOLDER, on a local disk"),
    ROW(archive_unreadable, store,
        "an archive is cut off, damaged, too large or not to be trusted, or there is no room to unpack it. It can also be unpacked by hand",
        "check its rights and the room in $TMPDIR; where it is cut off or damaged, fetch it again"),
    ROW(folder_unreadable, store, "a folder cannot be listed", "check the folder's rights"),
    ROW(input_unreadable, store, "a file cannot be read or expanded",
        "check the file's rights and the disk, then run again"),
    ROW(input_changed, store,
        "a file changed while it was being used; for a single run: the aggregate changed again and again",
        "run again when nobody writes to the run's files"),
    ROW(run_not_found, store, "a line of `--runs` leads to no run; correct the path or the name",
        "a line of --runs must be the path of an aggregate below one of the stores, or the name of a run in them"),
});

#undef ROW

static_assert(kRows.back().reason == Reason::run_not_found &&
              kRows.size() == static_cast<std::size_t>(Reason::run_not_found) + 1);

const Row& row(Reason reason) { return kRows[static_cast<std::size_t>(reason)]; }

}  // namespace

std::string_view code(Reason reason) { return row(reason).code; }

ReasonGroup group(Reason reason) { return row(reason).group; }

std::string_view meaning(Reason reason) { return row(reason).meaning; }

Obstacle obstacle_of(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      return Obstacle::full_disk;
    case EROFS:
      return Obstacle::read_only;
    case EACCES:
    case EPERM:
      return Obstacle::denied;
    default:
      return Obstacle::none;
  }
}

std::string_view remedy(Reason reason, Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      return row(reason).remedy;
    case Obstacle::full_disk:
      return "the disk or the quota is full: make room and run again; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::read_only:
      return "the file system is read-only: mount it for writing; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::denied:
      return "the permissions do not allow it: run as the owner of the files; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::not_searched:
      return "only files near the run were looked for: keep them there, or give --runs the run's name instead of its path";
  }
  return {};
}

std::span<const Reason> all_reasons() {
  static const auto reasons = [] {
    std::array<Reason, kRows.size()> all{};
    std::ranges::transform(kRows, all.begin(), &Row::reason);
    return all;
  }();
  return reasons;
}

std::optional<Reason> reason_of(std::string_view code) {
  const auto found = std::ranges::find(kRows, code, &Row::code);
  return found == kRows.end() ? std::nullopt : std::optional(found->reason);
}

void Reasons::add(Reason reason, std::string detail, Obstacle obstacle) {
  if (!contains(reason)) entries_.push_back({reason, std::move(detail), obstacle});
}

void Reasons::add(const Reasons& others) {
  for (const Entry& entry : others.entries_) add(entry.reason, entry.detail, entry.obstacle);
}

void Reasons::explain(Reason reason, std::string detail) {
  const auto entry = std::ranges::find(entries_, reason, &Entry::reason);
  if (entry != entries_.end() && entry->detail.empty()) entry->detail = std::move(detail);
}

bool Reasons::contains(Reason reason) const {
  return std::ranges::find(entries_, reason, &Entry::reason) != entries_.end();
}

std::vector<std::string> Reasons::codes() const {
  std::vector<std::string> codes;
  for (const Entry& entry : entries_) codes.emplace_back(code(entry.reason));
  return codes;
}

std::string Reasons::text() const {
  std::vector<std::string> texts;
  for (const Entry& entry : entries_) {
    texts.push_back(entry.detail.empty()
                        ? std::string(code(entry.reason))
                        : fmt::format("{} ({})", code(entry.reason), entry.detail));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace aggregate_power
