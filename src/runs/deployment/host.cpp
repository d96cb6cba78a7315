// Measures one host and identifies its GPUs.
#include "runs/deployment/host.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/energy/plausibility.h"
#include "recorders/side_files.h"
#include "core/record/salvage_json.h"
#include "runs/evaluate/evaluate.h"
#include "runs/window/own_zone.h"

namespace aggregate_power {
namespace {

// Files beside a recording that may state its GPUs' UUIDs; the first that exists is used.
struct IdentityFile {
  const char* end;  // after the recording's stem
  GpuIdentity (*read)(std::unique_ptr<ByteSource>);
};
constexpr IdentityFile kIdentityFiles[] = {{"_identity.csv", read_identity_csv},
                                           {"_devices.json", read_identity_json},
                                           {"_identity.json", read_identity_json}};

bool names_uuids(const SeriesFacts& series) {
  if (!series.device_column) return false;
  const std::string name = lower_ascii(*series.device_column);
  return name == "uuid" || name == "gpu_uuid";
}

// The prefix that the ids of a recording's GPUs have before their names on the host. A host column
// in the recording is part of its devices' names, and carries no information if it never changes.
std::string common_prefix(const std::vector<std::string>& ids, const SeriesFacts& series) {
  if (!series.names_hosts || ids.empty()) return {};
  std::string prefix = ids[0].substr(0, ids[0].find('/') + 1);
  const bool is_common =
      std::ranges::all_of(ids, [&](const auto& id) { return id.starts_with(prefix); });
  return is_common ? prefix : std::string();
}

std::string without(const std::string& prefix, const std::string& id) {
  return id.starts_with(prefix) ? id.substr(prefix.size()) : id;
}

// A host's GPU as its recording names it, for use without more from an identity file.
RecordedGpu unidentified(const HostResult& host, const std::string& name) {
  return {host.host, name, names_uuids(host.telemetry->series) ? name : "", {}};
}

// Returns nullopt if there is an identity file that does not name the GPU.
std::optional<RecordedGpu> identified(const HostResult& host, const std::string& name,
                                      const GpuIdentity& identity) {
  RecordedGpu gpu = unidentified(host, name);
  const auto by_index = identity.find(name);
  const auto by_uuid = std::ranges::find(identity, name, &GpuIdentity::value_type::second);
  if (by_index != identity.end()) {
    gpu.uuid = by_index->second;
  } else if (by_uuid != identity.end()) {
    gpu.uuid = name;
    gpu.index = by_uuid->first;
  } else if (!identity.empty()) {
    return std::nullopt;
  }
  return gpu;
}

void add_identity_fault(HostReading& reading, const std::string& what) {
  reading.identity_faults.add(Reason::gpu_identity_unreadable,
                              fmt::format("{}: {}", reading.host.identity_file, what));
}

GpuIdentity read_identity(const Recording& recording, HostReading& reading) {
  std::string& file = reading.host.identity_file;
  try {
    for (const auto& [end, read] : kIdentityFiles) {
      file = beside(recording.path(), plain_stem(recording.path()) + end);
      if (auto source = recording.beside(end)) return read(std::move(source));
    }
    file.clear();
  } catch (const std::exception& error) {  // Error, FileError, TelemetryError
    add_identity_fault(reading, error.what());
  }
  return {};
}

// Sets the index and UUID of the host's GPUs.
void identify(const Recording& recording, HostReading& reading) {
  HostResult& host = reading.host;
  const Integration& integration = reading.integration;
  const std::string prefix = common_prefix(integration.gpu_ids, host.telemetry->series);
  const GpuIdentity identity = read_identity(recording, reading);
  for (const std::string& id : integration.gpu_ids) {
    const std::string name = without(prefix, id);
    const std::optional<RecordedGpu> gpu = identified(host, name, identity);
    if (!gpu) {
      add_identity_fault(reading, fmt::format("it does not name GPU {}", printable(name)));
    }
    host.gpus.push_back(gpu.value_or(unidentified(host, name)));
  }
  for (const auto& [id, rows] : integration.boundary_degenerate_rows) {
    const std::string name = without(prefix, id);
    reading.boundary_degenerate_rows.emplace_back(
        identified(host, name, identity).value_or(unidentified(host, name)), rows);
  }
}

std::vector<std::string> warnings_of(const HostReading& reading, const std::string& path,
                                     const Reasons& doubts,
                                     const std::optional<std::string>& zone_doubt) {
  std::vector<std::string> warnings;
  const auto add = [&](const std::string& warning) { warnings.push_back(one_line(warning)); };
  if (zone_doubt) add(*zone_doubt);
  if (reading.host.telemetry) {
    for (const std::string& warning : reading.host.telemetry->series.warnings) {
      add(path + ": " + warning);
    }
  }
  for (const Reasons::Entry& doubt : doubts.entries()) {
    add(fmt::format("{}: {}: {}", path, code(doubt.reason), doubt.detail));
  }
  const std::optional<double> mean_w = reading.integration.avg_power_w;
  const bool is_impossible = reading.host.reasons.contains(Reason::implausible_power);
  if (mean_w && !is_impossible) {
    const double usual_w = plausible_watts(reading.host.telemetry->series).usual_w;
    if (const auto doubt = doubt_about(*mean_w, usual_w)) add(path + ": " + *doubt);
    const Integration& integration = reading.integration;
    for (const std::string& odd :
         odd_samples_text(integration.gpu_ids, integration.gpus, usual_w)) {
      add(path + ": " + odd);
    }
  }
  return warnings;
}

// Recordings of several hosts were gathered: the times of their files are of the copies.
void judge_zone(const Recording& recording, const runs::OwnZone& own, Measurement& measurement) {
  if (!measurement.telemetry) return;
  runs::OwnZoneFinding finding =
      own.finding(recording.path(), *measurement.telemetry, std::nullopt);
  if (!finding.contradiction.empty()) {
    measurement.integration.reasons = {};
    measurement.integration.reasons.add(Reason::timezone_ambiguous,
                                        std::move(finding.contradiction));
  } else if (!measurement.zone_doubt && !finding.warning.empty()) {
    measurement.zone_doubt = std::move(finding.warning);
  }
}

void measure_host(const Recording& recording, const Load& load, const RunOptions& options,
                  HostReading& reading) {
  LoadEdgeFinder edges(load.window);
  MeasurementRequest wanted{options};
  wanted.expected_num_gpus.reset();  // the number given is for all hosts together
  runs::OwnZone own(load.window);
  const bool lacks_zone = recording.lacks_zone();
  wanted.also = [&](std::span<const Reading> readings) {
    edges.take(readings);
    if (lacks_zone) own.take(readings);
  };
  wanted.series = &reading.series;
  wanted.work = &reading.work;
  wanted.host = reading.host.host;
  Measurement measurement = measure(wanted, recording, load);
  compare_with_counters(wanted, recording, load.window, measurement);
  if (lacks_zone) judge_zone(recording, own, measurement);
  HostResult& host = reading.host;
  host.reasons = measurement.integration.reasons;
  host.reasons.accept(options.accepted, reading.accepted);
  host.telemetry = std::move(measurement.telemetry);
  const bool are_wanted =
      host.reasons.empty() || (options.salvage && results::are_of_samples(host.reasons));
  if (are_wanted) {
    reading.sensors =
        wanted_readings(options, recording, load.window, std::move(measurement.gathered),
                        measurement.integration, host.telemetry->series);
  }
  reading.integration = std::move(measurement.integration);
  reading.fleet = std::move(measurement.fleet);
  reading.limits = std::move(measurement.limits);
  reading.column_faults = std::move(measurement.column_faults);
  const bool is_in_time = host.telemetry && !host.telemetry->timezone.empty();
  if (is_in_time) reading.edges = edges.edges();
  if (measurement.zone_hint) {
    reading.hints.push_back(fmt::format(
        "{}: {}, which applies to all hosts, or write it to {}{}", printable(host.host),
        *measurement.zone_hint, one_line(plain_stem(host.csv) + "_context.json"), kOrAnotherRun));
  }
  for (runs::GpuWork& gpu : reading.work.counted) gpu.gpu = host.host + "/" + gpu.gpu;
  if (host.telemetry) identify(recording, reading);
  reading.warnings =
      warnings_of(reading, recording.path(), measurement.series_doubts, measurement.zone_doubt);
}

}  // namespace

HostReading read_host(const HostFile& file, const Load& load, const RunOptions& options) {
  HostReading reading;
  reading.host.host = file.host;
  reading.host.csv = file.csv;
  reading.host.clock_offset_s = options.clock_offset_s;
  if (file.fault.empty()) {
    Recording recording(file.csv, options.zone, options.columns);
    recording.add_clock_offset(options.clock_offset_s);
    measure_host(recording, load, options, reading);
  } else {
    reading.host.reasons.add(Reason::telemetry_file_missing, file.fault);
  }
  return reading;
}

GpuIdentity identity_beside(const Recording& recording) {
  HostReading reading;
  return read_identity(recording, reading);
}

std::vector<std::string> files_of_host(const HostFile& file) {
  std::vector<std::string> files = {file.csv};
  for (const SideFile& side : kSideFiles) {
    files.push_back(beside(file.csv, side_name(side, file.csv)));
  }
  for (const IdentityFile& identity : kIdentityFiles) {
    files.push_back(beside(file.csv, plain_stem(file.csv) + identity.end));
  }
  return files;
}

}  // namespace aggregate_power
