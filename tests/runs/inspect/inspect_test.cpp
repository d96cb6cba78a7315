// What is told of a telemetry file, through the built program: both forms of output, messages and
// exit statuses.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test_util.h"

namespace aggregate_power {
namespace inspect_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::Folder;
using test::ProgramRun;
using test::put;
using test::run_program;
using Codes = std::vector<std::string>;

ProgramRun inspect_in(const Folder& folder, std::vector<std::string> words,
                      std::string_view input = {}) {
  words.insert(words.begin(), "inspect");
  return run_program(words, input, folder.path());
}

const char* const kTwoGpus =
    "timestamp, index, power.draw [W]\n"
    "2026/04/25 12:00:00.000, 0, 100 W\n"
    "2026/04/25 12:00:00.000, 1, 300 W\n"
    "2026/04/25 12:00:01.000, 0, 200 W\n"
    "2026/04/25 12:00:01.000, 1, [N/A]\n"
    "\n"
    "2026/04/25 12:00:03.000, 0, 150 W\n";

TEST(Inspect, TellsEverythingAsJson) {
  const Folder folder;
  put(folder / "a.csv", kTwoGpus);
  const ProgramRun run = inspect_in(folder, {"a.csv", "--json"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, R"({
  "schema": "nvidia-smi",
  "timestamp_column": "timestamp",
  "power_column": "power.draw [W]",
  "power_unit": "W",
  "device_column": "index",
  "timezone": "local",
  "timezone_source": "default",
  "rows": 6,
  "devices": [
    {
      "id": "0",
      "samples": 3,
      "first_unix": 1777118400.0,
      "last_unix": 1777118403.0,
      "median_interval_s": 1.5,
      "max_gap_s": 2.0,
      "mean_w": 150.0,
      "min_w": 100.0,
      "max_w": 200.0
    },
    {
      "id": "1",
      "samples": 1,
      "first_unix": 1777118400.0,
      "last_unix": 1777118400.0,
      "median_interval_s": null,
      "max_gap_s": null,
      "mean_w": 300.0,
      "min_w": 300.0,
      "max_w": 300.0
    }
  ],
  "skipped": {
    "blank": 1,
    "repeated_header": 0,
    "preamble": 0,
    "comment": 0,
    "bad_timestamp": 0,
    "no_reading": 1,
    "too_many_cells": 0,
    "torn_tail": 0
  },
  "benchmark_window": null,
  "reasons": [],
  "warnings": []
}
)");
}

TEST(Inspect, TellsPeople) {
  const Folder folder;
  put(folder / "a.csv", kTwoGpus);
  const ProgramRun run = inspect_in(folder, {"./a.csv", "--timezone", "+02:00"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out,
            "file       a.csv\n"
            "schema     nvidia-smi\n"
            "timestamp  'timestamp' (the schema's own column)\n"
            "power      'power.draw [W]' (the schema's own column)\n"
            "unit       W (from the column's name)\n"
            "device     'index' (named as a device)\n"
            "time zone  +02:00 (from --timezone)\n"
            "rows       6\n"
            "  skipped  1 blank\n"
            "  skipped  1 no_reading\n"
            "\n"
            "device                samples     first unix      last unix  median s max gap s\n"
            "0                           3 1777111200.000 1777111203.000     1.500     2.000\n"
            "1                           1 1777111200.000 1777111200.000         -         -\n"
            "\n"
            "device                  mean W     min W     max W\n"
            "0                       150.00    100.00    200.00\n"
            "1                       300.00    300.00    300.00\n");
}

TEST(Inspect, FitsEightyColumnsWithLongIdsToo) {
  const Folder folder;
  const std::string id = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  put(folder / "a.csv",
      "timestamp,uuid,power.draw [W]\n1777118400," + id + ",100\n1777118401," + id + ",200\n");
  const std::string out = inspect_in(folder, {"a.csv"}).out;
  EXPECT_NE(out.find("\n" + id +
                     "\n                            2 1777118400.000 1777118401.000     1.000     "
                     "1.000\n"),
            std::string::npos)
      << out;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Inspect, SaysWhyThereIsNoPowerSeries) {
  const Folder folder;
  const struct {
    const char* what;
    std::string text;
    const char* err;
  } cases[] = {
      {"no power", "timestamp,index,temp\n1777118400,0,40\n",
       "aggregate-power: a.csv: no power series: power_column_missing (the header has "
       "'timestamp', 'index', 'temp')\n"
       "aggregate-power:   power_column_missing: record a column of power draw, or name it with "
       "--power-column\n"},
      {"relative times", "timestamp,index,power.draw [W]\n0.5,0,40\n1.5,0,41\n",
       "aggregate-power: a.csv: no power series: timestamp_column_missing, relative_time\n"
       "aggregate-power:   timestamp_column_missing: record a column of absolute times, or name it "
       "with --timestamp-column\n"
       "aggregate-power:   relative_time: record absolute times: seconds from a run's start cannot "
       "be placed in a window\n"},
      {"times of day", "timestamp,index,power.draw [W]\n12:00:00.5,0,40\n",
       "aggregate-power: a.csv: no power series: invalid_timestamp_sample (the first "
       "'12:00:00.5' in row 1 after the header), "
       "no_usable_power_samples, "
       "time_without_date\n"
       "aggregate-power:   invalid_timestamp_sample: rows without a readable time make "
       "the whole recording doubtful: fix the recorder, or name another column with "
       "--timestamp-column\n"
       "aggregate-power:   no_usable_power_samples: no power reading could be used: check "
       "the clocks, the time zone and the file\n"
       "aggregate-power:   time_without_date: record the date too: a time of day cannot be placed "
       "in a window\n"},
      {"nothing but missing values", "timestamp,index,power.draw [W]\n1777118400,0,[N/A]\n",
       "aggregate-power: a.csv: no power series: invalid_power_sample, no_usable_power_samples\n"
       "aggregate-power:   invalid_power_sample: some rows in or near the window have no usable "
       "power reading: check the recorder's log\n"
       "aggregate-power:   no_usable_power_samples: no power reading could be used: check "
       "the clocks, the time zone and the file\n"},
      {"no rows", "timestamp,index,power.draw [W]\n",
       "aggregate-power: a.csv: no power series: no_usable_power_samples\n"
       "aggregate-power:   no_usable_power_samples: no power reading could be used: check "
       "the clocks, the time zone and the file\n"},
      {"an empty file", "",
       "aggregate-power: a.csv: no power series: telemetry_file_empty (a.csv)\n"
       "aggregate-power:   telemetry_file_empty: the monitor wrote nothing: check that it can see "
       "the GPUs\n"},
  };
  for (const auto& c : cases) {
    put(folder / "a.csv", c.text);
    for (const bool json : {false, true}) {
      const ProgramRun run =
          json ? inspect_in(folder, {"a.csv", "--json"}) : inspect_in(folder, {"a.csv"});
      EXPECT_EQ(run.status, 1) << c.what;
      EXPECT_EQ(run.err, c.err) << c.what;
      if (json) {
        const Json reported = Json::parse(run.out);
        EXPECT_EQ(reported.at("devices"), Json::array()) << c.what;
        EXPECT_FALSE(reported.at("reasons").empty()) << c.what;
      }
    }
  }
}

TEST(Inspect, EndsWith2WhenAFileCannotBeOpened) {
  const Folder folder;
  fs::create_directory(folder / "folder");
  for (const std::string file : {"missing.csv", "folder", "missing/a.csv"}) {
    const ProgramRun run = inspect_in(folder, {file, "--json"});
    EXPECT_EQ(run.status, 2) << file;
    EXPECT_EQ(run.err,
              "aggregate-power: " + file + ": no power series: telemetry_file_missing (" + file +
                  (file == "folder" ? " is a folder" : "") +
                  ")\naggregate-power:   telemetry_file_missing: start the monitor before the "
                  "load, and check the path of its file\n");
    const Json reported = Json::parse(run.out);
    EXPECT_EQ(reported.at("reasons"), Json::array({"telemetry_file_missing"}));
    for (const char* key : {"schema", "timestamp_column", "power_column", "device_column"}) {
      EXPECT_TRUE(reported.at(key).is_null()) << key;
    }
  }
  put(folder / "a.csv", kTwoGpus);
  const ProgramRun run = inspect_in(folder, {"a.csv", "--bench-result", "run.json"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.err, "aggregate-power: run.json: cannot open: No such file or directory\n");
  EXPECT_NE(run.out.find("schema     nvidia-smi\n"), std::string::npos);
  EXPECT_EQ(inspect_in(folder, {}).status, 2);
  EXPECT_EQ(inspect_in(folder, {"a.csv", "--nonsense"}).status, 2);
}

TEST(Inspect, ReadsStandardInput) {
  const Folder folder;
  const ProgramRun run = inspect_in(folder, {"-", "--json"}, kTwoGpus);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(Json::parse(run.out).at("rows"), 6);
  const ProgramRun empty = inspect_in(folder, {"-"}, "");
  EXPECT_EQ(empty.status, 1);
  EXPECT_EQ(empty.err.substr(0, empty.err.find('\n')),
            "aggregate-power: -: no power series: telemetry_file_empty (standard input)");
}

TEST(Inspect, ShowsHowTheWindowLies) {
  const Folder folder;
  put(folder / "a.csv", kTwoGpus);
  const auto bench = [&](double start, double end) {
    put(folder / "run.json", Json{{"benchmark_start_time_unix", start},
                                  {"benchmark_end_time_unix", end},
                                  {"duration", end - start},
                                  {"completed", 1},
                                  {"total_input_tokens", 1},
                                  {"total_output_tokens", 1}}
                                 .dump());
  };
  bench(1777118400.5, 1777118402.75);
  const ProgramRun run = inspect_in(folder, {"a.csv", "--bench-result", "run.json"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(
      run.out.ends_with("\nwindow     1777118400.500 (2026-04-25T12:00:00.500Z) to\n"
                        "           1777118402.750 (2026-04-25T12:00:02.750Z), 2.250 s\n"
                        "  device 0: starts 0.500 s before it, ends 0.250 s after it\n"
                        "  device 1: starts 0.500 s before it, ENDS 2.750 s TOO EARLY\n"))
      << run.out;
  const Json reported =
      Json::parse(inspect_in(folder, {"a.csv", "--json", "--bench-result", "run.json"}).out);
  EXPECT_EQ(reported.at("benchmark_window"),
            (Json{{"start_time_unix", 1777118400.5}, {"end_time_unix", 1777118402.75}}));

  bench(1777118399.0, 1777118402.0);
  EXPECT_NE(inspect_in(folder, {"a.csv", "--bench-result", "run.json"})
                .out.find("  device 0: STARTS 1.000 s TOO LATE, ends 1.000 s after it\n"),
            std::string::npos);

  // A minute is 60 s.
  bench(1777118400.0 - 90, 1777118402.0);
  EXPECT_NE(inspect_in(folder, {"a.csv", "--bench-result", "run.json"})
                .out.find("  device 0: STARTS 90.000 s (1 min 30 s) TOO LATE, ends"),
            std::string::npos);
  bench(1777118400500, 1777118402750);
  EXPECT_NE(inspect_in(folder, {"a.csv", "--bench-result", "run.json"})
                .out.find("\n  the window's times are in milliseconds: divide by 1000\n"),
            std::string::npos);

  // Local time five and a half hours east.
  bench(1777118400.5 - 5.5 * 3600, 1777118402.75 - 5.5 * 3600);
  EXPECT_EQ(
      inspect_in(folder, {"a.csv", "--bench-result", "run.json"}).err,
      "aggregate-power: the recording would cover the window if its timestamps were in +05:30: "
      "pass --timezone +05:30; or this recording belongs to another run\n");

  put(folder / "run.json", "{");
  const ProgramRun broken = inspect_in(folder, {"a.csv", "--json", "--bench-result", "run.json"});
  EXPECT_TRUE(broken.err.starts_with("aggregate-power: invalid_benchmark_result (run.json:1:2: "))
      << broken.err;
  EXPECT_TRUE(Json::parse(broken.out).at("benchmark_window").is_null());
}

TEST(Inspect, SaysWhereTheZoneComesFrom) {
  const Folder folder;
  put(folder / "a.csv", kTwoGpus);
  const auto zone = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"a.csv", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Json reported = Json::parse(inspect_in(folder, words).out);
    return reported.at("timezone").get<std::string>() + " " +
           reported.at("timezone_source").get<std::string>();
  };
  EXPECT_EQ(zone({}), "local default");
  EXPECT_EQ(zone({"--timezone", "Europe/Berlin"}), "Europe/Berlin option");
  put(folder / "a_context.json", "{\"timestamp_timezone\": \"+01:00\"}");
  EXPECT_EQ(zone({}), "+01:00 file");
  EXPECT_EQ(zone({"--timezone", "UTC"}), "UTC option");
  put(folder / "a.csv", "timestamp,gpu,power_w\n1777118400,0,5\n");
  EXPECT_EQ(zone({"--timezone", "Europe/Berlin"}), "UTC stamps");
  fs::remove(folder / "a_context.json");
  put(folder / "a.csv", "Timestamp, DeviceId, power.draw (W)\n2026/04/25 12:00:00.500, 0, 5\n");
  EXPECT_EQ(zone({}), "UTC default");
}

TEST(Inspect, WarnsOfWhatIsOdd) {
  const Folder folder;
  const auto warnings = [&](const std::string& text) {
    put(folder / "a.csv", text);
    const ProgramRun run = inspect_in(folder, {"a.csv", "--json"});
    EXPECT_EQ(run.status, 0) << run.err;
    return Json::parse(run.out).at("warnings").get<Codes>();
  };
  EXPECT_EQ(warnings("timestamp,power_w\n1777118400,5\n"),
            Codes{"no_device_column: all rows are taken as those of one device; "
                  "--expected-num-gpus above 1 needs a column that identifies the GPU"});
  EXPECT_EQ(warnings("timestamp,gpu,power_w\n1777118400,0,5\n1777118401,,5\n1777118402,,6\n"),
            Codes{"unnamed_device: 2 readings do not name their device"});
  EXPECT_EQ(warnings("timestamp,gpu,power_w" + std::string(40, '\0') + "\n1777118400,0,5" +
                     std::string(2, '\0') + "\n"),
            Codes{"nul_bytes: 42 NUL bytes were dropped"});
  EXPECT_EQ(warnings("timestamp,gpu,power_w\n1777118400,0,5000\n"),
            Codes{"implausible_power: device 0 has a mean of 5000 W; milliwatts? pass "
                  "--power-unit mW if the GPU draws as little as 5 W"});
  EXPECT_EQ(warnings("timestamp,gpu,my_power,your_power\n1777118400,0,5,6\n"),
            Codes{"several_power_columns: 'my_power' is read; 'your_power' would fit too; choose "
                  "with --power-column"});
  put(folder / "a.csv", "timestamp,power_w\n1777118400,5\n");
  EXPECT_TRUE(
      inspect_in(folder, {"a.csv"})
          .out.ends_with("\nwarning: no_device_column: all rows are taken as those of one device; "
                         "--expected-num-gpus above 1 needs a column that identifies the GPU\n"));
}

TEST(Inspect, ObeysNamedColumns) {
  const Folder folder;
  put(folder / "a.csv", "timestamp,GPU0,GPU1\n1777118400,60,70\n");
  EXPECT_EQ(inspect_in(folder, {"a.csv"}).status, 1);
  const ProgramRun run = inspect_in(folder, {"a.csv", "--json", "--power-column", "GPU1"});
  EXPECT_EQ(run.status, 0);
  const Json reported = Json::parse(run.out);
  EXPECT_EQ(reported.at("power_column"), "GPU1");
  EXPECT_EQ(reported.at("devices")[0].at("mean_w"), 70);

  const ProgramRun missing = inspect_in(folder, {"a.csv", "--power-column", "GPU7"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(missing.err.find("named_column_missing (--power-column: no column 'GPU7'; the header "
                               "has 'timestamp', 'GPU0', 'GPU1')") != std::string::npos)
      << missing.err;
}

TEST(Inspect, RefusesModelNamesAsDevicesUnlessToldOtherwise) {
  const Folder folder;
  put(folder / "a.csv", "timestamp,gpu,slot,power_w\n1777118400,NVIDIA H100,3,60\n");
  const ProgramRun run = inspect_in(folder, {"a.csv", "--json"});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(Json::parse(run.out).at("reasons"),
            Json::array({"gpu_identity_column_missing", "model_name_as_device"}));
  EXPECT_EQ(inspect_in(folder, {"a.csv", "--device-column", "slot"}).status, 0);
}

TEST(Inspect, TellsOfACellThatIsTooLong) {
  const Folder folder;
  for (const int rows_before : {1, 300}) {
    std::string text = "timestamp,gpu,power_w\n";
    for (int i = 0; i < rows_before; ++i) text += "1777118400,0,5\n";
    put(folder / "a.csv", text + "1777118401,\"0,5\n" + std::string(140000, 'x'));
    const ProgramRun run = inspect_in(folder, {"a.csv", "--json"});
    EXPECT_EQ(run.status, 1) << rows_before;
    EXPECT_EQ(
        run.err,
        "aggregate-power: a.csv: no power series: telemetry_file_unreadable (a.csv: a cell of "
        "more than 131072 characters)\naggregate-power:   telemetry_file_unreadable: check "
        "the file's permissions, and whether it was cut off or a quote in it was never closed; if "
        "the fault is in its zone file, correct that file or pass --timezone\n")
        << rows_before;
    const Json reported = Json::parse(run.out);
    EXPECT_EQ(reported.at("reasons"), Json::array({"telemetry_file_unreadable"}));
    EXPECT_EQ(reported.at("power_column"), "power_w") << rows_before;
  }
}

TEST(Inspect, IsJsonWhateverAFileHolds) {
  const Folder folder;
  put(folder / "a\xB0.csv", "timestamp,gpu,power_w \"\xB0\\\x01\n1777118400,\xFF\"\\\x01,5\n");
  const ProgramRun run =
      inspect_in(folder, {"a\xB0.csv", "--json", "--power-column", "power_w \"\xEF\xBF\xBD\\\x01"});
  EXPECT_EQ(run.status, 0) << run.err;
  const Json reported = Json::parse(run.out);
  EXPECT_EQ(reported.at("devices")[0].at("id"), "\xEF\xBF\xBD\"\\\x01");
  EXPECT_EQ(reported.at("power_column"), "power_w \"\xEF\xBF\xBD\\\x01");
}

}  // namespace inspect_test
}  // namespace aggregate_power
