// Joins rows of tokens with the last sample of the GPUs before each of them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decide/recommend/sweep_rows.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// For each time, the last sample at or before it, if that is at most `tolerance_s` earlier.
// `samples_unix_s` is sorted; of equal times the last one counts.
std::vector<std::optional<std::size_t>> last_before(std::span<const double> times_unix_s,
                                                    std::span<const double> samples_unix_s,
                                                    double tolerance_s);

struct JoinRequest {
  std::vector<std::string> tokens;   // CSVs with timestamp and tokens_per_sec; perhaps max_watt
  std::vector<std::string> samples;  // recordings
  double tolerance_s = 5;
  RecordingOptions recording = {};
};

struct JoinedRows {
  std::vector<SweepTable> tables =
      {};                              // one for each file of tokens, with the sweep tool's columns
  std::size_t tokens = 0;              // rows
  std::size_t out_of_tolerance = 0;    // left out: no sample of some GPU is near enough
  std::size_t unreadable = 0;          // left out: their time cannot be read
  std::vector<std::string> gpus = {};  // in the samples
};

// A column that a file of tokens has itself stays as it is. Of several GPUs `power_draw` is the
// mean, `total_power_draw` the sum, `power_limit` the highest, and the others are means. Throws
// FileError and Error.
JoinedRows join_tokens(const JoinRequest& request);

}  // namespace aggregate_power
