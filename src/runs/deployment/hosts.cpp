// Reads all hosts, checks them together and combines their results.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate_power/gpu.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/json.h"
#include "core/energy/plausibility.h"
#include "core/load/benchmark.h"
#include "core/record/aggregate.h"
#include "core/record/limits_json.h"
#include "core/record/salvage_json.h"
#include "generators/generator_table.h"
#include "recorders/recorder_context.h"
#include "runs/deployment/hosts.h"
#include "runs/deployment/native.h"
#include "runs/deployment/run_kinds.h"
#include "runs/evaluate/evaluate.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/aggregate_doubts.h"
#include "runs/measure/deliver.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/extras.h"
#include "runs/window/result_clock.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostThreads = 8;  // more would wait for memory

// The result so far: the hosts as they were read, and what follows from all of them.
struct Hosts {
  std::vector<HostReading> readings;
  std::vector<Role> roles;  // of all GPUs, host by host; empty: unknown
};

void add_of_host(const std::string& host, const Reasons& found, Reasons& reasons) {
  for (const Reasons::Entry& entry : found.entries()) {
    reasons.add(entry.reason, one_line(entry.detail.empty() ? host : host + ": " + entry.detail));
  }
}

// Whether the hosts can be read; what is wrong with the request is added to `reasons`.
bool is_request_good(const RunSpec& request, Reasons& reasons) {
  if (!std::isfinite(request.max_sample_gap_s) || request.max_sample_gap_s <= 0) {
    reasons.add(Reason::invalid_max_sample_gap, fmt::format("{}", request.max_sample_gap_s));
    return false;
  }
  if (request.expected_num_gpus && *request.expected_num_gpus <= 0) {
    reasons.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *request.expected_num_gpus));
  }
  if (request.hosts.empty()) reasons.add(Reason::telemetry_file_missing, request.no_hosts);
  return true;
}

RunOptions options_for(const RunSpec& request, const std::string& host) {
  RunOptions options = request;
  const auto offset = request.clock_offsets_s.find(host);
  if (offset != request.clock_offsets_s.end()) options.clock_offset_s = offset->second;
  return options;
}

std::vector<HostReading> read_hosts(const RunSpec& request, const Load& load, Reasons& reasons) {
  std::vector<HostReading> readings(request.hosts.size());
  in_parallel(readings.size(), kMostThreads, [&](std::size_t i) {
    const HostFile& file = request.hosts[i];
    readings[i] = read_host(file, load, options_for(request, file.host));
  });
  for (const HostReading& reading : readings) {
    add_of_host(reading.host.host, reading.host.reasons, reasons);
    add_of_host(reading.host.host, reading.accepted, reasons);  // accept_reasons() takes them back
  }
  for (HostReading& reading : readings) {
    reading.host.reasons.add(reading.identity_faults);
    add_of_host(reading.host.host, reading.identity_faults, reasons);
  }
  return readings;
}

// ---- All hosts together

// Two hosts with the same file have the same GPUs, whatever else is known about them.
Reasons check_files(std::span<const HostReading> readings) {
  Reasons reasons;
  std::map<std::string, std::string> hosts;
  for (const HostReading& reading : readings) {
    const HostResult& host = reading.host;
    if (host.gpus.empty()) continue;
    const auto [other, is_new] = hosts.try_emplace(file_identity(host.csv), host.host);
    if (is_new) continue;
    reasons.add(Reason::gpu_uuid_repeated,
                one_line(fmt::format("{} and {} have the same file", other->second, host.host)));
  }
  return reasons;
}

// Two hosts whose readings are the same have one recording, and one of them is missing.
Reasons check_sensors(std::vector<HostReading>& readings) {
  Reasons reasons;
  std::vector<KeptSeries> seen;
  for (HostReading& reading : readings) {
    for (KeptSeries& series : reading.series.kept) series.recording = reading.host.host;
    reasons.add(shared_sensors(seen, reading.series.kept, true).reasons);
    append(seen, std::move(reading.series.kept));
  }
  return reasons;
}

Reasons check_uuids(std::span<const RecordedGpu> gpus) {
  Reasons reasons;
  std::map<std::string, const RecordedGpu*> by_uuid;
  for (const RecordedGpu& gpu : gpus) {
    if (gpu.uuid.empty()) continue;
    const auto [other, is_new] = by_uuid.try_emplace(gpu.uuid, &gpu);
    if (is_new) continue;
    reasons.add(Reason::gpu_uuid_repeated,
                fmt::format("{}: GPU {} and {}: GPU {} are both {}", printable(other->second->host),
                            printable(other->second->id), printable(gpu.host), printable(gpu.id),
                            printable(gpu.uuid)));
  }
  return reasons;
}

// GPUs that their recordings name alike, by their UUIDs or by one host's name. Only recordings that
// share such a name are compared.
Reasons check_names(std::span<const HostReading> readings) {
  std::map<std::pair<char, std::string>, const GpusOfFile*> first;
  Reasons reasons;
  for (const HostReading& reading : readings) {
    std::set<const GpusOfFile*> others;
    const auto note = [&](char kind, const std::string& name) {
      if (name.empty()) return;
      const GpusOfFile* const other = first.try_emplace({kind, name}, &reading.named).first->second;
      if (other != &reading.named) others.insert(other);
    };
    note('b', reading.named.boot);
    for (const GpuOfFile& gpu : reading.named.gpus) {
      note('u', gpu.key.uuid);
      note('h', gpu.key.host);
    }
    for (const GpusOfFile* const other : others) {
      const RepeatedGpus repeated = repeated_gpus(std::array{*other, reading.named});
      if (repeated.sure.empty()) continue;
      reasons.add(Reason::gpu_identity_conflict, one_line(repeated.sure.front()));
      return reasons;
    }
  }
  return reasons;
}

// Sets the GPUs' roles.
Reasons check_together(const RunSpec& request, Hosts& hosts) {
  std::vector<RecordedGpu> gpus;
  bool any_unknown = hosts.readings.empty();
  for (const HostReading& reading : hosts.readings) {
    any_unknown = any_unknown || reading.host.gpus.empty();
    append(gpus, reading.host.gpus);
  }
  Reasons reasons = check_files(hosts.readings);
  reasons.add(check_uuids(gpus));
  if (reasons.empty()) reasons.add(check_names(hosts.readings));
  if (any_unknown) return reasons;  // nothing else can be said if a host has no GPUs
  const auto expected = request.expected_num_gpus;
  if (expected && *expected > 0 && static_cast<std::int64_t>(gpus.size()) != *expected) {
    reasons.add(Reason::expected_gpu_count_mismatch,
                fmt::format("{} seen on {} hosts, {} expected", gpus.size(), hosts.readings.size(),
                            *expected));
  }
  RoleAssignment assigned = assign_roles(request.roles, gpus);
  reasons.add(assigned.reasons);
  if (assigned.reasons.empty()) hosts.roles = std::move(assigned.roles);
  return reasons;
}

// ---- Clocks

std::string clock_warning(std::span<const HostReading> readings, std::size_t i,
                          std::span<const std::optional<ClockOffset>> estimates) {
  const ClockOffset& estimate = *estimates[i];
  const auto remedy = [&](std::size_t host, double offset_s) {
    const HostResult& corrected = readings[host].host;
    return "--clock-offset " + shell_word(fmt::format("{}={:.6g}", printable(corrected.host),
                                                      corrected.clock_offset_s + offset_s));
  };
  // With only two hosts there is no telling whose clock is wrong.
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k < estimates.size(); ++k) {
    if (estimates[k] && k != i) others.push_back(k);
  }
  const bool are_two = others.size() == 1;
  const std::string other = printable(readings[others.at(0)].host.host);
  std::string advice = fmt::format("if its clock is wrong, pass {}", remedy(i, estimate.offset_s));
  if (are_two) {
    advice += fmt::format("; if the clock of {} is wrong, pass {}", other,
                          remedy(others[0], -estimate.offset_s));
  }
  const double late_s = -estimate.offset_s;
  return fmt::format(
      "{}: clock_offset: the load starts and ends {:.6g} s {} than {} (give or take {:.6g} s); {}",
      printable(readings[i].host.host), std::abs(late_s), late_s > 0 ? "later" : "earlier",
      are_two ? "on " + other : "on the other hosts", estimate.uncertainty_s, advice);
}

// Adds the estimated offset of each host's clock, and returns warnings.
std::vector<std::string> estimate_clocks(std::vector<HostReading>& readings) {
  std::vector<LoadEdges> edges;
  for (const HostReading& reading : readings) edges.push_back(reading.edges);
  const auto estimates = estimate_clock_offsets(edges);
  const bool has_load =
      std::ranges::any_of(edges, [](const LoadEdges& host) { return host.rise && host.fall; });
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    HostResult& host = readings[i].host;
    host.clock_estimate = estimates[i];
    if (estimates[i] && is_large(*estimates[i], edges[i].interval_s)) {
      warnings.push_back(clock_warning(readings, i, estimates));
    } else if (has_load && !edges[i].rise && !edges[i].fall && !host.gpus.empty() &&
               !host.reasons.contains(Reason::load_outside_window)) {
      warnings.push_back(fmt::format(
          "{}: clock_offset: no load starts or ends within {:.0f} s of the window's start and end, as it does on other hosts; unless this host was idle, its clock or its zone is wrong",
          printable(host.host), LoadEdgeFinder::kNear_s));
    }
  }
  return warnings;
}

// A host that shows no edge where others do, and draws as little as GPUs that nobody used.
Reasons idle_hosts(const RunOptions& run, std::vector<HostReading>& readings) {
  const auto means_w = mapped<double>(readings, [](const HostReading& reading) {
    return reading.integration.avg_power_w.value_or(0);
  });
  const std::vector<bool> are_idle = idle_devices(means_w);
  const double most_w = means_w.empty() ? 0 : std::ranges::max(means_w);
  const bool has_load = std::ranges::any_of(readings, [](const HostReading& reading) {
    return reading.edges.rise && reading.edges.fall;
  });
  Reasons reasons;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    HostResult& host = readings[i].host;
    const bool is_known = readings[i].integration.avg_power_w &&
                          results::are_of_samples(host.reasons) &&
                          !readings[i].accepted.contains(Reason::load_outside_window);
    if (!has_load || !is_known || !are_idle[i] || readings[i].edges.rise ||
        readings[i].edges.fall) {
      continue;
    }
    Reasons own;
    own.add(Reason::load_outside_window,
            fmt::format("its GPUs draw {:.0f} W each throughout the window, those of the busiest "
                        "host {:.0f} W: it was idle, or its clock or its zone is wrong",
                        means_w[i], most_w));
    add_of_host(host.host, own, reasons);
    own.accept(run.accepted, readings[i].accepted);
    host.reasons.add(own);
  }
  return reasons;
}

// Whether the load was on the GPUs of the hosts.
void judge_work_of_hosts(const RunSpec& request, const Hosts& hosts, Result& result) {
  if (!result.is_valid() || !did_work(*result.load)) return;
  runs::GpusAtWork work{.are_of_one_node = false};
  for (const HostReading& reading : hosts.readings) {
    append(work.counted, reading.work.counted);
  }
  runs::WorkDoubts doubts = runs::work_doubts(work, request.expected_num_gpus.has_value());
  result.reasons.add(doubts.reasons);
  append(result.warnings, std::move(doubts.warnings));
}

// ---- Metrics

std::vector<NodeGpu> gpus_of_hosts(const Hosts& hosts) {
  std::vector<NodeGpu> gpus;
  for (const HostReading& reading : hosts.readings) {
    for (const DeviceEnergy& gpu : reading.integration.gpus) {
      gpus.push_back({hosts.roles[gpus.size()], gpu.energy_j});
    }
  }
  return gpus;
}

// The GPUs of one role on one host count as a worker.
std::vector<Worker> workers_of(const Hosts& hosts, double window_s) {
  std::map<std::pair<Role, std::size_t>, Worker> workers;
  std::map<Role, std::int64_t> count;
  std::size_t at = 0;
  for (std::size_t i = 0; i < hosts.readings.size(); ++i) {
    for (const DeviceEnergy& gpu : hosts.readings[i].integration.gpus) {
      if (at == hosts.roles.size()) return {};
      const Role role = hosts.roles[at++];
      Worker& worker = workers[{role, i}];
      if (worker.num_gpus++ == 0) {
        worker.role = role_name(role);
        worker.worker_idx = count[role]++;
        worker.hosts = {hosts.readings[i].host.host};
      }
      worker.avg_power_w += gpu.energy_j;  // holds energy until all GPUs are counted
    }
  }
  std::vector<Worker> all;
  for (auto& [key, worker] : workers) {
    worker.avg_power_w /= window_s * static_cast<double>(worker.num_gpus);
    all.push_back(std::move(worker));
  }
  return all;
}

// ---- Result

std::string record_name(const RecordedGpu& gpu, bool with_uuid) {
  return printable_path(gpu.host) + "/" + (with_uuid && !gpu.uuid.empty() ? gpu.uuid : gpu.id);
}

void add_limits_of_host(const HostReading& reading, bool with_uuid, Result& result) {
  const std::vector<std::string>& names = reading.integration.gpu_ids;
  for (GpuLimit limit : reading.limits) {
    const auto place = std::ranges::find(names, limit.gpu) - names.begin();
    if (static_cast<std::size_t>(place) >= reading.host.gpus.size()) continue;
    limit.gpu = record_name(reading.host.gpus[place], with_uuid);
    result.limits.push_back(std::move(limit));
  }
}

void add_gpus(const Hosts& hosts, Result& result) {
  // A UUID claimed by two GPUs identifies neither.
  const bool with_uuid = !result.reasons.contains(Reason::gpu_uuid_repeated);
  for (const HostReading& reading : hosts.readings) {
    const Integration& integration = reading.integration;
    for (std::size_t i = 0; i < reading.host.gpus.size(); ++i) {
      const std::string name = record_name(reading.host.gpus[i], with_uuid);
      if (!hosts.roles.empty()) {
        result.roles.emplace_back(name, role_name(hosts.roles[result.gpus.size()]));
      }
      result.observed_gpu_ids.push_back(name);
      result.gpus.push_back({name, integration.gpus[i], integration.issues[i]});
    }
    add_limits_of_host(reading, with_uuid, result);
    for (const auto& [gpu, rows] : reading.boundary_degenerate_rows) {
      result.boundary_degenerate_rows.emplace_back(record_name(gpu, with_uuid), rows);
    }
  }
  result.observed_gpus = result.gpus.size();
}

// A GPU that was not measured is among them only if `with_missing`.
std::vector<SensorReadings> sensors_of(Hosts& hosts, bool with_missing) {
  std::vector<SensorReadings> all;
  for (HostReading& reading : hosts.readings) {
    std::map<std::string, std::string> names;
    for (const GatheredReadings& gpu : reading.sensors.gpus) {
      if (with_missing) names[gpu.gpu] = record_name({reading.host.host, gpu.gpu, {}, {}}, false);
    }
    for (std::size_t i = 0; i < reading.host.gpus.size(); ++i) {
      names[reading.integration.gpu_ids[i]] = record_name(reading.host.gpus[i], true);
    }
    rename_gpus(names, reading.sensors);
    all.push_back(std::move(reading.sensors));
  }
  return all;
}

// Whether result and aggregate state another number of GPUs, or another load.
void add_doubts_of_files(const RunSpec& request, const LoadReading& load, const Hosts& hosts,
                         Result& result) {
  std::string text;
  try {
    if (!request.agg_result.empty()) text = read_file(request.agg_result, kAggregateFile);
    std::size_t gpus = 0;
    for (const HostReading& reading : hosts.readings) gpus += reading.host.gpus.size();
    const RoleGpus roles = text.empty() ? RoleGpus() : role_gpus_of(text);
    const bool is_of_all = roles.prefill && roles.decode;  // else its tp may be a worker's
    append(result.warnings, runs::count_doubts(is_of_all ? text : "", load, gpus));
    if (text.empty()) return;
    append(result.warnings,
           runs::aggregate_doubts({last_name(request.agg_result), text}, load, result));
  } catch (const FileError&) {  // it is reported when it is patched
  } catch (const JsonError&) {
  }
}

Result measured_hosts(const RunSpec& request) {
  LoadReading reading = read_load_file(request.bench_result);
  refuse_failed(request.contract, reading);
  Result result = unmeasured({request}, reading.load, reading.reasons);
  result.way = Way::hosts;
  result.telemetry_source = request.telemetry_source;
  result.benchmark_result = request.bench_result;
  result.sources.options = options_for_record(request, RunKind::recording);
  if (!result.load || !is_request_good(request, result.reasons)) return result;
  Hosts hosts;
  hosts.readings = read_hosts(request, *result.load, result.reasons);
  result.reasons.add(check_sensors(hosts.readings));
  accept_reasons(result);
  for (const HostReading& host : hosts.readings) {
    result.causes.add(host.column_faults);
    append(result.hints, host.hints);
    append(result.warnings, host.warnings);
  }
  result.reasons.add(check_together(request, hosts));
  accept_reasons(result);
  result.reasons.add(idle_hosts(request, hosts.readings));
  accept_reasons(result);
  judge_work_of_hosts(request, hosts, result);
  accept_reasons(result);
  append(result.warnings, estimate_clocks(hosts.readings));
  if (has_percentiles(request.keys)) {
    result.fleet = fleet_of_all(
        mapped(hosts.readings, [](const HostReading& host) { return NodeFleet{host.fleet}; }),
        result.load->window, result.is_valid());
  }
  if (result.is_valid()) add_node_metrics(gpus_of_hosts(hosts), result.contract, result);
  if (result.is_valid()) add_doubts_of_files(request, reading, hosts, result);
  if (result.is_valid()) result.workers = workers_of(hosts, result.load->window.duration_s());
  add_gpus(hosts, result);
  if (result.is_valid()) {
    append(result.warnings, results::limit_warnings(result.limits));
  }
  add_extras({request, sensors_of(hosts, request.salvage), hardware_in(request.agg_result)},
             result);
  for (HostReading& host : hosts.readings) result.hosts.push_back(std::move(host.host));
  return result;
}

WritePlan target_of_hosts(const RunSpec& request) {
  WritePlan target = target_of(request);
  target.inputs = {request.bench_result, request.agg_result};
  for (const HostFile& file : request.hosts) {
    append(target.inputs, files_of_host(file));
  }
  return target;
}

}  // namespace

CommandOutput aggregate_hosts(const RunSpec& request) {
  return deliver(measured_hosts(request), target_of_hosts(request), request.delivery());
}

// ---- Measures one host and identifies its GPUs.

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

// By the recording's own names: identify() reads the files next to it.
GpusOfFile named_gpus(const Recording& recording, const HostReading& reading) {
  const TelemetryFacts& telemetry = *reading.host.telemetry;
  GpusOfFile named{recording.path(), telemetry.series.schema, {}, {}, telemetry.series.gpu_models};
  for (const auto& [name, key] : telemetry.gpus) {
    const auto& ids = reading.integration.gpu_ids;
    if (std::ranges::find(ids, name) != ids.end()) named.gpus.push_back({name, key});
  }
  return named;
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
  if (host.telemetry) {
    identify(recording, reading);
    reading.named = named_gpus(recording, reading);
  }
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

// ---- Finds each host's recording in its folder.

namespace {

bool is_recording_name(std::string_view name) {
  const auto is_csv = [&](std::string_view compression) {
    return name.ends_with(".csv" + std::string(compression));
  };
  return std::ranges::any_of(kCompressions, is_csv) && !name.starts_with('.') &&
         name.find("_energy_") == name.npos && name.find("_identity") == name.npos;
}

HostFile recording_in(const std::string& folder, const std::string& host) {
  const auto tree = disk_tree();
  std::vector<std::string> names;
  const auto named = [&](std::string_view name) { return fmt::format("{}/{}", folder, name); };
  const std::string usual = named("gpu_metrics.csv");
  try {
    tree->list(folder, [&](const TreeEntry& entry) {
      if (entry.kind == TreeEntry::Kind::file && is_recording_name(entry.name)) {
        names.push_back(entry.name);
      }
    });
  } catch (const FileError&) {  // opening the recording fails too, and that is recorded
    return {host, usual, {}};
  }
  for (const std::string_view compression : kCompressions) {
    const std::string name = "gpu_metrics.csv" + std::string(compression);
    if (std::ranges::find(names, name) != names.end()) return {host, named(name), {}};
  }
  if (names.size() == 1) return {host, named(names[0]), {}};
  if (names.empty()) return {host, usual, {}};
  std::ranges::sort(names);
  return {host, usual,
          fmt::format("{} contains several CSV files: {}; name the recording gpu_metrics.csv",
                      printable(folder), printable(joined_text(names, ", "), 200))};
}

}  // namespace

std::vector<HostFile> hosts_in(const std::string& nodes) {
  std::vector<std::string> names;
  disk_tree()->list(nodes, [&](const TreeEntry& entry) {
    const bool is_folder =
        entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
    if (is_folder && !entry.name.starts_with('.')) names.push_back(entry.name);
  });
  std::ranges::sort(names, device_name_less);
  return mapped<HostFile>(names, [&](const std::string& name) {
    return recording_in(normal_path(fmt::format("{}/{}", nodes, name)), name);
  });
}

}  // namespace aggregate_power
