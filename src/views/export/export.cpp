// Reads what is to be exported and hands it to the writer of the format.
#include "views/export/export.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/text/json.h"
#include "base/text/json_value.h"
#include "recorders/recorder_table.h"
#include "store/catalogue/run_record.h"
#include "views/export/metric_families.h"

namespace aggregate_power {
namespace {

enum AipmGauge { draw_cpu, intel, mem_cpu, mem_gpu, draw_gpu, kAipmGauges };

constexpr std::pair<std::string_view, std::string_view> kAipmNames[kAipmGauges] = {
    {"power_draw_cpu", "cpu consumption for the specified process"},
    {"intel_power", "total rapl power"},
    {"mem_used_cpu", "total cpu memory used (pss)"},
    {"mem_used_gpu", "average memory used by the gpu"},
    {"power_draw_gpu", "Power consumed by gpu as given by nvidia-smi"}};

// -1 stands for a sensor that is not there.
std::optional<double> aipm_reading(const JsonValue& value) {
  if (!value.is_finite_number() || value.as_double() < 0) return std::nullopt;
  return value.as_double();
}

// The sum of all numbers in an object, and in those in it.
double sum_in(const JsonValue& json) {
  if (!json.is_object()) return aipm_reading(json).value_or(0);
  return std::accumulate(
      json.members.begin(), json.members.end(), 0.0,
      [](double sum, const JsonValue::Member& member) { return sum + sum_in(member.second); });
}

std::optional<double> sum_of_members(const JsonValue& json) {
  return json.is_object() ? std::optional(sum_in(json)) : std::nullopt;
}

std::array<std::optional<double>, kAipmGauges> aipm_readings(const JsonValue& metrics) {
  const JsonValue& cpu = metrics.at("cpu");
  const JsonValue& gpu = metrics.at("gpu");
  const auto drawn = aipm_reading(gpu.at("nvidia_draw_absolute"));
  return {aipm_reading(cpu.at("total_cpu_power")), aipm_reading(cpu.at("intel_power")),
          sum_of_members(cpu.at("per_process_mem_use_abs")),
          sum_of_members(gpu.at("per_gpu_attributable_mem_use")),
          drawn ? drawn : aipm_reading(gpu.at("nvidia_power"))};
}

struct AipmProcessGauge {
  std::string_view part;  // of the metrics
  std::string_view name;
  std::string_view help;
};
constexpr AipmProcessGauge kAipmProcesses[] = {
    {"cpu", "per_process_cpu_uses", "share of the CPU time that a process used"},
    {"cpu", "per_process_cpu_power", "CPU power of a process, in W"},
    {"cpu", "per_process_dram_power", "DRAM power of a process, in W"},
    {"cpu", "per_process_mem_use_abs", "memory of a process (pss), in bytes"},
    {"cpu", "per_process_mem_use_percent", "memory of a process, share of the machine's"},
    {"cpu", "per_process_mem_use_uss", "memory of a process (uss), in bytes"},
    {"gpu", "per_gpu_attributable_mem_use", "GPU memory of a process, in bytes"}};

// Adds the value of each process, and as process "all" their sum.
void add_processes(const JsonValue& processes, const std::shared_ptr<const GaugeSubject>& run,
                   const std::vector<GaugeLabel>& gpu, GaugeFamily& family) {
  const auto add = [&](const std::string& process, double value) {
    std::vector<GaugeLabel> labels = gpu;
    labels.push_back({"process", process});
    family.samples.push_back({run, value, std::move(labels)});
  };
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [process, json] : processes.members) {
    const auto value = aipm_reading(json);
    if (!value) continue;
    add(process, *value);
    sum += *value;
    ++count;
  }
  if (count > 0) add("all", sum);
}

std::vector<GaugeFamily> process_families() {
  return mapped(kAipmProcesses, [](const AipmProcessGauge& gauge) {
    return GaugeFamily{
        std::string(gauge.name), GaugeUnit::none, std::string(gauge.help), false, {}};
  });
}

void add_processes(const JsonValue& metrics, const std::shared_ptr<const GaugeSubject>& run,
                   std::vector<GaugeFamily>& families) {
  for (std::size_t i = 0; i < std::size(kAipmProcesses); ++i) {
    const JsonValue& all = metrics.at(kAipmProcesses[i].part).at(kAipmProcesses[i].name);
    if (!all.is_object()) continue;
    if (kAipmProcesses[i].part == "cpu") {
      add_processes(all, run, {}, families[i]);
      continue;
    }
    for (const auto& [gpu, processes] : all.members) {
      if (processes.is_object()) add_processes(processes, run, {{"gpu", gpu}}, families[i]);
    }
  }
}

// Lines that are cut off, and ends of segments, are passed over.
JsonValue last_metrics(std::string_view text) {
  while (!text.empty()) {
    const std::size_t line = text.rfind('\n', text.size() - 1);
    const std::size_t begin = line == text.npos ? 0 : line + 1;
    try {
      JsonValue record = parse_json(text.substr(begin));
      if (record.at("metrics").is_object()) return record.at("metrics");
    } catch (const JsonError&) {  // blank or torn
    }
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return JsonValue::object();
}

OpenedFile opened_recording(const std::string& path) {
  const auto place = place_on_disk(path);
  if (!place) throw FileError(path, "open", ENOENT);
  return place->tree->open(place->path);
}

std::vector<std::string> recording_names(const std::vector<std::string>& recordings) {
  const auto named = [&](std::size_t i) {
    return NamedExport{short_export_name(recordings[i]), recordings[i]};
  };
  std::vector<std::string> names(recordings.size());
  std::ranges::generate(names, distinct_names(names.size(), named, false));
  return names;
}

// Whether a path leads to a recording of AIPowerMeter's own. Throws FileError.
bool is_aipowermeter_recording(const std::string& path) {
  const auto place = place_on_disk(path);
  if (!place) throw FileError(path, "open", ENOENT);
  if (!place->facts || is_archive_name(path)) return false;
  constexpr std::size_t kHead = 65536;
  const auto source = place->tree->open(place->path).source();
  return kAipowermeterRecorder.fits(read_up_to(*source, kHead)) > 0;
}

// Of valid runs, what is known of the five: power_draw_gpu, the mean power of all GPUs. Of
// recordings their last record, as the server showed it: all five, as far as it has them, and what
// it has of each process. Throws FileError.
std::vector<GaugeFamily> aipowermeter_gauges(const Exported& exported,
                                             const std::vector<std::string>& recordings) {
  std::vector<GaugeFamily> families;
  for (const auto& [name, help] : kAipmNames) {
    families.push_back({std::string(name), GaugeUnit::none, std::string(help), false, {}});
  }
  for (const ExportedRun& run : exported.runs) {
    const auto power = run.run.number("avg_total_gpu_power_w");
    if (!power) continue;
    families[draw_gpu].samples.push_back({gauge_subject(run), power->value});
  }
  std::vector<GaugeFamily> processes = process_families();
  const std::vector<std::string> names = recording_names(recordings);
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const std::string text = read_whole(opened_recording(recordings[i]), kWholeRecording);
    const JsonValue metrics = last_metrics(text);
    const auto readings = aipm_readings(metrics);
    const auto subject = std::make_shared<const GaugeSubject>(GaugeSubject{{{"run", names[i]}}});
    for (std::size_t gauge = 0; gauge < kAipmGauges; ++gauge) {
      if (!readings[gauge]) continue;
      families[gauge].samples.push_back({subject, *readings[gauge]});
    }
    add_processes(metrics, subject, processes);
  }
  append(families, std::move(processes));
  return families;
}

struct PrometheusForm {
  std::string_view prefix;      // of all names
  bool is_openmetrics = false;  // with units, and a mark at the end
  bool has_timestamps = false;  // only in OpenMetrics; samples without a time are left out
};

std::string escaped_text(std::string_view text, bool has_quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && has_quotes)
      escaped += "\\\"";
    else
      escaped += c;
  }
  return escaped;
}

std::string labels_text(const GaugeSample& sample) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped_text(value, true));
  };
  for (const GaugeLabel& label : sample.subject->labels) add(label.name, label.value);
  for (const auto& [key, value] : sample.subject->configuration) add(label_name(key), value);
  for (const GaugeLabel& label : sample.more) add(label.name, label.value);
  return text.empty() ? text : fmt::format("{{{}}}", text);
}

struct SampleLine {
  std::string series;  // its labels
  double end_unix_s;
  std::string value;
};

SampleLine line_of(const GaugeFamily& family, const GaugeSample& sample) {
  return {labels_text(sample), sample.subject->end_unix_s,
          family.is_count ? fmt::format("{:.0f}", sample.value) : json_number(sample.value)};
}

// Passes each line; with timestamps, those that have a time, the lines of one series together.
void for_each_line_of(const GaugeFamily& family, bool has_timestamps,
                      const std::function<void(const SampleLine&)>& take) {
  std::vector<SampleLine> lines;
  for (const GaugeSample& sample : family.samples) {
    if (!has_timestamps) {
      take(line_of(family, sample));
    } else if (sample.subject->end_unix_s > 0) {
      lines.push_back(line_of(family, sample));
    }
  }
  std::ranges::stable_sort(lines, [](const SampleLine& a, const SampleLine& b) {
    return a.series != b.series ? a.series < b.series : a.end_unix_s < b.end_unix_s;
  });
  std::ranges::for_each(lines, take);
}

bool has_samples(const GaugeFamily& family, bool has_timestamps) {
  return std::ranges::any_of(family.samples, [&](const GaugeSample& sample) {
    return !has_timestamps || sample.subject->end_unix_s > 0;
  });
}

void write_family(const GaugeFamily& family, const PrometheusForm& form, std::string& text,
                  const TextSink& sink) {
  if (!has_samples(family, form.has_timestamps)) return;
  const std::string name =
      fmt::format("{}{}", form.prefix, prometheus_name(family.name, family.unit));
  auto out = std::back_inserter(text);
  const std::string help = escaped_text(family.help, form.is_openmetrics);
  if (form.is_openmetrics) {
    fmt::format_to(out, "# TYPE {} gauge\n", name);
    const std::string unit = prometheus_name("", family.unit);
    if (!unit.empty()) fmt::format_to(out, "# UNIT {} {}\n", name, unit.substr(1));
    fmt::format_to(out, "# HELP {} {}\n", name, help);
  } else {
    fmt::format_to(out, "# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
  }
  for_each_line_of(family, form.has_timestamps, [&](const SampleLine& line) {
    fmt::format_to(out, "{}{} {}", name, line.series, line.value);
    if (form.has_timestamps) fmt::format_to(out, " {:.3f}", line.end_unix_s);
    text += '\n';
    pass_on(text, sink);
  });
}

// The text for a scrape, or for node_exporter's textfile folder. Samples of one series are
// together, in the order of their times.
void write_prometheus(const std::vector<GaugeFamily>& families, const PrometheusForm& form,
                      const TextSink& sink) {
  std::string text;
  for (const GaugeFamily& family : families) write_family(family, form, text, sink);
  if (form.is_openmetrics) text += "# EOF\n";
  sink(text);
}

// Samples without a time cannot be placed in a history.
void warn_of_lost_times(const std::vector<GaugeFamily>& families,
                        std::vector<std::string>& warnings) {
  std::set<std::string> known;
  std::string first;
  for (const GaugeFamily& family : families) {
    for (const GaugeSample& sample : family.samples) {
      const std::string& run = sample.subject->labels.front().value;
      if (sample.subject->end_unix_s > 0) continue;
      if (known.empty()) first = run;
      known.insert(run);
    }
  }
  if (known.empty()) return;
  warnings.push_back(fmt::format(
      "{} of the runs {} no time and {} left out; the first is {}: it has no audit record with a window",
      known.size(), known.size() == 1 ? "has" : "have", known.size() == 1 ? "was" : "were", first));
}

ExportText gauges_text(const ExportRequest& request, std::vector<GaugeFamily> families,
                       ExportText written) {
  if (request.has_timestamps) warn_of_lost_times(families, written.warnings);
  PrometheusForm form;
  form.prefix = request.has_aipowermeter_names ? "" : "aggregate_power_";
  form.is_openmetrics = request.format == ExportFormat::openmetrics;
  form.has_timestamps = request.has_timestamps;
  written.write = [families = std::move(families), form](const TextSink& sink) {
    write_prometheus(families, form, sink);
  };
  return written;
}

ExportText aipowermeter_text(const ExportRequest& request) {
  ExportQuestion question = request.question;
  std::vector<std::string> recordings;
  std::erase_if(question.places, [&](const std::string& place) {
    if (!is_aipowermeter_recording(place)) return false;
    recordings.push_back(place);
    return true;
  });
  Exported exported;
  if (!question.places.empty()) exported = read_exported(question);
  ExportText written{{}, std::move(exported.notes), std::move(exported.warnings)};
  if (exported.is_empty() && recordings.empty()) return written;
  return gauges_text(request, aipowermeter_gauges(exported, recordings), std::move(written));
}

}  // namespace

ExportText export_text(const ExportRequest& request) {
  if (request.has_aipowermeter_names) return aipowermeter_text(request);
  Exported exported = read_exported(request.question);
  ExportText written{{}, std::move(exported.notes), std::move(exported.warnings)};
  if (exported.is_empty()) return written;
  const bool is_csv = request.format == ExportFormat::csv;
  if (!is_csv && request.format != ExportFormat::jsonl) {
    return gauges_text(request, gauge_families(std::move(exported)), std::move(written));
  }
  const auto rows = std::make_shared<const Exported>(std::move(exported));
  written.write = [rows, is_csv](const TextSink& sink) {
    (is_csv ? rows_csv : rows_jsonl)(*rows, sink);
  };
  return written;
}

void refuse_overwriting(const ExportRequest& request, const std::string& path,
                        std::string_view text) {
  constexpr std::size_t kBegin = 16;
  for (const std::string& place : request.question.places) {
    if (!is_same_file(place, path)) continue;
    throw Error(fmt::format(
        "--out: {} is read by this export; it is not overwritten: give another file", path));
  }
  refuse_other_file("--out", path, text.substr(0, kBegin), "earlier export in this format");
}

}  // namespace aggregate_power
