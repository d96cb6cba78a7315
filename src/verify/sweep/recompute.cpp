// Runs the same code as a run does on the retained files of a point.
#include "verify/sweep/sweep.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/json_parts.h"
#include "core/energy/metrics.h"
#include "core/record/record_numbers.h"
#include "generators/generator_table.h"
#include "packages/srt_slurm/check.h"
#include "packages/srt_slurm/energy.h"
#include "packages/srt_slurm/package.h"
#include "recorders/recording.h"
#include "runs/deployment/native.h"
#include "runs/deployment/package.h"
#include "runs/evaluate/option_codec.h"
#include "runs/measure/evaluate.h"
#include "runs/window/window.h"
#include "store/catalogue/run_record.h"
#include "verify/run/run_check.h"

namespace aggregate_power {
namespace {

// ---- What the record says beside its metrics, if it was asked for

constexpr const char* kExtras[] = {"uncertainty", "idle", "metric_intervals"};

// `computed` is null if the run has none.
void compare_extra(const Json& computed, const std::string& key, const PointEvidence& found,
                   RecomputedPoint& result) {
  const JsonValue* const recorded = found.record.find(key);
  if (computed.is_null() && recorded != nullptr) {
    result.notes.push_back(
        fmt::format("{}: '{}' could not be computed again", found.record_path, key));
  }
  if (computed.is_null()) return;
  const JsonValue expected = parse_json(line_text(computed));
  if (key == "idle" && lacks_idle_bounds(found.record)) {
    result.notes.push_back(fmt::format("{}: {}", found.record_path, kNoIdleBounds));
  }
  for (const RecordDifference& difference : compare_values(&expected, recorded, key)) {
    result.faults.push_back(
        {fmt::format("'{}' of the audit record, against its telemetry", difference.key),
         difference.expected, difference.found});
  }
}

// Of the options that the record says were given, as far as it has what they ask for:
// --uncertainty with its own, --idle, --window, and what was given of the load.
RunOptions recorded_extras(const JsonValue& record) {
  RunSpec given;
  set_recorded_options(recorded_options(record), given);
  RunOptions extras;
  extras.uncertainty = given.uncertainty;
  extras.uncertainty.is_wanted = record.find("uncertainty") != nullptr;
  if (record.find("idle") != nullptr) extras.idle = given.idle;
  extras.accepted_window = given.accepted_window;
  extras.accepted = given.accepted;
  extras.given = given.given;
  extras.select = given.select;
  extras.clock_offset_s = given.clock_offset_s;
  return extras;
}

// What cannot be computed again where too little of a point is retained.
void note_lost_extras(const PointEvidence& found, RecomputedPoint& result) {
  for (const char* const key : kExtras) compare_extra({}, key, found, result);
}

// Each of these values that `run` has otherwise is a fault.
void compare_extras(const Result& run, const PointEvidence& found, RecomputedPoint& result) {
  if (!run.is_valid()) return;  // that is a fault of its own
  const bool has_intervals = std::ranges::any_of(
      run.metrics, [](const Metric& metric) { return metric.interval.has_value(); });
  compare_extra(run.uncertainty ? uncertainty_json(run, true) : Json(), "uncertainty", found,
                result);
  compare_extra(run.idle ? idle_json(run, true, requested_interval(run)) : Json(), "idle", found,
                result);
  compare_extra(has_intervals ? metric_intervals_json(run.metrics) : Json(), "metric_intervals",
                found, result);
}

// ---- The load

std::int64_t count_of(const JsonValue& value) { return value.as_integer().value_or(0); }

// The record's window and counts.
Load recorded_load(const JsonValue& record) {
  const JsonValue& window = record.at("benchmark_window");
  Load load;
  load.window = {window.at("start_time_unix").as_double(), window.at("end_time_unix").as_double()};
  const JsonValue& duration = window.at("reported_duration_s");
  load.reported_duration_s =
      duration.is_finite_number() ? duration.as_double() : load.window.duration_s();
  load.completed = count_of(window.at("completed"));
  load.total_input_tokens = count_of(window.at("total_input_tokens"));
  load.total_output_tokens = count_of(window.at("total_output_tokens"));
  return load;
}

// The raw result, by the name that the record has for it; empty: it is not retained.
std::string raw_result(const Evidence& evidence, const PointEvidence& found) {
  const JsonValue& named = found.record.at("benchmark_result");
  if (!named.is_string() || named.text.empty()) return {};
  const std::string path = beside(found.record_path, last_name(named.text));
  return evidence.artifact_fault(path).empty() ? path : std::string();
}

std::string shown(double value) { return json_number(value); }
std::string shown(std::int64_t value) { return std::to_string(value); }

void compare_load(const Load& raw, const Load& recorded, RecomputedPoint& result) {
  const auto compare = [&](const char* key, const auto& of_raw, const auto& of_record) {
    if (of_raw == of_record) return;
    result.faults.push_back(
        {fmt::format("'{}' of the audit record, against the benchmark's result", key),
         shown(of_raw), shown(of_record)});
  };
  compare("start_time_unix", raw.window.start_unix_s, recorded.window.start_unix_s);
  compare("end_time_unix", raw.window.end_unix_s, recorded.window.end_unix_s);
  compare("reported_duration_s", raw.reported_duration_s, recorded.reported_duration_s);
  compare("completed", raw.completed, recorded.completed);
  compare("total_input_tokens", raw.total_input_tokens, recorded.total_input_tokens);
  compare("total_output_tokens", raw.total_output_tokens, recorded.total_output_tokens);
}

std::string without_raw_note(const PointEvidence& found) {
  return fmt::format(
      "{}: check 12 could not be done from the benchmark's raw result, which is not retained: power and energy were recomputed over the window of the audit record, with its counts",
      found.record_path);
}

// Finds the window of the load of a raw result again that may not state it.
using PlaceLoad = std::function<PlacedLoad(const std::string& raw)>;

// The load of a run on one node: the raw result's, else the record's.
PlacedLoad load_of(const Evidence& evidence, const PointEvidence& found, RecomputedPoint& result,
                   const PlaceLoad& place = {}) {
  const Load recorded = recorded_load(found.record);
  PlacedLoad placed;
  LoadReading& reading = placed.reading;
  const std::string raw = raw_result(evidence, found);
  if (raw.empty()) {
    result.notes.push_back(without_raw_note(found));
  } else {
    if (place) {
      placed = place(evidence.full(raw));
    } else {
      reading = read_load_file(evidence.full(raw));
    }
    if (reading.load) {
      compare_load(*reading.load, recorded, result);
      return placed;
    }
    result.notes.push_back(
        fmt::format("{}: it does not state its window, so that of the audit record was used", raw));
    placed = {};
  }
  reading.load = recorded;
  reading.has_window = true;
  return placed;
}

bool has_dashboard_metrics(const JsonValue& record) {
  return std::ranges::any_of(dashboard_metric_keys(), [&](std::string_view key) {
    return record.at("metrics").find(key) != nullptr;
  });
}

// Those that the record says were asked for, else those that its metrics show.
RowKeys recorded_keys(const JsonValue& record) {
  if (!has_dashboard_metrics(record)) return RowKeys::seed;
  RunSpec given;
  given.keys = RowKeys::all;
  set_recorded_options(recorded_options(record), given);
  return given.keys;
}

// What the aggregate calls the GPUs; empty: nothing.
std::string hardware_of(const PointEvidence& found) {
  const JsonValue& hardware = found.aggregate.at("hw");
  return hardware.is_string() ? hardware.text : std::string();
}

void take_result(const Result& run, RecomputedPoint& result) {
  if (!run.is_valid()) {
    result.refusal = run.reasons.text();
    return;
  }
  for (const Metric& metric : run.metrics) {
    result.metrics.emplace_back(std::string(metric.key), metric.value);
  }
  if (run.cpu && run.cpu->reasons.empty()) {
    for (const Metric& metric : run.cpu->metrics) {
      result.metrics.emplace_back(std::string(metric.key), metric.value);
    }
  }
  for (const GpuResult& gpu : run.gpus) {
    result.gpu_energies_j.emplace_back(gpu.name, gpu.energy.energy_j);
  }
  result.gpu_roles = run.roles;
}

void recompute_one_node(const Evidence& evidence, const PointEvidence& found,
                        RecomputedPoint& result) {
  const JsonValue& record = found.record;
  MeasurementRequest request{recorded_extras(record)};
  request.zone = recorded_zone(recorded_origin(record));
  request.columns = recorded_columns(record);
  for (const JsonValue& name : record.at("selected_gpus").items) {
    request.gpus.names.push_back(name.text);
  }
  request.contract = recorded_contract(record);
  request.expected_num_gpus = record.at("expected_gpu_count").as_integer();
  request.keys = recorded_keys(record);
  const JsonValue& gap = recorded_origin(record).at("options").at("max_sample_gap_s");
  if (is_positive(gap)) request.max_sample_gap_s = gap.as_double();
  RunRecordings recordings({evidence.full(found.place)}, request);
  Recording& recording = recordings.open.front();
  // As the dashboard reads it; never in the zone of this machine.
  if (recording.lacks_zone()) recording.use_zone(Zone::fixed(0), "default");
  const auto place = [&](const std::string& raw) {
    return placed_load(read_selected_load(load_file(raw, LoadRules::schema_2), request.select),
                       recording, window_options(request, raw));
  };
  const bool is_estimated = request.accepted_window == RunOptions::Accepted::estimated;
  const PlacedLoad placed =
      load_of(evidence, found, result, is_estimated ? PlaceLoad(place) : nullptr);
  Result run =
      evaluate(request, recordings, placed, {"", evidence.full(found.aggregate_path)}).result;
  add_window_facts(placed, placed.reading, run);
  compare_extras(run, found, result);
  take_result(run, result);
}

RoleCounts roles_of(const RequiredPoint& required, const PointEvidence& found) {
  RoleCounts gpus;
  if (required.is_disaggregated()) {
    gpus.prefill = count_of(found.aggregate.at("num_prefill_gpu"));
    gpus.decode = count_of(found.aggregate.at("num_decode_gpu"));
  } else {
    gpus.any = count_of(found.record.at("expected_gpu_count"));
  }
  return gpus;
}

// The record says which GPUs each node had, and which files that is from.
void compare_nodes(const NativeFacts& native, const JsonValue& record, RecomputedPoint& result) {
  const JsonValue nothing;
  const JsonValue& nodes = record.at("nodes");
  for (std::size_t i = 0; i < native.nodes.size(); ++i) {
    const NativeNodeFacts& node = native.nodes[i];
    const JsonValue& recorded = i < nodes.items.size() ? nodes.items[i] : nothing;
    const auto compare = [&](std::string_view key, const JsonValue& expected) {
      const JsonValue& said = recorded.at(key);
      if (equal_in_python(said, expected)) return;
      result.faults.push_back(
          {fmt::format("'nodes[{}].{}' of the audit record, against its package", i, key),
           expected.shown(), said.shown()});
    };
    for (const auto& [key, spelling] : node.manifest) compare(key, parse_json(spelling));
    JsonValue gpus = JsonValue::object();
    for (const auto& [index, uuid] : node.physical_gpu_ids) {
      gpus.members.emplace_back(index, JsonValue::string(uuid));
    }
    compare("physical_gpu_ids", gpus);
    compare("manifest_sha256", JsonValue::string(node.manifest_sha256));
    compare("telemetry_sha256", JsonValue::string(node.telemetry_sha256));
    compare("identity_sha256", JsonValue::string(node.identity_sha256));
    compare("identity_end_sha256", JsonValue::string(node.identity_end_sha256));
  }
}

void recompute_native(const Evidence& evidence, const RequiredPoint& required,
                      const PointEvidence& found, RecomputedPoint& result) {
  NativeQuestion question;
  question.place = {disk_tree(), evidence.full(found.place)};
  question.load = load_of(evidence, found, result).reading;
  question.gpus = roles_of(required, found);
  question.run = recorded_extras(found.record);
  question.run.contract = recorded_contract(found.record);
  question.run.keys = recorded_keys(found.record);
  question.hardware = hardware_of(found);
  const Result run = check_native(question);
  compare_extras(run, found, result);
  take_result(run, result);
  compare_nodes(*run.native, found.record, result);
}

// The folder below which the package's window has its original result: the package's own, or, for
// agents, that of the audit record. Empty: it is not retained.
std::string logs_root_of(const Evidence& evidence, const PointEvidence& found) {
  const JsonValue& named = found.record.at("selected_window").at("result_path");
  if (!named.is_string() || !is_path_below(named.text)) return {};
  const std::size_t slash = found.place.rfind('/');
  const std::string own = found.place.substr(0, slash == std::string::npos ? 0 : slash);
  if (evidence.artifact_fault(join_path(own, named.text)).empty()) return own;
  const std::string of_record = beside(found.record_path, last_name(named.text));
  const std::string end = "/" + named.text;
  if (!of_record.ends_with(end) || !evidence.artifact_fault(of_record).empty()) return {};
  return of_record.substr(0, of_record.size() - end.size());
}

void recompute_whole_package(const Evidence& evidence, const RequiredPoint& required,
                             const PointEvidence& found, const std::string& logs_root,
                             const std::string& raw, SharedSamples& shared,
                             RecomputedPoint& result) {
  const JsonValue& record = found.record;
  PackageQuestion question;
  question.place = {disk_tree(), evidence.full(found.place), evidence.full(logs_root)};
  question.result_name = raw;
  question.result = evidence.tree().open(evidence.full(raw));
  question.role_gpus = roles_of(required, found);
  question.contract = recorded_contract(record);
  question.accepted = recorded_extras(record).accepted;
  question.expected_producer_sha = record.at("producer").at("expected_producer_git_commit").text;
  question.salvage = recorded_origin(record).find("salvaged") != nullptr;
  question.keys = recorded_keys(record);
  question.window_file = record.at("selected_window").at("window_file").text;
  question.shared_samples = &shared;
  question.samples_sha256 = evidence.sha256(join_path(found.place, "samples.csv"));
  const Result run =
      evaluate_package(recorded_extras(record), hardware_of(found), std::move(question));
  compare_extras(run, found, result);
  if (run.load) compare_load(*run.load, recorded_load(record), result);
  take_result(run, result);
  if (!run.is_valid() && !run.failures.empty()) result.refusal += ": " + run.failures.front();
}

// The package as its files say it is, with what was measured over the point's window; nullopt:
// there is no such window.
struct MeasuredPackage {
  PackageContent content;
  Package package;
  PackageMeter meter;
};
std::optional<MeasuredPackage> measure_package(const Evidence& evidence, const PointEvidence& found,
                                               SharedSamples& shared, Window window) {
  PackageContent content;
  content.manifest = evidence.json(join_path(found.place, "manifest.json"));
  content.devices = expected_devices(content.manifest);
  content.windows = expected_windows(content.manifest);
  const RowKeys keys = recorded_keys(found.record);
  PackageMeter meter({.fleet = has_percentiles(keys), .states = has_states(keys)});
  bool has_window = false;
  PackageRequest request;
  request.concurrency = found.aggregate.at("conc");
  request.contract = recorded_contract(found.record);
  request.begin = [&](Window wanted) {
    has_window =
        wanted.start_unix_s == window.start_unix_s && wanted.end_unix_s == window.end_unix_s;
    meter.begin(wanted);
  };
  request.take = [&](std::span<const PackageSample> samples) { meter.take(samples); };
  request.shared = &shared;
  request.extended = has_percentiles(keys);
  request.measured = [&](WindowPower measured) { meter.use(std::move(measured)); };
  request.samples_sha256 = evidence.sha256(join_path(found.place, "samples.csv"));
  const PackagePlace place = {disk_tree(), evidence.full(found.place), evidence.full(found.place)};
  Package package = recompute_package(place, content, request);
  if (!has_window) return std::nullopt;
  return MeasuredPackage{std::move(content), std::move(package), std::move(meter)};
}

// The first GPU of the manifest without a role, a UUID or samples around the window.
const ExpectedDevice* uncovered_gpu(const MeasuredPackage& measured, Window window) {
  const auto& [content, package, meter] = measured;
  for (const ExpectedDevice& expected : content.devices) {
    const auto& devices = package.samples.devices;
    const auto device = std::ranges::find(devices, expected.key, &SeenDevice::key);
    const bool is_covered = device != devices.end() && device->uuids.size() == 1 &&
                            package.topology.roles.contains(expected.key) &&
                            gaps_of(package.samples, *device, window) != nullptr;
    if (!is_covered) return &expected;
  }
  return nullptr;
}

// Without the result that its window names a package cannot be judged, but its samples still say
// the energy of the window, and its manifest the GPUs and their roles.
void recompute_samples(const Evidence& evidence, const PointEvidence& found, SharedSamples& shared,
                       RecomputedPoint& result) {
  result.lacks_cpus = true;
  note_lost_extras(found, result);
  const Load load = recorded_load(found.record);
  auto measured = measure_package(evidence, found, shared, load.window);
  if (!measured) {
    result.refusal = fmt::format("{} has not exactly one such window", found.place);
    return;
  }
  if (const ExpectedDevice* const gpu = uncovered_gpu(*measured, load.window)) {
    result.refusal = fmt::format("{} does not cover the window for {}",
                                 join_path(found.place, "samples.csv"), gpu->key.text());
    return;
  }
  PackageEnergy energy = measured->meter.energy(measured->content, measured->package);
  energy.sums.load = load;
  if (has_dashboard_metrics(found.record)) {
    energy.sums.fleet = measured->meter.fleet(measured->package);
  }
  Result run;
  run.metrics = energy_metrics(energy.sums);
  for (std::size_t i = 0; i < energy.gpus.size(); ++i) {
    run.roles.emplace_back(energy.gpus[i].name, energy.roles[i]);
  }
  run.gpus = std::move(energy.gpus);
  take_result(run, result);
}

void recompute_package_point(const Evidence& evidence, const RequiredPoint& required,
                             const PointEvidence& found, SharedSamples& shared,
                             RecomputedPoint& result) {
  const std::string logs_root = logs_root_of(evidence, found);
  const std::string raw = raw_result(evidence, found);
  if (!logs_root.empty()) {
    const std::string& original = found.record.at("selected_window").at("result_path").text;
    recompute_whole_package(evidence, required, found, logs_root,
                            raw.empty() ? join_path(logs_root, original) : raw, shared, result);
    return;
  }
  result.notes.push_back(without_raw_note(found));
  if (!raw.empty()) {
    const LoadReading reading = read_load_file(evidence.full(raw));
    if (reading.load) compare_load(*reading.load, recorded_load(found.record), result);
  }
  recompute_samples(evidence, found, shared, result);
}

}  // namespace

RecomputedPoint recompute_point(const Evidence& evidence, const RequiredPoint& required,
                                const PointEvidence& found, SharedSamples& shared) {
  RecomputedPoint result;
  switch (found.telemetry) {
    case TelemetryKind::one_node:
      recompute_one_node(evidence, found, result);
      break;
    case TelemetryKind::package:
      recompute_package_point(evidence, required, found, shared, result);
      break;
    case TelemetryKind::native:
      recompute_native(evidence, required, found, result);
      break;
  }
  return result;
}

}  // namespace aggregate_power
