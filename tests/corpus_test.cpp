// Every capture in testdata/telemetry is read or refused as the index of the corpus says: its
// columns, devices, samples, skipped rows and exit status, through the built program. Counts were
// taken with Python's csv module; testdata/README.md says where the files come from.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test_util.h"

namespace aggregate_power {
namespace corpus_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using test::Folder;
using test::ProgramRun;
using test::put;
using test::run_program;

// ---- Files that are read.

struct Readable {
  const char* file;
  const char* schema;
  const char* timestamp;
  const char* power;
  const char* device;  // empty: none, all rows are of one GPU
  int devices;
  int samples;
  const char* warnings = "";  // their codes, in order
  const char* skipped = "";   // causes and counts
};

const char* const kOneGpu = "no_device_column";

const Readable kReadable[] = {
    {"amd-smi/mi355x-metric-watch-crlf-blank-lf.csv", "amd-smi", "timestamp", "socket_power", "gpu",
     8, 14, "", "blank 1"},
    // A cluster in which some GPUs draw 67 W and others 690 W.
    {"dcgm/prometheus-long-format-247-h100.csv", "dcgm-long", "timestamp", "value", "uuid", 24, 24,
     "idle_device"},
    {"gpu-z/board-power-draw.txt", "gpu-z", "Date", "Board Power Draw [W]", "", 1, 9, kOneGpu},
    // 0.0 or 0.1 W in each row: an idle laptop's GPU.
    {"gpu-z/nul-padded-header.txt", "gpu-z", "Date", "GPU Power [W]", "", 1, 11,
     "implausible_watts mostly_repeated no_device_column nul_bytes"},
    {"nvidia-smi/a100-draw-and-instant-units.csv", "nvidia-smi", "timestamp", "power.draw [W]", "",
     1, 20, "mostly_repeated no_device_column"},
    {"nvidia-smi/a100-unknown-error-clock.csv", "nvidia-smi", "timestamp", "power.draw [W]", "", 1,
     20, "constant_series no_device_column"},
    // Polled every 3 ms, and the sensor changes every 100 ms.
    {"nvidia-smi/h100-instant-only-lms1.csv", "nvidia-smi", "timestamp", "power.draw.instant [W]",
     "", 1, 20, "constant_series no_device_column"},
    {"nvidia-smi/h800-41cols-clock-event-reasons-before-power.csv", "nvidia-smi", "timestamp",
     "power.draw [W]", "uuid", 1, 10},
    {"nvidia-smi/inferencex-b200-fragment.csv", "nvidia-smi", "timestamp", "power.draw [W]",
     "index", 8, 24},
    {"nvidia-smi/inferencex-two-samples-500w.csv", "nvidia-smi", "timestamp", "power.draw [W]",
     "index", 1, 2},
    {"nvidia-smi/k40m-old-driver-nounits.csv", "nvidia-smi", "timestamp", "power.draw [W]", "", 1,
     20, "mostly_repeated no_device_column"},
    {"nvidia-smi/laptop-two-column-units.csv", "nvidia-smi", "timestamp", "power.draw [W]", "", 1,
     20, kOneGpu},
    {"nvidia-smi/rtx3090-nounits-avg-instant.csv", "nvidia-smi", "timestamp", "power.draw [W]", "",
     1, 20, "mostly_repeated no_device_column"},
    {"nvidia-smi/rtx4090-name-units.csv", "nvidia-smi", "timestamp", "power.draw [W]", "", 1, 20,
     kOneGpu},
    {"nvidia-smi/windows-nounits-utc-in-name-local-in-cells.csv", "nvidia-smi", "timestamp",
     "power.draw [W]", "", 1, 20, kOneGpu},
    {"other-meters/rpi5-power-mw-header-watt-values.csv", "generic", "Timestamp (s)", "Power (mW)",
     "", 1, 20, "implausible_watts no_device_column"},
    {"tegrastats/gpu-power-w-but-milliwatts.csv", "generic", "timestamp", "gpu_power_w", "", 1, 10,
     "implausible_power no_device_column"},
    {"wrappers/cpu-watts-empty-then-gpu-watts.csv", "generic", "timestamp", "gpu_watts", "", 1, 20,
     "mostly_repeated no_device_column"},
    {"wrappers/h100x8-nvml-energy-mj-phase.csv", "generic", "timestamp", "power_w", "gpu", 8, 32},
    {"wrappers/power-draw-and-empty-limit-crlf.csv", "nvidia-smi", "timestamp", "power.draw", "gpu",
     1, 9},
    {"wrappers/powertraces-4gpu-ms-apart-time-relative.csv", "generic", "timestamp", "power_w",
     "gpu_id", 4, 24},
    // Never the average in its summary row.
    {"wrappers/prose-and-summary-rows.csv", "generic", "timestamp", "power_w", "", 1, 4, kOneGpu,
     "bad_timestamp 2"},
    {"wrappers/srt-slurm-samples-v2.csv", "srt-slurm", "timestamp_unix", "power_w", "gpu_uuid", 1,
     3},
    {"wrappers/two-nodes-node0.csv", "generic", "timestamp", "power_w", "gpu", 8, 16},
    {"wrappers/x8-iso-z-spaces-in-cells.csv", "generic", "timestamp", "power_W", "gpu_index", 8,
     24},
    // Milliwatts without a unit anywhere, known by the recorder.
    {"zeus/zeus-monitor-sample.csv", "zeus-monitor", "Time", "Power", "", 1, 19,
     "mostly_repeated no_device_column"},
    {"aipowermeter/two-gpus-psys-sentinel.json", "aipowermeter", "date", "per_gpu_power_draw",
     "GPU", 2, 60, "idle_device"},
};

ProgramRun inspect(const std::string& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"inspect", test::testdata("telemetry/" + file), "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

std::string or_empty(const Json& value) { return value.is_null() ? "" : value.get<std::string>(); }

TEST(Corpus, IsReadWhereItHoldsAPowerSeries) {
  for (const Readable& c : kReadable) {
    const ProgramRun run = inspect(c.file, {"--timezone", "UTC"});
    EXPECT_EQ(run.status, 0) << c.file;
    EXPECT_EQ(run.err, "") << c.file;
    const Json reported = Json::parse(run.out);
    EXPECT_EQ(or_empty(reported.at("schema")), c.schema) << c.file;
    EXPECT_EQ(or_empty(reported.at("timestamp_column")), c.timestamp) << c.file;
    EXPECT_EQ(or_empty(reported.at("power_column")), c.power) << c.file;
    EXPECT_EQ(or_empty(reported.at("device_column")), c.device) << c.file;
    EXPECT_EQ(reported.at("reasons"), Json::array()) << c.file;
    EXPECT_EQ(static_cast<int>(reported.at("devices").size()), c.devices) << c.file;
    int samples = 0;
    for (const Json& device : reported.at("devices")) samples += device.at("samples").get<int>();
    EXPECT_EQ(samples, c.samples) << c.file;
    std::set<std::string> skipped;
    for (const auto& [cause, count] : reported.at("skipped").items()) {
      if (count != 0) skipped.insert(fmt::format("{} {}", cause, count.get<int>()));
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(skipped, " ")), c.skipped) << c.file;
    std::set<std::string> warnings;
    for (const Json& warning : reported.at("warnings")) {
      const std::string text = warning;
      warnings.insert(text.substr(0, text.find(':')));
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(warnings, " ")), c.warnings) << c.file;
  }
}

// ---- Files that are refused: a clear reason, no number.

struct Refused {
  const char* file;
  const char* reason;  // must be among the reasons
  const char* timestamp = "";
  const char* power = "";
  const char* device = "";
};

const char* const kNoPower = "power_column_missing";
const char* const kNoTime = "timestamp_column_missing";
const char* const kAnything = nullptr;  // the column is of no account

const Refused kRefused[] = {
    {"aipowermeter/cpu-only-2021.json", kNoPower, "date"},
    {"aipowermeter/two-segments-cpu-only.json", kNoPower, "date"},
    {"dcgm/dcgm-exporter-a30-mig-same-power-per-slice.prom", kNoTime, "", kAnything},
    {"intel-power-gadget/ipg-colon-ms-footer.csv", kNoPower, "System Time"},
    {"nvidia-smi/dmon-text-repeated-header.log", kNoPower},
    {"nvidia-smi/issue-blank-line-after-header-unknown-error.csv", kNoTime, "", "power.draw [W]"},
    {"nvidia-smi/issue-noheader-all-na.csv", "no_header"},
    {"nvidia-smi/multi-gpu-tick-1ms-apart-no-power.csv", kNoPower, "timestamp", "", "index"},
    {"nvidia-smi/noheader-epoch-prefix.log", "no_header"},
    {"nvidia-smi/noheader-nounits-index-name.csv", "no_header"},
    {"nvidia-smi/utf16le-powershell-no-power.csv", kNoPower, "timestamp"},
    {"other-meters/codecarbon-emissions-gpu-power.csv", "run_summary", "timestamp"},
    {"other-meters/energibridge-doc-delta-time.csv", kNoPower, "Time"},
    {"other-meters/mlperf-training-v5-power-mllog.txt", "power_column_missing", kAnything,
     kAnything},
    {"other-meters/spec-ptd-key-value.txt", "no_header", kAnything},
    {"rocm-smi/mi250-showpower-secondary-die.txt", kNoPower},
    {"rocm-smi/mi250x-lumi-concise-gcd-na.txt", kNoPower},
    {"rocm-smi/mi300x-usage-no-power-column.csv", kNoPower, "timestamp", "", "device"},
    {"rocm-smi/rx7900xtx-one-shot-no-time-23cols.csv", kNoTime, "",
     "Average Graphics Package Power (W)", "device"},
    {"tegrastats/nano-no-timestamp.txt", kNoPower},
    {"wrappers/bare-numbers-no-header.csv", "no_header"},
    {"wrappers/bmc-system-power-crlf.csv", kNoPower, "timestamp"},
    {"wrappers/bom-quoted-multiline-power-w-no-time.csv", kNoTime, "", "Power_W"},
    {"wrappers/bracketed-date-power-slash-limit.txt", kNoTime, "", kAnything},
    {"wrappers/date-and-time-split-power-max.csv", "time_without_date", "Time", "Power Used"},
    {"wrappers/date-line-then-noheader-rows.txt", kNoPower},
    {"wrappers/relative-second-column.csv", kNoTime, "", "power_w"},
    {"wrappers/sentence-log-ctime.log", kNoPower},
    {"wrappers/tab-text-ms-prefix-comments.log", kNoPower},
    {"wrappers/wide-gpu0-gpu1-epoch-ms.csv", "wide_power_columns", "timestamp", "",
     "the number in the column's name"},
    {"xpu-smi/aurora-pvc-time-of-day.csv", "time_without_date", "Timestamp", "GPU Power (W)",
     "DeviceId"},
    {"xpu-smi/doc-tile-empty-power-cell.csv", "no_usable_power_samples", "Timestamp",
     "GPU Power (W)", "DeviceId"},
};

TEST(Corpus, IsRefusedWhereItHoldsNone) {
  for (const Refused& c : kRefused) {
    const ProgramRun run = inspect(c.file);
    EXPECT_EQ(run.status, 1) << c.file;
    const std::string start =
        "aggregate-power: " + test::testdata(std::string("telemetry/") + c.file) +
        ": no power series: ";
    EXPECT_TRUE(run.err.starts_with(start)) << run.err;
    const Json reported = Json::parse(run.out);
    EXPECT_EQ(reported.at("devices"), Json::array()) << c.file;
    const auto reasons = reported.at("reasons").get<std::vector<std::string>>();
    EXPECT_EQ(std::count(reasons.begin(), reasons.end(), c.reason), 1)
        << c.file << ": " << reported.at("reasons");
    // Each reason with what to do.
    for (const std::string& reason : reasons) {
      EXPECT_NE(run.err.find("\naggregate-power:   " + reason + ": "), std::string::npos)
          << c.file << ": " << run.err;
    }
    const auto check = [&](const char* key, const char* name) {
      if (name != kAnything) {
        EXPECT_EQ(or_empty(reported.at(key)), name) << c.file << " " << key;
      }
    };
    check("timestamp_column", c.timestamp);
    check("power_column", c.power);
    check("device_column", c.device);
  }
}

TEST(Corpus, IsAllTested) {
  std::set<std::string> tested;
  for (const Readable& c : kReadable) tested.insert(c.file);
  for (const Refused& c : kRefused) tested.insert(c.file);
  // By recorders/readers_test.py and forms_test.py.
  tested.insert({"zeus/zeus-energy-windows-4gpu.csv", "nvidia-smi/q-power-580.txt"});
  std::set<std::string> there;
  const fs::path root = test::testdata("telemetry");
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) there.insert(fs::relative(entry.path(), root));
  }
  EXPECT_EQ(tested, there);
}

TEST(Corpus, IsReadFromStandardInputToo) {
  for (const Readable& c : kReadable) {
    const ProgramRun file = inspect(c.file, {"--timezone", "UTC"});
    const ProgramRun input =
        run_program({"inspect", "-", "--json", "--timezone", "UTC"},
                    test::bytes_of(test::testdata(std::string("telemetry/") + c.file)));
    EXPECT_EQ(input.status, 0) << c.file;
    EXPECT_EQ(input.out, file.out) << c.file;
  }
}

// ---- Figures that were worked out elsewhere.

// What `inspect` tells of a file's only device.
Json only_device(const std::string& file) {
  const Json reported = Json::parse(inspect(file, {"--timezone", "UTC"}).out);
  EXPECT_EQ(reported.at("devices").size(), 1u) << file;
  return reported.at("devices")[0];
}

TEST(Corpus, HasTheFiguresOfItsIndex) {
  // A gap of 7.3 s: 15:48:40.525 to 15:48:47.836.
  EXPECT_NEAR(only_device("nvidia-smi/rtx4090-name-units.csv").at("max_gap_s"), 7.311, 1e-6);
  // One glitch of 312.13 W, and lows of 1.2 W.
  const Json glitch = only_device("nvidia-smi/windows-nounits-utc-in-name-local-in-cells.csv");
  EXPECT_EQ(glitch.at("max_w"), 312.13);
  EXPECT_EQ(glitch.at("min_w"), 1.2);
  // Power frozen at 46.19 W.
  const Json frozen = only_device("nvidia-smi/a100-unknown-error-clock.csv");
  EXPECT_EQ(frozen.at("min_w"), 46.19);
  EXPECT_EQ(frozen.at("max_w"), 46.19);
  // The unit of the header as it is: 4.39 mW.
  EXPECT_EQ(only_device("other-meters/rpi5-power-mw-header-watt-values.csv").at("max_w"), 0.00439);
}

// A run on one GPU whose window is `start_unix_s` to `end_unix_s`; what was said, and the audit
// record.
struct Aggregated {
  ProgramRun run;
  Json aggregate;
  Json audit;
};

Aggregated aggregate(const std::string& file, double start_unix_s, double end_unix_s,
                     std::vector<std::string> more) {
  const Folder folder;
  put(folder / "run.json", Json{{"benchmark_start_time_unix", start_unix_s},
                                {"benchmark_end_time_unix", end_unix_s},
                                {"duration", end_unix_s - start_unix_s},
                                {"completed", 10},
                                {"total_input_tokens", 1000},
                                {"total_output_tokens", 100}}
                               .dump());
  put(folder / "agg.json", "{}");
  more.insert(more.begin(), {"--csv", test::testdata("telemetry/" + file), "--bench-result",
                             "run.json", "--agg-result", "agg.json"});
  Aggregated result;
  result.run = run_program(more, {}, folder.path());
  result.aggregate = Json::parse(test::bytes_of(folder / "agg.json"));
  if (fs::exists(folder / "power_validation_run.json")) {
    result.audit = Json::parse(test::bytes_of(folder / "power_validation_run.json"));
  }
  return result;
}

// formats.md section 1 row 4: made at 20:54 UTC, and its cells say 02:24 of the next day.
TEST(Corpus, AWrongZoneIsAnErrorNot0Watts) {
  const std::string file = "nvidia-smi/windows-nounits-utc-in-name-local-in-cells.csv";
  const double start = 1776545675;  // 2026-04-18T20:54:35Z
  const std::vector<std::string> named = {"--expected-num-gpus", "1", "--device-column", "pstate",
                                          "--require-power"};
  const Aggregated wrong = aggregate(file, start, start + 3, named);
  EXPECT_EQ(wrong.run.status, 1);
  EXPECT_EQ(wrong.aggregate, (Json{{"power_metric_schema_version", 2}, {"power_valid", 0}}));
  EXPECT_EQ(wrong.audit.at("reasons"), Json::array({"no_usable_power_samples"}));
  EXPECT_NE(
      wrong.run.err.find("the recording would cover the window if its timestamps were in +05:30: "
                         "pass --timezone +05:30"),
      std::string::npos)
      << wrong.run.err;
  const Aggregated old = aggregate(file, start, start + 3, {"--schema-version", "1"});
  EXPECT_EQ(old.run.status, 0);
  EXPECT_EQ(old.aggregate, Json::object());
  EXPECT_NE(old.run.err.find("pass --timezone +05:30"), std::string::npos) << old.run.err;

  const Aggregated right =
      aggregate(file, start, start + 3, {"--schema-version", "1", "--timezone", "+05:30"});
  EXPECT_EQ(right.run.status, 0);
  EXPECT_GT(right.aggregate.at("avg_power_w").get<double>(), 0);
}

// golden.md section 1.
TEST(Corpus, HasTheGoldenEnergyOfTheB200Fragment) {
  const Aggregated whole =
      aggregate("nvidia-smi/inferencex-b200-fragment.csv", 1788852019.279, 1788852021.279,
                {"--expected-num-gpus", "8", "--timezone", "UTC", "--require-power"});
  EXPECT_EQ(whole.run.status, 0) << whole.run.err;
  EXPECT_EQ(whole.aggregate.at("power_valid"), 1);
  EXPECT_NEAR(whole.aggregate.at("total_gpu_energy_j"), 5597.9, 2e-3);
  EXPECT_NEAR(whole.aggregate.at("avg_power_w"), 349.86875, 6e-4);
  EXPECT_NEAR(whole.aggregate.at("joules_per_output_token"), 55.979, 2e-5);

  const Aggregated old = aggregate("nvidia-smi/inferencex-b200-fragment.csv", 1788852019.279,
                                   1788852021.279, {"--timezone", "UTC"});
  EXPECT_NEAR(old.aggregate.at("avg_power_w"), 353.532083, 6e-4);
  EXPECT_FALSE(old.aggregate.contains("power_valid"));

  const Aggregated smallest =
      aggregate("nvidia-smi/inferencex-two-samples-500w.csv", 1700000000, 1700000002,
                {"--expected-num-gpus", "1", "--timezone", "UTC"});
  EXPECT_EQ(smallest.aggregate.at("total_gpu_energy_j"), 1000.0);
  EXPECT_EQ(smallest.aggregate.at("joules_per_output_token"), 10.0);  // 100 tokens
}

}  // namespace corpus_test
}  // namespace aggregate_power
