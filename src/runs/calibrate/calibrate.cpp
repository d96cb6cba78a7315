// Reads both recordings, calibrates, and reports.
#include "runs/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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
#include "energy/shares/node_meter.h"
#include "recorders/node_sensors.h"
#include "runs/evaluate/explain.h"
#include "runs/windows/trace_sensors.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {
namespace {

// "gpu" for the GPUs alone, "node" for what includes them; empty: neither, or unknown.
std::string scope_of_meter(const NodeWitness& witness, const std::string& given) {
  if (!given.empty()) return given;
  if (witness.scope == "gpu") return "gpu";
  return witness.includes_gpus() ? "node" : "";
}

// One sensor of one file.
struct FoundMeter {
  std::string file;
  NodeWitness witness;

  bool is_called(const std::string& name) const {
    return witness.name == name || fmt::format("{}:{}", plain_stem(file), witness.name) == name;
  }
  Window span() const {
    const auto [first, last] =
        std::ranges::minmax(witness.readings, {}, &NodeWitness::Reading::unix_s);
    return {first.unix_s, last.unix_s};
  }
};

std::string names_of(const std::vector<FoundMeter>& meters) {
  return joined_text(meters, ", ", [](const FoundMeter& meter) {
    return fmt::format("'{}' ({})", printable(meter.witness.name), meter.witness.scope);
  });
}

// The only one of a file that measures the GPUs; of one meter's power and energy the power.
FoundMeter only_meter(std::vector<FoundMeter> all, const CalibrateRequest& request) {
  const std::string names = names_of(all);
  const bool is_one_unknown = std::ranges::any_of(
      all, [](const FoundMeter& meter) { return meter.witness.scope == "unknown"; });
  std::erase_if(all, [&](const FoundMeter& meter) {
    return scope_of_meter(meter.witness, request.scope).empty();
  });
  const auto is_counter = [](const FoundMeter& meter) {
    return meter.witness.kind == NodeWitness::Kind::counter;
  };
  if (all.size() > 1 && !std::ranges::all_of(all, is_counter)) std::erase_if(all, is_counter);
  if (all.size() == 1) return std::move(all.front());
  throw Error(fmt::format(
      "--witness: {} of its sensors can be the meter: {}; {}", all.size(), names,
      is_one_unknown && all.empty()
          ? "none is known to measure the GPUs: state with --scope what one measures, and name it with --meter"
      : all.empty()
          ? "none measures the GPUs: give a meter of the node, or of the GPUs alone"
          : "name one with --meter, or all that must be added up, each with its own --meter"));
}

// Logs of one meter, one after the other.
NodeWitness in_a_row(std::vector<FoundMeter> logs) {
  std::ranges::sort(logs, {}, [](const FoundMeter& log) { return log.span().start_unix_s; });
  NodeWitness all = logs.front().witness;
  for (std::size_t i = 1; i < logs.size(); ++i) {
    const NodeWitness& next = logs[i].witness;
    if (next.kind != all.kind || logs[i].span().start_unix_s < logs[i - 1].span().end_unix_s) {
      throw Error(fmt::format(
          "--witness: '{}' of {} and '{}' of {} are not one meter, one log after the other: add up supplies of one node, each with its own --meter FILE:NAME, and calibrate two nodes each by itself",
          printable(all.name), printable_path(logs[i - 1].file), printable(next.name),
          printable_path(logs[i].file)));
    }
    append(all.readings, next.readings);
  }
  return all;
}

// What several meters show together, whenever the slowest of them shows something.
NodeWitness sum_of(std::vector<NodeWitness> parts, std::vector<std::string>& warnings) {
  for (NodeWitness& part : parts) {
    part.readings = ordered_readings(std::move(part.readings));
    if (part.kind == parts.front().kind) continue;
    throw Error(fmt::format("--meter: '{}' is a power and '{}' an energy, which cannot be added up",
                            printable(parts.front().name), printable(part.name)));
  }
  std::vector<std::string> left_out;
  NodeWitness sum = added_up(std::move(parts), left_out);
  if (sum.readings.size() < 2) {
    left_out.insert(left_out.begin(),
                    "the meters that are to be added up have no readings over the same time");
    throw Error(fmt::format("--meter: {}", fmt::join(left_out, "; ")));
  }
  append(warnings, std::move(left_out));
  return sum;
}

std::vector<FoundMeter> called(const std::vector<FoundMeter>& all, const std::string& name) {
  std::vector<FoundMeter> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const FoundMeter& meter) { return meter.is_called(name); });
  if (!found.empty()) return found;
  throw Error(
      fmt::format("--meter: there is no sensor '{}', but {}", printable(name), names_of(all)));
}

// Of the witnesses, else of these files of the recordings.
NodeWitness meter_of(const CalibrateRequest& request, const std::vector<std::string>& recordings,
                     std::vector<std::string>& warnings) {
  std::vector<FoundMeter> all;
  std::vector<FoundMeter> only;
  for (const std::string& path : request.witnesses.empty() ? recordings : request.witnesses) {
    NodeWitnesses found = read_node_witnesses(path, request.zone);
    append(warnings, std::move(found.warnings));
    std::vector<FoundMeter> of_file;
    for (NodeWitness& witness : found.witnesses) {
      if (witness.kind == NodeWitness::Kind::total) continue;
      of_file.push_back({path, std::move(witness)});
    }
    if (request.meters.empty()) only.push_back(only_meter(of_file, request));
    append(all, std::move(of_file));
  }
  if (request.meters.empty()) return in_a_row(std::move(only));
  std::vector<NodeWitness> parts;
  for (const std::string& name : request.meters) parts.push_back(in_a_row(called(all, name)));
  const auto is_unknown = [&](const NodeWitness& part) {
    return scope_of_meter(part, request.scope).empty();
  };
  if (const auto part = std::ranges::find_if(parts, is_unknown); part != parts.end()) {
    throw Error(fmt::format(
        "--witness: '{}' {}", printable(part->name),
        part->scope == "unknown"
            ? "is not known to measure the GPUs: state with --scope what it measures"
            : fmt::format(
                  "measures the scope '{}' and not the GPUs: give a meter of the node, or of the GPUs alone",
                  part->scope)));
  }
  NodeWitness sum = sum_of(std::move(parts), warnings);
  sum.name = joined_text(request.meters, " + ");
  return sum;
}

// ---- Recordings

TracesRequest traces_request(const CalibrateRequest& request, std::vector<std::string> files,
                             const GpuSelection& gpus) {
  return {request,
          std::move(files),
          gpus,
          false,
          false,
          request.accepted,
          request.max_sample_gap_s,
          request.clock_offset_s};
}

// Files of the same time are of different GPUs, and together one recording. In the order of time.
std::vector<std::vector<std::string>> recordings_of(const CalibrateRequest& request) {
  if (request.telemetry.size() == 1) return {request.telemetry};
  refuse_repeated_recordings(request.telemetry);
  std::vector<std::pair<Window, std::string>> files;
  for (const std::string& path : request.telemetry) {
    const Traces traces = read_traces(traces_request(request, {path}, {}));
    files.push_back({{traces.first_unix_s, traces.last_unix_s}, path});
  }
  std::ranges::sort(files, {}, [](const auto& file) { return file.first.start_unix_s; });
  std::vector<std::vector<std::string>> recordings;
  double end_unix_s = 0;
  for (auto& [span, path] : files) {
    if (recordings.empty() || span.start_unix_s >= end_unix_s) recordings.emplace_back();
    recordings.back().push_back(std::move(path));
    end_unix_s = std::max(end_unix_s, span.end_unix_s);
  }
  return recordings;
}

void refuse_other_gpus(const CalibrateRequest& request, const std::vector<Traces>& recordings) {
  const CalibrationProfile first{.gpus =
                                     runs::gpus_of_traces(request.uncertainty, recordings.front())};
  for (const Traces& traces : recordings) {
    const std::string why =
        profile_mismatch(first, runs::gpus_of_traces(request.uncertainty, traces));
    if (why.empty()) continue;
    throw Error(fmt::format(
        "{}: the recording before it is of other GPUs, which must be calibrated by themselves: {}",
        printable_path(traces.files.front().path), why));
  }
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
  if (!is_of_gpus) {
    row("GPUs' part", fmt::format("{:.1f} % of the node's power in what was compared",
                                  100 * line.gpu_center_w / line.center_w.value));
  }
  row("scatter", fmt::format("{:.1f} W around the line, {:.1f} W of it for some {:.0f} s",
                             line.scatter_w, line.slow_w, line.slow_s));
  for (const std::string& sentence : inseparable(is_of_gpus)) row("not apart", sentence);
  return text;
}

std::vector<std::string> doubts_of(const Calibration& line) {
  constexpr double kMostBow = 0.015;    // of the range
  constexpr double kMostScatter = 0.1;  // of the range
  std::vector<std::string> doubts;
  if (line.zeros > 0) {
    doubts.push_back(fmt::format(
        "warning: {} of the meter's readings are 0 W, which nothing that runs GPUs draws: they are left out",
        line.zeros));
  }
  const double range_w = line.slope.value * (line.gpu_most_w - line.gpu_least_w);
  if (line.scatter_w > kMostScatter * range_w) {
    doubts.push_back(fmt::format(
        "warning: {:.0f} W of the meter's variations are not the GPUs', whose load changes it by {:.0f} W: other loads of the node changed, or the meter did not show the whole node all the time: look at its log, and calibrate a part with --window",
        line.scatter_w, range_w));
  }
  if (std::abs(line.bow_w) > kMostBow * range_w + line.step_w) {
    doubts.push_back(fmt::format(
        "warning: the meter follows no straight line: between the ends of what was compared it is {:.0f} W {} one, so that the slope and the idle part are between those of low and of high load: calibrate the part that is needed with --window",
        std::abs(line.bow_w), line.bow_w > 0 ? "above" : "below"));
  }
  return doubts;
}

}  // namespace

CalibrateOutcome run_calibrate(const CalibrateRequest& request) {
  std::vector<Traces> recordings;
  std::vector<std::string> first_files;
  for (const std::vector<std::string>& files : recordings_of(request)) {
    recordings.push_back(read_traces(traces_request(request, files, request.gpus)));
    first_files.push_back(files.front());
  }
  refuse_other_gpus(request, recordings);
  CalibrateOutcome outcome;
  std::vector<std::string> warnings;
  const NodeWitness meter = meter_of(request, first_files, warnings);
  for (const Traces& traces : recordings) {
    for (const TraceFile& file : traces.files) {
      for (const std::string& warning : file.warnings) {
        warnings.push_back(fmt::format("{}: {}", printable_path(file.path), warning));
      }
    }
  }
  for (const std::string& warning : warnings) outcome.err.push_back("warning: " + warning);
  CalibrationProfile profile{.gpus = runs::gpus_of_traces(request.uncertainty, recordings.front()),
                             .meter = meter.name,
                             .source = meter.source,
                             .scope = scope_of_meter(meter, request.scope),
                             .meter_accuracy = request.meter_accuracy,
                             .last_unix_s = recordings.back().last_unix_s};
  CalibrationQuestion question{.recordings = {},
                               .meter = meter,
                               .windows = request.windows,
                               .max_sample_gap_s = request.max_sample_gap_s};
  for (const Traces& traces : recordings) question.recordings.emplace_back(traces.devices);
  profile.line = calibrate(question);
  if (profile.line.refusal.empty()) profile.line.refusal = impossible_slope(profile);
  if (!profile.line.refusal.empty()) {
    outcome.exit_status = 1;
    outcome.err.push_back(fmt::format("not calibrated: {}", profile.line.refusal));
    return outcome;
  }
  append(outcome.err, doubts_of(profile.line));
  if (profile.is_of_gpus() && !profile.meter_accuracy) {
    outcome.err.emplace_back(
        "note: with --meter-accuracy, the profile also narrows the intervals of later measurements");
  }
  profile.inputs = inputs_of(request);
  const std::string json = indented_lines(profile_json(profile));
  if (!request.out.empty()) {
    constexpr std::string_view kStart = "{\n  \"schema\": \"aggregate-power/calibration-";
    replace_output("--out", request.out, json, kStart, "profile of 'calibrate'");
  }
  outcome.out = request.json ? json : report_of(profile);
  return outcome;
}

}  // namespace aggregate_power
