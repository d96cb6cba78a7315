// Checks a package by the rules of each dialect.
#include "packages/package.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files/file.h"
#include "base/files/path.h"
#include "packages/evidence.h"
#include "packages/sample_checks.h"
#include "packages/window_checks.h"

namespace aggregate_power {
namespace {

std::pair<double, double> start_and_end(const Window& window) {
  return {window.start_unix_s, window.end_unix_s};
}

// The windows by the rules of each dialect.
struct ScannedWindows {
  std::vector<WindowScan> scans;  // in the order of package_dialects()
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

ScannedWindows scan_by_each_dialect(const PackagePlace& place, const JsonValue& concurrency) {
  ScannedWindows scanned;
  for (const PackageDialect& dialect : package_dialects()) {
    const WindowScan& scan = scanned.scans.emplace_back(scan_or_fault(place, dialect));
    for (const auto& [key, window] : scan.windows) {
      if (window.is_completed()) scanned.spans.push_back(span_of(window));
    }
    const auto windows = windows_of(scan, concurrency);
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
  of_samples.windows = windows.spans;
  of_samples.most_devices = content.devices.size() + kMostUnexpected;
  of_samples.take = [&](std::span<const PackageSample> some) {
    if (wanted && request.take) request.take(some);
  };
  of_samples.start_over = begin;
  const std::string path = path_below(place.power_dir, "samples.csv");
  begin();
  try {
    return read_package_samples(place.tree->open(path), of_samples);
  } catch (const FileError&) {  // cannot be opened
    PackageSamples samples;
    samples.is_missing = !place.tree->find_file(path);
    if (!samples.is_missing) samples.malformed.in_band = 1;
    return samples;
  }
}

std::map<DeviceKey, double> gaps_around(const PackageWindow& window, const PackageSamples& samples,
                                        const SeenDevices& seen) {
  std::map<DeviceKey, double> gaps_s;
  for (const auto& [key, device] : seen) {
    const auto gap_s = max_gap_s(samples, *device, span_of(window));
    if (gap_s) gaps_s[key] = *gap_s;
  }
  return gaps_s;
}

// Checks the package by one dialect's rules, except for its samples.
Package checked(const PackagePlace& place, const PackageContent& content,
                const JsonValue& concurrency, const PackageSamples& samples,
                const PackageDialect& dialect, WindowScan scan) {
  Package package;
  package.dialect = dialect;
  const SeenDevices seen = seen_devices(samples);
  for (const auto& [key, device] : seen) {
    package.observed.push_back({key, device->uuids, device->first_unix_s, device->last_unix_s, {}});
  }
  std::optional<PackageWindow> wanted;
  if (const auto windows = windows_of(scan, concurrency); windows.size() == 1) wanted = windows[0];
  if (wanted) package.max_sample_gap_s = gaps_around(*wanted, samples, seen);
  const auto unexpected = unexpected_windows(scan, content.windows);
  scan.faults.insert(scan.faults.end(), unexpected.begin(), unexpected.end());
  package.topology = topology_of(content.devices);

  PackageFaults faults;
  for (const std::string& fault : manifest_faults(content.manifest)) faults.add(fault);
  faults.add(sample_faults(samples, dialect));
  faults.add(device_faults(content.devices, package.topology, package.observed));
  const auto validations = validate_windows(place, content, scan, samples, dialect);
  faults.add(window_faults(validations, scan, wanted));
  faults.add(evidence_faults(content, {samples, package.observed, scan, validations, wanted}));
  package.faults = std::move(faults.list);
  package.elsewhere = std::move(faults.elsewhere);
  package.scan = std::move(scan);
  return package;
}

bool has_fault_here(const Package& package) {
  return !std::ranges::all_of(package.faults, &PackageFault::is_elsewhere);
}

}  // namespace

Package recompute_package(const PackagePlace& place, const PackageContent& content,
                          const PackageRequest& request) {
  ScannedWindows windows = scan_by_each_dialect(place, request.concurrency);
  PackageSamples samples = read_samples(place, content, windows, request);
  // The version of the samples limits how old the producer can be. Beyond that it is the oldest
  // dialect, unless a later one finds the package whole.
  std::optional<Package> package;
  for (std::size_t i = 0; i < windows.scans.size(); ++i) {
    const PackageDialect& dialect = package_dialects()[i];
    if (samples.version > dialect.newest_samples_version) continue;
    Package other =
        checked(place, content, request.concurrency, samples, dialect, std::move(windows.scans[i]));
    const bool fits_better =
        package && request.salvage && has_fault_here(*package) && !has_fault_here(other);
    if (!package || other.faults.empty() || fits_better) package = std::move(other);
    if (package->faults.empty()) break;
  }
  package->samples = std::move(samples);
  return std::move(*package);
}

}  // namespace aggregate_power
