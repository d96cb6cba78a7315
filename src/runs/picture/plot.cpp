// Gathers curves beside the measurement of a run.
#include "runs/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/show_time.h"
#include "core/energy/integrate.h"
#include "core/energy/plausibility.h"
#include "generators/generator_table.h"
#include "generators/request_file.h"
#include "recorders/recorder_context.h"
#include "runs/calibrate/calibrate.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/extras.h"
#include "runs/measure/interval_text.h"
#include "runs/measure/named_files.h"
#include "runs/window/window.h"

namespace aggregate_power {
namespace {

void check_plot_output(const RunSpec& request, const std::vector<std::string>& telemetry) {
  if (request.out.empty()) return;
  std::vector<std::string> inputs;
  for (const std::string& path : telemetry) {
    if (path != "-") append(inputs, with_side_files(path));
  }
  if (!request.bench_result.empty()) inputs.push_back(request.bench_result);
  if (!request.calibration.empty()) inputs.push_back(request.calibration);
  for (const std::string& input : inputs) {
    if (request.out != input && !is_same_file(request.out, input)) continue;
    throw Error(fmt::format("--out {}: would overwrite {}: give another file",
                            printable_path(request.out), printable_path(input)));
  }
}

// Reads one recording's curves, along with its measurement or alone.
class CurveReader {
 public:
  CurveReader(const RunSpec& request, std::size_t recordings, std::optional<Window> window)
      : request_(request), recordings_(recordings), window_(window) {}

  // Of a reading of the recording that begins.
  Onlooker look(const SeriesFacts& facts) {
    recording_.facts = facts;
    options_ = {.window = window_,
                .max_gap_s = request_.max_sample_gap_s,
                .interpolation = facts.interpolation,
                .are_means = are_means(facts.sensor),
                .with_limits = facts.has_power_limit,
                .recordings = recordings_};
    rows_.emplace(options_);
    return {rows_->states(), [this](const Batch& batch) { rows_->take(batch); },
            [this](const Samples& samples, const Telemetry& telemetry) {
              conclude(samples, telemetry);
            }};
  }

  // Reads what no measurement has read to its end, as far as it can be read.
  void read_alone(const Recording& recording) {
    if (is_read_ || !recording.faults().empty()) return;
    Onlooker onlooker;
    Samples samples(kAlways);
    SingleSeries series;
    bool is_unnamed = false;
    std::string fault;
    const auto begin = [&](const Telemetry& opened) {
      is_unnamed = !opened.facts().has_devices();
      onlooker = look(opened.facts());
      return onlooker.states;
    };
    const auto take = [&](const Batch& batch) {
      onlooker.take(batch);
      samples.take(batch.readings);
      if (is_unnamed) series.take(batch.readings);
    };
    const Telemetry telemetry =
        read_whole(recording, {.take = take, .begin = begin, .fault = &fault});
    recording_.facts = telemetry.facts();
    if (!telemetry.facts().has_times() || !telemetry.facts().has_power()) {
      reasons_.add(telemetry.facts().reasons);
      return;
    }
    if (is_unnamed) refuse_unnamed_series();
    samples.sort();
    onlooker.conclude(samples, telemetry);
    if (!fault.empty()) {
      reasons_.add(Reason::telemetry_file_unreadable,
                   fmt::format("{}: {}", recording.path(), fault));
    } else if (is_unnamed && is_of_one_gpu()) {
      std::string doubt = series.doubt();
      if (!doubt.empty()) reasons_.add(Reason::gpu_identity_column_missing, std::move(doubt));
    }
    if (const auto* const zone_fault = recording.needed_zone_fault(telemetry)) {
      recording_.has_times = false;
      reasons_.add(Reason::telemetry_file_unreadable, zone_fault->text);
    }
    if (request_.gpus.is_given()) {
      SelectableGpus all{telemetry.devices(), {}, telemetry.facts(), telemetry.keys()};
      for (const DeviceCurve& device : recording_.curves.devices) {
        all.measured.push_back(device.name);
      }
      std::string missing = selection_fault(request_.gpus, std::span(&all, 1));
      if (!missing.empty()) reasons_.add(Reason::selected_gpu_missing, std::move(missing));
    }
  }

  PicturedRecording& recording() { return recording_; }
  // What was wrong with what read_alone() read.
  const Reasons& reasons() const { return reasons_; }

 private:
  // Rows of several GPUs would be averaged as if they were of one.
  void refuse_unnamed_series() {
    if (is_of_one_gpu()) return;
    reasons_.add(
        Reason::gpu_identity_column_missing,
        "if all rows are those of one GPU, say so with --expected-num-gpus 1; else name what tells the GPUs apart with --device-column");
  }
  bool is_of_one_gpu() const { return request_.expected_num_gpus == 1; }

  void conclude(const Samples& samples, const Telemetry& telemetry) {
    recording_.curves =
        power_curves(options_, samples, *rows_, telemetry.devices(), telemetry.pauses());
    const std::vector<GpuKey> keys = telemetry.keys();
    for (std::size_t i = 0; i < telemetry.devices().size(); ++i) {
      recording_.gpus.emplace_back(telemetry.devices()[i], keys[i]);
    }
    const bool has_offsets = telemetry.stamps() > 0 && telemetry.naive_stamps() == 0;
    recording_.zone = has_offsets ? Zone::parse("UTC") : telemetry.zone();
    recording_.has_times = !recording_.curves.devices.empty() &&
                           recording_.curves.devices[0].first_unix_s >= kFirstAbsoluteUnixS;
    is_read_ = true;
  }

  const RunSpec& request_;
  std::size_t recordings_;
  std::optional<Window> window_;
  PowerCurvesOptions options_ = {};
  std::optional<CurveRows> rows_ = {};
  PicturedRecording recording_;
  Reasons reasons_;
  bool is_read_ = false;
};

PlacedLoad plot_load(const RunSpec& request, const Recording& recording) {
  LoadReading reading;
  if (!request.bench_result.empty()) {
    reading =
        read_selected_load(load_file(request.bench_result, LoadRules::schema_2), request.select);
  }
  return placed_load(std::move(reading), recording, window_options(request, request.bench_result));
}

void refuse_missing(const Recording& recording) {
  if (!recording.faults().contains(Reason::telemetry_file_missing)) return;
  const std::string hint = missing_file_hint(recording.path());
  throw Error(
      hint.empty()
          ? fmt::format("{}: no such recording: name one, as in 'aggregate-power plot power.csv'",
                        printable_path(recording.path()))
          : hint);
}

// Power of different parts of a machine is never added.
void refuse_other_scope(const PowerPicture& picture) {
  const PicturedRecording& first = picture.recordings.front();
  const PicturedRecording& last = picture.recordings.back();
  const std::string& one = first.facts.sensor.scope;
  const std::string& other = last.facts.sensor.scope;
  if (one == other || one == "unknown" || other == "unknown") return;
  throw Error(
      fmt::format("{} has power of the scope '{}' and {} of the scope '{}': plot each alone",
                  printable_path(first.path), one, printable_path(last.path), other));
}

// The measured numbers of a run.
void take_result(const Result& result, PlottedRun& run) {
  PowerPicture& picture = run.picture;
  if (result.load) picture.window = result.load->window;
  picture.window_class = result.window_source.empty() ? "exact" : result.window_source;
  picture.window_half_width_s = result.window_half_width_s;
  picture.is_window_in_command = result.is_window_in_command;
  picture.reasons.add(result.reasons);
  run.warnings = result.warnings;
  if (!picture.is_valid()) return;
  for (const Metric& metric : result.metrics) {
    if (metric.key != "total_gpu_energy_j") continue;
    picture.total_j = rounded(metric.value, metric.decimals);
    if (!metric.interval) continue;
    picture.low_j = metric.interval->low;
    picture.high_j = metric.interval->high;
  }
  for (const results::ShownRatio& ratio : results::ratios_of(result)) {
    std::string text = results::ratio_text(result, *ratio.metric, ratio.what);
    if (const auto gap = text.find("  "); gap != std::string::npos) text.erase(gap, 1);
    picture.ratios.push_back({std::string(ratio.metric->key), std::move(text),
                              rounded(ratio.metric->value, kAuditDecimals),
                              results::best_number(result, *ratio.metric).bounds});
  }
}

// The number that is expected of all recordings together.
void check_plot_count(const RunSpec& request, const LoadReading& load, PowerPicture& picture) {
  const auto expected = request.finds_gpus ? load.gpus : request.expected_num_gpus;
  const auto observed = static_cast<std::int64_t>(picture.gpus());
  if (!expected || *expected == observed) return;
  picture.reasons.add(Reason::expected_gpu_count_mismatch,
                      fmt::format("{} observed, {} expected", observed, *expected));
}

std::optional<IdlePower> idle_of(const RunSpec& request, const Recording& recording,
                                 const PowerCurves& curves, const Result& result) {
  RunOptions options = request;
  options.idle = "auto";
  Result copy;
  copy.load = result.load;
  copy.metrics = result.metrics;
  copy.gpus = result.gpus;
  SensorReadings readings;
  readings.gpus = curves.beside;
  for (const GpuResult& gpu : result.gpus) readings.published_j[gpu.name] = gpu.energy.energy_j;
  add_extras({options, {std::move(readings)}, {}, &recording}, copy);
  return copy.idle && copy.idle->is_available() ? std::move(copy.idle) : std::nullopt;
}

// A result without a list of requests has nothing to draw.
void read_requests_of(const RunSpec& request, const Result& result, PowerPicture& picture) {
  if (request.bench_result.empty() || request.bench_result == "-" || !result.load) return;
  try {
    RequestFile file = read_requests(request.bench_result);
    const bool is_tied = result.window_source == window_source_name(WindowSource::tied);
    picture.are_requests_assumed = file.place(result.load->window, is_tied);
    picture.requests = std::move(file.requests);
  } catch (const std::runtime_error&) {
  }
}

void read_logged(const RunSpec& request, const std::string& windows, PowerPicture& picture) {
  Window recorded{picture.start_unix_s(), picture.start_unix_s()};
  for (const PicturedRecording& recording : picture.recordings) {
    for (const DeviceCurve& device : recording.curves.devices) {
      recorded.end_unix_s = std::max(recorded.end_unix_s, device.last_unix_s);
    }
  }
  picture.logged = read_windows_file(windows, {.recorded = recorded, .zone = request.zone});
}

void forget_energy(PowerPicture& picture) {
  picture.total_j = picture.low_j = picture.high_j = std::nullopt;
  picture.ratios.clear();
  picture.energies_j.clear();
  picture.idle.reset();
}

void plot_window(const RunSpec& request, const std::vector<std::string>& paths, PlottedRun& run) {
  PowerPicture& picture = run.picture;
  RunRecordings recordings(paths, request);
  refuse_missing(recordings.open.front());
  PlacedLoad placed = plot_load(request, recordings.open.front());
  const LoadReading& load = placed.reading;
  MeasurementRequest wanted{request};
  wanted.schema_version = 2;
  wanted.may_use_threads = true;
  wanted.shows_interval = true;
  if (paths.size() > 1) {  // the number is checked of all that is drawn
    recordings.is_number_stated = request.expected_num_gpus || request.finds_gpus;
    wanted.expected_num_gpus.reset();
    wanted.finds_gpus = false;
    placed.placement.reset();
  }
  std::optional<CurveReader> reader;
  recordings.before = [&](std::size_t, const Recording& recording, MeasurementRequest& of_one) {
    refuse_missing(recording);
    reader.emplace(request, paths.size(),
                   load.load ? std::optional(load.load->window) : std::nullopt);
    of_one.beside = [&](const SeriesFacts& facts) { return reader->look(facts); };
  };
  recordings.after = [&](std::size_t i, const Recording& recording, Result& result) {
    reader->read_alone(recording);
    if (result.telemetry && result.telemetry->timezone.empty()) {
      reader->recording().has_times = false;
    }
    for (const GpuResult& gpu : result.gpus) {
      picture.energies_j[{i, gpu.name}] = gpu.energy.energy_j;
    }
    reader->recording().path = paths[i];
    picture.recordings.push_back(std::move(reader->recording()));
    refuse_other_scope(picture);
    if (paths.size() == 1 && result.is_valid()) {
      picture.idle = idle_of(request, recording, picture.recordings[0].curves, result);
    }
  };
  Result result = evaluate(wanted, recordings, placed, {request.bench_result, ""}).result;
  add_window_facts(placed, load, result);
  take_result(result, run);
  read_requests_of(request, result, picture);
  if (paths.size() > 1) check_plot_count(request, load, picture);
}

void judge_whole(const PicturedRecording& recording, const RunOptions& run, Reasons& reasons) {
  const PowerCurves& curves = recording.curves;
  if (curves.devices.empty()) reasons.add(Reason::no_usable_power_samples);
  if (curves.unnamed_rows > 0) reasons.add(Reason::gpu_identity_missing);
  if (curves.unplaced_rows > 0) {
    reasons.add(Reason::invalid_timestamp_sample, fmt::format("{} rows", curves.unplaced_rows));
  }
  if (curves.invalid_rows > 0) {
    reasons.add(Reason::invalid_power_sample,
                "the first at " + unix_and_iso(curves.invalid.front().start_unix_s));
  }
  for (const DeviceCurve& device : curves.devices) {
    const double duration_s = device.last_unix_s - device.first_unix_s;
    if (device.longest_gap_s > run.max_sample_gap_s) {
      reasons.add(Reason::sampling_gap_exceeded,
                  fmt::format("GPU {}: {:.3f} s, at most {} s", printable(device.name),
                              device.longest_gap_s, run.max_sample_gap_s));
    }
    const double mean_w = duration_s > 0 ? device.energy_j / duration_s : device.highest_w;
    const bool is_finite = std::isfinite(device.energy_j);
    const std::string why =
        impossible_window_text(is_finite ? mean_w : device.energy_j, device.highest_w,
                               recording.facts.unit, plausible_watts(recording.facts).most_w);
    if (why.empty()) continue;
    reasons.add(Reason::implausible_power, fmt::format("GPU {}: {}", printable(device.name), why));
  }
}

void plot_whole(const RunSpec& request, const std::vector<std::string>& paths, PlottedRun& run) {
  PowerPicture& picture = run.picture;
  std::optional<Recording> first;
  double total_j = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Recording recording(paths[i], request.zone, request.columns, request.gpus);
    refuse_missing(recording);
    picture.reasons.add(recording.faults());
    CurveReader reader(request, paths.size(), std::nullopt);
    reader.read_alone(recording);
    reader.recording().path = paths[i];
    picture.recordings.push_back(std::move(reader.recording()));
    picture.reasons.add(reader.reasons());
    if (picture.reasons.empty()) judge_whole(picture.recordings[i], request, picture.reasons);
    refuse_other_scope(picture);
    for (const DeviceCurve& device : picture.recordings[i].curves.devices) {
      picture.energies_j[{i, device.name}] = device.energy_j;
      total_j += device.energy_j;
      seconds = std::max(seconds, device.last_unix_s - device.first_unix_s);
    }
    for (const std::string& warning : picture.recordings[i].facts.warnings) {
      run.warnings.push_back(fmt::format("{}: {}", printable_path(paths[i]), warning));
    }
    if (first) refuse_copy(*first, recording);
    if (!first) first.emplace(std::move(recording));
  }
  check_plot_count(request, {}, picture);
  constexpr int kDecimals = 3;
  if (seconds > 0) picture.total_j = rounded(total_j, kDecimals);
  if (!picture.total_j) picture.energies_j.clear();
}

}  // namespace

namespace {

// The sum of the GPUs as the meter of a profile would show it. What was not calibrated breaks it.
void model_power(const AppliedProfile& profile, const PowerCurves& curves,
                 ModelledMeter& modelled) {
  for (const Polyline& line : curves.devices.size() > 1 ? curves.sum : curves.devices[0].lines) {
    bool is_new = true;
    for (const Point& point : line) {
      const auto power = profile.power(point.y);
      if (power && is_new) {
        modelled.lines.emplace_back();
        modelled.ribbons.emplace_back();
      }
      is_new = !power;
      if (is_new) continue;
      modelled.lines.back().push_back({point.x, power->watts});
      modelled.ribbons.back().push_back({point.x, power->bounds_w.low, power->bounds_w.high});
    }
  }
}

// Of the window, else of the whole recording.
std::optional<ModelledNode> model_energy(const AppliedProfile& profile,
                                         const PowerPicture& picture) {
  if (!picture.total_j) return std::nullopt;
  double gpus_j = 0;
  for (const auto& [gpu, energy_j] : picture.energies_j) gpus_j += energy_j;
  Window window{picture.start_unix_s(), 0};
  for (const DeviceCurve& device : picture.recordings.front().curves.devices) {
    window.end_unix_s = std::max(window.end_unix_s, device.last_unix_s);
  }
  return profile.node(gpus_j, picture.window.value_or(window).duration_s());
}

void model_meter(const RunSpec& request, PlottedRun& run) {
  PowerPicture& picture = run.picture;
  if (request.calibration.empty()) return;
  if (picture.recordings.size() != 1) {
    run.warnings.emplace_back("--calibration is of one recording and is not used for several");
    return;
  }
  const PowerCurves& curves = picture.recordings.front().curves;
  const PicturedRecording& one = picture.recordings.front();
  TelemetryFacts facts;
  facts.series = one.facts;
  facts.gpus = one.gpus;
  const AppliedProfile applied(
      request.calibration,
      gpus_read(facts, curves.devices.size(), one.facts.gpu_models, request.uncertainty.gpu));
  for (const std::string& warning : applied.warnings()) {
    const bool is_known = std::ranges::find(run.warnings, warning) != run.warnings.end();
    if (!is_known) run.warnings.push_back(warning);
  }
  const CalibrationProfile* const profile = applied.profile();
  if (profile == nullptr || curves.devices.empty()) return;
  const std::string meter = printable(profile->meter, 60);
  ModelledMeter& modelled = picture.modelled.emplace();
  modelled.label = fmt::format("{}{}, modelled", profile->is_of_gpus() ? "GPUs by " : "", meter);
  modelled.caption = fmt::format(
      "Modelled, not measured: what '{}' would show by {}, {:.4g} W for each watt of the GPUs; the band has 95 %, without the noise of single readings.",
      meter, printable_path(request.calibration), profile->line.slope.value);
  model_power(applied, curves, modelled);
  const auto node = model_energy(applied, picture);
  if (!node) return;
  modelled.caption += fmt::format(" Its energy: {}.", modelled_node_text(*node));
  if (node->energy_j) modelled.value = fmt::format("{:.3f} J", *node->energy_j);
}

}  // namespace

PlottedRun plotted_run(const RunSpec& request, const std::string& windows) {
  const std::vector<std::string> paths = runs::recordings_near(request);
  check_plot_output(request, paths);
  refuse_repeated_recordings(paths);
  PlottedRun run;
  run.picture.result = request.bench_result;
  run.picture.max_gap_s = request.max_sample_gap_s;
  request.has_window() ? plot_window(request, paths, run) : plot_whole(request, paths, run);
  if (!run.picture.is_valid()) forget_energy(run.picture);
  model_meter(request, run);
  if (!windows.empty()) read_logged(request, windows, run.picture);
  return run;
}

// ---- Writes what a picture draws as CSV and JSON.

namespace {

// The series of a panel as lines; a range is two.
std::vector<std::pair<std::string, std::vector<Polyline>>> drawn_lines(const Panel& panel) {
  std::vector<std::pair<std::string, std::vector<Polyline>>> drawn;
  for (const Series& series : panel.series) {
    if (!series.lines.empty()) drawn.emplace_back(series.label, series.lines);
    if (series.ribbons.empty()) continue;
    std::vector<Polyline> lows;
    std::vector<Polyline> highs;
    for (const Ribbon& ribbon : series.ribbons) {
      lows.emplace_back();
      highs.emplace_back();
      for (const RangeAt& at : ribbon) {
        lows.back().push_back({at.x, at.low});
        highs.back().push_back({at.x, at.high});
      }
    }
    const std::string of = series.lines.empty() ? "" : series.label + ": ";
    drawn.emplace_back(of + "lowest", std::move(lows));
    drawn.emplace_back(of + "highest", std::move(highs));
  }
  return drawn;
}

// Else it is of the load.
bool is_of_power(const Panel& panel) { return panel.y.title.starts_with("power"); }

Json lines_json(const Chart& chart, bool of_power) {
  Json all = Json::array();
  for (const Panel& panel : chart.panels) {
    if (is_of_power(panel) != of_power) continue;
    for (const auto& [name, lines] : drawn_lines(panel)) {
      Json points = Json::array();
      for (const Polyline& line : lines) {
        points.push_back(list_of(line, [&](const Point& point) -> Json {
          return Json::array({point.x, point.y});
        }));
      }
      all.push_back({{"name", name}, {"lines", std::move(points)}});
    }
  }
  return all;
}

std::string_view kind_name(Stretch::Kind kind) {
  if (kind == Stretch::Kind::window) return "window";
  return kind == Stretch::Kind::gap ? "gap" : "invalid";
}

}  // namespace

std::string picture_csv(const Chart& chart) {
  std::string text = "series,line,time_s,power_w\n";
  for (const Panel& panel : chart.panels) {
    if (!is_of_power(panel)) continue;
    for (const auto& [name, lines] : drawn_lines(panel)) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (const Point& point : lines[i]) {
          text += fmt::format("{},{},{:.6f},{}\n", spreadsheet_cell(name), i + 1, point.x, point.y);
        }
      }
    }
  }
  return text;
}

std::string picture_json(const PowerPicture& picture, const Chart& chart) {
  Json json = {{"schema", "aggregate-power/plot-1"}, {"title", chart.title}};
  json["telemetry"] = list_of(picture.recordings, [&](const PicturedRecording& each) -> Json {
    return printable_path(each.path);
  });
  json["benchmark_result"] = text_or_null(printable_path(picture.result));
  json["start_unix"] = picture.start_unix_s();
  json["valid"] = picture.is_valid();
  json["reasons"] = picture.reasons.codes();
  json["details"] = picture.reasons.text();
  json["window"] = nullptr;
  if (picture.window) {
    json["window"] = {{"start_unix", picture.window->start_unix_s},
                      {"end_unix", picture.window->end_unix_s},
                      {"class", picture.window_class}};
  }
  json["total_gpu_energy_j"] = or_null(picture.total_j);
  json["ratios"] = list_of(picture.ratios, [](const PowerPicture::Ratio& ratio) -> Json {
    const auto bound = [&](double Interval::*end) {
      return ratio.bounds ? Json(rounded((*ratio.bounds).*end, kAuditDecimals)) : Json();
    };
    return {{"key", ratio.key},
            {"value", ratio.value},
            {"low", bound(&Interval::low)},
            {"high", bound(&Interval::high)}};
  });
  JsonObject energies;
  for (const auto& [key, joules] : picture.energies_j) {
    energies.set(gpu_label(picture, key.first, key.second), number_or_null(joules));
  }
  json["per_gpu_energy_j"] = std::move(energies).take();
  Json levels = Json::array();
  for (const Panel& panel : chart.panels) {
    for (const Level& level : panel.levels) {
      levels.push_back({{"panel", panel.y.title}, {"name", level.label}, {"power_w", level.y}});
    }
  }
  json["levels"] = std::move(levels);
  json["stretches"] = list_of(chart.stretches, [&](const Stretch& each) -> Json {
    return {{"kind", kind_name(each.kind)},
            {"from_s", each.from},
            {"to_s", each.to},
            {"label", each.label}};
  });
  json["caption"] = chart.caption;
  json["series"] = lines_json(chart, true);
  json["load"] = lines_json(chart, false);
  return line_text(json) + "\n";
}

}  // namespace aggregate_power
