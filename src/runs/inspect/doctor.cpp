// Checks a short recording: what a run that is recorded so would be worth.
#include <sys/timex.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/system/child.h"
#include "base/system/sandbox.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/show_time.h"
#include "base/text/time_zone.h"
#include "core/energy/recording_summary.h"
#include "core/model/units.h"
#include "energy/shares/cooling.h"
#include "energy/shares/idle.h"
#include "energy/uncertainty/gather.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/readings.h"
#include "energy/uncertainty/verdicts.h"
#include "recorders/recording.h"
#include "runs/inspect/inspect.h"
#include "runs/measure/series_doubts.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

using enum CheckupItem::Status;

// Half of an interval of 95 %, as a share of the energy. A wider one hides most changes.
constexpr double kWideHalf = 0.1;

struct Seen {
  SeriesFacts series;
  std::vector<DeviceSurvey> devices;
  std::vector<GatheredReadings> gpus;
  std::string zone;
  std::string zone_source;
  std::optional<std::string> zone_doubt;
  bool is_naive = false;
  std::string fault;
  Reasons doubts;                                      // series_doubts()
  std::vector<SensorModel> sensors;                    // each that is possible; empty: nobody knows
  std::vector<std::vector<Temperature>> temperatures;  // by device; not all have one
};

void take_temperatures(const Batch& batch, std::vector<std::vector<Temperature>>& devices) {
  for (std::size_t i = 0; i < batch.states.size(); ++i) {
    const Reading& reading = batch.readings[i];
    const double celsius = batch.states[i][GpuQuantity::temperature_c];
    if (reading.kind != Reading::Kind::power || std::isnan(celsius)) continue;
    if (reading.device >= devices.size()) devices.resize(reading.device + 1);
    devices[reading.device].push_back({reading.unix_s, celsius});
  }
}

Seen see(const CheckupRequest& request) {
  Recording recording(request.telemetry, request.zone, request.columns);
  recording.require_opened();
  Seen seen;
  if (!recording.faults().empty()) {
    seen.fault = recording.faults().text();
    return seen;
  }
  Surveyor surveyor;
  AllReadings readings;
  SeriesKeeper series(kAlways);
  const Telemetry telemetry =
      read_whole(recording, {.take =
                                 [&](const Batch& batch) {
                                   readings.take(batch);
                                   surveyor.take(batch.readings);
                                   take_temperatures(batch, seen.temperatures);
                                   series.take(batch.readings);
                                 },
                             .begin = [](const Telemetry&) { return StateNotes::wanted(); },
                             .fault = &seen.fault});
  seen.series = telemetry.facts();
  if (!seen.series.has_times() || !seen.series.has_power()) {
    seen.fault = seen.series.reasons.text();
    return seen;
  }
  if (!seen.fault.empty()) return seen;
  seen.gpus = readings.finish(telemetry.devices());
  seen.series.counter = telemetry.counter();
  seen.devices = surveyor.devices(telemetry.devices());
  if (seen.series.interpolation != Interpolation::hold) {
    seen.doubts = series_doubts(recording, series, telemetry, {});
    add_clock_doubts(clock_doubts(recording, telemetry, series, kAlways), seen.doubts);
  }
  seen.zone = telemetry.zone().name();
  seen.zone_source = recording.zone_source();
  seen.zone_doubt = recording.zone_doubt(telemetry);
  seen.is_naive = telemetry.naive_stamps() > 0;
  if (!seen.gpus.empty()) {
    seen.sensors = sensor_models(recording, seen.series, request.gpu, {},
                                 median_period_s(seen.gpus.front().samples));
  }
  if (seen.gpus.empty()) seen.fault = "it has no usable power samples";
  if (!telemetry.identity_conflicts().empty()) {
    seen.fault = fmt::format("{}: {}", code(Reason::gpu_identity_conflict),
                             telemetry.identity_conflicts().front());
  }
  for (const GatheredReadings& gpu : seen.gpus) {
    const auto highest = std::ranges::max_element(gpu.samples, {}, &Sample::watts);
    if (highest == gpu.samples.end() || !is_beyond_measure(highest->watts)) continue;
    seen.fault = fmt::format("GPU {} reads {} W at {}", printable(gpu.gpu), highest->watts,
                             unix_and_iso(highest->unix_s));
  }
  return seen;
}

std::vector<std::span<const Sample>> spans_of(const Seen& seen) {
  return mapped<std::span<const Sample>>(seen.gpus, &GatheredReadings::samples);
}

double most(const std::vector<DeviceSurvey>& devices, std::optional<double> DeviceSurvey::*what) {
  return largest_of<double>(0, devices,
                            [&](const DeviceSurvey& device) { return (device.*what).value_or(0); });
}

// Where a gap is, and whether a load was running.
std::string gap_text(const Seen& seen, const RecordedGap& gap) {
  using enum RecordedGap::Place;
  const char* const place = gap.place == under_load ? "under load"
                            : gap.place == at_begin ? "where the load begins"
                            : gap.place == at_end   ? "where the load ends"
                                                    : "without load";
  double first_s = gap.window.start_unix_s;
  for (const DeviceSurvey& device : seen.devices) first_s = std::min(first_s, device.first_unix_s);
  return fmt::format("GPU {} has no reading for {:.3f} s, {:.3f} s after the start, {}",
                     printable(seen.gpus[gap.gpu].gpu), gap.window.duration_s(),
                     gap.window.start_unix_s - first_s, place);
}

CheckupItem check_sampling(const Seen& seen, const RecordedLoad& load, double period_s) {
  const double gap_s = most(seen.devices, &DeviceSurvey::max_gap_s);
  const std::string found = fmt::format("every {:.3f} s, longest gap {:.3f} s", period_s, gap_s);
  if (period_s == 0) {
    return {"sampling", problem, "one sample of each GPU", "record for at least a minute"};
  }
  if (const auto gap = worst_gap(spans_of(seen), load, kDefaultMaxSampleGapS)) {
    const std::string where = fmt::format("{}; {}", found, gap_text(seen, *gap));
    if (gap->place == RecordedGap::Place::without_load) {
      return {"sampling", advice, where,
              "a run whose window had this gap would not be valid: find what stopped the recorder"};
    }
    return {"sampling", problem, where,
            "a gap above 3 s makes a run not valid: sample every second or faster"};
  }
  if (period_s > 1.05) {
    return {"sampling", advice, found, "sample every second or faster: edges are known better"};
  }
  return {"sampling", ok, found};
}

// The names of the GPUs that have something, as "0, 3".
template <typename Has>
std::string gpus_that(const Seen& seen, Has has) {
  std::vector<std::string> names;
  for (const GatheredReadings& gpu : seen.gpus) {
    if (has(gpu)) names.push_back(printable(gpu.gpu));
  }
  return joined_text(names, ", ");
}

// Zeros and spikes on their own, and stretches of one value: a published number counts them.
CheckupItem check_readings(const Seen& seen) {
  std::size_t zeros = 0;
  std::size_t spikes = 0;
  std::size_t stuck = 0;
  std::string first;
  std::string gpus = gpus_that(seen, [&](const GatheredReadings& gpu) {
    const SoundReadings sound = sound_readings(gpu.samples, gpu.conditions.limit_w);
    for (const Sample& sample : sound.left_out) {
      ++(sample.watts == 0 ? zeros : spikes);
      if (!first.empty()) continue;
      first = fmt::format("GPU {} reads {:.6g} W at {}", printable(gpu.gpu), sample.watts,
                          unix_and_iso(sample.unix_s));
    }
    stuck += sound.stuck.size();
    return sound.implausible > 0 || !sound.stuck.empty();
  });
  if (gpus.empty()) return {"readings", ok, "none is implausible"};
  std::vector<std::string> found;
  if (zeros > 0) found.push_back(fmt::format("{} at 0 W between others", zeros));
  if (spikes > 0) found.push_back(fmt::format("{} far above all others", spikes));
  if (stuck > 0) found.push_back(fmt::format("{} stretches of one value under load", stuck));
  std::string text = fmt::format("{}; GPU {}", fmt::join(found, ", "), gpus);
  if (!first.empty()) text += fmt::format("; the first: {}", first);
  return {
      "readings", advice, std::move(text),
      "find out what is wrong with the sensor: published numbers count such readings, the estimate of --uncertainty does not"};
}

CheckupItem check_refresh(const Seen& seen, double period_s) {
  const double refresh_s = largest_of<double>(
      0, seen.gpus, [](const GatheredReadings& gpu) { return sensor_period_s(gpu.samples); });
  if (refresh_s == 0) {
    return {"refresh", advice, "not known: one sample of each GPU", "record for at least a minute"};
  }
  const std::string found = fmt::format("a new value every {:.3f} s", refresh_s);
  if (refresh_s > 1.5 * period_s) {
    return {
        "refresh", advice, found,
        "readings repeat: sampling faster than the sensor shows nothing more; if the GPUs were idle, record them under load"};
  }
  return {"refresh", ok, found};
}

CheckupItem check_averaging(const Seen& seen, const CheckupRequest& request) {
  if (seen.sensors.size() != 1) {
    return {
        "averaging", advice, "the sensor's window is unknown",
        "record the GPUs' name and power.draw.average, too, or name the model with --gpu-model"};
  }
  const SensorModel* const model = seen.sensors.data();
  const std::string found = fmt::format("a reading is a mean over {:g} s", model->window_s);
  if (request.shortest_phase_s && *request.shortest_phase_s < 2 * model->window_s) {
    return {
        "averaging", advice, found,
        fmt::format("phases of {} s are blurred: record power.draw.instant, or an energy counter",
                    *request.shortest_phase_s)};
  }
  return {"averaging", ok, found};
}

CheckupItem check_zone(const Seen& seen) {
  if (seen.zone_doubt) {
    const bool matters = seen.is_naive && !seen.series.naive_is_utc;
    return {"clock and zone", matters ? problem : advice, *seen.zone_doubt,
            "find out which zone is right: windows are placed by it"};
  }
  if (!seen.is_naive) return {"clock and zone", ok, "the stamps state their offset"};
  const std::string found = fmt::format("{}, from {}", seen.zone, seen.zone_source);
  if (seen.zone_source != "default") return {"clock and zone", ok, found};
  return {
      "clock and zone", advice, found,
      "nothing states the zone of the stamps: record with aggregate-power-monitor, or give --timezone"};
}

CheckupItem check_counter(const Seen& seen) {
  if (seen.series.counter && !seen.series.counter->is_unit_stated) {
    return {"energy counter", advice, seen.series.counter->name,
            "its unit is not stated: write it into the column's name, as in energy_mj"};
  }
  if (seen.series.counter) return {"energy counter", ok, seen.series.counter->name};
  return {"energy counter", advice, "none",
          "record one beside the power: it also counts between two samples"};
}

CheckupItem check_idle(const RecordedLoad& load) {
  if (load.has_both) {
    return {"idle level", ok,
            fmt::format("{:.1f} W each, {:.1f} W under load", load.idle_w, load.load_w)};
  }
  return {"idle level", advice, fmt::format("{:.1f} W each throughout", load.load_w),
          "record some time without a load and some with one: the idle level is then known"};
}

// "700 W", "400 to 700 W".
std::string limits_text(const std::vector<GatheredReadings>& gpus) {
  std::vector<double> limits_w;
  for (const GatheredReadings& gpu : gpus) append(limits_w, gpu.limits_w);
  const auto [least_w, greatest_w] = std::ranges::minmax(limits_w);
  return least_w == greatest_w ? fmt::format("{:g} W", least_w)
                               : fmt::format("{:g} to {:g} W", least_w, greatest_w);
}

// How near the highest reading is to the limit, of the GPU that is nearest.
std::string nearest_text(const std::vector<GatheredReadings>& gpus) {
  double most_share = 0;
  double most_w = 0;
  for (const GatheredReadings& gpu : gpus) {
    if (!gpu.conditions.limit_w) continue;
    const double watts = std::ranges::max(gpu.samples, {}, &Sample::watts).watts;
    if (watts / *gpu.conditions.limit_w <= most_share) continue;
    most_share = watts / *gpu.conditions.limit_w;
    most_w = watts;
  }
  return fmt::format("at most {:.1f} W, {:.1f} % of it", most_w, 100 * most_share);
}

CheckupItem check_limit(const Seen& seen, const RecordedLoad& load) {
  const auto has_limit = [](const GatheredReadings& gpu) { return !gpu.limits_w.empty(); };
  if (std::ranges::none_of(seen.gpus, has_limit)) {
    return {"power limit", advice, "not recorded",
            "record power.limit, too: it says whether the limit, not the load, sets the power"};
  }
  const std::string limits = limits_text(seen.gpus);
  const std::string changed =
      gpus_that(seen, [](const GatheredReadings& gpu) { return gpu.limits_w.size() > 1; });
  if (!changed.empty()) {
    return {"power limit", advice, fmt::format("{}, changed on GPU {}", limits, changed),
            "set it once, before the campaign: runs under two limits cannot be compared"};
  }
  const std::string found = fmt::format("{} in force; {}", limits, nearest_text(seen.gpus));
  const std::string capped = gpus_that(seen, [&](const GatheredReadings& gpu) {
    return is_power_capped(gpu.samples, gpu.conditions, load.stretch);
  });
  if (capped.empty()) return {"power limit", ok, found};
  return {
      "power limit", advice, fmt::format("{}; GPU {} capped", found, capped),
      "at least half of the load is above 94 % of the limit, which then sets the power: say so with the results, or raise it"};
}

// Of the GPU that is hottest under load; nullopt: no temperature was recorded.
std::optional<ThermalCourse> hottest_course(const Seen& seen, const RecordedLoad& load) {
  std::optional<ThermalCourse> hottest;
  for (const std::vector<Temperature>& readings : seen.temperatures) {
    ThermalCourse course = thermal_course(readings, load.stretch);
    if (!course.second_half_c) continue;
    if (!hottest || *course.second_half_c > *hottest->second_half_c) hottest = std::move(course);
  }
  return hottest;
}

CheckupItem check_temperature(const ThermalCourse& course, const RecordedLoad& load) {
  std::string found = fmt::format("{:.1f} C in the second half of the load", *course.second_half_c);
  if (course.before_c) found = fmt::format("{:.1f} C before the load, ", *course.before_c) + found;
  if (course.cooling_s) {
    found += fmt::format("; cools down in {:.0f} s", *course.cooling_s);
  } else {
    found += fmt::format("; how fast it cools down cannot be told: {}", course.unknown);
  }
  const double rise_c = *course.second_half_c - course.first_half_c.value_or(*course.second_half_c);
  if (rise_c > kDriftC) {
    return {"temperature", advice, found,
            fmt::format(
                "{:.1f} C more than in the first half of the load of {:.0f} s: warm up before a "
                "run, or measure for longer, for power rises with temperature",
                rise_c, load.stretch.duration_s())};
  }
  return {"temperature", ok, found};
}

EstimateQuestion seen_load(const Seen& seen, const RecordedLoad& load) {
  EstimateQuestion question;
  const Stamps stamps = stamps_of(seen.gpus, seen.series);
  for (const GatheredReadings& gpu : seen.gpus) {
    const std::span<const Sample> under_load = samples_in(gpu.samples, load.stretch);
    question.gpus.push_back({.name = gpu.gpu,
                             .model = {},
                             .samples = {under_load.begin(), under_load.end()},
                             .counter = {},
                             .sensors = seen.sensors,
                             .conditions = gpu.conditions,
                             .stamps = stamps});
  }
  question.window = inside_of_load(load.stretch, question.gpus.front());
  return question;
}

CheckupItem check_interval(const CheckupRequest& request, const Seen& seen,
                           const RecordedLoad& load) {
  const char* const kName = "expected interval";
  if (!(load.load_w > 0)) return {kName, problem, "the readings are 0 W", {}};
  if (seen.sensors.empty()) {
    return {
        kName, advice, "none can be promised: what the readings are is not known",
        "'aggregate-power inspect --sensor' says why; record the power of the GPU itself, or name the model with --gpu-model"};
  }
  if (!(load.stretch.duration_s() > 0)) {
    return {kName, advice, "none can be promised: one reading under load",
            "record for at least a minute under load"};
  }
  const ExpectedInterval interval = expected_interval(seen_load(seen, load), request.window_s);
  if (!interval.refusal.empty()) {
    return {kName, advice, fmt::format("none can be promised: {}", interval.refusal),
            "record for at least a minute under load; 'aggregate-power explain' explains the word"};
  }
  const auto& widest = *std::ranges::max_element(interval.components, {}, &Component::joules);
  std::string found = fmt::format("95 %: energy of {:g} s +- {:.1f} %, mostly {}", request.window_s,
                                  100 * interval.half_width(), widest.name);
  if (seen.sensors.size() > 1) {
    found += fmt::format("; {} sensors are possible", seen.sensors.size());
  }
  if (widest.name == "sampling_and_edges" || widest.name == "moments_for_means" ||
      widest.name == "between_readings") {
    return {kName, advice, found, "measure for longer, or sample faster"};
  }
  if (widest.name == "time_not_seen" || widest.name == "time_between_windows") {
    return {kName, advice, found,
            "record an energy counter, too: these readings do not see all of the time"};
  }
  if (interval.half_width() > kWideHalf) {
    return {
        kName, advice, found,
        fmt::format(
            "wider than +- {:.0f} %: 'aggregate-power explain {}' says where that comes from, and what helps",
            100 * kWideHalf, widest.name)};
  }
  return {kName, ok, found};
}

std::string repeats_text(const WindowWorth& worth, double window_s) {
  constexpr double kWanted = 0.01;
  const auto repeats = repeats_for_half_width(worth, kAssumedSpread, kWanted);
  return repeats ? fmt::format("{} repeats of {:g} s", *repeats, window_s)
                 : "more than 1000 repeats";
}

// By the same arithmetic as `plan`.
std::optional<CheckupItem> check_repeats(const CheckupRequest& request, const Seen& seen,
                                         const RecordedLoad& load) {
  if (seen.sensors.empty() || !(load.load_w > 0) || !(load.stretch.duration_s() > 0)) return {};
  const EstimateQuestion question = seen_load(seen, load);
  const WindowWorth power = worth_of_window(question, request.window_s);
  const WindowWorth counter = worth_of_window(with_counter(question), request.window_s);
  if (!power.refusal.empty() || !counter.refusal.empty()) return {};
  std::string found = fmt::format("+- 1 % needs {}", repeats_text(power, request.window_s));
  const std::string less = repeats_text(counter, request.window_s);
  if (found != "+- 1 % needs " + less) found += fmt::format("; with an energy counter, {}", less);
  return CheckupItem{"repeats", ok,
                     found + ", if repeats differ by 0.5 %; 'aggregate-power plan' says more"};
}

}  // namespace

Checkup check_recording(const CheckupRequest& request) {
  const Seen seen = see(request);
  if (!seen.fault.empty()) {
    return {{"recording", problem, seen.fault,
             "'aggregate-power inspect' shows how the file is understood"}};
  }
  const double period_s = most(seen.devices, &DeviceSurvey::median_interval_s);
  const RecordedLoad load = recorded_load(spans_of(seen));
  const Sensor& sensor = seen.series.sensor;
  Checkup checkup = {
      {"recorder", ok,
       fmt::format("{}, {} of {} GPUs ({})", sensor.collector, sensor.name, seen.devices.size(),
                   seen.series.schema.empty() ? "unknown format" : seen.series.schema)},
      check_sampling(seen, load, period_s),
      check_readings(seen),
      check_refresh(seen, period_s),
      check_averaging(seen, request),
      check_zone(seen),
      check_counter(seen),
      check_limit(seen, load),
      check_idle(load),
      check_interval(request, seen, load)};
  if (auto repeats = check_repeats(request, seen, load)) checkup.push_back(std::move(*repeats));
  if (const auto course = hottest_course(seen, load)) {
    checkup.push_back(check_temperature(*course, load));
  }
  // What makes each run not valid comes first.
  for (const Reasons::Entry& entry : seen.doubts.entries()) {
    checkup.insert(checkup.begin() + 1, {std::string(code(entry.reason)), problem, entry.detail,
                                         std::string(remedy(entry.reason))});
  }
  return checkup;
}

RecordedQuestion recorded_question(const CheckupRequest& request) {
  const Seen seen = see(request);
  if (!seen.fault.empty()) return {.fault = seen.fault, .load = {}, .sensor = {}};
  if (seen.sensors.empty()) {
    return {
        .fault =
            "what its readings are is not known; 'aggregate-power inspect --sensor' says why, and --gpu-model names the GPUs",
        .load = {},
        .sensor = {}};
  }
  const RecordedLoad load = recorded_load(spans_of(seen));
  if (!(load.stretch.duration_s() > 0) || !(load.load_w > 0)) {
    return {.fault = "it has no stretch of load; record at least a minute of it"};
  }
  return {.fault = {},
          .load = seen_load(seen, load),
          .sensor = fmt::format("{}, {}", seen.series.sensor.collector, seen.series.sensor.name),
          .thermal = hottest_course(seen, load)};
}

// ---- Asks the machine: its tools, its GPUs, its clock.

namespace {

using enum CheckupItem::Status;

constexpr double kMostSeconds = 10;  // for one answer

struct Tool {
  const char* name;
  std::vector<std::string> question;
};

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"nvidia-smi",
       {"--query-gpu=index,name,driver_version,persistence_mode,power.limit,power.default_limit,power.draw",
        "--format=csv,noheader,nounits"}},
      {"amd-smi", {"version"}},
      {"rocm-smi", {"--version"}}};
  return all;
}

std::vector<std::string> cells_of(const std::string& line) {
  return mapped<std::string>(separated(line, ','), strip);
}

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    auto cells = cells_of(text.substr(begin, end - begin));
    if (cells.size() == 7) rows.push_back(std::move(cells));
    begin = end + 1;
  }
  return rows;
}

// The GPUs with some property, as "0, 3".
template <typename Has>
std::string gpus_with(const std::vector<std::vector<std::string>>& rows, const Has& has) {
  std::vector<std::string> names;
  for (const auto& cells : rows) {
    if (has(cells)) names.push_back(cells[0]);
  }
  return joined_text(names, ", ");
}

void check_nvidia(const std::vector<std::vector<std::string>>& rows, Checkup& checkup) {
  checkup.push_back(
      {"GPUs", ok, fmt::format("{} x {}, driver {}", rows.size(), rows[0][1], rows[0][2])});
  const std::string sleepy = gpus_with(rows, [](const auto& row) { return row[3] == "Disabled"; });
  if (sleepy.empty()) {
    checkup.push_back({"persistence mode", ok, rows[0][3]});
  } else {
    checkup.push_back(
        {"persistence mode", advice, "off on GPU " + sleepy,
         "nvidia-smi -pm 1: otherwise the driver unloads between runs, and idle power is not that of a loaded driver"});
  }
  const std::string capped = gpus_with(rows, [](const auto& row) {
    const auto limit = python_float(row[4]);
    const auto usual = python_float(row[5]);
    return limit && usual && *limit < *usual;
  });
  if (capped.empty()) {
    checkup.push_back({"power limit", ok, fmt::format("{} W", rows[0][4])});
  } else {
    checkup.push_back({"power limit", advice,
                       fmt::format("below the default of {} W on GPU {}", rows[0][5], capped),
                       "say so with the results, or nvidia-smi -pl WATTS"});
  }
  double sum_w = 0;
  for (const auto& row : rows) sum_w += python_float(row[6]).value_or(0);
  checkup.push_back({"power now", ok,
                     fmt::format("{:.1f} W each; this is the idle level if nothing runs",
                                 sum_w / static_cast<double>(rows.size()))});
}

// Returns whether the tool is there.
bool check_tool(const Tool& tool, Checkup& checkup) {
  const auto path = find_program(tool.name);
  if (!path) return false;
  std::vector<std::string> words = {*path};
  append(words, tool.question);
  try {
    const ChildResult answer = run_child(words, kMostSeconds);
    if (answer.timed_out) {
      checkup.push_back({tool.name, problem, fmt::format("no answer within {} s", kMostSeconds),
                         "its driver hangs: a recording would have gaps; restart it first"});
    } else if (answer.exit_status != 0) {
      checkup.push_back({tool.name, problem, fmt::format("exit status {}", answer.exit_status),
                         fmt::format("run '{}' by hand to see why", tool.name)});
    } else {
      checkup.push_back({tool.name, ok, *path});
      const auto rows = rows_of(answer.out);
      if (std::string_view(tool.name) == "nvidia-smi" && !rows.empty()) check_nvidia(rows, checkup);
    }
  } catch (const Error& error) {
    checkup.push_back({tool.name, problem, error.what()});
  }
  return true;
}

CheckupItem check_clock() {
  timex state{};
  const bool is_kernel_sure = ::adjtimex(&state) != TIME_ERROR && !(state.status & STA_UNSYNC);
  if (is_kernel_sure || is_regular_file("/run/systemd/timesync/synchronized")) {
    return {"clock", ok, "synchronized"};
  }
  return {"clock", advice, "not known to be synchronized",
          "run chrony or systemd-timesyncd: a load on another host is placed by its clock"};
}

CheckupItem check_local_zone() {
  const std::int32_t offset_s = Zone::local().offset_at(std::time(nullptr));
  if (offset_s == 0) return {"zone", ok, "UTC"};
  return {
      "zone", advice, fmt::format("{} east of UTC", Zone::fixed(offset_s).name()),
      "nvidia-smi writes local times without an offset: aggregate-power-monitor notes the zone"};
}

CheckupItem check_sandbox() {
  const Sandbox sandbox = sandbox_of_kernel();
  if (sandbox.landlock > 0 && sandbox.seccomp) {
    return {"sandbox", ok, fmt::format("Landlock {}, seccomp", sandbox.landlock)};
  }
  return {"sandbox", advice,
          fmt::format("this kernel has no {}", sandbox.seccomp        ? "Landlock"
                                               : sandbox.landlock > 0 ? "seccomp"
                                                                      : "Landlock and no seccomp"),
          "read archives of strangers elsewhere, or in a container: see 'help security'"};
}

}  // namespace

Checkup check_machine() {
  Checkup checkup;
  bool has_tool = false;
  for (const Tool& tool : tools()) has_tool = check_tool(tool, checkup) || has_tool;
  if (!has_tool) {
    checkup.push_back({"recorder", problem, "none of nvidia-smi, amd-smi and rocm-smi is on PATH",
                       "install the driver's tools, or give a recording"});
  }
  checkup.push_back(check_clock());
  checkup.push_back(check_local_zone());
  checkup.push_back(check_sandbox());
  return checkup;
}

// ---- Writes a checkup down.

namespace {

const char* word(CheckupItem::Status status) {
  using enum CheckupItem::Status;
  return status == ok ? "ok" : status == advice ? "advice" : "problem";
}

}  // namespace

bool has_problem(const Checkup& checkup) {
  return std::ranges::find(checkup, CheckupItem::Status::problem, &CheckupItem::status) !=
         checkup.end();
}

std::string checkup_text(const Checkup& checkup) {
  const TextTable table("[ <8] [ <18] [ <]");
  std::string text;
  for (const CheckupItem& item : checkup) {
    table.add({word(item.status), item.name, one_line(item.found)}, text);
    if (!item.advice.empty()) table.add({"", "", one_line(item.advice)}, text);
  }
  return text;
}

std::string checkup_json(const Checkup& checkup) {
  const Json json = {{"schema", "aggregate-power/doctor-1"},
                     {"holds", !has_problem(checkup)},
                     {"checks", list_of(checkup, [&](const CheckupItem& item) -> Json {
                        return {{"check", item.name},
                                {"status", word(item.status)},
                                {"found", one_line(item.found)},
                                {"advice", text_or_null(one_line(item.advice))}};
                      })}};
  return indented_lines(json);
}

}  // namespace aggregate_power
