// Measures each node's recording, and gives its GPUs their UUIDs.
#include "runs/deployment/native_nodes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/files/sha256.h"
#include "base/files/whole_file.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "core/energy/plausibility.h"
#include "recorders/recording.h"
#include "core/record/salvage_json.h"
#include "runs/evaluate/evaluate.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostNodesAtOnce = 8;  // more would wait for memory
constexpr const char* kRecordingName = "gpu_metrics.csv";

// The name of a GPU as the node's identity file has it: a recording may put the host before it.
std::string_view own_name(std::string_view device, const Measurement& measured) {
  const bool names_hosts = measured.telemetry && measured.telemetry->series.names_hosts;
  return names_hosts ? device.substr(device.rfind('/') + 1) : device;
}

// Nullopt: the identity file does not have the GPU.
std::optional<std::string> uuid_of(const NativeNode& node, const std::string& device,
                                   const Measurement& measured) {
  const auto gpu = node.identity.find(std::string(own_name(device, measured)));
  return gpu == node.identity.end() ? std::nullopt : std::optional(gpu->second);
}

// Why the recording cannot be used at all. Empty: it can.
Reasons unusable_recording(const Reasons& found, NativeNode& node) {
  for (const Reasons::Entry& entry : found.entries()) {
    if (entry.reason == Reason::telemetry_file_unreadable) {
      return fail_native_node(node, "OSError", entry.detail);
    }
    const bool lacks_columns = entry.reason == Reason::timestamp_column_missing ||
                               entry.reason == Reason::power_column_missing ||
                               entry.reason == Reason::gpu_identity_column_missing ||
                               entry.reason == Reason::telemetry_file_empty;
    if (lacks_columns) {
      return fail_native_node(node, "ValueError", "native_telemetry_columns_missing");
    }
  }
  return {};
}

void add_unknown_gpus(const Measurement& measured, bool has_nameless_rows, NativeReading& reading) {
  const std::string folder = printable(reading.node.folder);
  const auto add = [&](const std::string& what) {
    reading.recording_faults.add(Reason::native_unknown_device_index,
                                 fmt::format("{}: {}", folder, what));
  };
  for (const std::string& device : measured.devices) {
    if (!uuid_of(reading.node, device, measured)) add("GPU " + printable(device));
  }
  if (has_nameless_rows) add("a row names no GPU");
}

// What a node's own integration says beyond the reasons that only all nodes together can have.
void add_power_faults(const Reasons& found, NativeReading& reading) {
  for (const Reasons::Entry& entry : found.entries()) {
    const bool is_of_all = entry.reason == Reason::no_usable_power_samples;
    const bool is_known = entry.reason == Reason::gpu_identity_missing;  // as an unknown GPU
    if (is_of_all || is_known) continue;
    const std::string folder = printable(reading.node.folder);
    reading.power_faults.add(
        entry.reason, entry.detail.empty() ? folder : fmt::format("{}: {}", folder, entry.detail));
  }
}

void add_measured_gpus(const Measurement& measured, NativeReading& reading) {
  const Integration& integration = measured.integration;
  for (std::size_t i = 0; i < integration.gpu_ids.size(); ++i) {
    if (auto uuid = uuid_of(reading.node, integration.gpu_ids[i], measured)) {
      reading.gpus.push_back({std::move(*uuid), integration.gpus[i], integration.issues[i]});
    }
  }
  for (const auto& [device, rows] : integration.boundary_degenerate_rows) {
    if (auto uuid = uuid_of(reading.node, device, measured)) {
      reading.boundary_degenerate_rows.emplace_back(std::move(*uuid), rows);
    }
  }
}

void add_native_limits(const Measurement& measured, NativeReading& reading) {
  for (GpuLimit limit : measured.limits) {
    auto uuid = uuid_of(reading.node, limit.gpu, measured);
    if (!uuid) continue;
    limit.gpu = std::move(*uuid);
    reading.limits.push_back(std::move(limit));
  }
}

void add_warnings(const Measurement& measured, NativeReading& reading) {
  const auto add = [&](const std::string& warning) {
    reading.warnings.push_back(one_line(reading.host.csv + ": " + warning));
  };
  if (!measured.telemetry) return;
  for (const std::string& warning : measured.telemetry->series.warnings) add(warning);
  for (const Reasons::Entry& doubt : measured.series_doubts.entries()) {
    add(fmt::format("{}: {}", code(doubt.reason), doubt.detail));
  }
  const std::optional<double> mean_w = measured.integration.avg_power_w;
  if (!mean_w || measured.integration.reasons.contains(Reason::implausible_power)) return;
  const double usual_w = plausible_watts(measured.telemetry->series).usual_w;
  if (const auto doubt = doubt_about(*mean_w, usual_w)) add(*doubt);
}

// The node's identity file may name them; it was read before.
std::vector<std::string> models_of(const NativePlace& place, const NativeNode& node) {
  try {
    return models_in(read_whole(place.tree->open(node.identity_file), kPackageFile));
  } catch (const FileError&) {
    return {};
  }
}

void add_sensors(const NativePlace& place, const Recording& recording, Window window,
                 Measurement& measured, NativeReading& reading) {
  std::map<std::string, std::string> uuids;
  for (const GatheredReadings& gpu : measured.gathered) {
    if (auto uuid = uuid_of(reading.node, gpu.gpu, measured)) uuids[gpu.gpu] = std::move(*uuid);
  }
  reading.sensors = sensor_readings(recording, window, std::move(measured.gathered),
                                    measured.integration, measured.telemetry->series);
  if (reading.sensors.models.empty()) {
    reading.sensors.models = models_of(place, reading.node);
    if (!reading.sensors.models.empty()) reading.sensors.models_from = "identity_file";
  }
  rename_gpus(uuids, reading.sensors);
}

// Whether its energy is published, or may be salvaged.
bool is_measured(const NativeReading& reading, const NativeReadingOptions& options) {
  Reasons reasons = reading.power_faults;
  reasons.add(reading.recording_faults);
  Reasons accepted;
  reasons.accept(options.accepted, accepted);
  return reasons.empty() || (options.salvage && results::are_of_samples(reasons));
}

void measure_node(const NativePlace& place, const Load& load, NativeReadingOptions options,
                  NativeReading& reading) {
  NativeNode& node = reading.node;
  auto file = std::make_unique<OpenedFile>(place.tree->open(reading.host.csv));
  node.facts.telemetry_sha256 = sha256_of(*file->source());
  const Zone utc = Zone::parse("UTC");  // as the collector stamps
  GpuSelection selected;
  for (const NativeGpu& gpu : node.gpus) selected.names.push_back(gpu.index);
  const auto nothing_beside = [](const std::string&) -> std::unique_ptr<ByteSource> {
    return nullptr;
  };
  Recording recording(reading.host.csv, std::move(file), nothing_beside, utc, {},
                      std::move(selected));
  recording.use_zone(utc, "native");
  bool has_nameless_rows = false;
  MeasurementRequest wanted;
  wanted.keys = options.keys;
  wanted.uncertainty.is_wanted = options.with_sensors;
  wanted.salvage = options.salvage;
  wanted.explains = false;
  wanted.also = [&](std::span<const Reading> rows) {
    has_nameless_rows |= std::ranges::any_of(rows, [](const Reading& row) {
      return row.device == kNoDevice && row.kind != Reading::Kind::bad_timestamp;
    });
  };
  wanted.work = &reading.work;
  Measurement measured = measure(wanted, recording, load);
  for (runs::GpuWork& gpu : reading.work.counted) gpu.gpu = reading.node.folder + "/" + gpu.gpu;
  compare_with_counters(wanted, recording, load.window, measured);
  reading.host.telemetry = measured.telemetry;
  reading.recording_faults = unusable_recording(measured.integration.reasons, node);
  if (node.error) return;
  add_unknown_gpus(measured, has_nameless_rows, reading);
  add_power_faults(measured.integration.reasons, reading);
  add_measured_gpus(measured, reading);
  add_warnings(measured, reading);
  add_native_limits(measured, reading);
  reading.fleet = std::move(measured.fleet);
  if (options.with_sensors && is_measured(reading, options)) {
    add_sensors(place, recording, load.window, measured, reading);
  }
}

NativeReading read_node(const NativePlace& place, const std::string& folder,
                        const std::optional<Load>& load, NativeReadingOptions options) {
  NativeReading reading;
  reading.node = read_native_node(place, folder, load ? std::optional(load->window) : std::nullopt);
  reading.host.host = folder;
  reading.host.csv = native_file(place, reading.node, kRecordingName);
  reading.host.identity_file = reading.node.identity_file;
  if (!load || reading.node.error) return reading;
  try {
    measure_node(place, *load, options, reading);
  } catch (const FileError& error) {
    const bool is_missing = error.code() == std::errc::no_such_file_or_directory;
    reading.recording_faults =
        fail_native_node(reading.node, is_missing ? "FileNotFoundError" : "OSError", error.what());
  }
  return reading;
}

}  // namespace

std::vector<NativeReading> read_native_nodes(const NativePlace& place,
                                             const std::optional<Load>& load,
                                             NativeReadingOptions options) {
  const std::vector<std::string> folders = native_nodes(place);
  std::vector<NativeReading> readings(folders.size());
  in_parallel(folders.size(), kMostNodesAtOnce,
              [&](std::size_t i) { readings[i] = read_node(place, folders[i], load, options); });
  return readings;
}

}  // namespace aggregate_power
