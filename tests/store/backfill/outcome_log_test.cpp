// One line of JSON for each run.
#include "store/backfill/tally.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "test_util.h"

namespace aggregate_power {
namespace outcome_log_test {

using test::bytes_of;
using test::Folder;
using test::put;

Recomputed run_of(std::string name) {
  Recomputed run;
  run.run.name = std::move(name);
  run.run.layout = Layout::bmk;
  run.outcome = Outcome::patched;
  return run;
}

std::string line_of(std::string name) {
  return outcome_line_text(run_of(std::move(name)), 0.5, "");
}

TEST(RunLineText, HasAllKeysInOrder) {
  Recomputed run = run_of("x");
  run.run.aggregate.display = "s/agg_x.json";
  run.telemetry = "s/gpu_metrics.csv";
  run.benchmark = "s/x.json";
  run.reasons.add(Reason::sampling_gap_exceeded);
  run.metrics = {{"avg_power_w", 500.25}};
  run.timezone = "+02:00";
  const std::string begin =
      "{\"run\":\"x\",\"layout\":\"bmk\",\"aggregate\":\"s/agg_x.json\",\"telemetry\":\"s/"
      "gpu_metrics.csv\",\"benchmark\":\"s/x.json\",\"outcome\":\"patched\",\"reasons\":["
      "\"sampling_gap_exceeded\"],\"metrics\":{\"avg_power_w\":500.25},\"timezone\":\"+02:00\","
      "\"seconds\":0.5,\"details\":\"sampling_gap_exceeded\",";
  const std::string end = "\"schema\":\"aggregate-power/report-1\"}\n";
  EXPECT_EQ(outcome_line_text(run, 0.5, ""), begin + "\"zone\":null," + end);
  run.zone_case.emplace().recorder = "b200-0";
  run.zone_report = {ZoneLevel::two_witnesses, {ZoneWitness::edges, ZoneWitness::consensus}, {}};
  run.zone_standing.emplace().recorder_timezone = "+02:00";
  EXPECT_EQ(outcome_line_text(run, 0.5, ""),
            begin +
                "\"zone\":{\"recorder\":\"b200-0\",\"level\":\"two_witnesses\","
                "\"witnesses\":[\"edges\",\"consensus\"],\"recorder_timezone\":\"+02:00\","
                "\"contradicts\":false}," +
                end);
}

TEST(RunLineText, EscapesBytesThatAreNoText) {
  EXPECT_EQ(line_of("a\xFF\nb").substr(0, 18), "{\"run\":\"a%FF\\nb\",\"");
}

TEST(OutcomeLog, AppendsToAReport) {
  const Folder folder;
  const std::string path = folder / "report.jsonl";
  OutcomeLog(path).add(line_of("a"));
  OutcomeLog(path).add(line_of("b"));
  EXPECT_EQ(bytes_of(path), line_of("a") + line_of("b"));
}

TEST(OutcomeLog, CutsOffALineThatAKilledRunLeft) {
  const Folder folder;
  const std::string path = folder / "report.jsonl";
  put(path, line_of("a") + "{\"run\":\"b\",\"lay");
  OutcomeLog(path).add(line_of("c"));
  EXPECT_EQ(bytes_of(path), line_of("a") + line_of("c"));
}

TEST(OutcomeLog, LeavesAloneWhatIsNoReport) {
  const Folder folder;
  const std::string path = folder / "agg_x.json";
  put(path, "{\"hw\": \"b200\"}");
  try {
    const OutcomeLog report(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              path + ": is not a report, so nothing is appended to it; give another --report");
  }
  EXPECT_EQ(bytes_of(path), "{\"hw\": \"b200\"}");
}

}  // namespace outcome_log_test
}  // namespace aggregate_power
