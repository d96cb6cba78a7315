// Compares two audit records of one run, value by value.
#pragma once

#include <string>
#include <vector>

#include "base/text/json_value.h"

namespace aggregate_power {

struct RecordDifference {
  std::string key;  // "metrics.avg_power_w", "nodes[0].hostname"
  std::string expected;
  std::string found;
  // The record states a number, or yes or no, that is another now or is no longer there; not only a
  // text, or what a record did not state yet.
  bool is_of_number = false;
};

// A null pointer stands for a value that is not there. Numbers are compared by value.
std::vector<RecordDifference> compare_values(const JsonValue* expected, const JsonValue* found,
                                             const std::string& key);

// All but what depends on where the files are, who asked, and which version answers.
std::vector<RecordDifference> compare_records(const JsonValue& expected, const JsonValue& found);

}  // namespace aggregate_power
