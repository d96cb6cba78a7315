// Aggregates and audit records to published runs.
#include "store/catalogue/published_runs.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "test_util.h"

namespace aggregate_power {
namespace published_run_test {

using test::Folder;
using test::put;

constexpr const char* kAggregate =
    R"({"hw": "h100", "tp": 2, "date": "2026-11-01", "power_metric_schema_version": 2,
        "power_valid": 1, "avg_power_w": 500.0, "total_gpu_energy_j": 10000.0,
        "joules_per_output_token": 1.234568})";

std::string record_of(const std::string& aggregate, const std::string& joules = "10000.0") {
  return R"({"schema_version": 1, "power_valid": true, "reasons": [],
      "telemetry_source": "gpu_metrics.csv", "benchmark_result": "run.json",
      "benchmark_window": {"start_time_unix": 1000.0, "end_time_unix": 1010.0, "completed": 7,
        "total_input_tokens": 40, "total_output_tokens": 8100},
      "observed_gpu_ids": ["1", "0"], "per_gpu_energy_j": {"0": 4000.0, "1": 6000.0}, "metrics": {"avg_power_w": 500.0, "total_gpu_energy_j": )" +
         joules + R"(, "joules_per_output_token": 1.2345679},
      "uncertainty": {"verdicts": [{"code": "steady_state"}], "total_gpu_energy_j":
        {"low": 9500.0, "high": 10500.0, "standard_uncertainty": 255.0,
         "repeatability": {"low": 9980.0, "high": 10020.0, "standard_uncertainty": 10.2}}},
      "computed_from": {"collector": "NVML", "scope": "gpu", "aggregate": ")" +
         aggregate + R"("}})";
}

PublishedRuns read(const std::string& place) { return read_published_runs({place}, 2); }

TEST(PublishedRuns, JoinsTheAggregateWithItsRecord) {
  const Folder folder;
  put(folder / "agg_run.json", kAggregate);
  put(folder / "power_validation_run.json", record_of("agg_run.json"));
  put(folder / "run.json", R"({"completed": 7})");
  for (const std::string& place :
       {folder.path(), folder / "agg_run.json", folder / "power_validation_run.json"}) {
    const PublishedRuns found = read(place);
    ASSERT_EQ(found.runs.size(), 1U) << place;
    const PublishedRun& run = found.runs[0];
    EXPECT_EQ(run.state, PowerState::valid);
    EXPECT_EQ(run.number("total_gpu_energy_j")->value, 10000);
    EXPECT_EQ(run.number("total_gpu_energy_j")->flowed->high, 10500);
    EXPECT_EQ(run.number("total_gpu_energy_j")->repeatability->low, 9980);
    EXPECT_EQ(run.number("avg_power_w")->flowed, std::nullopt);
    EXPECT_EQ(run.duration_s, 10);
    EXPECT_EQ(run.output_tokens, 8100);
    EXPECT_EQ(run.gpu_ids, (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(run.gpu_energies_j,
              (std::vector<std::pair<std::string, double>>{{"0", 4000}, {"1", 6000}}));
    EXPECT_EQ(run.scope, "gpu");
    EXPECT_EQ(run.verdicts, std::vector<std::string>{"steady_state"});
    EXPECT_EQ(configuration_text(configuration_of(run, {})), "hw=h100 tp=2");
    EXPECT_EQ(configuration_text(configuration_of(run, {"date"})), "date=2026-11-01");
  }
}

TEST(PublishedRuns, DoNotBelieveAnAggregateThatItsRecordContradicts) {
  const Folder folder;
  put(folder / "agg_run.json", kAggregate);
  put(folder / "power_validation_run.json", record_of("agg_run.json", "9000.0"));
  const PublishedRuns found = read(folder.path());
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.runs[0].state, PowerState::not_valid);
  EXPECT_EQ(found.runs[0].number("total_gpu_energy_j"), std::nullopt);
  EXPECT_NE(found.runs[0].doubt, "");
  EXPECT_TRUE(found.runs[0].gpu_energies_j.empty());
}

TEST(PublishedRuns, AreInTheOrderInWhichTheyAreNamed) {
  const Folder folder;
  for (const char* const name : {"a", "b", "c"}) {
    const std::string file = std::string("agg_") + name + ".json";
    put(folder / file, kAggregate);
    put(folder / (std::string("power_validation_") + name + ".json"), record_of(file));
  }
  std::vector<std::string> names;
  for (const PublishedRun& run :
       read_published_runs({folder / "agg_c.json", folder / "agg_a.json"}, 2).runs) {
    names.push_back(std::filesystem::path(run.aggregate).filename());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"agg_c.json", "agg_a.json"}));
}

TEST(PublishedRuns, AreFoundWithoutRecordsAndUnderOtherNames) {
  const Folder folder;
  put(folder / "b.json", R"({"tp": 4, "avg_power_w": 100.0})");
  put(folder / "a.json", R"({"tp": 8, "power_valid": 0})");
  put(folder / "agg_c.json", R"({"tp": 1})");
  put(folder / "windows.json", R"({"windows": []})");
  const PublishedRuns found = read(folder.path());
  ASSERT_EQ(found.runs.size(), 3U);
  EXPECT_EQ(found.runs[0].state, PowerState::not_valid);
  EXPECT_EQ(found.runs[1].state, PowerState::none);
  EXPECT_EQ(found.runs[2].state, PowerState::valid);
}

TEST(PublishedRuns, AreReadFromTheOutputOfMeasure) {
  const Folder folder;
  put(folder / "m.json", R"({"schema": "aggregate-power/measure-1", "runs": [{"generator": "vLLM",
    "valid": true, "window": {"start_unix": 5.0, "end_unix": 35.0}, "duration_s": 30.0,
    "total_gpu_energy_j": 1000.0, "energy_j_low": 900.0, "energy_j_high": 1100.0,
    "joules_per_output_token": 2.0, "gpu_ids": ["0"], "reasons": []}]})");
  const PublishedRuns found = read(folder / "m.json");
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.runs[0].number("joules_per_output_token")->value, 2);
  EXPECT_DOUBLE_EQ(found.runs[0].number("joules_per_output_token")->flowed->low, 1.8);
  EXPECT_EQ(configuration_text(configuration_of(found.runs[0], {})), "generator=vLLM");
}

TEST(PublishedRuns, SaysWhatIsWrongWithANamedFile) {
  const Folder folder;
  put(folder / "x.json", "[1, 2");
  EXPECT_THROW(read(folder / "nothing.json"), FileError);
  EXPECT_THROW(read(folder / "x.json"), Error);
  put(folder / "x.json", "3");
  EXPECT_THROW(read(folder / "x.json"), Error);
}

}  // namespace published_run_test
}  // namespace aggregate_power
