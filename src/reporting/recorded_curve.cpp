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
  Telemetry telemetry = recording.open();
  const SeriesFacts& facts = telemetry.facts();
  if (!facts.has_times() || !facts.has_power()) return std::nullopt;
  const PowerCurvesOptions options{
      .window = window, .interpolation = facts.interpolation, .with_limits = facts.has_power_limit};
  CurveRows rows(options);
  Samples samples(kAlways);
  read_rows(recording, telemetry, false, rows.states(), [&](const Batch& batch) {
    rows.take(batch);
    samples.take(batch.readings);
  });
  samples.sort();
  const PowerCurves curves =
      power_curves(options, samples, rows, telemetry.devices(), telemetry.pauses());
  RecordedCurve recorded{run_curve(curves.sum, curves.devices.size(), window), only_limit(curves)};
  if (!(recorded.curve.peak_w > 0)) return std::nullopt;
  return recorded;
}

}  // namespace aggregate_power
