// The requests that AIPerf exports, one by one; contract.md D.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "aggregate_power/sample.h"
#include "core/load/load_files.h"

namespace aggregate_power {

// One request: a line of profile_export.jsonl.
struct ProfileRecord {
  bool is_profiling = true;  // not the warm-up
  bool failed = false;
  bool cancelled = false;  // by AIPerf itself, as it was told to
  std::string id = {};     // empty: it has none
  // For a request that counts. nullopt: missing, not a number for Python's int(), or beyond 64
  // bits.
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  // From its start to its end, which may be equal. nullopt unless both are known.
  std::optional<Window> in_flight;
};

// Passes the records to `take`, one at a time: memory is bounded by the longest line. Throws Error
// if a line is not such a record, or what the source throws.
void read_profile_records(const NamedSource& records,
                          const std::function<void(const ProfileRecord&)>& take);

}  // namespace aggregate_power
