// Runs the analyses of a recording and collects their findings.
#include "runs/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/text/unicode.h"
#include "energy/analysis.h"
#include "energy/gap_bound.h"
#include "energy/plausibility.h"
#include "energy/single_series.h"
#include "recorders/device_names.h"
#include "recorders/energy_snapshot.h"
#include "recorders/gpu_selection.h"
#include "runs/explain.h"
#include "runs/pass.h"

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
  add(facts.has_power(), Reason::power_column_missing);
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
  if (telemetry.stamps() > 0 && telemetry.naive_stamps() == 0) {
    facts.timezone = "UTC";
    facts.timezone_source = "stamps";
  }
  if (question.recording.needed_zone_fault(telemetry) != nullptr) {
    facts.timezone.clear();
    facts.timezone_source.clear();
  } else if (question.load && std::abs(question.load->window.start_unix_s) < 1e11) {
    const auto start = static_cast<std::int64_t>(question.load->window.start_unix_s);
    facts.utc_offset =
        offset_text(facts.timezone_source == "stamps" ? 0 : telemetry.zone().offset_at(start));
  }
  return facts;
}

// Adds a reason for every GPU whose mean over the window is impossible for a GPU.
void refuse_impossible(Integration& integration, Window window, PowerUnit::Size read_as) {
  for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
    const double mean_w = integration.gpus[i].energy_j / window.duration_s();
    if (!is_impossible(mean_w)) continue;
    integration.reasons.add(Reason::implausible_power,
                            fmt::format("GPU {}: {}", printable(integration.gpu_ids[i]),
                                        impossible_gpu_text(integration.gpus[i], mean_w, read_as)));
    if (!integration.issues[i]) integration.issues[i] = Reason::implausible_power;
  }
}

// The same for schema 1: for the mean of a GPU's samples, and for the mean that would be published.
Reasons impossible_means(const MeanPowerGatherer& gatherer, const MeanPower& published,
                         const Telemetry& telemetry) {
  Reasons reasons;
  const PowerUnit::Size read_as = telemetry.facts().unit;
  const auto refuse = [&](const std::string& whose, double mean_w) {
    if (!is_impossible(mean_w)) return;
    reasons.add(Reason::implausible_power, whose + impossible_mean_text(mean_w, read_as));
  };
  for (const std::uint32_t device : gatherer.devices()) {
    refuse(fmt::format("GPU {}: ", printable(telemetry.devices()[device])),
           gatherer.mean_w(device));
  }
  refuse("per GPU ", published.avg_power_w);
  return reasons;
}

void conclude_mean_power(MeanPowerGatherer& gatherer, const Telemetry& telemetry,
                         Measurement& found) {
  found.mean_power = gatherer.finish();
  for (const std::uint32_t device : gatherer.devices()) {
    found.integration.gpu_ids.push_back(telemetry.devices()[device]);
  }
  std::ranges::sort(found.integration.gpu_ids, device_name_less);
  if (!found.mean_power) {
    found.integration.reasons.add(Reason::no_usable_power_samples);
  } else {
    found.integration.reasons.add(impossible_means(gatherer, *found.mean_power, telemetry));
  }
}

CounterCheck check_stream(const Question& question, StreamEnergy& stream,
                          const Telemetry& telemetry) {
  stream.finish();
  return check_counters(question.snapshots->start, question.snapshots->end, stream,
                        telemetry.devices());
}

IntegrationOptions integration_options(const Question& question) {
  return {*question.window, question.request.expected_num_gpus, question.request.max_sample_gap_s,
          question.request.contract};
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

// Passes all readings on, in the order of the file.
class Onlooker final : public Analysis {
 public:
  explicit Onlooker(const std::function<void(std::span<const Reading>)>& look) : look_(look) {}
  void take(std::span<const Reading> readings) override { look_(readings); }

 private:
  const std::function<void(std::span<const Reading>)>& look_;
};

void add_fleet(const Question& question, Passes& passes, FleetMeasurement& found) {
  const Window window = *question.window;
  const double max_gap_s = question.request.max_sample_gap_s;
  passes.add(FleetPowerGatherer(window, max_gap_s),
             [&found](FleetPowerGatherer& gatherer, const Telemetry&) {
               found.power = gatherer.finish();
               found.samples_in_window = gatherer.samples_in_window();
             });
  for (std::size_t i = 0; i < kReportedQuantities; ++i) {
    passes.add(StateMean(static_cast<GpuQuantity>(i), window, max_gap_s),
               [&state = found.states[i]](StateMean& mean, const Telemetry& telemetry) {
                 state = mean.finish(telemetry.devices());
               });
  }
}

GapEnergyBound bound_of(const GapBound& gaps, std::span<const std::string> devices) {
  GapEnergyBound bound;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    bound.per_gpu_j.emplace_back(devices[i], gaps.bound_j(i));
    bound.total_j += bound.per_gpu_j.back().second;
  }
  return bound;
}

// Adds everything that is asked of a recording's readings; the recording may have no device column.
// The findings go to `found`. Returns the integrator if one is needed.
const PowerIntegrator* add_analyses(const Question& question, const SeriesFacts& facts,
                                    Passes& passes, Measurement& found) {
  const MeasurementRequest& request = question.request;
  if (request.also) passes.add(Onlooker(request.also));
  if (request.beside) request.beside(passes, facts);
  if (question.snapshots != nullptr) {
    passes.add(StreamEnergy(), [&](StreamEnergy& stream, const Telemetry& telemetry) {
      found.counter_check = check_stream(question, stream, telemetry);
    });
  }
  if (!question.window) return nullptr;
  if (request.extended) add_fleet(question, passes, found.fleet);
  if (request.schema_version == 1) {
    passes.add(MeanPowerGatherer(*question.window, facts.has_devices()),
               [&](MeanPowerGatherer& gatherer, const Telemetry& telemetry) {
                 conclude_mean_power(gatherer, telemetry, found);
               });
    return nullptr;
  }
  const PowerIntegrator& integrator =
      passes.add(PowerIntegrator(integration_options(question)),
                 [&](PowerIntegrator& added, const Telemetry& telemetry) {
                   found.integration = added.finish(telemetry.devices());
                   refuse_impossible(found.integration, *question.window, telemetry.facts().unit);
                 });
  if (request.max_sample_gap_s > kDefaultMaxSampleGapS &&
      rules_of(request.contract).bounds_gap_energy) {
    passes.add(GapBound(*question.window), [&](GapBound& gaps, const Telemetry& telemetry) {
      found.gap_bound = bound_of(gaps, telemetry.devices());
    });
  }
  if (request.uncertainty.is_wanted || !request.idle.empty()) {
    passes.add(ReadingGatherer(*question.window),
               [&](ReadingGatherer& gatherer, const Telemetry& telemetry) {
                 found.gathered = gatherer.finish(telemetry.devices());
               });
  }
  if (is_of_only_gpu(facts, request)) {
    passes.add(SingleSeries(), [&](SingleSeries& series, const Telemetry&) {
      conclude_single_series(question, series, found);
    });
  }
  return &integrator;
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
    StreamEnergy nothing;
    found.counter_check = check_stream(question, nothing, telemetry);
  }
  return found;
}

// The findings for a recording that could not be read to its end, or whose time zone is unknown.
// `integrator`, if given, has taken all readings that count.
Measurement broken_off(const Question& question, const Recording::ZoneFault& fault,
                       const PowerIntegrator* integrator, const Telemetry* telemetry) {
  Measurement found;
  found.could_not_read = fault.is_of_system;
  if (!question.window) return found;
  const std::vector<std::string> devices =
      telemetry != nullptr ? telemetry->devices() : std::vector<std::string>();
  const auto abandon = [&](const PowerIntegrator& with) {
    return with.abandon(Reason::telemetry_file_unreadable, fault.text, devices);
  };
  found.integration = integrator != nullptr
                          ? abandon(*integrator)
                          : abandon(PowerIntegrator(integration_options(question)));
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

void check_selection(const Question& question, const Telemetry& telemetry, Measurement& found) {
  const GpuSelection& gpus = question.request.gpus;
  if (!gpus.is_given() || !question.window) return;
  std::string fault =
      selection_fault(gpus, telemetry.devices(), found.integration.gpu_ids, telemetry.facts());
  if (fault.empty()) return;
  Reasons reasons;  // this one first, because others may follow from it
  reasons.add(Reason::selected_gpu_missing, std::move(fault));
  reasons.add(found.integration.reasons);
  reasons.explain(Reason::no_usable_power_samples, "of the GPUs that --gpus names");
  found.integration.reasons = std::move(reasons);
}

// Adds details to reasons that do not explain themselves.
void explain_reasons(const Question& question, const Telemetry& telemetry, Measurement& found) {
  Reasons& reasons = found.integration.reasons;
  if (std::string text = bad_stamps_text(telemetry); !text.empty()) {
    reasons.explain(Reason::invalid_timestamp_sample, std::move(text));
  }
  if (!telemetry.facts().foreign.empty()) {
    reasons.explain(Reason::no_usable_power_samples, telemetry.facts().foreign);
  }
  if (!reasons.contains(Reason::no_usable_power_samples) || !question.request.explains) return;
  try {
    NoSamples why = explain_no_samples(question.recording, telemetry, *question.window,
                                       question.request.may_use_threads);
    if (why.detail.empty()) return;
    reasons.explain(Reason::no_usable_power_samples, std::move(why.detail));
    found.zone_hint = std::move(why.zone_hint);
  } catch (const std::exception&) {  // changed meanwhile: no more details
  }
}

// What the readings of `telemetry` say; if it cannot be opened, only `fault` is known.
Measurement read(const Question& question, std::optional<Telemetry>& telemetry) {
  Measurement found;
  Passes passes(question.request.may_use_threads);
  const PowerIntegrator* integrator = nullptr;
  std::optional<CounterGatherer> counters;
  std::optional<Recording::ZoneFault> fault;
  try {
    telemetry.emplace(question.recording.open());
    Reasons missing = missing_columns(telemetry->facts(), question.request);
    if (question.window && telemetry->facts().interpolation == Interpolation::hold) {
      missing.add(Reason::power_only_on_change);
    }
    if (question.window && telemetry->facts().sensor.scope == "wall") {
      missing.add(Reason::power_column_missing,
                  "it is the power of whole machines at the wall, and of no GPU");
    }
    if (!missing.empty()) return without_columns(question, *telemetry, missing);
    integrator = add_analyses(question, telemetry->facts(), passes, found);
    if (integrator != nullptr && telemetry->facts().counter) {
      telemetry->read_counters_too(counters.emplace(*question.window).stream());
    }
    passes.read(question.recording, *telemetry);
  } catch (const TelemetryError& error) {
    fault = {fmt::format("{}: {}", question.recording.path(), error.what()), false};
  } catch (const FileError& error) {
    fault = {error.what(), true};
  }
  if (telemetry) {
    if (const auto* const zone_fault = question.recording.needed_zone_fault(*telemetry)) {
      const bool is_of_system = fault && fault->is_of_system;
      fault = {zone_fault->text, zone_fault->is_of_system || is_of_system};
      integrator = nullptr;  // everything found depends on the times of the rows
    }
  }
  if (fault) return broken_off(question, *fault, integrator, telemetry ? &*telemetry : nullptr);
  passes.conclude(*telemetry);
  if (counters) found.counters = counters->finish();
  refuse_pauses(question, *telemetry, found);
  check_selection(question, *telemetry, found);
  explain_reasons(question, *telemetry, found);
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
    found.devices = telemetry->devices();
    found.zone_doubt = question.recording.zone_doubt(*telemetry);
  }
  return found;
}

}  // namespace

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

}  // namespace aggregate_power
