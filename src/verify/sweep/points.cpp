// Puts points together.
#include "verify/sweep/sweep.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"
#include "core/telemetry/gpu_identity.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostNameBytes = 64 * 1024;
constexpr std::size_t kMostGpus = 20'000;  // comparing takes the square of their number

struct NodeAndUuid {
  std::string node;
  std::string uuid;
};
// By the key of per_gpu_energy_j.
using Names = std::map<std::string, NodeAndUuid>;

Names names_on_one_node(const Evidence& evidence, const PointEvidence& found, PointFaults& faults) {
  const std::string& node_file = found.identity[0];
  const std::string& uuid_file = found.identity[1];
  const std::string text = evidence.text(node_file, kMostNameBytes);
  const std::string node(strip(text));
  if (node.empty()) faults.add_at(node_file, "does not name the node");
  Names names;
  try {
    auto source = evidence.tree().open(evidence.full(uuid_file)).source();
    const GpuIdentity identity = uuid_file.ends_with(".csv")
                                     ? read_identity_csv(std::move(source))
                                     : read_identity_json(std::move(source));
    for (const auto& [index, uuid] : identity) names[index] = {node, uuid};
  } catch (const Error& error) {
    faults.add_at(uuid_file, error.what());
  }
  return names;
}

Names names_of_nodes(const JsonValue& record) {
  Names names;
  for (const JsonValue& node : record.at("nodes").items) {
    for (const JsonValue::Member& gpu : node.at("physical_gpu_ids").members) {
      names[gpu.second.text] = {node.at("node").text, gpu.second.text};
    }
  }
  return names;
}

// "host/UUID"; a host may contain slashes.
Names names_in_keys(const JsonValue& energies) {
  Names names;
  for (const JsonValue::Member& gpu : energies.members) {
    const std::size_t slash = gpu.first.rfind('/');
    if (slash == std::string::npos) continue;
    names[gpu.first] = {gpu.first.substr(0, slash), gpu.first.substr(slash + 1)};
  }
  return names;
}

Names names_of(const Evidence& evidence, const PointEvidence& found, PointFaults& faults) {
  if (found.telemetry == TelemetryKind::one_node) return names_on_one_node(evidence, found, faults);
  return found.telemetry == TelemetryKind::native
             ? names_of_nodes(found.record)
             : names_in_keys(found.record.at("per_gpu_energy_j"));
}

std::string role_of(const RequiredPoint& point, const JsonValue& record, const std::string& gpu) {
  if (!point.is_multinode) return "aggregate";
  const std::string& role = record.at("per_gpu_role").at(gpu).text;
  return role == "agg" ? "aggregate" : role;
}

bool is_role(const std::string& role) {
  return role == "aggregate" || role == "prefill" || role == "decode";
}

// In the record's order. What is wrong with one is among the faults; it is then left out. Returns
// nullopt if the files that name them are not there, which is a fault of the telemetry. May throw
// FileError.
std::optional<std::vector<Device>> devices_of(const Evidence& evidence, const RequiredPoint& point,
                                              const PointEvidence& found, PointFaults& faults) {
  const JsonValue& energies = found.record.at("per_gpu_energy_j");
  if (energies.members.size() > kMostGpus) {
    faults.add_at(found.record_path,
                  fmt::format("'per_gpu_energy_j' has {} GPUs, more than a run has",
                              energies.members.size()));
    return std::nullopt;
  }
  for (const std::string& file : found.identity) {
    if (!evidence.artifact_fault(file).empty()) return std::nullopt;
  }
  const Names names = names_of(evidence, found, faults);
  if (energies.members.empty()) {
    faults.add_at(found.record_path, "'per_gpu_energy_j' has no GPU");
  }
  std::vector<Device> devices;
  std::set<std::string> uuids;
  for (const JsonValue::Member& member : energies.members) {
    const std::string& gpu = member.first;
    const JsonValue& energy_j = member.second;
    const std::string role = role_of(point, found.record, gpu);
    const auto named = names.find(gpu);
    const auto fault = [&](std::string what) {
      faults.add_at(found.record_path, fmt::format("GPU {}: {}", printable(gpu, 200), what));
    };
    if (!is_positive(energy_j)) {
      fault(fmt::format("its energy is {}, not above 0", energy_j.shown()));
    } else if (!is_role(role)) {
      fault(fmt::format("its role is '{}'", printable(role)));
    } else if (named == names.end() || named->second.node.empty() || named->second.uuid.empty()) {
      fault("no file names its node and UUID");
    } else if (!uuids.insert(named->second.uuid).second) {
      fault(fmt::format("another GPU has its UUID {} too", printable(named->second.uuid, 200)));
    } else {
      devices.push_back({named->second.node, named->second.uuid, role, energy_j});
    }
  }
  return devices;
}

// Of the aggregate, in the order of the manifest.
constexpr const char* kTopologyKeys[] = {"disagg",
                                         "is_multinode",
                                         "num_gpus",
                                         "num_prefill_gpu",
                                         "num_decode_gpu",
                                         "tp",
                                         "pp",
                                         "dcp_size",
                                         "pcp_size",
                                         "ep",
                                         "dp_attention",
                                         "prefill_tp",
                                         "prefill_pp",
                                         "prefill_dcp_size",
                                         "prefill_pcp_size",
                                         "prefill_dp_attention",
                                         "prefill_ep",
                                         "prefill_num_workers",
                                         "decode_tp",
                                         "decode_pp",
                                         "decode_dcp_size",
                                         "decode_pcp_size",
                                         "decode_dp_attention",
                                         "decode_ep",
                                         "decode_num_workers"};

JsonValue object_of(std::vector<JsonValue::Member> members) {
  JsonValue object = JsonValue::object();
  object.members = std::move(members);
  return object;
}

JsonValue identity_json(const RequiredPoint& required, const JsonValue& aggregate) {
  const bool is_agentic = required.is_agentic();
  return object_of(
      {{"model", aggregate.at("infmax_model_prefix")},
       {"hardware", aggregate.at("hw")},
       {"framework", aggregate.at("framework")},
       {"precision", aggregate.at("precision")},
       {"recipe_fingerprint", aggregate.at("recipe_fingerprint")},
       {"benchmark_type", JsonValue::string(is_agentic ? "agentic_traces" : "single_turn")},
       {"isl", is_agentic ? JsonValue() : aggregate.at("isl")},
       {"osl", is_agentic ? JsonValue() : aggregate.at("osl")},
       {"concurrency", aggregate.at("conc")}});
}

JsonValue topology_json(const JsonValue& aggregate, const JsonValue& num_gpus) {
  JsonValue topology = JsonValue::object();
  bool has_gpus = false;
  for (const std::string key : kTopologyKeys) {
    const JsonValue* const value = aggregate.find(key);
    if (value == nullptr) continue;
    has_gpus |= key == "num_gpus";
    topology.members.emplace_back(key, key == "num_gpus" ? num_gpus : *value);
  }
  if (!has_gpus) topology.members.emplace_back("num_gpus", num_gpus);
  return topology;
}

JsonValue devices_json(const std::vector<Device>& devices) {
  JsonValue list = JsonValue::array();
  for (const Device& device : devices) {
    list.items.push_back(object_of({{"node", JsonValue::string(device.node)},
                                    {"gpu_uuid", JsonValue::string(device.gpu_uuid)},
                                    {"role", JsonValue::string(device.role)},
                                    {"energy_j", device.energy_j}}));
  }
  return list;
}

JsonValue artifacts_json(const Evidence& evidence, const std::vector<std::string>& files,
                         PointFaults& faults, bool& could_not_open) {
  JsonValue list = JsonValue::array();
  for (const std::string& file : files) {
    if (const std::string fault = evidence.artifact_fault(file); !fault.empty()) {
      faults.add_at(file, fault);
      continue;
    }
    try {
      list.items.push_back(object_of({{"path", JsonValue::string(file)},
                                      {"sha256", JsonValue::string(evidence.sha256(file))},
                                      {"validation_state", JsonValue::string("valid")}}));
    } catch (const FileError& error) {
      faults.add_at(file, error.what());
      could_not_open = true;
    }
  }
  return list;
}

// Check 1 needs the only aggregate of the point.
bool find_aggregate(const Evidence& evidence, const Aggregates& aggregates,
                    const RequiredPoint& required, PointEvidence& found, PointFaults& faults) {
  faults.begin(1);
  const std::vector<std::string> paths = aggregates.matching(required);
  if (paths.size() != 1) {
    faults.add(
        "aggregates in bmk*/ with its fingerprint, concurrency, model, hardware and kind", "1",
        paths.empty() ? "none" : fmt::format("{} ({})", paths.size(), fmt::join(paths, ", ")));
    return false;
  }
  found.aggregate_path = paths[0];
  found.aggregate = evidence.json(paths[0]);
  return true;
}

void check_sequence(const RequiredPoint& required, const JsonValue& aggregate,
                    PointFaults& faults) {
  for (const char* const key : {"isl", "osl"}) {
    if (required.is_agentic() || aggregate.find(key) != nullptr) continue;
    faults.add(fmt::format("the aggregate has no '{}'", key));
  }
}

// May throw Error and FileError.
std::optional<BuiltPoint> built(const Evidence& evidence, const Aggregates& aggregates,
                                const RequiredPoint& required, PointFaults& faults,
                                bool& could_not_open) {
  BuiltPoint point;
  PointEvidence& found = point.evidence;
  if (!find_aggregate(evidence, aggregates, required, found, faults)) return std::nullopt;
  check_aggregate(required, found.aggregate, faults);
  check_sequence(required, found.aggregate, faults);
  const auto required_gpus = check_topology(required, found.aggregate, faults);
  faults.begin(3);
  if (!find_record(evidence, required, found, faults)) return std::nullopt;
  check_verdict(found.record, faults);
  faults.begin(required.is_multinode ? 9 : 10);
  const bool has_telemetry = find_point_telemetry(evidence, required, found, faults);
  faults.begin(5);
  const auto devices = devices_of(evidence, required, found, faults);
  if (!devices) return std::nullopt;
  const JsonValue num_gpus =
      check_devices(required, found.aggregate, found.record, *devices, required_gpus, faults);
  if (!has_telemetry) return std::nullopt;
  faults.begin(10);
  const JsonValue& window = found.record.at("benchmark_window");
  point.json = object_of(
      {{"config_key", required.row->at("exp-name")},
       {"identity", identity_json(required, found.aggregate)},
       {"topology", topology_json(found.aggregate, num_gpus)},
       {"measurement_window", object_of({{"start_time_unix", window.at("start_time_unix")},
                                         {"end_time_unix", window.at("end_time_unix")}})},
       {"devices", devices_json(*devices)},
       {"artifacts", artifacts_json(evidence, found.all(), faults, could_not_open)}});
  return point;
}

}  // namespace

std::optional<BuiltPoint> build_point(const Evidence& evidence, const Aggregates& aggregates,
                                      const RequiredPoint& required, PointFaults& faults,
                                      bool& could_not_open) {
  try {
    return built(evidence, aggregates, required, faults, could_not_open);
  } catch (const FileError& error) {
    faults.add(fmt::format("cannot be checked: {}", error.what()));
    could_not_open = true;
  } catch (const Error& error) {
    faults.add(fmt::format("cannot be checked: {}", error.what()));
  }
  return std::nullopt;
}

}  // namespace aggregate_power
