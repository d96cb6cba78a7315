// Checks each expected window of a package.
#include "packages/srt_slurm/window_checks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

CheckedWindow::Device device_around(const DeviceKey& key, const PackageSamples& samples,
                                    const SeenDevices& seen, const PackageWindow& window) {
  constexpr const char* kNotBracketed = "measurement_window_not_bracketed";
  CheckedWindow::Device device;
  device.key = key;
  const auto refuse = [&](const char* code, std::string what) {
    device.code = code;
    device.what = std::move(what);
    return device;
  };
  const auto found = seen.find(key);
  if (found == seen.end()) return refuse(kNotBracketed, " has no samples");
  const SeenDevice& one = *found->second;
  if (one.uuids.size() != 1) {
    return refuse("gpu_uuid_changed", fmt::format(" has {} uuids", one.uuids.size()));
  }
  device.name = fmt::format("{}/{}", key.hostname, one.uuids[0]);
  device.gaps = gaps_of(samples, one, span_of(window));
  if (device.gaps != nullptr) return device;
  return refuse(
      kNotBracketed,
      fmt::format(" has samples from {:.3f} to {:.3f}, the window is {:.3f} to {:.3f}",
                  one.first_unix_s, one.last_unix_s, window.start_unix_s, *window.end_unix_s));
}

std::string long_gap_text(const SampleGaps& gaps, const GapRule& rule) {
  const std::string text = fmt::format(" has no samples for {:.3f} s", gaps.longest_s);
  return rule.is_flat ? fmt::format("{}, at most {} s", text, kPackageMaxSampleGapS)
                      : fmt::format("{}, more than gap rule {} allows", text, rule.name);
}

void judge_device(const CheckedWindow::Device& device, double window_s,
                  const GapJudgement& judgement, WindowValidation& validation) {
  const auto refuse = [&](const std::string& code, const std::string& what) {
    if (validation.firsts.emplace(code, device.key.text() + what).second) {
      validation.codes.push_back(code);
    }
  };
  if (!device.code.empty()) refuse(device.code, device.what);
  if (device.gaps == nullptr) return;
  // GPUs with one UUID share a name: the last of them counts.
  const auto same =
      std::ranges::find(validation.gaps_s, device.name, &std::pair<std::string, double>::first);
  if (same == validation.gaps_s.end()) {
    validation.gaps_s.emplace_back(device.name, device.gaps->longest_s);
  } else {
    same->second = device.gaps->longest_s;
  }
  const GapVerdict verdict = judgement.rule.judge(*device.gaps, window_s, judgement.pace);
  if (verdict.has_long_gap) {
    refuse("sample_gap_exceeded", long_gap_text(*device.gaps, judgement.rule));
  }
  if (verdict.has_lost_samples) {
    refuse("sample_loss_exceeded",
           fmt::format(" lost more samples than gap rule {} allows", judgement.rule.name));
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

std::vector<CheckedWindow> check_windows(const PackagePlace& place, const PackageContent& content,
                                         const WindowScan& scan, const PackageSamples& samples,
                                         const PackageDialect& dialect) {
  const std::set<DeviceKey> expected = keys_of(content.devices);
  const SeenDevices seen = seen_devices(samples);
  std::set<WindowKey> met;  // one that is expected twice is a fault of the manifest
  std::vector<CheckedWindow> windows;
  for (const WindowKey& key : content.windows) {
    if (!met.insert(key).second) continue;
    CheckedWindow& checked = windows.emplace_back();
    checked.alone = validate_alone(place, scan, key, dialect);
    if (!checked.alone.codes.empty()) continue;
    const PackageWindow& window = scan.windows.at(key);
    checked.window_s = *window.end_unix_s - window.start_unix_s;
    for (const DeviceKey& device : expected) {
      checked.devices.push_back(device_around(device, samples, seen, window));
    }
  }
  return windows;
}

std::vector<WindowValidation> judged(const std::vector<CheckedWindow>& windows,
                                     const GapJudgement& judgement) {
  std::vector<WindowValidation> validations;
  for (const CheckedWindow& window : windows) {
    WindowValidation& validation = validations.emplace_back(window.alone);
    for (const CheckedWindow::Device& device : window.devices) {
      judge_device(device, window.window_s, judgement, validation);
    }
    if (judgement.omits_gaps_of_faulty_windows && !validation.codes.empty()) {
      validation.gaps_s.clear();
    }
  }
  return validations;
}

PackageFaults window_faults(const std::vector<WindowValidation>& validations,
                            const std::optional<PackageWindow>& wanted) {
  PackageFaults faults;
  for (const WindowValidation& validation : validations) {
    const bool is_elsewhere = wanted && wanted->key != validation.key;
    for (const std::string& code : validation.codes) {
      const auto first = validation.firsts.find(code);
      const std::string where = first == validation.firsts.end() ? "" : ": " + first->second;
      faults.add(fmt::format("{} (window {}{})", code, validation.key.text(), where), is_elsewhere,
                 code);
      faults.list.back().is_of_window = true;
    }
  }
  return faults;
}

PackageFaults artifact_faults(const WindowScan& scan, const std::optional<PackageWindow>& wanted) {
  PackageFaults faults;
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
