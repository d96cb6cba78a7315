// The formats of load generators, each in a file of its own.
#pragma once

#include "generators/result_format.h"

namespace aggregate_power {

extern const ResultFormat kVllm;
extern const ResultFormat kSglang;
extern const ResultFormat kTensorRtLlmServing;
extern const ResultFormat kTensorRtLlmReport;
extern const ResultFormat kTensorRtLlmRequests;
extern const ResultFormat kAiperfSummary;
extern const ResultFormat kAiperfRequests;
extern const ResultFormat kGenaiPerfSummary;
extern const ResultFormat kPerfAnalyzer;
extern const ResultFormat kLlmperfSummary;
extern const ResultFormat kLlmperfRequests;
extern const ResultFormat kLlamaBench;
extern const ResultFormat kLlamaBenchLines;
extern const ResultFormat kGuidellm;
extern const ResultFormat kInferencePerf;
extern const ResultFormat kInferencePerfRequests;
extern const ResultFormat kInferenceBenchmarker;
extern const ResultFormat kGenaiBench;
extern const ResultFormat kLlmdReport;
extern const ResultFormat kLmEval;
extern const ResultFormat kTorchbench;
extern const ResultFormat kPytorchBenchmark;
extern const ResultFormat kAiperfTelemetry;
extern const ResultFormat kMlEnergy;

}  // namespace aggregate_power
