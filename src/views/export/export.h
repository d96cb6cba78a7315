// How runs are written for other tools.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// ---- What `export` prints or writes.

// What is exported: runs and windows, each with a name that differs from all others.

// ---- Names that tell runs apart

struct NamedExport {
  std::string name;  // short, for people
  std::string path;  // longer, if the name is not enough
  double end_unix_s = 0;
};

// Returns one name after another, `count` times: the short one, where only one has it; else the
// path, and if that is not enough either, the path with a number. `is_by_time`: those that end at
// different times may share one. No control characters; bytes that are not UTF-8 become U+FFFD.
// Hashes of names are kept: two with the same hash count as equal.
std::function<std::string()> distinct_names(std::size_t count,
                                            const std::function<NamedExport(std::size_t)>& named,
                                            bool is_by_time);

// "artifacts/agg_llama_tp2.json" and its record: "llama_tp2".
std::string short_export_name(const std::string& path);

// A number is one or the other, never a mixture that hides it: what is multiplied by a factor, or
// comes from a table, is modelled.
enum class Basis { measured, modelled };
std::string_view basis_name(Basis basis);

struct BoundaryFactors {
  std::optional<double> node;  // what the node draws, by what its GPUs draw
  std::optional<double> rack;  // what the rack draws, by what its nodes draw
  std::optional<double> pue;   // what the facility draws, by what its racks draw
};

// One rung: what is inside a boundary, in the run's window.
struct BoundaryPower {
  std::string boundary;  // "gpu", "node", "rack", "facility"; what was measured: the sensor's scope
  Basis basis = Basis::measured;
  double factor = 1;  // from what was measured to here
  std::optional<double> energy_j = {};
  std::optional<double> power_w = {};
  std::optional<double> joules_per_output_token = {};
};

// What was measured first; only that of a run without factors, nothing of one that is not valid. A
// factor is left out where the sensor was outside its boundary already.
std::vector<BoundaryPower> boundary_ladder(const PublishedRun& run, const BoundaryFactors& factors);

// The limit of the run's GPUs, and where it comes from.
struct RunLimit {
  std::string gpu;  // "H100 SXM"; empty: it was given
  double watts = 0;
  std::string source;
  std::optional<double> power_ratio = {};  // mean power of one GPU by its limit
  // What the GPUs would have used at their limit for the whole window.
  std::optional<double> joules_per_output_token = {};
};

// What a run used, cost and emitted at the outermost boundary that was asked for.
struct RunCost {
  std::string boundary;           // the last rung of the ladder
  Basis basis = Basis::measured;  // modelled if rates changed in the window, too
  FacilityFigures figures;        // of the energy there
};

struct ExportedRun {
  std::string name;
  PublishedRun run;
  Shared<Configuration> configuration;
  Boxed<RunLimit> limit = {};
  std::vector<BoundaryPower> rungs = {};  // of a ladder with factors; empty: there are none
  Boxed<RunCost> cost = {};

  // 0: unknown.
  double end_unix_s() const;
  std::vector<BoundaryPower> boundaries() const {
    return rungs.empty() ? boundary_ladder(run, {}) : rungs;
  }
};

// A window of the output of `windows --json`.
struct ExportedWindow {
  std::size_t number = 0;
  std::string name;
  Window window;
  std::string reason;  // why it was not measured; empty: it was
  std::optional<double> energy_j;
  std::optional<double> mean_power_w;
  std::optional<double> own_energy_j;  // outside the windows inside it
  std::vector<std::pair<std::string, std::optional<double>>> gpu_energies_j;
};

struct ExportedWindows {
  std::string name;  // of the file
  std::string source;
  std::vector<ExportedWindow> windows;
};

struct Exported {
  std::vector<ExportedRun> runs;
  std::function<std::optional<ExportedRun>()> more_runs = {};  // made as they are written
  std::vector<ExportedWindows> windows;
  std::vector<std::string> notes = {};
  std::vector<std::string> warnings = {};
  FacilityRates rates = {};  // those asked for; their PUE is that of the factors

  bool is_empty() const { return runs.empty() && windows.empty(); }
};

struct ExportQuestion {
  std::vector<std::string> places;
  std::vector<std::string> labels;  // members of the aggregates; empty: those that are known
  BoundaryFactors factors;
  FacilityOptions facility = {};  // without a PUE, which is a factor
  bool wants_limit = false;
  std::optional<double> limit_w;  // of one GPU; nullopt: by the table
  // Runs of one name at different times are one series.
  bool is_by_time = false;
  RunSpec measuring = {};  // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};

// Places are those of read_published_runs(), and output of `windows --json`. Aggregates without
// power are left out, with a warning. Throws Error and FileError.
Exported read_exported(const ExportQuestion& question);

// Runs of a report, those without power too, for rows_csv(). `run` gives each, to be moved from.
Exported exported_runs(std::size_t count, const std::function<PublishedRun&(std::size_t)>& run,
                       const FacilityRates& rates);

// ---- Runs and windows as rows. A text comes in pieces: of many runs it is long.

using TextSink = std::function<void(std::string_view piece)>;
// Passes a text on that is longer than most lines.
inline void pass_on(std::string& text, const TextSink& sink, std::size_t least_bytes = 1 << 20) {
  if (text.size() < least_bytes) return;
  sink(text);
  text.clear();
}

// One row for each run and each window. The columns are always the same ones; an empty cell is not
// known. Lines end with CR LF.
void rows_csv(const Exported& exported, const TextSink& sink);

// One object for each run and each window, a line each; what is not known is null.
void rows_jsonl(const Exported& exported, const TextSink& sink);

enum class ExportFormat { prometheus, openmetrics, jsonl, csv };

struct ExportRequest {
  ExportQuestion question;
  ExportFormat format = ExportFormat::prometheus;
  bool has_timestamps = false;          // OpenMetrics only
  bool has_aipowermeter_names = false;  // Prometheus and OpenMetrics only
};

struct ExportText {
  std::function<void(const TextSink&)> write;  // the text; empty: nothing was found
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // for people
};

// Throws Error and FileError.
ExportText export_text(const ExportRequest& request);

// Throws Error if `text`, which may be the beginning, must not replace the file at `path`: the
// export reads it, or it is not an earlier export in the same format.
void refuse_overwriting(const ExportRequest& request, const std::string& path,
                        std::string_view text);

}  // namespace aggregate_power
