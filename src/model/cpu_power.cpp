// Names of CPU sensors.
#include "aggregate_power/cpu_power.h"

namespace aggregate_power {
std::string_view name(CpuSensor sensor) {
  constexpr std::string_view kNames[kCpuSensors] = {"module", "grace_socket", "dcgm_cpu_rail",
                                                    "cpu_rail", "cpu_sysio"};
  return kNames[static_cast<std::size_t>(sensor)];
}

}  // namespace aggregate_power
