// Compares the hardware's own energy counters with the integral of the samples. Only advice, never
// a verdict. Contract.md B.8: the counters bracket the monitor's whole life, so the whole file is
// integrated: this checks the sensor, not the window.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "energy/analysis.h"

namespace aggregate_power {

// The trapezoid over every reading of a file, negative ones included, device by device.
class StreamEnergy final : public Analysis {
 public:
  Wants wants() const override { return {.order = Order::by_time}; }
  void take(std::span<const Reading> readings) override;
  // A device's stamps went backwards: nothing here is right.
  bool out_of_order() const override { return out_of_order_; }
  void start_over() override { *this = StreamEnergy(); }
  void finish();

  struct Device {
    bool seen = false;
    double first_unix_s = 0;
    double last_unix_s = 0;
    double energy_j = 0;
    // Readings with one stamp count as sorted by power: the steps between them have no width.
    double highest_watts_before = 0;
    double lowest_watts = 0;
    double highest_watts = 0;
    double stamp_before_unix_s = 0;
  };
  std::span<const Device> devices() const { return devices_; }  // by Reading::device

 private:
  void add(Device& device, double unix_s, double watts);
  static void close_stamp(Device& device);

  bool out_of_order_ = false;
  std::vector<Device> devices_;
};

using EnergySnapshot = std::map<std::string, double>;  // joules by GPU

// `names` is indexed by Reading::device. `stream` must be finished.
CounterCheck check_counters(const EnergySnapshot& start, const EnergySnapshot& end,
                            const StreamEnergy& stream, std::span<const std::string> names);

}  // namespace aggregate_power
