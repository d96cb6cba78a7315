// The audit record, byte by byte: contract.md B.7.
#include "core/record/record_write.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/telemetry/telemetry.h"

namespace aggregate_power {
namespace record_test {

Result sound() {
  Result result;
  result.telemetry_source = "results/gpu_metrics.csv";
  result.benchmark_result = "run.json";
  result.load = Load{{1000, 1010}, 10, 30, 240000, 30000};
  result.expected_gpus = 2;
  result.observed_gpus = 2;
  result.observed_gpu_ids = {"0", "GPU-a"};
  result.gpus = {{"0",
                  {.samples = 11,
                   .max_sample_gap_s = 1,
                   .energy_j = 5000,
                   .first_unix_s = 1000,
                   .last_unix_s = 1010,
                   .bracketed = true}},
                 {"GPU-a",
                  {.samples = 10,
                   .max_sample_gap_s = 1.5,
                   .energy_j = 3000.25,
                   .first_unix_s = 999.5,
                   .last_unix_s = 1010.25,
                   .bracketed = true}}};
  result.metrics = {{"avg_power_w", 3, 400.0125},
                    {"joules_per_total_token", 6, 1.0666666666666667}};
  result.telemetry.emplace();
  result.telemetry->series.schema = "nvidia-smi";
  result.telemetry->series.timestamp_column = "timestamp";
  result.telemetry->series.power_column = "power.draw [W]";
  result.telemetry->series.device_column = "index";
  result.telemetry->series.sensor = {"NVML", "power.draw [W]", "gpu", "unknown"};
  result.telemetry->skipped = by_cause({1, 2, 0, 0, 0, 0, 0, 1});
  result.telemetry->timezone = "+05:30";
  result.telemetry->timezone_source = "file";
  result.telemetry->utc_offset = "+05:30";
  return result;
}

TEST(RecordBeside, IsNamedForTheBenchmarkResult) {
  EXPECT_EQ(record_beside("run.json"), "power_validation_run.json");
  EXPECT_EQ(record_beside("a.b/run.1.json.gz"), "a.b/power_validation_run.1.json");
}

TEST(RecordText, HoldsTheContractsKeysInOrder) {
  EXPECT_EQ(record_text(sound()), R"({
  "schema_version": 1,
  "power_valid": true,
  "reasons": [],
  "telemetry_source": "results/gpu_metrics.csv",
  "benchmark_result": "run.json",
  "benchmark_window": {
    "start_time_unix": 1000.0,
    "end_time_unix": 1010.0,
    "reported_duration_s": 10.0,
    "integration_duration_s": 10.0,
    "completed": 30,
    "total_input_tokens": 240000,
    "total_output_tokens": 30000
  },
  "integration_method": "per_device_trapezoidal_with_linear_boundary_interpolation",
  "expected_gpu_count": 2,
  "observed_gpu_count": 2,
  "observed_gpu_ids": [
    "0",
    "GPU-a"
  ],
  "per_gpu_sample_counts": {
    "0": 11,
    "GPU-a": 10
  },
  "per_gpu_max_sample_gap_s": {
    "0": 1.0,
    "GPU-a": 1.5
  },
  "per_gpu_energy_j": {
    "0": 5000.0,
    "GPU-a": 3000.25
  },
  "device_issues": {},
  "boundary_degenerate_rows": {},
  "accumulator_check": null,
  "metrics": {
    "avg_power_w": 400.0125,
    "joules_per_total_token": 1.066667
  },
  "computed_from": {
    "tool_version": ")" AGGREGATE_POWER_VERSION R"(",
    "contract": "october",
    "schema": "nvidia-smi",
    "timestamp_column": "timestamp",
    "power_column": "power.draw [W]",
    "power_unit": "W",
    "device_column": "index",
    "timezone": "+05:30",
    "timezone_source": "file",
    "utc_offset": "+05:30",
    "skipped": {
      "blank": 1,
      "repeated_header": 2,
      "preamble": 0,
      "comment": 0,
      "bad_timestamp": 0,
      "no_reading": 0,
      "too_many_cells": 0,
      "torn_tail": 1
    },
    "collector": "NVML",
    "sensor": "power.draw [W]",
    "scope": "gpu",
    "averaging": "unknown",
    "aggregate": "",
    "inputs": {}
  }
})");
}

TEST(RecordText, HoldsNoMetricsWhenSomethingIsWrong) {
  Result result = sound();
  result.reasons.add(Reason::benchmark_window_not_bracketed, "GPU GPU-a: too late");
  result.reasons.add(Reason::sampling_gap_exceeded);
  result.gpus[0].energy.max_sample_gap_s = 4.25;
  result.gpus[0].issue = Reason::sampling_gap_exceeded;
  result.gpus[1] = {"GPU-a", {.samples = 10}, Reason::benchmark_window_not_bracketed};
  result.boundary_degenerate_rows = {{"GPU-b", 7}, {"unknown", 2}};
  result.telemetry.reset();
  result.expected_gpus.reset();
  EXPECT_EQ(record_text(result), R"({
  "schema_version": 1,
  "power_valid": false,
  "reasons": [
    "benchmark_window_not_bracketed",
    "sampling_gap_exceeded"
  ],
  "telemetry_source": "results/gpu_metrics.csv",
  "benchmark_result": "run.json",
  "benchmark_window": {
    "start_time_unix": 1000.0,
    "end_time_unix": 1010.0,
    "reported_duration_s": 10.0,
    "integration_duration_s": 10.0,
    "completed": 30,
    "total_input_tokens": 240000,
    "total_output_tokens": 30000
  },
  "integration_method": "per_device_trapezoidal_with_linear_boundary_interpolation",
  "power_percentile_method": "time_weighted_synchronized_total_piecewise_linear",
  "expected_gpu_count": null,
  "observed_gpu_count": 2,
  "observed_gpu_ids": [
    "0",
    "GPU-a"
  ],
  "per_gpu_sample_counts": {
    "0": 11,
    "GPU-a": 10
  },
  "per_gpu_max_sample_gap_s": {
    "0": 4.25
  },
  "per_gpu_energy_j": {
    "0": 5000.0
  },
  "device_issues": {
    "0": [
      "sampling_gap_exceeded"
    ],
    "GPU-a": [
      "benchmark_window_not_bracketed"
    ]
  },
  "boundary_degenerate_rows": {
    "GPU-b": 7,
    "unknown": 2
  },
  "accumulator_check": null,
  "metrics": {},
  "computed_from": {
    "tool_version": ")" AGGREGATE_POWER_VERSION R"(",
    "contract": "october",
    "schema": null,
    "timestamp_column": null,
    "power_column": null,
    "power_unit": null,
    "device_column": null,
    "timezone": null,
    "timezone_source": null,
    "utc_offset": null,
    "skipped": {},
    "collector": "unknown",
    "sensor": "unknown",
    "scope": "unknown",
    "averaging": "unknown",
    "aggregate": "",
    "inputs": {}
  }
})");
}

// The part of a record from one key to another.
std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find("\"" + from + "\"");
  return text.substr(begin, text.find("\"" + to + "\"") - begin);
}

TEST(RecordText, HoldsNothingOfWhatWasNotThere) {
  Result result;
  result.reasons.add(Reason::invalid_benchmark_result, "run.json: expected a JSON object");
  const std::string text = record_text(result);
  EXPECT_EQ(part(text, "benchmark_window", "integration_method"),
            "\"benchmark_window\": null,\n  ");
  EXPECT_EQ(part(text, "expected_gpu_count", "accumulator_check"),
            "\"expected_gpu_count\": null,\n  \"observed_gpu_count\": 0,\n  \"observed_gpu_ids\": "
            "[],\n  \"per_gpu_sample_counts\": {},\n  \"per_gpu_max_sample_gap_s\": {},\n  "
            "\"per_gpu_energy_j\": {},\n  \"device_issues\": {},\n  \"boundary_degenerate_rows\": "
            "{},\n  ");
}

// B.8.
TEST(RecordText, HoldsTheAccumulatorCheck) {
  Result result = sound();
  result.counters.emplace();
  result.counters->unavailable = "missing_end_snapshot";
  EXPECT_EQ(part(record_text(result), "accumulator_check", "metrics"),
            "\"accumulator_check\": {\n    \"available\": false,\n    \"reason\": "
            "\"missing_end_snapshot\"\n  },\n  ");
  result.counters = {"",    2020,  2000.5, 0.0097, true, 0.05, {{"0", 1010}, {"10", 1010}},
                     {"0"}, {"x"}, {},     12};
  EXPECT_EQ(part(record_text(result), "accumulator_check", "metrics"),
            R"("accumulator_check": {
    "available": true,
    "accumulator_delta_j": 2020.0,
    "integrated_stream_j": 2000.5,
    "relative_error": 0.0097,
    "within_tolerance": true,
    "tolerance": 0.05,
    "per_gpu_delta_j": {
      "0": 1010.0,
      "10": 1010.0
    },
    "integrated_gpu_ids": [
      "0"
    ],
    "unmatched_gpus": [
      "x"
    ],
    "negative_delta_gpus": [],
    "stream_span_s": 12.0
  },
  )");
  result.counters->relative_error.reset();
  EXPECT_NE(record_text(result).find("\"relative_error\": null,"), std::string::npos);
}

TEST(RecordText, HoldsIntervalsWhereMetricsHaveThem) {
  Result result = sound();
  EXPECT_EQ(record_text(result).find("metric_intervals"), std::string::npos);
  result.metrics[0].interval = {390.5, 410.25, {{"sensor", 8}, {"gaps", 1.25}}};
  EXPECT_EQ(part(record_text(result), "metric_intervals", "computed_from"), R"("metric_intervals": {
    "avg_power_w": {
      "low": 390.5,
      "high": 410.25,
      "components": {
        "sensor": 8.0,
        "gaps": 1.25
      }
    }
  },
  )");
  result.reasons.add(Reason::sampling_gap_exceeded);
  EXPECT_EQ(record_text(result).find("metric_intervals"), std::string::npos);
}

// Part 0 row 9: nothing that is not finite is ever written.
TEST(RecordText, IsJsonWhateverItIsGiven) {
  const double infinity = std::numeric_limits<double>::infinity();
  Result result = sound();
  result.gpus[0].energy.energy_j = infinity;
  result.reasons.add(Reason::aggregate_result_unwritable);
  result.telemetry_source = "m\xC3\xBC/a\xB0\"\n.csv";
  result.gpus[1].name = "\xEF\xBF\xBD\x01\"";
  result.counters.emplace();
  result.counters->integrated_stream_j = infinity;
  const std::string text = record_text(result);
  EXPECT_NE(text.find("\"telemetry_source\": \"m\\u00fc/a%B0\\\"\\n.csv\""), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"\\ufffd\\u0001\\\"\": 10"), std::string::npos);
  EXPECT_NE(text.find("\"per_gpu_energy_j\": {\n    \"0\": null,"), std::string::npos);
  EXPECT_NE(text.find("\"integrated_stream_j\": null"), std::string::npos);
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7F)) << "ASCII only";
  }
}

// As Python's repr spells floats.
TEST(RecordText, SpellsNumbersAsTheOriginalDoes) {
  Result result = sound();
  result.load->window = {1788852019.279, 1788852021.279};
  result.load->reported_duration_s = 1e16;
  result.gpus[0].energy.max_sample_gap_s = 1e-05;
  result.gpus[1].energy.max_sample_gap_s = 0.1;
  result.metrics = {{"avg_power_w", 3, 20.5078125}, {"total_gpu_energy_j", 3, 288000}};
  const std::string text = record_text(result);
  for (const char* spelled :
       {"\"start_time_unix\": 1788852019.279,", "\"reported_duration_s\": 1e+16,", "\"0\": 1e-05,",
        "\"GPU-a\": 0.1", "\"integration_duration_s\": 2.0,", "\"avg_power_w\": 20.507812,",
        "\"total_gpu_energy_j\": 288000.0"}) {
    EXPECT_NE(text.find(spelled), std::string::npos) << spelled << "\n" << text;
  }
}

}  // namespace record_test
}  // namespace aggregate_power
