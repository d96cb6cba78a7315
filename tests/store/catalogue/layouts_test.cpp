// The table of layouts: contract.md E.3.
#include "store/catalogue/layouts.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace layouts_test {

using Kind = Artifact::Kind;

std::string found(const FolderMarks& folder, std::string_view file) {
  const auto run = run_of_aggregate(folder, file);
  return run ? std::string(layout_row(run->layout).name) + " " + run->name : "";
}

TEST(RunOfAggregate, GoesByTheFolderAndTheName) {
  const FolderMarks other{};
  const FolderMarks audit{{Kind::power_audit, "x"}};
  const FolderMarks package{{Kind::power_audit, "x"}, true, false};
  const FolderMarks of_agents{{Kind::power_audit, "x"}, true, true};
  const FolderMarks results{{Kind::agentic, "x"}};
  EXPECT_EQ(found(other, "agg_x.json"), "folder x");
  EXPECT_EQ(found({{Kind::bmk, "x"}}, "agg_x.json"), "bmk x");
  EXPECT_EQ(found(audit, "agg_x.json"), "power_audit x");
  EXPECT_EQ(found(package, "agg_x.json"), "multinode x");
  EXPECT_EQ(found(other, "agg_x_gpus_16.json"), "multinode x_gpus_16");
  EXPECT_EQ(found(of_agents, "x_conc4.json"), "agentic x_conc4");
  EXPECT_EQ(found(of_agents, "agg_x.json"), "multinode x");
  EXPECT_EQ(found(results, "x.json"), "agentic x");
  EXPECT_EQ(found(results, "agg_x_gpus_16.json"), "");  // nothing else is looked at there
  EXPECT_EQ(found(results, "y.json"), "");
  EXPECT_EQ(found(audit, "x.json"), "");
  EXPECT_EQ(found(other, "agg_x.json.gz"), "");
}

TEST(LayoutWithoutAggregate, IsThatOfAFolderThatShouldHaveOne) {
  EXPECT_EQ(layout_without_aggregate({{Kind::power_audit, "x"}}), Layout::power_audit);
  EXPECT_EQ(layout_without_aggregate({{Kind::power_audit, "x"}, true}), Layout::multinode);
  EXPECT_EQ(layout_without_aggregate({{Kind::bmk_agentic, "x"}}), Layout::agentic);
  EXPECT_EQ(layout_without_aggregate({{Kind::bmk, "x"}}), std::nullopt);
  EXPECT_EQ(layout_without_aggregate({}), std::nullopt);
}

TEST(LayoutRow, IsFoundByItsLetterAndNamesTheAggregate) {
  const std::pair<Layout, std::string_view> kNames[] = {{Layout::power_audit, "agg_x.json"},
                                                        {Layout::bmk, "agg_x.json"},
                                                        {Layout::folder, "agg_x.json"},
                                                        {Layout::multinode, "agg_x.json"},
                                                        {Layout::agentic, "x.json"}};
  for (const auto& [layout, name] : kNames) {
    EXPECT_EQ(layout_of_letter(layout_row(layout).letter), layout);
    StoredRun run;
    run.name = "x";
    run.layout = layout;
    EXPECT_EQ(aggregate_name(run), name);
  }
}

}  // namespace layouts_test
}  // namespace aggregate_power
