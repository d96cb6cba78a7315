// One run on one node, end to end.
#include "runs/one_node.h"

#include <sys/stat.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "loads/benchmark.h"
#include "recorders/recording.h"
#include "recorders/side_files.h"
#include "results/dashboard_keys.h"
#include "results/record.h"
#include "results/transaction.h"
#include "runs/assess.h"

namespace aggregate_power {
namespace {

class Run {
 public:
  explicit Run(const AggregateRequest& request) : request_(request) {}

  CommandOutput run() {
    read_inputs();
    FinishedRun run;
    run.reasons = verdict_.reasons;
    run.plan = plan();
    if (verdict_.reasons.empty()) {
      run.success_line =
          schema_2() ? schema_2_line(verdict_, request_.agg_result) : schema_1_line();
    }
    run.causes = verdict_.measurement.column_faults;
    if (verdict_.measurement.zone_hint) run.hints.push_back(*verdict_.measurement.zone_hint);
    run.warnings = verdict_.warnings;
    return deliver(run, {request_.require_power, request_.dry_run});
  }

 private:
  bool schema_2() const { return request_.schema_version == 2; }

  std::string record_path() const {
    if (!request_.validation_result.empty()) return request_.validation_result;
    if (!schema_2()) return {};
    return record_beside(request_.bench_result);
  }

  void read_inputs() {
    const LoadReading reading = read_benchmark_file(
        request_.bench_result, schema_2() ? LoadRules::schema_2 : LoadRules::schema_1);
    telemetry_path_ = request_.csv.empty() ? find_telemetry() : request_.csv;
    try {
      const Recording recording(telemetry_path_, request_.zone, request_.columns);
      MeasurementRequest wanted;
      wanted.schema_version = request_.schema_version;
      wanted.expected_num_gpus = request_.expected_num_gpus;
      wanted.max_sample_gap_s = request_.max_sample_gap_s;
      wanted.extended = request_.extended;
      wanted.with_snapshots = !record_path().empty();
      verdict_ = judge(wanted, recording, reading);
    } catch (const FileError& error) {
      verdict_.load = reading.load;
      verdict_.reasons = reading.reasons;
      verdict_.reasons.add(Reason::telemetry_file_unreadable, error.what());
    }
  }

  WritePlan plan() const {
    WritePlan plan;
    plan.aggregate_path = request_.agg_result;
    plan.record_path = record_path();
    plan.make_record_folder = !request_.validation_result.empty();
    plan.valid = verdict_.reasons.empty();
    plan.edits = request_.extended
                     ? dashboard_verdict_edits(
                           verdict_, plan.record_path.substr(plan.record_path.rfind('/') + 1))
                     : verdict_edits(verdict_, request_.schema_version);
    if (schema_2()) plan.leftovers = {dashboard_leftovers()};
    plan.edits_without_audit = unaudited_edits(request_.schema_version);
    plan.record = [this](const Reasons& aggregate_reasons, std::string_view) {
      return record(aggregate_reasons);
    };
    plan.inputs = with_side_files(telemetry_path_);
    plan.inputs.insert(plan.inputs.end(), {request_.bench_result, request_.agg_result});
    plan.record_advice = kOtherValidationResult;
    return plan;
  }

  std::string record(const Reasons& aggregate_reasons) const {
    RecordContent content = record_content(verdict_, request_.schema_version);
    content.reasons.add(aggregate_reasons);
    content.telemetry_source = telemetry_path_;
    content.benchmark_result = request_.bench_result;
    return one_node_record_text(content);
  }

  std::string schema_1_line() const {
    return fmt::format(
        "avg_power_w={:.2f} (per GPU, n={}) joules_per_output_token={:.4f} "
        "joules_per_total_token={:.4f} duration={:.1f}s output_tokens={} input_tokens={} -> {}",
        verdict_.metrics[0].value, verdict_.measurement.mean_power->gpus, verdict_.metrics[1].value,
        verdict_.metrics[2].value, verdict_.load->reported_duration_s,
        verdict_.load->total_output_tokens, verdict_.load->total_input_tokens, request_.agg_result);
  }

  const AggregateRequest& request_;
  std::string telemetry_path_;
  Verdict verdict_;
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

CommandOutput aggregate(const AggregateRequest& request) { return Run(request).run(); }

}  // namespace aggregate_power
