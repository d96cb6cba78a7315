// A package of a store with one benchmark result, tried.
#include "aggregate_power/jobs/package_attempt.h"

#include <algorithm>
#include <exception>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/base/hash.h"
#include "aggregate_power/base/unicode.h"
#include "aggregate_power/jobs/agentic_gates.h"
#include "aggregate_power/jobs/aggregate_text.h"
#include "aggregate_power/jobs/artifact_names.h"
#include "aggregate_power/jobs/failed_requests.h"

namespace aggregate_power {
namespace {

constexpr const char* kPinFile = "power-producer-sha.txt";

PackagePlace place_of(const PackageFolders& package) {
  return {package.power.tree, package.power.path, package.logs.path};
}

bool is_of_agents(const Place& benchmark) {
  const std::string_view path = benchmark.path;
  return formal_concurrency(path.substr(path.rfind('/') + 1)).has_value();
}

// Each by its role.
using Files = std::vector<std::pair<std::string, Place>>;

// All files that a verdict on the package depends on, in one order.
Files files_of(const PackageFolders& package, const Place& benchmark) {
  Files files = {{"benchmark_result", benchmark}};
  const auto add = [&](const std::string& role, const Place& folder, const std::string& path) {
    if (auto place = file_below(folder, path)) files.emplace_back(role, std::move(*place));
  };
  for (const char* const name :
       {"manifest.json", "samples.csv", kPinFile, "cpu/cpu_manifest.json", "cpu/samples.csv"}) {
    add(name, package.power, name);
  }
  const PackagePlace place = place_of(package);
  if (is_of_agents(benchmark)) {
    const std::string profile = path_below(benchmark.folder->path, std::string(kProfileFolder));
    if (const auto records = find_records(*place.tree, profile)) {
      add("profile_records", *benchmark.folder, fmt::format("{}/{}", kProfileFolder, *records));
    }
  }
  const std::string windows = path_below(place.power_dir, "windows");
  std::set<std::string> names;
  if (place.tree->has_folder(windows)) {
    place.tree->list(windows, [&](const TreeEntry& entry) { names.insert(entry.name); });
  }
  for (const std::string& name : names) add("windows/" + name, package.power, "windows/" + name);
  std::set<std::string> results;
  for (const auto& [key, window] : scan_windows(place, PackageDialect::pinned).windows) {
    results.insert(window.result_path);
  }
  for (const std::string& path : results) add("result/" + path, package.logs, path);
  return files;
}

// What lies in the folder of windows, be it a file or not.
InputFile listing_of(const PackageFolders& package) {
  const PackagePlace place = place_of(package);
  const std::string windows = path_below(place.power_dir, "windows");
  std::set<std::string> entries;
  if (place.tree->has_folder(windows)) {
    place.tree->list(windows, [&](const TreeEntry& entry) {
      const bool is_link = place.tree->is_link(path_below(windows, entry.name));
      entries.insert(
          fmt::format("{}{}{}", static_cast<int>(entry.kind), is_link ? 'l' : '-', entry.name));
    });
  }
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  InputFile listing = hashed_text(text);
  listing.role = "windows";
  return listing;
}

RoleCounts counts_of(const std::string& run, std::string_view aggregate) {
  RoleCounts counts;
  if (const auto named = gpus_in_name(run)) {
    counts.prefill = named->prefill.value_or(0);
    counts.decode = named->decode.value_or(0);
    counts.any = named->prefill ? 0 : named->all;
    return counts;
  }
  const RoleGpus roles = role_gpus_of(aggregate);
  counts.prefill = roles.prefill.value_or(0);
  counts.decode = roles.decode.value_or(0);
  if (counts.prefill + counts.decode == 0) counts.any = gpus_of(aggregate).value_or(0);
  return counts;
}

// Nothing where they are not known.
std::optional<FailedRequestsRequest> failed_requests_of(const Place& benchmark) {
  if (!is_of_agents(benchmark)) return std::nullopt;
  try {
    return failed_requests_in(benchmark.tree, benchmark.folder->path);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string pin_of(const PackageFolders& package) {
  constexpr std::size_t kMostBytes = 4096;
  const auto place = file_below(package.power, kPinFile);
  if (!place) return {};
  const std::string text = read_up_to(*place->tree->open(place->path).source(), kMostBytes);
  return std::string(strip(text));
}

}  // namespace

PackageAttempt attempt_package(const PackageFolders& package, const Place& benchmark,
                               const StoredRun& run, std::string_view aggregate,
                               const RevisionOptions& options) {
  PackageAttempt attempt;
  for (const auto& [role, place] : files_of(package, benchmark)) {
    const OpenedFile file = place.tree->open(place.path);
    attempt.inputs.push_back({role, file.size(), hash_of(file)});
    // Of an archive, its files have the time alone.
    attempt.opened.emplace_back(path_on_disk(place), place.tree->is_archive()
                                                         ? FileFacts{0, file.facts().modified_ns}
                                                         : file.facts());
  }
  attempt.inputs.push_back(listing_of(package));
  attempt.producer_sha =
      options.expected_producer_sha.empty() ? pin_of(package) : options.expected_producer_sha;
  PackageQuestion question;
  question.place = place_of(package);
  question.result_name = benchmark.shown;
  question.result = benchmark.tree->open(benchmark.path);
  question.expected_producer_sha = attempt.producer_sha;
  if (run.layout == Layout::agentic) {
    AgenticGates gates = try_gates({question.place.tree,
                                    benchmark.folder->path,
                                    question.place.logs_root,
                                    std::string(aggregate),
                                    {},
                                    attempt.producer_sha});
    question.gpus = gates.gpus;
    question.refusal = std::move(gates.reasons);
  } else {
    question.gpus = counts_of(run.name, aggregate);
  }
  question.salvage = options.salvage;
  const auto failed = failed_requests_of(benchmark);
  question.with_power = failed && failed->count > 0;
  attempt.verdict = judge_package(question);
  if (failed && !attempt.verdict.is_refused) {
    attempt.failed_requests = failed_requests(*failed, attempt.verdict);
  }
  return attempt;
}

bool package_is_as_read(const PackageFolders& package, const Place& benchmark, const Origin& origin,
                        std::int64_t record_ns, bool verify) {
  const Files files = files_of(package, benchmark);
  // The aggregate is among the inputs too.
  if (origin.inputs.size() != files.size() + 2) return false;
  const InputFile listing = listing_of(package);
  const auto recorded = std::ranges::find(origin.inputs, listing.role, &InputFile::role);
  if (recorded == origin.inputs.end() || recorded->hash != listing.hash) return false;
  return std::ranges::all_of(files, [&](const auto& entry) {
    const auto& [role, place] = entry;
    const auto input = std::ranges::find(origin.inputs, role, &InputFile::role);
    if (input == origin.inputs.end()) return false;
    if (verify) {
      const OpenedFile file = place.tree->open(place.path);
      return file.size() == input->bytes && hash_of(file) == input->hash;
    }
    const auto facts = place.facts ? place.facts : place.tree->find_file(place.path);
    return facts && facts->bytes == input->bytes && facts->modified_ns < record_ns;
  });
}

}  // namespace aggregate_power
