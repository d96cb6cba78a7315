// Writes, reads and uses profiles.
#include "runs/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/sensor_table.h"

namespace aggregate_power {
namespace {

constexpr const char* kProfileSchema = "aggregate-power/calibration-1";
// A load outside of the range that was calibrated is modelled if it is this near to it.
constexpr double kBeyondRange = 0.05;
// Watts of a node for each watt of its GPUs: less is more than sensors are wrong by, and no losses,
// fans and processors make it more.
constexpr double kLeastSlope = 0.9;
constexpr double kMostSlope = 20;

Json number_json(const BoundedNumber& number) {
  return {{"value", number.value},
          {"standard_uncertainty", number.standard},
          {"low", number.low},
          {"high", number.high}};
}

BoundedNumber number_in(const Json& json) {
  return {json.at("value"), json.at("standard_uncertainty"), json.at("low"), json.at("high")};
}

Json meter_json(const CalibrationProfile& profile) {
  const Calibration& line = profile.line;
  return {{"witness", profile.meter},        {"source", profile.source},
          {"scope", profile.scope},          {"accuracy", number_or_null(profile.meter_accuracy)},
          {"refresh_s", line.refresh_s},     {"step", line.step_w},
          {"lag_s", number_json(line.lag_s)}};
}

Json gpus_json(const CalibratedGpus& gpus) {
  return {{"model", text_or_null(gpus.model)},
          {"driver", text_or_null(gpus.driver)},
          {"count", gpus.count},
          {"sensor",
           {{"collector", gpus.sensor.collector},
            {"name", gpus.sensor.name},
            {"scope", gpus.sensor.scope},
            {"averaging", gpus.sensor.averaging}}}};
}

std::string text_in(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

CalibratedGpus gpus_in(const Json& json) {
  const Json& sensor = json.at("sensor");
  return {text_in(json.at("model")),
          text_in(json.at("driver")),
          json.at("count"),
          {sensor.at("collector"), sensor.at("name"), sensor.at("scope"), sensor.at("averaging")}};
}

CalibrationProfile profile_in(const Json& json) {
  CalibrationProfile profile;
  profile.gpus = gpus_in(json.at("gpus"));
  const Json& meter = json.at("meter");
  profile.meter = meter.at("witness");
  profile.source = meter.at("source");
  profile.scope = meter.at("scope");
  if (!meter.at("accuracy").is_null()) profile.meter_accuracy = meter.at("accuracy").get<double>();
  profile.last_unix_s = json.at("recorded_until_unix_s");
  Calibration& line = profile.line;
  line.slope = number_in(json.at("slope"));
  line.intercept_w = number_in(json.at("idle_w"));
  const Json& center = json.at("center");
  line.gpu_center_w = center.at("gpu_power_w");
  line.center_w = number_in(center.at("meter_w"));
  line.gpu_least_w = json.at("gpu_power_range_w").at(0);
  line.gpu_most_w = json.at("gpu_power_range_w").at(1);
  line.slow_w = json.at("slow_w");
  line.slow_s = json.at("slow_s");
  line.freedom = json.at("degrees_of_freedom");
  return profile;
}

bool is_usable(const CalibrationProfile& profile) {
  const Calibration& line = profile.line;
  return line.slope.value > 0 && line.slope.standard >= 0 && line.center_w.standard >= 0 &&
         line.freedom > 0 && line.slow_s > 0 && line.gpu_least_w <= line.gpu_most_w &&
         (profile.scope == "node" || profile.scope == "gpu");
}

CalibratedGpus gpus_of(const RunOptions& run, const Result& result) {
  CalibratedGpus gpus{.count = result.gpus.size()};
  if (!result.telemetry) return gpus;
  const SeriesFacts& series = result.telemetry->series;
  gpus.sensor = series.sensor;
  if (series.gpu_models.size() == 1) gpus.model = series.gpu_models[0];
  if (gpus.model.empty()) gpus.model = run.uncertainty.gpu;
  return gpus;
}

// The variance of the mean over some time of what keeps its value for `slow_s`, relative.
double mean_of_slow(double seconds, double slow_s) {
  const double ratio = slow_s / seconds;
  return 2 * ratio * (1 - ratio * -std::expm1(-1 / ratio));
}

void model(const CalibrationProfile& profile, const Result& result, ModelledNode& node) {
  const Calibration& line = profile.line;
  node.reason = impossible_slope(profile);
  if (!node.reason.empty()) return;
  const double seconds = result.load->window.duration_s();
  double gpu_w = 0;
  for (const GpuResult& gpu : result.gpus) gpu_w += gpu.energy.energy_j / seconds;
  const double beyond_w = kBeyondRange * line.gpu_most_w;
  if (gpu_w < line.gpu_least_w - beyond_w || gpu_w > line.gpu_most_w + beyond_w) {
    node.reason = fmt::format(
        "the GPUs drew {:.1f} W, and {:.1f} to {:.1f} W were calibrated: calibrate under such a load, too",
        gpu_w, line.gpu_least_w, line.gpu_most_w);
    return;
  }
  const double watts = line.center_w.value + line.slope.value * (gpu_w - line.gpu_center_w);
  const double slow_w2 = line.slow_w * line.slow_w * mean_of_slow(seconds, line.slow_s);
  const double standard_w =
      std::sqrt(std::pow(line.center_w.standard, 2) + slow_w2 +
                std::pow(line.slope.standard * (gpu_w - line.gpu_center_w), 2) +
                std::pow(profile.meter_accuracy.value_or(0) * watts, 2));
  const double half_w = student_t_quantile(0.975, line.freedom) * standard_w;
  if (watts + half_w < gpu_w) {
    node.reason = fmt::format(
        "the node would draw {:.1f} W, and its GPUs drew {:.1f} W: calibrate with a meter of the whole node",
        watts, gpu_w);
    return;
  }
  node.energy_j = watts * seconds;
  node.low_j = (watts - half_w) * seconds;
  node.high_j = (watts + half_w) * seconds;
}

}  // namespace

Json profile_json(const CalibrationProfile& profile) {
  const Calibration& line = profile.line;
  Json inputs = Json::object();
  for (const auto& [path, file] : profile.inputs) {
    inputs[path] = {{"role", file.role}, {"bytes", file.bytes}, {"xxh3_128", file.hash}};
  }
  return {{"schema", kProfileSchema},
          {"recorded_until_unix_s", profile.last_unix_s},
          {"recorded_until", unix_and_iso(profile.last_unix_s)},
          {"gpus", gpus_json(profile.gpus)},
          {"meter", meter_json(profile)},
          {"slope", number_json(line.slope)},
          {"idle_w", number_json(line.intercept_w)},
          {"center", {{"gpu_power_w", line.gpu_center_w}, {"meter_w", number_json(line.center_w)}}},
          {"gpu_power_range_w", {line.gpu_least_w, line.gpu_most_w}},
          {"slow_w", line.slow_w},
          {"slow_s", line.slow_s},
          {"scatter_w", line.scatter_w},
          {"degrees_of_freedom", line.freedom},
          {"stretches", line.stretches},
          {"stretch_s", line.stretch_s},
          {"not_separable", inseparable(profile.is_of_gpus())},
          {"inputs", inputs}};
}

CalibrationProfile read_profile(const std::string& path) {
  const std::string text = read_file(path, kContextFile);
  const Json json = parsed_json(text);
  const Json* const schema = find_member(json, "schema");
  const bool is_profile = schema && *schema == kProfileSchema;
  try {
    if (is_profile) {
      CalibrationProfile profile = profile_in(json);
      if (is_usable(profile)) return profile;
    }
  } catch (const Json::exception&) {  // a member is missing, or has another type
  }
  throw Error(fmt::format(
      "{}: it is no profile with schema '{}': 'aggregate-power calibrate --out FILE' writes one",
      printable_path(path), kProfileSchema));
}

std::string profile_mismatch(const CalibrationProfile& profile, const CalibratedGpus& gpus) {
  const CalibratedGpus& own = profile.gpus;
  if (gpus.count != own.count) {
    return fmt::format("it is of {} GPUs, and {} were measured", own.count, gpus.count);
  }
  if (!own.model.empty() && !gpus.model.empty() && !can_be_one_model(own.model, gpus.model)) {
    return fmt::format("it is of the model {}, and {} was measured", printable(own.model),
                       printable(gpus.model));
  }
  if (own.sensor.name != gpus.sensor.name || own.sensor.averaging != gpus.sensor.averaging ||
      own.sensor.scope != gpus.sensor.scope) {
    return fmt::format(
        "it is of the sensor '{}' (averaging: {}), and '{}' (averaging: {}) was read",
        printable(own.sensor.name), printable(own.sensor.averaging), printable(gpus.sensor.name),
        printable(gpus.sensor.averaging));
  }
  return {};
}

std::string impossible_slope(const CalibrationProfile& profile) {
  const BoundedNumber& slope = profile.line.slope;
  const bool is_less = slope.high < kLeastSlope;
  if (profile.is_of_gpus() || (!is_less && slope.low <= kMostSlope)) return {};
  return fmt::format(
      "the meter shows {:.4g} to {:.4g} W for each watt of the GPUs, which no node does: it may {}",
      slope.low, slope.high,
      is_less ? "be one supply of several, which must be added up, or show kW"
              : "show mW, or feed other nodes, too");
}

std::vector<std::string> inseparable(bool is_of_gpus) {
  if (is_of_gpus) {
    return {
        "losses between the meter and the GPUs are in the gain: it is the sensors' own only if the meter is at the GPUs"};
  }
  return {
      "work of processors and memory that rises with the load, fans that follow it, and conversion losses are in the slope",
      "the gain of the GPUs' sensors is in the slope, too: only a meter of the GPUs alone shows it"};
}

UncertaintyOptions with_calibrated_gain(const RunOptions& run, const Result& result) {
  UncertaintyOptions options = run.uncertainty;
  if (run.calibration.empty() || options.sensor_accuracy) return options;
  try {
    const CalibrationProfile profile = read_profile(run.calibration);
    const bool says_gain = profile.is_of_gpus() && profile.meter_accuracy &&
                           profile_mismatch(profile, gpus_of(run, result)).empty();
    if (!says_gain) return options;
    // What is published is not corrected, so that how far the gain is off 1 counts as well.
    const BoundedNumber& gain = profile.line.slope;
    options.sensor_accuracy =
        std::hypot(gain.standard, gain.value - 1, *profile.meter_accuracy * gain.value);
  } catch (const std::runtime_error&) {  // add_modelled_node() says what is wrong with it
  }
  return options;
}

void add_modelled_node(const RunOptions& run, Result& result) {
  if (run.calibration.empty()) return;
  ModelledNode node{.calibration = run.calibration};
  try {
    const CalibrationProfile profile = read_profile(run.calibration);
    node.meter = profile.meter;
    if (!result.is_valid() || !result.load || result.gpus.empty()) {
      node.reason = "the power of the GPUs is not valid";
    } else {
      node.reason = profile_mismatch(profile, gpus_of(run, result));
    }
    if (node.reason.empty() && profile.is_of_gpus()) return;
    if (node.reason.empty()) model(profile, result, node);
  } catch (const std::runtime_error& error) {
    node.reason = error.what();
  }
  if (!node.reason.empty()) {
    result.warnings.push_back(fmt::format("--calibration: {}: it is not used: {}",
                                          printable_path(run.calibration), node.reason));
  }
  result.modelled_node = std::move(node);
}

std::string modelled_node_text(const ModelledNode& node) {
  if (!node.energy_j) return fmt::format("not modelled: {}", node.reason);
  return fmt::format(
      "{:.1f} J modelled, not measured; 95 %: {:.1f} to {:.1f} J, as '{}' would show it",
      *node.energy_j, node.low_j, node.high_j, printable(node.meter));
}

}  // namespace aggregate_power
