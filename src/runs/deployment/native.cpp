// Checks the nodes one by one and together, and adds up their energy.
#include "runs/deployment/native.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/hash.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "core/energy/fleet_power.h"
#include "core/energy/metrics.h"
#include "core/energy/plausibility.h"
#include "core/load/benchmark.h"
#include "core/record/limits_json.h"
#include "core/record/salvage_json.h"
#include "generators/generator_table.h"
#include "recorders/recording.h"
#include "runs/evaluate/evaluate.h"
#include "runs/measure/deliver.h"
#include "runs/measure/extras.h"

namespace aggregate_power {
namespace {

using NativeReadings = std::vector<NativeReading>;

LoadReading read_native_load(const NativeQuestion& question, NativeFacts& facts) {
  if (question.load) return *question.load;
  LoadReading reading;
  const auto unreadable = [&](const std::string& what) {
    reading.reasons.add(Reason::invalid_benchmark_result, what);
    return reading;
  };
  if (!question.result) return unreadable(question.result_fault);
  try {
    facts.benchmark_result_sha256 = sha256_of(*question.result->source());
    reading = read_load({.name = question.result_name, .open = [&] {
                           return decompressed(question.result->source(), question.result_name);
                         }});
    refuse_failed(question.run.contract, reading);
    return reading;
  } catch (const FileError& error) {
    return unreadable(error.what());
  }
}

// "aggregate", as the manifests name the role.
std::string native_role_name(Role role) {
  return role == Role::agg ? "aggregate" : std::string(role_name(role));
}

// Numbers asked for without a role are of the role that the nodes have.
RoleCounts with_role(RoleCounts gpus, const NativeReadings& readings) {
  if (gpus.any == 0) return gpus;
  const bool has_aggregates = std::ranges::any_of(readings, [](const NativeReading& reading) {
    return reading.node.is_identified && reading.node.role == Role::agg;
  });
  (has_aggregates ? gpus.aggregate : gpus.prefill) = gpus.any;
  gpus.any = 0;
  return gpus;
}

// ---- Checks

// The reasons of the nodes, node by node; each physical GPU belongs to one node.
Reasons check_each_node(const NativeReadings& readings) {
  Reasons reasons;
  std::set<std::string> met;
  for (const NativeReading& reading : readings) {
    reasons.add(reading.node.reasons);
    for (const NativeGpu& gpu : reading.node.gpus) {
      if (met.insert(gpu.uuid).second) continue;
      reasons.add(Reason::native_duplicate_physical_gpu,
                  fmt::format("{}: {}", printable(reading.node.folder), printable(gpu.uuid)));
    }
    reasons.add(reading.recording_faults);
  }
  return reasons;
}

struct MeasuredGpu {
  const NativeReading* reading;
  const NativeGpuReading* gpu;
};

// The GPUs of all nodes in the order in which they are summed, each once; one that was recorded
// twice, under two names, is a reason.
std::vector<MeasuredGpu> gpus_of_all(const NativeReadings& readings, Reasons& reasons) {
  std::vector<MeasuredGpu> gpus;
  for (const NativeReading& reading : readings) {
    for (const NativeGpuReading& gpu : reading.gpus) gpus.push_back({&reading, &gpu});
  }
  std::ranges::stable_sort(gpus, [](const MeasuredGpu& a, const MeasuredGpu& b) {
    return device_name_less(a.gpu->uuid, b.gpu->uuid);
  });
  std::vector<MeasuredGpu> distinct;
  for (const MeasuredGpu& each : gpus) {
    if (distinct.empty() || distinct.back().gpu->uuid != each.gpu->uuid) {
      distinct.push_back(each);
    } else {
      reasons.add(
          Reason::native_duplicate_physical_gpu,
          fmt::format("{}: {}", printable(each.reading->node.folder), printable(each.gpu->uuid)));
    }
  }
  return distinct;
}

// Whether a reason concerns rows, not GPUs: these come first.
bool is_of_rows(Reason reason) {
  return reason == Reason::invalid_timestamp_sample || reason == Reason::invalid_power_sample;
}

// The reasons that a recording of all nodes together would have, in its order.
Reasons check_power(const NativeReadings& readings, const std::vector<MeasuredGpu>& gpus,
                    std::int64_t expected) {
  Reasons reasons;
  const auto add_if = [&](bool of_rows) {
    for (const NativeReading& reading : readings) {
      for (const Reasons::Entry& entry : reading.power_faults.entries()) {
        if (is_of_rows(entry.reason) == of_rows) reasons.add(entry.reason, entry.detail);
      }
    }
  };
  add_if(true);
  if (gpus.empty()) {
    reasons.add(Reason::no_usable_power_samples);
    return reasons;
  }
  if (expected > 0 && static_cast<std::int64_t>(gpus.size()) != expected) {
    reasons.add(Reason::expected_gpu_count_mismatch,
                fmt::format("{} seen, {} expected", gpus.size(), expected));
  }
  for (const MeasuredGpu& each : gpus) {
    if (!each.gpu->issue) continue;
    const auto entries = each.reading->power_faults.entries();
    const auto entry = std::ranges::find(entries, *each.gpu->issue, &Reasons::Entry::reason);
    reasons.add(*each.gpu->issue, entry == entries.end() ? "" : entry->detail);
  }
  add_if(false);
  return reasons;
}

// Whether the load was on the GPUs of the nodes.
void judge_work_of_nodes(const NativeReadings& readings, Result& result) {
  if (!result.is_valid() || !result.load || !did_work(*result.load)) return;
  runs::GpusAtWork work{.are_of_one_node = false};
  for (const NativeReading& reading : readings) {
    append(work.counted, reading.work.counted);
  }
  runs::WorkDoubts doubts = runs::work_doubts(work, true);
  result.reasons.add(doubts.reasons);
  append(result.warnings, std::move(doubts.warnings));
}

// ---- Result

void add_native_gpus(const NativeReadings& readings, const std::vector<MeasuredGpu>& gpus,
                     Result& result) {
  for (const NativeReading& reading : readings) {
    if (!reading.node.has_gpus) continue;
    for (const NativeGpu& gpu : reading.node.gpus) {
      result.roles.emplace_back(gpu.uuid, native_role_name(reading.node.role));
    }
    append(result.limits, reading.limits);
    append(result.boundary_degenerate_rows, reading.boundary_degenerate_rows);
  }
  for (const auto& [reading, gpu] : gpus) {
    result.observed_gpu_ids.push_back(gpu->uuid);
    result.gpus.push_back({gpu->uuid, gpu->energy, gpu->issue});
  }
  result.observed_gpus = gpus.size();
}

void add_native_fleet(const NativeReadings& readings, Result& result) {
  std::vector<NodeFleet> fleets;
  for (const NativeReading& reading : readings) fleets.push_back({reading.fleet});
  result.fleet = fleet_of_all(fleets, result.load->window, result.is_valid());
}

void add_node_facts(NativeReadings& readings, Result& result) {
  NativeFacts& facts = *result.native;
  for (NativeReading& reading : readings) {
    NativeNode& node = reading.node;
    const bool is_new =
        node.is_identified &&
        std::ranges::find(facts.revisions, node.collector_revision) == facts.revisions.end();
    if (is_new) facts.revisions.push_back(node.collector_revision);
    append(result.warnings, std::move(reading.warnings));
    if (node.error) {
      facts.node_errors.push_back(std::move(*node.error));
    } else {
      facts.nodes.push_back(std::move(node.facts));
      if (result.load) result.hosts.push_back(std::move(reading.host));
    }
  }
  std::ranges::sort(facts.revisions);
}

}  // namespace

Result check_native(const NativeQuestion& question) {
  Result result;
  result.way = Way::native;
  result.accepts = question.run.accepted;
  result.contract = question.run.contract;
  result.keys = question.run.keys;
  result.native.emplace();
  result.telemetry_source = question.place.power_dir;
  result.benchmark_result = question.result_name;
  LoadReading load = read_native_load(question, *result.native);
  result.load = load.load;
  result.reasons = load.reasons;

  NativeReadings readings = read_native_nodes(question.place, result.load,
                                              {question.run.keys, question.run.may_need_interval(),
                                               question.run.salvage, question.run.accepted});
  const auto nodes = mapped<NativeNode>(readings, &NativeReading::node);
  const RoleCounts gpus = with_role(question.gpus, readings);
  result.expected_gpus = total_of(gpus);
  result.reasons.add(check_native_question(nodes, gpus));
  result.reasons.add(check_each_node(readings));
  const std::vector<MeasuredGpu> measured = gpus_of_all(readings, result.reasons);
  result.reasons.add(check_native_nodes(nodes, gpus));
  if (result.load) result.reasons.add(check_power(readings, measured, total_of(gpus)));
  judge_work_of_nodes(readings, result);
  accept_reasons(result);
  if (result.load && has_percentiles(question.run.keys)) add_native_fleet(readings, result);
  std::vector<NodeGpu> energies;
  for (const auto& [reading, gpu] : measured) {
    energies.push_back({reading->node.role, gpu->energy.energy_j});
  }
  // August had no such packages: their metrics have October's order under both contracts.
  if (result.is_valid()) add_node_metrics(energies, Contract::october, result);
  add_native_gpus(readings, measured, result);
  if (result.is_valid()) {
    append(result.warnings, results::limit_warnings(result.limits));
  }
  std::vector<SensorReadings> sensors;
  for (NativeReading& reading : readings) sensors.push_back(std::move(reading.sensors));
  add_extras_of_package({question.run, std::move(sensors), question.hardware}, result);
  add_node_facts(readings, result);
  return result;
}

// ---- Measures each node's recording, and gives its GPUs their UUIDs.

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

// ---- Sums curves, states and energies over nodes.

namespace {

// Returns nullopt unless every node has the quantity.
std::optional<StateSummary> state_of_all(std::span<const NodeFleet> nodes, std::size_t quantity) {
  StateSummary all;
  all.peak = -std::numeric_limits<double>::infinity();
  for (const NodeFleet& node : nodes) {
    const auto& state = node.fleet.states[quantity];
    if (!state) return std::nullopt;
    all.mean += state->mean * static_cast<double>(state->gpus);
    all.peak = std::max(all.peak, state->peak);
    all.gpus += state->gpus;
  }
  all.mean /= static_cast<double>(all.gpus);
  return all;
}

}  // namespace

FleetMeasurement fleet_of_all(std::span<const NodeFleet> nodes, Window window, bool with_curve) {
  FleetMeasurement whole;
  std::vector<FleetPower> curves;
  for (const NodeFleet& node : nodes) {
    whole.samples_in_window += node.fleet.samples_in_window;
    if (!with_curve || !node.fleet.power) continue;
    curves.push_back(*node.fleet.power);
  }
  if (!with_curve || curves.size() != nodes.size()) return whole;
  whole.power = sum_of(std::move(curves), window);
  for (std::size_t i = 0; i < whole.states.size(); ++i) whole.states[i] = state_of_all(nodes, i);
  return whole;
}

void add_node_metrics(std::span<const NodeGpu> gpus, Contract contract, Result& result) {
  MeasuredEnergy sum{.gpus = gpus.size(), .load = *result.load, .contract = contract};
  if (result.fleet) sum.fleet = *result.fleet;
  for (const NodeGpu& gpu : gpus) {
    sum.energy_j += gpu.energy_j;
    if (gpu.role == Role::agg) continue;
    RoleEnergy& role = gpu.role == Role::prefill ? sum.prefill : sum.decode;
    ++role.gpus;
    role.energy_j += gpu.energy_j;
  }
  result.metric_gpus = gpus.size();
  result.metrics = energy_metrics(sum);
  for (const std::string_view key : not_finite(result.metrics)) {
    result.reasons.add(Reason::non_finite_power_metric, std::string(key));
  }
  result.reasons.add(zero_metrics(result.metrics));
}

}  // namespace aggregate_power
