// From the parsed files of a run to what was published of it.
#pragma once

#include "base/text/json_value.h"
#include "decisions/published_run.h"

namespace aggregate_power {

// `members`: the aggregate's; an object without members if it was not found. `record`: nullptr if
// there is none. The places are the caller's to fill in.
PublishedRun published_run_of(JsonValue members, const JsonValue* record);

// One of the runs in the output of `measure --json`.
PublishedRun measured_run_of(const JsonValue& measured);

}  // namespace aggregate_power
