// Places a trace on a recording, and shares the energy out.
#include "runs/attribute/attribute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/show_time.h"
#include "core/energy/plausibility.h"
#include "core/model/code_descriptions.h"
#include "energy/shares/attribution.h"
#include "energy/shares/facility.h"
#include "energy/uncertainty/placed_interval.h"
#include "energy/uncertainty/random_walk.h"
#include "recorders/energy_rate.h"
#include "recorders/recording.h"
#include "runs/measure/facility.h"
#include "runs/windows/trace_sensors.h"

namespace aggregate_power {
namespace {

// ---- What is read.

TraceRanges ranges_for(const std::string& by) {
  if (by == "layer") return TraceRanges::layers;
  return by.empty() || by == "kernel" ? TraceRanges::none : TraceRanges::annotations;
}

bool is_json(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != head.npos && (head[first] == '{' || head[first] == '[');
}

GpuTrace read_trace(const std::string& path, const std::string& by) {
  auto bytes = decompressed(open_source(path), path);
  std::string head = read_up_to(*bytes, kHeadBytes);
  const bool is_chrome = is_json(head);
  ResumedSource source(std::move(head), std::move(bytes));
  if (is_chrome) return read_chrome_trace(source, path, ranges_for(by));
  if (!by.empty() && by != "layer") {
    throw Error(fmt::format("{}: a CSV of layers gives only --by layer", path));
  }
  return read_layer_intervals(source, path);
}

std::vector<GpuTrace> read_all_traces(const AttributeRequest& request) {
  std::vector<GpuTrace> traces;
  for (const std::string& path : request.traces) traces.push_back(read_trace(path, request.by));
  const auto is_of_host = [](const GpuTrace& trace) { return trace.devices.empty(); };
  if (traces.size() > 1 && std::ranges::any_of(traces, is_of_host)) {
    throw Error("a CSV of layers must be the only trace");
  }
  return traces;
}

// ---- What is counted, and from when to when.

double unix_of(const GpuTrace& trace, double time_s) {
  return static_cast<double>(trace.origin_s) + (trace.origin_rest_s + time_s);
}

// From the times of `trace` to those of `first`.
double shift_between(const GpuTrace& trace, const GpuTrace& first) {
  return static_cast<double>(trace.origin_s - first.origin_s) +
         (trace.origin_rest_s - first.origin_rest_s);
}

IntervalStore& events_of(const AttributionLane& lane) {
  return lane.device == nullptr ? lane.trace->host_ranges : lane.device->events;
}

// Ranges that the GPU itself had are better than the host's, which only queued the work.
IntervalStore& ranges_of(const AttributionLane& lane) {
  const bool has_own = std::ranges::any_of(
      lane.trace->devices, [](const auto& device) { return device.second.ranges.size() > 0; });
  return has_own ? lane.device->ranges : lane.trace->host_ranges;
}

// From the first to the last event of all GPUs, in the times of the first trace.
Window span_of_events(const std::vector<AttributionLane>& lanes) {
  Window span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const AttributionLane& lane : lanes) {
    const double shift_s = shift_between(*lane.trace, *lanes.front().trace);
    span.start_unix_s = std::min(span.start_unix_s, events_of(lane).first_start_s() + shift_s);
    span.end_unix_s = std::max(span.end_unix_s, events_of(lane).last_end_s() + shift_s);
  }
  return span;
}

// The same of all devices of the traces, in Unix time; ends before it begins if there is none.
Window unix_span_of_events(const std::vector<GpuTrace>& traces) {
  Window span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const auto note = [&](const GpuTrace& trace, const IntervalStore& events) {
    if (events.size() == 0) return;
    span.start_unix_s = std::min(span.start_unix_s, unix_of(trace, events.first_start_s()));
    span.end_unix_s = std::max(span.end_unix_s, unix_of(trace, events.last_end_s()));
  };
  for (const GpuTrace& trace : traces) {
    if (trace.devices.empty()) note(trace, trace.host_ranges);
    for (const auto& [number, device] : trace.devices) note(trace, device.events);
  }
  return span;
}

// The same in the times of the lane's own trace.
Window in_lane(Window span, const AttributionLane& lane, const GpuTrace& first) {
  const double shift_s = shift_between(*lane.trace, first);
  return {span.start_unix_s - shift_s, span.end_unix_s - shift_s};
}

Window recorded(const AttributionLane& lane) {
  return {lane.power.samples().front().unix_s, lane.power.samples().back().unix_s};
}

std::string span_text(const GpuTrace& trace, Window window) {
  return fmt::format("from {} to {}", unix_and_iso(unix_of(trace, window.start_unix_s)),
                     unix_and_iso(unix_of(trace, window.end_unix_s)));
}

[[noreturn]] void refuse_uncovered(const AttributeRequest& request, const AttributionLane& lane,
                                   Window window, const std::optional<Zone>& zone) {
  const GpuTrace& trace = *lane.trace;
  const Window recording = recorded(lane);
  const bool meets =
      recording.start_unix_s < window.end_unix_s && window.start_unix_s < recording.end_unix_s;
  std::string text =
      fmt::format("{}: its events are {}, but GPU {} was recorded {}", trace.path,
                  span_text(trace, window), lane.power.device(), span_text(trace, recording));
  const auto hint =
      zone ? zone_hint(
                 *zone,
                 {unix_of(trace, recording.start_unix_s), unix_of(trace, recording.end_unix_s)},
                 {unix_of(trace, window.start_unix_s), unix_of(trace, window.end_unix_s)})
           : std::nullopt;
  if (hint) text += "; " + *hint;
  if (meets && !request.whole_recording) {
    text += "; --span recording counts what was recorded of them";
  }
  throw Error(text);
}

// The energy in a long gap is unknown.
void refuse_gaps(const AttributeRequest& request, const AttributionLane& lane, Window window) {
  if (lane.power.interpolation() == Interpolation::hold) return;
  const std::span<const Sample> samples = lane.power.samples();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double from_s = samples[i - 1].unix_s;
    const double gap_s = samples[i].unix_s - from_s;
    if (samples[i].unix_s <= window.start_unix_s || from_s >= window.end_unix_s) continue;
    if (gap_s <= request.max_sample_gap_s) continue;
    throw Error(fmt::format(
        "GPU {} has no sample for {:.3f} s from {}, so that its energy is unknown; the longest gap allowed is {} s (--max-sample-gap)",
        lane.power.device(), gap_s, unix_and_iso(unix_of(*lane.trace, from_s)),
        request.max_sample_gap_s));
  }
}

// The energy around a row whose power is none is unknown.
void refuse_invalid_rows(const AttributionLane& lane, Window window) {
  const auto invalid_s = lane.power.first_invalid_unix_s(window);
  if (!invalid_s) return;
  throw Error(fmt::format(
      "GPU {}: invalid_power_sample: a row states no power, or an impossible one, at {}",
      lane.power.device(), unix_and_iso(unix_of(*lane.trace, *invalid_s))));
}

struct RecordedPower {
  std::string scope;
  double usual_w;                            // PlausibleWatts'
  std::map<std::string, MeterOptions> gpus;  // by name
  std::map<std::string, CounterTrace> counters;
};

RecordedPower recorded_power(Traces& power, double max_sample_gap_s) {
  RecordedPower recorded{scope_of(power), plausible_watts_of(power).usual_w, {}, {}};
  for (const PowerTrace& device : power.devices) {
    recorded.gpus[device.device()] = {.max_sample_gap_s = max_sample_gap_s,
                                      .bounds = bounds_of(power, device.device()),
                                      .is_of_module = has_module(power)};
    for (DeviceCounter& counter : power.counters) {
      if (counter.device != device.device()) continue;
      recorded.counters.try_emplace(counter.device, std::move(counter.samples), counter.unit_j,
                                    &device);
    }
  }
  return recorded;
}

void refuse_impossible_power(const AttributeRequest& request, const AttributionLane& lane,
                             Window window, const RecordedPower& recorded) {
  const std::string& gpu = lane.power.device();
  const MeterOptions& options = recorded.gpus.at(gpu);
  const double energy_j = lane.power.energy_j(window);
  const std::string why =
      impossible_text(energy_j / window.duration_s(), lane.power.peak_w(window), options.bounds);
  if (!why.empty()) throw Error(fmt::format("GPU {}: implausible_power: {}", gpu, why));
  const auto counter = recorded.counters.find(gpu);
  const bool is_accepted =
      std::ranges::find(request.accepted, Reason::counter_contradicts) != request.accepted.end();
  if (counter == recorded.counters.end() || is_accepted) return;
  const Window in_unix = {unix_of(*lane.trace, window.start_unix_s),
                          unix_of(*lane.trace, window.end_unix_s)};
  if (!is_refuted(counter->second, energy_j, in_unix, options)) return;
  throw Error(fmt::format(
      "GPU {}: counter_contradicts: its energy counter says {:.1f} J, its power {:.1f} J; --accept counter_contradicts counts the power all the same",
      gpu, counter->second.energy_j(in_unix), energy_j));
}

// What the counter of a GPU says that the interval of its power does not hold; empty: it holds it.
std::string counter_doubt(const AttributionLane& lane, Window window, const RecordedPower& recorded,
                          const Estimate& power) {
  const auto found = recorded.counters.find(lane.power.device());
  if (found == recorded.counters.end()) return {};
  const CounterTrace& counter = found->second;
  const Window in_unix = {unix_of(*lane.trace, window.start_unix_s),
                          unix_of(*lane.trace, window.end_unix_s)};
  const double gap_s = recorded.gpus.at(lane.power.device()).max_sample_gap_s;
  if (!counter.fault().empty() || !counter.fault(in_unix, gap_s).empty()) return {};
  const double off_j = counter.energy_j(in_unix) - power.joules;
  const double half_j = power.repeatability_high_j() - power.joules;
  if (std::abs(off_j) <= half_j + counter.resolution_j(in_unix)) return {};
  return fmt::format(
      "GPU {}: its counter is {:+.3f} J off its power, whose interval is {:.3f} J to either side",
      lane.power.device(), off_j, half_j);
}

// ---- Intervals.

// The energies of rows if their intervals were at other places in the recording: where the readings
// are of them, and half of the sensor's window to either side.
class RowIntervals {
 public:
  RowIntervals(const UncertaintyOptions& options, runs::TraceSensors sensors)
      : options_(options), sensors_(std::move(sensors)) {}

  bool is_wanted() const { return options_.is_wanted && !sensors_.models.empty(); }
  const runs::TraceSensors& sensors() const { return sensors_; }
  // Of the span of the GPU that was added last; nullopt: there is none.
  const std::optional<Estimate>& last() const { return last_; }

  void add(const AttributionLane& lane, IntervalStore& intervals, const AttributionRules& rules,
           double energy_j) {
    note_whole(lane, rules.window, energy_j);
    const TimeResolution time{.window_s = sensors_.window_s(),
                              .period_s = rules.sensor_period_s,
                              .age_s = sensors_.age_s()};
    const PlacedShares placed = placed_shares(lane.power, intervals, rules, time);
    for (std::size_t i = 0; i < placed.by_name.size(); ++i) {
      by_name_[lane.trace->names.names()[i]].add(placed.by_name[i]);
    }
    rest_.add(placed.rest);
  }

  void give(AttributionRow& row) const {
    const auto found = by_name_.find(row.name);
    if (found != by_name_.end()) give(found->second, row);
  }
  void give_rest(AttributionRow& row) const { give(rest_, row); }
  void refuse(AttributionRow& row) const {
    if (options_.is_wanted && !row.estimate_j && row.no_interval.empty()) {
      row.no_interval = no_interval("sensor_scope_unknown");
    }
  }

 private:
  // What the estimate of a GPU's whole span may be off.
  void note_whole(const AttributionLane& lane, Window window, double energy_j) {
    const EnergyEstimate estimate = runs::estimate_stretch(
        {readings_around(lane.power, {}, sensors_, window, energy_j)}, window, options_);
    last_.reset();
    if (!estimate.is_available()) {
      refused_ = estimate.reasons.front();
      return;
    }
    last_ = estimate.total;
    whole_.add(whole_energy(estimate.total, window.duration_s()));
  }

  void give(const PlacedShare& share, AttributionRow& row) const {
    const PlacedInterval interval = share_interval(share, whole_);
    row.no_interval = refused_.empty() ? interval.none : refused_;
    if (!row.no_interval.empty()) return;
    row.estimate_j = interval.joules;
    row.low_j = interval.low_j;
    row.high_j = interval.high_j;
  }

  const UncertaintyOptions& options_;
  runs::TraceSensors sensors_;
  WholeEnergy whole_;
  std::optional<Estimate> last_;
  std::string refused_;
  std::map<std::string, PlacedShare> by_name_;
  PlacedShare rest_;
};

// ---- The shares.

struct Attributed {
  const AttributeRequest& request;
  std::vector<AttributionLane>& lanes;
  std::optional<Zone> zone;
  RowIntervals intervals;
  AttributionReport report = {};
  Window span = {};                  // of the events, in the times of the first trace
  Window counted = {};               // the same, or the whole recording
  std::vector<Window> windows = {};  // what counts of each lane, in the times of its trace
  std::vector<std::string> odd_names = {};
  std::vector<DeviceEnergy> odd = {};  // of each name
  std::map<std::string, EnergyShare> shares = {};
  EnergyShare rest = {};
  std::map<std::int64_t, AttributionIteration> iterations = {};
  NameNumbers call_names = {};
};

Window window_of(const Attributed& of, const AttributionLane& lane) {
  const Window wanted = in_lane(of.span, lane, *of.lanes.front().trace);
  const Window recording = recorded(lane);
  const bool meets =
      recording.start_unix_s < wanted.end_unix_s && wanted.start_unix_s < recording.end_unix_s;
  const bool is_good = of.request.whole_recording ? meets : lane.power.covers(wanted);
  if (!is_good) refuse_uncovered(of.request, lane, wanted, of.zone);
  return of.request.whole_recording ? recording : wanted;
}

// Of single readings that no sensor can be right about.
void note_odd(Attributed& of, const AttributionLane& lane, Window window) {
  OddReadings odd(lane.power.samples());
  odd.count_in(window);
  DeviceEnergy found = odd.found();
  found.highest_unix_s = unix_of(*lane.trace, found.highest_unix_s);
  of.odd.push_back(found);
  of.odd_names.push_back(lane.power.device());
}

void add_span(Attributed& of, const AttributionLane& lane, Window window) {
  const double shift_s = shift_between(*lane.trace, *of.lanes.front().trace);
  const Window common{window.start_unix_s + shift_s, window.end_unix_s + shift_s};
  const bool is_first = of.report.gpus.size() == 1;
  of.counted.start_unix_s =
      is_first ? common.start_unix_s : std::min(of.counted.start_unix_s, common.start_unix_s);
  of.counted.end_unix_s =
      is_first ? common.end_unix_s : std::max(of.counted.end_unix_s, common.end_unix_s);
  of.report.gpu_time_s += window.duration_s();
  of.report.peak_w = std::max(of.report.peak_w, lane.power.peak_w(window));
}

AttributionCall call_of(const AttributionLane& lane, const SharedInterval& shared) {
  const TraceInterval& interval = shared.interval;
  return {interval.name,
          unix_of(*lane.trace, interval.start_s),
          unix_of(*lane.trace, interval.end_s),
          interval.end_s - interval.start_s,
          lane.power.watts_at(interval.start_s),
          lane.power.watts_at(interval.end_s),
          shared.energy_j};
}

EnergyShares shares_of(Attributed& of, const AttributionLane& lane, IntervalStore& intervals,
                       AttributionRules& rules, bool are_rows,
                       const std::function<void(const SharedInterval&)>& each) {
  EnergyShares shares;
  std::vector<AttributionCall> calls;
  const bool lists = are_rows && of.request.lists_calls;
  rules.each = [&](const SharedInterval& shared) {
    if (each) each(shared);
    if (lists) calls.push_back(call_of(lane, shared));
  };
  attribute_energy(lane.power, intervals, rules, shares);
  rules.each = nullptr;
  std::ranges::stable_sort(calls, {}, &AttributionCall::start_unix_s);
  for (AttributionCall& call : calls) {
    call.name = of.call_names.number(lane.trace->names.names()[call.name]);
    of.report.calls.push_back(call);
  }
  of.report.call_names = of.call_names.names();
  if (are_rows && shares.outside > 0) {
    of.report.warnings.push_back(
        fmt::format("{}: {} intervals are outside of the span, and not counted", lane.trace->path,
                    shares.outside));
  }
  return shares;
}

void keep(Attributed& of, const AttributionLane& lane, const EnergyShares& shares) {
  for (std::size_t i = 0; i < shares.by_name.size(); ++i) {
    if (shares.by_name[i].calls == 0) continue;
    of.shares[lane.trace->names.names()[i]].add(shares.by_name[i]);
  }
  of.rest.add(shares.rest);
}

// The events of the GPU: how many, how long, and under --by kernel, the shares.
void add_gpu(Attributed& of, const AttributionLane& lane, AttributionRules& rules,
             double energy_j) {
  AttributionGpu gpu;
  gpu.name = lane.power.device();
  gpu.trace = lane.trace->path;
  gpu.energy_j = energy_j;
  gpu.sensor_period_s = rules.sensor_period_s;
  of.report.energy_j += energy_j;
  of.report.sensor_period_s = std::max(of.report.sensor_period_s, rules.sensor_period_s);
  if (lane.device != nullptr) {
    gpu.device = std::to_string(lane.number);
    gpu.model = lane.device->model;
    const bool is_kernels = of.report.by == "kernel";
    EnergyShares shares = shares_of(
        of, lane, lane.device->events, rules, is_kernels, [&](const SharedInterval& shared) {
          of.report.event_sum_s += shared.interval.end_s - shared.interval.start_s;
        });
    for (const EnergyShare& share : shares.by_name) {
      gpu.events += share.calls;
      of.report.short_events += share.short_calls;
    }
    gpu.busy_s = rules.window.duration_s() - shares.rest.time_s.value();
    if (is_kernels) {
      keep(of, lane, shares);
      if (of.intervals.is_wanted()) of.intervals.add(lane, lane.device->events, rules, energy_j);
    }
  }
  of.report.events += gpu.events;
  of.report.busy_s += gpu.busy_s;
  of.report.gpus.push_back(std::move(gpu));
}

void add_ranges(Attributed& of, const AttributionLane& lane, AttributionRules& rules,
                double energy_j) {
  IntervalStore& ranges = ranges_of(lane);
  rules.nesting = of.report.by == "phase" ? Nesting::outermost : Nesting::innermost;
  keep(of, lane, shares_of(of, lane, ranges, rules, true, {}));
  if (of.intervals.is_wanted()) of.intervals.add(lane, ranges, rules, energy_j);
}

void add_iterations(Attributed& of, const AttributionLane& lane, Window window) {
  for (const auto& [number, iteration] : lane.trace->iterations) {
    const Window part{std::max(iteration.start_unix_s, window.start_unix_s),
                      std::min(iteration.end_unix_s, window.end_unix_s)};
    if (part.duration_s() <= 0) continue;
    AttributionIteration& sum = of.iterations[number];
    sum.time_s = std::max(sum.time_s, part.duration_s());
    sum.gpu_time_s += part.duration_s();
    sum.energy_j += lane.power.energy_j(part);
  }
}

void add_lane(Attributed& of, AttributionLane& lane, const RecordedPower& recorded) {
  const Window window = window_of(of, lane);
  refuse_gaps(of.request, lane, window);
  refuse_invalid_rows(lane, window);
  const double energy_j = lane.power.energy_j(window);
  refuse_impossible_power(of.request, lane, window, recorded);
  of.windows.push_back(window);
  note_odd(of, lane, window);
  AttributionRules rules{.window = window,
                         .sensor_period_s = sensor_period_s(lane.power.samples())};
  add_gpu(of, lane, rules, energy_j);
  add_span(of, lane, window);
  const bool is_kernels = of.report.by == "kernel";
  if (!is_kernels) add_ranges(of, lane, rules, energy_j);
  if (const auto& power = of.intervals.last()) {
    std::string doubt = counter_doubt(lane, rules.window, recorded, *power);
    if (!doubt.empty()) of.report.warnings.push_back(std::move(doubt));
  }
  add_iterations(of, lane, window);
}

void warn_of_odd(Attributed& of, double usual_w) {
  const std::string file =
      of.request.telemetry.size() == 1 ? printable_path(of.request.telemetry[0]) + ": " : "";
  for (const std::string& text : odd_samples_text(of.odd_names, of.odd, usual_w)) {
    of.report.warnings.push_back(file + text);
  }
}

AttributionRow row_of(const Attributed& of, const std::string& name, const EnergyShare& share) {
  AttributionRow row{name, share.calls, share.short_calls, share.time_s.value(),
                     share.energy_j.value()};
  // Rounding must not lift a mean above all samples.
  if (row.time_s > 0) row.power_w = std::min(row.energy_j / row.time_s, of.report.peak_w);
  return row;
}

void finish_intervals(Attributed& of) {
  if (of.intervals.is_wanted()) {
    for (AttributionRow& row : of.report.rows) of.intervals.give(row);
    of.intervals.give_rest(of.report.rest);
  }
  for (AttributionRow& row : of.report.rows) of.intervals.refuse(row);
  of.intervals.refuse(of.report.rest);
}

// Of all lanes, each as far as it counts. The span's own edges are taken from the lanes, where
// they are more exact than in Unix time.
double energy_in_part(const Attributed& of, Window part) {
  double sum_j = 0;
  for (std::size_t i = 0; i < of.lanes.size(); ++i) {
    const GpuTrace& trace = *of.lanes[i].trace;
    const auto in_trace = [&](double unix_s) {
      return (unix_s - static_cast<double>(trace.origin_s)) - trace.origin_rest_s;
    };
    Window own = of.windows[i];
    if (part.start_unix_s > of.report.start_unix_s) {
      own.start_unix_s = std::max(own.start_unix_s, in_trace(part.start_unix_s));
    }
    if (part.end_unix_s < of.report.end_unix_s) {
      own.end_unix_s = std::min(own.end_unix_s, in_trace(part.end_unix_s));
    }
    if (own.duration_s() > 0) sum_j += of.lanes[i].power.energy_j(own);
  }
  return sum_j;
}

void add_facility_of_span(Attributed& of, const FacilityRates& rates, const std::string& scope) {
  FacilityReport& report = of.report.facility.emplace(
      FacilityReport{.rates = rates, .measured = measured_boundary(scope)});
  report.figures =
      facility_figures(rates, {of.report.start_unix_s, of.report.end_unix_s}, of.report.energy_j,
                       [&of](Window part) { return energy_in_part(of, part); });
  if (rates.pue) report.figures.power_w = *rates.pue * of.report.energy_j / of.report.span_s;
  append(of.report.warnings, facility_doubts(rates));
  append(of.report.warnings, facility_faults(rates, report.figures));
}

void finish_iterations(Attributed& of) {
  std::uint64_t before = 0;
  for (auto& [number, iteration] : of.iterations) {
    iteration.number = number;
    iteration.is_warm_up = before++ < of.request.warm_up;
    of.report.iterations.push_back(iteration);
  }
}

// Throws Error if the events have no duration.
void begin_report(Attributed& of) {
  of.report.has_intervals = of.request.uncertainty.is_wanted;
  const bool has_devices = of.lanes.front().device != nullptr;
  of.report.by = !of.request.by.empty() ? of.request.by : has_devices ? "kernel" : "layer";
  of.report.span = of.request.whole_recording ? "recording" : "events";
  of.span = span_of_events(of.lanes);
  if (of.span.duration_s() > 0) return;
  throw Error(fmt::format("{}: its events have no duration", of.lanes.front().trace->path));
}

AttributionReport report_of(Attributed& of, const FacilityRates& rates,
                            const RecordedPower& recorded) {
  begin_report(of);
  for (AttributionLane& lane : of.lanes) add_lane(of, lane, recorded);
  warn_of_odd(of, recorded.usual_w);
  const GpuTrace& first = *of.lanes.front().trace;
  of.report.start_unix_s = unix_of(first, of.counted.start_unix_s);
  of.report.end_unix_s = unix_of(first, of.counted.end_unix_s);
  of.report.span_s = of.counted.duration_s();
  std::map<std::string, EnergyShare> by_name;
  for (const auto& [name, share] : of.shares) by_name[name].add(share);
  for (const auto& [name, share] : by_name) of.report.rows.push_back(row_of(of, name, share));
  sort_rows(of.report.rows, of.request.order);
  of.report.rest = row_of(of, of.report.by == "kernel" ? "(idle)" : "(outside)", of.rest);
  finish_intervals(of);
  if (rates.is_asked()) add_facility_of_span(of, rates, recorded.scope);
  finish_iterations(of);
  return std::move(of.report);
}

void require_ranges(const AttributionReport& report) {
  if (!report.rows.empty()) return;
  const std::string& trace = report.traces.front();
  if (report.by == "layer") {
    throw Error(fmt::format(
        "{}: it has no layer (a Python function 'nn.Module: ...') in that span: record with with_stack=True, or name kernels with --by kernel",
        trace));
  }
  throw Error(fmt::format(
      "{}: it has no annotation in that span: mark ranges with torch.profiler.record_function, or name kernels with --by kernel",
      trace));
}

// That of stamps which have none of their own.
std::optional<Zone> zone_of(const Traces& power) {
  for (const TraceFile& file : power.files) {
    if (file.facts.naive_stamps > 0) return Zone::parse(file.facts.timezone);
  }
  return std::nullopt;
}

}  // namespace

AttributionReport attribute_run(const AttributeRequest& request) {
  const FacilityRates rates = read_facility_rates(request.facility);
  std::vector<GpuTrace> traces = read_all_traces(request);
  const TracesRequest wanted{
      request,          request.telemetry,        request.gpus,          true, true,
      request.accepted, request.max_sample_gap_s, request.clock_offset_s};
  Traces power = read_traces(wanted);
  std::vector<std::string> warnings;
  for (const TraceFile& file : power.files) {
    for (const std::string& warning : file.warnings) {
      warnings.push_back(fmt::format("{}: {}", file.path, warning));
    }
  }
  const std::vector<std::string> doubts =
      runs::place_doubts(power, {.window = unix_span_of_events(traces),
                                 .is_of_load = true,
                                 .file = request.traces.front(),
                                 .clock_offset_s = request.clock_offset_s,
                                 .accepted = request.accepted});
  append(warnings, doubts);
  const std::optional<Zone> zone = zone_of(power);
  const RecordedPower recorded = recorded_power(power, request.max_sample_gap_s);
  const AppliedProfile profile(request.calibration,
                               runs::gpus_of_traces(request.uncertainty, power));
  warnings.insert(warnings.end(), profile.warnings().begin(), profile.warnings().end());
  const UncertaintyOptions options = runs::with_calibration(request.uncertainty, profile);
  runs::TraceSensors sensors = runs::trace_sensors(power, options);
  std::vector<AttributionLane> lanes = attribution_lanes(traces, std::move(power), request.gpus);
  if (!request.uncertainty.is_wanted) {
    if (std::string note = smear_note(sensors, 0); !note.empty())
      warnings.push_back(std::move(note));
  } else if (!sensors.unresolved.empty()) {
    warnings.push_back("no interval: " + sensors.unresolved);
  }
  Attributed of{request, lanes, zone, RowIntervals(options, std::move(sensors))};
  AttributionReport report = report_of(of, rates, recorded);
  report.telemetry = request.telemetry;
  for (const GpuTrace& trace : traces) {
    report.traces.push_back(trace.path);
    report.time_bases.push_back(trace.time_base);
    if (trace.paired_events > 0) {
      warnings.push_back(fmt::format(
          "{}: {} events of GPUs are pairs of a beginning and an end (\"ph\": \"B\" and \"E\") and are left out: only complete events (\"ph\": \"X\") are read",
          trace.path, trace.paired_events));
    }
    if (trace.unusable_events == 0) continue;
    warnings.push_back(fmt::format("{}: {} events have no usable time and are left out", trace.path,
                                   trace.unusable_events));
  }
  report.warnings.insert(report.warnings.begin(), warnings.begin(), warnings.end());
  require_ranges(report);
  return report;
}

// ---- Pairs devices of traces with devices of recordings.

namespace {

struct DevicePlace {
  GpuTrace* trace;
  std::int64_t number;
  TraceDevice* device;
};

std::vector<DevicePlace> places_of(std::vector<GpuTrace>& traces) {
  std::vector<DevicePlace> places;
  for (GpuTrace& trace : traces) {
    for (auto& [number, device] : trace.devices) places.push_back({&trace, number, &device});
  }
  return places;
}

std::vector<std::string> recorded_names(const Traces& power) {
  return mapped<std::string>(power.devices, &PowerTrace::device);
}

// The recorded GPUs that `name` is that of.
std::vector<std::size_t> gpus_named(const Traces& power, const std::string& name) {
  const auto names_hosts = [](const TraceFile& file) { return file.facts.series.names_hosts; };
  const bool has_hosts = std::ranges::any_of(power.files, names_hosts);
  const GpuSelection selection{{name}};
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < power.devices.size(); ++i) {
    if (selection.has(power.devices[i].device(), has_hosts)) found.push_back(i);
  }
  return found;
}

// The GPUs of `places`, in their order.
std::vector<std::size_t> gpus_of(const std::vector<DevicePlace>& places, const Traces& power,
                                 const GpuSelection& gpus) {
  if (!gpus.is_given() && places.size() == 1 && power.devices.size() == 1) return {0};
  if (gpus.is_given() && gpus.names.size() != places.size()) {
    throw Error(fmt::format(
        "the devices with events are {}, and --gpus names {}: name one GPU for each, in the order of traces and devices",
        places.size(), gpus.names.size()));
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string name = gpus.is_given() ? gpus.names[i] : std::to_string(places[i].number);
    const std::vector<std::size_t> named = gpus_named(power, name);
    if (named.size() != 1) {
      throw Error(fmt::format(
          "{}: device {} is {} in the recording ({}): say with --gpus which GPUs the devices of the trace are, in their order",
          places[i].trace->path, places[i].number, named.empty() ? "not" : "several GPUs",
          fmt::join(recorded_names(power), ", ")));
    }
    if (std::ranges::find(found, named.front()) != found.end()) {
      throw Error(fmt::format(
          "{}: device {} would be GPU {} of the recording, as another device is: say with --gpus which GPUs the devices of the traces are, in their order",
          places[i].trace->path, places[i].number, power.devices[named.front()].device()));
    }
    found.push_back(named.front());
  }
  return found;
}

// The trace numbers the devices that its process saw: its device 0 may be any GPU of the node. That
// is settled where the GPUs that worked are those that the numbers name.
void refuse_idle_lanes(const std::vector<DevicePlace>& places,
                       const std::vector<std::size_t>& found, const Traces& power) {
  std::vector<double> means_w;
  for (const PowerTrace& device : power.devices) {
    double energy_j = 0;
    double time_s = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const double origin_s =
          static_cast<double>(places[i].trace->origin_s) + places[i].trace->origin_rest_s;
      const Window span{origin_s + places[i].device->events.first_start_s(),
                        origin_s + places[i].device->events.last_end_s()};
      if (!device.covers(span) || span.duration_s() <= 0) continue;
      energy_j += device.energy_j(span);
      time_s += span.duration_s();
    }
    means_w.push_back(time_s > 0 ? energy_j / time_s : 0);
  }
  const std::vector<bool> is_idle = idle_devices(means_w);
  const auto named = [&](std::size_t i) { return std::ranges::find(found, i) != found.end(); };
  std::vector<std::string> busy;
  bool is_settled = true;
  for (std::size_t i = 0; i < is_idle.size(); ++i) {
    if (!is_idle[i]) busy.push_back(power.devices[i].device());
    is_settled = is_settled && is_idle[i] != named(i);
  }
  const bool are_all_busy = busy.size() == is_idle.size();
  if (is_settled || are_all_busy) return;
  throw Error(fmt::format(
      "{}: {} GPUs were recorded and only {} worked while its events ran, so its device {} need not be GPU {} of the recording (CUDA_VISIBLE_DEVICES): say with --gpus which GPUs the devices are, in their order",
      places.front().trace->path, is_idle.size(), fmt::join(busy, ", "), places.front().number,
      power.devices[found.front()].device()));
}

PowerTrace from_origin(const PowerTrace& power, const GpuTrace& trace) {
  std::vector<Sample> samples(power.samples().begin(), power.samples().end());
  const auto origin_s = static_cast<double>(trace.origin_s);
  const auto in_trace = [&](double unix_s) { return (unix_s - origin_s) - trace.origin_rest_s; };
  for (Sample& sample : samples) sample.unix_s = in_trace(sample.unix_s);
  auto invalid_s = mapped<double>(power.invalid_unix_s(), in_trace);
  return {power.device(), std::move(samples), power.interpolation(), {}, std::move(invalid_s)};
}

}  // namespace

std::vector<AttributionLane> attribution_lanes(std::vector<GpuTrace>& traces, Traces power,
                                               const GpuSelection& gpus) {
  std::vector<AttributionLane> lanes;
  const std::vector<DevicePlace> places = places_of(traces);
  if (places.empty()) {
    if (power.devices.size() > 1 && !gpus.is_given()) {
      throw Error(fmt::format(
          "{}: its layers do not say on which GPU they ran, and {} GPUs were recorded ({}): name those that count with --gpus",
          traces.front().path, power.devices.size(), fmt::join(recorded_names(power), ", ")));
    }
    for (const PowerTrace& device : power.devices) {
      lanes.push_back({&traces.front(), 0, nullptr, from_origin(device, traces.front())});
    }
    return lanes;
  }
  const std::vector<std::size_t> found = gpus_of(places, power, gpus);
  if (!gpus.is_given() && power.devices.size() > places.size())
    refuse_idle_lanes(places, found, power);
  for (std::size_t i = 0; i < places.size(); ++i) {
    lanes.push_back({places[i].trace, places[i].number, places[i].device,
                     from_origin(power.devices[found[i]], *places[i].trace)});
  }
  return lanes;
}

}  // namespace aggregate_power
