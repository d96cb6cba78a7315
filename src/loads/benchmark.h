// A benchmark result to its window and its counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "base/files/byte_source.h"
#include "base/text/json_value.h"

#include "aggregate_power/load.h"

namespace aggregate_power {

struct LoadReading {
  std::optional<Load> load;  // nothing: no window at all
  Reasons reasons;
  JsonValue max_concurrency = {};  // a number, true or false; of anything else only the kind
};

// Which checks apply. Schema 1 (contract.md A.3): true and false count as 1 and 0, the output
// tokens must be there, the input tokens and `completed` need not. Schema 2: B.2.
enum class LoadRules { schema_1, schema_2 };

// Reads a result of any size in one pass. `name` is for messages. What is wrong is a reason, never
// an exception, but for what `source` throws.
LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules);

// The same of a file, which may be compressed. What the system says against it is a reason too.
LoadReading read_benchmark_file(const std::string& path, LoadRules rules);

}  // namespace aggregate_power
