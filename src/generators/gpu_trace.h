// Reads the traces of torch.profiler (kineto): JSON in Chrome's trace event format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/system/byte_source.h"

namespace aggregate_power {

// A stretch of time with a name: a kernel on a GPU, a layer, an annotation.

struct TraceInterval {
  double start_s = 0;  // from the origin of its trace
  double end_s = 0;    // not before the start
  std::uint32_t name = 0;
  std::uint32_t track = 0;  // the stream or thread that it is on: intervals of one track are nested
};

// ---- Many intervals in memory, in the order of their starts. 24 bytes each, without the spare
// room of one growing array.

class IntervalStore {
 public:
  void add(const TraceInterval& interval);
  std::size_t size() const { return size_; }
  // Meaningful only if there are some.
  double first_start_s() const { return first_start_s_; }
  double last_end_s() const { return last_end_s_; }

  // Passes all of them in the order of their starts; of those that start together, the longest
  // first. Sorts in place.
  void each(const std::function<void(const TraceInterval&)>& take);

 private:
  void sort();

  std::vector<std::vector<TraceInterval>> chunks_;  // all but the last are full
  std::size_t size_ = 0;
  double first_start_s_ = 0;
  double last_end_s_ = 0;
  bool is_sorted_ = true;  // each chunk in itself
};

// ---- What ran on GPUs and when, as a profiler recorded it.

// Which ranges are wanted besides the events of the GPUs.
enum class TraceRanges { none, layers, annotations };

// Numbers names in the order of first appearance.
class NameNumbers {
 public:
  std::uint32_t number(std::string_view name) {
    if (!names_.empty() && names_[last_] == name) return last_;
    auto known = numbers_.find(name);
    if (known == numbers_.end()) {
      known = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
      names_.emplace_back(name);
    }
    return last_ = known->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::string> names_;
  std::uint32_t last_ = 0;
};

// One GPU of a trace.
struct TraceDevice {
  std::string model = {};     // "NVIDIA A100-PG509-200"; empty: unknown
  IntervalStore events = {};  // kernels, copies and fills
  IntervalStore ranges = {};
};

struct GpuTrace {
  std::string path;
  std::string time_base;  // for people: how its times became Unix times
  // Unix time of what intervals count from: whole seconds, and less than one second.
  std::int64_t origin_s = 0;
  double origin_rest_s = 0;
  NameNumbers names;
  std::map<std::int64_t, TraceDevice> devices = {};  // those with events, by number
  IntervalStore host_ranges = {};                    // of the processors: for all devices
  std::map<std::int64_t, Window> iterations = {};    // by number; seconds from the origin
  std::uint64_t unusable_events = 0;                 // without a time or with a negative duration
  std::uint64_t paired_events = 0;  // of GPUs, as a beginning and an end: they are not read
};

// Reads `source`, which is expanded, in one pass. Of its events, those with a phase "X" count:
// kernels, copies and fills of GPUs, and the wanted ranges. Throws Error, which begins with `path`,
// if it is not such a trace, is truncated or damaged, has no event of a GPU, or has times that
// cannot be placed.
GpuTrace read_chrome_trace(ByteSource& source, const std::string& path, TraceRanges wanted);

// ---- Reads when layers ran from a CSV, as GPUPP's layer profiler writes it.

// Columns layer_name, start_time and end_time (Unix times) count; the others are not read. The
// layers are ranges of the host. The n-th run of each layer belongs to iteration n. Throws Error,
// which begins with `path`, if a column is missing or a row cannot be used.
GpuTrace read_layer_intervals(ByteSource& source, const std::string& path);

}  // namespace aggregate_power
