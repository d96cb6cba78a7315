// Reads recordings into memory, device by device.
#include "runs/windows/window_energy.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "core/energy/stated_limits.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/gpu_names.h"
#include "energy/sensors/series_check.h"
#include "recorders/recording.h"
#include "runs/evaluate/evaluate.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/series_doubts.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// Rows of one time are written a little apart, and not always in their order.
constexpr double kJitterS = 1;
// So many times with several readings are an accident.
constexpr std::uint64_t kFewTimes = 3;
// So many rows are no accident.
constexpr std::uint64_t kFewestWorked = 10;
// No sensor reads more, and sums of more may be infinite.
constexpr double kMostW = 1e15;
// So many samples of a device are compared with other recordings.
constexpr std::size_t kCompared = 1 << 14;

// Keeps the samples of each device.
class SampleKeeper {
 public:
  void take(const Batch& batch) {
    for (std::size_t i = 0; i < batch.readings.size(); ++i) {
      const Reading& reading = batch.readings[i];
      const bool has_state = !batch.states.empty();
      const bool is_above = has_state && is_above_limit(reading, batch.states[i]);
      if (reading.kind == Reading::Kind::no_device) ++unnamed_;
      if (reading.device == kNoDevice) {
        if (states_none(reading)) unnamed_invalid_unix_s_.push_back(reading.unix_s);
        continue;
      }
      if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
      Device& device = devices_[reading.device];
      device.is_seen = true;
      if (has_state) {
        const double limit_w = batch.states[i][GpuQuantity::power_limit_w];
        if (limit_w > device.limit_w) device.limit_w = limit_w;  // which NaN is not
        device.note_work(reading, batch.states[i][GpuQuantity::utilization_pct]);
      }
      if (states_none(reading) || is_above) device.invalid_unix_s.push_back(reading.unix_s);
      if (reading.kind != Reading::Kind::power || states_none(reading)) continue;
      std::vector<Sample>& samples = device.samples;
      if (!samples.empty()) {
        device.furthest_back_s =
            std::max(device.furthest_back_s, samples.back().unix_s - reading.unix_s);
      }
      samples.push_back({reading.unix_s, reading.watts});
    }
  }

  struct Device {
    std::vector<Sample> samples = {};
    std::vector<double> invalid_unix_s = {};  // of rows whose power is none
    bool is_seen = false;                     // also without a reading
    double limit_w = 0;                       // the highest that its rows state; 0: none
    double furthest_back_s = 0;               // from a row to the next one
    std::uint64_t worked_rows = 0;            // below 5 W, although it worked
    double worked_pct = 0;                    // the sum of their utilization

    void note_work(const Reading& reading, double utilization_pct) {
      const bool is_low =
          reading.kind == Reading::Kind::power && reading.watts < kLeastWorkingWatts;
      if (!is_low || !(utilization_pct >= kSurelyWorkingPct)) return;
      ++worked_rows;
      worked_pct += utilization_pct;
    }
  };
  std::vector<Device>& devices() { return devices_; }
  std::uint64_t unnamed() const { return unnamed_; }
  // Rows that name no device may be of any.
  const std::vector<double>& unnamed_invalid_unix_s() const { return unnamed_invalid_unix_s_; }

 private:
  static bool states_none(const Reading& reading) {
    const bool has_watts = reading.kind == Reading::Kind::power;
    return reading.kind == Reading::Kind::no_power ||
           reading.kind == Reading::Kind::negative_power || (has_watts && reading.watts > kMostW);
  }

  std::vector<Device> devices_;  // by number
  std::uint64_t unnamed_ = 0;    // rows with a power of no device
  std::vector<double> unnamed_invalid_unix_s_;
};

struct ReadFile {
  TraceFile file;
  std::vector<PowerTrace> devices;
  std::vector<DeviceCounter> counters;
  std::vector<std::string> silent;         // devices without a reading of power
  std::map<std::string, double> limits_w;  // of those that state one
  std::map<std::string, double> worked_pct;
  GpusOfFile gpus;  // that names() has

  // Each once.
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const PowerTrace& device : devices) names.insert(device.device());
    for (const DeviceCounter& device : counters) names.insert(device.device);
    return names;
  }
};

[[noreturn]] void refuse(const std::string& path, const Reasons& reasons) {
  const bool is_there = disk_tree()->has_folder(path) || disk_tree()->find_file(path).has_value();
  if (reasons.contains(Reason::telemetry_file_missing) && !is_there) {
    const auto near = near_file(path);
    throw Error(fmt::format("{}: no such recording{}", path,
                            near ? fmt::format(": did you mean {}?", *near) : ""));
  }
  throw Error(fmt::format("{}: {}; see 'aggregate-power inspect {}'", path, reasons.text(), path));
}

// The files of a run together must have the GPUs that are selected.
void check_selected(const TracesRequest& request, const std::vector<ReadFile>& files) {
  std::vector<SelectableGpus> all;
  std::vector<std::string> paths;
  for (const ReadFile& read : files) {
    const std::set<std::string> found = read.names();
    SelectableGpus& file = all.emplace_back();
    file.measured.assign(found.begin(), found.end());
    file.series = read.file.facts.series;
    for (const auto& [name, key] : read.file.facts.gpus) {
      file.devices.push_back(name);
      file.keys.push_back(key);
    }
    paths.push_back(printable_path(read.file.path));
  }
  const std::string fault = selection_fault(request.gpus, all);
  if (!fault.empty()) throw Error(fmt::format("{}: {}", fmt::join(paths, ", "), fault));
}

bool has_selected_gpu(const TracesRequest& request, const ReadFile& read) {
  return std::ranges::any_of(read.file.facts.gpus, [&](const auto& gpu) {
    return request.gpus.has(gpu.first, gpu.second, read.file.facts.series.names_hosts);
  });
}

// A socket of a wall meter with nothing in it.
bool is_unused(const SeriesFacts& series, const std::vector<Sample>& samples) {
  return series.sensor.scope == "wall" &&
         std::ranges::all_of(samples, [](const Sample& sample) { return sample.watts == 0; });
}

// The power of a GPU is part of its module's, its node's and that at the wall.
void refuse_different_scopes(const std::vector<ReadFile>& files) {
  const TraceFile* first = nullptr;
  for (const ReadFile& read : files) {
    const std::string& scope = read.file.facts.series.sensor.scope;
    if (scope == "unknown") continue;
    if (first == nullptr) first = &read.file;
    const std::string& other = first->facts.series.sensor.scope;
    if (scope == other) continue;
    throw Error(fmt::format(
        "{} has power of the scope '{}' and {} of the scope '{}': they are never added; measure each alone",
        printable_path(first->path), other, printable_path(read.file.path), scope));
  }
}

[[noreturn]] void refuse_unnamed(const std::string& path, std::uint64_t rows) {
  throw Error(fmt::format(
      "{}: {} rows have a power and name no GPU: name another column with --device-column, or correct them",
      printable_path(path), rows));
}

// What `inspect` says about a recording in which no time, or no power, can be read.
[[noreturn]] void refuse_unread(const std::string& path, const Telemetry& telemetry) {
  Reasons reasons;
  if (std::string text = bad_stamps_text(telemetry); !text.empty()) {
    reasons.add(Reason::invalid_timestamp_sample, std::move(text));
  }
  if (telemetry.skipped().no_reading + telemetry.skipped().too_many_cells > 0) {
    reasons.add(Reason::invalid_power_sample, telemetry.first_misfit());
  }
  reasons.add(Reason::no_usable_power_samples, telemetry.facts().foreign);
  if (telemetry.facts().time_of_day) {
    reasons.add(Reason::time_without_date, "its times have no date");
  }
  throw FileError(printable_path(path), fmt::format("{}; see 'aggregate-power inspect {}'",
                                                    reasons.text(), printable_path(path)));
}

void keep_device(const Telemetry& telemetry, std::uint32_t number, SampleKeeper::Device& device,
                 ReadFile& read) {
  const std::string& name = telemetry.devices()[number];
  if (!device.is_seen) return;
  if (device.samples.empty()) {
    read.silent.push_back(name);
    return;
  }
  if (is_unused(telemetry.facts(), device.samples)) {
    read.file.warnings.push_back(name + " reads 0 W throughout: left out");
    return;
  }
  if (device.furthest_back_s > kJitterS) {
    read.file.warnings.push_back(fmt::format(
        "out_of_order: GPU {}: a row is {:.3f} s before the one above it; rows are read by their times",
        printable(name), device.furthest_back_s));
  }
  if (device.limit_w > 0) read.limits_w[name] = device.limit_w;
  if (device.worked_rows >= kFewestWorked) {
    read.worked_pct[name] = device.worked_pct / static_cast<double>(device.worked_rows);
  }
  const PowerTrace& trace =
      read.devices.emplace_back(name, std::move(device.samples), telemetry.facts().interpolation,
                                telemetry.pauses(), std::move(device.invalid_unix_s));
  const Window whole = {trace.samples().front().unix_s, trace.samples().back().unix_s};
  const std::string& scope = telemetry.facts().sensor.scope;
  if (whole.duration_s() > 0 && (scope == "gpu" || scope == "unknown")) {
    const double usual_w = plausible_watts(telemetry.facts()).usual_w;
    const auto doubt = doubt_about(trace.energy_j(whole) / whole.duration_s(), usual_w);
    if (doubt) read.file.warnings.push_back(fmt::format("GPU {}: {}", printable(name), *doubt));
  }
  if (const std::uint64_t disagreeing = trace.disagreeing(); disagreeing > kFewTimes) {
    read.file.warnings.push_back(fmt::format(
        "GPU {}: {} times have several readings that differ, and their mean counts; if they are of several GPUs, name what tells these apart with --device-column",
        printable(name), disagreeing));
  }
}

// Power and counter may be labelled differently: one GPU would then be two.
void drop_unnamed_counters(ReadFile& read) {
  std::set<std::string> names(read.silent.begin(), read.silent.end());
  for (const PowerTrace& device : read.devices) names.insert(device.device());
  const auto is_unnamed = [&](const DeviceCounter& counter) {
    return !names.contains(counter.device);
  };
  const auto first = std::ranges::find_if(read.counters, is_unnamed);
  if (first == read.counters.end()) return;
  read.file.warnings.push_back(fmt::format(
      "an energy counter is not used: its power names no GPU {}", printable(first->device)));
  std::erase_if(read.counters, is_unnamed);
}

// Sets the unit that the power shows of counters that do not state one. They are dropped if it
// shows none.
void set_unit_by_power(ReadFile& read) {
  double counts = 0;
  double power_j = 0;
  for (const DeviceCounter& counter : read.counters) {
    const auto power = std::ranges::find(read.devices, counter.device, &PowerTrace::device);
    if (power == read.devices.end() || power->samples().empty()) continue;
    const Window both = {std::max(counter.samples.front().unix_s, power->samples().front().unix_s),
                         std::min(counter.samples.back().unix_s, power->samples().back().unix_s)};
    if (both.start_unix_s >= both.end_unix_s) continue;
    counts += rise_in(counter.samples, both);
    power_j += power->energy_j(both);
  }
  const auto unit = unit_by_values(counts, power_j);
  if (!unit) return read.counters.clear();
  for (DeviceCounter& counter : read.counters) set_unit(*unit, counter);
}

// Warns about counters without power by the mean power that they show.
void doubt_counters(const SeriesFacts& facts, ReadFile& read) {
  for (const DeviceCounter& counter : read.counters) {
    const double length_s = counter.samples.back().unix_s - counter.samples.front().unix_s;
    if (facts.has_power() || !(length_s > 0)) continue;
    const double mean_w = rise_in(counter.samples, kAlways) / length_s;
    const auto doubt = doubt_about(mean_w, plausible_watts(facts).usual_w);
    if (!doubt) continue;
    read.file.warnings.push_back(
        fmt::format("the energy counter of GPU {}: {}", printable(counter.device), *doubt));
  }
}

struct CounterSeries {
  std::string device;
  std::vector<Sample> joules;
  std::vector<Sample> watts;  // between readings
};

// Of the counters that measure.
std::vector<CounterSeries> counter_series(const ReadFile& read) {
  std::vector<CounterSeries> series;
  for (const DeviceCounter& counter : read.counters) {
    if (!counter.is_unit_stated) continue;
    CounterSeries& own =
        series.emplace_back(CounterSeries{counter.device, {}, mean_powers(counter.samples)});
    for (const CounterSample& each : counter.samples) {
      own.joules.push_back({each.unix_s, each.joules});
    }
  }
  return series;
}

// Refuses readings that are not believed, unless they are accepted. A counter also counts where the
// readings of power are stale or stuck.
void judge_series(const TracesRequest& request, const Recording& recording,
                  const Telemetry& telemetry, SeriesKeeper& series, ReadFile& read) {
  if (!request.accepted || telemetry.facts().interpolation == Interpolation::hold) return;
  Reasons doubts = series_doubts(recording, series, telemetry,
                                 {kAlways, request.max_sample_gap_s, request.clock_offset_s});
  add_clock_doubts(clock_doubts(recording, telemetry, series, kAlways), doubts);
  const Reasons small = small_clock_doubts(recording, telemetry, series, kAlways);
  for (const Reasons::Entry& entry : small.entries()) {
    read.file.warnings.push_back(fmt::format("{}: {}", code(entry.reason), entry.detail));
  }
  const std::vector<CounterSeries> counters = counter_series(read);
  if (!counters.empty() && !request.compares_counters) {
    doubts.remove(Reason::readings_repeat);
    doubts.remove(Reason::stuck_sensor);
    std::vector<DeviceSeries> counts;
    std::vector<DeviceSeries> powers;
    for (const CounterSeries& counter : counters) {
      if (counter.watts.empty()) continue;
      counts.push_back({counter.device, counter.joules});
      powers.push_back({counter.device, counter.watts});
    }
    doubts.add(same_counter_reasons(counts, powers));
  }
  Reasons accepted;
  doubts.accept(*request.accepted, accepted);
  if (!doubts.empty()) refuse_doubts(recording.path(), doubts);
  for (const Reasons::Entry& entry : accepted.entries()) {
    read.file.warnings.push_back(
        fmt::format("accepted by the caller: {} ({})", code(entry.reason), entry.detail));
  }
}

GpuQuantitySet states_of_limits(const Telemetry& telemetry) {
  if (!plausible_watts(telemetry.facts()).is_of_gpus()) return {};
  return quantity_set({GpuQuantity::utilization_pct}) |
         (has_own_limit(telemetry.facts()) ? StatedLimits::wanted() : GpuQuantitySet());
}

void note_identity(const Telemetry& telemetry, ReadFile& read) {
  const std::vector<std::string>& conflicts = telemetry.identity_conflicts();
  if (!conflicts.empty()) {
    throw Error(fmt::format("{}: {}: {}", printable_path(read.file.path),
                            code(Reason::gpu_identity_conflict), conflicts.front()));
  }
  const std::vector<GpuKey> keys = telemetry.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    read.file.facts.gpus.emplace_back(telemetry.devices()[i], keys[i]);
  }
  for (const DeviceCounter& counter : read.counters) {  // a recording of them alone
    if (telemetry.facts().has_power()) break;
    const GpuKey key = key_of_name(counter.device, telemetry.facts().names_hosts);
    read.file.facts.gpus.emplace_back(counter.device, key);
  }
  append(read.file.warnings, telemetry.identity_notes());
}

GpusOfFile gpus_in(const ReadFile& read, const Recording& recording) {
  const TelemetryFacts& facts = read.file.facts;
  GpusOfFile file{read.file.path, facts.series.schema, {}, {}, facts.series.gpu_models};
  const std::set<std::string> names = read.names();
  for (const auto& [name, key] : facts.gpus) {
    if (!names.contains(name)) continue;
    GpuOfFile& gpu = file.gpus.emplace_back(GpuOfFile{name, key});
    const auto power = std::ranges::find(read.devices, name, &PowerTrace::device);
    if (power != read.devices.end()) gpu.samples = power->samples();
  }
  add_files_beside(recording, file);
  return file;
}

TraceFile described_file(const std::string& path, const Recording& recording,
                         const Telemetry& telemetry) {
  const SeriesFacts& series = telemetry.facts();
  TraceFile file = {path, {}, series.warnings, telemetry.zone()};
  SensorReadings models;
  models.series = series;
  find_models(recording, models);
  file.models = std::move(models.models);
  file.models_from = std::move(models.models_from);
  file.facts.series = series;
  file.facts.skipped = by_cause(telemetry.skipped());
  file.facts.stamps = telemetry.stamps();
  file.facts.naive_stamps = telemetry.naive_stamps();
  file.facts.timezone = telemetry.zone().name();
  file.facts.timezone_source = recording.zone_source();
  return file;
}

ReadFile read_file(const TracesRequest& request, const std::string& path) {
  Recording recording(path, request.zone, request.columns, request.gpus);
  recording.add_clock_offset(request.clock_offset_s);
  if (!recording.faults().empty()) refuse(path, recording.faults());
  SampleKeeper keeper;
  SeriesKeeper series_keeper(kAlways);
  std::string fault;
  const Telemetry telemetry = read_whole(recording, {.take =
                                                         [&](const Batch& batch) {
                                                           keeper.take(batch);
                                                           series_keeper.take(batch.readings);
                                                         },
                                                     .begin = states_of_limits,
                                                     .fault = &fault});
  const SeriesFacts& series = telemetry.facts();
  ReadFile read;
  const bool may_lack_power = request.with_counters && !request.compares_counters;
  if (!series.has_power() && series.has_times() && may_lack_power) {
    read.counters = read_counters(recording);
    std::erase_if(read.counters,
                  [](const DeviceCounter& counter) { return !counter.is_unit_stated; });
  }
  if (!series.has_times() || (!series.has_power() && read.counters.empty())) {
    refuse(path, series.reasons);
  }
  if (!fault.empty()) throw Error(fmt::format("{}: {}", printable_path(path), fault));
  if (series.has_power() && telemetry.counter() && request.with_counters) {
    read.counters = read_counters(recording);
  }
  read.file = described_file(path, recording, telemetry);
  if (const auto* unzoned = recording.needed_zone_fault(telemetry)) throw Error(unzoned->text);
  if (auto doubt = recording.zone_doubt(telemetry)) read.file.warnings.push_back(std::move(*doubt));
  if (auto silent = silent_series_text(telemetry.silent_series())) {
    read.file.warnings.push_back(std::move(*silent));
  }
  judge_series(request, recording, telemetry, series_keeper, read);
  doubt_counters(series, read);
  if (keeper.unnamed() > 0) refuse_unnamed(path, keeper.unnamed());
  for (std::uint32_t i = 0; i < keeper.devices().size(); ++i) {
    std::ranges::copy(keeper.unnamed_invalid_unix_s(),
                      std::back_inserter(keeper.devices()[i].invalid_unix_s));
    keep_device(telemetry, i, keeper.devices()[i], read);
  }
  if (series.has_power()) drop_unnamed_counters(read);
  if (!std::ranges::all_of(read.counters, &DeviceCounter::is_unit_stated)) set_unit_by_power(read);
  note_identity(telemetry, read);
  if (request.files.size() > 1) read.gpus = gpus_in(read, recording);
  const bool is_left_out =
      request.files.size() > 1 && request.gpus.is_given() && !has_selected_gpu(request, read);
  const bool is_at_fault = request.gpus.is_given() && request.files.size() == 1;
  if (is_at_fault) check_selected(request, {read});
  if (read.devices.empty() && read.counters.empty() && !is_left_out) refuse_unread(path, telemetry);
  return read;
}

// Refuses sensors that are in two recordings.
void refuse_shared_sensors(const TracesRequest& request, std::vector<ReadFile>& files) {
  if (!request.accepted) return;
  std::vector<KeptSeries> seen;
  for (ReadFile& read : files) {
    std::vector<KeptSeries> own;
    for (const PowerTrace& device : read.devices) {
      const auto samples = device.samples().first(std::min(device.samples().size(), kCompared));
      own.push_back({read.file.path, device.device(), {samples.begin(), samples.end()}});
    }
    SharedSensors shared = shared_sensors(seen, own);
    Reasons accepted;
    shared.reasons.accept(*request.accepted, accepted);
    if (!shared.reasons.empty()) refuse_doubts(read.file.path, shared.reasons);
    append(read.file.warnings, std::move(shared.warnings));
    append(seen, std::move(own));
  }
}

// Numbers of seconds from some start, or of days as spreadsheets have them, are no times.
void refuse_relative(const TracesRequest& request, const Traces& traces) {
  if (traces.last_unix_s >= kFirstAbsoluteUnixS) return;
  const std::string path = printable_path(request.files.front());
  Reasons reasons;
  reasons.add(Reason::timestamp_column_missing);
  reasons.add(Reason::relative_time, fmt::format("the last time is {}", traces.last_unix_s));
  throw FileError(path, fmt::format("{}; see 'aggregate-power inspect {}'", reasons.text(), path));
}

std::vector<RecordedDevice> recorded_devices(const std::vector<ReadFile>& files) {
  std::vector<RecordedDevice> devices;
  for (const ReadFile& read : files) {
    for (const PowerTrace& device : read.devices) {
      devices.push_back({read.file.path, &device});
    }
  }
  return devices;
}

// A GPU that is in two recordings would count twice.
void refuse_repeated_gpus(const TracesRequest& request, std::vector<ReadFile>& files) {
  const RepeatedGpus repeated = repeated_gpus(mapped<GpusOfFile>(files, &ReadFile::gpus));
  if (!repeated.sure.empty()) throw Error(repeated.sure.front());
  const bool is_accepted =
      !request.accepted || std::ranges::find(*request.accepted, Reason::gpu_identity_conflict) !=
                               request.accepted->end();
  if (!repeated.unclear.empty() && !is_accepted) {
    throw Error(fmt::format("{}: {}", code(Reason::gpu_identity_conflict), repeated.unclear[0]));
  }
  for (const auto* const texts : {&repeated.unclear, &repeated.possible}) {
    for (const std::string& text : *texts) {
      files.back().file.warnings.push_back("gpu_identity: " + text);
    }
  }
}

}  // namespace

void refuse_doubts(const std::string& path, const Reasons& doubts) {
  const Reasons::Entry& first = doubts.entries().front();
  throw Error(fmt::format("{}: {} ({}): {}; --accept {} counts them all the same",
                          printable_path(path), code(first.reason), first.detail,
                          remedy(first.reason), code(first.reason)));
}

Traces read_traces(const TracesRequest& request) {
  std::vector<ReadFile> files;
  std::map<std::string, std::size_t> uses;  // of a device's name
  for (const std::string& path : request.files) files.push_back(read_file(request, path));
  if (files.size() > 1 && request.gpus.is_given()) {
    check_selected(request, files);
    std::erase_if(files, [&](const ReadFile& read) { return !has_selected_gpu(request, read); });
  }
  for (const ReadFile& read : files) {
    for (const std::string& name : read.names()) ++uses[name];
  }
  refuse_different_scopes(files);
  refuse_repeated_gpus(request, files);
  refuse_repeated_devices(recorded_devices(files));
  refuse_shared_sensors(request, files);
  Traces traces;
  for (ReadFile& read : files) {
    const auto name_of = [&](const std::string& device) {
      if (uses[device] <= 1) return device;
      return fmt::format("{}:{}", plain_stem(read.file.path), device);
    };
    for (const auto& [name, limit_w] : read.limits_w) traces.limits_w[name_of(name)] = limit_w;
    for (const auto& [name, pct] : read.worked_pct) traces.worked_pct[name_of(name)] = pct;
    for (PowerTrace& device : read.devices) {
      device.rename(name_of(device.device()));
      traces.devices.push_back(std::move(device));
    }
    for (DeviceCounter& device : read.counters) {
      device.device = name_of(device.device);
      traces.counters.push_back(std::move(device));
    }
    append(traces.silent, std::move(read.silent));
    traces.files.push_back(std::move(read.file));
  }
  std::ranges::stable_sort(traces.devices, device_name_less, &PowerTrace::device);
  traces.first_unix_s = std::numeric_limits<double>::infinity();
  traces.last_unix_s = -traces.first_unix_s;
  const auto note = [&](const auto& samples) {
    traces.first_unix_s = std::min(traces.first_unix_s, samples.front().unix_s);
    traces.last_unix_s = std::max(traces.last_unix_s, samples.back().unix_s);
  };
  for (const PowerTrace& device : traces.devices) note(device.samples());
  for (const DeviceCounter& device : traces.counters) note(device.samples);
  refuse_relative(request, traces);
  return traces;
}

std::string scope_of(const Traces& traces) {
  for (const TraceFile& file : traces.files) {
    const std::string& scope = file.facts.series.sensor.scope;
    if (scope != "unknown") return scope;
  }
  return "unknown";
}

PlausibleWatts plausible_watts_of(const Traces& traces) {
  const bool have_limits = std::ranges::all_of(
      traces.files, [](const TraceFile& file) { return file.facts.series.has_power_limit; });
  return plausible_watts(scope_of(traces), have_limits);
}

bool has_module(const Traces& traces) {
  return std::ranges::any_of(traces.files,
                             [](const TraceFile& file) { return is_of_module(file.facts.series); });
}

PowerBounds bounds_of(const Traces& traces, const std::string& device) {
  PowerBounds bounds{.plausible = plausible_watts_of(traces)};
  if (!traces.files.empty()) bounds.unit = traces.files[0].facts.series.unit;
  if (const auto limit = traces.limits_w.find(device); limit != traces.limits_w.end()) {
    bounds.limit_w = limit->second;
  }
  if (const auto worked = traces.worked_pct.find(device); worked != traces.worked_pct.end()) {
    bounds.worked_pct = worked->second;
  }
  for (const TraceFile& file : traces.files) {
    const auto board = runs::board_limit(file.facts.series);
    if (!bounds.board || !board || board->watts > bounds.board->watts) bounds.board = board;
    if (!board) break;
  }
  bounds.is_large = std::ranges::all_of(
      traces.files, [](const TraceFile& file) { return are_large(file.facts.series); });
  return bounds;
}

std::string impossible_text(double mean_w, double peak_w, const PowerBounds& bounds) {
  std::string why = impossible_window_text(mean_w, peak_w, bounds.unit, bounds.plausible.most_w);
  if (!why.empty()) return why;
  DrawnPower drawn{
      .mean_w = mean_w, .utilization_pct = bounds.worked_pct, .is_large = bounds.is_large};
  if (bounds.board) {
    drawn.board = bounds.board->gpu;
    drawn.board_limit_w = bounds.board->watts;
  }
  if (bounds.limit_w > 0) drawn.stated = {.rows = 1, .limits_w = bounds.limit_w};
  return impossible_power_text(drawn, bounds.unit, bounds.plausible);
}

// ---- Chooses between a GPU's counter and its power, window by window.

namespace {

// What was recorded of a GPU; null: it was not.
struct GpuSources {
  const PowerTrace* power = nullptr;
  DeviceCounter* counter = nullptr;
};

// By name.
std::map<std::string, GpuSources> sources_of(Traces& traces) {
  std::map<std::string, GpuSources> gpus;
  for (const std::string& silent : traces.silent) gpus[silent];
  for (const PowerTrace& device : traces.devices) gpus[device.device()].power = &device;
  for (DeviceCounter& device : traces.counters) gpus[device.device].counter = &device;
  return gpus;
}

}  // namespace

bool is_refuted(const CounterTrace& counter, double power_j, Window window,
                const MeterOptions& options) {
  if (!counter.fault(window, options.max_sample_gap_s).empty()) return false;
  const double energy_j = counter.energy_j(window);
  if (options.is_of_module && energy_j > power_j) return false;
  return refutes(energy_j, power_j, counter.resolution_j(window), window.duration_s());
}

WindowMeter::WindowMeter(std::string gpu, const PowerTrace* power,
                         std::optional<CounterTrace> counter, const MeterOptions& options)
    : gpu_(std::move(gpu)), power_(power), counter_(std::move(counter)), options_(options) {
  if (power_ != nullptr) coverage_.emplace(*power_, options_.max_sample_gap_s);
}

GpuWindow WindowMeter::by_power(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu;
  gpu.fault = coverage_ ? coverage_->fault(window) : "it has no reading of power";
  if (!gpu.fault.empty()) return gpu;
  gpu.energy_j = power_->energy_j(window);
  gpu.peak_power_w = power_->peak_w(window);
  for (const Window& stretch : own) gpu.own_energy_j += power_->energy_j(stretch);
  const double mean_w = gpu.energy_j / window.duration_s();
  const std::string why = impossible_text(mean_w, *gpu.peak_power_w, options_.bounds);
  if (why.empty()) return gpu;
  GpuWindow refused;
  refused.fault = "implausible_power: " + why;
  return refused;
}

// Why the window is not measured by the counter; `gpu` is what its power says.
std::string WindowMeter::counter_fault(Window window, const GpuWindow& gpu) const {
  std::string fault = counter_->fault(window, options_.max_sample_gap_s);
  if (!fault.empty()) return fault;
  const double energy_j = counter_->energy_j(window);
  const double mean_w = energy_j / window.duration_s();
  if (is_impossible(mean_w) ||
      (!options_.is_of_module && !impossible_text(mean_w, mean_w, options_.bounds).empty())) {
    return fmt::format(
        "implausible_power: its energy counter says {:.6g} W, which such a GPU does not draw: the counter or its unit is wrong",
        mean_w);
  }
  if (gpu.fault.empty() && mean_w > (1 + kCounterTolerance) * *gpu.peak_power_w &&
      contradict(energy_j, gpu.energy_j, counter_->resolution_j(window))) {
    return fmt::format(
        "its energy counter says {:.2f} W, more than its highest power: it may be of a whole module",
        mean_w);
  }
  // Readings of power that are too far apart to be measured by are good enough for this.
  if (power_ == nullptr || !power_->covers(window)) return {};
  return why_unbelievable(energy_j, power_->energy_j(window), counter_->resolution_j(window));
}

GpuWindow WindowMeter::measure(Window window, const std::vector<Window>& own) const {
  GpuWindow gpu = by_power(window, own);
  if (gpu.fault.empty()) gpu.power_energy_j = gpu.energy_j;
  if (!counter_) return gpu;
  if (!options_.only_checks) gpu.counter_fault = counter_fault(window, gpu);
  const bool is_unused = options_.only_checks || !gpu.counter_fault.empty();
  if (gpu.fault.empty() && is_unused && is_refuted(*counter_, gpu.energy_j, window, options_)) {
    gpu.fault = "counter_contradicts";
  }
  if (options_.only_checks) return gpu;
  if (!gpu.counter_fault.empty()) {
    if (!gpu.fault.empty()) gpu.fault += "; " + gpu.counter_fault;
    return gpu;
  }
  gpu.fault.clear();
  gpu.source = "counter";
  gpu.energy_j = counter_->energy_j(window);
  gpu.counter_energy_j = gpu.energy_j;
  gpu.counter_resolution_j = counter_->resolution_j(window);
  gpu.own_energy_j = 0;
  for (const Window& stretch : own) gpu.own_energy_j += counter_->energy_j(stretch);
  return gpu;
}

double WindowMeter::energy_in_part(Window part, const GpuWindow& whole) const {
  return whole.source == "counter" ? counter_->energy_j(part) : power_->energy_j(part);
}

std::vector<WindowMeter> meters_of(Traces& traces, double max_sample_gap_s) {
  std::map<std::string, GpuSources> sources = sources_of(traces);
  std::vector<std::string> names;
  for (const auto& [name, gpu] : sources) names.push_back(name);
  std::ranges::stable_sort(names, device_name_less);
  MeterOptions options{.max_sample_gap_s = max_sample_gap_s};
  options.is_of_module = has_module(traces);
  std::vector<WindowMeter> meters;
  meters.reserve(names.size());
  for (const std::string& name : names) {
    const GpuSources& gpu = sources[name];
    options.bounds = bounds_of(traces, name);
    std::optional<CounterTrace> counter;
    if (gpu.counter != nullptr) {
      options.only_checks = !gpu.counter->is_unit_stated;
      counter.emplace(std::move(gpu.counter->samples), gpu.counter->unit_j, gpu.power);
    }
    meters.emplace_back(name, gpu.power, std::move(counter), options);
  }
  return meters;
}

}  // namespace aggregate_power
