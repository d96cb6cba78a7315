// Gathers the power of each device and of all together, as much of it as a picture shows, in one
// pass and in bounded memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "drawing/decimate.h"
#include "energy/analysis.h"
#include "energy/power_sum.h"
#include "energy/reading_gatherer.h"

namespace aggregate_power {

struct PowerCurvesOptions {
  std::optional<Window> window;  // of the load; nullopt: the whole recording counts
  double max_gap_s = 3;          // a longer gap breaks a line; a line that is held has none
  Interpolation interpolation = Interpolation::linear;
  bool with_limits = false;    // the recording has power limits
  std::size_t recordings = 1;  // that share the picture, and its size
};

// One device's.
struct DeviceCurve {
  std::string name;
  std::vector<Polyline> lines;  // x: Unix time, y: watts
  std::uint64_t samples = 0;    // distinct stamps; readings with one stamp are averaged
  double first_unix_s = 0;
  double last_unix_s = 0;
  double energy_j = 0;  // from the first to the last sample, if there is no gap
  double longest_gap_s = 0;
  double highest_w = 0;
  std::vector<double> limits_w;  // each once, of the first few
};

struct PowerCurves {
  std::vector<DeviceCurve> devices;  // in the order of their numbers
  std::vector<Polyline> sum;         // where the power of every device is known
  std::vector<Window> gaps;          // of any device; neighbouring ones may be given as one
  std::uint64_t gap_count = 0;
  std::vector<Window> invalid;  // rows that state a time and no valid power
  std::uint64_t invalid_rows = 0;
  std::uint64_t unnamed_rows = 0;        // that state a power of no device
  std::uint64_t unplaced_rows = 0;       // without a time
  std::vector<GatheredReadings> beside;  // near the window and outside of it, by device
};

// Some stretches in time order, as few as a picture needs.
class FewStretches {
 public:
  // Those less than `join_s` apart become one.
  explicit FewStretches(double join_s) : join_s_(join_s) {}
  void add(Window stretch);
  std::vector<Window> sorted() const;
  std::uint64_t count() const { return count_; }

 private:
  double join_s_;
  std::vector<Window> kept_;
  std::uint64_t count_ = 0;
};

class PowerCurveGatherer final : public Analysis {
 public:
  explicit PowerCurveGatherer(const PowerCurvesOptions& options);

  Wants wants() const override {
    return {.order = Order::by_time,
            .states = options_.with_limits ? quantity_set({GpuQuantity::power_limit_w})
                                           : GpuQuantitySet()};
  }
  std::span<const Reading> select(const Batch& batch) override;
  void take(std::span<const Reading> readings) override;
  bool out_of_order() const override { return is_out_of_order_ || sum_of_all_.is_late(); }
  void start_over() override;

  // Call it once. `pauses`: stretches without a recorder.
  PowerCurves finish(std::span<const std::string> devices, std::span<const Window> pauses);

 private:
  struct Device {
    // The newest stamp, whose readings are averaged; count 0: none.
    double unix_s = 0;
    double watts_sum = 0;
    std::uint64_t count = 0;
    Sample before = {};  // the stamp before it
    std::uint64_t samples = 0;
    double first_unix_s = 0;
    double energy_j = 0;
    double longest_gap_s = 0;
    double highest_w = 0;
    Decimator line;
    std::vector<double> limits_w = {};
    std::vector<Sample> beside = {};
  };
  std::size_t columns_of_line() const;
  Device& device(std::uint32_t number);
  void take_power(const Reading& reading);
  void take_other(const Reading& reading);
  void end_stamp(std::uint32_t number, Device& device);
  void take_sum(const PowerSum::Given& given);
  bool is_beside(double unix_s) const;
  void add_uncovered(const Device& device);

  PowerCurvesOptions options_;
  std::vector<std::optional<Device>> devices_;  // by number
  std::vector<double> newest_limits_w_;         // the same
  std::size_t columns_;                         // of each device's line
  std::size_t met_ = 0;
  PowerSum sum_of_all_;
  Decimator sum_;
  bool sum_is_finite_ = true;  // up to its last knot
  FewStretches gaps_;
  FewStretches invalid_;
  std::uint64_t unnamed_rows_ = 0;
  std::uint64_t unplaced_rows_ = 0;
  bool is_out_of_order_ = false;
  bool is_second_pass_ = false;
};

}  // namespace aggregate_power
