// Formats the summary of a backfill.
#include "commands/backfill_summary.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text/unicode.h"
#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kTableWidth = 80;

using ReasonRow = std::pair<std::pair<Reason, Obstacle>, RunsOfReason>;

// Sorted by the number of runs that have them.
std::vector<ReasonRow> reason_rows(const BackfillCounts& counts) {
  std::vector<ReasonRow> rows(counts.reasons.begin(), counts.reasons.end());
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const ReasonRow& row) { return row.second.runs; });
  return rows;
}

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

std::string reasons_text(const BackfillCounts& counts) {
  const std::vector<ReasonRow> reasons = reason_rows(counts);
  if (reasons.empty()) return {};
  constexpr std::size_t kIndent = 40;
  std::string text = fmt::format("{:<32}{:>6}  {}\n", "reason", "runs", "what to do");
  for (const auto& [why, of] : reasons) {
    const auto& [reason, obstacle] = why;
    text += wrapped(remedy(reason, obstacle), fmt::format("  {:<30}{:>6}  ", code(reason), of.runs),
                    kIndent, kTableWidth);
    text += wrapped(one_line(fmt::format("{}{}", fmt::join(of.first_names, ", "),
                                         of.runs > of.first_names.size() ? ", ..." : "")),
                    "    ", 4, kTableWidth);
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
  if (counts.doubtful > 0) {
    text += fmt::format("{:<22}{:>8}  valid, with warnings: the details in --report have them\n",
                        "doubtful", counts.doubtful);
  }
  if (counts.folder_links > 0) {
    text += fmt::format("{:<22}{:>8}  not followed; name their targets as stores\n",
                        "links to folders", counts.folder_links);
  }
  if (counts.links_out > 0) {
    text += fmt::format("{:<22}{:>8}  not read; allow it with --follow-links or --artifacts\n",
                        "links out of the store", counts.links_out);
  }
  return text + zones_text(counts) + reasons_text(counts);
}

std::string summary_json(const BackfillCounts& counts, bool dry_run) {
  using Json = nlohmann::ordered_json;
  Json outcomes = Json::object();
  for (int i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    outcomes[std::string(outcome_name(outcome))] = counts.of(outcome);
  }
  Json zones = Json::object();
  for (const auto& [timezone, levels] : counts.zones) zones[timezone] = levels;
  Json reasons = Json::array();
  for (const auto& [why, of] : reason_rows(counts)) {
    const auto& [reason, obstacle] = why;
    reasons.push_back({{"code", code(reason)},
                       {"runs", of.runs},
                       {"first_runs", of.first_names},
                       {"remedy", remedy(reason, obstacle)}});
  }
  const Json summary = {{"dry_run", dry_run},
                        {"runs", counts.done()},
                        {"valid", counts.valid},
                        {"outcomes", std::move(outcomes)},
                        {"unchanged_not_valid", counts.unchanged_not_valid},
                        {"doubtful", counts.doubtful},
                        {"links_to_folders", counts.folder_links},
                        {"links_out_of_the_store", counts.links_out},
                        {"timezones", std::move(zones)},
                        {"reasons", std::move(reasons)}};
  return summary.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace aggregate_power
