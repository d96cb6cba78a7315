// What names in an artifact store say; contract.md E.3.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

// What may stand behind the name of a piece of a run.
inline constexpr std::array<std::string_view, 3> kCompressions = {"", ".gz", ".zst"};

// A folder or an archive, by its name without what makes it one.
struct Artifact {
  enum class Kind { other, power_audit, bmk, gpu_metrics, bmk_agentic, agentic, no_run };
  Kind kind = Kind::other;
  std::string run;
};

Artifact artifact_of(std::string_view name);

// The label of the runner in a run's name, "..._concN_RUNNER", perhaps with "_recipe-<16 hex>"
// after it; empty where there is none.
std::string_view recorder_label(std::string_view name);

// Of a result of several nodes: "..._gpus_16", "..._gpus_16_ctx_8_gen_8".
struct NamedGpus {
  std::int64_t all = 0;
  std::optional<std::int64_t> prefill;  // both or none
  std::optional<std::int64_t> decode;
};
// Nothing when the name says nothing of GPUs.
std::optional<NamedGpus> gpus_in_name(std::string_view name);

// Whether a JSON file can be a raw benchmark result: it is none of the others that runs leave.
bool can_be_result(std::string_view name);

// gpu_metrics.csv
bool is_telemetry_name(std::string_view name);
// The same, or gpu_metrics_NAME.csv.
bool is_recording_name(std::string_view name);

// What AIPerf exports, in aiperf_artifacts or in a folder below it.
inline constexpr std::string_view kProfileFolder = "aiperf_artifacts";
inline constexpr std::string_view kProfileSummary = "profile_export_aiperf.json";
inline constexpr std::string_view kProfileRecords = "profile_export.jsonl";
inline constexpr std::string_view kCapturedZone = "agentic_power_timezone_offset.txt";

// Of agents on several nodes: agentic_power_concurrency_16.json, the result of that load. The
// number as it is written; nothing for another name.
std::optional<std::string> formal_concurrency(std::string_view name);
// Those in a folder, sorted.
std::vector<std::string> formal_results(const Tree& tree, const std::string& folder);

// Of such a load's aggregate "RUN_conc16.json": the number as it is written; empty for "RUN.json",
// nothing for other names.
std::optional<std::string> agentic_concurrency(std::string_view run, std::string_view name);

// profile_export.jsonl
bool is_records_name(std::string_view name);
// Below aiperf_artifacts: profile_export.jsonl, and that of each folder there in the order of their
// names; perhaps compressed. The first is a run's.
std::vector<std::string> all_records(const Tree& tree, const std::string& profile_folder);
std::optional<std::string> find_records(const Tree& tree, const std::string& profile_folder);

}  // namespace aggregate_power
