// One run, from start to end, by its kind: reads its files, patches the aggregate and writes the
// audit record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/load/load_files.h"
#include "runs/evaluate/run_options.h"
#include "runs/measure/deliver.h"

namespace aggregate_power {

// Runs the function below for what the run has: hosts, a folder of agents, a package, or else a
// recording. All of these end with a report whatever the inputs are; the status is 1 only if power
// is required.
CommandOutput deliver_run(const RunSpec& run);

// Of one recording; by default the audit record goes beside the benchmark result (schema 2), and
// schema 1 has none.
CommandOutput aggregate(const RunSpec& run);

// Several hosts, each with its own recording. The number of GPUs is the total of all hosts; columns
// and zone apply to every host. Every host must cover the whole window: a fault of one host
// invalidates the run.
CommandOutput aggregate_hosts(const RunSpec& run);

// The power is in a package, written by the recorder of several nodes; a native one is written by
// each node.
CommandOutput multinode(const RunSpec& run);
CommandOutput multinode_native(const RunSpec& run);

// Of agents, on one node and on several. Window and counts come from what AIPerf exported, and from
// the formal result.
CommandOutput aggregate_agentic(const RunSpec& run);
CommandOutput aggregate_agentic_nodes(const RunSpec& run);

// What AIPerf exported into the result folder.
LoadReading read_agents_profile(const RunSpec& run);

// The telemetry's path if none is given: $GPU_METRICS_CSV if set, else the first of gpu_metrics.csv
// and /workspace/gpu_metrics.csv that exists, else gpu_metrics.csv.
std::string find_telemetry();
// The recordings that are given, else that one.
std::vector<std::string> recordings_of(const RunSpec& run);

// Where the aggregate and the audit record go, without inputs. No record: its path is empty.
WritePlan target_of(const RunSpec& run);

namespace runs {

// Whether a load of agents on several nodes begins, or is over.
enum class LoadState { running, completed };
// Writes the measurement window of such a load, by the environment of its launcher, and after it
// the result, which comes first then. The status is 1 only if power is required.
CommandOutput write_agentic_window(const RunSpec& run, LoadState state, std::int64_t concurrency);

}  // namespace runs

// The hosts whose folders are in `nodes`, sorted by name; names that begin with a dot are skipped.
// The recording is gpu_metrics.csv, possibly compressed; if that is missing, the only CSV that is
// neither an energy snapshot nor an identity file. Throws FileError.
std::vector<HostFile> hosts_in(const std::string& nodes);

}  // namespace aggregate_power
