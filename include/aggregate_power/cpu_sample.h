// One row of a recording of CPU power.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aggregate_power {

struct CpuSample {
  double unix_s = 0;
  std::string hostname;
  std::string source;  // "acpi", "dcgm", ...
  std::string sensor;
  std::int64_t socket_id = 0;
  double power_w = 0;
  std::optional<double> cpu_rail_w;
  std::optional<double> soc_w;
  std::optional<double> module_w;
  bool has_module_column = false;  // the recording has one for module_w, which may be blank
};

}  // namespace aggregate_power
