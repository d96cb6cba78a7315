// Reads and checks the manifest of a `dcgm-power` package.
#include "packages/srt_slurm/srt_slurm.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "packages/srt_slurm/manifest.h"

namespace aggregate_power {
namespace {

// A member that identifies every package of this kind.
struct Identity {
  std::string_view key;
  JsonValue value;
  bool is_free_now = false;  // since October any text that is not empty: other exporters write it
};

const std::vector<Identity>& identity() {
  static const std::vector<Identity> fields = {
      {"schema_version", JsonValue::integer(1)},
      {"producer", JsonValue::string("srt-slurm.dcgm-power")},
      {"source_metric", JsonValue::string("DCGM_FI_DEV_POWER_USAGE"), true},
      {"unit", JsonValue::string("W")},
      {"power_scope", JsonValue::string("gpu_device_board_as_reported_by_dcgm"), true},
      {"timestamp_source", JsonValue::string("head_node_unix_clock")},
  };
  return fields;
}

// Reasons of the recorder that no complete recording has; the last three only if it was required.
constexpr std::string_view kFatal[] = {
    "benchmark_child_reap_timeout", "collector_exception",      "collector_interrupted",
    "collector_join_timeout",       "exporter_exited",          "endpoint_resolution_failed",
    "exporter_launch_failed",       "exporter_startup_timeout",
};
constexpr std::size_t kFatalInAnyCase = 5;

std::string named(std::string_view what, const JsonValue& value) {
  return fmt::format("{} is {}", what, value.shown());
}

const std::vector<JsonValue>& list(const JsonValue& object, std::string_view key) {
  static const std::vector<JsonValue> none;
  const JsonValue& value = object.at(key);
  if (!value.is_truthy()) return none;
  if (!value.is_array()) throw Error(fmt::format("{}, expected a list", named(key, value)));
  return value.items;
}

std::string text_of(const JsonValue& object, std::string_view key) {
  const JsonValue& value = object.at(key);
  if (!value.is_string() || value.text.empty()) {
    throw Error(fmt::format("{}, expected a text that is not empty", named(key, value)));
  }
  return value.text;
}

std::int64_t whole(const JsonValue& object, std::string_view key, std::int64_t least) {
  const auto value = object.at(key).as_integer();
  if (!value || *value < least) {
    throw Error(
        fmt::format("{}, expected a whole number from {} on", named(key, object.at(key)), least));
  }
  return *value;
}

void require_object(const JsonValue& value, std::string_view what) {
  if (!value.is_object()) throw Error(fmt::format("{}, expected an object", named(what, value)));
}

Assignment assignment_of(const JsonValue& entry) {
  require_object(entry, "an assignment");
  Assignment assignment;
  assignment.role = text_of(entry, "worker_role");
  if (assignment.role != "prefill" && assignment.role != "decode" && assignment.role != "agg") {
    throw Error(named("worker_role", entry.at("worker_role")));
  }
  assignment.worker_index = whole(entry, "worker_index", 0);
  whole(entry, "worker_process", 0);
  if (!entry.at("het_group").is_null()) assignment.het_group = whole(entry, "het_group", 0);
  return assignment;
}

void check_reason_codes(const JsonValue& manifest, std::vector<std::string>& faults) {
  const JsonValue& codes = manifest.at("reason_codes");
  if (!codes.is_array() || !std::ranges::all_of(codes.items, &JsonValue::is_string)) {
    faults.emplace_back("reason_codes is not a list of strings");
    return;
  }
  std::set<std::string> fatal;
  const std::size_t count = manifest.at("required").is_true() ? std::size(kFatal) : kFatalInAnyCase;
  for (const std::string_view code : std::span(kFatal).first(count)) {
    if (std::ranges::find(codes.items, code, &JsonValue::text) != codes.items.end()) {
      fatal.emplace(code);
    }
  }
  if (!fatal.empty()) {
    faults.push_back(fmt::format("complete, but with reason_codes {}", fmt::join(fatal, ", ")));
  }
}

}  // namespace

std::string DeviceKey::text() const { return fmt::format("{}/{}", hostname, gpu_index); }
std::string WindowKey::text() const { return fmt::format("{}/{}", benchmark_type, concurrency); }

std::vector<ExpectedDevice> expected_devices(const JsonValue& manifest) {
  std::vector<ExpectedDevice> devices;
  for (const JsonValue& entry : list(manifest, "expected_devices")) {
    require_object(entry, "an expected device");
    ExpectedDevice device;
    for (const JsonValue& assignment : list(entry, "assignments")) {
      device.assignments.push_back(assignment_of(assignment));
    }
    if (device.assignments.empty()) throw Error("an expected device has no assignments");
    device.key = {text_of(entry, "hostname"), whole(entry, "gpu_index", 0)};
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<WindowKey> expected_windows(const JsonValue& manifest) {
  std::vector<WindowKey> windows;
  for (const JsonValue& entry : list(manifest, "expected_windows")) {
    require_object(entry, "an expected window");
    windows.push_back({text_of(entry, "benchmark_type"), whole(entry, "concurrency", 1)});
  }
  return windows;
}

std::vector<std::string> manifest_faults(const JsonValue& manifest, Contract contract) {
  std::vector<std::string> faults;
  for (const auto& [key, value, is_free_now] : identity()) {
    const JsonValue& found = manifest.at(key);
    if (is_free_now && contract == Contract::october) {
      if (!found.is_string() || found.text.empty()) {
        faults.push_back(fmt::format("{} is not a non-empty string", key));
      }
    } else if (!equal_in_python(found, value)) {
      faults.push_back(fmt::format("{}, expected {}", named(key, found), value.shown()));
    }
  }
  const JsonValue& status = manifest.at("status");
  if (!status.is_string() || status.text != "complete") {
    faults.push_back(named("status", status) + ", expected 'complete'");
  }
  for (const char* const key : {"started_at_unix", "stopped_at_unix"}) {
    if (!manifest.at(key).is_finite_number()) {
      faults.push_back(fmt::format("{} is not a finite number", key));
    }
  }
  for (const char* const key : {"sample_interval_seconds", "request_timeout_seconds"}) {
    if (!manifest.at(key).is_finite_number() || manifest.at(key).as_double() <= 0) {
      faults.push_back(fmt::format("{} is not finite and above 0", key));
    }
  }
  for (const char* const key : {"scrape_count", "sample_row_count"}) {
    const JsonValue& count = manifest.at(key);
    if (count.kind != JsonKind::integer || count.as_double() < 0) {
      faults.push_back(fmt::format("{} is not a whole number from 0 on", key));
    }
  }
  if (manifest.at("required").kind != JsonKind::boolean) {
    faults.push_back(named("required", manifest.at("required")) + ", expected true or false");
  }
  check_reason_codes(manifest, faults);
  const JsonValue& exporter = manifest.at("dcgm_exporter");
  if (!exporter.is_object()) {
    faults.emplace_back("dcgm_exporter is not an object");
  } else if (!exporter.at("container_image_resolved").is_truthy()) {
    faults.emplace_back("dcgm_exporter.container_image_resolved is empty");
  }
  return faults;
}

std::optional<std::string> clock_fault(const JsonValue& manifest) {
  const JsonValue* const hosts = manifest.find("clock_sync_failures");
  if (hosts == nullptr) return std::nullopt;
  if (!hosts->is_array() || !std::ranges::all_of(hosts->items, &JsonValue::is_string)) {
    return "clock_sync_failures is not a list of strings";
  }
  if (hosts->items.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const JsonValue& host : hosts->items) names.push_back(printable(host.text));
  std::set<std::string> nodes;
  for (const JsonValue& device : manifest.at("expected_devices").items) {
    nodes.insert(device.at("hostname").text);
  }
  return fmt::format("clock_sync_unverified: {} did not prove NTP synchronisation{}",
                     fmt::join(names, ", "),
                     nodes.size() == 1 ? " (all GPUs are on one node)" : "");
}

std::vector<std::string> lifecycle_faults(const JsonValue& manifest, double first_unix_s,
                                          double last_unix_s) {
  const JsonValue& started = manifest.at("started_at_unix");
  const JsonValue& stopped = manifest.at("stopped_at_unix");
  std::vector<std::string> faults;
  if (!started.is_finite_number() || !stopped.is_finite_number()) return faults;  // told elsewhere
  if (stopped.as_double() < started.as_double()) {
    faults.emplace_back("stopped_at_unix is before started_at_unix");
  }
  if (first_unix_s < started.as_double()) {
    faults.push_back(fmt::format("the first sample, at {:.3f}, is before started_at_unix, {:.3f}",
                                 first_unix_s, started.as_double()));
  }
  if (last_unix_s > stopped.as_double()) {
    faults.push_back(fmt::format("the last sample, at {:.3f}, is after stopped_at_unix, {:.3f}",
                                 last_unix_s, stopped.as_double()));
  }
  return faults;
}

std::set<DeviceKey> keys_of(const std::vector<ExpectedDevice>& devices) {
  std::set<DeviceKey> keys;
  for (const ExpectedDevice& device : devices) keys.insert(device.key);
  return keys;
}

// ---- The table of package dialects.

namespace {

// The generation whose rules the original script copied.
constexpr PackageDialect kPinned = {.name = "pinned",
                                    .newest_samples_version = 1,
                                    .refuses_same_stamp = true,
                                    .is_lax_with_numbers = true,
                                    .repeats_first_duplicate = true,
                                    .omits_gaps_of_faulty_windows = true};

constexpr PackageDialect kAugust[] = {kPinned,
                                      {.name = "current",
                                       .newest_samples_version = 2,
                                       .needs_json_suffix = true,
                                       .needs_positive_span = true}};

// The original's reader refuses equal stamps of a device whoever wrote them.
constexpr PackageDialect kOctober[] = {kPinned,
                                       {.name = "current",
                                        .newest_samples_version = 3,
                                        .refuses_same_stamp = true,
                                        .needs_json_suffix = true,
                                        .needs_positive_span = true}};

}  // namespace

std::span<const PackageDialect> package_dialects(Contract contract) {
  return contract == Contract::august ? std::span<const PackageDialect>(kAugust) : kOctober;
}

}  // namespace aggregate_power

namespace aggregate_power::packages {

// ---- Opens the manifest, and says why it cannot be used.

namespace {

constexpr std::uint64_t kMostManifestBytes = 32 << 20;

}  // namespace

std::optional<JsonValue> read_manifest(const PackagePlace& place, Findings& findings) {
  if (!place.tree->has_folder(place.power_dir)) {
    findings.add(Reason::power_artifacts_missing,
                 fmt::format("{}: no such folder", place.power_dir));
    return std::nullopt;
  }
  const std::string path = path_below(place.power_dir, "manifest.json");
  if (!place.tree->find_file(path)) {
    findings.add(Reason::manifest_missing, fmt::format("{}: no such file", path));
    return std::nullopt;
  }
  try {
    const OpenedFile file = place.tree->open(path);
    if (file.size() > kMostManifestBytes) throw FileError(path, "is too large for a manifest");
    JsonValue manifest = parse_json(read_whole(file, kPackageFile));
    if (manifest.is_object()) return manifest;
    findings.add(Reason::manifest_malformed, path + ": expected a JSON object");
  } catch (const FileError& error) {
    findings.add(Reason::manifest_malformed, error.what());
  } catch (const JsonError& error) {
    findings.add(Reason::manifest_malformed, fmt::format("{}:{}", path, error.what()));
  }
  return std::nullopt;
}

}  // namespace aggregate_power::packages
