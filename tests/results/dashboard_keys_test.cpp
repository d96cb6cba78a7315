// The keys of --extended, and the consumer's limits of contract.md F.1.
#include "results/dashboard_keys.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace {

using Json = nlohmann::json;

Json edit(const DashboardContent& content, const std::string& key) {
  for (const JsonEdit& edit : dashboard_edits(content)) {
    if (edit.key == key) return Json::parse(edit.value);
  }
  return nullptr;
}

Json audit(const PowerAudit& audit) {
  DashboardContent content;
  content.audit = audit;
  return edit(content, "power_audit");
}

TEST(DashboardKeys, AuditSaysWhatIsKnown) {
  EXPECT_EQ(audit({}), Json::object());
  PowerAudit all;
  all.window = Window{1.5, 3.5};
  all.expected_gpu_count = 2;
  all.observed_gpu_count = 2;
  all.sample_count = 40;
  all.max_sample_gap_s = 1.25;
  all.observed_gpu_ids = {"0", "1"};
  all.source = "power_validation_run.json";
  all.producer_sha = "abc";
  all.exporter_image_sha256 = "def";
  EXPECT_EQ(audit(all), Json::parse(R"({"window_start_unix": 1.5, "window_end_unix": 3.5,
      "expected_gpu_count": 2, "observed_gpu_count": 2, "sample_count": 40,
      "max_sample_gap_s": 1.25, "source": "power_validation_run.json",
      "observed_gpu_ids": ["0", "1"], "producer_sha": "abc", "exporter_image_sha256": "def"})"));
}

TEST(DashboardKeys, AuditLeavesOutWhatExceedsItsLimit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  PowerAudit odd;
  odd.window = Window{-kInfinity, kInfinity};
  odd.expected_gpu_count = -1;
  odd.sample_count = (std::uint64_t{1} << 53);
  odd.max_sample_gap_s = kInfinity;
  odd.producer_sha = std::string(129, 'a');
  odd.exporter_image_sha256 = std::string(129, 'a');
  odd.observed_gpu_ids = {std::string(129, 'x'), std::string(128, 'y')};
  EXPECT_EQ(audit(odd), (Json{{"observed_gpu_ids", {std::string(128, 'y')}}}));

  PowerAudit largest;
  largest.sample_count = (std::uint64_t{1} << 53) - 1;
  largest.producer_sha = std::string(128, 'a');
  for (int i = 0; i < 1025; ++i) largest.observed_gpu_ids.push_back(std::to_string(i));
  const Json json = audit(largest);
  EXPECT_EQ(json.at("sample_count"), 9007199254740991);
  EXPECT_EQ(json.at("producer_sha"), std::string(128, 'a'));
  EXPECT_EQ(json.at("observed_gpu_ids").size(), 1024u);
}

TEST(DashboardKeys, AuditNamesItsRecordByPlainRelativePathsOnly) {
  const struct {
    std::string source;
    bool is_written;
  } cases[] = {
      {"power_validation_run.json", true},
      {"a/b-c_d.json", true},
      {std::string(512, 'a'), true},
      {std::string(513, 'a'), false},
      {"/tmp/power_validation_run.json", false},
      {"../power_validation_run.json", false},
      {"a..json", false},
      {"power validation.json", false},
      {"caf\u00E9.json", false},
      {"", false},
  };
  for (const auto& c : cases) {
    PowerAudit named;
    named.source = c.source;
    EXPECT_EQ(audit(named).contains("source"), c.is_written) << c.source;
  }
}

TEST(DashboardKeys, ReasonsAreSaidOfRunsThatAreNotValid) {
  DashboardContent content;
  EXPECT_EQ(edit(content, "power_invalid_reasons"), nullptr);
  content.reasons.add(Reason::sampling_gap_exceeded, "GPU 3: 4.2 s, at most 3 s");
  content.reasons.add(Reason::gpu_identity_missing);
  EXPECT_EQ(edit(content, "power_invalid_reasons"),
            (Json{"sampling_gap_exceeded", "gpu_identity_missing"}));
  for (const Reason reason : all_reasons()) content.reasons.add(reason);
  EXPECT_EQ(edit(content, "power_invalid_reasons").size(), 32u);
}

TEST(DashboardKeys, WorkersAreThoseOfAValidRun) {
  DashboardContent content;
  EXPECT_EQ(edit(content, "workers"), nullptr);
  Worker prefill = {.role = "prefill", .worker_idx = 0, .num_gpus = 4, .avg_power_w = 500.00049};
  prefill.hosts = {"node-a"};
  prefill.avg_temp_c = 60.25;
  Worker decode = {.role = "decode", .worker_idx = 1, .num_gpus = 8, .avg_power_w = 400};
  content.workers = {prefill, decode};
  EXPECT_EQ(edit(content, "workers"), Json::parse(R"([
      {"role": "prefill", "worker_idx": 0, "num_gpus": 4, "avg_power_w": 500.0,
       "hosts": ["node-a"], "avg_temp_c": 60.25},
      {"role": "decode", "worker_idx": 1, "num_gpus": 8, "avg_power_w": 400.0}])"));
  content.reasons.add(Reason::sampling_gap_exceeded);
  EXPECT_EQ(edit(content, "workers"), nullptr);
}

TEST(DashboardKeys, EditsTakeThePlaceOfOthers) {
  std::vector<JsonEdit> edits = {{"power_valid", "0"}, {"power_invalid_reasons", ""}};
  DashboardContent content;
  content.reasons.add(Reason::sampling_gap_exceeded);
  add_dashboard_keys(edits, content);
  ASSERT_EQ(edits.size(), 3u);
  EXPECT_EQ(edits[1].key, "power_invalid_reasons");
  EXPECT_EQ(edits[1].value, "[\"sampling_gap_exceeded\"]");
  EXPECT_EQ(edits[2].key, "power_audit");
}

TEST(DashboardKeys, StatesAreThoseOfAllGpus) {
  FleetMeasurement fleet;
  fleet.power = FleetPower({{0, 0}, {10, 1000}});
  fleet.states[0] = {.mean = 60, .peak = 70, .gpus = 2};
  fleet.states[1] = {.mean = 99, .peak = 100, .gpus = 1};  // the other GPU does not say
  fleet.states[2] = {.mean = 2000, .peak = 3000, .gpus = 2};
  std::vector<std::pair<std::string, double>> found;
  for (const Metric& metric : dashboard_metrics(fleet, 2)) {
    EXPECT_EQ(metric.decimals, 3);
    found.emplace_back(metric.key, metric.value);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, double>>{{"p75_power_w", 375},
                                                                {"p75_total_gpu_power_w", 750},
                                                                {"p90_power_w", 450},
                                                                {"p90_total_gpu_power_w", 900},
                                                                {"avg_temp_c", 60},
                                                                {"peak_temp_c", 70},
                                                                {"avg_mem_used_mb", 2000}}));
}

}  // namespace
}  // namespace aggregate_power
