// Reads a recording whose parts can be read apart, with several threads.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "base/text/json.h"
#include "recorders/block_dealer.h"
#include "recorders/reading_sink.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

// Reads all of a recording into the sink. May throw TelemetryError, JsonError, OtherHeader, and
// what the source throws.
using ReadInto = std::function<void(ByteSource& source, ReadingSink& sink)>;

// A header that is not the recording's first, in line `line`, which counts from 1.
struct OtherHeader : std::exception {
  explicit OtherHeader(std::uint64_t at) : line(at) {}

  std::uint64_t line;
};

// What is read from a recording, and where it goes.
struct StreamWants {
  ReadingSink::Options options;
  const Telemetry::TakeStates& take;
  TelemetryCounts& counts;
  CounterStream* counters = nullptr;  // may be null
};

// Reads `source` with `read` into a sink of its own. A last record that is cut off is counted as a
// torn tail if `has_lines`. Throws TelemetryError and what the source throws.
void read_stream(ByteSource& source, const ReadInto& read, bool has_lines,
                 const StreamWants& wants);

// Does the same with several threads, and passes the same on in the same order, by this thread.
//
//                             blocks 0, 3, 4 ... -> thread 0 -> readings ->
//   source -> BlockDealer ->  blocks 1, 6 ...    -> thread 1 -> readings -> take
//                             blocks 2, 5 ...    -> thread 2 -> readings ->
//
// Each thread begins with `beginning`, from which `read` must learn all that it needs to read any
// block; what it says counts once. `ahead` follows it in the recording, then `source`. Returns
// false if no thread could be started: nothing was read.
struct StreamParts {
  std::string_view beginning;
  std::string_view ahead;
  ByteSource& source;
  CutOff cut_off;
};
bool read_stream_on_threads(const StreamParts& parts, const ReadInto& read, bool has_lines,
                            const StreamWants& wants);

}  // namespace aggregate_power
