// Evaluates a run of recordings: what the options leave to be found is found in its own files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "core/load/load_files.h"
#include "energy/zones/zone_sources.h"
#include "recorders/recording.h"
#include "runs/evaluate/evaluate.h"
#include "runs/window/window.h"

namespace aggregate_power {

// The recordings of one load, each of GPUs of its own.
struct RunRecordings {
  std::vector<std::string> paths;
  std::list<Recording> open;  // the first of them; evaluate() opens the others
  // Called around the measurement of each.
  std::function<void(std::size_t i, const Recording& recording, MeasurementRequest& request)>
      before = {};
  std::function<void(std::size_t i, const Recording& recording, Result& result)> after = {};
  // Called with the result of all that count, before the extras: may add reasons.
  std::function<void(Result& result)> judge = {};
  bool is_number_stated = false;  // of GPUs, and compared by the caller

  RunRecordings(std::vector<std::string> all, const RunOptions& run);
  explicit RunRecordings(Recording only);
};

// The readings of a large recording are kept for an interval only if one is asked for. Where the
// interval was to be shown, and is not now, refuse_interval() states why.
void show_interval_if_small(const std::list<Recording>& recordings, MeasurementRequest& wanted);
void refuse_interval(Result& result);

struct ZonedResult {
  Result result;
  // What the recording says about its zone; nullopt if its zone does not matter.
  std::optional<ZoneFinding> zone_finding = {};
  std::optional<ZoneReport> zone_report = {};  // about the zone that was decided
  bool has_zone = true;                        // false: the reason is timezone_ambiguous
};

// Reads the recording again, in the zone that it has at that time.
using Assess = std::function<Result(const MeasurementRequest& request)>;

// A run in a store, whose zone may have to wait for the other runs of its recorder.
struct StorePair {
  const OtherWitnesses* witnesses;      // besides the recording; null: they are not known yet
  std::optional<std::string> hardware;  // that its aggregate names; absent: no extras are wanted
  Assess assess;                        // instead of assess()
};

// The files of the run besides its recordings; normal paths.
struct FilesBeside {
  std::string load;
  std::string aggregate;
  const StorePair* pair = nullptr;  // instead of both
};

// How many GPUs the aggregate says that the run used; nullopt: it does not, or cannot be read,
// which is reported when it is patched.
std::optional<std::int64_t> gpus_in_aggregate(const std::string& aggregate);

// What the aggregate calls the GPUs; empty: it cannot be read, or does not say.
std::string hardware_in(const std::string& aggregate);

// As assess(), but finds the number of GPUs and the zone first, if the request says so, adds the
// energies of several recordings, and then the extras. Only a run of a store may be left without a
// zone; others are refused. A GPU that is in two recordings by a name that is unique is a reason.
// Throws Error if a recording is a copy of the first, and FileError if one of several cannot be
// opened.
ZonedResult evaluate(const MeasurementRequest& request, RunRecordings& recordings,
                     const PlacedLoad& placed, const FilesBeside& files);

// ---- One recording and one load

// Metrics, or the reasons against them. An interval or idle power that is wanted is refused here;
// whoever passes MeasurementRequest::readings adds it.
Result assess(const MeasurementRequest& request, const Recording& recording,
              const LoadReading& reading);

// The result of a run that was not measured because of `reasons`.
Result unmeasured(const MeasurementRequest& request, const std::optional<Load>& load,
                  const Reasons& reasons);

// ---- In the zone that is stated, else in the one that evidence supports

// `witnesses` are those besides the recording; without them, a zone that nothing states is not
// decided. Without the load's window there is nothing to find a zone by.
ZonedResult assess_zoned(const MeasurementRequest& request, const LoadReading& reading,
                         Recording& recording, const Assess& assess,
                         const OtherWitnesses* witnesses);

// In the zone of the process, where nothing states another one: refuses (timezone_ambiguous) if the
// edges of the load or the file's time contradict it, and warns if neither confirms it. Reads a
// recording whose zone is stated as it is.
ZonedResult assess_in_own_zone(const MeasurementRequest& request, Window window,
                               const Recording& recording, const Assess& assess,
                               const OtherWitnesses& witnesses);

// When a recording was written. Returns nullopt if it was copied together with the result of its
// run: both then have the time of the copy.
std::optional<std::int64_t> own_time_ns(std::optional<std::int64_t> recording_ns,
                                        std::optional<std::int64_t> result_ns);

// ---- Several recordings

// Throws Error if one recording has the same bytes as the other.
void refuse_copy(const Recording& first, const Recording& other);

}  // namespace aggregate_power
