// One run on one node, end to end.
#include "aggregate_power/jobs/aggregate.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "aggregate_power/analysis/accumulator.h"
#include "aggregate_power/analysis/mean_power.h"
#include "aggregate_power/analysis/metrics.h"
#include "aggregate_power/analysis/survey.h"
#include "aggregate_power/analysis/time_order.h"
#include "aggregate_power/base/archive.h"
#include "aggregate_power/base/encoding.h"
#include "aggregate_power/base/file.h"
#include "aggregate_power/base/path.h"
#include "aggregate_power/inputs/benchmark.h"
#include "aggregate_power/inputs/device_names.h"
#include "aggregate_power/inputs/snapshot.h"
#include "aggregate_power/jobs/publish.h"
#include "aggregate_power/jobs/recording.h"
#include "aggregate_power/jobs/sidecar.h"

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
  EnergySnapshot start;
  EnergySnapshot end;
};

// Nothing when there is neither.
std::optional<Snapshots> read_snapshots(const std::string& csv) {
  const auto path = [&](const char* which) {
    return beside(csv, plain_stem(csv) + "_energy_" + which + ".csv");
  };
  const bool has_start = is_regular_file(path("start"));
  const bool has_end = is_regular_file(path("end"));
  if (csv == "-" || (!has_start && !has_end)) return std::nullopt;
  Snapshots snapshots;
  const auto read = [&](const char* which, EnergySnapshot& into) {
    if (!snapshots.unavailable.empty()) return;
    const auto joules = read_energy_snapshot(*as_utf8(open_source(path(which))));
    if (joules) {
      into = *joules;
    } else {
      snapshots.unavailable = fmt::format("unparseable_{}_snapshot", which);
    }
  };
  if (!has_start) {
    snapshots.unavailable = "missing_start_snapshot";
  } else if (!has_end) {
    snapshots.unavailable = "missing_end_snapshot";
  }
  try {
    read("start", snapshots.start);
    read("end", snapshots.end);
  } catch (const std::exception&) {
    snapshots.unavailable = "cross_check_error";
  }
  return snapshots;
}

// What the telemetry says about the window, under either schema.
struct Measurement {
  Integration integration;              // schema 2; of schema 1 only the reasons and GPUs
  std::optional<MeanPower> mean_power;  // schema 1
  std::optional<AccumulatorCheck> accumulator_check;
  Reasons column_faults;  // what is behind missing columns, beyond the contract's codes
  std::optional<TelemetryFacts> telemetry;
  std::optional<std::string> zone_hint;
};

class Measurer {
 public:
  Measurer(const AggregateRequest& request, const Recording& recording,
           const std::optional<Benchmark>& benchmark, bool with_snapshots)
      : request_(request), recording_(recording), benchmark_(benchmark) {
    if (with_snapshots) snapshots_ = read_snapshots(recording.path());
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
    if (snapshots_ && !result_.accumulator_check) {
      result_.accumulator_check.emplace();
      result_.accumulator_check->unavailable = snapshots_->unavailable;
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
    PowerIntegrator integrator({window, request_.expected_num_gpus, request_.max_sample_gap_s});
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
      telemetry->read([&](std::span<const Reading> readings) {
        if (wants_window && request_.schema_version == 2) integrator.take(readings);
        if (wants_window && request_.schema_version == 1) gatherer.take(readings);
        if (wants_stream) stream.take(readings);
      });
      // Rows are mostly in time order and then need no memory. When they are not, again, sorted.
      constexpr double kForever = std::numeric_limits<double>::infinity();
      const auto exactly = [](double unix_s) { return unix_s; };
      if (integrator.out_of_order()) {
        integrator.start_over();
        read_sorted(*telemetry, integrator.band(), exactly, integrator);
      }
      if (gatherer.out_of_order()) {
        gatherer = MeanPowerGatherer(window, columns.device.has_value());
        const auto to_ms = [](double unix_s) { return static_cast<double>(rounded_ms(unix_s)); };
        read_sorted(*telemetry, window, to_ms, gatherer);
      }
      if (stream.out_of_order()) {
        stream = StreamEnergy();
        read_sorted(*telemetry, {-kForever, kForever}, exactly, stream);
      }
      if (wants_window && request_.schema_version == 1) {
        result_.mean_power = gatherer.finish();
        for (const std::uint32_t device : gatherer.devices()) {
          result_.integration.gpu_ids.push_back(telemetry->devices()[device]);
        }
        std::ranges::sort(result_.integration.gpu_ids, device_name_less);
        if (!result_.mean_power) {
          result_.integration.reasons.add(Reason::no_usable_power_samples);
        }
      }
    } catch (const CsvError& error) {
      fault = fmt::format("{}: {}", recording_.path(), error.what());
    } catch (const FileError& error) {
      fault = error.what();
    }
    if (telemetry) note_telemetry(*telemetry);
    if (!fault.empty()) {
      if (wants_window) {
        result_.integration = integrator.abandon(Reason::telemetry_file_unreadable, fault);
      }
      if (wants_stream) snapshots_->unavailable = "cross_check_error";
      return;
    }
    if (wants_window && request_.schema_version == 2) {
      result_.integration = integrator.finish(telemetry->devices());
    }
    try {
      explain(*telemetry);
    } catch (const std::exception&) {  // changed meanwhile: nothing more to say
    }
    finish_stream(stream, *telemetry, wants_stream);
  }

  // Gives `taker` the readings of `window` in time order. Memory: the kept ones take a quarter of
  // the file's size at most, or a little where that is less; the file is read for as often as it
  // takes. `first` is the telemetry as it was read before.
  template <typename Taker>
  void read_sorted(const Telemetry& first, Window window, TimeSorter::Key key, Taker& taker) {
    constexpr std::uint64_t kLeastRoom = 65536;
    const std::uint64_t room = recording_.bytes() / 4 / TimeSorter::kBytesPerReading;
    TimeSorter sorter(window.start_unix_s, window.end_unix_s,
                      static_cast<std::size_t>(std::max(room, kLeastRoom)), key);
    do {
      Telemetry telemetry = recording_.open();
      telemetry.read([&](std::span<const Reading> readings) { sorter.take(readings); });
      if (telemetry.rows() != first.rows() || telemetry.stamps() != first.stamps() ||
          telemetry.skipped() != first.skipped() || telemetry.devices() != first.devices()) {
        throw FileError(recording_.path(), "read it twice, it was changed meanwhile", EBUSY);
      }
    } while (sorter.give([&](std::span<const Reading> readings) { taker.take(readings); }));
  }

  void finish_stream(StreamEnergy& stream, const Telemetry& telemetry, bool wanted) {
    if (!wanted) return;
    stream.finish();
    result_.accumulator_check =
        check_accumulator(snapshots_->start, snapshots_->end, stream, telemetry.devices());
  }

  void note_telemetry(const Telemetry& telemetry) {
    TelemetryFacts facts;
    facts.columns = telemetry.columns();
    facts.skipped = telemetry.skipped();
    facts.timezone = telemetry.zone().name();
    facts.timezone_source = recording_.zone_source();
    if (telemetry.stamps() > 0 && telemetry.naive_stamps() == 0) {
      facts.timezone = "UTC";
      facts.timezone_source = "stamps";
    }
    if (benchmark_ && std::abs(benchmark_->window.start_unix_s) < 1e11) {
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
    if (reasons.contains(Reason::no_usable_power_samples)) explain_no_samples(telemetry);
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

  const AggregateRequest& request_;
  const Recording& recording_;
  const std::optional<Benchmark>& benchmark_;
  std::optional<Snapshots> snapshots_;
  Measurement result_;
};

std::vector<JsonEdit> schema_1_edits(const Metrics& metrics) {
  std::vector<JsonEdit> edits;
  for (const Metric& metric : metrics) {
    edits.push_back({std::string(metric.key), json_number(rounded(metric.value, metric.decimals))});
  }
  return edits;
}

// The verdict, and the metrics or nothing in their place; contract.md B.6.
std::vector<JsonEdit> schema_2_edits(bool valid, const Metrics& metrics) {
  std::vector<JsonEdit> edits = {{"power_metric_schema_version", "2"},
                                 {"power_valid", valid ? "1" : "0"},
                                 {"power_invalid_reasons", ""}};
  if (valid) {
    const std::vector<JsonEdit> numbers = schema_1_edits(metrics);
    edits.insert(edits.end(), numbers.begin(), numbers.end());
  }
  for (const std::string_view key : all_metric_keys()) {
    if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) {
      edits.push_back({std::string(key), ""});
    }
  }
  return edits;
}

class Run {
 public:
  explicit Run(const AggregateRequest& request) : request_(request) {}

  AggregateReport run() {
    read_inputs();
    make_metrics();
    const bool done = request_.dry_run ? show_changes() : write();
    report_.exit_status = done || !request_.require_power ? 0 : 1;
    return std::move(report_);
  }

 private:
  bool schema_2() const { return request_.schema_version == 2; }

  std::string sidecar_path() const {
    if (!request_.validation_result.empty()) return request_.validation_result;
    if (!schema_2()) return {};
    return beside(request_.bench_result,
                  fmt::format("power_validation_{}.json", plain_stem(request_.bench_result)));
  }

  void read_inputs() {
    try {
      const auto source = decompressed(open_source(request_.bench_result), request_.bench_result);
      BenchmarkReading reading =
          read_benchmark(*source, request_.bench_result,
                         schema_2() ? BenchmarkRules::schema_2 : BenchmarkRules::schema_1);
      benchmark_ = reading.benchmark;
      reasons_ = std::move(reading.reasons);
    } catch (const FileError& error) {
      reasons_.add(Reason::invalid_benchmark_result, error.what());
    }
    const std::string csv = request_.csv.empty() ? find_telemetry() : request_.csv;
    try {
      const Recording recording(csv, request_.zone, request_.columns);
      measurement_ = Measurer(request_, recording, benchmark_, !sidecar_path().empty()).measure();
      for (const std::string& warning : recording.warnings()) report_.err.push_back(warning);
    } catch (const FileError& error) {
      measurement_.integration.reasons.add(Reason::telemetry_file_unreadable, error.what());
    }
    telemetry_path_ = csv;
    reasons_.add(measurement_.integration.reasons);
    if (measurement_.telemetry) {
      for (const std::string& warning : measurement_.telemetry->columns.warnings) {
        report_.err.push_back(fmt::format("{}: {}", csv, warning));
      }
      if (!schema_2() && reasons_.empty() && !measurement_.telemetry->columns.device) {
        report_.err.push_back(
            fmt::format("{}: no_device_column: the rows of one stamp are taken for the GPUs", csv));
      }
    }
  }

  void make_metrics() {
    if (!reasons_.empty()) return;
    const Integration& integration = measurement_.integration;
    if (schema_2()) {
      metrics_ =
          schema_2_metrics({*integration.avg_power_w, *integration.avg_total_gpu_power_w,
                            *integration.total_gpu_energy_j, benchmark_->completed,
                            benchmark_->total_input_tokens, benchmark_->total_output_tokens});
    } else {
      metrics_ = schema_1_metrics(measurement_.mean_power->avg_power_w,
                                  measurement_.mean_power->gpus, benchmark_->reported_duration_s,
                                  benchmark_->total_input_tokens, benchmark_->total_output_tokens);
    }
    if (const double mean_w = metrics_[0].value; is_implausible(mean_w, mean_w)) {
      report_.err.push_back(
          fmt::format("{}: implausible_watts: a mean of {:.6g} W per GPU; the header's unit may be "
                      "wrong, or the sensor dead",
                      telemetry_path_, mean_w));
    }
    for (const Metric& metric : metrics_) {
      if (std::isfinite(metric.value)) continue;
      reasons_.add(Reason::aggregate_result_unwritable,
                   fmt::format("'{}' is too large for a number", metric.key));
    }
  }

  Publication publication() const {
    Publication publication;
    publication.aggregate_path = request_.agg_result;
    publication.sidecar_path = sidecar_path();
    publication.make_sidecar_folder = !request_.validation_result.empty();
    publication.valid = reasons_.empty();
    if (schema_2()) {
      publication.edits = schema_2_edits(publication.valid, metrics_);
      publication.edits_without_audit = schema_2_edits(false, {});
      if (reasons_.contains(Reason::aggregate_result_unwritable)) publication.edits.clear();
    } else if (publication.valid) {
      publication.edits = schema_1_edits(metrics_);
    }
    publication.sidecar = [this](const Reasons& aggregate_reasons) {
      return sidecar(aggregate_reasons);
    };
    publication.inputs = {telemetry_path_, request_.bench_result, request_.agg_result};
    for (const char* end : {"_energy_start.csv", "_energy_end.csv", "_context.json"}) {
      publication.inputs.push_back(beside(telemetry_path_, plain_stem(telemetry_path_) + end));
    }
    return publication;
  }

  std::string sidecar(const Reasons& aggregate_reasons) const {
    SidecarContent content;
    content.reasons = reasons_;
    content.reasons.add(aggregate_reasons);
    content.telemetry_source = telemetry_path_;
    content.benchmark_result = request_.bench_result;
    content.benchmark = benchmark_;
    content.integration_method = schema_2() ? kTrapezoidMethod : kSampleMeanMethod;
    content.integration = measurement_.integration;
    content.accumulator_check = measurement_.accumulator_check;
    content.metrics = metrics_;
    content.telemetry = measurement_.telemetry;
    return sidecar_text(content);
  }

  // True when the aggregate holds valid numbers now.
  bool write() {
    const Published published = publish(publication());
    reasons_.add(published.reasons);
    for (const std::string& warning : published.warnings) report_.err.push_back(warning);
    if (!published.sidecar_fault.empty()) {
      reasons_.add(Reason::validation_result_unwritable, published.sidecar_fault);
    }
    return tell();
  }

  bool show_changes() {
    const Preview changes = preview(publication());
    reasons_.add(changes.reasons);
    if (!changes.sidecar_fault.empty()) {
      reasons_.add(Reason::validation_result_unwritable, changes.sidecar_fault);
    }
    report_.out = changes.lines;
    const bool valid = tell();
    report_.out.push_back("dry run: nothing was written");
    return valid;
  }

  bool tell() {
    if (reasons_.empty()) {
      report_.out.push_back(schema_2() ? schema_2_line() : schema_1_line());
      return true;
    }
    std::string line = fmt::format("power not valid: {}", reasons_.text());
    const bool has_sidecar = !sidecar_path().empty() && !request_.dry_run &&
                             !reasons_.contains(Reason::validation_result_unwritable);
    if (has_sidecar) line += "; see " + sidecar_path();
    report_.err.push_back(line);
    const auto remedies = [&](const Reasons& reasons) {
      for (const Reasons::Entry& entry : reasons.entries()) {
        report_.err.push_back(fmt::format("  {}: {}", code(entry.reason), remedy(entry.reason)));
      }
    };
    remedies(reasons_);
    remedies(measurement_.column_faults);
    if (measurement_.zone_hint) report_.err.push_back("  " + *measurement_.zone_hint);
    return false;
  }

  std::string schema_2_line() const {
    return fmt::format(
        "avg_power_w={:.2f} avg_total_gpu_power_w={:.2f} total_gpu_energy_j={:.2f} (n={}) -> {}",
        metrics_[0].value, metrics_[1].value, metrics_[2].value,
        measurement_.integration.gpu_ids.size(), request_.agg_result);
  }

  std::string schema_1_line() const {
    return fmt::format(
        "avg_power_w={:.2f} (per GPU, n={}) joules_per_output_token={:.4f} "
        "joules_per_total_token={:.4f} duration={:.1f}s output_tokens={} input_tokens={} -> {}",
        metrics_[0].value, measurement_.mean_power->gpus, metrics_[1].value, metrics_[2].value,
        benchmark_->reported_duration_s, benchmark_->total_output_tokens,
        benchmark_->total_input_tokens, request_.agg_result);
  }

  const AggregateRequest& request_;
  std::optional<Benchmark> benchmark_;
  std::string telemetry_path_;
  Measurement measurement_;
  Reasons reasons_;
  Metrics metrics_;
  AggregateReport report_;
};

}  // namespace

std::string find_telemetry() {
  const char* const named = std::getenv("GPU_METRICS_CSV");
  if (named != nullptr && *named != '\0') return normal_path(named);
  struct stat status {};
  for (const char* path : {"gpu_metrics.csv", "/workspace/gpu_metrics.csv"}) {
    if (::stat(path, &status) == 0) return path;
  }
  return "gpu_metrics.csv";
}

AggregateReport aggregate(const AggregateRequest& request) { return Run(request).run(); }

}  // namespace aggregate_power
