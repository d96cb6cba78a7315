// What a load generator leaves, and what is read of it.
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

// Which checks apply to a benchmark result. Schema 1 (contract.md A.3): true and false count as 1
// and 0, the output tokens must be there, the input tokens and `completed` need not. Schema 2: B.2.
enum class LoadRules { schema_1, schema_2 };

// Another file of a load.
struct LoadFile {
  std::unique_ptr<ByteSource> source;  // expanded; nothing: the file is missing, or unreadable
  std::string name;                    // for messages; without a source: what to say of that
  bool is_unreadable = false;
};

// The files of a load, opened by whoever knows where they are.
struct LoadFiles {
  // The file that stands for the load: a benchmark result; of AIPerf, profile_export.jsonl.
  std::string name;
  std::function<std::unique_ptr<ByteSource>()> open;  // expanded; called once at most
  // Opens another file of the load by its role, once each. Without it, only a load of one file can
  // be read.
  std::function<LoadFile(std::string_view role)> other = {};
  LoadRules rules = LoadRules::schema_2;
  std::optional<Zone> zone = {};  // that the user named for times without an offset
};

struct LoadReading {
  std::optional<Load> load = {};  // nothing: no window at all, or its counts cannot be used
  Reasons reasons = {};
  bool has_window = false;            // what is wrong, if anything, is the counts
  JsonValue max_concurrency = {};     // a number, true or false; of anything else only the kind
  std::uint64_t failed_requests = 0;  // where the files list the requests; not of the warm-up
  std::optional<Zone> captured_zone = {};  // of the machine that made the load, from a file of it
  // Why the window can hardly be that of the requests, for people; empty: it can.
  std::string doubt = {};
};

}  // namespace aggregate_power
