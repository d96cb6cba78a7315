// Writes the manifest of a sweep.
#include "commands/backfill_summary.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/text/characters.h"
#include "commands/options/output.h"
#include "verify/sweep/sweep.h"

namespace aggregate_power {
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
      .needs("--sweep");
  options
      .value("--sweep", "FILE.json", into_path(request.description),
             "The sweep's description: head, run-id, run-attempt and matrix")
      .check(not_empty())
      .needs("--sweep-manifest");
}

void settle_sweep_manifest(const Options& options, const SweepManifestRequest& request,
                           const std::vector<std::string>& stores) {
  if (request.out.empty()) return;
  const std::set<std::string> useful = {"--sweep-manifest", "--sweep", "--jobs", "--quiet"};
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
}

int write_sweep_manifest(const SweepManifestRequest& request, const std::string& store,
                         unsigned jobs) {
  if (const std::string conflict = conflict_of(request, store); !conflict.empty()) {
    throw Error(fmt::format("{}: {}", one_line(request.out), conflict));
  }
  const SweepBuild build = build_sweep(request.description, store, jobs);
  for (const PublicationFault& fault : build.found.faults) print_message("error: " + fault.text());
  if (!build.found.holds()) {
    print_message(fmt::format("error: {}: not written, because of what is said above",
                              one_line(request.out)));
    return 1;
  }
  replace_file(request.out, build.text);
  print_result(fmt::format("{}: {} point{}\n", one_line(request.out), build.points,
                           build.points == 1 ? "" : "s"));
  return 0;
}

}  // namespace aggregate_power
