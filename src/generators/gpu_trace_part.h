// What ran on GPUs and when, as a profiler recorded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generators/interval_store.h"
#include "aggregate_power/sample.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
