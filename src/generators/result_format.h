// How the result of a load generator is laid out. A new generator is a file with its format, and a
// row in the table (load_generator.cpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/request.h"
#include "base/text/json.h"
#include "core/load/load_files.h"
#include "core/load/result_head.h"
#include "core/load/result_values.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
