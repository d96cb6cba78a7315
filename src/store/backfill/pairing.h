// Tries one recording with one load: the result, and the time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "energy/zones/zone_sources.h"
#include "runs/measure/evaluate.h"
#include "store/backfill/recompute.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// The result has its inputs, except the other files of its run.
struct Pairing : ZonedResult {
  StorePath telemetry;
  StorePath benchmark;
  std::optional<std::int64_t> written_ns;  // when the recording was written; nullopt: copied, or
                                           // unknown
  std::string host;                        // if the recording names exactly one
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
  bool has_window = false;  // the load has one; otherwise there is no verdict
};

struct PairRequest {
  const RecomputeOptions& options;
  std::optional<std::int64_t> expected_num_gpus = {};
  std::string gpus_fault = {};  // of the aggregate, which states a number that cannot be read
  // Witnesses of the zone besides the recording; without them, a zone that nothing states is not
  // decided.
  const OtherWitnesses* witnesses = nullptr;
  // The aggregate's text, and its file's name.
  std::string_view aggregate = {};
  std::string_view aggregate_name = {};
  // What the aggregate calls the GPUs, if an uncertainty or idle power is wanted of this pair;
  // nullopt: neither is.
  std::optional<std::string> hardware = {};
};

// `benchmark` may be the records of an AIPerf profile. Throws FileError, or Error for a recording
// that could not be read to its end.
Pairing try_pair(const StorePath& telemetry, const StorePath& benchmark,
                 const PairRequest& request);

// Whether the window is inside the telemetry of at least one GPU. Unreadable files are neither a
// fit nor apart.
bool fits(const Pairing& pairing);
bool is_apart(const Pairing& pairing);

}  // namespace aggregate_power
