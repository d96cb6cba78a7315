// Checks a package by the rules of each dialect.
#include "packages/srt_slurm/package.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

std::pair<double, double> start_and_end(const Window& window) {
  return {window.start_unix_s, window.end_unix_s};
}

// The windows by the rules of each dialect.
struct ScannedWindows {
  std::vector<WindowScan> scans;  // by dialect
  std::vector<Window> spans;      // of all completed windows; sorted, without duplicates
  std::optional<Window> wanted;   // from the first dialect that has exactly one
};

WindowScan scan_or_fault(const PackagePlace& place, const PackageDialect& dialect) {
  try {
    return scan_windows(place, dialect);
  } catch (const FileError&) {
    WindowScan scan;
    scan.faults.push_back({"windows", "measurement_window_artifact_path_invalid"});
    return scan;
  }
}

ScannedWindows scan_by_each_dialect(const PackagePlace& place, const PackageRequest& request) {
  ScannedWindows scanned;
  for (const PackageDialect& dialect : package_dialects(request.contract)) {
    const WindowScan& scan = scanned.scans.emplace_back(scan_or_fault(place, dialect));
    for (const auto& [key, window] : scan.windows) {
      if (window.is_completed()) scanned.spans.push_back(span_of(window));
    }
    const auto windows = windows_of(scan, request.concurrency);
    if (!scanned.wanted && windows.size() == 1 &&
        windows[0].start_unix_s < *windows[0].end_unix_s) {
      scanned.wanted = span_of(windows[0]);
    }
  }
  std::ranges::sort(scanned.spans, {}, start_and_end);
  const auto is_same = [&](Window a, Window b) { return start_and_end(a) == start_and_end(b); };
  scanned.spans.erase(std::unique(scanned.spans.begin(), scanned.spans.end(), is_same),
                      scanned.spans.end());
  return scanned;
}

SamplingPace pace_of(const JsonValue& manifest) {
  const auto seconds = [&](const char* key) {
    const JsonValue& value = manifest.at(key);
    return value.is_number() ? value.as_double() : std::numeric_limits<double>::quiet_NaN();
  };
  return {seconds("sample_interval_seconds"), seconds("request_timeout_seconds")};
}

PackageSamples read_samples(const PackagePlace& place, const PackageContent& content,
                            const ScannedWindows& windows, const PackageRequest& request) {
  constexpr std::size_t kMostUnexpected = 1000;
  const auto& wanted = windows.wanted;
  const auto begin = [&] {
    if (wanted && request.begin) request.begin(*wanted);
  };
  PackageSamplesRequest of_samples;
  if (wanted) {
    of_samples.band = {wanted->start_unix_s - kPackageMaxSampleGapS,
                       wanted->end_unix_s + kPackageMaxSampleGapS};
  }
  of_samples.newest_version = package_dialects(request.contract).back().newest_samples_version;
  of_samples.windows = windows.spans;
  of_samples.gap_budget_s = pace_of(content.manifest).budget_s();
  of_samples.most_devices = content.devices.size() + kMostUnexpected;
  of_samples.take = [&](std::span<const PackageSample> some) {
    if (wanted && request.take) request.take(some);
  };
  of_samples.start_over = begin;
  const std::string path = path_below(place.power_dir, "samples.csv");
  begin();
  try {
    const OpenedFile file = place.tree->open(path);
    if (request.shared != nullptr && wanted) {
      if (auto served = request.shared->serve(file, of_samples, *wanted, request.extended)) {
        request.measured(std::move(served->power));
        return served->samples;
      }
    }
    return read_package_samples(file, of_samples);
  } catch (const FileError&) {  // cannot be opened
    PackageSamples samples;
    samples.is_missing = !place.tree->find_file(path);
    if (!samples.is_missing) samples.malformed.in_band = 1;
    return samples;
  }
}

std::map<DeviceKey, double> longest_gaps(const PackageWindow& window, const PackageSamples& samples,
                                         const SeenDevices& seen) {
  std::map<DeviceKey, double> gaps_s;
  for (const auto& [key, device] : seen) {
    const SampleGaps* const gaps = gaps_of(samples, *device, span_of(window));
    if (gaps != nullptr) gaps_s[key] = gaps->longest_s;
  }
  return gaps_s;
}

// ---- Gaps

// Judges the gaps by the strictest rule that gives what the manifest says about the windows; by
// that of the original's reader if none does, or if another rule must not be used. Contract-
// october.md 2.11.
void judge_windows(const PackageContent& content, const std::vector<CheckedWindow>& windows,
                   const PackageRequest& request, Package& package) {
  const bool has_evidence = rules_of(request.contract).trusts_package_evidence;
  const auto judge = [&](const GapRule& rule) {
    package.gap_rule = rule.name;
    package.validations =
        judged(windows, {rule, pace_of(content.manifest),
                         !has_evidence && package.dialect.omits_gaps_of_faulty_windows});
  };
  const JsonValue& stored = content.manifest.at("window_validations");
  const bool may_be_stored = stored.items.size() == windows.size();
  if (has_evidence && !request.consumer_gaps && may_be_stored) {
    for (const GapRule& rule : gap_rules()) {
      judge(rule);
      if (is_as_stored(stored, package.validations, request.contract)) return;
    }
  }
  judge(consumer_gap_rule());
}

// ---- Bytes

// Whether samples.csv is what the recorder vouched for. Contract-october.md 2.6.
PackageFaults digest_faults(const PackagePlace& place, const JsonValue& manifest,
                            const std::optional<std::string>& known) {
  constexpr const char* kCode = "samples_digest_mismatch";
  PackageFaults faults;
  const JsonValue* const stored = manifest.find("samples_sha256");
  if (stored == nullptr || stored->is_null()) return faults;
  if (!stored->is_string() || !is_sha256(stored->text)) {
    faults.add(fmt::format("{}: samples_sha256 is not a lowercase SHA-256 digest", kCode));
    return faults;
  }
  try {
    const std::string path = path_below(place.power_dir, "samples.csv");
    const std::string found = known ? *known : sha256_of(*place.tree->open(path).source());
    if (found == stored->text) return faults;
    faults.add(fmt::format("{}: samples_sha256 mismatch: manifest records {}, recomputed {}", kCode,
                           stored->text, found));
  } catch (const FileError& error) {
    faults.add(fmt::format("{}: {}", kCode, error.what()));
  }
  return faults;
}

// ---- All of it

// The faults of manifest, samples, devices, windows and bytes, in the order of `failures`.
PackageFaults faults_of(const PackageContent& content, const Package& package,
                        const PackageSamples& samples, const std::optional<PackageWindow>& wanted,
                        const PackageFaults& of_bytes, Contract contract) {
  PackageFaults faults;
  for (const std::string& fault : manifest_faults(content.manifest, contract)) faults.add(fault);
  faults.add(sample_faults(samples, package.dialect));
  faults.add(device_faults(content.devices, package.topology, package.observed));
  if (package.validations.empty()) faults.add("no expected measurement window");
  const PackageFaults of_windows = window_faults(package.validations, wanted);
  const bool has_evidence = rules_of(contract).trusts_package_evidence;
  if (!has_evidence) faults.add(of_windows);
  faults.add(artifact_faults(package.scan, wanted));
  faults.add(evidence_faults(
      content, {samples, package.observed, package.scan, package.validations, contract, wanted}));
  if (has_evidence) {
    faults.add(of_bytes);
    faults.add(of_windows);
  }
  return faults;
}

// Checks the package by one dialect's rules, except for its samples.
Package checked(const PackagePlace& place, const PackageContent& content,
                const PackageRequest& request, const PackageSamples& samples,
                const PackageFaults& of_bytes, const PackageDialect& dialect, WindowScan scan) {
  Package package;
  package.dialect = dialect;
  if (request.allows_same_stamp) package.dialect.refuses_same_stamp = false;
  const SeenDevices seen = seen_devices(samples);
  for (const auto& [key, device] : seen) {
    package.observed.push_back({key, device->uuids, device->first_unix_s, device->last_unix_s, {}});
  }
  std::optional<PackageWindow> wanted;
  if (const auto windows = windows_of(scan, request.concurrency); windows.size() == 1) {
    wanted = windows[0];
  }
  if (wanted) package.max_sample_gap_s = longest_gaps(*wanted, samples, seen);
  const auto unexpected = unexpected_windows(scan, content.windows);
  append(scan.faults, unexpected);
  package.topology = topology_of(content.devices);
  package.scan = std::move(scan);
  judge_windows(content, check_windows(place, content, package.scan, samples, dialect), request,
                package);
  PackageFaults faults = faults_of(content, package, samples, wanted, of_bytes, request.contract);
  package.faults = std::move(faults.list);
  package.elsewhere = std::move(faults.elsewhere);
  return package;
}

bool has_fault_here(const Package& package) {
  return !std::ranges::all_of(package.faults, &PackageFault::is_elsewhere);
}

// Whether a later dialect fits better than one that was tried before: from the best, it finds the
// package whole, or as its manifest says, or sound as far as it matters.
bool fits_better(const Package& other, const Package& package, const PackageRequest& request) {
  if (other.faults.empty()) return true;
  const bool is_more_integral =
      rules_of(request.contract).judges_own_window && !package.is_integral() && other.is_integral();
  const bool is_sounder = request.salvage && has_fault_here(package) && !has_fault_here(other);
  return is_more_integral || is_sounder;
}

std::vector<std::string> warnings_of(const PackageContent& content, const PackageSamples& samples,
                                     Contract contract) {
  std::vector<std::string> warnings;
  if (!rules_of(contract).warns_of_packages) return warnings;
  constexpr std::size_t kMostNamed = 10;
  const std::vector<std::string> unknown = unknown_members(content.manifest);
  for (std::size_t i = 0; i < std::min(unknown.size(), kMostNamed); ++i) {
    warnings.push_back(
        fmt::format("manifest.json: {} is not known, so it was not compared", unknown[i]));
  }
  if (unknown.size() > kMostNamed) {
    warnings.push_back(
        fmt::format("manifest.json: {} more members are not known", unknown.size() - kMostNamed));
  }
  if (samples.hot_cells > 0) {
    warnings.push_back(fmt::format("samples.csv: {} temperatures above 200 degrees were left out",
                                   samples.hot_cells));
  }
  return warnings;
}

}  // namespace

bool Package::is_integral() const {
  return std::ranges::all_of(faults, &PackageFault::is_of_window);
}

Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request) {
  ScannedWindows windows = scan_by_each_dialect(place, request);
  PackageSamples samples = read_samples(place, content, windows, request);
  const PackageFaults of_bytes =
      rules_of(request.contract).trusts_package_evidence
          ? digest_faults(place, content.manifest, request.samples_sha256)
          : PackageFaults();
  // The version of the samples limits how old the producer can be. Beyond that it is the oldest
  // dialect, unless a later one fits better.
  std::optional<Package> package;
  for (std::size_t i = 0; i < windows.scans.size(); ++i) {
    const PackageDialect& dialect = package_dialects(request.contract)[i];
    if (samples.version > dialect.newest_samples_version) continue;
    Package other =
        checked(place, content, request, samples, of_bytes, dialect, std::move(windows.scans[i]));
    if (!package || fits_better(other, *package, request)) package = std::move(other);
    if (package->faults.empty()) break;
  }
  package->integrated = windows.wanted;
  package->warnings = warnings_of(content, samples, request.contract);
  package->samples = std::move(samples);
  return std::move(*package);
}

// ---- Lists the files of a package and the results that its windows name.

namespace {

std::vector<std::string> files_in(const Tree& tree, const std::string& folder) {
  std::vector<std::string> files;
  if (!tree.has_folder(folder)) return files;
  try {
    tree.list(folder, [&](const TreeEntry& entry) {
      if (entry.kind == TreeEntry::Kind::file) files.push_back(path_below(folder, entry.name));
    });
  } catch (const FileError&) {
  }
  return files;
}

// The result that a window names, even if the window is not valid.
std::optional<std::string> result_path_in(const Tree& tree, const std::string& window) {
  try {
    const OpenedFile file = tree.open(window);
    if (file.size() > kMostWindowBytes) return std::nullopt;
    const std::string text = read_whole(file, kPackageFile);
    JsonMemberText path;
    find_members(text, {{"result_path", path}});
    if (path.kind == JsonKind::string) return path.scalar().text;
  } catch (const FileError&) {
  } catch (const JsonError&) {
  }
  return std::nullopt;
}

}  // namespace

CpuFolders cpu_folders(const PackagePlace& place) {
  return {path_below(place.power_dir, "cpu"), path_below(place.logs_root, "cpu_power")};
}

PackageInputs package_inputs(const PackagePlace& place) {
  PackageInputs inputs;
  for (const char* const name :
       {"manifest.json", "samples.csv", "power-producer-sha.txt", "exporter-image.sha256"}) {
    inputs.files.push_back(path_below(place.power_dir, name));
  }
  for (const char* const name : {"windows", "cpu"}) {
    inputs.folders.push_back(path_below(place.power_dir, name));
    const std::vector<std::string> files = files_in(*place.tree, inputs.folders.back());
    append(inputs.files, files);  // they may be links
  }
  for (std::string& file : cpu_files_of_hosts(cpu_folders(place))) {
    if (place.tree->find_file(file)) inputs.files.push_back(std::move(file));
  }
  for (const std::string& window : files_in(*place.tree, inputs.folders.front())) {
    if (const auto path = result_path_in(*place.tree, window)) {
      inputs.files.push_back(path_below(place.logs_root, *path));
    }
  }
  return inputs;
}

}  // namespace aggregate_power
