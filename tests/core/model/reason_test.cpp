// Codes of reasons, and lists of them.
#include "aggregate_power/reason.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace reason_test {

using Codes = std::vector<std::string>;

// Contract.md B.2, B.3 and B.6, letter by letter: dashboards read them.
TEST(Reason, HasTheContractsCodes) {
  const Codes codes = {
      "invalid_benchmark_result",       "invalid_benchmark_window",
      "benchmark_duration_mismatch",    "invalid_successful_query_count",
      "invalid_input_token_count",      "invalid_output_token_count",
      "invalid_expected_gpu_count",     "invalid_max_sample_gap",
      "telemetry_file_missing",         "telemetry_file_empty",
      "telemetry_file_unreadable",      "timestamp_column_missing",
      "power_column_missing",           "gpu_identity_column_missing",
      "invalid_timestamp_sample",       "invalid_power_sample",
      "gpu_identity_missing",           "no_usable_power_samples",
      "expected_gpu_count_mismatch",    "insufficient_power_samples",
      "benchmark_window_not_bracketed", "sampling_gap_exceeded",
      "aggregate_result_missing",       "aggregate_result_unwritable",
  };
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(code(static_cast<Reason>(i)), codes[i]);
  }
}

TEST(Reason, HasACodeAndARemedyOfItsOwn) {
  std::set<std::string_view> codes;
  std::set<std::string_view> remedies;
  for (const Reason reason : all_reasons()) {
    EXPECT_TRUE(codes.insert(code(reason)).second) << code(reason);
    EXPECT_TRUE(remedies.insert(remedy(reason)).second) << code(reason);
    for (const std::string_view text : {meaning(reason), causes(reason), remedy(reason)}) {
      EXPECT_FALSE(text.empty() || text.ends_with('.')) << code(reason);
    }
    EXPECT_FALSE(remedy(reason)[0] >= 'A' && remedy(reason)[0] <= 'Z') << code(reason);
  }
}

TEST(Reasons, KeepTheOrderOfDiscoveryAndTheFirstDetail) {
  Reasons reasons;
  EXPECT_TRUE(reasons.empty());
  EXPECT_EQ(reasons.text(), "");
  reasons.add(Reason::sampling_gap_exceeded, "GPU 3: 4.2 s, at most 3 s");
  reasons.add(Reason::gpu_identity_missing);
  reasons.add(Reason::sampling_gap_exceeded, "GPU 4: 5 s");
  EXPECT_FALSE(reasons.empty());
  EXPECT_TRUE(reasons.contains(Reason::gpu_identity_missing));
  EXPECT_FALSE(reasons.contains(Reason::invalid_power_sample));
  EXPECT_EQ(reasons.codes(), (Codes{"sampling_gap_exceeded", "gpu_identity_missing"}));
  EXPECT_EQ(reasons.text(),
            "sampling_gap_exceeded (GPU 3: 4.2 s, at most 3 s), gpu_identity_missing");

  Reasons first;
  first.add(Reason::gpu_identity_missing, "here");
  first.add(reasons);
  EXPECT_EQ(first.text(),
            "gpu_identity_missing (here), sampling_gap_exceeded (GPU 3: 4.2 s, at most 3 s)");
}

}  // namespace reason_test
}  // namespace aggregate_power
