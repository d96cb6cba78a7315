// Why a measurement cannot be trusted: each code, each remedy.
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
  std::string_view remedy;
};

#define ROW(name, remedy) \
  Row { Reason::name, #name, remedy }

// In the order of the enumeration.
constexpr auto kRows = std::to_array<Row>({
    ROW(invalid_benchmark_result,
        "check the path, and that the benchmark finished writing its result: one JSON object"),
    ROW(invalid_benchmark_window,
        "the result needs finite benchmark_start_time_unix < benchmark_end_time_unix and duration "
        "> 0"),
    ROW(benchmark_duration_mismatch,
        "start, end and duration must all be in seconds and agree; if they do not, the clock was "
        "set "
        "during the run: run it again on a host with a steady clock"),
    ROW(invalid_successful_query_count,
        "'completed' must be a whole number above 0: no request succeeded, or the key is missing"),
    ROW(invalid_input_token_count, "'total_input_tokens' must be a whole number above 0"),
    ROW(invalid_output_token_count, "'total_output_tokens' must be a whole number above 0"),
    ROW(invalid_expected_gpu_count, "give --expected-num-gpus a number above 0"),
    ROW(invalid_max_sample_gap, "give --max-sample-gap a finite number of seconds above 0"),
    ROW(telemetry_file_missing,
        "start the monitor before the load, and check the path of its file"),
    ROW(telemetry_file_empty, "the monitor wrote nothing: check that it can see the GPUs"),
    ROW(telemetry_file_unreadable,
        "check the file's permissions, whether a quote in it was never closed, and whether it was "
        "cut "
        "off; of a zone file, correct it or pass --timezone"),
    ROW(timestamp_column_missing,
        "record a column of absolute times, or name it with --timestamp-column"),
    ROW(power_column_missing, "record a column of power draw, or name it with --power-column"),
    ROW(gpu_identity_column_missing,
        "record a column that tells the GPUs apart, or name it with --device-column"),
    ROW(invalid_timestamp_sample,
        "rows without a readable time make the whole recording doubtful: mend the recorder, or "
        "name "
        "another column with --timestamp-column"),
    ROW(invalid_power_sample,
        "some rows at the window have no usable power reading: check the recorder's log"),
    ROW(gpu_identity_missing, "some rows at the window do not name their GPU"),
    ROW(no_usable_power_samples,
        "no power reading could be used: check the clocks, the time zone and the file"),
    ROW(expected_gpu_count_mismatch,
        "record all GPUs of the run and no others, or correct --expected-num-gpus"),
    ROW(insufficient_power_samples,
        "a GPU has fewer than two samples at the window: sample more often"),
    ROW(benchmark_window_not_bracketed,
        "start the monitor before the load and let it take a sample after it; samples further "
        "apart "
        "than --max-sample-gap do not bracket either: sample more often, or allow more"),
    ROW(sampling_gap_exceeded,
        "the monitor was silent too long: sample more often, or allow more with --max-sample-gap"),
    ROW(aggregate_result_missing, "write the aggregate result before calling this tool"),
    ROW(aggregate_result_unwritable,
        "the aggregate must be one JSON object in a file and folder that can be written, and no "
        "input of the run; it was left as it is"),
    ROW(power_artifacts_missing,
        "check that the recorder ran and that its folder LOGS/power was copied back; a single run "
        "is "
        "told where by --power-dir"),
    ROW(manifest_missing,
        "the recorder writes manifest.json beside samples.csv: copy the whole folder"),
    ROW(manifest_malformed,
        "manifest.json must be the object that the recorder wrote: copy it again"),
    ROW(producer_pin_missing,
        "name the commit of the recorder that you trust: --expected-producer-sha; a single run "
        "also "
        "takes $POWER_PRODUCER_SHA, a backfill the package's power-producer-sha.txt"),
    ROW(producer_commit_mismatch,
        "the package comes from another recorder than --expected-producer-sha says: record with "
        "that one, or trust this one by naming it"),
    ROW(package_recompute_invalid,
        "'failures' in the record lists what is wrong with the package; where it concerns only "
        "other windows, or rows more than 3 s from this one, --salvage lets this one count"),
    ROW(producer_verdict_mismatch,
        "the recorder judged its package otherwise than we do: see 'failures' in the record; was "
        "the package changed since?"),
    ROW(topology_env_mismatch,
        "the GPUs asked for in each role (by options; in a backfill by the run's name, else by its "
        "aggregate) must be those recorded, each role in a het group of its own"),
    ROW(window_for_result_missing,
        "just one completed window of the package must have the result's max_concurrency"),
    ROW(measurement_window_result_missing,
        "keep the original result where the window file's result_path says, below --logs-root"),
    ROW(result_content_mismatch,
        "the processed result must be a copy of the original that the window names"),
    ROW(measurement_window_result_mismatch,
        "the result's start and end must be those of its window file"),
    ROW(non_finite_power_metric, "a reading is absurdly large: look into samples.csv"),
    ROW(implausible_power,
        "no GPU draws that: say what a bare number in the power column counts with --power-unit; "
        "the "
        "samples of a package must be in watts"),
    ROW(gpu_uuid_repeated,
        "one GPU was recorded as two: leave out one of the files, or mend its identity file"),
    ROW(gpu_identity_unreadable,
        "an identity file needs the columns index and uuid, one row for each GPU of its recording"),
    ROW(cpu_artifacts_missing,
        "the package has no folder cpu: record CPU power, or do not ask for it"),
    ROW(cpu_manifest_invalid, "cpu/cpu_manifest.json must be a JSON object: copy the folder again"),
    ROW(cpu_samples_missing, "the recorder wrote no cpu/samples.csv: see its log"),
    ROW(cpu_samples_header_mismatch, "the header of cpu/samples.csv is none of the recorder's"),
    ROW(cpu_samples_malformed, "some row of cpu/samples.csv cannot be read, or is there twice"),
    ROW(cpu_window_unavailable,
        "the power of CPUs is integrated over the GPUs' window, and there is none"),
    ROW(cpu_socket_count_mismatch,
        "every host must have its two sockets recorded, and no other host"),
    ROW(cpu_sensor_kind_mixed, "all sockets need one kind of sensor, from one source"),
    ROW(cpu_sensor_source_mismatch,
        "the sensor is not of the source that --expected-cpu-source names"),
    ROW(cpu_window_not_bracketed, "samples of CPUs must begin before the window and end behind it"),
    ROW(cpu_sample_gap_exceeded, "samples of CPUs were more than 3 s apart"),
    ROW(profile_artifacts_missing,
        "let AIPerf write profile_export_aiperf.json and profile_export.jsonl to aiperf_artifacts: "
        "copy both"),
    ROW(profile_artifacts_invalid,
        "the AIPerf files cannot be read: were they written to their end?"),
    ROW(profile_window_missing, "profile_export_aiperf.json needs start_time and end_time"),
    ROW(profile_timezone_offset_missing,
        "the profile's times have no zone: say it with --timezone, or write 'date +%z' to "
        "agentic_power_timezone_offset.txt when the run starts"),
    ROW(profile_timezone_offset_invalid,
        "agentic_power_timezone_offset.txt must hold one offset such as +0200, or --timezone say "
        "the zone"),
    ROW(profile_window_invalid, "start_time and end_time must be times, the end after the start"),
    ROW(successful_request_count_invalid, "no request of the profile succeeded"),
    ROW(incomplete_token_accounting, "every successful request needs its input and output length"),
    ROW(power_window_unwritable,
        "agentic_power_window.json is written to the result folder: see what hinders it, such as "
        "rights"),
    ROW(agentic_aggregate_invalid,
        "the aggregate of agents on several nodes must be one JSON object: it says how many GPUs "
        "they had"),
    ROW(agentic_gpu_topology_invalid,
        "the aggregate needs 'num_prefill_gpu' and 'num_decode_gpu', whole numbers that are not "
        "both 0, and 'disagg', true or false"),
    ROW(formal_benchmark_result_missing,
        "the result folder must hold just one agentic_power_concurrency_N.json: that of this load"),
    ROW(agentic_concurrency_mismatch,
        "the N of agentic_power_concurrency_N.json, its max_concurrency, the aggregate's 'conc' "
        "and "
        "the package's window must be of one load: give the files of one"),
    ROW(agentic_result_outside_logs_root,
        "the result folder must be the logs root or lie below it (--logs-root; in a store LOGS), "
        "also once links are followed"),
    ROW(expected_producer_sha_invalid,
        "give the recorder's whole commit: 40 digits and letters a to f; --expected-producer-sha, "
        "$POWER_PRODUCER_SHA or the package's power-producer-sha.txt"),
    ROW(no_header, "record with a header line; without one nothing says what a column means"),
    ROW(relative_time,
        "record absolute times: seconds from a run's start cannot be placed in a window"),
    ROW(time_without_date, "record the date too: a time of day cannot be placed in a window"),
    ROW(only_power_limits, "record the draw, not the limit, such as 'power.draw'"),
    ROW(run_summary,
        "this is a summary of runs, not a series of samples: use the recorder's raw log"),
    ROW(ambiguous_power_column,
        "several columns are power draws of equal rank: choose with --power-column"),
    ROW(wide_power_columns,
        "one column per GPU is not read: record one row per GPU, or choose one with "
        "--power-column (schema 1 only: nothing tells GPUs apart then)"),
    ROW(model_name_as_device,
        "the device column holds model names: record an index or UUID, or choose with "
        "--device-column"),
    ROW(named_column_missing, "name a column that the header has"),
    ROW(validation_result_unwritable,
        "the audit record was not written: see what stands beside it"),
    ROW(benchmark_result_missing,
        "keep the raw benchmark result NAME.json beside agg_NAME.json, or anywhere in the store"),
    ROW(pairing_ambiguous,
        "several files could belong to the run: move those that do not out of the store"),
    ROW(timezone_ambiguous,
        "no two witnesses agree in which time zone the stamps are: give it with --timezone, or in "
        "STEM_context.json beside STEM.csv; --timezone evidence accepts one witness"),
    ROW(aggregate_in_archive, "files in archives are not replaced: give --output FOLDER"),
    ROW(replacement_unsafe,
        "on a mount without locks or atomic renames files are not replaced: give --output FOLDER, "
        "on a local disk"),
    ROW(archive_unreadable,
        "check its rights and the room in $TMPDIR; where it is cut off or damaged, fetch it again"),
    ROW(folder_unreadable, "check the folder's rights"),
    ROW(input_unreadable, "check the file's rights and the disk, then run again"),
    ROW(input_changed, "run again when nobody writes to the run's files"),
    ROW(run_not_found,
        "a line of --runs must be the path of an aggregate below one of the stores, or the name of "
        "a run in them"),
});

#undef ROW

static_assert(kRows.back().reason == Reason::run_not_found &&
              kRows.size() == static_cast<std::size_t>(Reason::run_not_found) + 1);

const Row& row(Reason reason) { return kRows[static_cast<std::size_t>(reason)]; }

}  // namespace

std::string_view code(Reason reason) { return row(reason).code; }

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
      return "the disk or the quota is full: make room and run again; a backfill can write "
             "elsewhere with --output FOLDER";
    case Obstacle::read_only:
      return "the file system is read-only: mount it for writing; a backfill can write elsewhere "
             "with --output FOLDER";
    case Obstacle::denied:
      return "the permissions do not allow it: run as the owner of the files; a backfill can write "
             "elsewhere with --output FOLDER";
    case Obstacle::not_searched:
      return "only files near the run were looked for: keep them there, or give --runs the run's "
             "name instead of its path";
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
