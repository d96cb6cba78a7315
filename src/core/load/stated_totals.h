// What scripts and generators state about their requests next to the contract's counts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/load/load_files.h"
#include "core/load/result_values.h"

namespace aggregate_power {

// The paths of a result to read for judge_totals().
std::span<const std::string_view> total_paths();

// What a rate in a second is of, and how many of these the result counts.
struct Rated {
  const char* what;       // "output tokens"
  std::string_view path;  // of the count
  std::optional<double> count;
};

// Why no two tokenizers can have made these counts of the same text; empty: they can.
std::string recount_text(std::string_view name, double tokens, std::string_view other_name,
                         double other_tokens);

inline constexpr std::string_view kContradiction = "the result contradicts itself: ";

// Says that a rate times the duration is another number than the result counts, by more than 5 %,
// more than 1 and more than the rate's rounding; empty: it is not, or one of them is missing.
std::string rate_contradiction(std::string_view rate, const Rated& rated, std::string_view duration,
                               double duration_s, const ResultValues& values);

// Sets `failed_requests` and `failure` by any name of failed requests, and notes the totals that
// contradict each other, by more than 5 % and more than 1. `values` have the total_paths(), and the
// members "duration", "completed", "num_prompts", "total_input_tokens", "total_output_tokens".
void judge_totals(const ResultValues& values, LoadReading& reading);

}  // namespace aggregate_power

// ---- The keys by which results, and scripts that add to them, say how a run was run.

namespace aggregate_power::loads {

struct SettingName {
  std::string_view key;   // the last part of its path in a result
  std::string_view name;  // as aggregates have it
};
std::span<const SettingName> setting_names();

// The name of a setting by its path, "server_info.tp_size"; empty: the path is not a setting.
std::string_view setting_name(std::string_view path);

}  // namespace aggregate_power::loads
