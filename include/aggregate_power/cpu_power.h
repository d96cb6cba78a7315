// CPU power of the nodes of a run, which has a verdict of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/metric.h"
#include "aggregate_power/reason.h"

namespace aggregate_power {

// What a socket's samples measure. Of the first three, the first that all sockets have is the one
// that decides; rails come beside the Grace sensor.
enum class CpuSensor { module, grace_socket, dcgm_cpu_rail, cpu_rail, cpu_sysio };
inline constexpr std::size_t kCpuSensors = 5;

std::string_view name(CpuSensor sensor);  // "grace_socket"

struct CpuPower {
  Reasons reasons;  // empty: valid
  std::optional<CpuSensor> sensor;
  std::optional<std::string> source;
  std::size_t expected_sockets = 0;
  std::size_t observed_sockets = 0;
  std::uint64_t rows = 0;
  // By "host/socket0/grace_socket", in order of hosts and sockets.
  std::vector<std::pair<std::string, double>> max_sample_gap_s;  // of those that are bracketed
  std::vector<std::pair<std::string, double>> energy_j;          // when no series decides otherwise
  Metrics metrics;                                               // of a valid run
};

}  // namespace aggregate_power
