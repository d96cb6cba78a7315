// Reads and checks the windows of a package.
#include "packages/srt_slurm/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

// False if the path leads up, or out of the root.
bool is_safe_below(const PackagePlace& place, const std::string& root, std::string_view relative) {
  if (relative.empty() || relative.starts_with('/') || relative.starts_with('~') ||
      relative.find('\0') != relative.npos) {
    return false;
  }
  const std::string path = normal_path(relative);
  if (path == "." || path == ".." || path.starts_with("../") || path.ends_with("/..") ||
      path.find("/../") != path.npos) {
    return false;
  }
  std::string above = place.tree->resolved(root);
  const std::string below = place.tree->resolved(path_below(root, path));
  if (below.empty()) return false;
  if (!above.empty() && !above.ends_with('/')) above += '/';
  return (below + '/').starts_with(above);
}

bool has_ending(const PackageWindow& window) { return window.end_unix_s && window.duration_s; }

// The end that a window states must agree with its status.
bool is_consistent(const PackageWindow& window, const JsonValue& json) {
  const JsonValue& reason = json.at("reason");
  const bool has_reason = reason.is_string() && !reason.text.empty();
  const bool has_neither =
      json.at("benchmark_end_time_unix").is_null() && json.at("duration").is_null();
  if (window.status == "running") return has_neither && reason.is_null();
  if (window.status == "interrupted") return has_neither && has_reason;
  if (!has_ending(window) || *window.duration_s <= 0) return false;
  return window.is_completed() ? reason.is_null() : has_reason;
}

bool is_status(const JsonValue& status) {
  constexpr std::string_view kAllowed[] = {"running", "completed", "failed", "interrupted"};
  return status.is_string() && std::ranges::find(kAllowed, status.text) != std::end(kAllowed);
}

std::optional<double> finite(const JsonValue& value) {
  return value.is_finite_number() ? std::optional(value.as_double()) : std::nullopt;
}

std::optional<std::int64_t> concurrency_of(const JsonValue& value, const PackageDialect& dialect) {
  const bool counts = value.kind == JsonKind::boolean && dialect.is_lax_with_numbers;
  return counts ? std::optional<std::int64_t>(value.is_true() ? 1 : 0) : value.as_integer();
}

bool is_known_version(const JsonValue& version, const PackageDialect& dialect) {
  return dialect.is_lax_with_numbers ? equal_in_python(version, JsonValue::integer(1))
                                     : version.as_integer() == 1;
}

// Returns nullopt if it cannot be read.
std::optional<JsonValue> read_window(const PackagePlace& place, const std::string& file) {
  try {
    const OpenedFile opened = place.tree->open(path_below(place.power_dir, file));
    if (opened.size() > kMostWindowBytes) return std::nullopt;
    return parse_json(read_whole(opened, kPackageFile));
  } catch (const FileError&) {
    return std::nullopt;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

// A file that is not a window, and why: one of the producer's reasons.
struct NoWindow {
  const char* code;
};

std::variant<PackageWindow, NoWindow> parse_window(const PackagePlace& place,
                                                   const std::string& name,
                                                   const PackageDialect& dialect) {
  constexpr NoWindow kMalformed = {"measurement_window_malformed"};
  PackageWindow window;
  window.file = "windows/" + name;
  const auto json = read_window(place, window.file);
  if (!json || !json->is_object()) return kMalformed;
  const auto concurrency = concurrency_of(json->at("concurrency"), dialect);
  const auto start = finite(json->at("benchmark_start_time_unix"));
  if (!is_known_version(json->at("schema_version"), dialect) ||
      json->at("clock_source").text != "head_node_unix_clock" || !is_status(json->at("status")) ||
      !json->at("benchmark_type").is_string() || !concurrency || !start) {
    return kMalformed;
  }
  window.key = {json->at("benchmark_type").text, *concurrency};
  window.status = json->at("status").text;
  window.start_unix_s = *start;
  window.end_unix_s = finite(json->at("benchmark_end_time_unix"));
  window.duration_s = finite(json->at("duration"));
  const JsonValue& result_path = json->at("result_path");
  if (!result_path.is_string() || !is_safe_below(place, place.logs_root, result_path.text) ||
      path_stem(normal_path(result_path.text)) != path_stem(name)) {
    return NoWindow{"measurement_window_result_path_invalid"};
  }
  window.result_path = result_path.text;
  if (!is_consistent(window, *json)) return kMalformed;
  return window;
}

// Adds a window; two windows of one load are duplicates, and neither counts.
void add_window(WindowScan& scan, const PackageWindow& window, const PackageDialect& dialect) {
  const auto [known, is_new] = scan.windows.emplace(window.key, window);
  if (is_new) return;
  const auto duplicate = [&](const std::string& path) {
    scan.faults.push_back({path, "measurement_window_duplicate"});
  };
  const bool is_first_time = scan.duplicates.insert(window.key).second;
  if (is_first_time || dialect.repeats_first_duplicate) duplicate(known->second.file);
  duplicate(window.file);
}

}  // namespace

Window span_of(const PackageWindow& window) { return {window.start_unix_s, *window.end_unix_s}; }

WindowScan scan_windows(const PackagePlace& place, const PackageDialect& dialect) {
  WindowScan scan;
  const std::string folder = path_below(place.power_dir, "windows");
  if (!place.tree->has_folder(folder)) return scan;
  const auto invalid = [&](const std::string& path) {
    scan.faults.push_back({path, "measurement_window_artifact_path_invalid"});
  };
  if (!is_safe_below(place, place.power_dir, "windows")) {
    invalid("windows");
    return scan;
  }
  for (const TreeEntry& entry : sorted_entries(*place.tree, folder)) {
    const std::string file = "windows/" + entry.name;
    const bool is_file =
        entry.kind == TreeEntry::Kind::file && !place.tree->is_link(path_below(folder, entry.name));
    const bool has_suffix = entry.name.ends_with(".json") && entry.name != ".json";
    if (!is_file || (dialect.needs_json_suffix && !has_suffix)) {
      invalid(file);
      continue;
    }
    const auto parsed = parse_window(place, entry.name, dialect);
    if (const auto* fault = std::get_if<NoWindow>(&parsed)) {
      scan.faults.push_back({file, fault->code});
    } else {
      add_window(scan, std::get<PackageWindow>(parsed), dialect);
    }
  }
  for (const WindowKey& key : scan.duplicates) scan.windows.erase(key);
  return scan;
}

std::vector<PackageWindow> windows_of(const WindowScan& scan, const JsonValue& concurrency) {
  std::vector<PackageWindow> windows;
  for (const auto& [key, window] : scan.windows) {
    if (window.is_completed() &&
        equal_in_python(concurrency, JsonValue::integer(key.concurrency))) {
      windows.push_back(window);
    }
  }
  return windows;
}

std::string result_fault(const PackagePlace& place, const PackageWindow& window,
                         const PackageDialect& dialect) {
  const std::string path = path_below(place.logs_root, window.result_path);
  const std::array<std::pair<std::string_view, double>, 3> wanted = {{
      {"benchmark_start_time_unix", window.start_unix_s},
      {"benchmark_end_time_unix", *window.end_unix_s},
      {"duration", *window.duration_s},
  }};
  std::array<JsonValue, 3> found;
  try {
    if (!place.tree->find_file(path)) return "measurement_window_result_missing";
    const auto source = place.tree->open(path).source();
    const JsonKind kind = scan_json(*source, [&](const JsonMember& member) {
                            for (std::size_t i = 0; i < wanted.size(); ++i) {
                              if (!member.key_kept || member.key != wanted[i].first) continue;
                              found[i] = {member.kind, std::string(member.scalar)};
                            }
                          }).kind;
    if (kind != JsonKind::object) return "measurement_window_result_mismatch";
  } catch (const FileError&) {
    return "measurement_window_result_missing";
  } catch (const JsonError&) {
    return "measurement_window_result_missing";
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool is_allowed = found[i].is_finite_number() ||
                            (dialect.is_lax_with_numbers && found[i].kind == JsonKind::boolean);
    if (!is_allowed || !equal_in_python(found[i], JsonValue::real(wanted[i].second))) {
      return "measurement_window_result_mismatch";
    }
  }
  const double wall_s = *window.end_unix_s - window.start_unix_s;
  if (dialect.needs_positive_span && wall_s <= 0) {
    return "measurement_window_result_mismatch";
  }
  const double tolerance_s = std::max(0.5, 0.01 * *window.duration_s);
  return std::abs(wall_s - *window.duration_s) > tolerance_s ? "measurement_window_clock_mismatch"
                                                             : "";
}

// ---- Checks each expected window of a package.

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
