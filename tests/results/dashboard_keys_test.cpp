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

constexpr const char* kRecord = "power_validation_run.json";

// What becomes of `key`; null where nothing does.
Json edit(const Result& result, const std::string& key, const std::string& record = kRecord) {
  std::vector<JsonEdit> edits;
  add_dashboard_keys(edits, result, record);
  for (const JsonEdit& edit : edits) {
    if (edit.key == key) return Json::parse(edit.value);
  }
  return nullptr;
}

Json audit(const Result& result, const std::string& record = "") {
  return edit(result, "power_audit", record);
}

GpuResult gpu(const std::string& name, double max_sample_gap_s) {
  return {name, {.max_sample_gap_s = max_sample_gap_s, .bracketed = true}};
}

TEST(DashboardKeys, AuditSaysWhatIsKnown) {
  EXPECT_EQ(audit({}), Json::object());
  Result all;
  all.load = Load{.window = {1.5, 3.5}};
  all.expected_gpus = 2;
  all.observed_gpus = 2;
  all.fleet.emplace().samples_in_window = 40;
  all.gpus = {gpu("0", 1.25), gpu("1", 1), {"2", {.max_sample_gap_s = 9}}};
  all.observed_gpu_ids = {"0", "1"};
  all.package.emplace();
  all.package->producer_git_commit = "abc";
  all.package->exporter_image_sha256 = "def";
  EXPECT_EQ(audit(all, kRecord), Json::parse(R"({"window_start_unix": 1.5, "window_end_unix": 3.5,
      "expected_gpu_count": 2, "observed_gpu_count": 2, "sample_count": 40,
      "max_sample_gap_s": 1.25, "source": "power_validation_run.json",
      "observed_gpu_ids": ["0", "1"], "producer_sha": "abc", "exporter_image_sha256": "def"})"));
}

TEST(DashboardKeys, AuditSaysWhatWasAskedForWhereAPackageSaysNothing) {
  Result result;
  result.package.emplace().asked_gpus = 16;
  result.expected_gpus = 0;
  EXPECT_EQ(audit(result), (Json{{"expected_gpu_count", 16}}));
}

TEST(DashboardKeys, AuditLeavesOutWhatExceedsItsLimit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Result odd;
  odd.load = Load{.window = {-kInfinity, kInfinity}};
  odd.expected_gpus = -1;
  odd.fleet.emplace().samples_in_window = (std::uint64_t{1} << 53);
  odd.gpus = {gpu("0", kInfinity)};
  odd.package.emplace();
  odd.package->producer_git_commit = std::string(129, 'a');
  odd.package->exporter_image_sha256 = std::string(129, 'a');
  odd.observed_gpu_ids = {std::string(129, 'x'), std::string(128, 'y')};
  EXPECT_EQ(audit(odd), (Json{{"observed_gpu_count", 0},
                              {"expected_gpu_count", 0},
                              {"observed_gpu_ids", {std::string(128, 'y')}}}));

  Result largest;
  largest.fleet.emplace().samples_in_window = (std::uint64_t{1} << 53) - 1;
  largest.package.emplace().producer_git_commit = std::string(128, 'a');
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
    EXPECT_EQ(audit({}, c.source).contains("source"), c.is_written) << c.source;
  }
}

TEST(DashboardKeys, ReasonsAreSaidOfRunsThatAreNotValid) {
  Result result;
  EXPECT_EQ(edit(result, "power_invalid_reasons"), nullptr);
  result.reasons.add(Reason::sampling_gap_exceeded, "GPU 3: 4.2 s, at most 3 s");
  result.reasons.add(Reason::gpu_identity_missing);
  EXPECT_EQ(edit(result, "power_invalid_reasons"),
            (Json{"sampling_gap_exceeded", "gpu_identity_missing"}));
  for (const Reason reason : all_reasons()) result.reasons.add(reason);
  EXPECT_EQ(edit(result, "power_invalid_reasons").size(), 32u);
}

TEST(DashboardKeys, WorkersAreThoseOfAValidRun) {
  Result result;
  EXPECT_EQ(edit(result, "workers"), nullptr);
  Worker prefill = {.role = "prefill", .worker_idx = 0, .num_gpus = 4, .avg_power_w = 500.00049};
  prefill.hosts = {"node-a"};
  prefill.avg_temp_c = 60.25;
  Worker decode = {.role = "decode", .worker_idx = 1, .num_gpus = 8, .avg_power_w = 400};
  result.workers = {prefill, decode};
  EXPECT_EQ(edit(result, "workers"), Json::parse(R"([
      {"role": "prefill", "worker_idx": 0, "num_gpus": 4, "avg_power_w": 500.0,
       "hosts": ["node-a"], "avg_temp_c": 60.25},
      {"role": "decode", "worker_idx": 1, "num_gpus": 8, "avg_power_w": 400.0}])"));
  result.reasons.add(Reason::sampling_gap_exceeded);
  EXPECT_EQ(edit(result, "workers"), nullptr);
}

TEST(DashboardKeys, EditsTakeThePlaceOfOthers) {
  std::vector<JsonEdit> edits = {{"power_valid", "0"}, {"power_invalid_reasons", ""}};
  Result result;
  result.reasons.add(Reason::sampling_gap_exceeded);
  add_dashboard_keys(edits, result, kRecord);
  ASSERT_EQ(edits.size(), 3u);
  EXPECT_EQ(edits[1].key, "power_invalid_reasons");
  EXPECT_EQ(edits[1].value, "[\"sampling_gap_exceeded\"]");
  EXPECT_EQ(edits[2].key, "power_audit");
}

}  // namespace
}  // namespace aggregate_power
