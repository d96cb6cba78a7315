// What a walk met, by the runs' names.
#include "store/catalogue/found_runs.h"

#include <map>

#include <gtest/gtest.h>

#include "store/catalogue/walk.h"
#include "test_util.h"

namespace aggregate_power {
namespace met_runs_test {

std::map<std::string, MetName> names_of(MetRuns& met) {
  std::map<std::string, MetName> names;
  met.for_each_name([&](MetName name) { names[name.name] = std::move(name); });
  return names;
}

StorePath place(const test::Folder& folder, const std::string& name) {
  return child(std::make_shared<const StorePath>(*find_store(folder.path(), "")), name);
}

StoredRun run_of(const test::Folder& folder, const std::string& name, const std::string& artifact,
                 Layout layout) {
  return {name, artifact, layout, *find_store(folder.path(), ""),
          place(folder, "agg_" + name + ".json")};
}

TEST(MetRuns, GiveBackWhatWasMetUnderEachName) {
  const test::Folder folder;
  MetRuns met;
  const StoredRun x = run_of(folder, "x_conc1", "x", Layout::bmk);
  met.add_run(x);
  met.keep_waiting(x);
  met.keep_found(x);
  met.add_listed("x_conc1");
  met.add_piece(PieceKind::benchmark_result, "x_conc1", place(folder, "raw.json"));
  const auto names = names_of(met);
  ASSERT_EQ(names.size(), 2U);
  const MetName& name = names.at("x_conc1");
  EXPECT_TRUE(name.is_listed);
  EXPECT_TRUE(name.is_run);
  EXPECT_FALSE(name.is_artifact);
  EXPECT_FALSE(name.bare);
  EXPECT_EQ(name.namesakes->runs, 1U);
  EXPECT_TRUE(name.namesakes->pieces[0].empty());
  EXPECT_EQ(name.namesakes->pieces[1].at(0), store_path_text(place(folder, "raw.json")));
  for (const std::vector<KeptRun>* kept : {&name.waiting, &name.found}) {
    ASSERT_EQ(kept->size(), 1U);
    EXPECT_EQ(kept->front().run.name, "x_conc1");
    EXPECT_EQ(kept->front().run.artifact, "x");
    EXPECT_EQ(kept->front().run.layout, Layout::bmk);
    EXPECT_EQ(kept->front().aggregate_text, store_path_text(x.aggregate));
  }
  EXPECT_TRUE(names.at("x").is_artifact);
  EXPECT_FALSE(names.at("x").is_run);
}

TEST(MetRuns, KnowARunThatLacksItsAggregate) {
  const test::Folder folder;
  MetRuns met;
  met.add_piece(PieceKind::telemetry, "a", place(folder, "gpu_metrics_a"));
  met.add_piece(PieceKind::benchmark_result, "b", place(folder, "b.json"));
  StoredRun bare;
  bare.name = "c";
  bare.layout = Layout::multinode;
  bare.folder = place(folder, "power_audit_c");
  met.add_bare(bare);
  const auto names = names_of(met);
  EXPECT_EQ(names.at("a").bare->layout, Layout::bmk);
  EXPECT_EQ(names.at("a").bare->folder.display, folder / "gpu_metrics_a");
  EXPECT_FALSE(names.at("b").bare);  // a result may be anyone's
  EXPECT_EQ(names.at("c").bare->layout, Layout::multinode);
  EXPECT_EQ(names.at("c").bare->folder.display, folder / "power_audit_c");
}

TEST(MetRuns, KeepOneMorePieceThanMayCount) {
  const test::Folder folder;
  MetRuns met;
  for (std::size_t i = 0; i < kMostCandidates + 4; ++i) {
    met.add_piece(PieceKind::telemetry, "a", place(folder, std::to_string(i)));
  }
  EXPECT_EQ(names_of(met).at("a").namesakes->pieces[0].size(), kMostCandidates + 1);
}

}  // namespace met_runs_test
}  // namespace aggregate_power
