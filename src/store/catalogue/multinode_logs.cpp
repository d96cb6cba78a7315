// Searches artifacts for the logs of several nodes.
#include "store/catalogue/multinode_logs.h"

#include <algorithm>
#include <exception>
#include <set>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "core/record/aggregate.h"
#include "generators/aiperf.h"
#include "packages/native/node.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
namespace {

// The names that its artifacts may have.
std::vector<std::string> artifact_names(const StoredRun& run) {
  std::vector<std::string> names;
  const Artifact own = artifact_of(archive_stem(last_name(run.folder.display)));
  for (const std::string& name : {own.run, run.artifact, run.name}) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

// The concurrency of a load of agents, as written; empty for other runs.
std::string concurrency_of(const StoredRun& run) {
  for (const std::string& name : artifact_names(run)) {
    const auto number = agentic_concurrency(name, run.name + ".json");
    if (number && !number->empty()) return *number;
  }
  return {};
}

std::vector<StorePath> formal_results_in(const StorePath& folder) {
  const auto shared = std::make_shared<const StorePath>(folder);
  return mapped<StorePath>(formal_results(*folder.tree, folder.path),
                           [&](const std::string& name) { return child(shared, name); });
}

std::vector<StorePath> formal_results_of(const StorePath& agentic, const std::string& concurrency) {
  if (concurrency.empty()) return formal_results_in(agentic);
  const auto shared = std::make_shared<const StorePath>(agentic);
  std::vector<StorePath> results = formal_results_in(child(shared, "conc_" + concurrency));
  if (results.empty()) results = formal_results_in(agentic);
  const bool is_anothers =
      results.size() == 1 && formal_concurrency(last_name(results[0].path)) != concurrency;
  return is_anothers ? std::vector<StorePath>() : results;
}

struct LogSearch {
  const StoredRun& run;
  Folder own;
  bool is_of_agents;
  std::string concurrency;  // empty: not the load of a particular concurrency
  std::vector<MultinodeLogs> found = {};
  std::exception_ptr fault = {};
};

void add_native(const Folder& logs, MultinodeLogs& found) {
  auto native = folder_in(logs, kNativeFolder);
  found.has_both = native && found.power;
  found.is_native = native && !found.power;
  if (found.is_native) found.power = std::move(native);
}

void look_into(LogSearch& of, const StorePath& artifact) {
  auto logs = folder_in(std::make_shared<const StorePath>(artifact), "LOGS");
  if (!logs) return;
  const auto folder = std::make_shared<const StorePath>(*logs);
  MultinodeLogs found{.logs = std::move(*logs), .power = folder_in(folder, "power")};
  if (!of.is_of_agents) add_native(folder, found);
  if (of.is_of_agents) found.agentic = folder_in(folder, "agentic");
  if (found.agentic) found.formal_results = formal_results_of(*found.agentic, of.concurrency);
  if (found.power || found.agentic) of.found.push_back(std::move(found));
}

// Returns whether there is such an artifact.
bool look_for(LogSearch& of, std::string_view kind) {
  bool is_there = false;
  for (const std::string& name : artifact_names(of.run)) {
    for (const Folder& folder : {of.own, of.run.folder.folder}) {
      if (!folder) continue;
      try {
        const auto artifact = artifact_in(folder, fmt::format("{}{}", kind, name));
        if (!artifact) continue;
        is_there = true;
        if (artifact->display != of.own->display) look_into(of, *artifact);
      } catch (const FileError&) {
        if (!of.fault) of.fault = std::current_exception();
      }
    }
  }
  return is_there;
}

// A folder without a manifest is not a package yet.
bool has_manifest(const MultinodeLogs& logs) {
  if (logs.is_native) return !native_nodes({logs.power->tree, logs.power->path}).empty();
  return logs.power && file_below(*logs.power, "manifest.json");
}

bool is_complete(const LogSearch& of) {
  return std::ranges::any_of(of.found, [&](const MultinodeLogs& logs) {
    return has_manifest(logs) && (logs.agentic || !of.is_of_agents);
  });
}

// A run of agents counts where its results are; a package alone counts less.
int merit(const MultinodeLogs& logs) {
  return (logs.agentic ? 8 : 0) + (has_manifest(logs) ? 4 : 0) + (logs.power ? 2 : 0) +
         (logs.formal_results.size() == 1);
}

void keep_the_best(LogSearch& of) {
  std::ranges::stable_sort(of.found, std::ranges::greater(), merit);
  std::erase_if(of.found, [best = of.found.empty() ? 0 : merit(of.found[0])](
                              const MultinodeLogs& logs) { return merit(logs) < best; });
  if (of.found.size() > 1 && !is_complete(of)) of.found.resize(1);
}

std::vector<MultinodeLogs> find_logs(const StoredRun& run, bool is_of_agents) {
  LogSearch of{run, std::make_shared<const StorePath>(run.folder), is_of_agents,
               is_of_agents ? concurrency_of(run) : ""};
  look_into(of, *of.own);
  if (is_complete(of)) return std::move(of.found);
  if (of.is_of_agents && look_for(of, "agentic_") && of.found.empty() && of.concurrency.empty())
    return {};
  look_for(of, "power_audit_");
  if (of.fault && !is_complete(of)) std::rethrow_exception(of.fault);
  keep_the_best(of);
  return std::move(of.found);
}

}  // namespace

std::vector<MultinodeLogs> find_multinode_logs(const StoredRun& run) {
  return find_logs(run, false);
}

std::vector<MultinodeLogs> find_agents_logs(const StoredRun& run) { return find_logs(run, true); }

// ---- Lists the files of a stored package.

namespace {

constexpr std::string_view kRecordsRole = "profile_records/";

std::optional<StorePath> records_of(const StorePath& benchmark, std::string& role) {
  try {
    const std::string profile = path_below(benchmark.folder->path, std::string(kProfileFolder));
    const auto records = find_records(*benchmark.tree, profile);
    if (!records) return std::nullopt;
    role = fmt::format("{}{}", kRecordsRole, *records);
    return file_below(*benchmark.folder, fmt::format("{}/{}", kProfileFolder, *records));
  } catch (const FileError&) {
    return std::nullopt;
  }
}

InputFile listing(const char* role, const std::set<std::string>& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  InputFile listing = hashed_text(text);
  listing.role = role;
  return listing;
}

// Everything in the windows folder, files or not.
InputFile windows_of(const MultinodeLogs& package) {
  const PackagePlace place = package_place(package);
  const std::string windows = path_below(place.power_dir, "windows");
  std::set<std::string> entries;
  if (place.tree->has_folder(windows)) {
    place.tree->list(windows, [&](const TreeEntry& entry) {
      const bool is_link = place.tree->is_link(path_below(windows, entry.name));
      entries.insert(
          fmt::format("{}{}{}", static_cast<int>(entry.kind), is_link ? 'l' : '-', entry.name));
    });
  }
  return listing("windows", entries);
}

// Links that lead out of the logs root: their targets count as missing.
InputFile links_of(const MultinodeLogs& package, const PackageFiles& files) {
  std::string root = package.logs.tree->resolved(package.logs.path);
  if (!root.ends_with('/')) root += '/';
  std::set<std::string> leading_out;
  for (const auto& [role, place] : files) {
    if (place.tree->resolved(place.path).starts_with(root)) continue;
    leading_out.insert(role);
  }
  return listing("links", leading_out);
}

}  // namespace

PackagePlace package_place(const MultinodeLogs& package) {
  return {package.power->tree, package.power->path, package.logs.path};
}

PackageFiles package_files(const MultinodeLogs& package, const StorePath& benchmark) {
  PackageFiles files = {{"benchmark_result", benchmark}};
  const auto add = [&](const std::string& role, const StorePath& folder, const std::string& path) {
    if (auto place = file_below(folder, path)) files.emplace_back(role, std::move(*place));
  };
  const PackagePlace place = package_place(package);
  if (package.is_native) {
    for (const std::string& path : native_files({place.tree, place.power_dir})) {
      const std::string name = path.substr(place.power_dir.size() + 1);
      add(name, *package.power, name);
    }
    return files;
  }
  for (const char* const name :
       {"manifest.json", "samples.csv", kPinFile, "cpu/cpu_manifest.json", "cpu/samples.csv"}) {
    add(name, *package.power, name);
  }
  for (const char* const name : {"cpu_power/manifest.json", "cpu_power/samples.csv"}) {
    add(name, package.logs, name);
  }
  if (package.agentic) {
    std::string role;
    if (auto records = records_of(benchmark, role)) files.emplace_back(role, std::move(*records));
  }
  const std::string windows = path_below(place.power_dir, "windows");
  std::set<std::string> names;
  if (place.tree->has_folder(windows)) {
    place.tree->list(windows, [&](const TreeEntry& entry) { names.insert(entry.name); });
  }
  for (const std::string& name : names) add("windows/" + name, *package.power, "windows/" + name);
  std::set<std::string> results;
  for (const auto& [key, window] :
       scan_windows(place, package_dialects(Contract::october).front()).windows) {
    results.insert(window.result_path);
  }
  for (const std::string& path : results) add("result/" + path, package.logs, path);
  return files;
}

std::array<InputFile, 2> package_listings(const MultinodeLogs& package, const PackageFiles& files) {
  return {windows_of(package), links_of(package, files)};
}

bool is_records_role(std::string_view role) { return role.starts_with(kRecordsRole); }

}  // namespace aggregate_power
