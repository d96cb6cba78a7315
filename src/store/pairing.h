// One telemetry file with one benchmark result, tried: what they come to, in which time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "energy/zone_witnesses.h"
#include "runs/assess.h"
#include "store/recompute_options.h"
#include "store/store_path.h"

namespace aggregate_power {

struct Pairing {
  StorePath telemetry;
  StorePath benchmark;
  Result result;  // with what it was computed from, but for the other files of its run
  std::optional<ZoneReport> zone_report;
  // What the recording says of its zone, where nothing states it; with none, or not enough, of the
  // witnesses known, has_zone is false.
  std::optional<ZoneFinding> zone_finding;
  std::optional<std::int64_t> written_ns;  // when the recording was; nothing: copied, or not known
  std::string host;                        // of a recording that names one host
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
  bool has_window = false;  // the result has one; else there is no verdict
  bool has_zone = true;     // else the reason is timezone_ambiguous
};

struct PairRequest {
  const RecomputeOptions& options;
  std::optional<std::int64_t> expected_num_gpus = {};
  // Those of the zone besides the recording; without them, a zone that nothing states is not
  // decided.
  const OtherWitnesses* witnesses = nullptr;
};

// `benchmark` may be the records of an AIPerf profile. Throws FileError, or Error for a recording
// that could not be read to its end.
Pairing try_pair(const StorePath& telemetry, const StorePath& benchmark,
                 const PairRequest& request);

// Whether the window lies inside the telemetry, of one GPU at least. What cannot be read neither
// fits nor is apart.
bool fits(const Pairing& pairing);
bool is_apart(const Pairing& pairing);

}  // namespace aggregate_power
