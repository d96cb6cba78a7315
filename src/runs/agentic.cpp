// One agentic run on one node, end to end.
#include "runs/agentic.h"

#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/archive.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "loads/aiperf.h"
#include "recorders/recording.h"
#include "recorders/side_files.h"
#include "results/dashboard_keys.h"
#include "results/record.h"
#include "results/transaction.h"
#include "runs/assess.h"
#include "runs/failed_requests.h"
#include "store/artifact_names.h"

namespace aggregate_power {
namespace {

std::string in_folder(const std::string& folder, std::string_view name) {
  return normal_path(fmt::format("{}/{}", folder, name));
}

// The file of that name, perhaps compressed; the name itself when there is none.
std::string find_file(const std::string& folder, std::string_view name) {
  for (const std::string_view compression : kCompressions) {
    std::string path = in_folder(folder, fmt::format("{}{}", name, compression));
    if (is_regular_file(path)) return path;
  }
  return in_folder(folder, name);
}

// The folder of the records, aiperf_artifacts or one in it; of several the first.
std::string find_profile(const std::string& result_dir, std::vector<std::string>& warnings) {
  const std::string artifacts = in_folder(result_dir, kProfileFolder);
  try {
    const std::vector<std::string> all = all_records(*disk_tree(), artifacts);
    if (all.empty()) return artifacts;
    if (all.size() > 1) {
      warnings.push_back(fmt::format("{}: the profile is {}; {} {} not looked at", artifacts,
                                     all[0], all[1], all.size() == 2 ? "is" : "and others are"));
    }
    const std::size_t slash = all[0].find('/');
    if (slash != std::string::npos) return in_folder(artifacts, all[0].substr(0, slash));
  } catch (const FileError&) {  // cannot be listed: then its files are missing
  }
  return artifacts;
}

class Run {
 public:
  explicit Run(const AgenticRequest& request)
      : request_(request),
        telemetry_path_(find_file(request.result_dir, "gpu_metrics.csv")),
        window_path_(in_folder(request.result_dir, "agentic_power_window.json")),
        zone_path_(in_folder(request.result_dir, kCapturedZone)) {
    const std::string profile = find_profile(request.result_dir, warnings_);
    summary_path_ = find_file(profile, kProfileSummary);
    records_path_ = find_file(profile, kProfileRecords);
  }

  CommandOutput run() {
    ProfileReading reading = read();
    if (reading.reasons.empty()) write_window(benchmark_text(*reading.load), reading.reasons);
    if (reading.reasons.empty()) {
      judge_window(reading);
      if (!reading.doubt.empty()) verdict_.warnings.push_back(reading.doubt);
    } else {
      verdict_.reasons = reading.reasons;
      verdict_.measurement.integration.expected_num_gpus = request_.expected_num_gpus;
    }
    FinishedRun run;
    run.reasons = verdict_.reasons;
    run.plan = plan();
    if (verdict_.reasons.empty()) run.success_line = schema_2_line(verdict_, request_.agg_result);
    run.causes = verdict_.measurement.column_faults;
    if (verdict_.measurement.zone_hint) run.hints.push_back(*verdict_.measurement.zone_hint);
    run.warnings = warnings_;
    run.warnings.insert(run.warnings.end(), verdict_.warnings.begin(), verdict_.warnings.end());
    CommandOutput delivered = deliver(run, {request_.require_power, request_.dry_run});
    delivered.out.insert(delivered.out.begin(), changes_.begin(), changes_.end());
    return delivered;
  }

 private:
  ProfileReading read() const {
    ProfileReading none;
    for (const std::string& path : {summary_path_, records_path_}) {
      if (is_regular_file(path)) continue;
      none.reasons.add(Reason::profile_artifacts_missing, path);
      return none;
    }
    try {
      const auto summary = decompressed(open_source(summary_path_), summary_path_);
      const auto records = decompressed(open_source(records_path_), records_path_);
      return read_profile({*summary, summary_path_}, {*records, records_path_}, zone());
    } catch (const FileError& error) {
      none.reasons.add(Reason::profile_artifacts_invalid, error.what());
      return none;
    }
  }

  ProfileZone zone() const {
    ProfileZone zone{request_.zone, {}};
    if (zone.zone) return zone;
    if (!is_regular_file(zone_path_)) {
      zone.fault.add(Reason::profile_timezone_offset_missing, zone_path_);
      return zone;
    }
    try {
      zone.zone = captured_zone(read_up_to(*open_source(zone_path_), kMostZoneBytes));
      if (!zone.zone) zone.fault.add(Reason::profile_timezone_offset_invalid, zone_path_);
    } catch (const FileError& error) {
      zone.fault.add(Reason::profile_timezone_offset_invalid, error.what());
    }
    return zone;
  }

  // What is read, and the aggregate.
  std::vector<std::string> inputs() const {
    std::vector<std::string> inputs = with_side_files(telemetry_path_);
    inputs.insert(inputs.end(), {summary_path_, records_path_, request_.agg_result});
    return inputs;
  }

  void write_window(const std::string& text, Reasons& reasons) {
    try {
      for (const std::string& path : inputs()) {
        if (is_same_file(window_path_, path)) {
          throw Error(fmt::format("{} would overwrite {}", window_path_, path));
        }
      }
      if (!request_.dry_run) return replace_file(window_path_, text);
      require_replaceable(window_path_);
      changes_.push_back(fmt::format("{}: {}", window_path_,
                                     holds(window_path_, text)       ? "unchanged"
                                     : is_regular_file(window_path_) ? "would be replaced"
                                                                     : "would be written"));
    } catch (const std::exception& error) {
      reasons.add(Reason::power_window_unwritable, error.what());
    }
  }

  void judge_window(const ProfileReading& reading) {
    const Recording recording(telemetry_path_, request_.zone, request_.columns);
    MeasurementRequest wanted;
    wanted.expected_num_gpus = request_.expected_num_gpus;
    wanted.max_sample_gap_s = request_.max_sample_gap_s;
    wanted.with_snapshots = true;
    wanted.extended = request_.extended;
    verdict_ = judge(wanted, recording, {reading.load, {}});
    FailedRequestsRequest failed;
    failed.count = reading.failed_requests;
    failed.max_sample_gap_s = request_.max_sample_gap_s;
    failed.records = [this] { return decompressed(open_source(records_path_), records_path_); };
    failed_requests_ = failed_requests(failed, recording, verdict_);
  }

  WritePlan plan() const {
    WritePlan plan;
    plan.aggregate_path = request_.agg_result;
    plan.record_path = in_folder(request_.result_dir, "power_validation.json");
    plan.valid = verdict_.reasons.empty();
    plan.edits = request_.extended ? dashboard_verdict_edits(verdict_, "power_validation.json")
                                   : verdict_edits(verdict_, 2);
    plan.leftovers = {dashboard_leftovers()};
    plan.edits_without_audit = unaudited_edits(2);
    plan.record = [this](const Reasons& aggregate_reasons, std::string_view) {
      return record(aggregate_reasons);
    };
    plan.inputs = inputs();
    plan.inputs.push_back(window_path_);
    plan.record_advice = kNameIsTaken;
    return plan;
  }

  std::string record(const Reasons& aggregate_reasons) const {
    RecordContent content = record_content(verdict_, 2);
    content.reasons.add(aggregate_reasons);
    content.telemetry_source = telemetry_path_;
    content.benchmark_result = window_path_;
    content.window_source = kProfileWindowSource;
    content.failed_requests = failed_requests_;
    return one_node_record_text(content);
  }

  const AgenticRequest& request_;
  std::string telemetry_path_;
  std::string window_path_;
  std::string zone_path_;
  std::string summary_path_;
  std::string records_path_;
  std::vector<std::string> warnings_;  // of the profile
  std::vector<std::string> changes_;   // that a dry run would make to the window
  Verdict verdict_;
  std::optional<FailedRequests> failed_requests_;  // nothing: there was no window
};

}  // namespace

CommandOutput aggregate_agentic(const AgenticRequest& request) { return Run(request).run(); }

}  // namespace aggregate_power
