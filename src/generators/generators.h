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

struct ResultFormat;

// Key paths, in the braces of a format.
using Keys = std::vector<std::string_view>;

// One benchmark of a result, read to its end.
struct ResultScope {
  const ResultFormat& format;
  const ResultValues& values;
  const RequestTally& requests;  // of a format that lists requests one by one
  const LoadFiles& files;        // files.request receives the requests of a format of columns
  double greatest = 0;           // of ResultFormat::greatest_of, in all requests
};

// The reading that the rows of a format describe: its counts, its duration, its settings and its
// window.
LoadReading stated_reading(const ResultScope& scope);

// Where a benchmark states its counts and how long it took; empty: nowhere. A format that lists
// requests and names no path here counts the list.
struct CountPaths {
  std::string_view completed = {};
  std::string_view failed = {};
  std::string_view sent = {};          // completed and failed ones
  std::string_view input_tokens = {};  // of all requests that succeeded
  std::string_view output_tokens = {};
  std::string_view mean_input = {};  // of a request; taken where there is no total
  std::string_view mean_output = {};
  std::string_view duration = {};  // of the load, without its warm-up
  double duration_units = 1;       // in a second
  std::string_view rate = {};      // completed requests per `rate_unit_s`; taken without a duration
  double rate_unit_s = 1;
  // Rates in a second of the duration, which only contradict the counts.
  std::string_view requests_per_s = {};
  std::string_view input_per_s = {};
  std::string_view output_per_s = {};
  std::string_view tokens_per_s = {};  // of both
};

// Where a request states its times and its tokens; empty: nowhere.
struct RequestPaths {
  std::string_view start = {};
  std::string_view end = {};
  double units = 1;            // in a second
  std::string_view ttft = {};  // from the start to the first token
  double ttft_units = 1;       // in a second
  std::string_view e2e = {};   // from the start to the end, where neither time is stated
  std::string_view input_tokens = {};
  std::string_view output_tokens = {};
  std::string_view recount = {};  // output tokens by another tokenizer
  std::string_view id = {};
  // Where the request stands in the load. A copy has the same times and the same id or place:
  // either may be another one in it.
  Keys place = {};
  std::string_view error = {};  // is there if the request failed
};

// By which clock the requests of a format are listed, if their window is the load's.
enum class RequestClock { none, unix, monotonic };

struct ResultFormat {
  std::string_view generator;  // "vLLM"
  // The file has this format if its beginning has all of these key paths, or all of the others,
  // such as those before the long lists of a file whose keys were sorted.
  Keys marks;
  Keys other_marks = {};
  bool is_sure = false;  // no other generator writes these marks
  JsonTexts texts = JsonTexts::one;

  // Where a benchmark is: "" for each value at the top, or a path such as "benchmarks[]". With
  // `is_whole_file` the file is one benchmark, of however many values.
  std::string_view benchmark = "";
  bool is_whole_file = false;
  // Paths below the benchmark; see ResultValues. A path that ends in ".*" is the list of the
  // members.
  CountPaths counts = {};
  Keys settings = {};
  std::string_view start = {};  // of the load's exact window, Unix seconds
  std::string_view end = {};
  Keys fields = {};         // others, for `conclude`
  bool is_serving = false;  // also what conclude_serving() reads
  // Lists that are read only for files.request.
  Keys request_lists = {};

  // Where a request is, below the top; for a format that lists them one by one.
  std::optional<std::string_view> request = {};
  RequestPaths request_paths = {};
  Keys request_fields = {};  // others, for `request_of`
  // Completes what the paths say. Returns nullopt for what is no request of the load.
  std::optional<RequestTimes> (*request_of)(const ResultValues& values,
                                            RequestTimes stated) = nullptr;
  RequestClock clock = RequestClock::none;
  std::string_view greatest_of = {};  // a field of a request, a number

  std::string_view no_window = {};   // why it has no exact window
  std::string_view not_result = {};  // what the file is instead; nothing in it is read
  // Faults are reasons, never exceptions.
  LoadReading (*conclude)(const ResultScope& scope) = stated_reading;
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

// An ISO 8601 time with an offset, in Unix seconds.
std::optional<double> instant_of(const std::string& text);

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
extern const ResultFormat kLlmdReport01;
extern const ResultFormat kLmEval;
extern const ResultFormat kTorchbench;
extern const ResultFormat kPytorchBenchmark;
extern const ResultFormat kAiperfTelemetry;
extern const ResultFormat kMlEnergy;
extern const ResultFormat kOllama;
extern const ResultFormat kEvalscope;
extern const ResultFormat kEvalscope2025;
extern const ResultFormat kEvalscopeRequests;
extern const ResultFormat kVllmThroughput;
extern const ResultFormat kVllmLatency;
extern const ResultFormat kSglangOffline;
extern const ResultFormat kSglangOneBatch;
extern const ResultFormat kSglangOneBatchServer;
extern const ResultFormat kOptimumBenchmark;
extern const ResultFormat kLmdeploy;
extern const ResultFormat kLmdeployBatches;

// ---- MLPerf LoadGen's detail log, mlperf_log_detail.txt: lines ":::MLLOG {JSON}".
// mlcommons/inference: loadgen/loadgen.cc, loadgen/utils.cc.

double fits_mlperf(const ResultHead& head);
std::vector<LoadReading> read_mlperf(const LoadFiles& files);

// ---- What the results of vLLM, and of the generators that grew out of it, have in common.

// "20260908-092131": local time, to the second.
std::optional<WallStamp> compact_stamp(std::string_view text);

// The settings by which runs in one file differ, as far as the result states them.
void add_settings(LoadReading& reading, const ResultValues& values,
                  std::span<const std::string_view> keys);

// Counts, duration, settings and, if there is a `date`, the stamp of the end. A result to which a
// script added the window as InferenceX writes it states its window exactly.
LoadReading conclude_serving(const ResultScope& scope);

// ---- Results that are not JSON, as JSON with the same meaning.

struct Conversion {
  std::string_view kind;  // "YAML"
  bool (*fits)(std::string_view head);
  // Whether a load generator's file begins so; others are converted only if they are named as one.
  bool (*is_result)(std::string_view head);
  std::string (*json_of)(std::string_view text);  // throws Error, with the line
};
std::span<const Conversion> conversions();

}  // namespace aggregate_power
