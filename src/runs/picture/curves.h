// The power of each device and of all together, as much of it as a picture shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "chart/curve.h"
#include "core/telemetry/samples.h"
#include "energy/uncertainty/gather.h"

namespace aggregate_power {

struct PowerCurvesOptions {
  std::optional<Window> window;  // of the load; nullopt: the whole recording counts
  double max_gap_s = 3;          // a longer gap breaks a line; a line that is held has none
  Interpolation interpolation = Interpolation::linear;
  bool are_means = false;      // each reading is one of the time since the reading before
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

// What the rows of a recording say that is shown beside the lines.
class CurveRows {
 public:
  explicit CurveRows(const PowerCurvesOptions& options)
      : with_limits_(options.with_limits), invalid_(options.max_gap_s) {}

  GpuQuantitySet states() const {
    return with_limits_ ? quantity_set({GpuQuantity::power_limit_w}) : GpuQuantitySet();
  }
  // The next rows, in the file's order.
  void take(const Batch& batch);
  std::span<const double> limits_w(std::uint32_t device) const;
  // Sets what is about the rows.
  void give(PowerCurves& curves) const;

 private:
  void take_limits(const Batch& batch);

  bool with_limits_;
  std::vector<double> newest_limits_w_;        // by device
  std::vector<std::vector<double>> limits_w_;  // the same
  FewStretches invalid_;
  std::uint64_t unnamed_rows_ = 0;
  std::uint64_t unplaced_rows_ = 0;
};

// `samples` are all of the recording, in time order, and `rows` took all its rows. `pauses`:
// stretches without a recorder.
PowerCurves power_curves(const PowerCurvesOptions& options, const Samples& samples,
                         const CurveRows& rows, std::span<const std::string> devices,
                         std::span<const Window> pauses);

}  // namespace aggregate_power
