// Whether a benchmark failed. Contract-october.md 1.12.
#include "core/load/benchmark.h"

#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace benchmark_outcome_test {

std::string failure(const std::string& outcome, const std::string& completed = "null",
                    const std::string& num_prompts = "null") {
  return benchmark_failure(parse_json(outcome), parse_json(completed), parse_json(num_prompts));
}

TEST(BenchmarkFailure, IsMoreThanOneInTwentyRequests) {
  EXPECT_EQ(failure("null", "95", "100"), "");
  EXPECT_EQ(failure("null", "94", "100"), "6 of 100 requests failed, at most 5 % may");
  EXPECT_EQ(failure("null", "19", "20"), "");
  EXPECT_EQ(failure("null", "0", "1"), "1 of 1 requests failed, at most 5 % may");
}

TEST(BenchmarkFailure, IsNotKnownWithoutBothCounts) {
  for (const char* const completed : {"null", "-1", "94.0", "true", "101", "\"94\""}) {
    EXPECT_EQ(failure("null", completed, "100"), "") << completed;
  }
  for (const char* const num_prompts : {"null", "0", "1e2", "\"100\""}) {
    EXPECT_EQ(failure("null", "1", num_prompts), "") << num_prompts;
  }
}

TEST(BenchmarkFailure, IsWhatAnOutcomeSays) {
  const std::string passed =
      R"({"status": "passed", "requested": 100, "completed": 95, "failed": 5, "max_failure_rate": 0.05})";
  const std::string failed =
      R"({"status": "failed", "requested": 100, "completed": 94, "failed": 6, "max_failure_rate": 0.05})";
  EXPECT_EQ(failure(passed), "");
  EXPECT_EQ(failure(passed, "95", "100"), "");
  EXPECT_EQ(failure(failed, "94", "100"), "benchmark_outcome: 6 of 100 requests failed");
  EXPECT_EQ(failure(passed, "96", "100"),
            "benchmark_outcome has 95 of 100 requests completed, the result 96 of 100");
  EXPECT_EQ(failure(passed, "95", "101"),
            "benchmark_outcome has 95 of 100 requests completed, the result 95 of 101");
}

TEST(BenchmarkFailure, IsAnOutcomeThatDoesNotFollowFromItsCounts) {
  const std::string text =
      "benchmark_outcome does not follow from its counts: 6 of 100 requests failed, so its status "
      "is 'failed'";
  EXPECT_EQ(
      failure(
          R"({"status": "passed", "requested": 100, "completed": 94, "failed": 6, "max_failure_rate": 0.05})"),
      text);
  EXPECT_EQ(failure(R"({"status": "failed", "requested": 100, "completed": 94, "failed": 6})"),
            text);
  for (const char* const outcome : {"{}", "[]", "\"passed\"", R"({"status": "passed"})",
                                    R"({"status": "failed", "requested": 0, "completed": 0})"}) {
    EXPECT_EQ(failure(outcome), "benchmark_outcome does not state how many requests completed")
        << outcome;
  }
}

TEST(FailureByCounts, IsAboveFivePercent) {
  EXPECT_EQ(failure_by_counts(5, 95), "");
  EXPECT_EQ(failure_by_counts(5, 94), "5 of 99 requests failed, at most 5 % may");
  EXPECT_EQ(failure_by_counts(0, 0), "");
  EXPECT_EQ(failure_by_counts(3, 0), "3 of 3 requests failed, at most 5 % may");
  EXPECT_EQ(failure_by_counts(~std::uint64_t{0}, 1), "");
}

}  // namespace benchmark_outcome_test
}  // namespace aggregate_power
