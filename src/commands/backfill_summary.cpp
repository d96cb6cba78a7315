// Formats the summary of a backfill.
#include "commands/backfill_summary.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

std::string zones_text(const BackfillCounts& counts) {
  std::string text;
  for (const auto& [timezone, levels] : counts.zones) {
    std::uint64_t runs = 0;
    std::vector<std::string> parts;
    for (const auto& [level, count] : levels) {
      runs += count;
      parts.push_back(fmt::format("{} {}", count, level));
    }
    text += fmt::format("{:<22}{:>8}  {}\n", "timezone " + timezone, runs, fmt::join(parts, ", "));
  }
  return text;
}

// Sorted by the number of runs that have them, with the first names.
std::string reasons_text(const BackfillCounts& counts) {
  using Row = std::pair<std::pair<Reason, Obstacle>, RunsOfReason>;
  std::vector<Row> reasons(counts.reasons.begin(), counts.reasons.end());
  std::ranges::stable_sort(reasons, std::ranges::greater(),
                           [](const Row& row) { return row.second.runs; });
  if (reasons.empty()) return {};
  std::string text = fmt::format("{:<32}{:>6}  {}\n", "reason", "runs", "what to do");
  for (const auto& [why, of] : reasons) {
    const auto& [reason, obstacle] = why;
    text += fmt::format("  {:<30}{:>6}  {}\n", code(reason), of.runs, remedy(reason, obstacle));
    text += one_line(fmt::format("    {}{}", fmt::join(of.first_names, ", "),
                                 of.runs > of.first_names.size() ? ", ..." : "")) +
            '\n';
  }
  return text;
}

}  // namespace

std::string summary_text(const BackfillCounts& counts, bool dry_run) {
  std::string text =
      fmt::format("{:<22}{:>8}\n", dry_run ? "runs (dry run)" : "runs", counts.done());
  for (int i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (counts.of(outcome) == 0) continue;
    text += fmt::format("  {:<20}{:>8}", outcome_name(outcome), counts.of(outcome));
    if (outcome == Outcome::unchanged && counts.unchanged_not_valid > 0) {
      text += fmt::format("  {} of them not valid", counts.unchanged_not_valid);
    }
    text += '\n';
  }
  if (counts.folder_links > 0) {
    text += fmt::format("{:<22}{:>8}  not followed; name their targets as stores\n",
                        "links to folders", counts.folder_links);
  }
  return text + zones_text(counts) + reasons_text(counts);
}

}  // namespace aggregate_power
