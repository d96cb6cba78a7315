// The layouts of runs in an artifact store, contract.md E.3. A new layout is one row of the table
// in layouts.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/catalogue/pieces.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// What the names in an artifact store mean; contract.md E.3.

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

// The facts about a folder that decide which layouts it can have.
struct FolderMarks {
  Artifact artifact;  // from the folder's name
  // For a folder power_audit_NAME: whether its LOGS contain a package.
  bool has_package = false;
  bool has_agents = false;
};

// Whether a folder contains agents' results: their aggregates are in it, and nothing else is
// searched.
bool is_agents_folder(const FolderMarks& marks);

struct LayoutRow {
  Layout layout;
  std::string_view name;                 // in reports
  char letter;                           // in texts kept on disk
  bool is_of_agents = false;             // the load came from agents, not from a benchmark
  std::string_view before_run = "agg_";  // an aggregate's name is this, the run's name, ".json"
  // Whether the aggregate of this run, in such a folder, makes it a run of this layout.
  bool (*holds)(const FolderMarks& folder, std::string_view run);
  // Whether such a folder, without an aggregate in it, is a run of this layout that lacks it.
  bool (*lacks)(const FolderMarks& folder);
  // The pieces of such a run, which has an aggregate. Without `namesakes`, only those near the run
  // are searched for; then nullopt means that some are missing, and that the rest of the store
  // matters. Throws FileError.
  std::optional<RunPieces> (*find_pieces)(const StoredRun& run, const Namesakes* namesakes);
};

const LayoutRow& layout_row(Layout layout);
Layout layout_of_letter(char letter);

std::string aggregate_name(const StoredRun& run);

// The name and layout of a run, from the name of its aggregate and the folder that contains it.
// Returns nullopt if the file is not an aggregate.
struct NamedRun {
  std::string name;
  Layout layout = Layout::folder;
};
std::optional<NamedRun> run_of_aggregate(const FolderMarks& folder, std::string_view file);

// The layout of the run that a folder without an aggregate represents. Returns nullopt if it is not
// a run.
std::optional<Layout> layout_without_aggregate(const FolderMarks& folder);

}  // namespace aggregate_power
