// Gathers the sum of the GPUs around the window.
#include "reporting/recorded_curve.h"

#include "runs/power_curves.h"

namespace aggregate_power {
namespace {

std::optional<double> only_limit(const PowerCurves& curves) {
  std::optional<double> limit_w;
  for (const DeviceCurve& device : curves.devices) {
    for (const double each : device.limits_w) {
      if (limit_w && *limit_w != each) return std::nullopt;
      limit_w = each;
    }
  }
  return limit_w;
}

}  // namespace

std::optional<RecordedCurve> recorded_curve(const Recording& recording, Window window) {
  if (!recording.faults().empty()) return std::nullopt;
  PowerCurvesOptions options{.window = window};
  std::optional<CurveRows> rows;
  Samples samples(kAlways);
  const auto begin = [&](const Telemetry& opened) {
    options.interpolation = opened.facts().interpolation;
    options.with_limits = opened.facts().has_power_limit;
    return rows.emplace(options).states();
  };
  const auto take = [&](const Batch& batch) {
    rows->take(batch);
    samples.take(batch.readings);
  };
  const Telemetry telemetry =
      read_whole(recording, {.take = take, .begin = begin, .may_use_threads = false});
  if (!rows) return std::nullopt;
  samples.sort();
  const PowerCurves curves =
      power_curves(options, samples, *rows, telemetry.devices(), telemetry.pauses());
  RecordedCurve recorded{run_curve(curves.sum, curves.devices.size(), window), only_limit(curves)};
  if (!(recorded.curve.peak_w > 0)) return std::nullopt;
  return recorded;
}

}  // namespace aggregate_power
