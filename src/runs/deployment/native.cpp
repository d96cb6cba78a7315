// Checks the nodes one by one and together, and adds up their energy.
#include "runs/deployment/native.h"
#include "runs/measure/deliver.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/sha256.h"
#include "base/text/characters.h"
#include "core/load/benchmark_outcome.h"
#include "generators/generator_table.h"
#include "packages/native/topology.h"
#include "core/record/limits_json.h"
#include "runs/measure/extras.h"
#include "runs/deployment/native_nodes.h"
#include "runs/deployment/nodes.h"

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
    std::ranges::copy(reading.work.counted, std::back_inserter(work.counted));
  }
  runs::WorkDoubts doubts = runs::work_doubts(work, true);
  result.reasons.add(doubts.reasons);
  std::ranges::move(doubts.warnings, std::back_inserter(result.warnings));
}

// ---- Result

void add_native_gpus(const NativeReadings& readings, const std::vector<MeasuredGpu>& gpus,
                     Result& result) {
  for (const NativeReading& reading : readings) {
    if (!reading.node.has_gpus) continue;
    for (const NativeGpu& gpu : reading.node.gpus) {
      result.roles.emplace_back(gpu.uuid, native_role_name(reading.node.role));
    }
    std::ranges::copy(reading.limits, std::back_inserter(result.limits));
    std::ranges::copy(reading.boundary_degenerate_rows,
                      std::back_inserter(result.boundary_degenerate_rows));
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
    std::ranges::move(reading.warnings, std::back_inserter(result.warnings));
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
  std::vector<NativeNode> nodes;
  for (const NativeReading& reading : readings) nodes.push_back(reading.node);
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
    std::ranges::move(results::limit_warnings(result.limits), std::back_inserter(result.warnings));
  }
  std::vector<SensorReadings> sensors;
  for (NativeReading& reading : readings) sensors.push_back(std::move(reading.sensors));
  add_extras_of_package({question.run, std::move(sensors), question.hardware}, result);
  add_node_facts(readings, result);
  return result;
}

}  // namespace aggregate_power
