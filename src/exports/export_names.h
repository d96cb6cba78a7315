// Names that tell runs apart.
#pragma once

#include <string>
#include <vector>

namespace aggregate_power {

struct NamedExport {
  std::string name;  // short, for people
  std::string path;  // longer, if the name is not enough
  double end_unix_s = 0;
};

// One name for each: the short one, where only one has it; else the path, and if that is not enough
// either, the path with a number. `is_by_time`: those that end at different times may share one.
// No control characters; bytes that are not UTF-8 become U+FFFD.
std::vector<std::string> distinct_names(const std::vector<NamedExport>& all, bool is_by_time);

// "artifacts/agg_llama_tp2.json" and its record: "llama_tp2".
std::string short_export_name(const std::string& path);

}  // namespace aggregate_power
