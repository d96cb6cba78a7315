// Every option of every kind of run survives its record.
#include "runs/evaluate/option_codec.h"

#include <set>

#include <gtest/gtest.h>

#include "base/text/json.h"

namespace aggregate_power {
namespace {

// No option has its default.
RunSpec unusual_run() {
  RunSpec run;
  run.schema_version = 1;
  run.expected_num_gpus = 5;
  run.zone = Zone::parse("+05:30");
  run.max_sample_gap_s = 2.5;
  run.columns = {"when", "draw", "card", PowerUnit::Size::milliwatt, {"when", "", "draw"}};
  run.select = "last";
  run.accepted = {Reason::implausible_power, Reason::same_sensor};
  run.accepted_window = RunOptions::Accepted::wrapped;
  run.idle = "85+-3";
  run.uncertainty = {true, "H100", 0.01, 0.25};
  run.requests = {"requests.jsonl", "lines.jsonl", RequestShare::tokens, true, {}};
  run.given = {1.5, 2.25, 0.75, 30, 20, 10};
  run.expected_producer_sha = "abc";
  run.salvage = true;
  run.consumer_gaps = true;
  run.logs_root = "LOGS";
  run.expected_cpu_source = "acpi";
  run.role_gpus = {1, 2, 3, 4};
  run.artifact_dir = "artifacts";
  run.profile_zone = Zone::parse("UTC");
  return run;
}

std::string spelling(const RecordedOption& option) {
  if (const auto* const text = std::get_if<std::string>(&option.value)) return *text;
  if (const auto* const number = std::get_if<double>(&option.value)) return json_number(*number);
  if (const auto* const count = std::get_if<std::int64_t>(&option.value)) {
    return std::to_string(*count);
  }
  return std::get<bool>(option.value) ? "true" : "false";
}

std::vector<RecordedOption> written_again(const std::vector<RecordedOption>& written,
                                          RunKind kind) {
  std::vector<std::pair<std::string, std::string>> spelled;
  for (const RecordedOption& option : written) spelled.emplace_back(option.name, spelling(option));
  RunSpec read;
  set_recorded_options(spelled, read);
  return options_for_record(read, kind);
}

constexpr RunKind kKinds[] = {RunKind::recording, RunKind::package, RunKind::agents_package,
                              RunKind::stored_recording, RunKind::stored_package};

TEST(OptionCodec, ReadsWhatItWrites) {
  std::set<std::string> names;
  for (const RunKind kind : kKinds) {
    const auto written = options_for_record(unusual_run(), kind);
    EXPECT_EQ(written_again(written, kind), written);
    for (const RecordedOption& option : written) names.insert(option.name);
  }
  EXPECT_EQ(names.size(), 38U);  // all that any kind of run has
}

TEST(OptionCodec, LeavesOutDefaults) {
  EXPECT_TRUE(options_for_record(RunSpec(), RunKind::recording).empty());
  EXPECT_EQ(options_for_record(RunSpec(), RunKind::package).size(), 1U);  // logs_root
  EXPECT_EQ(options_for_record(RunSpec(), RunKind::stored_recording).size(), 4U);
}

TEST(OptionCodec, FindsGpusAndZonesOfAutomaticRuns) {
  RunSpec run;
  set_recorded_options(
      std::vector<std::pair<std::string, std::string>>{
          {"expected_num_gpus", "auto"}, {"timezone", "evidence"}, {"new", "1"}},
      run);
  EXPECT_TRUE(run.finds_gpus);
  EXPECT_TRUE(run.one_witness);
  EXPECT_FALSE(run.zone.has_value());
}

}  // namespace
}  // namespace aggregate_power
