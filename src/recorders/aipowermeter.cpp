// Reads AIPowerMeter's power_metrics.json, JSON lines with a record each, in segments, and
// integrates each of its sensors.
//
// Two generations of keys: nvidia_draw_absolute with per_gpu_power_draw (2021 to 2024), and
// nvidia_power (2026). A line "END OF RECORDING SEGMENT" divides segments, which are never joined.
// -1 means that there is no such sensor.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/pattern.h"
#include "base/text/timestamp.h"
#include "core/telemetry/lines.h"
#include "recorders/aipowermeter.h"
#include "recorders/recorder_table.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

// ---- The sensors

double sum_of(const std::vector<AipmOfGpu>& gpus, bool with_all) {
  double sum = kNoAipmSensor;
  for (const AipmOfGpu& of : gpus) {
    if ((of.gpu == "all") != with_all) continue;
    sum = std::isnan(sum) ? of.watts : sum + of.watts;
  }
  return sum;
}

double drawn_w(const AipmRecord& record) {
  for (const AipmPath path : {kAipmDrawAbsolute, kAipmNvidiaPower}) {
    if (!std::isnan(record.watts[path])) return record.watts[path];
  }
  return sum_of(record.drawn, false);
}

double attributable_w(const AipmRecord& record) {
  for (const bool with_all : {true, false}) {
    const double sum = sum_of(record.attributable, with_all);
    if (!std::isnan(sum)) return sum;
  }
  return record.watts[kAipmNvidiaAttributable];
}

// No machine has more sensors, and no one reads more numbers.
constexpr std::size_t kMostSensors = 4096;
constexpr std::size_t kMostSegmentEnergies = 1'000'000;

// Integrates the sensors over the segments.
class SensorLog {
 public:
  // Throws TelemetryError if there are too many sensors.
  void take(const AipmRecord& record, double unix_s) {
    if (has_ended_) ++segments_;
    has_ended_ = false;
    unix_s_ = unix_s;
    add("", "gpu", drawn_w(record));
    for (const AipmOfGpu& of : record.drawn) add("gpu ", of.gpu, of.watts);
    add("", "attributable", attributable_w(record));
    add("", "intel", record.watts[kAipmIntel]);
    add("", "psys", record.watts[kAipmPsys]);
    add("", "uncore", record.watts[kAipmUncore]);
    add("", "cpu", record.watts[kAipmTotalCpu]);
    add("", "dram", record.watts[kAipmTotalDram]);
    if (record.attributable.empty() || record.drawn.empty()) return;
    ++attributed_;
    above_drawn_ += record.is_above_drawn() ? 1 : 0;
  }
  void end_segment() { has_ended_ = true; }

  std::vector<SensorEnergy> energies() const {
    std::vector<SensorEnergy> energies;
    for (const Sensor& sensor : sensors_) {
      SensorEnergy& energy = energies.emplace_back(sensor.found);
      energy.total_j = sensor.total_j();
      if (sensors_.size() * segments_ > kMostSegmentEnergies) continue;
      energy.segments_j.resize(segments_);
      for (const auto& [segment, joules] : sensor.segments_j) {
        energy.segments_j[segment - 1] = joules;
      }
    }
    return energies;
  }

  // The sums whose sensors are all there.
  std::vector<SensorSum> sums() const {
    std::vector<SensorSum> sums;
    const auto add_sum = [&](const char* text, const char* whole,
                             std::initializer_list<const char*> parts) {
      double sum_j = 0;
      for (const char* part : parts) {
        if (!total_j(part)) return;
        sum_j += *total_j(part);
      }
      if (!total_j(whole)) return;
      const bool holds = std::abs(*total_j(whole) - sum_j) <= 0.01 * *total_j(whole);
      sums.push_back({text, holds, fmt::format("{:.3f} J and {:.3f} J", *total_j(whole), sum_j)});
    };
    add_sum("intel = psys + uncore + cpu", "intel", {"psys", "uncore", "cpu"});
    if (total_j("psys") && total_j("intel")) {
      sums.push_back({"psys contains intel", *total_j("psys") >= *total_j("intel"),
                      fmt::format("{:.3f} J and {:.3f} J", *total_j("psys"), *total_j("intel"))});
    }
    if (total_j("gpu")) {
      double sum_j = 0;
      for (const Sensor& sensor : sensors_) {
        if (sensor.found.name.starts_with("gpu ")) sum_j += sensor.total_j();
      }
      sums.push_back({"gpu = sum of its GPUs",
                      std::abs(*total_j("gpu") - sum_j) <= 0.01 * *total_j("gpu"),
                      fmt::format("{:.3f} J and {:.3f} J", *total_j("gpu"), sum_j)});
    }
    if (attributed_ > 0) {
      sums.push_back({"attributable is at most what each GPU draws", above_drawn_ == 0,
                      fmt::format("above it in {} of {} records", above_drawn_, attributed_)});
    }
    return sums;
  }

 private:
  struct Sensor {
    SensorEnergy found;  // without its energies
    Sample last;
    std::vector<std::pair<std::size_t, double>> segments_j;  // those that it has a reading of

    double total_j() const {
      return summed(segments_j, [](const auto& each) { return each.second; });
    }
  };

  void add(std::string_view kind, std::string_view name, double watts) {
    if (!std::isnan(watts)) integrate(sensors_[last_ = find(kind, name)], watts);
  }

  void integrate(Sensor& sensor, double watts) const {
    SensorEnergy& found = sensor.found;
    found.last_unix_s = unix_s_;
    found.max_w = std::max(found.max_w, watts);
    if (!sensor.segments_j.empty() && sensor.segments_j.back().first == segments_) {
      const double period_s = unix_s_ - sensor.last.unix_s;
      sensor.segments_j.back().second += period_s * (watts + sensor.last.watts) / 2;
      found.held_back_j += period_s * watts;
      found.duration_s += period_s;
    } else {
      sensor.segments_j.emplace_back(segments_, 0.0);
    }
    sensor.last = {unix_s_, watts};
  }

  std::size_t find(std::string_view kind, std::string_view name) {
    name_.assign(kind).append(name);
    const std::size_t next = last_ + 1 < sensors_.size() ? last_ + 1 : 0;  // most records are alike
    if (next < sensors_.size() && sensors_[next].found.name == name_) return next;
    if (const auto known = numbers_.find(name_); known != numbers_.end()) return known->second;
    if (sensors_.size() == kMostSensors) {
      throw TelemetryError(
          fmt::format("more than {} sensors: no machine has so many GPUs", kMostSensors));
    }
    numbers_.emplace(name_, sensors_.size());
    Sensor& sensor = sensors_.emplace_back();
    sensor.found.name = name_;
    sensor.found.first_unix_s = unix_s_;
    return sensors_.size() - 1;
  }

  std::optional<double> total_j(std::string_view name) const {
    const auto known = numbers_.find(name);
    if (known == numbers_.end()) return std::nullopt;
    return sensors_[known->second].total_j();
  }

  std::vector<Sensor> sensors_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of the sensors, by name
  std::string name_;
  std::size_t last_ = 0;      // the sensor that was added last
  double unix_s_ = 0;         // of the record
  std::size_t segments_ = 0;  // so far, counting the one that is read
  bool has_ended_ = true;
  std::uint64_t attributed_ = 0;
  std::uint64_t above_drawn_ = 0;
};

// ---- The recording

// `power` is a sensor's key; empty: the power of each GPU.
void read_aipowermeter(ByteSource& source, const std::string& power, ReadingSink& sink) {
  SensorLog log;
  const std::size_t sensor = aipm_path_of(power);
  AipmWalk walk(
      [&](const AipmRecord& record) {
        if (!sink.start_row(record.date)) return;
        log.take(record, sink.unix_s());
        if (!power.empty()) {
          const bool is_there = sensor < kAipmPathCount && !std::isnan(record.watts[sensor]);
          if (is_there) sink.add("0", record.watts[sensor]);
          return;
        }
        for (const AipmOfGpu& of : record.drawn) sink.add(of.gpu, of.watts);
      },
      [&] {
        sink.end_segment();
        log.end_segment();
      });
  const auto tell = [&] { sink.tell_sensors(log.energies(), log.sums()); };
  try {
    walk_aipm_records(source, walk);
  } catch (...) {
    tell();
    throw;
  }
  tell();
}

// The sensors of the first records.
struct AipmHead {
  bool has_gpus = false;
  bool is_of_2026 = false;
  std::vector<std::string> keys;
};

AipmHead first_records(std::string_view head) {
  AipmHead found;
  AipmWalk walk(
      [&](const AipmRecord& record) {
        found.has_gpus = found.has_gpus || !record.drawn.empty();
        found.is_of_2026 = found.is_of_2026 || !std::isnan(record.watts[kAipmNvidiaPower]);
        for (std::size_t path = kFirstAipmSensor; path < kAipmPathCount; ++path) {
          std::string key(aipm_key_of(path));
          const bool is_new = std::ranges::find(found.keys, key) == found.keys.end();
          if (!std::isnan(record.watts[path]) && is_new) found.keys.push_back(std::move(key));
        }
      },
      [] {});
  MemorySource source(head);
  try {
    walk_aipm_records(source, walk);
  } catch (const JsonError&) {  // cut off
  }
  return found;
}

std::string aipm_scope(std::string_view power) {
  if (power.empty() || power.starts_with("nvidia")) return "gpu";
  if (power == "psys_power") return "node";
  return power == "intel_power" ? "package" : "rail";
}

SeriesFacts aipowermeter_facts(std::string_view head, const TelemetryOptions& options) {
  const AipmHead first = first_records(head);
  const std::string& wanted = options.columns.power;
  const bool is_named = !wanted.empty() && wanted != "per_gpu_power_draw";
  const bool is_there =
      is_named ? std::ranges::find(first.keys, wanted) != first.keys.end() : first.has_gpus;
  SeriesNames names = {.schema = "aipowermeter", .timestamp = "date", .power = {}, .device = {}};
  if (is_there) names.power = is_named ? wanted : "per_gpu_power_draw";
  if (is_there && !is_named) names.device = "GPU";
  if (is_named) names.power_why = "named by --power-column";
  SeriesFacts facts = facts_of_names(names, options);
  const std::string known = first.keys.empty() ? "none" : joined_text(first.keys, ", ");
  if (!is_there && is_named) {
    facts.reasons.add(
        Reason::named_column_missing,
        fmt::format("--power-column: no sensor '{}'; there are {}", printable(wanted), known));
  } else if (!is_there) {
    const bool has_cpu = std::ranges::find(first.keys, "intel_power") != first.keys.end();
    facts.reasons.explain(Reason::power_column_missing,
                          fmt::format("no power of a GPU; {}; the sensors: {}",
                                      has_cpu ? "to count the CPU, pass --power-column intel_power"
                                              : "--power-column may name a sensor",
                                      known));
    facts.reasons.remove(Reason::gpu_identity_column_missing);  // no option would name one
  }
  facts.sensor.collector = "AIPowerMeter";
  if (is_there) facts.sensor.name = *names.power;
  if (is_there) facts.sensor.scope = aipm_scope(is_named ? wanted : "");
  if (is_there && first.is_of_2026) facts.sensor.averaging = "over the period before the stamp";
  return facts;
}

// Whether an object, which may break off, has this key at its first level.
bool has_member(std::string_view object, std::string_view quoted_key) {
  int level = 0;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (c == '{' || c == '[') ++level;
    if (c == '}' || c == ']') --level;
    if (c != '"') continue;
    std::size_t end = i + 1;
    while (end < object.size() && object[end] != '"') end += object[end] == '\\' ? 2 : 1;
    const std::size_t next = object.find_first_not_of(" \t", end + 1);
    const bool is_key = next != object.npos && object[next] == ':';
    if (level == 1 && is_key && object.substr(i, end + 1 - i) == quoted_key) return true;
    i = end;
  }
  return false;
}

double fits_aipowermeter(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const bool is_end = strip(line) == "\"END OF RECORDING SEGMENT\"";
  const bool is_record = strip(line).starts_with('{') && has_member(line, "\"date\"") &&
                         has_member(line, "\"metrics\"");
  return is_end || is_record ? 0.9 : 0;
}

Telemetry open_aipowermeter(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  const std::string& wanted = options.columns.power;
  const std::string power = wanted == "per_gpu_power_draw" ? "" : wanted;
  return open_stream(
      std::move(source), options,
      {.facts_of = [&](std::string_view head) { return aipowermeter_facts(head, options); },
       .read = [power](ByteSource& bytes,
                       ReadingSink& sink) { read_aipowermeter(bytes, power, sink); },
       .has_sensors = true});
}

}  // namespace

const Recorder kAipowermeterRecorder = {
    .name = "AIPowerMeter",
    .fits = fits_aipowermeter,
    .open = open_aipowermeter,
    .schemas = {
        {"aipowermeter",
         "`per_gpu_power_draw` in W, in JSON lines; or a sensor named by `--power-column`, such as `intel_power`",
         "GPU"}}};

// ---- Walks the JSON texts, which are records or ends of segments.

namespace {

constexpr std::string_view kSegmentEnd = "END OF RECORDING SEGMENT";

// In the order of AipmPath.
constexpr std::array<std::string_view, kAipmPathCount> kAipmPaths = {
    "",
    "date",
    "metrics.cpu.uncore_power[]",
    "metrics.gpu.per_gpu_power_draw.*",
    "metrics.gpu.per_gpu_power.*",
    "metrics.gpu.per_gpu_attributable_power.*",
    "metrics.gpu.per_gpu_per_pid_utilization_absolute.*",
    "metrics.gpu.per_gpu_per_pid_utilization_absolute.*.*",
    "metrics.gpu.nvidia_draw_absolute",
    "metrics.gpu.nvidia_power",
    "metrics.gpu.nvidia_attributable_power",
    "metrics.cpu.intel_power",
    "metrics.cpu.psys_power",
    "metrics.cpu.uncore_power",
    "metrics.cpu.total_cpu_power",
    "metrics.cpu.total_dram_power",
    "metrics.cpu.rel_intel_power",
};

// NaN for what is not a number, and for -1, which stands for a sensor that is not there.
double number_in(JsonKind kind, std::string_view text) {
  if (kind != JsonKind::integer && kind != JsonKind::real) return kNoAipmSensor;
  double plain = 0;
  if (read_whole_decimal(text, plain)) return plain;
  const std::optional<double> number = nearest_double(text);
  return number && std::isfinite(*number) && *number >= 0 ? *number : kNoAipmSensor;
}

}  // namespace

std::string_view aipm_key_of(std::size_t path) {
  std::string_view key = kAipmPaths[path];
  while (key.ends_with(".*")) key.remove_suffix(2);
  return key.substr(key.rfind('.') + 1);
}

std::size_t aipm_path_of(std::string_view sensor) {
  std::size_t path = kFirstAipmSensor;
  while (path < kAipmPathCount && aipm_key_of(path) != sensor) ++path;
  return path;
}

bool AipmRecord::is_above_drawn() const {
  return std::ranges::any_of(attributable, [&](const AipmOfGpu& part) {
    const auto whole = std::ranges::find(drawn, part.gpu, &AipmOfGpu::gpu);
    return whole != drawn.end() && part.watts > whole->watts;
  });
}

void AipmWalk::begin(std::size_t path) {
  if (path == kAipmRecord) record_.clear();
  if (path == kAipmProcesses) record_.processes.push_back({gpu_, {}});
}

void AipmWalk::end(std::size_t path) {
  if (path == kAipmRecord) on_record_(record_);
}

void AipmWalk::key(std::size_t path, std::string_view key) {
  (path == kAipmProcessUse ? process_ : gpu_) = key;
}

void AipmWalk::scalar(std::size_t path, JsonKind kind, std::string_view text) {
  if (path == kAipmRecord) {
    if (text == kSegmentEnd) on_segment_end_();
    return;
  }
  if (path == kAipmDate) {
    record_.date = text;
  } else if (const double number = number_in(kind, text); !std::isnan(number)) {
    add_number(path, number);
  }
}

void AipmWalk::add_number(std::size_t path, double number) {
  switch (path) {
    case kAipmGpuPower:
    case kAipmGpuPowerOf2026:
      record_.drawn.push_back({gpu_, number});
      break;
    case kAipmGpuAttributable:
      record_.attributable.push_back({gpu_, number});
      break;
    case kAipmProcessUse:
      record_.processes.back().uses.push_back({process_, number});
      break;
    case kAipmUncoreItem: {
      double& uncore_w = record_.watts[kAipmUncore];
      uncore_w = std::isnan(uncore_w) ? number : uncore_w + number;
      break;
    }
    default:
      record_.watts[path] = number;
  }
}

void walk_aipm_records(ByteSource& source, AipmWalk& walk) {
  static const JsonPaths paths(kAipmPaths);
  walk_json(source, paths, walk, JsonTexts::several);
}

// ---- Reads the CSV of OmegaWatt's wall meter, as `wattmetre-read` writes it and AIPowerMeter
// keeps it next to its records: a frame each 10 ms, with the active power of each socket.
//
// A socket is that of a whole machine, not of a GPU. Frames that the meter marks as not read have
// no values. Lines before the header are what the program printed on its standard error.

namespace {

constexpr std::string_view kHeaderStart = "#timestamp,#frame_is_ok,";

struct SocketColumn {
  std::size_t index;
  std::string socket;
};

// Where a frame has what is read of it: its time first, whether it was read second.
struct FrameColumns {
  std::vector<SocketColumn> sockets;
  std::size_t cells = 0;
};

FrameColumns frame_columns(std::string_view header) {
  static constexpr Pattern power("#activepow[0-9]+");
  FrameColumns columns;
  const std::vector<std::string> cells = cells_of_line(header);
  columns.cells = cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view name = strip(cells[i]);
    if (!power.matches(name)) continue;
    constexpr std::size_t kBeforeNumber = std::string_view("#activepow").size();
    columns.sockets.push_back({i, "socket" + std::string(name.substr(kBeforeNumber))});
  }
  return columns;
}

void take_frame(const FrameColumns& columns, const std::vector<std::string>& cells,
                ReadingSink& sink) {
  if (!sink.start_row(cells[0])) return;
  const auto cell = [&](std::size_t i) {
    return i < cells.size() ? strip(cells[i]) : std::string_view();
  };
  if (lower_ascii(cell(1)) != "true") return sink.skip(&Skipped::no_reading);
  for (const SocketColumn& column : columns.sockets) sink.add(column.socket, cell(column.index));
}

// The last line may be cut off inside a number, so it counts only with its line break.
void read_frames(ByteSource& source, ReadingSink& sink) {
  std::optional<FrameColumns> columns;
  for_each_line(source, [&](std::string_view line, bool is_whole) {
    if (strip(line).empty()) return sink.skip(&Skipped::blank);
    if (line.starts_with(kHeaderStart)) {
      if (columns) sink.skip(&Skipped::repeated_header);  // its sockets may be others
      columns = frame_columns(line);
      return;
    }
    if (!columns) return sink.skip(&Skipped::preamble);
    if (!is_whole) return sink.skip(&Skipped::torn_tail);
    const std::vector<std::string> cells = cells_of_line(line);
    if (cells.empty()) return sink.skip(&Skipped::blank);  // NUL bytes
    take_frame(*columns, cells, sink);
  });
}

SeriesFacts omegawatt_facts(const TelemetryOptions& options) {
  SeriesNames names = {.schema = "omegawatt", .timestamp = "#timestamp"};
  names.power = "#activepow*";
  names.device = "the socket";
  SeriesFacts facts = facts_of_names(names, options);
  facts.sensor = {"OmegaWatt", "activepow", "wall", "unknown"};
  return facts;
}

double fits_omegawatt(std::string_view head) {
  constexpr int kMostLinesBefore = 16;
  for (int i = 0; i < kMostLinesBefore && !head.empty(); ++i) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (head.starts_with(kHeaderStart)) {
      return head.substr(0, end).find("#activepow") != head.npos ? 0.95 : 0;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return 0;
}

Telemetry open_omegawatt(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  return open_stream(std::move(source), options,
                     {.facts_of = [&](std::string_view) { return omegawatt_facts(options); },
                      .read = read_frames});
}

}  // namespace

const Recorder kOmegawattRecorder = {
    .name = "OmegaWatt",
    .fits = fits_omegawatt,
    .open = open_omegawatt,
    .schemas = {{"omegawatt", "`#activepow1` and so on, in W at the wall", "the socket"}}};

// ---- How processes shared the GPUs: numbers them, and sorts the records by GPU.

namespace {

class ShareKeeper {
 public:
  explicit ShareKeeper(const Zone& zone) : stamps_(zone) {}

  void take(const AipmRecord& record) {
    const auto stamp = stamps_.parse(strip(record.date));
    if (!stamp) return;
    if (!record.attributable.empty() && !record.drawn.empty()) {
      ++shares_.attributed;
      shares_.above_drawn += record.is_above_drawn() ? 1 : 0;
    }
    for (const AipmOfGpu& of : record.drawn) {
      const auto found = std::ranges::find(record.processes, of.gpu, &AipmProcesses::gpu);
      const bool is_known = found != record.processes.end();
      ShareRecord& kept = gpu(of.gpu).records.emplace_back();
      kept.unix_s = stamp->unix_s;
      kept.is_known = is_known;
      if (!is_known) continue;
      shares_.has_processes = true;
      for (const AipmUse& use : found->uses) {
        if (use.use > 0) kept.uses.push_back({number_of(use.process), use.use});
      }
    }
  }

  ProcessShares finish() && {
    for (ProcessShares::Gpu& gpu : shares_.gpus) {
      std::ranges::stable_sort(gpu.records, {}, &ShareRecord::unix_s);
    }
    return std::move(shares_);
  }

 private:
  ProcessShares::Gpu& gpu(const std::string& name) {
    const auto found = std::ranges::find(shares_.gpus, name, &ProcessShares::Gpu::name);
    if (found != shares_.gpus.end()) return *found;
    shares_.gpus.push_back({name, {}});
    return shares_.gpus.back();
  }
  std::size_t number_of(const std::string& process) {
    const auto [place, is_new] = numbers_.try_emplace(process, shares_.processes.size());
    if (is_new) shares_.processes.push_back(process);
    return place->second;
  }

  StampParser stamps_;
  ProcessShares shares_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

const ProcessShares::Gpu* ProcessShares::find(const std::string& gpu) const {
  return find_item(gpus, gpu, &Gpu::name);
}

ProcessShares read_process_shares(ByteSource& source, const Zone& zone) {
  ShareKeeper keeper(zone);
  AipmWalk walk([&](const AipmRecord& record) { keeper.take(record); }, [] {});
  try {
    walk_aipm_records(source, walk);
  } catch (const JsonError&) {  // reading its power says what is wrong
  }
  return std::move(keeper).finish();
}

// ---- All metrics, by process.

namespace {

constexpr std::string_view kMetricPaths[] = {"",
                                             "date",
                                             "metrics.cpu.*",
                                             "metrics.cpu.*.*",
                                             "metrics.gpu.*",
                                             "metrics.gpu.*.*",
                                             "metrics.gpu.*.*.*"};
enum MetricPath {
  kMetricRecord,
  kMetricDate,
  kCpuMetric,
  kCpuProcess,
  kGpuMetric,
  kMetricGpu,
  kGpuProcess
};

struct ProcessPowerName {
  const char* name;
  const char* metric;
  const char* total;
};
constexpr ProcessPowerName kProcessPowers[] = {
    {"cpu", "per_process_cpu_power", "total_cpu_power"},
    {"dram", "per_process_dram_power", "total_dram_power"}};

constexpr std::size_t kMostMetrics = 256;

class MetricWalk : public JsonVisitor {
 public:
  explicit MetricWalk(const Zone& zone) : stamps_(zone) {
    for (const ProcessPowerName& power : kProcessPowers) {
      found_.powers.push_back({power.name, power.metric, {}, {}});
    }
  }

  void begin(std::size_t path) override {
    if (path != kMetricRecord) return;
    date_.clear();
    values_.clear();
    totals_.fill(kNoAipmSensor);
  }
  void end(std::size_t path) override {
    if (path == kMetricRecord) finish_record();
  }
  void key(std::size_t path, std::string_view key) override {
    if (path == kCpuMetric || path == kGpuMetric) {
      metric_ = key;
      gpu_.clear();
      add_name(path == kCpuMetric ? found_.cpu : found_.gpu);
    }
    if (path == kMetricGpu) gpu_ = key;
    if (path == kCpuProcess || path == kGpuProcess) process_ = key;
  }
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    if (path == kMetricRecord && text == kSegmentEnd) has_ended_ = true;
    if (path == kMetricDate) date_ = text;
    const double number = number_in(kind, text);
    if (std::isnan(number)) return;
    if (path == kCpuProcess || path == kGpuProcess) {
      values_.push_back({metric_, gpu_, process_, number});
    }
    for (std::size_t i = 0; path == kCpuMetric && i < totals_.size(); ++i) {
      if (metric_ == kProcessPowers[i].total) totals_[i] = number;
    }
  }

  AipmMetrics finish() && {
    std::erase_if(found_.powers, [](const auto& power) { return power.processes.empty(); });
    return std::move(found_);
  }

 private:
  struct Value {
    std::string metric, gpu, process;
    double number;
  };

  void add_name(std::vector<std::string>& names) const {
    if (std::ranges::find(names, metric_) != names.end()) return;
    if (names.size() == kMostMetrics) {
      throw TelemetryError(fmt::format("more than {} metrics", kMostMetrics));
    }
    names.push_back(metric_);
  }

  AipmMetrics::Use& use_of(const Value& value, const std::string& process) {
    const auto [place, is_new] = places_.try_emplace(
        fmt::format("{}\n{}\n{}", value.metric, value.gpu, process), found_.uses.size());
    if (is_new) {
      if (found_.uses.size() == kMostSensors) {
        throw TelemetryError(fmt::format("more than {} metrics of processes", kMostSensors));
      }
      found_.uses.push_back({value.metric, value.gpu, process});
    }
    return found_.uses[place->second];
  }
  static void add(double number, AipmMetrics::Use& use) {
    ++use.records;
    use.sum += number;
    use.max = std::max(use.max, number);
  }

  void finish_record() {
    const auto stamp = stamps_.parse(strip(date_));
    if (!stamp) return;
    std::map<std::pair<std::string, std::string>, double> sums;
    for (const Value& value : values_) {
      sums[{value.metric, value.gpu}] += value.number;
      add(value.number, use_of(value, value.process));
    }
    for (const auto& [key, sum] : sums) {
      add(sum, use_of({key.first, key.second, {}, 0}, "all"));
    }
    if (has_ended_ && last_unix_s_ && *last_unix_s_ < stamp->unix_s) {
      found_.pauses.push_back({*last_unix_s_, stamp->unix_s});
    }
    has_ended_ = false;
    last_unix_s_ = stamp->unix_s;
    for (std::size_t i = 0; i < found_.powers.size(); ++i) {
      const auto sum = sums.find({found_.powers[i].metric, {}});
      if (sum != sums.end()) add_power(stamp->unix_s, i, sum->second);
    }
  }

  std::vector<AipmMetrics::Named>& named(const std::string& process, std::size_t which) {
    AipmMetrics::Power& power = found_.powers[which];
    const auto [place, is_new] = numbers_[which].try_emplace(process, power.processes.size());
    if (is_new) power.processes.push_back({process, {}});
    return power.processes[place->second].second;
  }

  void add_power(double unix_s, std::size_t which, double sum_w) {
    AipmMetrics::Power& power = found_.powers[which];
    for (const Value& value : values_) {
      if (value.metric != power.metric) continue;
      std::vector<AipmMetrics::Named>& of_process = named(value.process, which);
      const bool is_again = !of_process.empty() && of_process.back().record == power.total.size();
      if (!is_again) of_process.push_back({power.total.size(), 0});
      of_process.back().watts += value.number;
    }
    power.total.push_back({unix_s, std::isnan(totals_[which]) ? sum_w : totals_[which]});
  }

  StampParser stamps_;
  AipmMetrics found_;
  std::map<std::string, std::size_t> places_;  // in found_.uses
  // In Power::processes of each power.
  std::array<std::map<std::string, std::size_t>, std::size(kProcessPowers)> numbers_;
  std::string date_, metric_, gpu_, process_;
  std::vector<Value> values_;  // of the record
  std::array<double, std::size(kProcessPowers)> totals_{};
  std::optional<double> last_unix_s_;
  bool has_ended_ = false;
};

}  // namespace

std::vector<Sample> AipmMetrics::Power::samples_of(const std::vector<Named>& process) const {
  std::vector<Sample> all = total;
  for (Sample& sample : all) sample.watts = 0;
  for (const Named& named : process) all[named.record].watts = named.watts;
  if (std::ranges::adjacent_find(all, std::ranges::greater_equal{}, &Sample::unix_s) != all.end()) {
    return all;  // records at one time are joined later
  }
  std::vector<Sample> found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_end = i == 0 || i + 1 == all.size();
    if (is_end || all[i].watts != 0 || all[i - 1].watts != 0 || all[i + 1].watts != 0) {
      found.push_back(all[i]);
    }
  }
  return found;
}

AipmMetrics read_aipm_metrics(ByteSource& source, const Zone& zone) {
  static const JsonPaths paths(kMetricPaths);
  MetricWalk walk(zone);
  try {
    walk_json(source, paths, walk, JsonTexts::several);
  } catch (const JsonError&) {  // reading its power says what is wrong
  }
  return std::move(walk).finish();
}

}  // namespace aggregate_power
