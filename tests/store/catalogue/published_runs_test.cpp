// Aggregates and audit records to published runs.
#include "store/catalogue/published_runs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "store/catalogue/run_record.h"
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
              (std::vector<std::pair<SharedText, double>>{{"0", 4000}, {"1", 6000}}));
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
    names.push_back(std::filesystem::path(run.name).filename());
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

TEST(PublishedRuns, KeepTheMembersOfAggregatesExceptLists) {
  const KeptMembers kept(parse_json(
      R"({"a": "x\u0000y", "": 1.50, "b": {"c": {"d": true}, "e": null}, "f": [1], "g": null})"));
  EXPECT_EQ(kept.names(), (std::vector<std::string>{"a", "", "b", "f", "g"}));
  EXPECT_EQ(kept.at("a").text, std::string("x\0y", 3));
  EXPECT_EQ(kept.at("").text, "1.50");
  EXPECT_TRUE(kept.at("b").at("c").at("d").is_true());
  EXPECT_TRUE(kept.at("b").at("e").is_null());
  EXPECT_TRUE(kept.at("f").is_array());
  EXPECT_TRUE(kept.find("g")->is_null());
  EXPECT_FALSE(kept.find("h"));
  EXPECT_EQ(kept.all().members.size(), 5U);
  EXPECT_FALSE(KeptMembers().find(""));
}

TEST(PublishedRuns, KeepPlacesAsTheyWereFound) {
  const Folder folder;
  std::filesystem::create_directories(folder / "a/b");
  put(folder / "a/b/c.json", "{}");
  const auto root = place_in_store(folder.path(), {});
  ASSERT_TRUE(root);
  const auto found = file_below(*root, "a/b/c.json");
  ASSERT_TRUE(found);
  for (const StorePath* one = &*found; one != nullptr; one = one->folder.get()) {
    const StorePath kept = KeptPlace(*one).place();
    EXPECT_EQ(kept.path, one->path);
    EXPECT_EQ(kept.display, one->display);
    EXPECT_EQ(kept.below, one->below);
    EXPECT_EQ(kept.facts, one->facts);
    EXPECT_EQ(kept.folder == nullptr, one->folder == nullptr);
    EXPECT_EQ(KeptPlace(*one).display(), one->display);
  }
  EXPECT_FALSE(KeptPlace());
}

TEST(PublishedRuns, AreSampledAlikeInAnyOrder) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(std::to_string(i));
  const auto drawn = [&](std::uint64_t seed) {
    std::set<std::string> sample;
    const auto text = [&](std::size_t i) { return std::string_view(texts[i]); };
    const std::vector<std::size_t> order = seeded_order(texts.size(), seed, text);
    for (std::size_t i = 0; i < 100; ++i) sample.insert(texts[order[i]]);
    return sample;
  };
  const std::set<std::string> first = drawn(0);
  EXPECT_EQ(first.size(), 100U);
  EXPECT_NE(drawn(1), first);
  std::ranges::reverse(texts);
  EXPECT_EQ(drawn(0), first);
}

TEST(PublishedRuns, AreReadFromTheOutputOfMeasure) {
  const Folder folder;
  put(folder / "m.json", R"({"schema": "aggregate-power/measure-1", "runs": [{"generator": "vLLM",
    "valid": true, "window": {"start_unix": 5.0, "end_unix": 35.0}, "duration_s": 30.0,
    "total_gpu_energy_j": 1000.0, "energy_j_low": 900.0, "energy_j_high": 1100.0,
    "joules_per_output_token": 2.0, "gpu_ids": ["0"], "reasons": []}]})");
  const PublishedRuns found = read(folder / "m.json");
  ASSERT_EQ(found.runs.size(), 1U);
  const auto number = found.runs[0].number("joules_per_output_token");
  ASSERT_TRUE(number && number->repeatability);
  EXPECT_EQ(number->value, 2);
  EXPECT_FALSE(number->flowed);  // bounds of the window leave out how accurate the sensors are
  EXPECT_DOUBLE_EQ(number->repeatability->low, 1.8);
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
