// Writes, reads and uses profiles.
#include "runs/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/telemetry/gpu_names.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/sensor_table.h"
#include "runs/measure/extras.h"

namespace aggregate_power {
namespace {

constexpr const char* kProfileSchema = "aggregate-power/calibration-2";
constexpr const char* kFirstSchema = "aggregate-power/calibration-1";  // without hosts and UUIDs
// A load outside of the range that was calibrated is modelled if it is this near to it.
constexpr double kBeyondRange = 0.05;
// Watts of a node for each watt of its GPUs: less is more than sensors are wrong by, and no losses,
// fans and processors make it more.
constexpr double kLeastSlope = 0.9;
constexpr double kMostSlope = 20;
// Watts of a meter of the GPUs alone for each watt of their sensors: the worst that is known is
// off by 10 %.
constexpr double kLeastGain = 0.75;
constexpr double kMostGain = 1.33;

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
          {"hosts", gpus.hosts},
          {"uuids", gpus.uuids},
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
          {sensor.at("collector"), sensor.at("name"), sensor.at("scope"), sensor.at("averaging")},
          json.value("hosts", std::vector<std::string>()),
          json.value("uuids", std::vector<std::string>())};
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

bool is_sound(const BoundedNumber& number) {
  return std::isfinite(number.value) && number.standard >= 0 && number.low <= number.value &&
         number.value <= number.high && std::isfinite(number.high - number.low);
}

// What a hand may have changed is not all found, but what no calibration writes is.
bool is_usable(const CalibrationProfile& profile) {
  const Calibration& line = profile.line;
  const double at_zero_w = line.center_w.value - line.slope.value * line.gpu_center_w;
  const double off_w = std::abs(at_zero_w - line.intercept_w.value);
  const double accuracy = profile.meter_accuracy.value_or(0);
  return is_sound(line.slope) && is_sound(line.center_w) && is_sound(line.intercept_w) &&
         line.slope.value > 0 && off_w <= 1e-6 * (1 + std::abs(line.center_w.value)) &&
         line.gpu_least_w <= line.gpu_center_w && line.gpu_center_w <= line.gpu_most_w &&
         line.freedom > 0 && line.slow_s > 0 && line.slow_w >= 0 && accuracy >= 0 &&
         accuracy <= 1 && profile.gpus.count > 0 &&
         (profile.scope == "node" || profile.scope == "gpu");
}

void add_name(const std::string& name, std::vector<std::string>& names) {
  if (!name.empty() && std::ranges::count(names, name) == 0) names.push_back(name);
}

bool share_a_name(std::vector<std::string> a, std::vector<std::string> b) {
  for (std::vector<std::string>* const names : {&a, &b}) {
    for (std::string& name : *names) name = plain_uuid(name);
  }
  return std::ranges::any_of(
      a, [&](const std::string& name) { return std::ranges::count(b, name) > 0; });
}

// "node-1" and "node-1.example.org" are one.
bool share_a_host(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto is_one = [](const std::string& one, const std::string& other) {
    return one == other || one.starts_with(other + '.') || other.starts_with(one + '.');
  };
  return std::ranges::any_of(a, [&](const std::string& own) {
    return std::ranges::any_of(b, [&](const std::string& other) { return is_one(own, other); });
  });
}

// Returns nullopt if nothing says. UUIDs decide, since containers have hosts of their own.
std::optional<bool> is_same_machine(const CalibratedGpus& a, const CalibratedGpus& b) {
  if (!a.uuids.empty() && !b.uuids.empty()) return share_a_name(a.uuids, b.uuids);
  if (!a.hosts.empty() && !b.hosts.empty()) return share_a_host(a.hosts, b.hosts);
  return std::nullopt;
}

// "NVIDIA H100 80GB HBM3 on node-1", "a model that is not named, on a host that is not named".
std::string machine_text(const CalibratedGpus& gpus) {
  const std::string model =
      gpus.model.empty() ? "a model that is not named," : printable(gpus.model, 80);
  if (!gpus.hosts.empty()) return fmt::format("{} on {}", model, printable(gpus.hosts[0], 80));
  if (!gpus.uuids.empty()) return fmt::format("{} with {}", model, printable(gpus.uuids[0], 80));
  return fmt::format("{} on a host that is not named", model);
}

// The variance of the mean over some time of what keeps its value for `slow_s`, relative.
double mean_of_slow(double seconds, double slow_s) {
  const double ratio = slow_s / seconds;
  return 2 * ratio * (1 - ratio * -std::expm1(-1 / ratio));
}

bool is_calibrated(const Calibration& line, double gpu_w) {
  const double beyond_w = kBeyondRange * line.gpu_most_w;
  return gpu_w >= line.gpu_least_w - beyond_w && gpu_w <= line.gpu_most_w + beyond_w;
}

// In the mean over some time. A node draws what its GPUs do.
AppliedProfile::MeterPower meter_power(const CalibrationProfile& profile, double gpu_w,
                                       double seconds) {
  const Calibration& line = profile.line;
  const double watts = line.center_w.value + line.slope.value * (gpu_w - line.gpu_center_w);
  const double slow_w2 = line.slow_w * line.slow_w * mean_of_slow(seconds, line.slow_s);
  const double standard_w =
      std::sqrt(std::pow(line.center_w.standard, 2) + slow_w2 +
                std::pow(line.slope.standard * (gpu_w - line.gpu_center_w), 2) +
                std::pow(profile.meter_accuracy.value_or(0) * watts, 2));
  const double half_w = student_t_quantile(0.975, line.freedom) * standard_w;
  const double least_w = profile.is_of_gpus() ? 0 : gpu_w;
  return {watts, {std::max(watts - half_w, least_w), watts + half_w}};
}

void model(const CalibrationProfile& profile, double gpu_w, double seconds, ModelledNode& node) {
  const Calibration& line = profile.line;
  if (!is_calibrated(line, gpu_w)) {
    node.reason = fmt::format(
        "the GPUs drew {:.1f} W, and {:.1f} to {:.1f} W were calibrated: calibrate under such a load, too",
        gpu_w, line.gpu_least_w, line.gpu_most_w);
    return;
  }
  const auto [watts, bounds_w] = meter_power(profile, gpu_w, seconds);
  if (watts < gpu_w) {
    node.reason = fmt::format(
        "the node would draw {:.1f} W, and its GPUs drew {:.1f} W: calibrate with a meter of the whole node",
        watts, gpu_w);
    return;
  }
  node.energy_j = watts * seconds;
  node.low_j = bounds_w.low * seconds;
  node.high_j = bounds_w.high * seconds;
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
  const bool is_profile = schema && (*schema == kProfileSchema || *schema == kFirstSchema);
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

CalibratedGpus gpus_read(const TelemetryFacts& telemetry, std::size_t count,
                         const std::vector<std::string>& models, const std::string& given) {
  const SeriesFacts& series = telemetry.series;
  CalibratedGpus gpus{.count = count, .sensor = series.sensor};
  for (const auto& [name, key] : telemetry.gpus) {
    add_name(key.host.empty() ? key.place : key.host, gpus.hosts);
    add_name(key.uuid, gpus.uuids);
  }
  if (models.size() == 1) gpus.model = models[0];
  if (gpus.model.empty()) gpus.model = given;
  for (const auto& [name, value] : series.settings) {
    if (name == "driver") gpus.driver = value;
  }
  return gpus;
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
  if (!is_same_machine(own, gpus).value_or(true)) {
    return fmt::format("it is of {}, and {} was measured: another machine", machine_text(own),
                       machine_text(gpus));
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
  const auto [least, most] =
      profile.is_of_gpus() ? std::pair(kLeastGain, kMostGain) : std::pair(kLeastSlope, kMostSlope);
  const bool is_less = slope.high < least;
  if (!is_less && slope.low <= most) {
    if (profile.is_of_gpus() || profile.line.intercept_w.high >= 0) return {};
    return fmt::format(
        "the node would draw {:.4g} to {:.4g} W if its GPUs drew nothing: the meter does not show the whole node, or its unit is not W",
        profile.line.intercept_w.low, profile.line.intercept_w.high);
  }
  if (profile.is_of_gpus()) {
    return fmt::format(
        "the meter shows {:.4g} to {:.4g} W for each watt of the GPUs' sensors, and no sensor is so wrong: it may show {} GPUs, or {}",
        slope.low, slope.high, is_less ? "not all" : "other", is_less ? "kW" : "mW");
  }
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

AppliedProfile::AppliedProfile(const std::string& path, const CalibratedGpus& gpus) : path_(path) {
  if (path.empty()) return;
  const auto warn = [&](const std::string& what) {
    warnings_.push_back(fmt::format("--calibration: {}: {}", printable_path(path), what));
  };
  try {
    profile_ = read_profile(path);
    reason_ = profile_mismatch(*profile_, gpus);
    if (reason_.empty()) reason_ = impossible_slope(*profile_);
    const std::string& driver = profile_->gpus.driver;
    if (reason_.empty() && !driver.empty() && !gpus.driver.empty() && driver != gpus.driver) {
      warn(fmt::format(
          "it was made with driver {}, and the recording is of driver {}: sensors may be read in another way",
          printable(driver), printable(gpus.driver)));
    }
    if (reason_.empty() && !is_same_machine(profile_->gpus, gpus)) {
      warn(fmt::format(
          "it is of {}, and the recording is of {}: nothing says that they are of one machine",
          machine_text(profile_->gpus), machine_text(gpus)));
    }
  } catch (const std::runtime_error& error) {
    reason_ = error.what();
  }
  if (!reason_.empty()) warn("it is not used: " + reason_);
}

std::optional<double> AppliedProfile::sensor_accuracy() const {
  if (!profile_ || !reason_.empty() || !profile_->is_of_gpus() || !profile_->meter_accuracy) {
    return std::nullopt;
  }
  // What is published is not corrected, so that how far the gain is off 1 counts as well.
  const BoundedNumber& gain = profile_->line.slope;
  return std::hypot(gain.standard, gain.value - 1, *profile_->meter_accuracy * gain.value);
}

std::optional<ModelledNode> AppliedProfile::node(double gpu_energy_j, double duration_s) const {
  if (path_.empty() || (profile_ && reason_.empty() && profile_->is_of_gpus())) return std::nullopt;
  ModelledNode node{.calibration = path_, .reason = reason_};
  if (profile_) node.meter = profile_->meter;
  if (!reason_.empty()) return node;
  if (duration_s > 0) {
    model(*profile_, gpu_energy_j / duration_s, duration_s, node);
  } else {
    node.reason = "it lasts no time";
  }
  return node;
}

std::optional<AppliedProfile::MeterPower> AppliedProfile::power(double gpu_w) const {
  constexpr double kInstant = 1e-3;  // of the time for which a drift lasts
  if (profile() == nullptr || !is_calibrated(profile_->line, gpu_w)) return std::nullopt;
  const MeterPower power = meter_power(*profile_, gpu_w, kInstant * profile_->line.slow_s);
  if (!profile_->is_of_gpus() && power.watts < gpu_w) return std::nullopt;
  return power;
}

void add_calibration(ExtraInput& input, Result& result) {
  const RunOptions& run = input.run;
  result.modelled_node.reset();
  if (run.calibration.empty()) return;
  const bool has_power = result.telemetry && result.load && !result.gpus.empty();
  if (!has_power) return refuse_calibration(run, result);
  const AppliedProfile profile(run.calibration,
                               gpus_read(*result.telemetry, result.gpus.size(),
                                         result.telemetry->series.gpu_models, run.uncertainty.gpu));
  input.sensor_accuracy = profile.sensor_accuracy();
  double energy_j = 0;
  for (const GpuResult& gpu : result.gpus) energy_j += gpu.energy.energy_j;
  result.modelled_node = profile.node(energy_j, result.load->window.duration_s());
  if (!result.is_valid() && result.modelled_node) return refuse_calibration(run, result);
  if (result.modelled_node && !result.modelled_node->reason.empty() && profile.warnings().empty()) {
    result.warnings.push_back(fmt::format("--calibration: {}: it is not used: {}",
                                          printable_path(run.calibration),
                                          result.modelled_node->reason));
  }
  result.warnings.insert(result.warnings.end(), profile.warnings().begin(),
                         profile.warnings().end());
}

void refuse_calibration(const RunOptions& run, Result& result) {
  if (run.calibration.empty()) return;
  result.modelled_node = {.calibration = run.calibration,
                          .reason = "the power of the GPUs is not valid"};
}

std::string modelled_node_text(const ModelledNode& node) {
  if (!node.energy_j) return fmt::format("not modelled: {}", node.reason);
  return fmt::format(
      "{:.1f} J modelled, not measured; 95 %: {:.1f} to {:.1f} J, as '{}' would show it",
      *node.energy_j, node.low_j, node.high_j, printable(node.meter));
}

}  // namespace aggregate_power
