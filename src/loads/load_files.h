// The files that a load generator leaves, and what is read from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "base/files/byte_source.h"
#include "base/text/json_value.h"
#include "base/text/zone.h"

namespace aggregate_power {

struct NamedSource {
  ByteSource& source;
  std::string name;  // for messages
};

// The checks for a benchmark result. Schema 1 (contract.md A.3): true and false count as 1 and 0,
// the output tokens are required, the input tokens and `completed` are not. Schema 2: B.2.
enum class LoadRules { schema_1, schema_2 };

// Another file of a load.
struct LoadFile {
  std::unique_ptr<ByteSource> source;  // expanded; null: the file is missing or unreadable
  std::string name;                    // for messages; without a source: what to say about the file
  bool is_unreadable = false;
};

// The files of a load, opened by the caller, who knows where they are.
struct LoadFiles {
  // The file that identifies the load: a benchmark result; for AIPerf, profile_export.jsonl.
  std::string name;
  std::function<std::unique_ptr<ByteSource>()> open;  // expanded; called at most once
  // Opens another file of the load by its role, each at most once. If this is empty, only a load of
  // one file can be read.
  std::function<LoadFile(std::string_view role)> other = {};
  LoadRules rules = LoadRules::schema_2;
  std::optional<Zone> zone = {};  // named by the user for times without an offset
};

struct LoadReading {
  std::optional<Load> load = {};  // nullopt: there is no window, or its counts cannot be used
  Reasons reasons = {};
  bool has_window = false;            // any faults concern only the counts
  JsonValue max_concurrency = {};     // a number, true or false; for anything else only the kind
  std::uint64_t failed_requests = 0;  // if the files list the requests; without the warm-up
  std::optional<Zone> captured_zone = {};  // of the machine that generated the load, from one of
                                           // its files
  // Why the window can hardly match the requests, for people; empty: it can.
  std::string doubt = {};
  std::optional<std::int64_t> gpus = {};  // GPUs that the result names
};

}  // namespace aggregate_power
