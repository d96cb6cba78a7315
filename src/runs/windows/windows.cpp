// Reads recordings and windows, and measures one window after the other.
#include "runs/windows/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/energy/counter_trace.h"
#include "core/energy/plausibility.h"
#include "core/model/code_descriptions.h"
#include "energy/shares/facility.h"
#include "energy/shares/window_tree.h"
#include "generators/generator_table.h"
#include "recorders/energy_rate.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/facility.h"
#include "runs/measure/witnesses.h"
#include "runs/windows/trace_sensors.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kBenchmarkPrefix = "bench:";
constexpr std::size_t kPrintedAtOnce = 64 * 1024;

struct WindowList {
  std::vector<NamedWindow> named;
  std::vector<std::string> missing;
  std::string file;           // that has them
  bool is_of_load = false;    // each is a benchmark's
  bool states_times = false;  // else all are relative to the recording

  // From the first begin to the last end; nullopt: there is none that takes time.
  std::optional<Window> span() const;
};

std::optional<Window> WindowList::span() const {
  std::optional<Window> span;
  for (const NamedWindow& each : named) {
    if (!(each.window.duration_s() > 0)) continue;
    if (!span) span = each.window;
    span = Window{std::min(span->start_unix_s, each.window.start_unix_s),
                  std::max(span->end_unix_s, each.window.end_unix_s)};
  }
  return span;
}

WindowList windows_of(const WindowsRequest& request, Window recorded) {
  WindowList list;
  if (request.windows.starts_with(kBenchmarkPrefix)) {
    list.file = normal_path(std::string_view(request.windows).substr(kBenchmarkPrefix.size()));
    BenchmarkWindows found = read_benchmark_windows(list.file);
    list.named = std::move(found.windows);
    list.missing = std::move(found.missing);
    list.is_of_load = list.states_times = true;
    return list;
  }
  list.file = normal_path(request.windows);
  list.named = read_windows_file(
      list.file, {.recorded = recorded, .zone = request.zone, .states_times = &list.states_times});
  return list;
}

// What the windows file states of a GPU that is named by its number.
std::optional<double> logged_j(const NamedWindow& named, const std::string& gpu) {
  const auto found = std::ranges::find(named.logged_j, gpu, &std::pair<std::string, double>::first);
  return found == named.logged_j.end() ? std::nullopt : std::optional(found->second);
}

WindowRow row_of(const WindowList& list, const WindowTree& tree, std::size_t i,
                 const std::vector<WindowMeter>& meters) {
  WindowRow row;
  row.number = i + 1;
  row.name = list.named[i].name;
  row.window = list.named[i].window;
  if (tree.parent(i) != WindowTree::kNone) row.parent = tree.parent(i) + std::size_t{1};
  row.depth = tree.depth(i);
  if (tree.overlap(i) != WindowTree::kNone) row.overlaps = list.named[tree.overlap(i)].name;
  row.has_children = tree.has_children(i);
  const std::vector<Window> own = tree.own(i);
  for (const Window& stretch : own) row.own_duration_s += stretch.duration_s();
  row.gpus.reserve(meters.size());
  for (const WindowMeter& meter : meters) {
    row.gpus.push_back(meter.measure(row.window, own));
    if (!row.has_children) row.gpus.back().own_energy_j = row.gpus.back().energy_j;
    row.gpus.back().logged_energy_j = logged_j(list.named[i], meter.gpu());
  }
  return row;
}

// Intervals for windows.
class WindowEstimates {
 public:
  // Keeps the counters, which the meters take.
  WindowEstimates(UncertaintyOptions options, const Traces& traces)
      : options_(std::move(options)), sensors_(runs::trace_sensors(traces, options_)) {
    if (!options_.is_wanted) return;
    for (const PowerTrace& device : traces.devices) power_[device.device()] = &device;
    for (const DeviceCounter& counter : traces.counters) {
      counters_[counter.device] = counter.samples;
    }
  }

  const runs::TraceSensors& sensors() const { return sensors_; }

  void add_to(WindowRow& row, const std::vector<std::string>& names) const {
    if (!options_.is_wanted || !row.measured_energy_j()) return;
    std::vector<GpuReadings> gpus;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto power = power_.find(names[i]);
      if (power == power_.end() || sensors_.models.empty()) {
        row.no_interval = no_interval("sensor_scope_unknown");
        return;
      }
      const auto counter = counters_.find(names[i]);
      gpus.push_back(readings_around(
          *power->second,
          counter == counters_.end() ? std::span<const CounterSample>() : counter->second, sensors_,
          row.window, row.gpus[i].power_energy_j.value_or(row.gpus[i].energy_j)));
    }
    const EnergyEstimate estimate = runs::estimate_stretch(std::move(gpus), row.window, options_);
    if (!estimate.is_available()) {
      row.no_interval = estimate.reasons.front();
      return;
    }
    row.stated = stated(estimate.total);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const GpuEstimate& gpu = estimate.gpus[i];
      row.gpus[i].stated = stated(gpu.energy);
      if (gpu.counter && gpu.counter->disagreement) {
        row.gpus[i].counter_off_j = *gpu.counter->disagreement * gpu.energy.joules;
        row.gpus[i].repeatability_half_j = gpu.energy.repeatability_high_j() - gpu.energy.joules;
      }
    }
  }

 private:
  static StatedEnergy stated(const Estimate& energy) {
    return {energy.joules, energy.low_j(), energy.high_j()};
  }

  UncertaintyOptions options_;
  runs::TraceSensors sensors_;
  std::map<std::string, const PowerTrace*> power_;
  std::map<std::string, std::vector<CounterSample>> counters_;
};

// Prices each GPU by its own energy in each hour, and all of them by their sums.
void add_facility_of_window(const FacilityRates& rates, const std::vector<WindowMeter>& meters,
                            WindowRow& row) {
  if (!rates.is_asked()) return;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    GpuWindow& gpu = row.gpus[i];
    if (!gpu.fault.empty()) continue;
    gpu.facility = facility_figures(rates, row.window, gpu.energy_j, [&](Window part) {
      return meters[i].energy_in_part(part, gpu);
    });
  }
  const auto energy_j = row.measured_energy_j();
  if (!energy_j) return;
  row.facility = facility_figures(rates, row.window, *energy_j, [&](Window part) {
    double sum_j = 0;
    for (std::size_t i = 0; i < meters.size(); ++i) {
      sum_j += meters[i].energy_in_part(part, row.gpus[i]);
    }
    return sum_j;
  });
}

// Counts the windows whose figures are incomplete, and says why the first one's are.
class FacilityGaps {
 public:
  void look_at(const FacilityRates& rates, const WindowRow& row) {
    if (!row.facility || row.facility->reasons.empty()) return;
    if (windows_++ > 0) return;
    first_ = fmt::format("{}: {}", printable(row.name),
                         fmt::join(facility_faults(rates, *row.facility), "; "));
  }
  void tell(std::size_t all, std::vector<std::string>& err) const {
    if (windows_ == 0) return;
    err.push_back(fmt::format("warning: {} of {} windows lack cost or carbon; the first is {}",
                              windows_, all, first_));
  }

 private:
  std::size_t windows_ = 0;
  std::string first_;
};

// What all GPUs used, for a witness.
WitnessEnergy energy_of_all(const std::vector<WindowMeter>& meters, Window window) {
  WitnessEnergy all;
  for (const WindowMeter& meter : meters) {
    const GpuWindow gpu = meter.measure(window, {});
    if (!gpu.fault.empty()) {
      return {fmt::format("GPU {}: {}", printable(meter.gpu()), gpu.fault)};
    }
    all.energy_j += gpu.energy_j;
  }
  return all;
}

void add_witnesses(const Witnesses& witnesses, WindowRow& row, WitnessDoubts& doubts) {
  row.witnesses = witnesses.measure(row.window);
  for (std::size_t i = 0; i < row.witnesses.size(); ++i) {
    doubts.look_at(row.name, {witnesses.facts()[i], row.witnesses[i], row.window.duration_s(),
                              row.measured_energy_j()});
  }
}

// The GPUs of one recording that names no hosts are those of one node.
WitnessDoubts witness_doubts_of(const Witnesses& witnesses, const Traces& traces) {
  WitnessDoubts doubts(traces.files.size() == 1 && !traces.files[0].facts.series.names_hosts);
  for (const WitnessFacts& witness : witnesses.facts()) {
    const auto& own = witness.own_span;
    if (!own) continue;
    const WitnessEnergy total{{}, own->energy_j};
    doubts.look_at("its own span", {witness, total, own->span.duration_s(), own->gpu_energy_j});
  }
  return doubts;
}

WindowReportFacts report_facts(const WindowsRequest& request, const Traces& traces,
                               const std::vector<WindowMeter>& meters, const WindowList& list,
                               const WindowTree& tree) {
  WindowReportFacts facts;
  for (const WindowMeter& meter : meters) facts.gpus.push_back(meter.gpu());
  facts.has_counters = std::ranges::any_of(traces.counters, &DeviceCounter::is_unit_stated);
  for (const std::string& path : request.telemetry) facts.telemetry.push_back(printable_path(path));
  facts.windows_file = printable_path(request.windows);
  facts.recorded = {traces.first_unix_s, traces.last_unix_s};
  facts.missing = list.missing;
  for (std::size_t i = 0; i < list.named.size(); ++i) {
    facts.longest_name =
        std::max(facts.longest_name, list.named[i].name.size() + 2 * tree.depth(i));
    facts.has_logged = facts.has_logged || !list.named[i].logged_j.empty();
  }
  return facts;
}

std::vector<std::string> notes_on(const WindowsRequest& request, const Traces& traces,
                                  const WindowReportFacts& facts) {
  std::vector<std::string> notes;
  for (const TraceFile& file : traces.files) {
    for (const std::string& warning : file.warnings) {
      notes.push_back(fmt::format("warning: {}: {}", printable_path(file.path), warning));
    }
    for (const auto& [cause, rows] : file.facts.skipped) {
      if (rows == 0) continue;
      notes.push_back(fmt::format("warning: {}: {} rows were skipped: {}",
                                  printable_path(file.path), rows, cause));
    }
  }
  if (request.format == WindowFormat::zeus && !std::ranges::all_of(facts.gpus, is_ascii_digits)) {
    std::vector<std::string> columns = zeus_columns(facts.gpus);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i] += fmt::format(" is GPU {}", printable(facts.gpus[i]));
    }
    notes.push_back(fmt::format("note: {}", fmt::join(columns, ", ")));
  }
  return notes;
}

// Single readings that no sensor can be right about, and that count in some window.
class OddInWindows {
 public:
  // `gpus` are those of the report.
  OddInWindows(const Traces& traces, const std::vector<std::string>& gpus) : gpus_(gpus) {
    usual_w_ = plausible_watts_of(traces).usual_w;
    if (traces.files.size() == 1) file_ = printable_path(traces.files[0].path) + ": ";
    std::map<std::string_view, const PowerTrace*> by_name;
    for (const PowerTrace& device : traces.devices) by_name[device.device()] = &device;
    for (const std::string& gpu : gpus) {
      const auto found = by_name.find(gpu);
      const bool has_power = found != by_name.end();
      odd_.emplace_back(has_power ? found->second->samples() : std::span<const Sample>());
    }
  }

  void look_at(const WindowRow& row) {
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuWindow& gpu = row.gpus[i];
      if (gpu.fault.empty() && gpu.source == "power") odd_[i].count_in(row.window);
    }
  }
  void tell(std::vector<std::string>& err) const {
    std::vector<DeviceEnergy> found;
    for (const OddReadings& odd : odd_) found.push_back(odd.found());
    for (const std::string& text : odd_samples_text(gpus_, found, usual_w_)) {
      err.push_back(fmt::format("warning: {}{}", file_, text));
    }
  }

 private:
  const std::vector<std::string>& gpus_;
  double usual_w_ = 0;
  std::string file_;
  std::vector<OddReadings> odd_;
};

std::vector<std::string> doubts_about_place(const WindowsRequest& request, const Traces& traces,
                                            const WindowList& list) {
  const std::optional<Window> span = list.span();
  if (!span || !list.states_times) return {};
  return runs::place_doubts(traces, {.window = *span,
                                     .is_of_load = list.is_of_load,
                                     .file = list.file,
                                     .clock_offset_s = request.clock_offset_s,
                                     .accepted = request.accepted});
}

}  // namespace

WindowsOutcome run_windows(const WindowsRequest& request,
                           const std::function<void(const std::string&)>& print) {
  const FacilityRates rates = read_facility_rates(request.facility);
  refuse_repeated_recordings(request.telemetry);
  Traces traces = read_traces({request, request.telemetry, request.gpus, true, false,
                               request.accepted, request.max_sample_gap_s, request.clock_offset_s});
  const AppliedProfile profile(request.calibration,
                               runs::gpus_of_traces(request.uncertainty, traces));
  const WindowEstimates estimates(runs::with_calibration(request.uncertainty, profile), traces);
  const std::vector<WindowMeter> meters = meters_of(traces, request.max_sample_gap_s);
  const WindowList list = windows_of(request, {traces.first_unix_s, traces.last_unix_s});
  const std::vector<std::string> doubts_of_place = doubts_about_place(request, traces, list);
  const auto windows = mapped<Window>(list.named, &NamedWindow::window);
  const WindowTree tree(windows);
  Witnesses witnesses(request.witnesses, request.zone);
  witnesses.compare_totals([&](Window span) { return energy_of_all(meters, span); });
  WitnessDoubts witness_doubts = witness_doubts_of(witnesses, traces);
  WindowReportFacts facts = report_facts(request, traces, meters, list, tree);
  facts.witnesses = witnesses.facts();
  facts.rates = rates;
  facts.has_intervals = request.uncertainty.is_wanted;
  facts.measured = measured_boundary(scope_of(traces));
  WindowsOutcome outcome;
  outcome.err = notes_on(request, traces, facts);
  for (const std::string& doubt : doubts_of_place) outcome.err.push_back("warning: " + doubt);
  for (const std::string& doubt : facility_doubts(rates))
    outcome.err.push_back("warning: " + doubt);
  for (const std::string& warning : witnesses.warnings()) {
    outcome.err.push_back("warning: " + warning);
  }
  for (const std::string& warning : profile.warnings())
    outcome.err.push_back("warning: " + warning);
  for (const std::string& why : list.missing) {
    outcome.err.push_back(fmt::format(
        "no exact window: {}; 'aggregate-power measure' finds windows that results do not state",
        why));
  }
  if (request.per_process) {
    outcome.exit_status = list.missing.empty() ? 0 : 1;
    print_processes(request, traces, list.named, facts, print, outcome);
    return outcome;
  }

  const auto report = window_report(request.format, facts);
  std::string text = report->head();
  std::size_t unmeasured = 0;
  double shortest_s = std::numeric_limits<double>::infinity();
  std::string first_fault;
  CounterDoubts doubts(facts.gpus);
  OddInWindows odd(traces, facts.gpus);
  LoggedEnergies logged;
  FacilityGaps facility_gaps;
  for (std::size_t i = 0; i < list.named.size(); ++i) {
    WindowRow row = row_of(list, tree, i, meters);
    add_witnesses(witnesses, row, witness_doubts);
    add_facility_of_window(rates, meters, row);
    facility_gaps.look_at(rates, row);
    if (std::string fault = row.fault(facts.gpus); !fault.empty() && unmeasured++ == 0) {
      first_fault = fmt::format("{}: {}", printable(row.name), fault);
    }
    estimates.add_to(row, facts.gpus);
    if (const auto energy_j = row.measured_energy_j()) {
      row.node = profile.node(*energy_j, row.window.duration_s());
    }
    shortest_s = std::min(shortest_s, row.window.duration_s());
    doubts.note(row);
    odd.look_at(row);
    logged.take(row, facts.gpus);
    report->add(row, text);
    if (text.size() < kPrintedAtOnce) continue;
    print(text);
    text.clear();
  }
  print(text + report->foot());
  odd.tell(outcome.err);
  logged.tell(facts, list.named.size(), outcome.err);
  witness_doubts.tell(outcome.err);
  facility_gaps.tell(list.named.size(), outcome.err);
  if (request.uncertainty.is_wanted) {
    if (const std::string& why = estimates.sensors().unresolved; !why.empty()) {
      outcome.err.push_back("note: no interval: " + why);
    }
  } else if (std::string note = smear_note(estimates.sensors(), shortest_s); !note.empty()) {
    outcome.err.push_back("note: " + note);
  }
  for (std::string& doubt : doubts.notes()) outcome.err.push_back(std::move(doubt));
  if (unmeasured > 0) {
    outcome.err.push_back(fmt::format("{} of {} windows not measured; the first is {}", unmeasured,
                                      list.named.size(), first_fault));
  }
  outcome.exit_status = unmeasured > 0 || !list.missing.empty() ? 1 : 0;
  return outcome;
}

// ---- Keeps the first and the worst window of each GPU.

void CounterDoubts::note(const WindowRow& row) {
  for (std::size_t i = 0; i < row.gpus.size(); ++i) {
    const GpuWindow& gpu = row.gpus[i];
    OfGpu& noted = of_gpus_[i];
    if (!gpu.counter_fault.empty() && gpu.fault.empty() && noted.unused++ == 0) {
      noted.first_unused = fmt::format("{}: {}", printable(row.name), gpu.counter_fault);
    }
    if (gpu.counter_off_j && std::abs(*gpu.counter_off_j) > gpu.repeatability_half_j &&
        noted.outside++ == 0) {
      noted.first_outside = fmt::format(
          "{}: the counter is {:+.3f} J off the power, whose interval is {:.3f} J to either side",
          printable(row.name), *gpu.counter_off_j, gpu.repeatability_half_j);
    }
    if (!gpu.counter_energy_j || !gpu.power_energy_j) continue;
    const double apart = std::abs(*gpu.counter_energy_j / *gpu.power_energy_j - 1);
    if (!contradict(*gpu.counter_energy_j, *gpu.power_energy_j, *gpu.counter_resolution_j) ||
        apart <= noted.furthest_apart) {
      continue;
    }
    noted.furthest_apart = apart;
    noted.furthest = fmt::format(
        "note: GPU {}: in window {} its energy counter says {:.3f} J, its power {:.3f} J; the counter is used",
        printable(gpus_[i]), printable(row.name), *gpu.counter_energy_j, *gpu.power_energy_j);
  }
}

std::vector<std::string> CounterDoubts::notes() const {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const OfGpu& noted = of_gpus_[i];
    if (noted.unused > 0) {
      notes.push_back(fmt::format("note: GPU {}: its power is used in {} window{}; the first is {}",
                                  printable(gpus_[i]), noted.unused, noted.unused == 1 ? "" : "s",
                                  noted.first_unused));
    }
    if (!noted.furthest.empty()) notes.push_back(noted.furthest);
    if (noted.outside > 0) {
      notes.push_back(fmt::format(
          "note: GPU {}: its counter disagrees with the power by more than the interval in {} window{}; the first is {}",
          printable(gpus_[i]), noted.outside, noted.outside == 1 ? "" : "s", noted.first_outside));
    }
  }
  return notes;
}

// ---- Counts the windows whose energies differ, and keeps the first.

void LoggedEnergies::take(const WindowRow& row, const std::vector<std::string>& gpus) {
  constexpr double kMostDifference = 0.05;
  bool differs = false;
  for (std::size_t i = 0; i < row.gpus.size(); ++i) {
    const GpuWindow& gpu = row.gpus[i];
    if (!gpu.fault.empty() || !gpu.logged_energy_j) continue;
    compared_ = true;
    const double logged_j = *gpu.logged_energy_j;
    if (std::abs(logged_j - gpu.energy_j) <= kMostDifference * gpu.energy_j) continue;
    differs = true;
    if (!first_.empty()) continue;
    first_ = fmt::format("{}: GPU {}: {:.3f} J logged, {:.3f} J here", printable(row.name),
                         printable(gpus[i]), logged_j, gpu.energy_j);
  }
  differing_ += differs ? 1 : 0;
}

void LoggedEnergies::tell(const WindowReportFacts& facts, std::size_t windows,
                          std::vector<std::string>& notes) const {
  if (facts.has_logged && !compared_) {
    notes.push_back(fmt::format(
        "note: {}: its energies are not compared: no GPU that was measured has the number of one there",
        facts.windows_file));
  }
  if (differing_ == 0) return;
  notes.push_back(fmt::format(
      "note: {}: the energies in it differ by more than 5 % from those of the recording in {} of {} windows; the first is {}",
      facts.windows_file, differing_, windows, first_));
}

}  // namespace aggregate_power
