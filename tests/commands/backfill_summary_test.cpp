// The table that a backfill ends with.
#include "commands/backfill_parts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace backfill_summary_test {

TEST(BackfillSummary, NamesTheFirstRunsOfEachReasonInWhateverOrderTheyCame) {
  BackfillCounts counts;
  counts.outcomes[static_cast<std::size_t>(Outcome::ambiguous)] = 6;
  for (const char* run : {"e", "b", "d", "a", "c"}) {
    counts.reasons[{Reason::pairing_ambiguous, Obstacle::none}].add(run);
  }
  counts.reasons[{Reason::input_changed, Obstacle::none}].add("a\nrun");
  EXPECT_EQ(summary_text(counts, false),
            "runs                         6\n"
            "  ambiguous                  6\n"
            "reason                            runs  what to do\n"
            "  pairing_ambiguous                  5  several files could belong to the run:\n"
            "                                        move those that do not out of the store\n"
            "    a, b, c, ...\n"
            "  input_changed                      1  run again when nothing else writes to\n"
            "                                        the run's files\n"
            "    a?run\n");
}

TEST(BackfillSummary, HasARemedyForEachObstacle) {
  BackfillCounts counts;
  constexpr Reason kReason = Reason::aggregate_result_unwritable;
  for (int i = 0; i < 3; ++i) counts.reasons[{kReason, Obstacle::full_disk}].add("a");
  for (int i = 0; i < 2; ++i) counts.reasons[{kReason, Obstacle::read_only}].add("b");
  counts.reasons[{kReason, Obstacle::denied}].add("c");
  EXPECT_EQ(summary_text(counts, false),
            "runs                         0\n"
            "reason                            runs  what to do\n"
            "  aggregate_result_unwritable        3  the disk or the quota is full: make room\n"
            "                                        and run again; a backfill can write\n"
            "                                        elsewhere with --output FOLDER\n"
            "    a, ...\n"
            "  aggregate_result_unwritable        2  the file system is read-only: mount it\n"
            "                                        for writing; a backfill can write\n"
            "                                        elsewhere with --output FOLDER\n"
            "    b, ...\n"
            "  aggregate_result_unwritable        1  the permissions do not allow it: run as\n"
            "                                        the owner of the files; a backfill can\n"
            "                                        write elsewhere with --output FOLDER\n"
            "    c\n");
}

TEST(BackfillSummary, IsOneJsonObject) {
  BackfillCounts counts;
  counts.outcomes[static_cast<std::size_t>(Outcome::patched)] = 2;
  counts.outcomes[static_cast<std::size_t>(Outcome::unchanged)] = 3;
  counts.valid = 4;
  counts.unchanged_not_valid = 1;
  counts.doubtful = 3;
  counts.folder_links = 7;
  counts.zones["UTC"]["stated"] = 5;
  for (int i = 0; i < 2; ++i) counts.reasons[{Reason::input_changed, Obstacle::none}].add("a\nrun");
  EXPECT_EQ(nlohmann::ordered_json::parse(summary_json(counts, true)),
            nlohmann::ordered_json::parse(R"({
    "schema": "aggregate-power/backfill-1", "dry_run": true, "runs": 5, "valid": 4,
    "outcomes": {"patched": 2, "unchanged": 3, "not_valid": 0, "not_recomputable": 0,
                 "not_writable": 0, "ambiguous": 0, "failed": 0},
    "unchanged_not_valid": 1, "doubtful": 3, "links_to_folders": 7, "links_out_of_the_store": 0, "timezones": {"UTC": {"stated": 5}},
    "reasons": [{"code": "input_changed", "runs": 2, "first_runs": ["a\nrun"],
                 "remedy": "run again when nothing else writes to the run's files"}]})"));
}

TEST(BackfillSummary, NamesTheCommandThatHasAnOptionWhichABackfillLacks) {
  BackfillCounts counts;
  for (const Reason reason : all_reasons()) counts.reasons[{reason, Obstacle::none}].add("a");
  const auto summary = nlohmann::json::parse(summary_json(counts, false));
  for (const auto& reason : summary["reasons"]) {
    const std::string remedy = reason["remedy"];
    const bool is_of_one_run = remedy.find("patch") != remedy.npos ||
                               remedy.find("multinode") != remedy.npos ||
                               remedy.find("agentic") != remedy.npos;
    for (const char* lacking : {"--start", "--power-column", "--timestamp-column",
                                "--device-column", "--gpus", "--aggregate-gpus"}) {
      EXPECT_TRUE(is_of_one_run || remedy.find(lacking) == remedy.npos) << remedy;
    }
  }
  const auto named = [&](const char* code) -> std::string {
    for (const auto& reason : summary["reasons"]) {
      if (reason["code"] == code) return reason["remedy"];
    }
    return {};
  };
  EXPECT_EQ(named("power_column_missing"),
            "record a column of power draw, or name it with --power-column (by 'aggregate-power "
            "patch', for one run)");
}

TEST(BackfillSummary, SaysThatItWasADryRun) {
  EXPECT_EQ(summary_text({}, true), "runs (dry run)               0\n");
}

}  // namespace backfill_summary_test
}  // namespace aggregate_power
