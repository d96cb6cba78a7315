// Why a measurement cannot be trusted: each code, and what to do about it.
//
// The codes are an interface: scripts and dashboards read them. Those up to
// `power_window_unwritable`, except those of our own and the two for several hosts, are the
// original's (contract.md B.2, B.3, B.6, C.3, D, F.4).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

enum class Reason {
  invalid_benchmark_result,
  invalid_benchmark_window,
  benchmark_duration_mismatch,
  invalid_successful_query_count,
  invalid_input_token_count,
  invalid_output_token_count,
  invalid_expected_gpu_count,
  invalid_max_sample_gap,
  telemetry_file_missing,
  telemetry_file_empty,
  telemetry_file_unreadable,
  timestamp_column_missing,
  power_column_missing,
  gpu_identity_column_missing,
  invalid_timestamp_sample,
  invalid_power_sample,
  gpu_identity_missing,
  no_usable_power_samples,
  expected_gpu_count_mismatch,
  insufficient_power_samples,
  benchmark_window_not_bracketed,
  sampling_gap_exceeded,
  aggregate_result_missing,
  aggregate_result_unwritable,
  // For packages of several nodes; contract.md C.3.
  power_artifacts_missing,
  manifest_missing,
  manifest_malformed,
  producer_pin_missing,
  producer_commit_mismatch,
  package_recompute_invalid,
  producer_verdict_mismatch,
  topology_env_mismatch,
  window_for_result_missing,
  measurement_window_result_missing,
  result_content_mismatch,
  measurement_window_result_mismatch,
  non_finite_power_metric,
  // Our own, for any run.
  implausible_power,
  selected_gpu_missing,
  benchmark_failed,
  power_only_on_change,
  // Why a recording is not believed: who was measured, how fresh the readings are, and whether they
  // can be. contract.md part 0, rows 27 to 31.
  gpu_identity_conflict,
  several_gpus_in_one_series,
  same_sensor,
  idle_gpus_counted,
  readings_repeat,
  stuck_sensor,
  counter_contradicts,
  // Why a window is not believed to be where its load was.
  load_outside_window,
  clock_offset_suspected,
  // When the readings were taken. contract.md part 0, row 33.
  timezone_contradicts_clocks,
  clock_set_back,
  // For recordings of several hosts.
  gpu_uuid_repeated,
  gpu_identity_unreadable,
  // For native packages of several nodes; contract-october.md 3.2.
  native_mixed_aggregate_role_topology,
  native_manifests_missing,
  native_node_invalid,
  native_collector_incomplete,
  native_clock_not_synchronized,
  native_collection_window_mismatch,
  native_device_identity_changed,
  native_duplicate_physical_gpu,
  native_unknown_device_index,
  native_node_topology_mismatch,
  native_run_identity_mismatch,
  native_role_gpu_count_mismatch,
  // For CPU power, which is judged separately; contract.md F.4.
  cpu_artifacts_missing,
  cpu_manifest_invalid,
  cpu_samples_missing,
  cpu_samples_header_mismatch,
  cpu_samples_malformed,
  cpu_window_unavailable,
  cpu_socket_count_mismatch,
  cpu_sensor_kind_mixed,
  cpu_sensor_source_mismatch,
  cpu_window_not_bracketed,
  cpu_sample_gap_exceeded,
  // For agentic runs; contract.md D.
  profile_artifacts_missing,
  profile_artifacts_invalid,
  profile_artifacts_ambiguous,
  profile_window_missing,
  profile_timezone_offset_missing,
  profile_timezone_offset_invalid,
  profile_window_invalid,
  successful_request_count_invalid,
  incomplete_token_accounting,
  power_window_unwritable,
  // For agentic runs on several nodes; all but agentic_concurrency_mismatch come from a later
  // version of the original.
  agentic_aggregate_invalid,
  agentic_gpu_topology_invalid,
  formal_benchmark_result_missing,
  agentic_concurrency_mismatch,
  agentic_result_outside_logs_root,
  expected_producer_sha_invalid,
  multinode_power_contract_missing,
  // Our own, shown by `inspect` after those above.
  no_header,
  relative_time,
  time_without_date,
  only_power_limits,
  run_summary,
  ambiguous_power_column,
  wide_power_columns,
  model_name_as_device,
  named_column_missing,
  columns_do_not_fit,
  validation_result_unwritable,
  aggregate_result_locked,
  // For runs in a store.
  benchmark_result_missing,
  pairing_ambiguous,
  timezone_ambiguous,
  aggregate_in_archive,
  replacement_unsafe,
  archive_unreadable,
  folder_unreadable,
  input_unreadable,
  input_changed,
  run_not_found,
  retracted,
  // For results that do not state their window exactly.
  window_not_exact,
  benchmark_not_selected,
};

// What prevented the work, if that has a remedy of its own. The first three concern writing a file;
// the fourth concerns finding one, when only some folders were searched; the last a window, when
// the recorder ran the load's command.
enum class Obstacle { none, full_disk, read_only, denied, not_searched, recorded_command };
Obstacle obstacle_of(int errno_value);  // of a system call

std::string_view code(Reason reason);  // "sampling_gap_exceeded"
// One sentence for people: lower case, no full stop.
std::string_view remedy(Reason reason, Obstacle obstacle = Obstacle::none);
// The same for a load generator's result, whose keys are not those that remedy() names. An empty
// `generator` means a result laid out as InferenceX's.
std::string_view remedy_for(std::string_view generator, Reason reason, Obstacle obstacle);
// What happened, for the help pages: half a sentence, with code in backticks.
std::string_view meaning(Reason reason);
// What usually leads to it: half a sentence.
std::string_view causes(Reason reason);
// Which runs a reason applies to, in the order of the help page.
enum class ReasonGroup { run, nodes, cpu, agents, agent_nodes, header, store };
ReasonGroup group(Reason reason);
std::span<const Reason> all_reasons();
std::optional<Reason> reason_of(std::string_view code);
// Whether --accept may publish in spite of it: a judgement of ours on a run that could be measured.
bool is_acceptable(Reason reason);
// From a list of codes as --accept has it: "stuck_sensor,same_sensor". Throws Error for a code that
// is unknown or not acceptable.
std::vector<Reason> parse_accepted(std::string_view codes);

// A list of reasons without duplicates, in the order of discovery.
class Reasons {
 public:
  // `detail` is what was found, for people: "GPU 3: 4.2 s, at most 3 s". The first one is kept.
  void add(Reason reason, std::string detail = {}, Obstacle obstacle = Obstacle::none);
  void add(const Reasons& others);
  // Adds a detail to a reason that was added without one.
  void explain(Reason reason, std::string detail);

  void remove(Reason reason);
  // Moves the given reasons, where they are here, to `accepted`.
  void accept(std::span<const Reason> reasons, Reasons& accepted);

  bool empty() const { return entries_.empty(); }
  bool contains(Reason reason) const;
  std::vector<std::string> codes() const;
  // "sampling_gap_exceeded (GPU 3: 4.2 s, at most 3 s), gpu_identity_missing"
  std::string text() const;

  struct Entry {
    Reason reason;
    std::string detail;
    Obstacle obstacle = Obstacle::none;
  };
  std::span<const Entry> entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace aggregate_power
