// Reads a result, finds its windows, and measures each.
#include "runs/measure/measure.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "aggregate_power/gpu.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/energy/plausibility.h"
#include "core/load/benchmark.h"
#include "core/record/record_write.h"
#include "energy/shares/facility.h"
#include "generators/benchmark_choice.h"
#include "generators/generator_table.h"
#include "generators/request_file.h"
#include "recorders/energy_rate.h"
#include "recorders/recorder_context.h"
#include "runs/evaluate/explain.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/deliver.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/extras.h"
#include "runs/measure/facility.h"
#include "runs/measure/good_work.h"
#include "runs/measure/measure_report.h"
#include "runs/measure/named_files.h"
#include "runs/measure/requests.h"
#include "runs/measure/uncertainty.h"
#include "runs/measure/witnesses.h"
#include "runs/window/window.h"

namespace aggregate_power {
namespace {

constexpr Reason kCountFaults[] = {Reason::invalid_successful_query_count,
                                   Reason::invalid_input_token_count,
                                   Reason::invalid_output_token_count};

RequestRun requests_of_measure(const RunSpec& request) {
  std::vector<std::string> inputs;
  for (const std::string& telemetry : request.telemetry) {
    append(inputs, with_side_files(telemetry));
    append(inputs, model_files_beside(telemetry));
  }
  std::vector<std::string> others;
  if (!request.out.empty()) others = {request.out, record_beside(request.out)};
  return requests_of(request, request.bench_result, std::move(inputs), std::move(others));
}

// The requests are those of one load, seen by one recording.
void check_requests(const RunSpec& request, std::size_t benchmarks) {
  if (!request.requests.shares()) return;
  constexpr const char* kOptions = "--requests, --per-request and --phases";
  if (request.telemetry.size() > 1) {
    throw Error(fmt::format("{}: take one recording, and there are {}", kOptions,
                            request.telemetry.size()));
  }
  if (benchmarks > 1) {
    throw Error(fmt::format("{}: take one benchmark; choose it with --select", kOptions));
  }
  if (request.bench_result.empty() && request.requests.file.empty()) {
    throw Error("--per-request and --phases: expected --requests FILE, which lists the requests");
  }
  check_request_files(requests_of_measure(request));
}

// Without counts there are no joules per token, but there is an energy.
void excuse_counts(LoadReading& reading, std::vector<std::string>& warnings) {
  std::vector<std::string> missing;
  for (const Reasons::Entry& entry : reading.reasons.entries()) {
    const bool is_count = std::ranges::find(kCountFaults, entry.reason) != std::end(kCountFaults);
    if (is_count && !entry.detail.ends_with(" is 0")) missing.push_back(entry.detail);
  }
  for (const Reason fault : kCountFaults) reading.reasons.remove(fault);
  if (!missing.empty()) warnings.push_back(joined_text(missing, "; "));
}

// Whether the caller says which GPUs count, or how many.
bool names_gpus(const RunSpec& request) {
  return request.expected_num_gpus || request.finds_gpus || request.gpus.is_given();
}

// The --gpus of those that were not idle, if they are so many.
std::string busy_option(std::int64_t count, const Result& result) {
  const std::vector<bool> is_idle =
      idle_devices(mapped<double>(result.gpus, [&](const GpuResult& gpu) {
        return result.load ? gpu.energy.energy_j / result.load->window.duration_s() : 0;
      }));
  std::vector<std::string> busy;
  for (std::size_t i = 0; i < result.gpus.size(); ++i) {
    if (!is_idle[i]) busy.push_back(result.gpus[i].name);
  }
  return static_cast<std::int64_t>(busy.size()) == count ? gpus_option(busy) : "";
}

// The --gpus of each host that has so many.
std::vector<std::string> host_options(std::int64_t count, const Result& result) {
  std::map<std::string, std::vector<std::string>> by_host;
  for (const GpuResult& gpu : result.gpus) {
    const std::size_t slash = gpu.name.rfind('/');
    if (slash != std::string::npos) by_host[gpu.name.substr(0, slash)].push_back(gpu.name);
  }
  std::vector<std::string> options;
  for (const auto& [host, gpus] : by_host) {
    if (static_cast<std::int64_t>(gpus.size()) == count) options.push_back(gpus_option(gpus));
  }
  return options;
}

// The recordings that have so many. Names of GPUs do not choose one of several recordings.
std::vector<std::string> commands_for(std::int64_t count, const RunSpec& request,
                                      const std::vector<std::size_t>& gpus_of_each) {
  std::vector<std::string> commands;
  for (std::size_t i = 0; i < gpus_of_each.size(); ++i) {
    if (static_cast<std::int64_t>(gpus_of_each[i]) != count) continue;
    commands.push_back(fmt::format("'aggregate-power measure {} {}'",
                                   printable_path(request.bench_result),
                                   printable_path(request.telemetry[i])));
  }
  return commands;
}

// How to measure as many GPUs as the result states, and no others.
std::string way_to_count(std::int64_t count, const RunSpec& request,
                         const std::vector<std::size_t>& gpus_of_each, const Result& result) {
  constexpr std::size_t kMostWays = 4;
  if (static_cast<std::int64_t>(result.observed_gpus) < count) {
    return "record all of them, or give the recordings of all hosts";
  }
  const bool is_only = request.telemetry.size() == 1;
  const std::string busy = is_only ? busy_option(count, result) : "";
  if (!busy.empty()) return "choose them with " + busy;
  const std::vector<std::string> ways =
      is_only ? host_options(count, result) : commands_for(count, request, gpus_of_each);
  if (!ways.empty() && ways.size() <= kMostWays) {
    return fmt::format("choose {} with {}", is_only ? "those of one host" : "one recording",
                       fmt::join(ways, " or "));
  }
  return is_only ? "choose them with --gpus" : "give only the recordings of its hosts";
}

// The number of GPUs that the result states, unless the caller names them.
void refuse_other_count(const LoadReading& load, const RunSpec& request,
                        const std::vector<std::size_t>& gpus_of_each, Result& result) {
  if (!load.gpus_fault.empty()) {
    result.reasons.add(Reason::invalid_expected_gpu_count, load.gpus_fault);
  }
  const auto counted = static_cast<std::int64_t>(result.observed_gpus);
  if (!load.gpus || counted == 0 || *load.gpus == counted) return;
  result.reasons.add(Reason::expected_gpu_count_mismatch,
                     fmt::format("{} observed, and the result states {}: {}", counted, *load.gpus,
                                 way_to_count(*load.gpus, request, gpus_of_each, result)));
}

// RunReport::needed_window, by the rules of the commands that patch an aggregate.
std::string needed_window(const RunSpec& request, const RunReport& run) {
  using enum RunOptions::Accepted;
  const std::string& source = run.result.window_source;
  const bool is_estimate = source == "estimated" && request.accepted_window != estimated;
  const bool is_long = run.includes_set_up && request.accepted_window != wrapped;
  return is_estimate || is_long ? source : std::string();
}

std::string model_of(const LoadReading& load, const RunReport& run) {
  const auto named = std::ranges::find(run.configuration, "model", &Settings::value_type::first);
  return named == run.configuration.end() ? load.model : named->second;
}

// Whether nothing but the process's zone tells when the load was: the result's local times were
// read in it, and the power can only place the load between them.
bool is_hour_assumed(const LoadReading& load, const Result& result) {
  if (!load.is_on_recorders_clock || !result.telemetry) return false;
  const TelemetryFacts& facts = *result.telemetry;
  if (facts.naive_stamps == 0 || facts.series.naive_is_utc) return false;
  const auto& found = result.zone_evidence;
  return facts.timezone_source == "default" ||
         (found && found->report.witnesses == std::vector{ZoneWitness::process_zone});
}

void warn_of_hours(const FacilityRates& rates, const LoadReading& load, RunReport& run) {
  const auto is_hourly = [](const std::optional<EnergyRate>& rate) {
    return rate && rate->is_hourly();
  };
  if (!is_hourly(rates.carbon) && !is_hourly(rates.price)) return;
  if (!run.result.is_valid() || !is_hour_assumed(load, run.result)) return;
  run.result.warnings.push_back(fmt::format(
      "{}: nothing states the time zone of the result and the recording, so the hours are those of the process's own, {}: give --timezone",
      is_hourly(rates.carbon) ? "--carbon" : "--price", run.result.telemetry->utc_offset));
}

RunReport measured_benchmark(const RunSpec& request, const FacilityRates& rates,
                             LoadReading reading, AmongRuns among) {
  const std::vector<std::string>& paths = request.telemetry;
  RunRecordings recordings(paths, request);
  Recording& recording = recordings.open.front();
  WindowOptions window_options = any_window(request);
  if (among.shares_recording) reading.is_only = window_options.takes_wrapped_as_long = false;
  PlacedLoad placed = placed_load(std::move(reading), recording, window_options);
  RunReport run;
  std::vector<std::string> warnings;
  excuse_counts(placed.reading, warnings);
  const LoadReading& load = placed.reading;
  run.stated_energy_j = load.stated_energy_j;
  run.has_approximate_counts = load.has_approximate_counts;
  run.failed_requests = load.failed_requests;
  run.includes_set_up = placed.includes_set_up;
  if (rules_of(request.contract).refuses_failed_benchmark && !load.failure.empty()) {
    run.benchmark_failure = load.failure;
    warnings.push_back(fmt::format("the benchmark failed: {}", load.failure));
  }
  if (among.refuses_failed) refuse_failed(request.contract, placed.reading);
  if (!load.load) {  // what the window lacks is no news where there is no power at all
    const Reasons why = runs::why_no_power(recording);
    if (!why.empty()) placed.reading.reasons = why;
  }
  if (!load.load && load.reasons.empty()) {
    placed.reading.reasons.add(Reason::invalid_benchmark_window, load.no_window);
  }
  MeasurementRequest wanted{request};
  wanted.may_use_threads = among.is_alone;
  if (paths.size() > 1) wanted.calibration.clear();
  if (!among.is_alone) show_interval_if_small(recordings.open, wanted);
  std::list<SeenPower> watched;  // the recording that is read
  std::list<SeenPower> power;    // of each that counts
  recordings.before = [&](std::size_t, const Recording&, MeasurementRequest& of_one) {
    watched.clear();
    watched.emplace_back();
    if (!load.load) return;
    const Window window = load.load->window;
    if (request.requests.is_asked() || rated_stretches(rates, window).size() > 1) {
      watched.back().watch(of_one, window);
    }
  };
  std::vector<std::size_t> gpus_of_each(paths.size());
  recordings.after = [&](std::size_t i, const Recording&, const Result& result) {
    power.splice(power.end(), watched);
    gpus_of_each[i] = result.observed_gpus;
  };
  recordings.judge = [&](Result& result) {
    if (!names_gpus(request)) refuse_other_count(load, request, gpus_of_each, result);
  };
  run.result = evaluate(wanted, recordings, placed, {request.bench_result, ""}).result;
  if (wanted.shows_interval != request.shows_interval) refuse_interval(run.result);
  if (power.empty()) power.emplace_back();  // no recording has a GPU that counts
  run.result.benchmark_result = request.bench_result;
  if (paths.size() > 1) placed.placement.reset();  // its energies are those of the first
  append(run.result.warnings, std::move(warnings));
  add_window_facts(placed, load, run.result);
  run.needed_window = needed_window(request, run);
  run.configuration =
      run_configuration(load, run.result, {request.settings, request.uncertainty.gpu});
  const RequestRun requests = requests_of_measure(request);
  add_request_energy(requests, recording, power.front(), run.result);
  runs::add_good_work({requests, recording, paths.size() == 1 ? &power.front() : nullptr, load,
                       request.given.has_window()},
                      run.result);
  run.roles = runs::work_of_roles(request.roles, run.result);
  if (request.quality.is_asked()) {
    runs::add_correct_answers(request.quality, model_of(load, run), run.result);
  }
  if (paths.size() == 1) {
    add_witnesses(request, run.result);
  } else if (!request.witnesses.empty() || !request.calibration.empty()) {
    run.result.warnings.emplace_back(
        "--witness and --calibration are of one recording and are not used for several");
  }
  if (rates.is_asked()) add_facility(rates, power, run);
  warn_of_hours(rates, load, run);
  return run;
}

std::vector<LoadReading> benchmarks_of(const RunSpec& request) {
  if (request.bench_result.empty()) return {LoadReading()};
  return read_loads(load_file(request.bench_result));
}

// Why --out must not claim the run's energy; empty: it may.
std::string why_not_published(const RunSpec& request, const RunReport& run) {
  if (!run.needed_window.empty()) {
    return fmt::format("--out {}: the window is {}; --window {} accepts that", request.out,
                       run.needed_window == "estimated"
                           ? "an estimate"
                           : "that of the whole command that the recorder ran",
                       run.needed_window);
  }
  if (run.result.window_source != "session") return {};
  return fmt::format(
      "--out {}: the window is that of the generator's whole session; no --window accepts that",
      request.out);
}

std::string window_class(const Result& result) {
  if (!result.window_source.empty()) return result.window_source;
  return result.load ? "exact" : "none";
}

// Writes a new aggregate and, next to it, an audit record. What speaks against publishing is a
// reason of the run then, so that what is printed, what is written and the exit status agree.
void write_new(const RunSpec& request, RunReport& run, MeasureReport& report) {
  const std::string begin = fmt::format("{{\n  \"{}\": \"", kMeasuredKey);
  if (is_regular_file(request.out) && !read_file(request.out, kAggregateFile).starts_with(begin)) {
    throw Error(fmt::format(
        "--out {}: the file exists and this command did not write it; it is left as it is",
        request.out));
  }
  WritePlan target;
  target.aggregate_path = request.out;
  std::string text = fmt::format("{}{}\"", begin, window_class(run.result));
  for (const auto& [key, value] : run.configuration) {
    text += fmt::format(",\n  \"{}\": {}", key, configuration_json(value));
  }
  target.aggregate_text = text + "\n}\n";
  target.record_path = record_beside(request.out);
  target.inputs = request.telemetry;
  const bool is_of_one_file = request.telemetry.size() == 1;  // others are named by their paths
  if (is_of_one_file) {
    append(target.inputs, request.witnesses);
    if (!request.calibration.empty()) target.inputs.push_back(request.calibration);
  }
  if (!request.bench_result.empty()) target.inputs.push_back(request.bench_result);
  if (!request.requests.file.empty()) target.inputs.push_back(requests_path(request.requests.file));
  if (!request.quality.file.empty()) target.inputs.push_back(request.quality.file);
  if (request.may_need_interval()) {
    for (const std::string& telemetry : request.telemetry) {
      append(target.inputs, model_files_beside(telemetry));
    }
  }
  if (std::string why = why_not_published(request, run); !why.empty()) {
    run.result.reasons.add(Reason::window_not_exact, std::move(why));
  }
  if (!run.benchmark_failure.empty()) {
    run.result.reasons.add(Reason::benchmark_failed, "--out: " + run.benchmark_failure);
  }
  accept_reasons(run.result);
  Result result = run.result;
  RunSpec recorded = request;
  if (!is_of_one_file) recorded.calibration.clear();
  if (result.shown_interval && is_of_one_file && !request.requests.shares()) {
    result.uncertainty = std::exchange(result.shown_interval, {});
    recorded.uncertainty.is_wanted = true;
  } else if (result.shown_interval) {
    runs::drop_shown_interval(result);
  }
  result.sources.options = options_for_record(recorded, RunKind::recording);
  const CommandOutput output =
      deliver(std::move(result), std::move(target), {.take = request.take_plan});
  if (!request.roles.empty() || request.facility.is_asked()) {
    report.err.emplace_back(
        "--out: what --role, --pue, --price and --carbon add is printed, and not written");
  }
  for (const std::string& line : output.err) {
    if (std::ranges::find(run.result.warnings, line) == run.result.warnings.end()) {
      report.err.push_back(line);
    }
  }
}

std::string folder_of(const RunSpec& run) {
  return std::filesystem::path(run.bench_result).parent_path().string();
}

// By its folder, else by its result, each run among several; nothing for a single one.
std::string label_of(const RunSpec& run, const std::vector<RunSpec>& all) {
  if (all.size() < 2) return {};
  const std::string folder = folder_of(run);
  return std::ranges::count(all, folder, folder_of) > 1 ? run.bench_result : folder;
}

// For people: the folders with several results.
void name_shared_folders(const std::vector<RunSpec>& runs, std::vector<std::string>& lines) {
  std::map<std::string, std::vector<const RunSpec*>> by_folder;
  for (const RunSpec& run : runs) by_folder[folder_of(run)].push_back(&run);
  for (const auto& [folder, in_it] : by_folder) {
    if (in_it.size() < 2) continue;
    lines.push_back(fmt::format("{}: {} results are in it: each is measured over its own window",
                                printable_path(folder), in_it.size()));
  }
}

// The benchmarks of one result, which has a label if it is one of several. Throws FileError.
std::vector<RunReport> measured_runs(const RunSpec& request, const std::string& label,
                                     AmongRuns among, MeasureReport& report) {
  refuse_repeated_recordings(request.telemetry);
  if (request.telemetry.size() > 1) {
    refuse_idle_stretch(request.idle, fmt::format("is of one recording, and there are {}",
                                                  request.telemetry.size()));
  }
  const FacilityRates rates = read_facility_rates(request.facility);
  SelectedLoads selected =
      select_loads(benchmarks_of(request), request.select.empty() ? "all" : request.select);
  if (!selected.fault.empty()) {
    throw Error(fmt::format("{} {}", printable_path(request.bench_result), selected.fault));
  }
  if (!request.out.empty() && selected.loads.size() > 1) {
    throw Error("--out: takes one benchmark; choose it with --select");
  }
  if (request.given != GivenLoad() && selected.loads.size() > 1) {
    throw Error(
        "--start, --end, --duration and the counts are those of one benchmark; choose it with --select");
  }
  check_requests(request, selected.loads.size());
  const bool is_one_of_several = selected.loads.size() > 1 || !request.select.empty();
  std::vector<RunReport> runs;
  for (std::size_t i = 0; i < selected.loads.size(); ++i) {
    std::string benchmark =
        is_one_of_several ? benchmark_label(selected.loads[i], selected.numbers[i]) : "";
    if (!label.empty()) benchmark = label + (benchmark.empty() ? "" : ": " + benchmark);
    runs.push_back(measured_benchmark(request, rates, std::move(selected.loads[i]), among));
    runs.back().benchmark = std::move(benchmark);
  }
  if (!request.out.empty()) write_new(request, runs.front(), report);
  return runs;
}

bool lacks_recording(const RunReport& run) {
  return run.result.reasons.contains(Reason::telemetry_file_missing);
}

// Proposes what a name that leads to nothing probably means.
void add_missing_file(const std::string& path, const std::string& otherwise,
                      MeasureReport& report) {
  const std::string near = missing_file_hint(path);
  if (!near.empty() || !otherwise.empty()) report.err.push_back(near.empty() ? otherwise : near);
}

}  // namespace

MeasureReport measure_run(const RunSpec& request, AmongRuns among) {
  MeasureReport report;
  std::vector<RunSpec> specs = runs::runs_in_folders(request);
  const bool is_of_several = specs.size() > 1;
  const bool asks_of_one =
      !request.out.empty() || request.given != GivenLoad() || request.requests.shares();
  if (is_of_several && asks_of_one) {
    throw Error(fmt::format(
        "--out, --start, --end, --duration, the counts, --requests, --per-request and --phases are of one run, and there are {}",
        specs.size()));
  }
  if (is_of_several) name_shared_folders(specs, report.err);
  std::vector<RunReport> runs;
  for (RunSpec& spec : specs) {
    try {
      spec.telemetry = runs::recordings_near(spec, spec.bench_result != request.bench_result);
      const std::string label = label_of(spec, specs);
      AmongRuns of_run = among;
      of_run.shares_recording |= label == spec.bench_result;
      for (RunReport& run : measured_runs(spec, label, of_run, report)) {
        if (lacks_recording(run)) {
          report.exit_status = 2;
          for (const std::string& telemetry : spec.telemetry)
            add_missing_file(telemetry, "", report);
        }
        runs.push_back(std::move(run));
      }
    } catch (const FileError& error) {
      add_missing_file(spec.bench_result, error.what(), report);
      report.exit_status = 2;
    } catch (const Error& error) {  // the other runs go on
      if (!is_of_several) throw;
      report.err.emplace_back(error.what());
      report.exit_status = 2;
    }
  }
  for (const RunReport& run : runs) {
    if (!run.result.is_valid()) report.refusals.push_back(run.result.reasons.text());
  }
  if (report.exit_status == 0 && !report.refusals.empty()) report.exit_status = 1;
  if (runs.empty()) return report;
  report.out = request.json ? report_json(runs) : report_text(runs);
  return report;
}

}  // namespace aggregate_power
