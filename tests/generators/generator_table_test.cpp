// The table of load generators, and a row that the tests add.
#include "generators/generator_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace load_generator_test {

const std::string kResult =
    R"({"benchmark_start_time_unix": 1000.5, "benchmark_end_time_unix": 1010.5, "duration": 10,)"
    R"( "completed": 1, "total_input_tokens": 2, "total_output_tokens": 3})";

const std::string kRecord =
    R"({"metadata": {"benchmark_phase": "profiling"}, "metrics": {"input_sequence_length":)"
    R"( {"value": 5}, "output_sequence_length": {"value": 7}}, "error": null})";

LoadFiles files_of(const std::string& name, const std::string& text) {
  return {.name = name, .open = [&text] { return std::make_unique<MemorySource>(text); }};
}

TEST(ReadLoad, ReadsABenchmarkResult) {
  const LoadReading reading = read_load(files_of("run.json", kResult));
  EXPECT_EQ(reading.reasons.text(), "");
  ASSERT_TRUE(reading.load);
  EXPECT_TRUE(reading.has_window);
  EXPECT_EQ(reading.load->window.start_unix_s, 1000.5);
  EXPECT_EQ(reading.load->total_output_tokens, 3);
}

TEST(ReadLoad, KnowsAProfileByTheNameOfItsRecords) {
  LoadFiles files = files_of("aiperf_artifacts/profile_export.jsonl", kRecord);
  std::vector<std::string> roles;
  files.other = [&](std::string_view role) -> LoadFile {
    roles.emplace_back(role);
    if (role == "profile_timezone_offset") {
      return {std::make_unique<ResumedSource>("+0100\n", std::make_unique<MemorySource>("")), "z"};
    }
    return {std::make_unique<MemorySource>(R"({"start_time": "1970-01-02T00:00:00",)"
                                           R"( "end_time": "1970-01-02T00:00:10"})"),
            "s"};
  };
  const LoadReading reading = read_load(files);
  EXPECT_EQ(reading.reasons.text(), "");
  ASSERT_TRUE(reading.load);
  EXPECT_EQ(reading.load->window.start_unix_s, 86400 - 3600);
  EXPECT_EQ(reading.load->total_input_tokens, 5);
  EXPECT_TRUE(reading.captured_zone);
  EXPECT_EQ(roles, (std::vector<std::string>{"profile_timezone_offset", "profile_summary"}));
}

TEST(ReadLoad, ReadsRecordsAsAResultWhereOneFileIsTaken) {
  const LoadReading reading = read_load(files_of("profile_export.jsonl", kRecord));
  EXPECT_EQ(reading.reasons.codes(), (std::vector<std::string>{"invalid_benchmark_window"}));
  EXPECT_FALSE(reading.has_window);
}

TEST(ReadLoad, SaysWhichFileOfAProfileIsMissing) {
  LoadFiles files = files_of("profile_export.jsonl", kRecord);
  files.zone = Zone::fixed(0);
  files.other = [](std::string_view role) -> LoadFile {
    return {nullptr, "no " + std::string(role)};
  };
  EXPECT_EQ(read_load(files).reasons.text(), "profile_artifacts_missing (no profile_summary)");
}

// "load START END": a window without counts.
std::vector<LoadReading> read_words(const LoadFiles& files) {
  const std::string text = read_all(*files.open());
  LoadReading reading;
  reading.load = {.window = {std::stod(text.substr(5)), std::stod(text.substr(text.rfind(' ')))}};
  reading.has_window = true;
  return {reading};
}

constexpr LoadGenerator kWords = {
    .name = "words",
    .fits = [](const ResultHead& head) { return head.text.starts_with("load ") ? 1.0 : 0.0; },
    .read = read_words};

TEST(ReadLoad, ANewGeneratorIsOneRow) {
  std::vector<LoadGenerator> rows(load_generators().begin(), load_generators().end());
  rows.push_back(kWords);
  const std::string words = "load 1000 1060.5";
  const LoadReading reading = read_load(files_of("run.json", words), rows);
  ASSERT_TRUE(reading.load);
  EXPECT_EQ(reading.load->window.end_unix_s, 1060.5);
  EXPECT_EQ(read_load(files_of("run.json", kResult), rows).load->completed, 1);
}

TEST(ReadLoad, RefusesWhatNoRowTakes) {
  EXPECT_EQ(read_load(files_of("run.json", kResult), {&kWords, 1}).reasons.text(),
            "invalid_benchmark_result (run.json: not the result of a known load generator)");
}

}  // namespace load_generator_test
}  // namespace aggregate_power
