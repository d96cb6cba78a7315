// A process's shard, by its scheduler's variables; and the manifest of a sweep.
#include "commands/backfill_parts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/terminal.h"
#include "store/catalogue/store_path.h"
#include "verify/sweep/sweep.h"

namespace aggregate_power {
namespace {

struct Pair {
  const char* index;
  const char* count;
};
constexpr Pair kSlurm = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"};
constexpr Pair kPairs[] = {
    kSlurm,
    {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"},  // Kubernetes sets the first, the job the second
    {"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"},
    {"BATCH_TASK_INDEX", "BATCH_TASK_COUNT"},  // Google Batch
    {"CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
};

std::optional<Shard> parsed(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto index = from_text<std::uint64_t>(std::string_view(text).substr(0, slash));
  const auto count = from_text<std::uint64_t>(std::string_view(text).substr(slash + 1));
  if (!index || !count || *index >= *count) return std::nullopt;
  return Shard{*index, *count};
}

class Scheduler {
 public:
  explicit Scheduler(const Variables& variables) : variables_(variables) {}

  Shard shard() const {
    std::optional<Shard> found;
    const Pair* source = nullptr;
    for (const Pair& pair : kPairs) {
      if (!is_set(pair.index) && !is_set(pair.count)) continue;
      const Shard shard = shard_of(pair);
      if (found && *found != shard) {
        fail(fmt::format("{} and {} disagree: {}/{} and {}/{}", source->index, pair.index,
                         found->index, found->count, shard.index, shard.count));
      }
      found = shard;
      source = &pair;
    }
    if (found) return *found;
    const auto names = mapped(
        kPairs, [](const Pair& pair) { return fmt::format("{} and {}", pair.index, pair.count); });
    fail(fmt::format("none of these variables is set: {}", fmt::join(names, ", ")));
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(fmt::format("auto: {}; give I/N", what));
  }

  bool is_set(const char* name) const {
    const char* const text = variables_(name);
    return text != nullptr && *text != '\0';
  }

  std::uint64_t value(const char* name, const char* other) const {
    if (!is_set(name)) fail(fmt::format("{} is set, but {} is not", other, name));
    const auto number = from_text<std::uint64_t>(variables_(name));
    if (!number) fail(fmt::format("{} is not a whole number: '{}'", name, variables_(name)));
    return *number;
  }

  Shard shard_of(const Pair& pair) const {
    const std::uint64_t index = value(pair.index, pair.count);
    const std::uint64_t count = value(pair.count, pair.index);
    const Shard shard{pair.index == kSlurm.index ? place_in_array(index, count) : index, count};
    if (shard.index >= count) {
      fail(fmt::format("{} is {}, but {} is {}", pair.index, index, pair.count, count));
    }
    return shard;
  }

  // The ids of a Slurm array may start anywhere and have steps.
  std::uint64_t place_in_array(std::uint64_t id, std::uint64_t count) const {
    const std::uint64_t least = value("SLURM_ARRAY_TASK_MIN", kSlurm.index);
    const std::uint64_t most = value("SLURM_ARRAY_TASK_MAX", kSlurm.index);
    const bool has_step = is_set("SLURM_ARRAY_TASK_STEP");
    const std::uint64_t step = has_step ? value("SLURM_ARRAY_TASK_STEP", kSlurm.index) : 1;
    const bool is_regular = step > 0 && least <= id && id <= most && (id - least) % step == 0 &&
                            (most - least) / step + 1 == count;
    if (!is_regular) {
      fail(fmt::format("the task ids of the Slurm array have gaps: {} ids, from {} to {}", count,
                       least, most));
    }
    return (id - least) / step;
  }

  const Variables& variables_;
};

}  // namespace

Shard shard_of(const std::string& text, const Variables& variables) {
  if (text == "auto") return Scheduler(variables).shard();
  if (const auto shard = parsed(text)) return *shard;
  throw Error(fmt::format("expected auto, or I/N with I from 0 to N-1, got '{}'", text));
}

// ---- Writes the manifest of a sweep.

namespace {

// Why the manifest must not be written there; empty: it may be.
std::string conflict_of(const SweepManifestRequest& request, const std::string& store) {
  if (is_same_file(request.out, request.description)) {
    return "is the description of the sweep and is not overwritten";
  }
  const std::string root = resolve_what_is_there(store);
  const std::string target = resolve_what_is_there(request.out);
  if (!is_in(target, root)) return {};
  std::string_view below = std::string_view(target).substr(std::min(root.size(), target.size()));
  if (below.starts_with('/')) below.remove_prefix(1);
  for (const std::string_view kind : {"bmk", "power_audit_", "agentic_"}) {
    const bool is_artifact = below.starts_with(kind) && below.find('/') != std::string_view::npos;
    if (is_artifact) return "is in an artifact of the sweep, where nothing is written";
  }
  return {};
}

}  // namespace

void add_sweep_manifest_options(Options& options, SweepManifestRequest& request) {
  options
      .value(
          "--sweep-manifest", "OUT", into_path(request.out),
          "Instead of patching runs, write the manifest of a sweep whose artifacts are in STORE; see 'aggregate-power help verify'")
      .check(not_empty())
      .writes()
      .needs("--sweep");
  options
      .value("--sweep", "FILE.json", into_path(request.description),
             "The sweep's description: head, run-id, run-attempt and matrix")
      .check(not_empty())
      .needs("--sweep-manifest");
}

void settle_sweep_manifest(const Options& options, SweepManifestRequest& request,
                           const std::vector<std::string>& stores) {
  if (request.out.empty()) return;
  const std::set<std::string> useful = {"--sweep-manifest", "--sweep", "--jobs", "--quiet",
                                        "--no-sandbox"};
  for (const Option& option : options.all()) {
    if (option.given.empty() || option.is_positional() || useful.contains(option.long_name())) {
      continue;
    }
    throw Error(fmt::format(
        "backfill: {} has no effect beside --sweep-manifest, which only reads the store",
        option.long_name()));
  }
  if (stores.size() != 1) {
    throw Error("backfill: --sweep-manifest takes one STORE: the folder of the sweep's artifacts");
  }
  if (const std::string conflict = conflict_of(request, stores[0]); !conflict.empty()) {
    throw Error(fmt::format("{}: {}", one_line(request.out), conflict));
  }
  request.file = std::make_shared<StreamedFile>(request.out);
}

int write_sweep_manifest(const SweepManifestRequest& request, const std::string& store,
                         unsigned jobs) {
  const SweepBuild build = build_sweep(request.description, store, jobs);
  for (const PublicationFault& fault : build.found.faults) print_message("error: " + fault.text());
  if (!build.found.holds()) {
    print_message(fmt::format("error: {}: not written, because of what is said above",
                              one_line(request.out)));
    return 1;
  }
  request.file->append(build.text);
  request.file->commit();
  print_result(fmt::format("{}: {} point{}\n", one_line(request.out), build.points,
                           build.points == 1 ? "" : "s"));
  return 0;
}

}  // namespace aggregate_power
