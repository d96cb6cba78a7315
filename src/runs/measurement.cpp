// What a recording says about a window.
#include "runs/measurement.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/encoding.h"
#include "base/text/unicode.h"
#include "energy/plausibility.h"
#include "energy/time_sorter.h"
#include "recorders/device_names.h"
#include "recorders/energy_snapshot.h"

namespace aggregate_power {
namespace {

// The columns that schema `version` cannot do without, in the contract's order and words.
Reasons missing_columns(const Columns& columns, int version) {
  std::string detail;
  for (const Reasons::Entry& entry : columns.reasons.entries()) {
    if (entry.reason <= Reason::gpu_identity_column_missing) {
      if (detail.empty()) detail = entry.detail;
      continue;
    }
    detail += fmt::format("{}{}", detail.empty() ? "" : "; ", code(entry.reason));
    if (!entry.detail.empty()) detail += ": " + entry.detail;
  }
  Reasons missing;
  const auto add = [&](const auto& column, Reason reason) {
    if (!column) missing.add(reason, missing.empty() ? detail : "");
  };
  add(columns.timestamp, Reason::timestamp_column_missing);
  add(columns.power, Reason::power_column_missing);
  const bool needs_device = version == 2 ||
                            columns.reasons.contains(Reason::model_name_as_device) ||
                            columns.reasons.contains(Reason::named_column_missing);
  if (needs_device) add(columns.device, Reason::gpu_identity_column_missing);
  return missing;
}

// The energy snapshots beside a recording.
struct Snapshots {
  std::string unavailable;  // why they cannot be compared
  bool could_not_read = false;
  EnergySnapshot start;
  EnergySnapshot end;
};

// Nothing when there is neither.
std::optional<Snapshots> read_snapshots(const Recording& recording) {
  Snapshots snapshots;
  std::unique_ptr<ByteSource> start;
  std::unique_ptr<ByteSource> end;
  const auto read = [&](const char* which, std::unique_ptr<ByteSource> source,
                        EnergySnapshot& into) {
    if (!snapshots.unavailable.empty()) return;
    const auto joules = read_energy_snapshot(*as_utf8(std::move(source)));
    if (joules) {
      into = *joules;
    } else {
      snapshots.unavailable = fmt::format("unparseable_{}_snapshot", which);
    }
  };
  try {
    start = recording.beside("_energy_start.csv");
    end = recording.beside("_energy_end.csv");
    if (!start && !end) return std::nullopt;
    if (!start || !end) {
      snapshots.unavailable = fmt::format("missing_{}_snapshot", start ? "end" : "start");
      return snapshots;
    }
    read("start", std::move(start), snapshots.start);
    read("end", std::move(end), snapshots.end);
  } catch (const FileError&) {
    snapshots.unavailable = "cross_check_error";
    snapshots.could_not_read = true;
  } catch (const std::exception&) {
    snapshots.unavailable = "cross_check_error";
  }
  return snapshots;
}

// All GPUs together, over a window.
struct Fleet {
  Fleet(Window of, double max_sample_gap_s) : window(of), power(of, max_sample_gap_s) {
    for (std::size_t i = 0; i < kGpuQuantities; ++i) states.emplace_back(window, max_sample_gap_s);
  }

  void take(std::span<const Reading> readings, std::span<const GpuState> found) {
    power.take(readings);
    for (std::size_t i = 0; i < kGpuQuantities; ++i) {
      states[i].take(readings_of(static_cast<GpuQuantity>(i), readings, found, window));
    }
  }

  Window window;
  FleetPowerGatherer power;
  std::vector<StateMean> states;  // by quantity
};

class Measurer {
 public:
  Measurer(const MeasurementRequest& request, const Recording& recording,
           const std::optional<Load>& load)
      : request_(request), recording_(recording), benchmark_(load) {
    if (request.with_snapshots) snapshots_ = read_snapshots(recording);
    result_.could_not_read = snapshots_ && snapshots_->could_not_read;
  }

  Measurement measure() {
    result_.integration.expected_num_gpus = request_.expected_num_gpus;
    bool wants_window = false;
    if (benchmark_) wants_window = check_request();
    const bool is_readable = !recording_.faults().contains(Reason::telemetry_file_missing) &&
                             !recording_.faults().contains(Reason::telemetry_file_unreadable);
    if (snapshots_ && snapshots_->unavailable.empty() && !is_readable) {
      snapshots_->unavailable = "cross_check_error";
    }
    const bool wants_stream = snapshots_ && snapshots_->unavailable.empty();
    if (wants_window || wants_stream) read(wants_window, wants_stream);
    if (snapshots_ && !result_.counter_check) {
      result_.counter_check.emplace();
      result_.counter_check->unavailable = snapshots_->unavailable;
    }
    return std::move(result_);
  }

 private:
  // Whether the telemetry needs to be read for the window.
  bool check_request() {
    Reasons& reasons = result_.integration.reasons;
    if (request_.schema_version == 2 &&
        (!std::isfinite(request_.max_sample_gap_s) || request_.max_sample_gap_s <= 0)) {
      reasons.add(Reason::invalid_max_sample_gap, fmt::format("{}", request_.max_sample_gap_s));
      return false;
    }
    if (recording_.faults().empty()) return true;
    add_expected_count_reason();
    reasons.add(recording_.faults());
    return false;
  }

  void add_expected_count_reason() {
    if (request_.schema_version == 2 && request_.expected_num_gpus &&
        *request_.expected_num_gpus <= 0) {
      result_.integration.reasons.add(Reason::invalid_expected_gpu_count,
                                      fmt::format("{}", *request_.expected_num_gpus));
    }
  }

  void read(bool wants_window, bool wants_stream) {
    Window window;
    if (wants_window) window = benchmark_->window;
    const IntegrationOptions options = {window, request_.expected_num_gpus,
                                        request_.max_sample_gap_s};
    PowerIntegrator integrator(options);
    StreamEnergy stream;
    std::optional<Telemetry> telemetry;
    std::string fault;
    try {
      telemetry.emplace(recording_.open());
      const Columns& columns = telemetry->columns();
      const Reasons missing = missing_columns(columns, request_.schema_version);
      if (!missing.empty()) {
        note_telemetry(*telemetry);
        if (wants_window) {
          add_expected_count_reason();
          result_.integration.reasons.add(missing);
          for (const Reasons::Entry& entry : columns.reasons.entries()) {
            if (entry.reason > Reason::gpu_identity_column_missing) {
              result_.column_faults.add(entry.reason);
            }
          }
        }
        finish_stream(stream, *telemetry, wants_stream);
        return;
      }
      MeanPowerGatherer gatherer(window, columns.device.has_value());
      const auto take = [&](std::span<const Reading> readings) {
        if (request_.also) request_.also(readings);
        if (wants_window && request_.schema_version == 2) integrator.take(readings);
        if (wants_window && request_.schema_version == 1) gatherer.take(readings);
        if (wants_stream) stream.take(readings);
      };
      std::optional<Fleet> fleet;
      if (wants_window && request_.extended) {
        fleet.emplace(window, request_.max_sample_gap_s);
        telemetry->read_with_states(
            [&](std::span<const Reading> readings, std::span<const GpuState> states) {
              take(readings);
              fleet->take(readings, states);
            });
      } else {
        telemetry->read(take);
      }
      // Rows are mostly in time order and then need no memory. When they are not, again, sorted.
      constexpr double kForever = std::numeric_limits<double>::infinity();
      if (integrator.out_of_order()) {
        integrator.start_over();
        read_sorted(*telemetry, integrator.band(), exactly, all_readings, integrator);
      }
      if (fleet) finish_fleet(*fleet, *telemetry);
      if (gatherer.out_of_order()) {
        gatherer = MeanPowerGatherer(window, columns.device.has_value());
        const auto to_ms = [](double unix_s) { return static_cast<double>(rounded_ms(unix_s)); };
        read_sorted(*telemetry, window, to_ms, all_readings, gatherer);
      }
      if (stream.out_of_order()) {
        stream = StreamEnergy();
        read_sorted(*telemetry, {-kForever, kForever}, exactly, all_readings, stream);
      }
      if (wants_window && request_.schema_version == 1) {
        result_.mean_power = gatherer.finish();
        for (const std::uint32_t device : gatherer.devices()) {
          result_.integration.gpu_ids.push_back(telemetry->devices()[device]);
        }
        std::ranges::sort(result_.integration.gpu_ids, device_name_less);
        if (!result_.mean_power) {
          result_.integration.reasons.add(Reason::no_usable_power_samples);
        } else {
          refuse_impossible(gatherer, *telemetry);
        }
      }
    } catch (const CsvError& error) {
      fault = fmt::format("{}: {}", recording_.path(), error.what());
    } catch (const FileError& error) {
      fault = error.what();
      result_.could_not_read = true;
    }
    if (telemetry) note_telemetry(*telemetry);
    const auto* const zone_fault = telemetry ? recording_.needed_zone_fault(*telemetry) : nullptr;
    if (zone_fault != nullptr) {
      fault = zone_fault->text;
      result_.could_not_read = result_.could_not_read || zone_fault->is_of_system;
      // All that was found depends on when the rows were.
      integrator = PowerIntegrator(options);
      result_.mean_power.reset();
      result_.fleet = {};
    }
    if (!fault.empty()) {
      if (wants_window) {
        const std::vector<std::string> devices =
            telemetry ? telemetry->devices() : std::vector<std::string>();
        result_.integration = integrator.abandon(Reason::telemetry_file_unreadable, fault, devices);
      }
      if (wants_stream) snapshots_->unavailable = "cross_check_error";
      return;
    }
    if (wants_window && request_.schema_version == 2) {
      result_.integration = integrator.finish(telemetry->devices());
      refuse_impossible(result_.integration, telemetry->columns().unit.size);
    }
    try {
      explain(*telemetry);
    } catch (const std::exception&) {  // changed meanwhile: nothing more to say
    }
    finish_stream(stream, *telemetry, wants_stream);
  }

  // Of every GPU whose mean over the window no GPU can have.
  void refuse_impossible(Integration& integration, PowerUnit::Size read_as) const {
    for (std::size_t i = 0; i < integration.gpus.size(); ++i) {
      const double mean_w = integration.gpus[i].energy_j / benchmark_->window.duration_s();
      if (!is_impossible(mean_w)) continue;
      integration.reasons.add(Reason::implausible_power,
                              fmt::format("GPU {}: {}", printable(integration.gpu_ids[i]),
                                          impossible_mean_text(mean_w, read_as)));
      if (!integration.issues[i]) integration.issues[i] = Reason::implausible_power;
    }
  }

  // The same under schema 1, of the mean of a GPU's samples, and of the mean that would be
  // published.
  void refuse_impossible(const MeanPowerGatherer& gatherer, const Telemetry& telemetry) {
    const PowerUnit::Size read_as = telemetry.columns().unit.size;
    const auto refuse = [&](const std::string& whose, double mean_w) {
      if (!is_impossible(mean_w)) return;
      result_.integration.reasons.add(Reason::implausible_power,
                                      whose + impossible_mean_text(mean_w, read_as));
    };
    for (const std::uint32_t device : gatherer.devices()) {
      refuse(fmt::format("GPU {}: ", printable(telemetry.devices()[device])),
             gatherer.mean_w(device));
    }
    refuse("per GPU ", result_.mean_power->avg_power_w);
  }

  using Take = Telemetry::Take;
  static void all_readings(Telemetry& telemetry, const Take& take) { telemetry.read(take); }
  static double exactly(double unix_s) { return unix_s; }

  // Gives `taker` the readings of `window` that `read` finds, in time order. Memory: the kept ones
  // take a quarter of the file's size at most, or a little where that is less; the file is read for
  // as often as it takes. `first` is the telemetry as it was read before.
  template <typename Taker>
  void read_sorted(const Telemetry& first, Window window, TimeSorter::Key key,
                   const std::function<void(Telemetry&, const Take&)>& read, Taker& taker) {
    constexpr std::uint64_t kLeastRoom = 65536;
    const std::uint64_t room = recording_.bytes() / 4 / TimeSorter::kBytesPerReading;
    TimeSorter sorter(window.start_unix_s, window.end_unix_s,
                      static_cast<std::size_t>(std::max(room, kLeastRoom)), key);
    do {
      Telemetry telemetry = recording_.open();
      read(telemetry, [&](std::span<const Reading> readings) { sorter.take(readings); });
      if (telemetry.rows() != first.rows() || telemetry.stamps() != first.stamps() ||
          telemetry.skipped() != first.skipped() || telemetry.devices() != first.devices()) {
        throw FileError(recording_.path(), "read it twice, it was changed meanwhile", EBUSY);
      }
    } while (sorter.give([&](std::span<const Reading> readings) { taker.take(readings); }));
  }

  void finish_fleet(Fleet& fleet, const Telemetry& telemetry) {
    result_.fleet.power = fleet.power.finish();
    result_.fleet.samples_in_window = fleet.power.samples_in_window();
    for (std::size_t i = 0; i < kGpuQuantities; ++i) {
      StateMean& state = fleet.states[i];
      if (state.out_of_order()) {
        state.start_over();
        const auto values = [&, i](Telemetry& again, const Take& take) {
          again.read_with_states(
              [&](std::span<const Reading> readings, std::span<const GpuState> states) {
                take(readings_of(static_cast<GpuQuantity>(i), readings, states, fleet.window));
              });
        };
        read_sorted(telemetry, state.band(), exactly, values, state);
      }
      result_.fleet.states[i] = state.finish(telemetry.devices());
    }
  }

  void finish_stream(StreamEnergy& stream, const Telemetry& telemetry, bool wanted) {
    if (!wanted) return;
    stream.finish();
    result_.counter_check =
        check_counters(snapshots_->start, snapshots_->end, stream, telemetry.devices());
  }

  void note_telemetry(const Telemetry& telemetry) {
    TelemetryFacts facts;
    facts.series = series_facts(telemetry.columns());
    facts.skipped = by_cause(telemetry.skipped());
    facts.timezone = telemetry.zone().name();
    facts.timezone_source = recording_.zone_source();
    facts.stamps = telemetry.stamps();
    facts.naive_stamps = telemetry.naive_stamps();
    if (telemetry.stamps() > 0 && telemetry.naive_stamps() == 0) {
      facts.timezone = "UTC";
      facts.timezone_source = "stamps";
    }
    result_.zone_doubt = recording_.zone_doubt(telemetry);
    if (recording_.needed_zone_fault(telemetry) != nullptr) {
      facts.timezone.clear();
      facts.timezone_source.clear();
    } else if (benchmark_ && std::abs(benchmark_->window.start_unix_s) < 1e11) {
      const auto start = static_cast<std::int64_t>(benchmark_->window.start_unix_s);
      facts.utc_offset =
          offset_text(facts.timezone_source == "stamps" ? 0 : telemetry.zone().offset_at(start));
    }
    result_.telemetry = std::move(facts);
  }

  // What was found where the reasons alone do not say it.
  void explain(const Telemetry& telemetry) {
    Reasons& reasons = result_.integration.reasons;
    const std::uint64_t bad_stamps = telemetry.skipped().bad_timestamp;
    if (bad_stamps > 0) {
      reasons.explain(Reason::invalid_timestamp_sample,
                      fmt::format("{} of {} rows, the first {}", bad_stamps, telemetry.rows(),
                                  telemetry.first_bad_stamp()));
    }
    if (reasons.contains(Reason::no_usable_power_samples) && request_.explains) {
      explain_no_samples(telemetry);
    }
  }

  // Reads the whole file once more, for its first and last stamp: only done when there is nothing
  // else.
  void explain_no_samples(const Telemetry& telemetry) {
    Reasons& reasons = result_.integration.reasons;
    const auto explain = [&](std::string detail) {
      reasons.explain(Reason::no_usable_power_samples, std::move(detail));
    };
    if (telemetry.rows() == 0) return explain("there are no rows behind the header");
    if (telemetry.columns().time_of_day) return explain("its times have no date");
    if (telemetry.stamps() == 0) {
      return explain(telemetry.first_bad_stamp().empty()
                         ? "no row has a time"
                         : "no row has a readable time: " + telemetry.first_bad_stamp());
    }
    Span span{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    Telemetry again = recording_.open();
    if (!again.columns().timestamp || !again.columns().power) return;  // changed meanwhile
    bool has_power = false;
    again.read([&](std::span<const Reading> readings) {
      for (const Reading& reading : readings) {
        if (reading.kind == Reading::Kind::bad_timestamp) continue;
        has_power = has_power || reading.kind == Reading::Kind::power;
        span.first_unix_s = std::min(span.first_unix_s, reading.unix_s);
        span.last_unix_s = std::max(span.last_unix_s, reading.unix_s);
      }
    });
    const Window window = benchmark_->window;
    if (span.last_unix_s < span.first_unix_s) return;  // likewise
    if (span.last_unix_s < kFirstAbsoluteUnixS) {
      return explain("its times are seconds from some start, not absolute");
    }
    if (span.last_unix_s < window.start_unix_s || span.first_unix_s > window.end_unix_s) {
      explain(
          fmt::format("the recording goes from {:.3f} to {:.3f}, the window from {:.3f} to {:.3f}",
                      span.first_unix_s, span.last_unix_s, window.start_unix_s, window.end_unix_s));
      result_.zone_hint = zone_hint(telemetry, span, window);
    } else if (!has_power) {
      explain("no row has a power reading that can be used");
    } else {
      explain("rows there are, but none with a power reading in it");
    }
  }

  const MeasurementRequest& request_;
  const Recording& recording_;
  const std::optional<Load>& benchmark_;
  std::optional<Snapshots> snapshots_;
  Measurement result_;
};

}  // namespace

Measurement measure(const MeasurementRequest& request, const Recording& recording,
                    const std::optional<Load>& load) {
  return Measurer(request, recording, load).measure();
}

}  // namespace aggregate_power
