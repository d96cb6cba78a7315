// Formats the summary of a backfill.
#include "commands/backfill_summary.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/wrap.h"
#include "commands/options/output.h"

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
    text += count_line("timezone " + timezone, runs, fmt::format("{}", fmt::join(parts, ", ")));
  }
  return text;
}

std::string reasons_text(const BackfillCounts& counts) {
  const std::vector<ReasonRow> reasons = reason_rows(counts);
  if (reasons.empty()) return {};
  constexpr std::size_t kIndent = 40;
  const TextTable table("[reason <32][runs >6]  [what to do <]");
  std::string text = table.head();
  for (const auto& [why, of] : reasons) {
    const auto& [reason, obstacle] = why;
    std::string row;
    table.add({fmt::format("  {}", code(reason)), of.runs}, row);
    row.back() = ' ';
    text += wrapped(remedy(reason, obstacle), row + ' ', kIndent, kTableWidth);
    text += wrapped(one_line(fmt::format("{}{}", fmt::join(of.first_names, ", "),
                                         of.runs > of.first_names.size() ? ", ..." : "")),
                    "    ", 4, kTableWidth);
  }
  return text;
}

}  // namespace

std::string summary_text(const BackfillCounts& counts, bool dry_run) {
  std::vector<OutcomeRow> rows;
  for (int i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    rows.push_back({outcome_name(outcome), counts.of(outcome)});
    if (outcome == Outcome::unchanged && counts.unchanged_not_valid > 0) {
      rows.back().note = fmt::format("{} of them not valid", counts.unchanged_not_valid);
    }
  }
  std::string text = outcome_table(counts.done(), dry_run, rows);
  if (counts.doubtful > 0) {
    text += count_line("doubtful", counts.doubtful,
                       "valid, with warnings: the details in --report have them");
  }
  if (counts.folder_links > 0) {
    text += count_line("links to folders", counts.folder_links,
                       "not followed; name their targets as stores");
  }
  if (counts.links_out > 0) {
    text += count_line("links out of the store", counts.links_out,
                       fmt::format("not read{}", kToFollow));
  }
  return text + zones_text(counts) + reasons_text(counts);
}

std::string summary_json(const BackfillCounts& counts, bool dry_run) {
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
  return indented_lines(summary);
}

}  // namespace aggregate_power
