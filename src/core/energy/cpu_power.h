// Energy of CPU sockets and their modules over one window, and whether the samples suffice for it.
// Pure arithmetic: no files, no clock, no printing. Contract.md F.4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

inline constexpr std::int64_t kSocketsPerHost = 2;
inline constexpr double kMaxCpuSampleGapS = 3.0;

// The kind of a sensor, from the name that the recorder gives it: "CPU0:cpuSidePowerUsageW", "Grace
// Power Socket 0". Returns nullopt for names that do not count.
std::optional<CpuSensor> cpu_sensor(std::string_view recorded_name);

struct CpuPowerRequest {
  std::optional<Window> window;  // the GPUs'
  std::vector<std::string> expected_hosts;
  std::optional<std::string> expected_source;
};

// Gathers samples in any order. Memory is 16 to 32 bytes per sample and series.
class CpuPowerGatherer {
 public:
  // `is_of_hosts`: names of sensors are those that hosts record.
  explicit CpuPowerGatherer(bool is_of_hosts) : is_of_hosts_(is_of_hosts) {}

  void take(const CpuSample& sample);
  // Checks and integrates the samples. `faults` are those of the files, found before. Call it once.
  CpuPower finish(const CpuPowerRequest& request, const Reasons& faults);

 private:
  using Series = std::vector<Sample>;
  using Socket = std::pair<std::string, std::int64_t>;  // host and number
  struct Feed {
    CpuSensor sensor;
    std::size_t family;  // the metrics' family
  };

  const std::optional<CpuSensor>& sensor_of(const std::string& recorded_name);
  bool has_duplicates();
  void drop_incomplete_modules(Window window, CpuPower& result);
  bool all_have(CpuSensor sensor) const;
  std::vector<Feed> choose_feeds(CpuSensor headline) const;
  void integrate(Window window, CpuPower& result);

  std::map<std::string, std::optional<CpuSensor>> sensors_;
  std::map<Socket, std::array<Series, kCpuSensors>> sockets_;
  std::array<std::set<std::string>, kCpuSensors> sources_;
  std::uint64_t rows_ = 0;
  bool is_of_hosts_;
  bool has_module_column_ = false;
};

}  // namespace aggregate_power
