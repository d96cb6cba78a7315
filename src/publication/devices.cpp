// Names the GPUs of a point.
#include "publication/devices.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/unicode.h"
#include "recorders/identity.h"

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

}  // namespace

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

}  // namespace aggregate_power
