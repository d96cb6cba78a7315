// The manifest of a `dcgm-power` package: what was to be recorded, and by whom. Contract.md C.1,
// C.4.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aggregate_power/contract.h"
#include "base/text/json_value.h"

namespace aggregate_power {

// A GPU of a host. Keys sort as the producer sorts them.
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
  std::vector<Assignment> assignments;  // at least one
};

// One measured load.
struct WindowKey {
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  auto operator<=>(const WindowKey&) const = default;
  std::string text() const;  // "sa-bench/4"
};

// These throw Error if the manifest is not what a producer writes. A missing list is empty.
std::vector<ExpectedDevice> expected_devices(const JsonValue& manifest);
std::vector<WindowKey> expected_windows(const JsonValue& manifest);

std::set<DeviceKey> keys_of(const std::vector<ExpectedDevice>& devices);

struct PackageContent {
  JsonValue manifest;
  std::vector<ExpectedDevice> devices;
  std::vector<WindowKey> windows;
};

// Faults of its identity, its status and its counts, one sentence each.
std::vector<std::string> manifest_faults(const JsonValue& manifest, Contract contract);

// What speaks against the clocks of the nodes, in one sentence. Returns nullopt if all clocks are
// in step, or the producer did not check. Contract-october.md 2.7.
std::optional<std::string> clock_fault(const JsonValue& manifest);

// When the recorder says that it ran; one sentence for each contradiction with the samples, which
// are from `first_unix_s` to `last_unix_s`. Contract-october.md 2.6.
std::vector<std::string> lifecycle_faults(const JsonValue& manifest, double first_unix_s,
                                          double last_unix_s);

}  // namespace aggregate_power
