// Reads both recordings, calibrates, and reports.
#include "runs/calibrate/calibrate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "recorders/node_sensors.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {
namespace {

// "gpu" for the GPUs alone, "node" for what includes them; empty: neither, or unknown.
std::string scope_of_meter(const NodeWitness& witness, const std::string& given) {
  if (!given.empty()) return given;
  if (witness.scope == "gpu") return "gpu";
  return witness.includes_gpus() ? "node" : "";
}

std::string names_of(const std::vector<NodeWitness>& witnesses) {
  std::vector<std::string> names;
  for (const NodeWitness& witness : witnesses) {
    names.push_back(fmt::format("'{}' ({})", printable(witness.name), witness.scope));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The one that is named, or the only one that measures the GPUs; of one meter's power and energy
// the power.
NodeWitness chosen(std::vector<NodeWitness> all, const CalibrateRequest& request) {
  std::vector<NodeWitness> fitting;
  const std::string names = names_of(all);
  for (NodeWitness& witness : all) {
    if (witness.kind == NodeWitness::Kind::total) continue;
    const bool is_wanted = request.meter.empty() ? !scope_of_meter(witness, request.scope).empty()
                                                 : witness.name == request.meter;
    if (is_wanted) fitting.push_back(std::move(witness));
  }
  if (fitting.size() > 1) {
    const auto is_counter = [](const NodeWitness& witness) {
      return witness.kind == NodeWitness::Kind::counter;
    };
    if (!std::ranges::all_of(fitting, is_counter)) std::erase_if(fitting, is_counter);
  }
  if (fitting.size() == 1) return std::move(fitting.front());
  throw Error(
      fmt::format("--witness: {} of its sensors can be the meter: {}; {}", fitting.size(), names,
                  fitting.empty() ? "state with --scope what one measures, and name it with --meter"
                                  : "name one with --meter"));
}

NodeWitness meter_of(const CalibrateRequest& request) {
  const std::string path =
      request.witnesses.empty() ? request.telemetry.front() : request.witnesses.front();
  NodeWitness meter = chosen(read_node_witnesses(path, request.zone).witnesses, request);
  if (scope_of_meter(meter, request.scope).empty()) {
    throw Error(fmt::format("--witness: what '{}' measures is not known: state it with --scope",
                            printable(meter.name)));
  }
  return meter;
}

CalibratedGpus calibrated_gpus(const CalibrateRequest& request, const Traces& traces) {
  CalibratedGpus gpus{.count = traces.devices.size()};
  const TraceFile& file = traces.files.front();
  gpus.sensor = file.facts.series.sensor;
  if (file.models.size() == 1) gpus.model = file.models[0];
  if (gpus.model.empty()) gpus.model = request.uncertainty.gpu;
  for (const auto& [name, value] : file.facts.series.settings) {
    if (name == "driver") gpus.driver = value;
  }
  return gpus;
}

std::vector<std::pair<std::string, InputFile>> inputs_of(const CalibrateRequest& request) {
  std::vector<std::pair<std::string, InputFile>> inputs;
  const auto add = [&](const std::string& path, const char* role) {
    if (disk_tree()->has_folder(path)) return;
    const OpenedFile file(path);
    inputs.emplace_back(printable_path(path), InputFile{role, file.size(), hash_of(file)});
  };
  for (const std::string& path : request.telemetry) add(path, "telemetry");
  for (const std::string& path : request.witnesses) add(path, "witness");
  return inputs;
}

std::string bounded_text(const BoundedNumber& number, int digits) {
  return fmt::format("{:.{}f}, 95 %: {:.{}f} to {:.{}f}", number.value, digits, number.low, digits,
                     number.high, digits);
}

constexpr std::size_t kIndent = 14;
constexpr std::size_t kWidth = 80;

std::string report_of(const CalibrationProfile& profile) {
  const Calibration& line = profile.line;
  const bool is_of_gpus = profile.is_of_gpus();
  std::string text;
  const auto row = [&](const char* name, const std::string& value) {
    text += fact(name, value, kIndent, kWidth);
  };
  row("GPUs", fmt::format("{}{}, '{}'", profile.gpus.count,
                          profile.gpus.model.empty() ? "" : " " + printable(profile.gpus.model),
                          printable(profile.gpus.sensor.name)));
  row("meter", fmt::format("'{}' ({}), {}", printable(profile.meter), printable(profile.source),
                           is_of_gpus ? "of the GPUs alone" : "of the node"));
  row("", fmt::format("a new reading each {:.3g} s{}", line.refresh_s,
                      line.step_w > 0 ? fmt::format(", in steps of {:.4g}", line.step_w) : ""));
  row("compared", fmt::format("{} stretches of {:.3g} s, GPUs from {:.1f} to {:.1f} W",
                              line.stretches, line.stretch_s, line.gpu_least_w, line.gpu_most_w));
  row("lag", fmt::format("{} s", bounded_text(line.lag_s, 2)));
  row("", "that the meter's stamps are later than the GPUs'");
  row(is_of_gpus ? "gain" : "slope", bounded_text(line.slope, 4));
  row("", is_of_gpus ? "watts of the GPUs for each watt that their sensors show"
                     : "watts of the node for each watt of the GPUs");
  row(is_of_gpus ? "offset" : "idle part", fmt::format("{} W", bounded_text(line.intercept_w, 1)));
  row("", is_of_gpus ? "that the sensors do not show" : "of the node, if the GPUs drew nothing");
  row("scatter", fmt::format("{:.1f} W around the line, {:.1f} W of it for some {:.0f} s",
                             line.scatter_w, line.slow_w, line.slow_s));
  for (const std::string& sentence : inseparable(is_of_gpus)) row("not apart", sentence);
  return text;
}

}  // namespace

CalibrateOutcome run_calibrate(const CalibrateRequest& request) {
  const Traces traces =
      read_traces({request, request.telemetry, request.gpus, false, false, request.accepted,
                   request.max_sample_gap_s, request.clock_offset_s});
  const NodeWitness meter = meter_of(request);
  CalibrateOutcome outcome;
  for (const TraceFile& file : traces.files) {
    for (const std::string& warning : file.warnings) {
      outcome.err.push_back(fmt::format("warning: {}: {}", printable_path(file.path), warning));
    }
  }
  CalibrationProfile profile{.gpus = calibrated_gpus(request, traces),
                             .meter = meter.name,
                             .source = meter.source,
                             .scope = scope_of_meter(meter, request.scope),
                             .meter_accuracy = request.meter_accuracy,
                             .last_unix_s = traces.last_unix_s};
  profile.line = calibrate({.gpus = traces.devices,
                            .meter = meter,
                            .windows = request.windows,
                            .max_sample_gap_s = request.max_sample_gap_s});
  if (profile.line.refusal.empty()) profile.line.refusal = impossible_slope(profile);
  if (!profile.line.refusal.empty()) {
    outcome.exit_status = 1;
    outcome.err.push_back(fmt::format("not calibrated: {}", profile.line.refusal));
    return outcome;
  }
  if (profile.is_of_gpus() && !profile.meter_accuracy) {
    outcome.err.emplace_back(
        "note: with --meter-accuracy, the profile also narrows the intervals of later measurements");
  }
  profile.inputs = inputs_of(request);
  const std::string json = indented_lines(profile_json(profile));
  if (!request.out.empty()) replace_file(request.out, json);
  outcome.out = request.json ? json : report_of(profile);
  return outcome;
}

}  // namespace aggregate_power
