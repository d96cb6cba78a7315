// What the names in an artifact store mean; contract.md E.3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// A folder or an archive, by its name without the part that marks it as one.
struct Artifact {
  enum class Kind { other, power_audit, bmk, gpu_metrics, bmk_agentic, agentic, no_run };
  Kind kind = Kind::other;
  std::string run;
};

Artifact artifact_of(std::string_view name);

// The label of the runner in a run's name, "..._concN_RUNNER", possibly followed by "_recipe-<16
// hex>"; empty if there is none.
std::string_view recorder_label(std::string_view name);

// The GPUs in the name of a result of several nodes: "..._gpus_16", "..._gpus_16_ctx_8_gen_8".
struct NamedGpus {
  std::int64_t all = 0;
  std::optional<std::int64_t> prefill;  // both or none
  std::optional<std::int64_t> decode;
};
// Returns nullopt if the name does not mention GPUs.
std::optional<NamedGpus> gpus_in_name(std::string_view name);

// The concurrency in such a name: "..._conc16_gpus_8", "..._concurrency_16_req_rate_inf_gpus_8".
std::optional<std::int64_t> concurrency_in_name(std::string_view name);

// A copy of a result for PyTorch's benchmark database, "NAME.pytorch.json".
bool is_pytorch_copy(std::string_view name);

// Whether a JSON file can be a raw benchmark result: it is none of the other files that runs leave.
bool can_be_result(std::string_view name);

// gpu_metrics.csv
bool is_telemetry_name(std::string_view name);
// The same, or gpu_metrics_NAME.csv.
bool is_recording_name(std::string_view name);

// The concurrency, as written, in the name of the aggregate of a load on several nodes,
// "RUN_conc16.json". Empty for "RUN.json"; nullopt for any other name.
std::optional<std::string> agentic_concurrency(std::string_view run, std::string_view name);

}  // namespace aggregate_power
