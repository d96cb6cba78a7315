// One line of JSON for each run.
#include "store/outcome_log.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "test_util.h"

namespace aggregate_power {
namespace outcome_log_test {

using test::bytes_of;
using test::Folder;
using test::put;

OutcomeLine line_of(std::string run) {
  OutcomeLine line;
  line.run = std::move(run);
  line.layout = "bmk";
  line.outcome = "patched";
  line.seconds = 0.5;
  return line;
}

TEST(RunLineText, HasAllKeysInOrder) {
  OutcomeLine line = line_of("x");
  line.aggregate = "s/agg_x.json";
  line.telemetry = "s/gpu_metrics.csv";
  line.benchmark = "s/x.json";
  line.reasons = {"sampling_gap_exceeded"};
  line.metrics = {{"avg_power_w", 500.25}};
  line.timezone = "+02:00";
  EXPECT_EQ(
      outcome_line_text(line),
      "{\"run\":\"x\",\"layout\":\"bmk\",\"aggregate\":\"s/agg_x.json\",\"telemetry\":\"s/"
      "gpu_metrics.csv\",\"benchmark\":\"s/x.json\",\"outcome\":\"patched\",\"reasons\":["
      "\"sampling_gap_exceeded\"],\"metrics\":{\"avg_power_w\":500.25},\"timezone\":\"+02:00\","
      "\"seconds\":0.5,\"details\":null,\"zone\":null}\n");
  line.zone = RunZone{.recorder = "b200-0",
                      .level = "two_witnesses",
                      .witnesses = {"edges", "consensus"},
                      .recorder_timezone = "+02:00",
                      .contradicts = false};
  const std::string zone =
      "\"zone\":{\"recorder\":\"b200-0\",\"level\":\"two_witnesses\",\"witnesses\":[\"edges\","
      "\"consensus\"],\"recorder_timezone\":\"+02:00\",\"contradicts\":false}}\n";
  EXPECT_TRUE(outcome_line_text(line).ends_with(zone)) << outcome_line_text(line);
}

TEST(RunLineText, EscapesBytesThatAreNoText) {
  EXPECT_EQ(outcome_line_text(line_of("a\xFF\nb")).substr(0, 18), "{\"run\":\"a%FF\\nb\",\"");
}

TEST(OutcomeLog, AppendsToAReport) {
  const Folder folder;
  const std::string path = folder / "report.jsonl";
  OutcomeLog(path).add(outcome_line_text(line_of("a")));
  OutcomeLog(path).add(outcome_line_text(line_of("b")));
  EXPECT_EQ(bytes_of(path), outcome_line_text(line_of("a")) + outcome_line_text(line_of("b")));
}

TEST(OutcomeLog, CutsOffALineThatAKilledRunLeft) {
  const Folder folder;
  const std::string path = folder / "report.jsonl";
  put(path, outcome_line_text(line_of("a")) + "{\"run\":\"b\",\"lay");
  OutcomeLog(path).add(outcome_line_text(line_of("c")));
  EXPECT_EQ(bytes_of(path), outcome_line_text(line_of("a")) + outcome_line_text(line_of("c")));
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
