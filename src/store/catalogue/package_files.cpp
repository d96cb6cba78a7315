// Lists the files of a stored package.
#include "store/catalogue/package_files.h"

#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "generators/aiperf_folder.h"
#include "packages/native/native_place.h"
#include "core/record/aggregate.h"

namespace aggregate_power {
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
