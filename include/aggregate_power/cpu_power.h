// CPU power of the nodes of a run, judged separately from the GPU power.
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

// What a socket's samples measure. CPU power is taken from the first of the first three sensors
// that all sockets have; rails accompany the Grace sensor.
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
  // Relative to the logs; empty unless the hosts made a recording of their own, too.
  std::string samples_file;
  std::vector<std::string> notes;  // what was left out without a reason, for people
  // Keyed by "host/socket0/grace_socket", ordered by host and socket.
  std::vector<std::pair<std::string, double>> max_sample_gap_s;  // of the bracketed ones
  std::vector<std::pair<std::string, double>> energy_j;          // empty if there are reasons
  Metrics metrics;                                               // of a valid run

  // Numbers that could not be written are not valid either.
  void withhold(const Reasons& unwritten) {
    if (unwritten.empty()) return;
    reasons.add(unwritten);
    energy_j.clear();
    metrics.clear();
  }
};

}  // namespace aggregate_power
