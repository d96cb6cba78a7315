// Compares the GPUs of a package with its manifest and its topology.
#include "packages/srt_slurm/package.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aggregate_power {
namespace {

using GpusByRole = std::map<std::string, std::int64_t>;

std::string group_text(const std::optional<std::int64_t>& group) {
  return group ? fmt::format("{}", *group) : "None";
}

std::string role_names(const GpusByRole& counts) {
  std::vector<std::string> names;
  for (const auto& [role, count] : counts) names.push_back(role);
  return joined_text(names, ", ");
}

std::vector<std::string> role_faults(const Topology& topology, const GpusByRole& wanted) {
  GpusByRole found;
  for (const auto& [device, role] : topology.roles) ++found[role];
  std::vector<std::string> faults;
  const auto role_of = [](const auto& count) -> const std::string& { return count.first; };
  if (!std::ranges::equal(wanted, found, {}, role_of, role_of)) {
    faults.push_back(
        fmt::format("expected roles {}, found {}", role_names(wanted), role_names(found)));
  }
  for (const auto& [role, count] : wanted) {
    if (found[role] != count) {
      faults.push_back(fmt::format("expected {} {} GPUs, found {}", count, role, found[role]));
    }
  }
  return faults;
}

// Each role must be in one het group of its own, or none of them in any.
std::vector<std::string> group_faults(const std::vector<ExpectedDevice>& devices,
                                      const Topology& topology) {
  std::vector<std::string> faults;
  std::map<std::string, std::set<std::optional<std::int64_t>>> groups;
  for (const ExpectedDevice& device : devices) {
    groups[topology.roles.at(device.key)].insert(topology.het_groups.at(device.key.hostname));
  }
  const bool is_one_job = std::ranges::all_of(
      topology.het_groups, [](const auto& host) { return !host.second.has_value(); });
  std::set<std::int64_t> taken;
  bool is_shared = false;
  for (const auto& [role, of_role] : groups) {
    if (of_role.size() != 1) {
      faults.push_back(fmt::format("role {} spans het groups {}, expected one", role,
                                   fmt::join(mapped<std::string>(of_role, group_text), ", ")));
      continue;
    }
    const std::optional<std::int64_t>& group = *of_role.begin();
    if (group) {
      is_shared |= !taken.insert(*group).second;
    } else if (!is_one_job) {
      faults.push_back(
          fmt::format("role {} has het group None while other devices have numbered ones", role));
    }
  }
  if (is_shared) faults.emplace_back("roles share a het group");
  return faults;
}

// Every device has one UUID, and no two devices have the same.
bool is_one_to_one(const std::vector<SeenDevice>& observed) {
  std::set<std::string> uuids;
  return std::ranges::all_of(observed, [&](const SeenDevice& device) {
    return device.uuids.size() == 1 && uuids.insert(device.uuids[0]).second;
  });
}

// As shown in messages; empty: there is none.
std::string first_not_in(const std::set<DeviceKey>& a, const std::set<DeviceKey>& b) {
  const auto found = std::ranges::find_if(a, [&](const auto& key) { return !b.contains(key); });
  return found == a.end() ? std::string() : ": " + found->text();
}

}  // namespace

Topology topology_of(const std::vector<ExpectedDevice>& devices) {
  Topology topology;
  const auto differ = [](const auto& assignments, auto member) {
    return std::ranges::any_of(assignments, [&](const Assignment& assignment) {
      return assignment.*member != assignments.front().*member;
    });
  };
  for (const ExpectedDevice& device : devices) {
    if (differ(device.assignments, &Assignment::role)) {
      topology.roles.clear();
      topology.conflicts.emplace_back("conflicting_worker_roles");
      break;
    }
    topology.roles[device.key] = device.assignments.front().role;
  }
  for (const ExpectedDevice& device : devices) {
    const auto group = device.assignments.front().het_group;
    const auto [known, is_new] = topology.het_groups.emplace(device.key.hostname, group);
    if (differ(device.assignments, &Assignment::het_group) || known->second != group) {
      topology.het_groups.clear();
      topology.conflicts.emplace_back("conflicting_het_groups");
      break;
    }
  }
  return topology;
}

PackageFaults device_faults(const std::vector<ExpectedDevice>& devices, const Topology& topology,
                            const std::vector<SeenDevice>& observed) {
  PackageFaults faults;
  const auto fault = [&](std::string_view code, const std::string& which) {
    faults.add(fmt::format("{} (device identity/topology{})", code, which));
  };
  const std::set<DeviceKey> expected = keys_of(devices);
  std::set<DeviceKey> found;
  for (const SeenDevice& device : observed) found.insert(device.key);
  const std::string missing = first_not_in(expected, found);
  if (expected.empty() || !missing.empty()) fault("expected_device_missing", missing);
  const std::string unexpected = first_not_in(found, expected);
  if (!unexpected.empty()) fault("unexpected_device", unexpected);
  if (!is_one_to_one(observed)) fault("gpu_uuid_changed", "");
  for (const std::string& conflict : topology.conflicts) fault(conflict, "");
  return faults;
}

std::vector<std::string> topology_faults(const std::vector<ExpectedDevice>& devices,
                                         const Topology& topology,
                                         const std::map<std::string, std::int64_t>& wanted) {
  std::vector<std::string> faults = role_faults(topology, wanted);
  if (std::ranges::find(topology.conflicts, "conflicting_het_groups") != topology.conflicts.end()) {
    faults.emplace_back("conflicting_het_groups (topology)");
    return faults;
  }
  const std::vector<std::string> of_groups = group_faults(devices, topology);
  append(faults, of_groups);
  return faults;
}

}  // namespace aggregate_power
