// One host of several.
#include "runs/host.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/unicode.h"
#include "recorders/identity.h"
#include "recorders/recording.h"
#include "recorders/side_files.h"
#include "runs/assess.h"
#include "runs/measurement.h"

namespace aggregate_power {
namespace {

// What may stand beside a recording and tell its GPUs' UUIDs; the first that is there counts.
struct IdentityFile {
  const char* end;  // behind the recording's stem
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

// What the ids of a recording's GPUs begin with besides their names in their host: a host column of
// the recording is part of its devices' names, and says nothing where it is always the same.
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

// To move the window on the host's clock is to move the host's stamps the other way.
Load on_the_clock_of(const Load& load, double clock_offset_s) {
  Load moved = load;
  moved.window.start_unix_s -= clock_offset_s;
  moved.window.end_unix_s -= clock_offset_s;
  return moved;
}

LoadEdges corrected(LoadEdges edges, double clock_offset_s) {
  for (std::optional<LoadEdge>* edge : {&edges.rise, &edges.fall}) {
    if (*edge) (*edge)->unix_s += clock_offset_s;
  }
  return edges;
}

class HostReader {
 public:
  HostReader(const HostFile& file, const HostReadingOptions& options)
      : options_(options), recording_(file.csv, options.zone, options.columns) {
    host_.host = file.host;
    host_.csv = file.csv;
    host_.clock_offset_s = options.clock_offset_s;
  }

  HostReading read(const Load& load) {
    const Load moved = on_the_clock_of(load, options_.clock_offset_s);
    LoadEdgeFinder edges(moved.window);
    MeasurementRequest wanted;
    wanted.max_sample_gap_s = options_.max_sample_gap_s;
    wanted.extended = options_.extended;
    wanted.also = [&](std::span<const Reading> readings) { edges.take(readings); };
    Measurement measurement = measure(wanted, recording_, moved);
    host_.reasons = measurement.integration.reasons;
    host_.integration = std::move(measurement.integration);
    host_.telemetry = std::move(measurement.telemetry);
    host_.fleet = std::move(measurement.fleet);
    zone_doubt_ = std::move(measurement.zone_doubt);
    const bool is_in_time = host_.telemetry && !host_.telemetry->timezone.empty();
    if (is_in_time) result_.edges = corrected(edges.edges(), options_.clock_offset_s);
    result_.column_faults = std::move(measurement.column_faults);
    if (measurement.zone_hint) {
      result_.hints.push_back(fmt::format("{}: {}, which is for all hosts, or write it to {}",
                                          printable(host_.host), *measurement.zone_hint,
                                          one_line(plain_stem(host_.csv) + "_context.json")));
    }
    if (host_.telemetry) identify();
    warn();
    return std::move(result_);
  }

 private:
  // Names the host's GPUs by index and UUID.
  void identify() {
    const Integration& integration = host_.integration;
    const std::string prefix = common_prefix(integration.gpu_ids, host_.telemetry->series);
    const GpuIdentity identity = read_identity();
    for (const std::string& id : integration.gpu_ids) {
      const std::string name = without(prefix, id);
      const std::optional<RecordedGpu> gpu = gpu_of(name, identity);
      if (!gpu) fault(fmt::format("it does not name GPU {}", printable(name)));
      host_.gpus.push_back(gpu.value_or(unidentified(name)));
    }
    for (const auto& [id, rows] : integration.boundary_degenerate_rows) {
      const std::string name = without(prefix, id);
      host_.boundary_degenerate_rows.emplace_back(
          gpu_of(name, identity).value_or(unidentified(name)), rows);
    }
  }

  RecordedGpu unidentified(const std::string& name) const {
    return {host_.host, name, names_uuids(host_.telemetry->series) ? name : "", {}};
  }

  // Nothing where there is an identity file that does not name it.
  std::optional<RecordedGpu> gpu_of(const std::string& name, const GpuIdentity& identity) const {
    RecordedGpu gpu = unidentified(name);
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

  GpuIdentity read_identity() {
    try {
      for (const auto& [end, read] : kIdentityFiles) {
        host_.identity_file = beside(recording_.path(), plain_stem(recording_.path()) + end);
        if (auto source = recording_.beside(end)) return read(std::move(source));
      }
      host_.identity_file.clear();
    } catch (const std::exception& error) {  // Error, FileError, CsvError
      fault(error.what());
    }
    return {};
  }

  void fault(const std::string& what) {
    result_.identity_faults.add(Reason::gpu_identity_unreadable,
                                fmt::format("{}: {}", host_.identity_file, what));
  }

  void warn() {
    const auto say = [&](const std::string& warning) {
      result_.warnings.push_back(one_line(warning));
    };
    const auto say_of_it = [&](const std::string& warning) {
      say(recording_.path() + ": " + warning);
    };
    if (zone_doubt_) say(*zone_doubt_);
    if (host_.telemetry) std::ranges::for_each(host_.telemetry->series.warnings, say_of_it);
    if (!host_.integration.avg_power_w) return;
    if (host_.reasons.contains(Reason::implausible_power)) return;
    if (const auto doubt = doubt_about(*host_.integration.avg_power_w)) say_of_it(*doubt);
  }

  const HostReadingOptions& options_;
  const Recording recording_;
  std::optional<std::string> zone_doubt_;
  HostReading result_;
  HostFinding& host_ = result_.finding;
};

}  // namespace

HostReading read_host(const HostFile& file, const Load& load, const HostReadingOptions& options) {
  if (file.fault.empty()) return HostReader(file, options).read(load);
  HostReading unread;
  unread.finding.host = file.host;
  unread.finding.csv = file.csv;
  unread.finding.clock_offset_s = options.clock_offset_s;
  unread.finding.reasons.add(Reason::telemetry_file_missing, file.fault);
  return unread;
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
