// The manifest of a `dcgm-power` package: what was to be recorded, and by whom. Contract.md C.1,
// C.4.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text/json_value.h"

namespace aggregate_power {

// A GPU of a host. They sort as the producer sorts them.
struct DeviceKey {
  std::string hostname;
  std::int64_t gpu_index = 0;
  auto operator<=>(const DeviceKey&) const = default;
  std::string text() const;  // "host/3"
};

// What a worker used a GPU for.
struct Assignment {
  std::string role;  // prefill, decode, agg
  std::int64_t worker_index = 0;
  std::optional<std::int64_t> het_group;
};

struct ExpectedDevice {
  DeviceKey key;
  std::vector<Assignment> assignments;  // one at least
};

// One measured load.
struct WindowKey {
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  auto operator<=>(const WindowKey&) const = default;
  std::string text() const;  // "sa-bench/4"
};

// These throw Error when the manifest is not what a producer writes. A list that is not there is
// empty.
std::vector<ExpectedDevice> expected_devices(const JsonValue& manifest);
std::vector<WindowKey> expected_windows(const JsonValue& manifest);

std::set<DeviceKey> keys_of(const std::vector<ExpectedDevice>& devices);

struct PackageContent {
  JsonValue manifest;
  std::vector<ExpectedDevice> devices;
  std::vector<WindowKey> windows;
};

// What is wrong with its identity, its status and its counts: a sentence each.
std::vector<std::string> manifest_faults(const JsonValue& manifest);

// What speaks against the clocks of the nodes, a sentence; nothing where all are in step, or the
// producer did not ask. Contract-october.md 2.7.
std::optional<std::string> clock_fault(const JsonValue& manifest);

}  // namespace aggregate_power
