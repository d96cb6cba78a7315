// The formats of load generators, and what they share.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/request.h"
#include "aggregate_power/sample.h"
#include "base/text/json.h"
#include "base/text/time_zone.h"
#include "core/load/load_files.h"
#include "core/load/result_values.h"

namespace aggregate_power {

// ---- The zone of a profile's times without an offset: the requests' own times show it;
// contract.md D.

// The zone that the user or a file states; without a zone, the fault says why there is none.
struct ProfileZone {
  std::optional<Zone> zone;
  Reasons fault;
  std::string source = {};  // what states the zone, for messages: the option or the file
};

inline constexpr std::size_t kMostZoneBytes = 4096;  // far more than an offset and blanks around it

// Parses "+0900", "-08:00": what `date +%z` wrote when the run began. Returns nullopt for any other
// text.
std::optional<Zone> captured_zone(std::string_view text);
ProfileZone captured_zone_in(const LoadFile& file);

struct ZoneOfRequests {
  std::optional<Zone> zone = {};  // nullopt: the fault says why there is none
  Reasons fault = {};
};

// The window under a zone; nullopt if it has none there.
using WindowIn = std::function<std::optional<Window>(const Zone& zone)>;

// The zone in which the window contains the requests, from the start of the first to the end of the
// last. Where it does so under several offsets, `stated` chooses; it may never contradict them.
ZoneOfRequests zone_of_requests(const ProfileZone& stated, Window requests,
                                const WindowIn& window_in);

// ---- How the result of a load generator is laid out. A new generator is a file with its format,
// and a row in the table (generator_table.cpp).

// One benchmark of a result, read to its end.
struct ResultScope {
  const ResultValues& values;
  const RequestTally& requests;  // of a format that lists requests one by one
  const LoadFiles& files;        // files.request receives the requests of a format of columns
};

struct ResultFormat {
  std::string_view generator;  // "vLLM"
  // The file has this format if its beginning has all of these key paths.
  std::span<const std::string_view> marks;
  JsonTexts texts = JsonTexts::one;

  // Where a benchmark is: "" for each value at the top, or a path such as "benchmarks[]". With
  // `is_whole_file` the file is one benchmark, of however many values.
  std::string_view benchmark = "";
  bool is_whole_file = false;
  std::span<const std::string_view> fields = {};  // paths below the benchmark; see ResultValues
  bool states_totals = false;                     // also total_paths() are read
  // Lists that are read only for files.request.
  std::span<const std::string_view> request_lists = {};

  // Where a request is, below the top; for a format that lists them one by one.
  std::optional<std::string_view> request = {};
  std::span<const std::string_view> request_fields = {};
  // Returns nullopt for what is no request of the load.
  std::optional<RequestTimes> (*request_of)(const ResultValues& request) = nullptr;

  // Faults are reasons, never exceptions.
  LoadReading (*conclude)(const ResultScope& scope) = nullptr;
  // What only all benchmarks of a file together tell; may be null.
  void (*settle)(std::vector<LoadReading>& readings) = nullptr;
};

// How certainly a file has this format, from 0 to 1: more marks are more certain.
double fits_format(const ResultFormat& format, const ResultHead& head);

// Reads all benchmarks in one pass. Faults of the file are the reasons of a single reading.
std::vector<LoadReading> read_format(const ResultFormat& format, const LoadFiles& files);

// Sets the counts of a result that has no window of its own: its reasons say which ones are not
// numbers above 0, as far as `rules` require them.
void set_counts(LoadReading& reading, LoadRules rules, std::optional<std::int64_t> completed,
                std::optional<std::int64_t> input_tokens,
                std::optional<std::int64_t> output_tokens);
// The same from a tally of requests.
void set_counts(LoadReading& reading, LoadRules rules, const RequestTally& requests);

// The window is stated exactly; its counts were set.
void set_exact_window(LoadReading& reading, Window window);

// The mean times the number, as a count; marks the counts as approximate.
std::optional<std::int64_t> mean_times(LoadReading& reading, std::optional<double> mean,
                                       std::optional<std::int64_t> number);

// ---- The formats of load generators, each in a file of its own.

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

// ---- MLPerf LoadGen's detail log, mlperf_log_detail.txt: lines ":::MLLOG {JSON}".
// mlcommons/inference: loadgen/loadgen.cc, loadgen/utils.cc.

double fits_mlperf(const ResultHead& head);
std::vector<LoadReading> read_mlperf(const LoadFiles& files);

// ---- What the results of vLLM, and of the generators that grew out of it, have in common.

// "20260908-092131": local time, to the second.
std::optional<WallStamp> compact_stamp(std::string_view text);

// The settings by which runs in one file differ, as far as the result states them.
void add_settings(LoadReading& reading, const ResultValues& values,
                  std::initializer_list<std::string_view> keys);

// Counts, duration, settings and, if there is a `date`, the stamp of the end. A result to which a
// script added the window as InferenceX writes it states its window exactly.
LoadReading conclude_serving(const ResultScope& scope);

// ---- Results that llm-d and guidellm may write as YAML: the message says to convert them.

double fits_yaml(const ResultHead& head);
std::vector<LoadReading> read_yaml(const LoadFiles& files);
// llm-d writes its benchmark reports as YAML.
double fits_llmd_yaml(const ResultHead& head);
std::vector<LoadReading> read_llmd_yaml(const LoadFiles& files);

}  // namespace aggregate_power
