// Files that lie beside results and are none.
#include "generators/formats.h"

namespace aggregate_power {
namespace {

LoadReading no_result(const char* text) {
  LoadReading reading;
  reading.reasons.add(Reason::invalid_benchmark_result, text);
  return reading;
}

constexpr std::string_view kPytorchMarks[] = {"[].benchmark", "[].metric"};
constexpr std::string_view kGpuTelemetryMarks[] = {"timestamp_ns", "dcgm_url", "telemetry_data"};

}  // namespace

const ResultFormat kPytorchBenchmark = {
    .generator = "PyTorch's benchmark database",
    .marks = kPytorchMarks,
    .is_whole_file = true,
    .conclude = [](const ResultScope&) {
      return no_result(
          "it is a copy of the metrics for PyTorch's benchmark database (NAME.pytorch.json): give the result beside it");
    }};

const ResultFormat kAiperfTelemetry = {
    .generator = "AIPerf GPU telemetry",
    .marks = kGpuTelemetryMarks,
    .texts = JsonTexts::several,
    .is_whole_file = true,
    .conclude = [](const ResultScope&) {
      return no_result(
          "it is AIPerf's GPU telemetry, a recording: give profile_export_aiperf.json or profile_export.jsonl");
    }};

}  // namespace aggregate_power
