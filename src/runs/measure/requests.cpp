// Reads requests and recording, and shares the energy.
#include "runs/measure/requests.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "core/model/code_descriptions.h"
#include "core/record/request_json.h"
#include "energy/shares/phases.h"
#include "energy/shares/requests.h"
#include "energy/uncertainty/placed_interval.h"
#include "energy/uncertainty/random_walk.h"
#include "generators/request_file.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// The requests on the Unix clock.
struct PlacedRequests {
  std::string source;
  std::vector<RequestTimes> requests = {};
  std::vector<std::string> assumptions = {};
};

bool is_in_window(const RequestTimes& request, Window window) {
  return request.has_times() && request.end_s > window.start_unix_s &&
         request.start_s < window.end_unix_s;
}

// Of the run; nullopt: there is no interval, or it is not available.
std::optional<WholeEnergy> whole_of(const Result& result, const Uncertainty* uncertainty) {
  if (uncertainty == nullptr || !uncertainty->energy.is_available()) return std::nullopt;
  return whole_energy(uncertainty->energy.total, result.load->window.duration_s());
}

// ---- Shares

// Output tokens over lifetime; where they are unknown, the mean of the others.
std::vector<double> token_rates(PlacedRequests& placed) {
  std::vector<double> rates;
  double sum = 0;
  double known = 0;
  for (const RequestTimes& request : placed.requests) {
    const double length_s = request.has_times() ? request.end_s - request.start_s : 0;
    rates.push_back(RequestTimes::kUnknown);
    if (request.output_tokens < 0 || !(length_s > 0)) continue;
    rates.back() = static_cast<double>(request.output_tokens) / length_s;
    sum += rates.back();
    ++known;
  }
  if (known == 0) {
    throw Error(fmt::format("--share tokens: {} has no numbers of output tokens",
                            printable_path(placed.source)));
  }
  bool is_assumed = false;
  for (double& rate : rates) {
    if (!std::isnan(rate)) continue;
    rate = sum / known;
    is_assumed = true;
  }
  if (is_assumed) placed.assumptions.push_back(assumption("mean_token_rate_where_unknown"));
  return rates;
}

std::vector<SharingRequest> sharing_of(PlacedRequests& placed, RequestShare share,
                                       const std::optional<PhaseAnswer::Weights>& weights) {
  std::vector<double> rates;
  if (share == RequestShare::tokens) rates = token_rates(placed);
  std::vector<SharingRequest> sharing;
  for (std::size_t i = 0; i < placed.requests.size(); ++i) {
    const RequestTimes& request = placed.requests[i];
    SharingRequest& one = sharing.emplace_back();
    if (!request.has_times()) continue;
    one.in_flight = {request.start_s, request.end_s};
    if (share == RequestShare::tokens) one.weight_before = rates[i];
    if (share != RequestShare::phase) continue;
    one.first_token_s = request.first_token_s;
    one.weight_before = weights->prefill_w;
    one.weight_after = weights->decode_w;
  }
  return sharing;
}

// ---- Results

// Linear between the two nearest values, as in NumPy.
double percentile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - std::floor(place)) * (above - sorted[below]);
}

void sum_up(const PlacedRequests& placed, const SharedEnergy& shared, Window window,
            RequestEnergy& energy) {
  energy.unattributed_j = shared.unattributed_j;
  std::vector<double> joules;
  for (std::size_t i = 0; i < placed.requests.size(); ++i) {
    if (!is_in_window(placed.requests[i], window)) continue;
    joules.push_back(shared.joules[i]);
    energy.mean_j += shared.joules[i];
    if (placed.requests[i].failed) energy.failed_j += shared.joules[i];
  }
  if (!joules.empty()) energy.mean_j /= static_cast<double>(joules.size());
  std::ranges::sort(joules);
  energy.p50_j = percentile_of(joules, 0.5);
  energy.p95_j = percentile_of(joules, 0.95);
}

// ---- Intervals

// Requests have their place on the recording's clock, or on the clock of a window where the
// readings rise and fall: that window is as late as the readings.
TimeResolution resolution_of(const Result& result, const PlacedRequests& placed,
                             const std::vector<SensorModel>& sensors, double period_s) {
  TimeResolution time{.period_s = period_s};
  for (const SensorModel& sensor : sensors) {
    time.window_s = std::max(time.window_s, sensor.window_s);
    time.age_s += (sensor.delay_s + (sensor.refresh_s + sensor.window_s) / 2) /
                  static_cast<double>(sensors.size());
  }
  time.place_s = result.window_half_width_s.value_or(0);
  const bool start_with_window =
      std::ranges::count(placed.assumptions, assumption("first_request_starts_with_window")) > 0;
  if (result.is_window_by_power && start_with_window) time.age_s = 0;
  return time;
}

std::string lines_of(const PlacedRequests& placed, const SharedEnergy& shared,
                     const std::vector<PlacedInterval>& intervals, RequestShare share) {
  std::string text;
  for (std::size_t i = 0; i < placed.requests.size(); ++i) {
    const RequestTimes& request = placed.requests[i];
    RequestLine line{.request = request, .number = i + 1, .share = share};
    if (request.has_times()) line.energy_j = shared.joules[i];
    if (!intervals.empty() && shared.joules[i] > 0) line.set_interval(intervals[i]);
    text += request_line(line);
  }
  return text;
}

// Requests without an interval have no energy of their own: they share one.
void count_unresolved(const PlacedRequests& placed, const SharedEnergy& shared,
                      const std::vector<PlacedInterval>& intervals, Window window,
                      RequestEnergy& energy) {
  energy.without_bounds = 0;
  energy.unresolved_j = 0;
  for (std::size_t i = 0; i < placed.requests.size(); ++i) {
    if (!is_in_window(placed.requests[i], window) || intervals[i].none.empty()) continue;
    ++energy.without_bounds;
    *energy.unresolved_j += shared.joules[i];
  }
}

void write_lines(const RequestRun& run, const std::string& text) {
  if (run.options.per_request.empty()) return;
  if (run.options.take_lines) run.options.take_lines(text);
  if (run.dry_run) return;
  replace_file(run.options.per_request, text);
}

PlacedRequests placed_requests(const RequestRun& run, const Result& result) {
  const std::string& path = run.options.file.empty() ? run.load_file : run.options.file;
  const bool is_tied = result.window_source == window_source_name(WindowSource::tied) &&
                       is_same_file(path, run.load_file);
  RequestFile file = read_requests(path);
  PlacedRequests placed{.source = requests_path(path)};
  if (file.place(result.load->window, is_tied)) {
    placed.assumptions.push_back(assumption("first_request_starts_with_window"));
  }
  placed.requests = std::move(file.requests);
  return placed;
}

PhaseAnswer phases_of(const PlacedRequests& placed, const std::vector<Sample>& readings,
                      const std::vector<SensorModel>& sensors, Window window, double energy_j) {
  PhaseAnswer answer = phase_energy({.window = window,
                                     .energy_j = energy_j,
                                     .readings = readings,
                                     .requests = placed.requests,
                                     .sensors = sensors});
  answer.energy.assumptions = placed.assumptions;
  if (sensors.size() > 1) answer.energy.assumptions.push_back(assumption("sensor_by_best_fit"));
  return answer;
}

GroupEnergy group_energy(const FleetPower& curve, const std::vector<SharingRequest>& sharing,
                         const std::vector<bool>& counts, const TimeResolution& time,
                         const std::optional<WholeEnergy>& whole) {
  const SharedEnergy shared = share_energy(curve, sharing);
  GroupEnergy group{.whole_j = shared.unattributed_j};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    group.whole_j += shared.joules[i];
    group.joules += counts[i] ? shared.joules[i] : 0;
  }
  if (!whole) return group;
  const PlacedInterval interval = requests_interval(curve, sharing, counts, time, *whole);
  group.bounds = {std::min(interval.low_j, group.joules), std::max(interval.high_j, group.joules)};
  return group;
}

RequestEnergy counted(const RequestRun& run, const PlacedRequests& placed, Window window,
                      const TimeResolution& time) {
  RequestEnergy energy;
  energy.share = run.options.share;
  energy.source = placed.source;
  for (const RequestTimes& request : placed.requests) {
    energy.without_times += !request.has_times();
    if (!is_in_window(request, window)) continue;
    ++energy.requests;
    energy.without_bounds += !(request.end_s - request.start_s >= time.shortest_s());
  }
  if (energy.requests == 0) energy.refused.push_back(no_request_energy("no_request_in_window"));
  return energy;
}

}  // namespace

RequestRun requests_of(const RunSpec& run, const std::string& load_file,
                       std::vector<std::string> inputs, std::vector<std::string> others) {
  RequestRun requests{run.requests,      load_file,         run.dry_run || run.take_plan,
                      std::move(inputs), std::move(others), run.uncertainty.gpu};
  if (run.requests.is_asked()) requests.hardware = hardware_in(run.agg_result);
  return requests;
}

void check_request_files(const RequestRun& run) {
  const std::string& out = run.options.per_request;
  if (out.empty()) return;
  const auto refuse = [&](const std::string& path) {
    if (path.empty() || !(path == out || is_same_file(path, out))) return;
    throw Error(fmt::format("--per-request {}: would overwrite {}: give another file",
                            printable_path(out), printable_path(path)));
  };
  for (const std::string& path : run.inputs) refuse(path);
  for (const std::string& path : run.others) refuse(path);
  refuse(run.load_file);
  if (!run.options.file.empty()) refuse(run.options.file);
}

void refuse_request_energy(const RequestOptions& options, Result& result,
                           const std::string& reason) {
  if (!options.shares()) return;
  const std::vector<std::string> refused = {no_request_energy(reason)};
  result.request_energy.emplace().share = options.share;
  result.request_energy->refused = refused;
  if (options.phases) result.phase_energy.emplace().refused = refused;
}

std::optional<GroupEnergy> energy_of_requests(const RequestRun& run, const Recording& recording,
                                              const SeenPower& power, const Result& result,
                                              std::vector<RequestTimes> requests,
                                              const std::vector<bool>& counts) {
  const auto energy_j = value_of(result.metrics, "total_gpu_energy_j");
  const std::optional<FleetPower> curve = power.curve();
  if (!energy_j || !curve) return std::nullopt;
  PlacedRequests placed{.source = run.options.file, .requests = std::move(requests)};
  const std::vector<Sample> readings = power.readings();
  const double period_s = median_period_s(readings);
  const std::vector<SensorModel> sensors =
      sensor_models(recording, result.telemetry->series, run.gpu, run.hardware, period_s);
  std::optional<PhaseAnswer> phases;
  if (run.options.share == RequestShare::phase) {
    phases = phases_of(placed, readings, sensors, result.load->window, *energy_j);
    if (!phases->weights) return std::nullopt;
  }
  const std::vector<SharingRequest> sharing =
      sharing_of(placed, run.options.share, phases ? phases->weights : std::nullopt);
  const std::optional<WholeEnergy> whole =
      sensors.empty() ? std::nullopt : whole_of(result, interval_of(result));
  return group_energy(*curve, sharing, counts, resolution_of(result, placed, sensors, period_s),
                      whole);
}

std::optional<GroupEnergy> energy_of_published_requests(const Recording& recording, Window window,
                                                        const std::string& hardware,
                                                        std::vector<RequestTimes> requests,
                                                        const std::vector<bool>& counts,
                                                        const std::optional<WholeEnergy>& whole) {
  SeenPower power;
  const SeriesFacts series = power.read(recording, window);
  const std::optional<FleetPower> curve = power.curve();
  if (!curve) return std::nullopt;
  PlacedRequests placed{.source = {}, .requests = std::move(requests)};
  const double period_s = median_period_s(power.readings());
  const std::vector<SensorModel> sensors = sensor_models(recording, series, {}, hardware, period_s);
  return group_energy(*curve, sharing_of(placed, RequestShare::equal, {}), counts,
                      resolution_of({}, placed, sensors, period_s),
                      sensors.empty() ? std::nullopt : whole);
}

void add_request_energy(const RequestRun& run, const Recording& recording, const SeenPower& power,
                        Result& result) {
  if (!run.options.shares()) return;
  const auto energy_j = value_of(result.metrics, "total_gpu_energy_j");
  if (!result.is_valid() || !energy_j) {
    refuse_request_energy(run.options, result);
    return write_lines(run, "");
  }
  const Window window = result.load->window;
  PlacedRequests placed = placed_requests(run, result);
  const std::vector<Sample> readings = power.readings();
  const std::optional<FleetPower> curve = power.curve();
  const std::vector<SensorModel> sensors = sensor_models(
      recording, result.telemetry->series, run.gpu, run.hardware, median_period_s(readings));
  if (sensors.empty()) {
    throw Error(
        "--requests: what the power sensors measure is unknown: 'inspect --sensor' says why");
  }
  const TimeResolution time = resolution_of(result, placed, sensors, median_period_s(readings));
  RequestEnergy energy = counted(run, placed, window, time);
  if (!curve) energy.refused.push_back(no_request_energy("power_not_valid"));
  std::optional<PhaseAnswer> phases;
  const bool shares_by_phase = run.options.share == RequestShare::phase;
  if (energy.refused.empty() && (run.options.phases || shares_by_phase)) {
    phases = phases_of(placed, readings, sensors, window, *energy_j);
  }
  if (phases && shares_by_phase) energy.refused = phases->weights_refused;
  if (run.options.phases) {
    result.phase_energy = phases ? phases->energy : PhaseEnergy();
    if (!phases) result.phase_energy->refused = energy.refused;
  }
  std::string lines;
  if (energy.refused.empty()) {
    const std::vector<SharingRequest> sharing =
        sharing_of(placed, run.options.share, phases ? phases->weights : std::nullopt);
    const SharedEnergy shared = share_energy(*curve, sharing);
    sum_up(placed, shared, window, energy);
    std::vector<PlacedInterval> intervals;
    const Uncertainty* const asked = result.uncertainty ? &*result.uncertainty : nullptr;
    if (const auto whole = whole_of(result, asked)) {
      intervals = request_intervals(*curve, sharing, time, *whole);
      count_unresolved(placed, shared, intervals, window, energy);
    }
    if (!run.options.per_request.empty()) {
      lines = lines_of(placed, shared, intervals, run.options.share);
    }
  }
  energy.assumptions = placed.assumptions;
  result.request_energy = std::move(energy);
  write_lines(run, lines);
}

}  // namespace aggregate_power
