// Checks a short recording: what a run that is recorded so would be worth.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text/unicode.h"
#include "energy/expected_interval.h"
#include "energy/placed_readings.h"
#include "energy/sensor_period.h"
#include "energy/survey.h"
#include "recorders/recording.h"
#include "runs/checkup.h"
#include "runs/pass.h"
#include "runs/understood_sensor.h"

namespace aggregate_power {
namespace {

using enum CheckupItem::Status;

// The samples of each device, up to a number that a short recording does not reach.
class CheckupSamples final : public Analysis {
 public:
  void take(std::span<const Reading> readings) override {
    for (const Reading& reading : readings) {
      if (reading.kind != Reading::Kind::power && reading.kind != Reading::Kind::no_device)
        continue;
      std::vector<Sample>& samples = devices[reading.device];
      if (samples.size() < kMost) samples.push_back({reading.unix_s, reading.watts});
    }
  }
  std::map<std::uint32_t, std::vector<Sample>> devices;

 private:
  static constexpr std::size_t kMost = 1 << 20;
};

struct Seen {
  SeriesFacts series;
  std::vector<DeviceSurvey> devices;
  std::vector<std::vector<Sample>> samples;
  std::string zone;
  std::string zone_source;
  bool is_naive = false;
  std::string fault;
  std::vector<SensorModel> sensors;  // each that is possible; empty: nobody knows
};

Seen see(const CheckupRequest& request) {
  Recording recording(request.telemetry, request.zone, request.columns);
  recording.require_opened();
  Seen seen;
  if (!recording.faults().empty()) {
    seen.fault = recording.faults().text();
    return seen;
  }
  Telemetry telemetry = recording.open();
  seen.series = telemetry.facts();
  if (!seen.series.has_times() || !seen.series.has_power()) {
    seen.fault = seen.series.reasons.text();
    return seen;
  }
  Passes passes(true);
  Surveyor& surveyor = passes.add(Surveyor());
  CheckupSamples& keeper = passes.add(CheckupSamples());
  try {
    passes.read(recording, telemetry);
  } catch (const TelemetryError& error) {
    seen.fault = error.what();
    return seen;
  }
  seen.series.counter = telemetry.counter();
  seen.devices = surveyor.devices(telemetry.devices());
  for (auto& [device, samples] : keeper.devices) {
    std::ranges::stable_sort(samples, {}, &Sample::unix_s);
    seen.samples.push_back(std::move(samples));
  }
  seen.zone = telemetry.zone().name();
  seen.zone_source = recording.zone_source();
  seen.is_naive = telemetry.naive_stamps() > 0;
  if (!seen.samples.empty()) {
    seen.sensors = sensor_models(recording, seen.series, request.gpu, {},
                                 median_period_s(seen.samples.front()));
  }
  if (seen.devices.empty()) seen.fault = "it has no usable power samples";
  return seen;
}

double most(const std::vector<DeviceSurvey>& devices, std::optional<double> DeviceSurvey::*what) {
  double most = 0;
  for (const DeviceSurvey& device : devices) most = std::max(most, (device.*what).value_or(0));
  return most;
}

CheckupItem check_sampling(double period_s, double gap_s) {
  const std::string found = fmt::format("every {:.3f} s, longest gap {:.3f} s", period_s, gap_s);
  if (period_s == 0) {
    return {"sampling", problem, "one sample of each GPU", "record for at least a minute"};
  }
  if (gap_s > kDefaultMaxSampleGapS) {
    return {"sampling", problem, found,
            "a gap above 3 s makes a run not valid: sample every second or faster"};
  }
  if (period_s > 1.05) {
    return {"sampling", advice, found, "sample every second or faster: edges are known better"};
  }
  return {"sampling", ok, found};
}

CheckupItem check_refresh(const Seen& seen, double period_s) {
  double refresh_s = 0;
  for (const std::vector<Sample>& samples : seen.samples) {
    refresh_s = std::max(refresh_s, sensor_period_s(samples));
  }
  const std::string found = fmt::format("a new value every {:.3f} s", refresh_s);
  if (refresh_s > 1.5 * period_s) {
    return {
        "refresh", advice, found,
        "readings repeat: sampling faster than the sensor shows nothing more; if the GPUs were idle, record them under load"};
  }
  return {"refresh", ok, found};
}

CheckupItem check_averaging(const Seen& seen, const CheckupRequest& request) {
  if (seen.sensors.size() != 1) {
    return {"averaging", advice, "the sensor's window is unknown",
            "record the GPUs' name and power.draw.average, too, or name the model with --gpu"};
  }
  const SensorModel* const model = seen.sensors.data();
  const std::string found = fmt::format("a reading is a mean over {:g} s", model->window_s);
  if (request.shortest_phase_s && *request.shortest_phase_s < 2 * model->window_s) {
    return {
        "averaging", advice, found,
        fmt::format("phases of {} s are blurred: record power.draw.instant, or an energy counter",
                    *request.shortest_phase_s)};
  }
  return {"averaging", ok, found};
}

CheckupItem check_zone(const Seen& seen) {
  if (!seen.is_naive) return {"clock and zone", ok, "the stamps state their offset"};
  const std::string found = fmt::format("{}, from {}", seen.zone, seen.zone_source);
  if (seen.zone_source != "default") return {"clock and zone", ok, found};
  return {
      "clock and zone", advice, found,
      "nothing states the zone of the stamps: record with aggregate-power-monitor, or give --timezone"};
}

CheckupItem check_counter(const Seen& seen) {
  if (seen.series.counter) return {"energy counter", ok, seen.series.counter->name};
  return {"energy counter", advice, "none",
          "record one beside the power: it also counts between two samples"};
}

// The part of a recording with load, and the rest: above and below the middle of its range.
struct Levels {
  double idle_w = 0;
  double load_w = 0;
  double deviation_w = 0;
  bool has_both = false;
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Levels levels_of(const Seen& seen) {
  std::vector<double> all;
  for (const auto& samples : seen.samples) {
    for (const Sample& sample : samples) all.push_back(sample.watts);
  }
  const auto [least, greatest] = std::ranges::minmax(all);
  Levels levels;
  levels.has_both = greatest > 1.5 * least && greatest > 0;
  const double middle = levels.has_both ? (least + greatest) / 2 : least;
  std::vector<double> idle;
  std::vector<double> load;
  for (const double watts : all) (watts < middle ? idle : load).push_back(watts);
  levels.load_w = mean_of(load);
  levels.idle_w = levels.has_both ? mean_of(idle) : 0;
  double squares = 0;
  for (const double watts : load) squares += (watts - levels.load_w) * (watts - levels.load_w);
  if (load.size() > 1)
    levels.deviation_w = std::sqrt(squares / static_cast<double>(load.size() - 1));
  return levels;
}

CheckupItem check_idle(const Levels& levels) {
  if (levels.has_both) {
    return {"idle level", ok,
            fmt::format("{:.1f} W each, {:.1f} W under load", levels.idle_w, levels.load_w)};
  }
  return {"idle level", advice, fmt::format("{:.1f} W each throughout", levels.load_w),
          "record some time without a load and some with one: the idle level is then known"};
}

CheckupItem check_interval(const CheckupRequest& request, const Seen& seen, const Levels& levels,
                           double period_s) {
  RunToExpect run;
  run.gpus = seen.devices.size();
  run.window_s = request.window_s;
  run.load_w = levels.load_w;
  run.idle_w = levels.idle_w;
  run.deviation_w = levels.deviation_w;
  run.period_s = period_s > 0 ? period_s : 1;
  if (!(run.load_w > 0)) return {"expected interval", problem, "the readings are 0 W", {}};
  const SensorModel model = seen.sensors.empty() ? SensorModel{} : seen.sensors.front();
  const ExpectedInterval interval = expected_interval(run, model);
  const auto& widest =
      *std::ranges::max_element(interval.components, {}, &ExpectedComponent::relative);
  const std::string found = fmt::format("95 %: energy of {:g} s +- {:.1f} %, mostly {}",
                                        request.window_s, 100 * interval.half_width(), widest.name);
  if (widest.name != "edges" && widest.name != "sampling") return {"expected interval", ok, found};
  return {"expected interval", advice, found, "measure for longer, or sample faster"};
}

}  // namespace

Checkup check_recording(const CheckupRequest& request) {
  const Seen seen = see(request);
  if (!seen.fault.empty()) {
    return {{"recording", problem, seen.fault,
             "'aggregate-power inspect' shows how the file is understood"}};
  }
  const double period_s = most(seen.devices, &DeviceSurvey::median_interval_s);
  const Levels levels = levels_of(seen);
  const Sensor& sensor = seen.series.sensor;
  return {{"recorder", ok,
           fmt::format("{}, {} of {} GPUs ({})", sensor.collector, sensor.name, seen.devices.size(),
                       seen.series.schema.empty() ? "unknown format" : seen.series.schema)},
          check_sampling(period_s, most(seen.devices, &DeviceSurvey::max_gap_s)),
          check_refresh(seen, period_s),
          check_averaging(seen, request),
          check_zone(seen),
          check_counter(seen),
          check_idle(levels),
          check_interval(request, seen, levels, period_s)};
}

}  // namespace aggregate_power
