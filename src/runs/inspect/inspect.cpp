// Collects and prints the findings about a telemetry file.
#include "runs/inspect/inspect.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "base/text/show_time.h"
#include "base/text/wrap.h"
#include "core/energy/plausibility.h"
#include "core/energy/recording_summary.h"
#include "core/energy/stated_limits.h"
#include "core/record/limits_json.h"
#include "generators/generator_table.h"
#include "recorders/recorder_table.h"
#include "runs/evaluate/evaluate.h"
#include "runs/measure/series_doubts.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// What is known about a series that could not be opened.
SeriesFacts unread_series() {
  SeriesFacts facts;
  for (const char* what : {"timestamp", "power", "device"}) {
    facts.lines.push_back({what, "none", {}});
  }
  facts.reasons.add(Reason::power_column_missing);
  return facts;
}

// What is known about a file after reading it, for both forms of output.
struct Findings {
  SeriesFacts series = unread_series();
  std::string timezone;
  std::string timezone_source;
  std::vector<DeviceSurvey> devices;
  Skipped skipped;
  std::vector<SensorEnergy> sensors;
  std::vector<SensorSum> sums;
  std::optional<BesideReport> beside;
  std::optional<BesideReport> metrics;
  std::optional<GpuSensorsReport> gpu_sensors;
  std::uint64_t rows = 0;
  std::uint64_t unnamed_readings = 0;
  Reasons reasons;
  std::vector<GpuLimit> limits;
  std::vector<std::string> warnings;
  std::optional<Load> load;
  std::optional<std::string> zone_hint;
};

Span span_of(const std::vector<DeviceSurvey>& devices) {
  Span span{devices.front().first_unix_s, devices.front().last_unix_s};
  for (const DeviceSurvey& device : devices) {
    span.first_unix_s = std::min(span.first_unix_s, device.first_unix_s);
    span.last_unix_s = std::max(span.last_unix_s, device.last_unix_s);
  }
  return span;
}

// Explains why rows were read but gave no power series.
void judge_samples(const Telemetry& telemetry, Findings& findings) {
  Reasons& reasons = findings.reasons;
  if (findings.devices.empty()) {
    if (findings.skipped.bad_timestamp > 0) {
      reasons.add(Reason::invalid_timestamp_sample, "the first " + telemetry.first_bad_stamp());
    }
    if (findings.skipped.no_reading + findings.skipped.too_many_cells > 0) {
      reasons.add(Reason::invalid_power_sample, telemetry.first_misfit());
    }
    if (findings.unnamed_readings > 0) reasons.add(Reason::gpu_identity_missing);
    reasons.add(Reason::no_usable_power_samples, findings.series.foreign);
    if (findings.series.time_of_day) reasons.add(Reason::time_without_date);
  } else if (span_of(findings.devices).last_unix_s < kFirstAbsoluteUnixS) {
    reasons.add(Reason::timestamp_column_missing);
    reasons.add(Reason::relative_time);
    findings.devices.clear();
  }
}

bool is_usable(const SeriesFacts& facts) {
  return facts.has_times() && facts.has_power() &&
         !facts.reasons.contains(Reason::model_name_as_device) &&
         !facts.reasons.contains(Reason::named_column_missing);
}

void warn_of_readings(const Surveyor& surveyor, const Telemetry& telemetry, Findings& findings) {
  auto more = surveyor.warnings(telemetry.devices(), findings.series.unit,
                                plausible_watts(findings.series));
  if (findings.series.interpolation == Interpolation::hold) {  // they are repeated by its reader
    std::erase_if(more, [](std::string_view text) { return text.starts_with("mostly_repeated"); });
  }
  append(findings.warnings, more);
  if (!findings.series.has_devices()) {
    findings.warnings.push_back(
        "no_device_column: all rows are taken as those of one device; --expected-num-gpus above 1 needs a column that identifies the GPU");
  }
  if (surveyor.unnamed_readings() > 0) {
    findings.warnings.push_back(fmt::format("unnamed_device: {} readings do not name their device",
                                            surveyor.unnamed_readings()));
  }
  for (const std::string& conflict : telemetry.identity_conflicts()) {
    findings.reasons.add(Reason::gpu_identity_conflict, conflict);
  }
  append(findings.warnings, telemetry.identity_notes());
  if (telemetry.dropped_nuls() > 0) {
    findings.warnings.push_back(
        fmt::format("nul_bytes: {} NUL bytes were dropped", telemetry.dropped_nuls()));
  }
}

// What refuses a run of this recording.
void warn_of_series(const Recording& recording, const Telemetry& telemetry, SeriesKeeper& series,
                    Findings& findings) {
  if (findings.series.interpolation == Interpolation::hold) return;
  const Window window = findings.load ? findings.load->window : kAlways;
  Reasons doubts = series_doubts(recording, series, telemetry, {window, kDefaultMaxSampleGapS});
  add_clock_doubts(clock_doubts(recording, telemetry, series, window), doubts);
  for (const Reasons::Entry& entry : doubts.entries()) {
    findings.warnings.push_back(fmt::format("{}: {}", code(entry.reason), entry.detail));
  }
}

// Of devices whose own rows, or whose board, state a lower power limit.
void warn_of_limits(const StatedLimits& limits, const Telemetry& telemetry, Findings& findings) {
  const PlausibleWatts plausible = plausible_watts(findings.series);
  const auto board = runs::board_limit(findings.series);
  for (const DeviceSurvey& device : findings.devices) {
    const auto number = std::ranges::find(telemetry.devices(), device.id);
    const StatedLimits::Device stated =
        limits.of(static_cast<std::size_t>(number - telemetry.devices().begin()));
    if (is_impossible(device.max_w, plausible.most_w)) continue;
    const std::string why = impossible_power_text({.mean_w = device.mean_w,
                                                   .stated = stated,
                                                   .board = board ? board->gpu : "",
                                                   .board_limit_w = board ? board->watts : 0},
                                                  findings.series.unit, plausible);
    if (why.empty()) continue;
    findings.warnings.push_back(
        fmt::format("implausible_power: device {}: {}", printable(device.id), why));
  }
}

// What the GPUs did in the window of the result beside them. Returns whether that was odd.
bool warn_of_work(const runs::ReadRecording& read, Window window, Findings& findings) {
  runs::GpusAtWork work;
  runs::add_work(read, window, false, work);
  runs::WorkDoubts doubts = runs::work_doubts(work, true);
  const bool is_odd = !doubts.reasons.empty() || !doubts.warnings.empty();
  for (const Reasons::Entry& entry : doubts.reasons.entries()) {
    findings.warnings.push_back(fmt::format("{}: {}", code(entry.reason), entry.detail));
  }
  append(findings.warnings, std::move(doubts.warnings));
  return is_odd;
}

void warn_of_idle_devices(Findings& findings) {
  if (findings.series.sensor.scope == "wall") return;  // its devices are no GPUs
  std::vector<std::string> names;
  std::vector<double> means_w;
  for (const DeviceSurvey& device : findings.devices) {
    names.push_back(device.id);
    means_w.push_back(device.mean_w);
  }
  if (const auto idle = idle_text(names, means_w, idle_devices(means_w))) {
    findings.warnings.push_back("idle_device: " + *idle);
  }
}

// What the rows of a recording are looked at for.
struct Watched {
  explicit Watched(Window window) : series(window), in_window(window) {}

  Surveyor surveyor;
  AllReadings all;  // for its sensors
  SeriesKeeper series;
  StatedLimits limits{kAlways};
  StatedLimits in_window;
};

// Reads all rows. Returns why they break off; nullopt if they do not.
std::optional<std::string> watch_rows(const InspectRequest& request, const Recording& recording,
                                      Telemetry& telemetry, Watched& watched) {
  GpuQuantitySet states;
  if (request.with_sensors) states |= StateNotes::wanted();
  if (has_own_limit(telemetry.facts())) states |= StatedLimits::wanted();
  try {
    read_rows(recording, telemetry, true, states, [&](const Batch& batch) {
      watched.surveyor.take(batch.readings);
      watched.series.take(batch.readings);
      watched.limits.take(batch);
      watched.in_window.take(batch);
      if (request.with_sensors) watched.all.take(batch);
    });
  } catch (const TelemetryError& error) {
    return fmt::format("{}: {}", recording.path(), error.what());
  }
  return std::nullopt;
}

void note_rows(const Telemetry& telemetry, Findings& findings) {
  findings.sensors = telemetry.sensors();
  findings.sums = telemetry.sums();
  findings.skipped = telemetry.skipped();
  findings.rows = telemetry.rows();
}

// All that is odd about a recording, and `is_whole`: it does not break off.
void warn_of_recording(const Recording& recording, const Telemetry& telemetry, Watched& watched,
                       bool is_whole, Findings& findings) {
  if (auto doubt = recording.zone_doubt(telemetry)) findings.warnings.push_back(std::move(*doubt));
  warn_of_readings(watched.surveyor, telemetry, findings);
  if (is_whole && !findings.devices.empty()) {
    warn_of_series(recording, telemetry, watched.series, findings);
  }
  warn_of_limits(watched.limits, telemetry, findings);
  findings.limits = watched.in_window.in_force(telemetry.devices());
  append(findings.warnings, results::limit_warnings(findings.limits));
  const bool is_odd =
      findings.load && is_whole &&
      warn_of_work({recording, telemetry, watched.series.samples(), watched.in_window},
                   findings.load->window, findings);
  if (!is_odd) warn_of_idle_devices(findings);
  if (!findings.load || findings.devices.empty()) return;
  const Span span = span_of(findings.devices);
  const Window window = findings.load->window;
  const bool apart =
      span.last_unix_s < window.start_unix_s || span.first_unix_s > window.end_unix_s;
  if (apart) findings.zone_hint = zone_hint(telemetry, span, window);
}

void read_recording(const InspectRequest& request, const Recording& recording, Findings& findings) {
  Telemetry telemetry = recording.open();
  findings.series = telemetry.facts();
  append(findings.warnings, findings.series.warnings);
  findings.timezone = telemetry.zone().name();
  findings.timezone_source = recording.zone_source();
  if (!is_usable(findings.series)) {
    findings.reasons = findings.series.reasons;
    if (telemetry.has_sensors()) telemetry.read([](std::span<const Reading>) {});
    return note_rows(telemetry, findings);
  }
  Watched watched(findings.load ? findings.load->window : kAlways);
  const auto fault = watch_rows(request, recording, telemetry, watched);
  note_rows(telemetry, findings);
  findings.series.counter = telemetry.counter();
  findings.unnamed_readings = watched.surveyor.unnamed_readings();
  findings.devices = watched.surveyor.devices(telemetry.devices());
  if (fault) {
    findings.reasons.add(Reason::telemetry_file_unreadable, *fault);
  } else if (const auto* const zone_fault = recording.needed_zone_fault(telemetry)) {
    findings.reasons.add(Reason::telemetry_file_unreadable, zone_fault->text);
    findings.devices.clear();
    findings.timezone.clear();
    findings.timezone_source.clear();
    return;
  } else {
    judge_samples(telemetry, findings);
  }
  if (telemetry.stamps() > 0 && telemetry.naive_stamps() == 0) {
    findings.timezone = "UTC";
    findings.timezone_source = "stamps";
  }
  warn_of_recording(recording, telemetry, watched, !fault, findings);
  if (request.with_sensors && !fault && !findings.devices.empty()) {
    findings.gpu_sensors = inspect_gpu_sensors(
        recording, findings.series, watched.all.finish(telemetry.devices()), request.gpu);
  }
}

// The first cell of a row; an id that is too wide is in a line of its own.
std::string id_cell(const std::string& id) {
  constexpr std::size_t kWidth = 20;
  return columns(id) <= kWidth ? id : id + "\n" + std::string(kWidth, ' ');
}

// When each device was sampled, then what it drew: one table of both would be too wide for a
// terminal.
std::string devices_text(const std::vector<DeviceSurvey>& devices) {
  const TextTable times(
      "[device <20] [samples >8] [first unix >14.3f] [last unix >14.3f] [median s >9.3f] [max gap s >9.3f]");
  const TextTable watts("[device <20] [mean W >9.2f] [min W >9.2f] [max W >9.2f]");
  std::string text = times.head();
  std::string watts_text = "\n" + watts.head();
  for (const DeviceSurvey& device : devices) {
    const std::string id = id_cell(printable(device.id));
    times.add({id, device.samples, device.first_unix_s, device.last_unix_s,
               device.median_interval_s, device.max_gap_s},
              text);
    watts.add({id, device.mean_w, device.min_w, device.max_w}, watts_text);
  }
  return text + watts_text;
}

Json json_of(const Findings& findings) {
  const SeriesFacts& series = findings.series;
  Json skipped = Json::object();
  for (const auto& [cause, count] : by_cause(findings.skipped)) skipped[std::string(cause)] = count;
  Json window;
  if (findings.load) {
    window = {{"start_time_unix", findings.load->window.start_unix_s},
              {"end_time_unix", findings.load->window.end_unix_s}};
  }
  Json json = {
      {"schema", text_or_null(series.schema)},
      {"timestamp_column", or_null(series.timestamp_column)},
      {"power_column", or_null(series.power_column)},
      {"power_unit", series.has_power() ? Json(unit_symbol(series.unit)) : Json()},
      {"device_column", or_null(series.device_column)},
      {"timezone", text_or_null(findings.timezone)},
      {"timezone_source", text_or_null(findings.timezone_source)},
      {"rows", findings.rows},
      {"devices", list_of(findings.devices,
                          [&](const DeviceSurvey& device) -> Json {
                            return {{"id", device.id},
                                    {"samples", device.samples},
                                    {"first_unix", device.first_unix_s},
                                    {"last_unix", device.last_unix_s},
                                    {"median_interval_s", number_or_null(device.median_interval_s)},
                                    {"max_gap_s", number_or_null(device.max_gap_s)},
                                    {"mean_w", device.mean_w},
                                    {"min_w", device.min_w},
                                    {"max_w", device.max_w}};
                          })},
      {"skipped", std::move(skipped)},
      {"benchmark_window", std::move(window)},
      {"reasons", findings.reasons.codes()},
      {"warnings", findings.warnings}};
  if (!findings.sensors.empty()) json["sensors"] = sensors_json(findings.sensors, findings.sums);
  if (findings.beside) json["beside"] = findings.beside->json;
  if (findings.metrics) json.update(findings.metrics->json);
  if (findings.gpu_sensors) json["gpu_sensors"] = findings.gpu_sensors->json;
  if (!findings.limits.empty()) json["power_limits"] = results::limits_json(findings.limits);
  if (series.counter) {
    json["counter_column"] = series.counter->name;
    json["counter_unit"] = series.counter->unit;
  }
  return json;
}

// Where the window is relative to what a device recorded.
std::string window_lines(const Findings& findings) {
  const Window window = findings.load->window;
  std::string lines =
      fmt::format("window     {} to\n           {}, {}\n", unix_and_iso(window.start_unix_s),
                  unix_and_iso(window.end_unix_s), seconds_and_words(window.duration_s()));
  if (const std::string unit = wrong_unit_text(window.start_unix_s); !unit.empty()) {
    lines += fmt::format("  the window's times are {}\n", unit);
  }
  for (const DeviceSurvey& device : findings.devices) {
    const double before_s = window.start_unix_s - device.first_unix_s;
    const double behind_s = device.last_unix_s - window.end_unix_s;
    lines +=
        fmt::format("  device {}: {}, {}\n", printable(device.id),
                    before_s >= 0 ? fmt::format("starts {} before it", seconds_and_words(before_s))
                                  : fmt::format("STARTS {} TOO LATE", seconds_and_words(-before_s)),
                    behind_s >= 0 ? fmt::format("ends {} after it", seconds_and_words(behind_s))
                                  : fmt::format("ENDS {} TOO EARLY", seconds_and_words(-behind_s)));
  }
  return lines;
}

std::string text_of(const std::string& file, const Findings& findings) {
  const SeriesFacts& series = findings.series;
  std::string text = fact("file", one_line(file));
  text += fact("schema", series.schema.empty() ? "none" : series.schema);
  for (const SeriesFacts::Line& line : series.lines) {
    text += fact(line.what,
                 one_line(line.value) + (line.why.empty() ? "" : fmt::format(" ({})", line.why)));
  }
  if (series.counter) {
    text += fmt::format(
        "counter    '{}' of energy, in {}\n", printable(series.counter->name),
        series.counter->is_unit_stated ? series.counter->unit : "an unknown unit: only compared");
  }
  if (!findings.timezone.empty()) {
    text +=
        fmt::format("time zone  {} ({})\n", findings.timezone,
                    findings.timezone_source == "stamps"   ? "from the timestamps themselves"
                    : findings.timezone_source == "file"   ? "from the zone file beside it"
                    : findings.timezone_source == "option" ? "from --timezone"
                                                           : "the default; nothing states another");
  }
  text += fact("rows", std::to_string(findings.rows));
  for (const auto& [cause, count] : by_cause(findings.skipped)) {
    if (count > 0) text += fmt::format("  skipped  {} {}\n", count, cause);
  }
  if (!findings.devices.empty()) {
    text += "\n" + devices_text(findings.devices);
  }
  if (!findings.limits.empty()) {
    text += "\n" + fact("limit", results::limits_text(findings.limits));
  }
  if (findings.gpu_sensors) text += findings.gpu_sensors->text;
  text += sensors_text(findings.sensors, findings.sums);
  if (findings.metrics) text += findings.metrics->text;
  if (findings.beside) text += findings.beside->text;
  if (findings.load) text += "\n" + window_lines(findings);
  if (!findings.reasons.empty() && !series.first_lines.empty()) {
    text += "\nfirst lines\n";
    for (const std::string& line : series.first_lines) text += "  " + line + "\n";
  }
  if (!findings.warnings.empty()) text += "\n";
  for (const std::string& warning : findings.warnings) text += "warning: " + warning + "\n";
  return text;
}

void read_load_of(const InspectRequest& request, Findings& findings, InspectReport& report) {
  if (request.bench_result.empty()) return;
  try {
    const LoadReading reading = read_load(load_file(request.bench_result));
    findings.load = reading.load;
    if (!reading.reasons.empty()) report.err.push_back(reading.reasons.text());
  } catch (const FileError& error) {
    report.err.push_back(error.what());
    report.exit_status = 2;
  }
}

void read_telemetry(const InspectRequest& request, Findings& findings, InspectReport& report) {
  try {
    const Recording recording(request.file, request.zone, request.columns);
    if (!recording.faults().empty()) {
      findings.reasons = recording.faults();
      if (recording.faults().contains(Reason::telemetry_file_missing)) report.exit_status = 2;
      return;
    }
    read_recording(request, recording, findings);
    if (!findings.sensors.empty()) findings.beside = inspect_beside(request, findings.sensors);
    if (findings.series.schema == "aipowermeter") {
      findings.metrics = inspect_metrics(request, recording, request.zone.value_or(Zone::local()));
    } else if (request.per_process) {
      report.err.push_back("--per-process: only a recording of AIPowerMeter names processes");
      report.exit_status = std::max(report.exit_status, 1);
    }
  } catch (const TelemetryError& error) {
    findings.reasons.add(Reason::telemetry_file_unreadable, error.what());
  } catch (const FileError& error) {
    findings.reasons.add(Reason::telemetry_file_unreadable, error.what());
    report.exit_status = 2;
  }
}

void explain_reasons(const std::string& file, const Reasons& reasons, InspectReport& report) {
  report.err.push_back(fmt::format("{}: no power series: {}", file, reasons.text()));
  for (const Reasons::Entry& entry : reasons.entries()) {
    report.err.push_back(fmt::format("  {}: {}", code(entry.reason), remedy(entry.reason)));
  }
}

}  // namespace

InspectReport inspect(const InspectRequest& request) {
  if (request.validates) {
    Json json;
    InspectReport of_package = inspect_package(request, json);
    if (request.json && !json.is_null()) of_package.out = indented_lines(json);
    return of_package;
  }
  std::optional<std::string> other_json;
  try {
    const bool may_be_result =
        request.file != "-" && is_regular_file(request.file) &&
        !is_known_recording(read_up_to(*as_utf8(load_file(request.file).open()), kHeadBytes));
    if (auto result = may_be_result ? inspect_result(request) : std::nullopt) return *result;
    if (auto own = may_be_result ? inspect_own_file(request) : std::nullopt) return *own;
    if (auto log = may_be_result ? inspect_windows_log(request) : std::nullopt) return *log;
    if (may_be_result) other_json = unrecognized_json(request.file);
  } catch (const FileError&) {  // as telemetry it is reported
  }
  InspectReport report;
  Findings findings;
  read_load_of(request, findings, report);
  read_telemetry(request, findings, report);
  for (const std::string& path : {request.file, request.bench_result}) {
    const std::string hint = path.empty() ? "" : missing_file_hint(path);
    if (!hint.empty()) report.err.push_back(hint);
  }
  if (!findings.reasons.empty() && report.exit_status == 0) report.exit_status = 1;
  if (!findings.reasons.empty() && other_json) {
    report.err.push_back(fmt::format("{}: {}", printable_path(request.file), *other_json));
  } else if (!findings.reasons.empty()) {
    explain_reasons(request.file, findings.reasons, report);
  }
  if (findings.zone_hint) report.err.push_back(*findings.zone_hint + kOrAnotherRun);
  report.out = request.json ? indented_lines(json_of(findings))
                            : text_of(printable_path(request.file), findings);
  return report;
}

}  // namespace aggregate_power
