// Checks each expected window of a package.
#include "packages/window_checks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// How the samples of one device cover a window.
struct Coverage {
  std::string code;             // empty: they cover it
  std::string what;             // for people
  std::optional<double> gap_s;  // the longest
};

Coverage coverage_of(const PackageSamples& samples, const SeenDevice* device,
                     const PackageWindow& window) {
  constexpr const char* kNotBracketed = "measurement_window_not_bracketed";
  if (device == nullptr) return {kNotBracketed, " has no samples", {}};
  if (device->uuids.size() != 1) {
    return {"gpu_uuid_changed", fmt::format(" has {} uuids", device->uuids.size()), {}};
  }
  const auto gap_s = max_gap_s(samples, *device, span_of(window));
  if (!gap_s) {
    return {kNotBracketed,
            fmt::format(" has samples from {:.3f} to {:.3f}, the window is {:.3f} to {:.3f}",
                        device->first_unix_s, device->last_unix_s, window.start_unix_s,
                        *window.end_unix_s),
            {}};
  }
  if (*gap_s <= kPackageMaxSampleGapS) return {{}, {}, gap_s};
  return {"sample_gap_exceeded",
          fmt::format(" has no samples for {:.3f} s, at most {} s", *gap_s, kPackageMaxSampleGapS),
          gap_s};
}

// Checks how the samples cover a window that is otherwise sound.
void validate_coverage(WindowValidation& validation, const PackageWindow& window,
                       const std::set<DeviceKey>& expected, const PackageSamples& samples,
                       const SeenDevices& seen) {
  for (const DeviceKey& key : expected) {
    const auto found = seen.find(key);
    const SeenDevice* const device = found == seen.end() ? nullptr : found->second;
    const Coverage coverage = coverage_of(samples, device, window);
    if (coverage.gap_s) {
      validation.gaps_s.emplace_back(fmt::format("{}/{}", key.hostname, device->uuids[0]),
                                     *coverage.gap_s);
    }
    if (coverage.code.empty()) continue;
    const std::string text = key.text() + coverage.what;
    const bool is_new = validation.firsts.emplace(coverage.code, text).second;
    if (is_new) validation.codes.push_back(coverage.code);
  }
}

// Checks a window without its samples.
WindowValidation validate_alone(const PackagePlace& place, const WindowScan& scan,
                                const WindowKey& key, const PackageDialect& dialect) {
  WindowValidation validation;
  validation.key = key;
  const auto found = scan.windows.find(key);
  if (found == scan.windows.end()) {
    validation.codes = {scan.duplicates.contains(key) ? "measurement_window_duplicate"
                                                      : "measurement_window_missing"};
    return validation;
  }
  validation.file = found->second.file;
  const std::string fault = found->second.is_completed()
                                ? result_fault(place, found->second, dialect)
                                : "measurement_window_incomplete";
  if (!fault.empty()) validation.codes = {fault};
  return validation;
}

}  // namespace

std::vector<WindowValidation> validate_windows(const PackagePlace& place,
                                               const PackageContent& content,
                                               const WindowScan& scan,
                                               const PackageSamples& samples,
                                               const PackageDialect& dialect) {
  const std::set<DeviceKey> expected = keys_of(content.devices);
  const SeenDevices seen = seen_devices(samples);
  std::map<WindowKey, WindowValidation> by_key;  // a window may be expected twice
  std::vector<WindowValidation> validations;
  for (const WindowKey& key : content.windows) {
    const auto [known, is_new] = by_key.try_emplace(key);
    WindowValidation& validation = known->second;
    if (is_new) {
      validation = validate_alone(place, scan, key, dialect);
      if (validation.codes.empty()) {
        validate_coverage(validation, scan.windows.at(key), expected, samples, seen);
      }
      if (dialect.omits_gaps_of_faulty_windows && !validation.codes.empty()) {
        validation.gaps_s.clear();
      }
    }
    validations.push_back(validation);
  }
  return validations;
}

PackageFaults window_faults(const std::vector<WindowValidation>& validations,
                            const WindowScan& scan, const std::optional<PackageWindow>& wanted) {
  PackageFaults faults;
  if (validations.empty()) faults.add("no expected measurement window");
  for (const WindowValidation& validation : validations) {
    const bool is_elsewhere = wanted && wanted->key != validation.key;
    for (const std::string& code : validation.codes) {
      const auto first = validation.firsts.find(code);
      const std::string where = first == validation.firsts.end() ? "" : ": " + first->second;
      faults.add(fmt::format("{} (window {}{})", code, validation.key.text(), where), is_elsewhere,
                 code);
    }
  }
  for (const ArtifactFault& fault : scan.faults) {
    faults.add(fmt::format("{} ({})", fault.code, fault.path), concerns_others(fault, wanted),
               fault.code);
  }
  return faults;
}

std::vector<ArtifactFault> unexpected_windows(const WindowScan& scan,
                                              const std::vector<WindowKey>& expected) {
  std::vector<ArtifactFault> faults;
  for (const auto& [key, window] : scan.windows) {
    if (std::ranges::find(expected, key) == expected.end()) {
      faults.push_back({window.file, "measurement_window_unexpected"});
    }
  }
  return faults;
}

bool concerns_others(const ArtifactFault& fault, const std::optional<PackageWindow>& wanted) {
  return wanted && fault.path != wanted->file && fault.path != "windows";
}

}  // namespace aggregate_power
