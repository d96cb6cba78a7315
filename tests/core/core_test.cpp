// The core alone does the main job: from a CSV and a benchmark result to the patched aggregate and
// its audit record. This program is linked with nothing else of ours.
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "core/energy/integrate.h"
#include "core/energy/metrics.h"
#include "core/load/benchmark.h"
#include "core/record/edits.h"
#include "core/record/record_write.h"
#include "core/record/transaction.h"
#include "core/telemetry/csv_telemetry.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {
namespace {

namespace fs = std::filesystem;

constexpr double kStartUnixS = 1'790'000'000;

class Core : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "core_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  nlohmann::json read(const std::string& name) const {
    return nlohmann::json::parse(std::ifstream(folder_ / name));
  }

  fs::path folder_;
};

// GPU 0 draws 100 W, then 400 W from the window's start to its end; GPU 1 draws 300 W throughout.
std::string telemetry() {
  std::ostringstream csv;
  csv << "timestamp,index,power.draw [W]\n";
  for (int second = -5; second <= 65; ++second) {
    const std::string stamp = std::to_string(static_cast<long>(kStartUnixS) + second);
    csv << stamp << ",0," << (second < 0 || second > 60 ? 100 : 400) << " W\n";
    csv << stamp << ",1,300 W\n";
  }
  return csv.str();
}

Result result_of(const std::string& csv_path, const std::string& result_path) {
  Result result;
  const LoadReading reading =
      read_benchmark(*open_source(result_path), result_path, LoadRules::schema_2);
  result.load = reading.load;
  result.reasons = reading.reasons;

  IntegrationOptions options;
  options.window = result.load->window;
  WindowRows rows(options);
  Samples samples({options.window.start_unix_s - options.max_sample_gap_s,
                   options.window.end_unix_s + options.max_sample_gap_s});
  CsvTelemetry csv(open_source(csv_path), std::nullopt);
  csv.read([&](std::span<const Reading> readings) {
    rows.take(readings);
    samples.take(readings);
  });
  samples.sort();
  PowerIntegrator integrator(options);
  integrator.take(samples);
  const Integration integration = integrator.finish(rows, csv.devices());

  result.reasons.add(integration.reasons);
  result.observed_gpu_ids = integration.gpu_ids;
  result.observed_gpus = result.metric_gpus = integration.gpu_ids.size();
  result.metrics = energy_metrics({.energy_j = *integration.total_gpu_energy_j,
                                   .gpus = integration.gpus.size(),
                                   .load = *result.load});
  return result;
}

TEST_F(Core, GoesFromACsvAndAResultToAnAggregateAndItsRecord) {
  const std::string csv = write("gpu_metrics.csv", telemetry());
  const std::string bench = write("bench.json",
                                  R"({"benchmark_start_time_unix": 1790000000.0,
      "benchmark_end_time_unix": 1790000060.0, "duration": 60.0, "completed": 100, "num_prompts": 100,
      "max_concurrency": 4, "total_input_tokens": 42000, "total_output_tokens": 21000})");
  const std::string aggregate = write("agg.json", R"({"hw": "h100", "tput_per_gpu": 175.0})");

  WritePlan target;
  target.aggregate_path = aggregate;
  target.record_path = record_beside(bench);
  target.inputs = {csv, bench};
  const WriteOutcome outcome =
      carry_out(plan(std::make_shared<const Result>(result_of(csv, bench)), target));

  EXPECT_TRUE(outcome.reasons.empty());
  EXPECT_EQ(outcome.record_fault, "");
  // (400 W + 300 W) x 60 s = 42,000 J for 21,000 output tokens.
  const nlohmann::json patched = read("agg.json");
  EXPECT_EQ(patched["hw"], "h100");
  EXPECT_EQ(patched["power_valid"], 1);
  EXPECT_DOUBLE_EQ(patched["avg_power_w"], 350);
  EXPECT_DOUBLE_EQ(patched["joules_per_output_token"], 2);
  EXPECT_DOUBLE_EQ(patched["total_gpu_energy_j"], 42000);
  EXPECT_EQ(read("power_validation_bench.json")["power_valid"], true);
}

}  // namespace
}  // namespace aggregate_power
