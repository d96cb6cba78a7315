// Names and help are those of its class PrometheusClient.
#include "exports/aipowermeter_gauges.h"

#include <array>
#include <cerrno>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/files/path.h"
#include "base/files/whole_file.h"
#include "base/text/json_value.h"
#include "exports/export_names.h"
#include "recorders/recorder.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

enum AipmGauge { draw_cpu, intel, mem_cpu, mem_gpu, draw_gpu, kAipmGauges };

constexpr std::pair<std::string_view, std::string_view> kAipmNames[kAipmGauges] = {
    {"power_draw_cpu", "cpu consumption for the specified process"},
    {"intel_power", "total rapl power"},
    {"mem_used_cpu", "total cpu memory used (uss)"},
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
  std::vector<NamedExport> all;
  for (const std::string& path : recordings) all.push_back({short_export_name(path), path});
  return distinct_names(all, false);
}

}  // namespace

bool is_aipowermeter_recording(const std::string& path) {
  const auto place = place_on_disk(path);
  if (!place) throw FileError(path, "open", ENOENT);
  if (!place->facts || is_archive_name(path)) return false;
  constexpr std::size_t kHead = 65536;
  const auto source = place->tree->open(place->path).source();
  return kAipowermeterRecorder.fits(read_up_to(*source, kHead)) > 0;
}

std::vector<GaugeFamily> aipowermeter_gauges(const Exported& exported,
                                             const std::vector<std::string>& recordings) {
  std::vector<GaugeFamily> families;
  for (const auto& [name, help] : kAipmNames) {
    families.push_back({std::string(name), GaugeUnit::none, std::string(help), false, {}});
  }
  for (const ExportedRun& run : exported.runs) {
    const auto power = run.run.number("avg_total_gpu_power_w");
    if (!power) continue;
    families[draw_gpu].samples.push_back(
        {{run_labels(run)}, power->value, run.run.start_unix_s, run.end_unix_s()});
  }
  const std::vector<std::string> names = recording_names(recordings);
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const std::string text = read_whole(opened_recording(recordings[i]), kWholeRecording);
    const auto readings = aipm_readings(last_metrics(text));
    const auto label =
        std::make_shared<const std::vector<GaugeLabel>>(std::vector<GaugeLabel>{{"run", names[i]}});
    for (std::size_t gauge = 0; gauge < kAipmGauges; ++gauge) {
      if (!readings[gauge]) continue;
      families[gauge].samples.push_back({{label}, *readings[gauge]});
    }
  }
  return families;
}

}  // namespace aggregate_power
