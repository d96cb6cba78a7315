// Reads the files beside a recording of AIPowerMeter, each for its own lines.
#include "runs/inspect/inspect.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/json_value.h"
#include "core/energy/curve.h"
#include "core/telemetry/lines.h"
#include "recorders/recorders.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {
namespace {

constexpr double kMacsPerGmac = 1e9;

std::optional<double> sensor_j(const std::vector<SensorEnergy>& sensors, const char* name) {
  const auto found = std::ranges::find(sensors, name, &SensorEnergy::name);
  return found == sensors.end() ? std::nullopt : std::optional(found->total_j);
}

std::unique_ptr<ByteSource> side_source(const std::string& path) {
  return as_utf8(decompressed(open_source(path), path));
}

// ---- latency.csv

struct Latencies {
  std::uint64_t count = 0;
  double sum_s = 0;
};

// One number of seconds in each line, as numpy.savetxt writes them.
Latencies read_latencies(const std::string& path) {
  Latencies latencies;
  std::uint64_t line_number = 0;
  const auto source = side_source(path);
  for_each_line(*source, [&](std::string_view line, bool /*is_whole*/) {
    ++line_number;
    line = strip(line);
    if (line.empty() || line.starts_with('#')) return;
    const auto seconds = python_float(line);
    if (!seconds || !std::isfinite(*seconds) || *seconds < 0) {
      throw Error(
          fmt::format("line {}: '{}' is not a number of seconds", line_number, printable(line)));
    }
    ++latencies.count;
    latencies.sum_s += *seconds;
  });
  if (latencies.count == 0) throw Error("it has no number");
  return latencies;
}

// The energy of the GPUs, and of the CPUs if there is a sensor of theirs.
struct Used {
  std::optional<double> gpus_j;
  std::optional<double> cpus_j;
  double duration_s = 0;

  double sum_j() const { return gpus_j.value_or(0) + cpus_j.value_or(0); }
  std::string text() const {
    if (!cpus_j) return fmt::format("GPUs {:.3f} J", *gpus_j);
    if (!gpus_j) return fmt::format("CPUs {:.3f} J", *cpus_j);
    return fmt::format("GPUs {:.3f} J + CPUs {:.3f} J = {:.3f} J", *gpus_j, *cpus_j, sum_j());
  }
};

std::optional<Used> used_by_load(const std::vector<SensorEnergy>& sensors) {
  Used used{sensor_j(sensors, "gpu"), sensor_j(sensors, "intel"), 0};
  if (!used.gpus_j && !used.cpus_j) return std::nullopt;
  const char* const longest = used.gpus_j ? "gpu" : "intel";
  used.duration_s = std::ranges::find(sensors, longest, &SensorEnergy::name)->duration_s;
  return used;
}

// Two answers, which agree if inferences ran all the time: all that was used, and the mean power
// during the mean latency.
void add_latencies(const Latencies& latencies, const Used& used, BesideReport& report) {
  const double count = static_cast<double>(latencies.count);
  const double each_j = used.sum_j() / count;
  const double mean_s = latencies.sum_s / count;
  const bool has_mean = used.duration_s > 0;
  const double mean_w = has_mean ? used.sum_j() / used.duration_s : 0;
  report.text += fmt::format(
      "latency    {} inferences of {:.6f} s on average, {:.3f} s of {:.3f} s recorded\n"
      "  energy   {}\n  each     {:.6f} J, all that was recorded by the number of inferences\n",
      latencies.count, mean_s, latencies.sum_s, used.duration_s, used.text(), each_j);
  if (has_mean) {
    report.text += fmt::format("  running  {:.6f} J, the mean power during the mean latency\n",
                               mean_w * mean_s);
  }
  report.json["latency"] = {
      {"inferences", latencies.count},
      {"mean_latency_s", mean_s},
      {"gpu_energy_j", number_or_null(used.gpus_j)},
      {"cpu_energy_j", number_or_null(used.cpus_j)},
      {"joules_per_query", each_j},
      {"joules_per_inference_running", has_mean ? Json(mean_w * mean_s) : Json()}};
}

// ---- model_summary.json

// What torchinfo counts, for one pass of the whole batch.
void add_model(const std::string& path, const std::optional<Latencies>& latencies,
               const std::optional<Used>& used, BesideReport& report) {
  const JsonValue summary = parse_json(read_whole(*side_source(path), path, kSummaryFile));
  const auto number = [&](const char* key) -> std::optional<double> {
    const JsonValue& value = summary.at(key);
    if (!value.is_finite_number() || value.as_double() < 0) return std::nullopt;
    return value.as_double();
  };
  const auto parameters = summary.at("total_params").as_integer();
  const auto macs = number("total_mult_adds");
  if (!macs || *macs == 0) throw Error("it has no number of operations, 'total_mult_adds'");
  std::optional<double> per_gmac_j;
  if (latencies && used) {
    per_gmac_j = used->sum_j() / (static_cast<double>(latencies->count) * *macs / kMacsPerGmac);
  }
  report.text +=
      fmt::format("model      {} parameters, {:.6f} GMAC in each inference: {}\n",
                  parameters ? std::to_string(*parameters) : "unknown", *macs / kMacsPerGmac,
                  per_gmac_j ? fmt::format("{:.6f} J per GMAC", *per_gmac_j)
                             : "J per GMAC needs latency.csv, which says how many there were");
  report.json["model"] = {{"parameters", or_null(parameters)},
                          {"macs", *macs},
                          {"joules_per_gmac", number_or_null(per_gmac_j)}};
}

// ---- omegawatt.csv

// Stretches that a trace covers, from the first to the last sample of each segment.
std::vector<Window> covered_stretches(const PowerTrace& trace) {
  const std::span<const Sample> samples = trace.samples();
  std::vector<Window> stretches = {{samples[0].unix_s, samples[0].unix_s}};
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window between{samples[i - 1].unix_s, samples[i].unix_s};
    if (!trace.covers(between)) stretches.push_back({between.end_unix_s, between.end_unix_s});
    stretches.back().end_unix_s = between.end_unix_s;
  }
  return stretches;
}

// The parts of the stretches that the trace covers too.
std::vector<Window> common_with(const std::vector<Window>& stretches, const PowerTrace& trace) {
  std::vector<Window> common;
  for (const Window& other : covered_stretches(trace)) {
    for (const Window& stretch : stretches) {
      const Window both{std::max(stretch.start_unix_s, other.start_unix_s),
                        std::min(stretch.end_unix_s, other.end_unix_s)};
      if (both.start_unix_s < both.end_unix_s) common.push_back(both);
    }
  }
  return common;
}

// What the machine's own sensors see: `sensor` is a key of the recording, or empty for its GPUs.
std::vector<PowerTrace> own_traces(const InspectRequest& request, const char* sensor) {
  TracesRequest own{request, {request.file}};
  own.columns.power = sensor;
  return read_traces(own).devices;
}

struct WallParts {
  const char* name;    // in the text
  const char* key;     // in the JSON
  const char* sensor;  // of SensorEnergy
  const char* power;   // of the recording
};
constexpr WallParts kWallParts[] = {{"GPUs", "gpu_energy_j", "gpu", ""},
                                    {"CPUs", "cpu_energy_j", "intel", "intel_power"},
                                    {"memory", "dram_energy_j", "dram", "total_dram_power"}};

double energy_in(const PowerTrace& trace, const std::vector<Window>& windows) {
  return summed(windows, [&](const Window& window) { return trace.energy_j(window); });
}

struct WallComparison {
  std::vector<Window> common;  // what both recorded
  double common_s = 0;
  double own_j = 0;
  std::vector<std::string> parts;
  Json json = Json::object();
};

// Throws Error if nothing was recorded by all of them.
WallComparison compare_with_wall(const InspectRequest& request,
                                 const std::vector<SensorEnergy>& sensors, const Traces& wall) {
  std::vector<std::pair<const WallParts*, std::vector<PowerTrace>>> own;
  for (const WallParts& part : kWallParts) {
    if (sensor_j(sensors, part.sensor)) own.emplace_back(&part, own_traces(request, part.power));
  }
  WallComparison found;
  found.common = {{wall.first_unix_s, wall.last_unix_s}};
  const auto narrow = [&](const std::vector<PowerTrace>& traces) {
    for (const PowerTrace& trace : traces) found.common = common_with(found.common, trace);
  };
  narrow(wall.devices);
  for (const auto& [part, traces] : own) narrow(traces);
  if (own.empty() || found.common.empty()) {
    throw Error(own.empty() ? "there is no sensor to compare it with"
                            : "it has no time in common with the recording; see --timezone");
  }
  for (const Window& window : found.common) found.common_s += window.duration_s();
  for (const auto& [part, traces] : own) {
    double part_j = 0;
    for (const PowerTrace& trace : traces) part_j += energy_in(trace, found.common);
    found.own_j += part_j;
    found.parts.push_back(fmt::format("{} {:.3f} J", part->name, part_j));
    found.json[part->key] = part_j;
  }
  return found;
}

// Nothing says which socket is the machine's, and several may be, so that they are not added.
void add_wall(const InspectRequest& request, const std::vector<SensorEnergy>& sensors,
              const std::string& path, BesideReport& report) {
  const Traces wall = read_traces({{}, {path}});
  const WallComparison own = compare_with_wall(request, sensors, wall);
  std::uint64_t blank_frames = 0;
  for (const auto& [cause, rows] : wall.files[0].facts.skipped) {
    if (cause == "no_reading") blank_frames = rows;
  }
  report.text += fmt::format(
      "wall       {:.3f} s in common, {} frames without a reading skipped\n"
      "  inside   {} = {:.3f} J\n",
      own.common_s, blank_frames, fmt::join(own.parts, " + "), own.own_j);
  Json sockets = Json::array();
  for (const PowerTrace& socket : wall.devices) {
    const TraceCoverage coverage(socket, kDefaultMaxSampleGapS);
    std::string fault;
    for (const Window& window : own.common) {
      if (fault.empty()) fault = coverage.fault(window);
    }
    Json json = {{"socket", socket.device()}};
    if (!fault.empty()) {
      report.text += fact("  " + socket.device(), "not compared: " + fault);
      json["reason"] = fault;
    } else {
      const double wall_j = energy_in(socket, own.common);
      const std::optional<double> ratio =
          own.own_j > 0 ? std::optional(wall_j / own.own_j) : std::nullopt;
      report.text +=
          fact("  " + socket.device(), fmt::format("{:.3f} J at the wall, {} times that", wall_j,
                                                   ratio ? fmt::format("{:.4f}", *ratio) : "-"));
      json["energy_j"] = wall_j;
      json["ratio"] = number_or_null(ratio);
    }
    sockets.push_back(std::move(json));
  }
  report.json["wall"] = own.json;
  report.json["wall"]["sum_energy_j"] = own.own_j;
  report.json["wall"]["common_s"] = own.common_s;
  report.json["wall"]["blank_frames"] = blank_frames;
  report.json["wall"]["sockets"] = std::move(sockets);
}

// ---- The metrics

struct ProcessMetric {
  std::string_view key;
  const char* name;
  const char* unit;
};
constexpr ProcessMetric kProcessMetrics[] = {
    {"per_process_cpu_uses", "CPU use", "share"},
    {"per_process_cpu_power", "CPU power", "W"},
    {"per_process_dram_power", "DRAM power", "W"},
    {"per_process_mem_use_abs", "memory (PSS)", "B"},
    {"per_process_mem_use_percent", "memory", "share"},
    {"per_process_mem_use_uss", "memory (USS)", "B"},
    {"per_gpu_attributable_mem_use", "GPU memory", "B"},
    {"per_gpu_per_pid_utilization_absolute", "GPU use", "share"}};

ProcessMetric metric_of(const std::string& key) {
  const auto* const found = std::ranges::find(kProcessMetrics, key, &ProcessMetric::key);
  return found == std::end(kProcessMetrics) ? ProcessMetric{key, key.c_str(), ""} : *found;
}

// In joules, of the whole recording; nullopt: it is not a power.
std::optional<double> energy_of(const AipmMetrics& metrics, const AipmMetrics::Use& use) {
  for (const AipmMetrics::Power& power : metrics.powers) {
    if (power.metric != use.metric) continue;
    double sum_j = 0;
    for (const auto& [process, named] : power.processes) {
      if (use.process != "all" && use.process != process) continue;
      const std::vector<Sample> samples = power.samples_of(named);
      const Window whole{samples.front().unix_s, samples.back().unix_s};
      sum_j += PowerTrace(process, samples, Interpolation::linear, metrics.pauses).energy_j(whole);
    }
    return sum_j;
  }
  return std::nullopt;
}

std::string number_text(double number, const char* unit) {
  return *unit == 'B' ? fmt::format("{:.0f}", number) : fmt::format("{:.4f}", number);
}

void add_processes(const AipmMetrics& metrics, BesideReport& report) {
  const TextTable table(
      "[quantity <13][unit <6][GPU <4][process <9][records >8][mean >16][max >16][joules >11.3f]");
  report.text += "\n" + table.head();
  Json json = Json::array();
  for (const ProcessMetric& known : kProcessMetrics) {
    for (const AipmMetrics::Use& use : metrics.uses) {
      if (use.metric != known.key) continue;
      const ProcessMetric metric = metric_of(use.metric);
      const double mean = use.sum / static_cast<double>(use.records);
      const std::optional<double> energy_j = energy_of(metrics, use);
      table.add({metric.name, metric.unit, use.gpu.empty() ? "-" : printable(use.gpu),
                 printable(use.process), use.records, number_text(mean, metric.unit),
                 number_text(use.max, metric.unit), energy_j},
                report.text);
      json.push_back({{"metric", use.metric},
                      {"quantity", metric.name},
                      {"unit", metric.unit},
                      {"gpu", use.gpu.empty() ? Json() : Json(use.gpu)},
                      {"process", use.process},
                      {"records", use.records},
                      {"mean", mean},
                      {"max", use.max},
                      {"energy_j", number_or_null(energy_j)}});
    }
  }
  report.json["processes"] = std::move(json);
}

// The names in results_exp.json next to the recording, without the times.
std::vector<std::string> experiment_names(const std::string& recording) {
  std::vector<std::string> names;
  const std::string path = beside(recording, "results_exp.json");
  if (recording == "-" || !is_regular_file(path)) return names;
  const auto add = [&](const JsonValue& record) {
    const JsonValue* const inner = record.find("metrics");
    for (const auto& [name, value] : (inner != nullptr ? *inner : record).members) {
      const bool is_time = name == "end_training_epoch" || name == "date";
      if (!is_time && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  };
  const std::string text = read_whole(*side_source(path), path, kSummaryFile);
  try {
    const JsonValue all = parse_json(text);
    for (const JsonValue& record : all.items) add(record);
    for (const auto& [name, record] : all.members) add(record);
  } catch (const JsonError&) {  // lines, as older versions write them
    for (const std::string_view line : lines_of(text, 4096)) {
      try {
        add(parse_json(line));
      } catch (const JsonError&) {  // cut off
      }
    }
  }
  return names;
}

}  // namespace

BesideReport inspect_metrics(const InspectRequest& request, const Recording& recording,
                             const Zone& zone) {
  const AipmMetrics metrics = read_aipm_metrics(*recording.text(), zone);
  const std::vector<std::string> experiments = experiment_names(request.file);
  BesideReport report{"\nmetrics\n", Json::object()};
  const auto add = [&](const char* title, const char* key, const std::vector<std::string>& names) {
    report.json["metrics"][key] = names;
    if (!names.empty()) {
      report.text += fact(title, one_line(joined_text(names, ", ")));
    }
  };
  add("  CPU", "cpu", metrics.cpu);
  add("  GPU", "gpu", metrics.gpu);
  add("  experiment", "experiments", experiments);
  if (request.per_process) add_processes(metrics, report);
  return report;
}

std::optional<BesideReport> inspect_beside(const InspectRequest& request,
                                           const std::vector<SensorEnergy>& sensors) {
  BesideReport report{"\n", Json::object()};
  std::optional<Latencies> latencies;
  const std::optional<Used> used = used_by_load(sensors);
  const auto with_file = [&](const char* name, const auto& read) {
    const std::string path = beside(request.file, name);
    if (request.file == "-" || !is_regular_file(path)) return;
    try {
      read(path);
    } catch (const std::exception& error) {
      report.text += fmt::format("{} is not used: {}\n", name, error.what());
      report.json["not_used"].push_back({{"file", name}, {"reason", error.what()}});
    }
  };
  with_file("latency.csv", [&](const std::string& path) {
    latencies = read_latencies(path);
    if (!used) throw Error("there is no energy of GPUs or CPUs");
    add_latencies(*latencies, *used, report);
  });
  with_file("model_summary.json",
            [&](const std::string& path) { add_model(path, latencies, used, report); });
  with_file("omegawatt.csv",
            [&](const std::string& path) { add_wall(request, sensors, path, report); });
  if (report.json.empty()) return std::nullopt;
  return report;
}

}  // namespace aggregate_power
