// The keys of --extended, and the consumer's limits of contract.md F.1.
#include "core/record/dashboard_keys.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace dashboard_keys_test {

using Json = nlohmann::json;

constexpr const char* kRecord = "power_validation_run.json";

// What becomes of `key`; null where nothing does.
Json edit(const Result& result, const std::string& key, const std::string& record = kRecord) {
  std::vector<JsonEdit> edits;
  add_audit_keys(edits, result, record);
  add_dashboard_keys(edits, result);
  for (const JsonEdit& edit : edits) {
    if (edit.key == key) return Json::parse(edit.value);
  }
  return nullptr;
}

Json audit(const Result& result, const std::string& record = "") {
  return edit(result, "power_audit", record);
}

GpuResult gpu(const std::string& name, double max_sample_gap_s, std::uint64_t samples = 0) {
  return {name, {.samples = samples, .max_sample_gap_s = max_sample_gap_s, .bracketed = true}};
}

Result of_one_node() {
  Result result;
  result.load = Load{.window = {1.5, 3.5}};
  result.expected_gpus = 2;
  result.observed_gpus = 2;
  result.fleet.emplace().samples_in_window = 40;
  result.gpus = {gpu("0", 1.25, 30), gpu("1", 1, 31), {"2", {.max_sample_gap_s = 9}}};
  result.observed_gpu_ids = {"0", "1"};
  return result;
}

// Contract-october.md 1.9.
TEST(DashboardKeys, AuditSaysWhatIsKnown) {
  EXPECT_EQ(audit({}), (Json{{"observed_gpu_count", 0}}));
  EXPECT_EQ(audit(of_one_node(), kRecord), Json::parse(R"({"source": "power_validation_run.json",
      "window_start_unix": 1.5, "window_end_unix": 3.5, "expected_gpu_count": 2,
      "observed_gpu_count": 2, "sample_count": 61, "max_sample_gap_s": 1.25,
      "observed_gpu_ids": ["0", "1"]})"));
}

TEST(DashboardKeys, AuditOfAPackageNamesItsGpusByTheirRolesAndCountsNoSamples) {
  Result package = of_one_node();
  package.package.emplace();
  package.package->producer_git_commit = "abc";
  package.package->exporter_image_sha256 = "def";
  package.observed_gpu_ids.clear();
  package.roles = {{"a/1", "agg"}, {"a/2", "agg"}, {"a/1", "agg"}};
  EXPECT_EQ(audit(package), Json::parse(R"({"window_start_unix": 1.5, "window_end_unix": 3.5,
      "expected_gpu_count": 2, "observed_gpu_count": 2, "max_sample_gap_s": 1.25,
      "producer_sha": "abc", "exporter_image_sha256": "def",
      "observed_gpu_ids": ["a/1", "a/2"]})"));
}

TEST(DashboardKeys, AuditInAugustCountsTheSamplesInTheWindow) {
  Result august = of_one_node();
  august.contract = Contract::august;
  august.package.emplace();
  EXPECT_EQ(audit(august).at("sample_count"), 40);
  EXPECT_EQ(audit(august).at("observed_gpu_ids"), (Json{"0", "1"}));
  august.fleet.reset();
  EXPECT_EQ(audit(august).count("observed_gpu_count"), 0u);
}

TEST(DashboardKeys, AuditSaysWhatWasAskedForWhereAPackageSaysNothing) {
  Result result;
  result.package.emplace().asked_gpus = 16;
  result.expected_gpus = 0;
  EXPECT_EQ(audit(result), (Json{{"expected_gpu_count", 16}, {"observed_gpu_count", 0}}));
}

// Contract-october.md 7, row 62.
TEST(DashboardKeys, AuditLeavesOutWhatExceedsItsLimit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Result odd;
  odd.load = Load{.window = {-kInfinity, kInfinity}};
  odd.expected_gpus = -1;
  odd.gpus = {gpu("0", kInfinity)};
  odd.package.emplace();
  odd.package->producer_git_commit = std::string(129, 'a');
  odd.package->exporter_image_sha256 = "";
  odd.roles = {{std::string(129, 'x'), "agg"}, {"", "agg"}, {std::string(128, 'y'), "agg"}};
  odd.cpu.emplace().source = std::string(33, 's');
  EXPECT_EQ(audit(odd), (Json{{"observed_gpu_count", 0},
                              {"expected_gpu_count", 0},
                              {"observed_gpu_ids", {std::string(128, 'y')}},
                              {"cpu",
                               {{"expected_sockets", 0},
                                {"observed_sockets", 0},
                                {"sample_row_count", 0},
                                {"reason_codes", Json::array()}}}}));
  odd.load = Load{.window = {-1, 1}};
  EXPECT_EQ(audit(odd).count("window_start_unix"), 0u);
  EXPECT_EQ(audit(odd).at("window_end_unix"), 1);

  Result largest;
  largest.gpus = {gpu("0", 1, (std::uint64_t{1} << 53) - 1)};
  for (int i = 0; i < 1025; ++i) largest.observed_gpu_ids.push_back(std::to_string(i));
  const Json json = audit(largest);
  EXPECT_EQ(json.at("sample_count"), 9007199254740991);
  EXPECT_EQ(json.at("observed_gpu_ids").size(), 1024u);
  EXPECT_EQ(json.at("observed_gpu_ids").back(), "1023");
  largest.gpus = {gpu("0", 1, std::uint64_t{1} << 53)};
  EXPECT_EQ(audit(largest).count("sample_count"), 0u);
}

TEST(DashboardKeys, AuditCountsCharactersNotBytes) {
  Result result;
  std::string id;
  for (int i = 0; i < 128; ++i) id += "\u00E9";
  result.observed_gpu_ids = {id, id + "e"};
  EXPECT_EQ(audit(result).at("observed_gpu_ids"), (Json{id}));
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

TEST(DashboardKeys, ReasonsAreAListThatIsEmptyForAValidRun) {
  Result result;
  EXPECT_EQ(edit(result, "power_invalid_reasons"), Json::array());
  result.contract = Contract::august;
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
  add_audit_keys(edits, result, kRecord);
  ASSERT_EQ(edits.size(), 3u);
  EXPECT_EQ(edits[1].key, "power_invalid_reasons");
  EXPECT_EQ(edits[1].value, "[\"sampling_gap_exceeded\"]");
  EXPECT_EQ(edits[2].key, "power_audit");
}

}  // namespace dashboard_keys_test
}  // namespace aggregate_power
