// The names of an agentic run's files: what AIPerf exports, and the results of a load on several
// nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

// AIPerf's exports, in aiperf_artifacts or in a folder inside it.
inline constexpr std::string_view kProfileFolder = "aiperf_artifacts";
// Where AIPerf makes a folder for each of its runs by default.
inline constexpr std::string_view kDefaultProfileFolder = "artifacts";
inline constexpr std::string_view kProfileSummary = "profile_export_aiperf.json";
inline constexpr std::string_view kProfileRecords = "profile_export.jsonl";
// Beside aiperf_artifacts.
inline constexpr std::string_view kCapturedZone = "agentic_power_timezone_offset.txt";

// profile_export.jsonl, possibly compressed.
bool is_records_name(std::string_view name);

// The profile_export.jsonl in `profile_folder`, then those in its folders, ordered by folder name;
// possibly compressed. The first one is the run's.
std::vector<std::string> all_records(const Tree& tree, const std::string& profile_folder);
std::optional<std::string> find_records(const Tree& tree, const std::string& profile_folder);

// The concurrency in a name, as written: a number above 0 without leading zeros. Returns nullopt
// for any other text.
std::optional<std::string> written_concurrency(std::string_view text);

// The concurrency in the name of the result of a load on several nodes,
// agentic_power_concurrency_16.json. Returns nullopt for any other name.
std::optional<std::string> formal_concurrency(std::string_view name);
// The formal results in a folder, sorted.
std::vector<std::string> formal_results(const Tree& tree, const std::string& folder);

}  // namespace aggregate_power
