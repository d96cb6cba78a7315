// Reads a recording once and collects what it says about a window.
#include "runs/evaluate/evaluate.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/gpu.h"
#include "base/files/file.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/energy/counter_check.h"
#include "core/energy/metrics.h"
#include "core/energy/stated_limits.h"
#include "core/record/limits_json.h"
#include "core/telemetry/device_names.h"
#include "core/telemetry/gpu_identity.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/power_names.h"
#include "energy/zones/window_doubts.h"
#include "recorders/recorder_context.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/deliver.h"
#include "runs/measure/evaluate.h"
#include "runs/measure/extras.h"
#include "runs/measure/uncertainty.h"

namespace aggregate_power {
namespace {

// What to find out from a recording.
struct Question {
  const MeasurementRequest& request;
  const Recording& recording;
  const std::optional<Load>& load;
  std::optional<Window> window;                // the window to measure
  const EnergySnapshots* snapshots = nullptr;  // to compare the samples with
};

// Whether a recording without a device column may be that of the only GPU that is expected. Its
// rows must not contradict (SingleSeries).
bool is_of_only_gpu(const SeriesFacts& facts, const MeasurementRequest& request) {
  return request.schema_version == 2 && request.expected_num_gpus == 1 &&
         !request.gpus.is_given() && !facts.has_devices() &&
         !facts.reasons.contains(Reason::model_name_as_device) &&
         !facts.reasons.contains(Reason::named_column_missing);
}

// The means of what rows state of their GPUs' utilization, for which the recording is read once
// more.
StatedValues stated_utilization(const Question& question) {
  StatedValues stated(*question.window, GpuQuantity::utilization_pct);
  try {
    read_whole(question.recording, {.take = [&](const Batch& batch) { stated.take(batch); },
                                    .begin = [&](const Telemetry&) { return stated.wanted(); },
                                    .may_use_threads = false});
  } catch (const std::exception&) {  // it changed since it was read
    return {*question.window, GpuQuantity::utilization_pct};
  }
  return stated;
}

// The columns that the request requires, in the contract's order and words.
Reasons missing_columns(const SeriesFacts& facts, const MeasurementRequest& request) {
  std::string detail;
  for (const Reasons::Entry& entry : facts.reasons.entries()) {
    if (entry.reason <= Reason::gpu_identity_column_missing) {
      if (detail.empty()) detail = entry.detail;
      continue;
    }
    detail += fmt::format("{}{}", detail.empty() ? "" : "; ", code(entry.reason));
    if (!entry.detail.empty()) detail += ": " + entry.detail;
  }
  Reasons missing;
  const auto add = [&](bool is_there, Reason reason) {
    if (!is_there) missing.add(reason, missing.empty() ? detail : "");
  };
  add(facts.has_times(), Reason::timestamp_column_missing);
  const bool takes_part = request.schema_version == 1 && facts.power_column;
  add(facts.has_power() || takes_part, Reason::power_column_missing);
  const bool needs_device = (request.schema_version == 2 && !is_of_only_gpu(facts, request)) ||
                            request.gpus.is_given() ||
                            facts.reasons.contains(Reason::model_name_as_device) ||
                            facts.reasons.contains(Reason::named_column_missing);
  if (needs_device) add(facts.has_devices(), Reason::gpu_identity_column_missing);
  return missing;
}

void add_expected_count_reason(const MeasurementRequest& request, Reasons& reasons) {
  if (request.schema_version == 2 && request.expected_num_gpus && *request.expected_num_gpus <= 0) {
    reasons.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *request.expected_num_gpus));
  }
}

// Why the telemetry need not be read for the window; empty: it must be read.
Reasons refusal(const MeasurementRequest& request, const Recording& recording) {
  Reasons reasons;
  if (request.schema_version == 2 &&
      (!std::isfinite(request.max_sample_gap_s) || request.max_sample_gap_s <= 0)) {
    reasons.add(Reason::invalid_max_sample_gap, fmt::format("{}", request.max_sample_gap_s));
  } else if (!recording.faults().empty()) {
    add_expected_count_reason(request, reasons);
    reasons.add(recording.faults());
  }
  return reasons;
}

bool is_readable(const Recording& recording) {
  return !recording.faults().contains(Reason::telemetry_file_missing) &&
         !recording.faults().contains(Reason::telemetry_file_unreadable);
}

// Under schema 1 a contradiction is a warning.
void add_identity(const Telemetry& telemetry, int schema_version, TelemetryFacts& facts) {
  const std::vector<GpuKey> keys = telemetry.keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    facts.gpus.emplace_back(telemetry.devices()[i], keys[i]);
  }
  append(facts.series.warnings, telemetry.identity_notes());
  if (schema_version != 1) return;
  for (const std::string& conflict : telemetry.identity_conflicts()) {
    facts.series.warnings.push_back("gpu_identity_conflict: " + conflict);
  }
}

// `telemetry` has been read as far as it ever will be.
TelemetryFacts facts_of(const Telemetry& telemetry, const Question& question) {
  TelemetryFacts facts;
  facts.series = telemetry.facts();
  facts.series.counter = telemetry.counter();
  facts.skipped = by_cause(telemetry.skipped());
  facts.timezone = telemetry.zone().name();
  facts.timezone_source = question.recording.zone_source();
  facts.stamps = telemetry.stamps();
  facts.naive_stamps = telemetry.naive_stamps();
  facts.silent_series = telemetry.silent_series();
  add_identity(telemetry, question.request.schema_version, facts);
  if (telemetry.stamps() > 0 && telemetry.naive_stamps() == 0) {
    facts.timezone = "UTC";
    facts.timezone_source = "stamps";
  }
  if (question.recording.needed_zone_fault(telemetry) != nullptr) {
    facts.timezone.clear();
    facts.timezone_source.clear();
  } else if (question.load && std::abs(question.load->window.start_unix_s) < 1e11) {
    const std::int64_t start = whole_second(question.load->window.start_unix_s);
    facts.utc_offset =
        offset_text(facts.timezone_source == "stamps" ? 0 : telemetry.zone().offset_at(start));
  }
  return facts;
}

// Adds a reason for every GPU that cannot have drawn what its readings say.
void refuse_impossible(const Question& question, const Telemetry& telemetry,
                       const StatedLimits& limits, Integration& integration) {
  const SeriesFacts& facts = telemetry.facts();
  const PlausibleWatts plausible = plausible_watts(facts);
  const std::optional<PowerLimit> board = runs::board_limit(facts);
  std::optional<StatedValues> utilization;
  std::map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < telemetry.devices().size(); ++i) numbers[telemetry.devices()[i]] = i;
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    const DeviceEnergy& gpu = integration.gpus[i];
    if (!gpu.bracketed) continue;
    const std::size_t number = numbers.at(integration.gpu_ids[i]);
    DrawnPower drawn{.mean_w = gpu.energy_j / question.window->duration_s(),
                     .samples = gpu.samples,
                     .absurd_samples = gpu.absurd_samples,
                     .highest = {gpu.highest_unix_s, gpu.highest_w},
                     .stated = limits.of(number),
                     .board = board ? board->gpu : "",
                     .board_limit_w = board ? board->watts : 0,
                     .is_large = are_large(facts)};
    if (drawn.mean_w < kLeastWorkingWatts && plausible.is_of_gpus()) {
      if (!utilization) utilization = stated_utilization(question);
      drawn.utilization_pct = utilization->mean(number);
    }
    std::string why = impossible_power_text(drawn, facts.unit, plausible);
    if (why.empty()) continue;
    integration.reasons.add(Reason::implausible_power,
                            fmt::format("GPU {}: {}", printable(integration.gpu_ids[i]), why));
    if (!integration.issues[i]) integration.issues[i] = Reason::implausible_power;
  }
}

// A node in which no GPU draws anything was not measured.
void refuse_nothing(const SeriesFacts& facts, Integration& integration) {
  const bool is_nothing = !integration.gpus.empty() &&
                          std::ranges::all_of(integration.gpus, [](const DeviceEnergy& gpu) {
                            return gpu.bracketed && gpu.energy_j == 0;
                          });
  if (!is_nothing || !plausible_watts(facts).is_of_gpus()) return;
  integration.reasons.add(Reason::implausible_power,
                          "all readings in the window are 0 W: the sensors are dead, or the power "
                          "is written in a unit that leaves no digits");
}

// The same for schema 1: for the mean of a GPU's samples, for the mean that would be published, and
// for single readings.
Reasons impossible_means(const MeanPowerGatherer& gatherer, const MeanPower& published,
                         const Telemetry& telemetry, const StatedLimits& limits) {
  Reasons reasons;
  const PowerUnit::Size read_as = telemetry.facts().unit;
  const PlausibleWatts plausible = plausible_watts(telemetry.facts());
  const auto refuse = [&](const std::string& whose, const DrawnPower& drawn) {
    std::string why = impossible_power_text(drawn, read_as, plausible);
    if (!why.empty()) reasons.add(Reason::implausible_power, whose + why);
  };
  for (const std::uint32_t device : gatherer.devices()) {
    DrawnPower drawn{.mean_w = gatherer.mean_w(device), .stated = limits.of(device)};
    if (drawn.stated.above == 0) drawn.stated = {};  // a mean above the limit is published
    refuse(fmt::format("GPU {}: ", printable(telemetry.devices()[device])), drawn);
  }
  refuse("per GPU ", {.mean_w = published.avg_power_w});
  const Sample highest = gatherer.highest();
  if (highest.watts > plausible.most_w && reasons.empty()) {
    reasons.add(Reason::implausible_power,
                fmt::format("at {}: {}", unix_and_iso(highest.unix_s),
                            impossible_reading_text(highest.watts, read_as)));
  }
  return reasons;
}

void conclude_mean_power(MeanPowerGatherer& gatherer, const Telemetry& telemetry,
                         const StatedLimits& limits, Measurement& found) {
  found.mean_power = gatherer.finish();
  for (const std::uint32_t device : gatherer.devices()) {
    found.integration.gpu_ids.push_back(telemetry.devices()[device]);
  }
  std::ranges::sort(found.integration.gpu_ids, device_name_less);
  if (!found.mean_power) {
    found.integration.reasons.add(Reason::no_usable_power_samples);
  } else {
    found.integration.reasons.add(impossible_means(gatherer, *found.mean_power, telemetry, limits));
  }
}

IntegrationOptions integration_options(const Question& question) {
  return {*question.window,
          question.request.expected_num_gpus,
          question.request.max_sample_gap_s,
          question.request.contract,
          true,
          question.request.salvage};
}

// Refuses rows that may be of several GPUs, as if their missing column were needed.
void conclude_single_series(const Question& question, const SingleSeries& series,
                            Measurement& found) {
  std::string doubt = series.doubt();
  if (doubt.empty()) return;
  found.integration = {};
  add_expected_count_reason(question.request, found.integration.reasons);
  found.integration.reasons.add(Reason::gpu_identity_column_missing, std::move(doubt));
}

bool has_repeated_stamps(const Samples& samples) {
  return std::ranges::any_of(samples.devices(), [](const std::vector<Sample>& device) {
    return std::ranges::adjacent_find(device, {}, &Sample::unix_s) != device.end();
  });
}

// Adds to the reason for rows without a reading in the window which devices have none anywhere, and
// how to leave them out.
void name_silent(const Telemetry& telemetry, std::span<const std::uint32_t> devices,
                 Reasons& reasons) {
  if (devices.empty() || !reasons.contains(Reason::invalid_power_sample)) return;
  std::vector<std::string> silent;
  std::vector<std::string> others;
  const std::set<std::uint32_t> numbers(devices.begin(), devices.end());
  for (std::uint32_t i = 0; i < telemetry.devices().size(); ++i) {
    const bool is_silent = numbers.contains(i);
    (is_silent ? silent : others).push_back(telemetry.devices()[i]);
    if (is_silent) silent.back() = printable(silent.back());
  }
  if (others.empty()) return;
  Reasons named;
  for (const Reasons::Entry& entry : reasons.entries()) {
    std::string detail = entry.detail;
    if (entry.reason == Reason::invalid_power_sample) {
      detail = fmt::format(
          "GPUs {} state no power in any row, {}; if others measure their boards, as on the MI250, {} leaves them out",
          fmt::join(silent, ", "), detail, gpus_option(others));
    }
    named.add(entry.reason, std::move(detail), entry.obstacle);
  }
  reasons = std::move(named);
}

// The rows inside the window that state no power, by GPU; a GPU without a sample gets no other.
void add_blanks(const Telemetry& telemetry, const WindowRows& rows,
                std::vector<GatheredReadings>& gathered) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < gathered.size(); ++i) places.try_emplace(gathered[i].gpu, i);
  for (const auto& [device, unix_s] : rows.blanks()) {
    const std::string name = device == kNoDevice ? "unknown" : telemetry.devices()[device];
    const auto [place, is_new] = places.try_emplace(name, gathered.size());
    if (is_new) gathered.push_back({name, {}, {}});
    gathered[place->second].blanks_unix_s.push_back(unix_s);
  }
  for (GatheredReadings& gpu : gathered) std::ranges::sort(gpu.blanks_unix_s);
}

GapEnergyBound bound_of(Window window, const Samples& samples, std::span<const std::string> names) {
  GapBound gaps(window);
  GapEnergyBound bound;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    if (i < samples.devices().size()) {
      for (const Sample& sample : samples.devices()[i]) gaps.add(i, sample);
    }
    bound.per_gpu_j.emplace_back(names[i], gaps.bound_j(i));
    bound.total_j += bound.per_gpu_j.back().second;
  }
  return bound;
}

// Takes the rows of a recording that may have no device column.
class RunRows {
 public:
  RunRows(const Question& question, const SeriesFacts& facts);

  GpuQuantitySet states() const;
  // The next rows, in the file's order.
  void take(const Batch& batch);
  void end() { integrate(); }
  // Rows were so much out of order that they must be taken again, for each of parts() those in it:
  //
  //   begin(part); take_again(batch)...; end();
  bool is_out_of_order() const;
  // Stretches of time one after the other, each with as many rows as fit into memory. `bytes`: of
  // the file.
  std::vector<Window> parts(std::uint64_t bytes) const;
  void begin(Window part);
  void take_again(const Batch& batch) { take_samples(batch); }
  // What they say.
  void conclude(const Telemetry& telemetry, Measurement& found);
  // What of them concerns the window, if it was integrated.
  const WindowRows* window_rows() const { return window_rows_ ? &*window_rows_ : nullptr; }
  const RowExtent& extent() const { return extent_; }

 private:
  bool bounds_gaps() const;
  bool needs_samples() const;
  Window kept() const;
  void take_samples(const Batch& batch);
  void integrate();
  void conclude_fleet(const Telemetry& telemetry, FleetMeasurement& fleet);
  void conclude_integration(const Telemetry& telemetry, Measurement& found);
  void conclude_kept(const Telemetry& telemetry, Measurement& found);

  const Question& question_;
  Onlooker onlooker_;
  Samples samples_;
  Samples negative_{kAlways, Reading::Kind::negative_power};
  RowExtent extent_;
  std::uint64_t rows_ = 0;
  std::optional<MeanPowerGatherer> mean_;
  std::optional<WindowRows> window_rows_;
  std::optional<PowerIntegrator> integrator_;
  std::optional<StateNotes> notes_;
  std::optional<StatedLimits> limits_;  // if there is a window
  bool reads_limits_ = false;
  std::optional<SingleSeries> series_;
  std::optional<SeriesKeeper> keeper_;
  std::vector<StateMean> states_;
};

RunRows::RunRows(const Question& question, const SeriesFacts& facts)
    : question_(question),
      onlooker_(question.request.beside ? question.request.beside(facts) : Onlooker()),
      samples_(kept()) {
  const MeasurementRequest& request = question.request;
  if (!question.window) return;
  const Window window = *question.window;
  keeper_.emplace(window);
  limits_.emplace(window);
  reads_limits_ = has_own_limit(facts);
  for (std::size_t i = 0; has_states(request.keys) && i < kReportedQuantities; ++i) {
    states_.emplace_back(static_cast<GpuQuantity>(i), window, request.max_sample_gap_s);
  }
  if (request.schema_version == 1) {
    mean_.emplace(window, facts.has_devices());
    return;
  }
  window_rows_.emplace(integration_options(question));
  integrator_.emplace(integration_options(question));
  if (request.may_need_interval() || !request.idle.empty()) notes_.emplace(window);
  if (is_of_only_gpu(facts, request)) series_.emplace();
}

bool RunRows::bounds_gaps() const {
  const MeasurementRequest& request = question_.request;
  return question_.window && request.schema_version == 2 &&
         request.max_sample_gap_s > kDefaultMaxSampleGapS &&
         rules_of(request.contract).bounds_gap_energy;
}

// Whether something looks at all samples together. Else they are integrated while they come, and
// forgotten.
bool RunRows::needs_samples() const {
  const MeasurementRequest& request = question_.request;
  return question_.snapshots != nullptr || onlooker_.conclude || bounds_gaps() ||
         has_percentiles(request.keys) || request.may_need_interval() || !request.idle.empty();
}

// The stretch whose samples are needed.
Window RunRows::kept() const {
  const MeasurementRequest& request = question_.request;
  const bool needs_all = question_.snapshots != nullptr || onlooker_.conclude || bounds_gaps();
  if (!question_.window || needs_all || !std::isfinite(request.max_sample_gap_s)) return kAlways;
  if (request.schema_version == 1 && !has_percentiles(request.keys)) return kNever;
  const double around_s = std::max(request.max_sample_gap_s, kGatheredAroundS);
  return {question_.window->start_unix_s - around_s, question_.window->end_unix_s + around_s};
}

GpuQuantitySet RunRows::states() const {
  GpuQuantitySet states = onlooker_.states;
  if (notes_) states |= StateNotes::wanted();
  if (reads_limits_) states |= StatedLimits::wanted();
  for (std::size_t i = 0; i < states_.size(); ++i) states.set(i);
  return states;
}

void RunRows::take(const Batch& batch) {
  if (question_.request.also) question_.request.also(batch.readings);
  if (onlooker_.take) onlooker_.take(batch);
  if (question_.snapshots != nullptr) negative_.take(batch.readings);
  if (question_.window) {
    rows_ += batch.readings.size();
    extent_.take(batch.readings);
    if (window_rows_) window_rows_->take(batch.readings);
    if (notes_) notes_->take(batch);
    if (reads_limits_) limits_->take(batch);
    if (series_) series_->take(batch.readings);
    keeper_->take(batch.readings);
  }
  take_samples(batch);
  for (StateMean& state : states_) {
    if (state.size() >= Samples::kMany) state.integrate();
  }
  const std::size_t waiting = std::max(samples_.size(), mean_ ? mean_->size() : 0);
  if (waiting >= Samples::kMany && !needs_samples()) integrate();
}

void RunRows::take_samples(const Batch& batch) {
  samples_.take(batch.readings);
  if (mean_) mean_->take(batch.readings);
  for (StateMean& state : states_) state.take(batch);
}

void RunRows::integrate() {
  samples_.sort();
  if (integrator_) integrator_->take(samples_);
  if (!needs_samples()) samples_.clear();
  if (mean_) mean_->average();
  for (StateMean& state : states_) state.integrate();
}

bool RunRows::is_out_of_order() const {
  return (integrator_ && integrator_->is_out_of_order()) || (mean_ && mean_->is_out_of_order()) ||
         std::ranges::any_of(states_, &StateMean::is_out_of_order);
}

std::vector<Window> RunRows::parts(std::uint64_t bytes) const {
  constexpr std::uint64_t kLeastBytes = 20 << 20;
  constexpr std::uint64_t kBytesPerRow = 36;  // while they are sorted
  const std::uint64_t room = std::max(kLeastBytes, bytes / 5);
  const std::uint64_t count = needs_samples() ? 1 : rows_ * kBytesPerRow / room + 1;
  const Span span = extent_.span();
  const double part_s = (span.last_unix_s - span.first_unix_s) / static_cast<double>(count);
  std::vector<Window> parts;
  double from = kAlways.start_unix_s;
  for (std::uint64_t i = 1; i <= count; ++i) {
    const double to =
        i < count ? span.first_unix_s + part_s * static_cast<double>(i) : kAlways.end_unix_s;
    parts.push_back({from, to});
    from = std::nextafter(to, kAlways.end_unix_s);
  }
  return parts;
}

void RunRows::begin(Window part) {
  const Window kept = this->kept();
  if (part.start_unix_s == kAlways.start_unix_s) {  // the first one
    if (integrator_) integrator_->start_over();
    if (mean_) mean_->start_over();
    for (StateMean& state : states_) state.start_over();
  }
  samples_.clear(
      {std::max(part.start_unix_s, kept.start_unix_s), std::min(part.end_unix_s, kept.end_unix_s)});
  if (mean_) mean_->begin(part);
}

void RunRows::conclude_fleet(const Telemetry& telemetry, FleetMeasurement& fleet) {
  FleetCurve curve = fleet_curve(samples_, *question_.window, question_.request.max_sample_gap_s);
  fleet.power = std::move(curve.power);
  fleet.samples_in_window = curve.samples_in_window;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    fleet.states[i] = states_[i].finish(telemetry.devices());
  }
}

void RunRows::conclude_integration(const Telemetry& telemetry, Measurement& found) {
  found.integration = integrator_->finish(*window_rows_, telemetry.devices());
  refuse_impossible(question_, telemetry, *limits_, found.integration);
  refuse_nothing(telemetry.facts(), found.integration);
  if (bounds_gaps()) {
    found.gap_bound = bound_of(*question_.window, samples_, telemetry.devices());
  }
  if (notes_) {
    found.gathered = gather(*question_.window, std::move(samples_), *notes_, telemetry.devices(),
                            question_.request.clock_offset_s);
    if (question_.request.salvage) add_blanks(telemetry, *window_rows_, found.gathered);
  }
}

// A query's range is in its name.
void refuse_averages(const Telemetry& telemetry, Window window, double max_gap_s, Reasons& doubts) {
  constexpr double kLittle = 0.02;  // of the window is hidden at its start, and at its end
  std::vector<std::string> names = telemetry.devices();
  names.push_back(telemetry.facts().power_column.value_or(""));
  for (const std::string& name : names) {
    const double over_s = columns::averaged_over_s(name);
    if (over_s <= max_gap_s || over_s / 2 <= kLittle * window.duration_s()) continue;
    return doubts.add(
        Reason::readings_repeat,
        fmt::format("'{}' is a mean over {:g} s by its name, and the window has {:.6g} s",
                    printable(name, 80), over_s, window.duration_s()));
  }
}

// Nothing says what a GPU drew in a window that is shorter than the time between its readings,
// unless its caller accepts long gaps.
void refuse_unseen(const Samples& samples, std::span<const std::string> names,
                   const MeasurementRequest& request, Window window, Reasons& reasons) {
  if (request.max_sample_gap_s > kDefaultMaxSampleGapS || !reasons.empty()) return;
  for (std::size_t i = 0; i < std::min(samples.devices().size(), names.size()); ++i) {
    const std::span<const Sample> all = samples.devices()[i];
    const bool is_around = !all.empty() && all.front().unix_s <= window.start_unix_s &&
                           all.back().unix_s >= window.end_unix_s;
    if (!is_around || !samples_in(all, window).empty()) continue;
    return reasons.add(
        Reason::insufficient_power_samples,
        fmt::format(
            "GPU {} has no reading in the window of {:.3f} s: sample more often, or measure a longer load",
            printable(names[i]), window.duration_s()));
  }
}

// For people: the edges may hide a share of the energy that is worth a word.
std::optional<std::string> edge_doubt_of(const Samples& samples, const Integration& integration,
                                         Window window) {
  constexpr double kMuch = 0.1;
  constexpr double kMuchOfLongGaps = 0.05;
  HiddenEdges all;
  for (const std::vector<Sample>& device : samples.devices()) {
    if (device.empty()) continue;
    const HiddenEdges own = hidden_at_edges(device, window);
    all.joules += own.joules;
    if (own.step_w <= all.step_w) continue;
    all.step_w = own.step_w;
    all.between_s = own.between_s;
  }
  const double energy_j = integration.total_gpu_energy_j.value_or(0);
  const double much = all.between_s > kDefaultMaxSampleGapS ? kMuchOfLongGaps : kMuch;
  if (!(all.joules > much * energy_j) || energy_j <= 0) return std::nullopt;
  return fmt::format(
      "edges: power changes by up to {:.0f} W at an edge of the window, and a new reading comes only every {:.2g} s there: the energy may be off by up to {:.4g} J ({:.0f} %); sample more often, or measure a longer load",
      all.step_w, all.between_s, all.joules, 100 * all.joules / energy_j);
}

// What speaks against the readings of the devices, and what other recordings are compared with.
void RunRows::conclude_kept(const Telemetry& telemetry, Measurement& found) {
  const Samples& samples = keeper_->finish();
  const Window window = *question_.window;
  if (SeriesSink* const sink = question_.request.series) {
    keep_series(samples, telemetry.devices(), window, question_.recording.path(), *sink);
  }
  if (runs::GpusAtWork* const work = question_.request.work) {
    runs::add_work({question_.recording, telemetry, samples, *limits_}, window,
                   question_.request.gpus.is_given(), *work);
  }
  const energy::SeriesRules rules{window, question_.request.max_sample_gap_s,
                                  question_.request.clock_offset_s};
  const bool is_held = telemetry.facts().interpolation == Interpolation::hold;
  Reasons doubts =
      is_held ? Reasons() : series_doubts(question_.recording, *keeper_, telemetry, rules);
  energy::WindowDoubts place = energy::window_doubts(
      samples, window, {question_.request.host, question_.request.clock_offset_s},
      question_.request.slack);
  doubts.add(place.certain);
  refuse_averages(telemetry, window, question_.request.max_sample_gap_s, doubts);
  energy::WindowDoubts same = same_power_doubts(question_.recording, telemetry, samples, window);
  doubts.add(same.certain);
  const Reasons clock = clock_doubts(question_.recording, telemetry, *keeper_, window);
  add_clock_doubts(clock, doubts);
  if (question_.request.schema_version == 2) {
    add_clock_doubts(clock, found.integration.reasons);
    found.integration.reasons.add(doubts);
    if (!is_held) {
      found.series_doubts = possible_series_doubts(samples, telemetry, rules);
    }
    for (const Reasons::Entry& certain : doubts.entries()) {
      found.series_doubts.remove(certain.reason);
    }
    name_silent(telemetry, keeper_->silent(), found.integration.reasons);
    refuse_unseen(samples, telemetry.devices(), question_.request, window,
                  found.integration.reasons);
    if (!question_.request.uncertainty.is_wanted) {
      found.edge_doubt = edge_doubt_of(samples, found.integration, window);
    }
  } else {
    // It takes rows of one time that name no GPU as one for each.
    const bool is_known = !telemetry.facts().has_devices() && has_repeated_stamps(samples);
    if (is_known) doubts.remove(Reason::several_gpus_in_one_series);
    found.series_doubts = std::move(doubts);
  }
  found.series_doubts.add(same.possible);
  if (clock.empty()) {
    found.series_doubts.add(small_clock_doubts(question_.recording, telemetry, *keeper_, window));
    found.series_doubts.add(place.possible);
  }
  // Rows of two times cannot say whether they are of one GPU.
  if (series_ && clock.empty()) conclude_single_series(question_, *series_, found);
}

void RunRows::conclude(const Telemetry& telemetry, Measurement& found) {
  if (onlooker_.conclude) onlooker_.conclude(samples_, telemetry);
  if (question_.snapshots != nullptr) {
    negative_.sort();
    found.counter_check = check_counters(question_.snapshots->start, question_.snapshots->end,
                                         stream_energies(samples_, negative_), telemetry.devices());
  }
  if (!question_.window) return;
  if (has_percentiles(question_.request.keys)) conclude_fleet(telemetry, found.fleet);
  if (mean_) conclude_mean_power(*mean_, telemetry, *limits_, found);
  if (window_rows_) conclude_integration(telemetry, found);
  conclude_kept(telemetry, found);
  found.limits = limits_->in_force(telemetry.devices());
  std::erase_if(found.limits, [&](const GpuLimit& limit) {
    return std::ranges::count(found.integration.gpu_ids, limit.gpu) == 0;
  });
}

// Takes the rows again that are out of order, in stretches of time that fit into memory.
void take_in_order(const Recording& recording, const Telemetry& first, RunRows& rows) {
  for (const Window& part : rows.parts(recording.bytes())) {
    const auto begin = [&](const Telemetry&) {
      rows.begin(part);
      return rows.states();
    };
    const Telemetry again =
        read_whole(recording, {.take = [&](const Batch& batch) { rows.take_again(batch); },
                               .begin = begin,
                               .may_use_threads = false});
    if (again.rows() != first.rows() || again.stamps() != first.stamps() ||
        again.skipped() != first.skipped() || again.devices() != first.devices()) {
      throw FileError(recording.path(), "read it twice: it was changed in between", EBUSY);
    }
    rows.end();
  }
}

// The findings for a recording that lacks columns.
Measurement without_columns(const Question& question, const Telemetry& telemetry,
                            const Reasons& missing) {
  Measurement found;
  if (question.window) {
    add_expected_count_reason(question.request, found.integration.reasons);
    found.integration.reasons.add(missing);
    for (const Reasons::Entry& entry : telemetry.facts().reasons.entries()) {
      if (entry.reason > Reason::gpu_identity_column_missing) {
        found.column_faults.add(entry.reason);
      }
    }
  }
  if (question.snapshots != nullptr) {
    found.counter_check =
        check_counters(question.snapshots->start, question.snapshots->end, {}, telemetry.devices());
  }
  return found;
}

// The findings for a recording that could not be read to its end, or whose time zone is unknown.
// `rows`, if given, has taken all that count.
Measurement broken_off(const Question& question, const Recording::ZoneFault& fault,
                       const WindowRows* rows, const Telemetry* telemetry) {
  Measurement found;
  found.could_not_read = fault.is_of_system;
  if (!question.window) return found;
  const std::vector<std::string> devices =
      telemetry != nullptr ? telemetry->devices() : std::vector<std::string>();
  const IntegrationOptions options = integration_options(question);
  found.integration = abandoned(options, rows != nullptr ? *rows : WindowRows(options),
                                Reason::telemetry_file_unreadable, fault.text, devices);
  return found;
}

// A recorder that was stopped during the load did not measure it.
void refuse_pauses(const Question& question, const Telemetry& telemetry, Measurement& found) {
  if (!question.window) return;
  for (const Window& pause : telemetry.pauses()) {
    if (pause.start_unix_s >= question.window->end_unix_s ||
        pause.end_unix_s <= question.window->start_unix_s) {
      continue;
    }
    found.integration.reasons.add(Reason::sampling_gap_exceeded,
                                  fmt::format("the recorder was stopped from {:.3f} to {:.3f}",
                                              pause.start_unix_s, pause.end_unix_s));
    return;
  }
}

void refuse_conflicts(const Question& question, const Telemetry& telemetry, Measurement& found) {
  const std::vector<std::string>& conflicts = telemetry.identity_conflicts();
  if (!question.window || question.request.schema_version == 1 || conflicts.empty()) return;
  found.integration.reasons.add(
      Reason::gpu_identity_conflict,
      conflicts.size() == 1 ? conflicts[0]
                            : fmt::format("{}; {} more", conflicts[0], conflicts.size() - 1));
}

// A single reading may be of a row that is torn.
void find_unread(const Telemetry& telemetry, const RowExtent& extent, Measurement& found) {
  constexpr std::uint64_t kFewReadings = 1;
  const std::vector<std::string>& ids = found.integration.gpu_ids;
  if (ids.empty()) return;
  const std::set<std::string_view> read(ids.begin(), ids.end());
  for (std::size_t i = 0; i < telemetry.devices().size(); ++i) {
    const std::string& name = telemetry.devices()[i];
    if (extent.readings(i) <= kFewReadings) continue;
    if (!read.contains(name)) found.unread_gpus.push_back(name);
  }
}

void check_selection(const Question& question, const Telemetry& telemetry, Measurement& found) {
  const GpuSelection& gpus = question.request.gpus;
  if (!gpus.is_given() || !question.window || question.request.is_one_of_several) return;
  const SelectableGpus all{telemetry.devices(), found.integration.gpu_ids, telemetry.facts(),
                           telemetry.keys()};
  std::string fault = selection_fault(gpus, std::span(&all, 1));
  if (fault.empty()) return;
  Reasons reasons;  // this one first, because others may follow from it
  reasons.add(Reason::selected_gpu_missing, std::move(fault));
  reasons.add(found.integration.reasons);
  reasons.explain(Reason::no_usable_power_samples, "of the GPUs that --gpus names");
  found.integration.reasons = std::move(reasons);
}

// Says with the first reason that rows without power lead to what the first of them has.
void name_misfit(const std::string& misfit, Reasons& reasons) {
  Reasons explained;
  bool is_named = false;
  for (const Reasons::Entry& entry : reasons.entries()) {
    const bool is_of_rows = entry.reason == Reason::invalid_power_sample ||
                            entry.reason == Reason::no_usable_power_samples;
    const bool names = is_of_rows && !std::exchange(is_named, is_named || is_of_rows);
    const std::string_view between = entry.detail.empty() ? "" : "; ";
    explained.add(entry.reason,
                  names ? fmt::format("{}{}{}", entry.detail, between, misfit) : entry.detail,
                  entry.obstacle);
  }
  reasons = std::move(explained);
}

// Adds details to reasons that do not explain themselves.
void explain_reasons(const Question& question, const Telemetry& telemetry, const RowExtent& extent,
                     Measurement& found) {
  Reasons& reasons = found.integration.reasons;
  if (std::string text = bad_stamps_text(telemetry); !text.empty()) {
    reasons.explain(Reason::invalid_timestamp_sample, std::move(text));
  }
  if (!telemetry.first_misfit().empty()) name_misfit(telemetry.first_misfit(), reasons);
  if (!telemetry.facts().foreign.empty()) {
    reasons.explain(Reason::no_usable_power_samples, telemetry.facts().foreign);
  }
  if (!reasons.contains(Reason::no_usable_power_samples) || !question.request.explains) return;
  NoSamples why = explain_no_samples(question.recording, extent, telemetry, *question.window);
  if (why.detail.empty()) return;
  reasons.explain(Reason::no_usable_power_samples, std::move(why.detail));
  found.zone_hint = std::move(why.zone_hint);
}

// What the readings of `telemetry` say; if it cannot be opened, only `fault` is known.
Measurement read(const Question& question, std::optional<Telemetry>& telemetry) {
  Measurement found;
  std::optional<RunRows> rows;
  std::optional<CounterGatherer> counters;
  std::optional<Recording::ZoneFault> fault;
  try {
    telemetry.emplace(question.recording.open());
    Reasons missing = missing_columns(telemetry->facts(), question.request);
    if (question.window && question.request.schema_version == 1 &&
        telemetry->facts().interpolation == Interpolation::hold) {
      missing.add(Reason::power_only_on_change);
    }
    if (question.window && telemetry->facts().sensor.scope == "wall") {
      missing.add(Reason::power_column_missing,
                  "it is the power of whole machines at the wall, and of no GPU");
    }
    if (!missing.empty()) return without_columns(question, *telemetry, missing);
    rows.emplace(question, telemetry->facts());
    if (rows->window_rows() != nullptr && telemetry->facts().counter) {
      telemetry->read_counters_too(counters.emplace(*question.window).stream());
    }
    read_rows(question.recording, *telemetry, question.request.may_use_threads, rows->states(),
              [&](const Batch& batch) { rows->take(batch); });
    rows->end();
    if (rows->is_out_of_order()) take_in_order(question.recording, *telemetry, *rows);
  } catch (const TelemetryError& error) {
    fault = {fmt::format("{}: {}", question.recording.path(), error.what()), false};
  } catch (const FileError& error) {
    fault = {error.what(), true};
  }
  const WindowRows* window_rows = rows ? rows->window_rows() : nullptr;
  if (telemetry) {
    if (const auto* const zone_fault = question.recording.needed_zone_fault(*telemetry)) {
      const bool is_of_system = fault && fault->is_of_system;
      fault = {zone_fault->text, zone_fault->is_of_system || is_of_system};
      window_rows = nullptr;  // everything found depends on the times of the rows
    }
  }
  if (fault) return broken_off(question, *fault, window_rows, telemetry ? &*telemetry : nullptr);
  rows->conclude(*telemetry, found);
  if (counters) found.counters = counters->finish();
  refuse_pauses(question, *telemetry, found);
  refuse_conflicts(question, *telemetry, found);
  find_unread(*telemetry, rows->extent(), found);
  check_selection(question, *telemetry, found);
  explain_reasons(question, *telemetry, rows->extent(), found);
  return found;
}

void keep_selected(const GpuSelection& gpus, EnergySnapshots& snapshots) {
  for (auto* const joules : {&snapshots.start, &snapshots.end}) {
    std::erase_if(*joules, [&](const auto& gpu) { return !gpus.has(gpu.first, false); });
  }
}

Measurement read(const Question& question) {
  std::optional<Telemetry> telemetry;
  Measurement found = read(question, telemetry);
  if (telemetry) {
    found.telemetry = facts_of(*telemetry, question);
    found.telemetry->unread_gpus = found.unread_gpus;
    found.devices = telemetry->devices();
    found.zone_doubt = question.recording.zone_doubt(*telemetry);
  }
  return found;
}

}  // namespace

PlausibleWatts plausible_watts(const SeriesFacts& facts) {
  return plausible_watts(facts.sensor.scope, facts.has_power_limit);
}

bool are_large(const SeriesFacts& facts) {
  return !facts.gpu_models.empty() && std::ranges::all_of(facts.gpu_models, is_large_gpu);
}

bool has_own_limit(const SeriesFacts& facts) {
  return facts.has_power_limit && measured_boundary(facts.sensor.scope) == "gpu";
}

Measurement measure(const MeasurementRequest& request, const Recording& recording,
                    const std::optional<Load>& load) {
  std::optional<EnergySnapshots> snapshots =
      request.with_snapshots ? read_energy_snapshots(recording) : std::nullopt;
  if (snapshots && request.gpus.is_given()) keep_selected(request.gpus, *snapshots);
  const bool compares = snapshots && snapshots->unavailable.empty() && is_readable(recording);
  const Reasons refused = load ? refusal(request, recording) : Reasons();

  Question question{request, recording, load, {}, compares ? &*snapshots : nullptr};
  if (load && refused.empty()) question.window = load->window;
  Measurement found;
  if (question.window || compares) found = read(question);
  found.integration.expected_num_gpus = request.expected_num_gpus;
  if (!refused.empty()) found.integration.reasons = refused;
  if (snapshots && snapshots->could_not_read) found.could_not_read = true;
  if (snapshots && !found.counter_check) {
    found.counter_check.emplace();
    found.counter_check->unavailable =
        snapshots->unavailable.empty() ? "cross_check_error" : snapshots->unavailable;
  }
  return found;
}

// ---- Measures a recording and computes the result.

namespace {

Metrics metrics_of(const Measurement& measurement, const Result& result) {
  const Load& load = *result.load;
  if (result.way == Way::sample_mean) {
    return sample_mean_metrics(measurement.mean_power->avg_power_w, measurement.mean_power->gpus,
                               load);
  }
  const Integration& integration = measurement.integration;
  return energy_metrics({.energy_j = *integration.total_gpu_energy_j,
                         .gpus = integration.gpus.size(),
                         .load = load,
                         .fleet = measurement.fleet,
                         .contract = result.contract});
}

// Schema 1 takes the mean of whatever samples are in the window.
std::string partial_coverage(const MeanPower& mean, Window window) {
  if (mean.first_unix_s - window.start_unix_s <= kDefaultMaxSampleGapS &&
      window.end_unix_s - mean.last_unix_s <= kDefaultMaxSampleGapS) {
    return {};
  }
  return fmt::format(
      "partial_coverage: the samples in the window begin {:.3f} s after its start and end {:.3f} s before its end; the mean covers only that part",
      mean.first_unix_s - window.start_unix_s, window.end_unix_s - mean.last_unix_s);
}

// A column that names hosts or jobs may stand for several GPUs, and a mean of them for one.
std::optional<std::string> doubt_about_devices(const SeriesFacts& series) {
  if (!series.device_column || !is_place_name(*series.device_column)) return std::nullopt;
  return fmt::format(
      "host_as_gpu: '{}' names no GPUs: what it names counts as one each; if one has several, their sum must be in each row, and not their mean",
      printable(*series.device_column));
}

// Oddities of a recording that gave metrics.
std::vector<std::string> doubts(const Result& result, const Measurement& measurement) {
  std::vector<std::string> doubts;
  const bool is_mean = result.way == Way::sample_mean;
  if (is_mean && !result.telemetry->series.has_devices()) {
    doubts.emplace_back(
        "no_device_column: rows with the same timestamp are taken as one for each GPU");
  } else if (!result.telemetry->series.has_devices()) {
    doubts.emplace_back("no_device_column: all rows are taken as those of one GPU");
  }
  if (auto doubt = doubt_about_devices(result.telemetry->series)) {
    doubts.push_back(std::move(*doubt));
  }
  for (const auto& [cause, rows] : result.telemetry->skipped) {
    if (is_mean || cause != "bad_timestamp" || rows == 0) continue;
    doubts.push_back(fmt::format(
        "bad_timestamp: rows whose time cannot be read: {}; all are away from the window", rows));
  }
  if (auto silent = silent_series_text(result.telemetry->silent_series)) {
    doubts.push_back(std::move(*silent));
  }
  const SeriesFacts& series = result.telemetry->series;
  const double usual_w = plausible_watts(series).usual_w;
  if (auto doubt = doubt_about(*value_of(result.metrics, "avg_power_w"), usual_w)) {
    doubts.push_back(std::move(*doubt));
  }
  append(doubts,
         odd_samples_text(measurement.integration.gpu_ids, measurement.integration.gpus, usual_w));
  if (is_mean) {
    std::string gap = partial_coverage(*measurement.mean_power, result.load->window);
    if (!gap.empty()) doubts.push_back(std::move(gap));
  }
  return doubts;
}

// Whether a GPU was not sampled for much longer than from sample to sample.
bool has_hole(const GpuResult& gpu) {
  constexpr double kMuchLonger = 3;
  const double length_s = gpu.energy.last_unix_s - gpu.energy.first_unix_s;
  const double intervals = std::max(1.0, static_cast<double>(gpu.energy.samples) - 1);
  return gpu.energy.max_sample_gap_s > kMuchLonger * length_s / intervals;
}

// Longer gaps than usual were allowed, and the power in them is not known.
std::optional<std::string> gap_doubt(const Result& result, std::span<const GpuResult> gpus) {
  constexpr double kLittle = 0.02;  // of the energy
  if (std::ranges::none_of(gpus, has_hole)) return std::nullopt;
  const double energy_j = value_of(result.metrics, "total_gpu_energy_j").value_or(0);
  if (!result.gap_bound || result.gap_bound->total_j <= kLittle * energy_j) return std::nullopt;
  return fmt::format(
      "long_gaps: between the samples of gaps longer than {:g} s the power is not known: the energy may be off by up to {:.6g} J ({:.0f} %)",
      kDefaultMaxSampleGapS, result.gap_bound->total_j, 100 * result.gap_bound->total_j / energy_j);
}

std::vector<GpuResult> gpu_results_of(const Integration& integration) {
  std::vector<GpuResult> gpus;
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    gpus.push_back({integration.gpu_ids[i], integration.gpus[i], integration.issues[i]});
  }
  return gpus;
}

}  // namespace

Result unmeasured(const MeasurementRequest& request, const std::optional<Load>& load,
                  const Reasons& reasons) {
  Result result;
  result.way = request.schema_version == 1 ? Way::sample_mean : Way::one_node;
  result.load = load;
  result.reasons = reasons;
  result.accepts = request.accepted;
  result.expected_gpus = request.expected_num_gpus;
  result.selected_gpus = request.gpus.names;
  result.contract = request.contract;
  result.keys = request.keys;
  if (has_percentiles(request.keys)) result.fleet.emplace();
  refuse_extras(request, result);
  return result;
}

Result assess(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading) {
  Result result = unmeasured(request, reading.load, reading.reasons);
  Measurement measurement = measure(request, recording, reading.load);
  const Integration& integration = measurement.integration;
  if (reading.load) {
    result.recorded_counters =
        compare_with_counters(request, recording, reading.load->window, measurement);
  }
  result.reasons.add(integration.reasons);
  accept_reasons(result);
  result.expected_gpus = integration.expected_num_gpus;
  result.observed_gpu_ids = integration.gpu_ids;
  result.observed_gpus = integration.gpu_ids.size();
  result.gpus = gpu_results_of(integration);
  result.boundary_degenerate_rows = integration.boundary_degenerate_rows;
  result.telemetry = std::move(measurement.telemetry);
  result.limits = std::move(measurement.limits);
  result.counters = std::move(measurement.counter_check);
  result.causes = std::move(measurement.column_faults);
  result.could_not_read = measurement.could_not_read;
  result.fits_window = measurement.mean_power.has_value() ||
                       std::ranges::any_of(integration.gpus, &DeviceEnergy::bracketed);
  if (measurement.zone_hint && !reading.is_on_recorders_clock)
    result.hints.push_back(*measurement.zone_hint + kOrAnotherRun);
  if (measurement.zone_doubt) result.warnings.push_back(std::move(*measurement.zone_doubt));
  const auto warn = [&](const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      result.warnings.push_back(fmt::format("{}: {}", recording.path(), warning));
    }
  };
  if (result.telemetry) warn(result.telemetry->series.warnings);
  if (result.is_valid() && result.load) {
    result.metrics = metrics_of(measurement, result);
    result.metric_gpus =
        measurement.mean_power ? measurement.mean_power->gpus : integration.gpus.size();
    result.gap_bound = std::move(measurement.gap_bound);
    warn(doubts(result, measurement));
    if (auto text = gap_doubt(result, gpu_results_of(integration))) warn({std::move(*text)});
    if (measurement.edge_doubt) warn({std::move(*measurement.edge_doubt)});
    warn(results::limit_warnings(result.limits));
    for (const Reasons::Entry& entry : measurement.series_doubts.entries()) {
      warn({fmt::format("{}: {}", code(entry.reason), entry.detail)});
    }
    for (const std::string_view key : not_finite(result.metrics)) {
      result.reasons.add(Reason::aggregate_result_unwritable,
                         fmt::format("'{}' is too large for a number", key));
    }
    if (result.is_valid()) result.reasons.add(zero_metrics(result.metrics));
  }
  if (has_percentiles(request.keys)) result.fleet = std::move(measurement.fleet);
  const bool is_refuted = result.reasons.contains(Reason::counter_contradicts) ||
                          result.accepted.contains(Reason::counter_contradicts);
  if (result.recorded_counters && !is_refuted) warn(doubts_about(*result.recorded_counters));
  if (request.readings != nullptr) {
    *request.readings = {};
    if (result.telemetry && result.load) {
      *request.readings =
          wanted_readings(request, recording, result.load->window, std::move(measurement.gathered),
                          integration, result.telemetry->series);
    }
  }
  return result;
}

}  // namespace aggregate_power
