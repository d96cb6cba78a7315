// Reads JSON lines with samples of GPUs: AIPerf's GPU telemetry and all-smi's recordings.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/characters.h"
#include "base/text/json.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// The places of a line's parts. A GPU ends with its object, which may be the line itself.
enum GpuPath {
  kPathOfLine,
  kPathOfTime,
  kPathOfGpu,
  kPathOfUuid,
  kPathOfHost,
  kPathOfIndex,
  kPathOfPower,
  kPathOfPowerToo,
  kPathOfPowerAlso,
  kPathOfCounter  // and those after it, if both are read
};
using GpuPaths = std::array<std::string_view, 9>;

constexpr GpuPaths kAiperfPaths = {"",
                                   "timestamp_ns",
                                   "no_object",
                                   "gpu_uuid",
                                   "hostname",
                                   "gpu_index",
                                   "telemetry_data.gpu_power_usage",
                                   "telemetry_data.nvidia_power_usage",
                                   "telemetry_data.amd_power_usage"};
constexpr GpuPaths kAiperfCounterPaths = {"",
                                          "timestamp_ns",
                                          "no_object",
                                          "gpu_uuid",
                                          "hostname",
                                          "gpu_index",
                                          "telemetry_data.energy_consumption",
                                          "telemetry_data.nvidia_energy_consumption",
                                          "telemetry_data.amd_energy_consumption"};
// Both at once.
constexpr std::array<std::string_view, 12> kAiperfAllPaths = [] {
  std::array<std::string_view, 12> paths{};
  std::ranges::copy(kAiperfPaths, paths.begin());
  std::ranges::copy(kAiperfCounterPaths.begin() + kPathOfPower, kAiperfCounterPaths.end(),
                    paths.begin() + kPathOfCounter);
  return paths;
}();
constexpr GpuPaths kAllSmiPaths = {"",
                                   "timestamp",
                                   "gpus[]",
                                   "gpus[].uuid",
                                   "gpus[].hostname",
                                   "gpus[].index",
                                   "gpus[].power_consumption",
                                   "gpus[].no_power",
                                   "gpus[].no_power_either"};

struct LineFormat {
  const char* schema;
  const char* time;
  const char* power;
  const char* collector;
  JsonPaths paths;
  bool has_gpu_objects;
  std::optional<EnergyCounter> counter = {};  // if its paths are those of a counter
};

const LineFormat& aiperf_format() {
  static const LineFormat format = {"aiperf-gpu-telemetry",  "timestamp_ns",
                                    "gpu_power_usage",       "AIPerf",
                                    JsonPaths(kAiperfPaths), false};
  return format;
}

const JsonPaths& aiperf_paths_of_both() {
  static const JsonPaths paths(kAiperfAllPaths);
  return paths;
}

// AIPerf's unit is the megajoule, whatever the exporter's was.
const LineFormat& aiperf_counter_format() {
  static const LineFormat format = {"aiperf-gpu-telemetry",
                                    "timestamp_ns",
                                    "energy_consumption",
                                    "AIPerf",
                                    JsonPaths(kAiperfCounterPaths),
                                    false,
                                    EnergyCounter{"energy_consumption", "MJ", 1e6}};
  return format;
}

const LineFormat& all_smi_format() {
  static const LineFormat format = {
      "all-smi", "timestamp", "power_consumption", "all-smi", JsonPaths(kAllSmiPaths), true};
  return format;
}

class GpuLineWalk : public JsonVisitor {
 public:
  GpuLineWalk(const LineFormat& format, ReadingSink& sink) : format_(format), sink_(sink) {}

  void begin(std::size_t path) override {
    if (path == kPathOfLine) {
      time_.clear();
      count_ = 0;
    }
    if (path == (format_.has_gpu_objects ? kPathOfGpu : kPathOfLine)) start_gpu();
  }
  // A line's time may come after its GPUs.
  void end(std::size_t path) override {
    if (path != kPathOfLine) return;
    add_all(sink_, &Gpu::watts);
    if (sink_.counters() != nullptr) add_all(*sink_.counters(), &Gpu::count);
  }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    if (path == kPathOfLine) return;
    Field& field = field_of(path);
    field.is_there = true;
    if (!field.may_be_null || kind != JsonKind::null) field.text = text;
  }

 private:
  struct Field {
    bool may_be_null = false;
    bool is_there = false;
    std::string text = {};

    void clear() {
      is_there = false;
      text.clear();
    }
  };
  struct Gpu {
    Field uuid;
    Field host;
    Field index;
    Field watts = {.may_be_null = true};  // or the counter's, if the paths are those of a counter
    Field count = {.may_be_null = true};  // of a counter that is read beside the power

    void clear() {
      for (Field* const field : {&uuid, &host, &index, &watts, &count}) field->clear();
    }
  };

  void start_gpu() {
    if (++count_ > gpus_.size()) gpus_.emplace_back();
    gpus_[count_ - 1].clear();
  }

  Field& field_of(std::size_t path) {
    if (path == kPathOfTime) return time_;
    if (path == kPathOfGpu || count_ == 0) return no_field_;
    Gpu& gpu = gpus_[count_ - 1];
    if (path == kPathOfUuid) return gpu.uuid;
    if (path == kPathOfHost) return gpu.host;
    if (path == kPathOfIndex) return gpu.index;
    return path < kPathOfCounter ? gpu.watts : gpu.count;
  }

  void add_all(ReadingSink& sink, Field Gpu::*value) {
    const auto end = gpus_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto is_there = [&](const Gpu& gpu) { return (gpu.*value).is_there; };
    if (std::none_of(gpus_.begin(), end, is_there) || !sink.start_row(time_.text)) return;
    for (auto at = gpus_.begin(); at != end; ++at) {
      const Gpu& gpu = *at;
      if (!is_there(gpu)) continue;
      if (!gpu.uuid.text.empty()) {
        sink.add(gpu.uuid.text, (gpu.*value).text);
      } else {
        sink.add(gpu.host.text, gpu.index.text, (gpu.*value).text);
      }
    }
  }

  const LineFormat& format_;
  ReadingSink& sink_;
  Field time_;
  std::vector<Gpu> gpus_;  // the first count_ ones are of this line
  std::size_t count_ = 0;
  Field no_field_;  // for what belongs to no GPU
};

SeriesFacts line_facts(const LineFormat& format, std::string_view head,
                       const TelemetryOptions& options) {
  SeriesFacts facts = facts_of_names(
      {.schema = format.schema, .timestamp = format.time, .power = format.power, .device = "uuid"},
      options);
  facts.sensor = {format.collector, format.power, "gpu", "unknown"};
  if (!format.has_gpu_objects && head.find("energy_consumption\":") != head.npos) {
    facts.counter = aiperf_counter_format().counter;
  }
  if (!options.columns.power.empty() && options.columns.power != format.power) {
    facts.reasons.add(Reason::named_column_missing, "--power-column: this format has its own");
  }
  return facts;
}

Telemetry open_lines(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                     const LineFormat& format) {
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return line_facts(format, head, options); },
       .read =
           [&format](ByteSource& bytes, ReadingSink& sink) {
             if (format.counter) sink.count_energy(*format.counter);
             const bool reads_both = &format == &aiperf_format() && sink.counters() != nullptr;
             if (reads_both) sink.counters()->count_energy(*aiperf_counter_format().counter);
             GpuLineWalk walk(format, sink);
             walk_json(bytes, reads_both ? aiperf_paths_of_both() : format.paths, walk,
                       JsonTexts::several);
           },
       .cut_off_after = at_any_json_line});
}

bool first_line_has(std::string_view head, std::initializer_list<std::string_view> texts) {
  const std::string_view line = strip(head.substr(0, head.find('\n')));
  return line.starts_with('{') && line.ends_with('}') &&
         std::ranges::all_of(texts,
                             [&](std::string_view text) { return line.find(text) != line.npos; });
}

double fits_aiperf_telemetry(std::string_view head) {
  return first_line_has(head, {"\"timestamp_ns\"", "\"telemetry_data\"", "\"gpu_uuid\""}) ? 0.9 : 0;
}

Telemetry open_aiperf_telemetry(std::unique_ptr<ByteSource> source,
                                const TelemetryOptions& options) {
  return open_lines(std::move(source), options,
                    options.counters ? aiperf_counter_format() : aiperf_format());
}

std::vector<SchemaRow> aiperf_telemetry_schemas() {
  return {
      {"aiperf-gpu-telemetry",
       "`gpu_power_usage` or `nvidia_power_usage` in the lines of `profile_export_gpu_telemetry.jsonl`, in W",
       "`gpu_uuid`, else `hostname` and `gpu_index`"}};
}

double fits_all_smi(std::string_view head) {
  const bool is_header = first_line_has(head, {"\"schema\"", "\"header\"", "\"all_smi_version\""});
  const bool is_frame = first_line_has(head, {"\"schema\"", "\"timestamp\"", "\"gpus\""});
  return is_header || is_frame ? 0.9 : 0;
}

Telemetry open_all_smi(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_lines(std::move(source), options, all_smi_format());
}

std::vector<SchemaRow> all_smi_schemas() {
  return {{"all-smi", "`power_consumption` in the frames of `all-smi record`, in W", "`uuid`"}};
}

}  // namespace

const Recorder kAiperfTelemetryRecorder = {.name = "AIPerf GPU telemetry",
                                           .fits = fits_aiperf_telemetry,
                                           .open = open_aiperf_telemetry,
                                           .schemas = aiperf_telemetry_schemas};
const Recorder kAllSmiRecorder = {
    .name = "all-smi", .fits = fits_all_smi, .open = open_all_smi, .schemas = all_smi_schemas};

}  // namespace aggregate_power
