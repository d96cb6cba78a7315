// An artifact store to runs: contract.md E.3.
#include "store/catalogue/walk.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "store/catalogue/layouts.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/pieces.h"
#include "test_util.h"

namespace aggregate_power {
namespace store_test {

namespace fs = std::filesystem;
using test::Folder;
using test::put;
using Lines = std::vector<std::string>;

struct Walked {
  Lines runs;    // "LAYOUT NAME FOLDER", sorted
  Lines pieces;  // "KIND NAME PATH", sorted
  Lines archives;
  Lines faults;
  Lines temporaries;
  int folder_links = 0;
  std::map<std::string, StoredRun> by_name;
};

void make(const Folder& folder, const std::string& path) {
  fs::create_directories(fs::path(folder / path).parent_path());
  put(folder / path, "x");
}

Walked walk(const Folder& folder) {
  Walked walked;
  StoreVisitor visitor;
  visitor.run = [&](const StoredRun& run) {
    walked.runs.push_back(fmt::format("{} {} {}{}", layout_row(run.layout).name, run.name,
                                      run.folder.below, run.aggregate.tree ? "" : " none"));
    walked.by_name[run.name] = run;
  };
  visitor.piece = [&](PieceKind kind, const std::string& name, const StorePath& place) {
    walked.pieces.push_back(fmt::format(
        "{} {} {}", kind == PieceKind::telemetry ? "telemetry" : "result", name, place.below));
  };
  visitor.archive = [&](const StorePath& archive, const std::string& artifact) {
    walked.archives.push_back(archive.below + " " + artifact);
  };
  visitor.fault = [&](const StorePath& place, const std::string&) {
    walked.faults.push_back(place.below);
  };
  visitor.folder_link = [&] { ++walked.folder_links; };
  visitor.temporary = [&](const StorePath& place) { walked.temporaries.push_back(place.below); };
  walk_store(*find_store(folder.path(), ""), visitor);
  for (Lines* lines : {&walked.runs, &walked.pieces, &walked.archives, &walked.temporaries}) {
    std::ranges::sort(*lines);
  }
  return walked;
}

Lines below_store(const std::vector<StorePath>& places) {
  Lines found;
  for (const StorePath& place : places) found.push_back(place.below);
  return found;
}

Lines nearby(const StoredRun& run, PieceKind kind) {
  return below_store(pieces_near(run, kind).pieces);
}

Lines agents_nearby(const StoredRun& run, PieceKind kind) {
  return below_store(agents_pieces_near(run, kind).pieces);
}

TEST(WalkStore, FindsEveryLayoutAtAnyDepth) {
  const Folder folder;
  make(folder, "a/b/power_audit_x/agg_x.json");
  make(folder, "a/bmk_y/agg_y.json");
  make(folder, "flat/agg_p.json");
  make(folder, "flat/agg_q.json");
  make(folder, "power_audit_m/agg_m_conc4_gpus_16_ctx_8_gen_8.json");
  make(folder, "power_audit_n/agg_n.json");
  make(folder, "power_audit_n/LOGS/power/manifest.json");
  make(folder, "bmk_agentic_g/g.json");
  make(folder, "agentic_g/gpu_metrics.csv");
  make(folder, "agentic_h/gpu_metrics.csv");
  EXPECT_EQ(walk(folder).runs,
            (Lines{"agentic g agentic_g none", "agentic g bmk_agentic_g",
                   "agentic h agentic_h none", "bmk y a/bmk_y", "folder p flat", "folder q flat",
                   "multinode m_conc4_gpus_16_ctx_8_gen_8 power_audit_m",
                   "multinode n power_audit_n", "power_audit x a/b/power_audit_x"}));
}

TEST(WalkStore, FindsTheAggregatesOfAnAgenticRunInEachOfItsPlaces) {
  const Folder folder;
  make(folder, "a/bmk_agentic_x/x.json");
  make(folder, "a/agentic_x/x.json");
  make(folder, "a/x.json");
  make(folder, "b/bmk_agentic_x/x_conc4.json");
  make(folder, "b/agentic_x/x_conc16.json");
  make(folder, "b/x_conc8.json");
  make(folder, "b/x_conc08.json");  // no number as it is written
  make(folder, "c/agentic_x/results/x.json");
  make(folder, "c/x.json");
  EXPECT_EQ(walk(folder).runs,
            (Lines{"agentic x a", "agentic x a/agentic_x", "agentic x a/bmk_agentic_x",
                   "agentic x c", "agentic x c/agentic_x none", "agentic x_conc16 b/agentic_x",
                   "agentic x_conc4 b/bmk_agentic_x", "agentic x_conc8 b"}));
}

TEST(WalkStore, TakesARunBesideTheResultsOfAnotherForThat) {
  const Folder folder;
  make(folder, "agentic_x_conc4/log.txt");  // that is its name
  make(folder, "x_conc4.json");
  make(folder, "y_conc4.json");
  EXPECT_EQ(walk(folder).runs, (Lines{"agentic x_conc4 ", "agentic x_conc4 agentic_x_conc4 none"}));
}

TEST(WalkStore, MissesAnAggregateOnlyInAPowerAudit) {
  const Folder folder;
  make(folder, "power_audit_x/x.json");
  make(folder, "other/x.json");
  EXPECT_EQ(walk(folder).runs, Lines{"power_audit x power_audit_x none"});
}

TEST(WalkStore, TakesForPiecesWhatCanBeOne) {
  const Folder folder;
  make(folder, "gpu_metrics_x/gpu_metrics.csv.gz");
  make(folder, "gpu_metrics_x/gpu_metrics_energy_start.csv");
  make(folder, "gpu_metrics_x/gpu_metrics_identity.json");
  make(folder, "eval_gpu_metrics_x/gpu_metrics.csv");
  make(folder, "raw/x.json");
  make(folder, "raw/y.json.zst");
  make(folder, "raw/power_validation_x.json");
  make(folder, "raw/gpu_metrics_context.json");
  make(folder, "results_bmk/agg_bmk.json");
  const Walked walked = walk(folder);
  EXPECT_EQ(walked.pieces, (Lines{"result x raw/x.json", "result y raw/y.json.zst",
                                  "telemetry x gpu_metrics_x/gpu_metrics.csv.gz"}));
  EXPECT_TRUE(walked.runs.empty());
}

TEST(WalkStore, ComesByTemporaries) {
  const Folder folder;
  make(folder, "power_audit_x/.agg_x.json.abcdefgh.aggregate-power.tmp");
  make(folder, "agentic_y/.y.json.abcdefgh.aggregate-power.tmp");
  make(folder, "power_audit_x/.agg_x.json.tmp");
  EXPECT_EQ(walk(folder).temporaries,
            (Lines{"agentic_y/.y.json.abcdefgh.aggregate-power.tmp",
                   "power_audit_x/.agg_x.json.abcdefgh.aggregate-power.tmp"}));
}

TEST(WalkStore, LeavesArchivesForLaterAndFollowsNoLinks) {
  const Folder folder;
  make(folder, "in/power_audit_x.zip");
  make(folder, "eval_gpu_metrics_x.zip");
  fs::create_directory_symlink(folder.path(), folder / "in/loop");
  const Walked walked = walk(folder);
  EXPECT_EQ(walked.archives, Lines{"in/power_audit_x.zip x"});
  EXPECT_EQ(walked.folder_links, 1);
}

TEST(NearbyPieces, OfAnAgenticRunLieAnywhereInItsResults) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x.json");
  make(folder, "agentic_x/deep/results/gpu_metrics.csv.gz");
  make(folder, "agentic_x/deep/results/agentic_power_timezone_offset.txt");
  make(folder, "agentic_x/deep/results/aiperf_artifacts/b/profile_export.jsonl");
  make(folder, "agentic_x/deep/results/aiperf_artifacts/b/profile_export_aiperf.json.gz");
  make(folder, "agentic_x/deep/results/aiperf_artifacts/c/profile_export.jsonl");
  make(folder, "agentic_x/profile_export.jsonl");  // not where AIPerf writes
  make(folder, "raw/x.json");
  const StoredRun run = walk(folder).by_name.at("x");
  const std::string results = "agentic_x/deep/results/";
  EXPECT_EQ(agents_nearby(run, PieceKind::telemetry), Lines{results + "gpu_metrics.csv.gz"});
  EXPECT_EQ(agents_nearby(run, PieceKind::benchmark_result),
            Lines{results + "aiperf_artifacts/b/profile_export.jsonl"});

  const StorePath records = agents_pieces_near(run, PieceKind::benchmark_result).pieces[0];
  const auto files = profile_files(records);
  ASSERT_TRUE(files && files->summary && files->captured_zone);
  EXPECT_EQ(files->summary->below, results + "aiperf_artifacts/b/profile_export_aiperf.json.gz");
  EXPECT_EQ(files->captured_zone->below, results + "agentic_power_timezone_offset.txt");
  EXPECT_FALSE(profile_files(run.aggregate));

  make(folder, results + "aiperf_artifacts/profile_export.jsonl");
  EXPECT_EQ(agents_nearby(run, PieceKind::benchmark_result),
            Lines{results + "aiperf_artifacts/profile_export.jsonl"});
  EXPECT_TRUE(find_agents_logs(run).empty());
}

TEST(WalkStore, FindsTheLoadsOfAgentsOnSeveralNodes) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x_conc4.json");
  make(folder, "bmk_agentic_x/x_conc16.json");
  make(folder, "bmk_agentic_x/x_conc04.json");  // no number as it is written
  make(folder, "bmk_agentic_x/y_conc4.json");   // of another run
  make(folder, "bmk_agentic_x/power_validation_x_conc4.json");
  make(folder, "power_audit_x/LOGS/power/manifest.json");
  make(folder, "power_audit_x/LOGS/agentic/conc_4/agentic_power_concurrency_4.json");
  make(folder, "power_audit_x/x_conc4.json");
  make(folder, "agentic_x/LOGS/agentic/log.txt");
  make(folder, "agentic_z/LOGS/agentic/log.txt");
  make(folder, "agentic_z/z_conc1.json");
  make(folder, "power_audit_o/LOGS/power/manifest.json");  // of no agents
  make(folder, "power_audit_o/o_conc4.json");
  const Walked walked = walk(folder);
  EXPECT_EQ(walked.runs, (Lines{"agentic x agentic_x none", "agentic x_conc16 bmk_agentic_x",
                                "agentic x_conc4 bmk_agentic_x", "agentic x_conc4 power_audit_x",
                                "agentic z_conc1 agentic_z", "multinode o power_audit_o none"}));
  EXPECT_EQ(walked.pieces, Lines{"result o_conc4 power_audit_o/o_conc4.json"});
  EXPECT_EQ(walked.by_name.at("x_conc16").artifact, "x");
}

TEST(WalkStore, KnowsAPackageOfAgentsByItsNeighbours) {
  const Folder folder;
  make(folder, "power_audit_x/LOGS/power/manifest.json");
  make(folder, "power_audit_x/x_conc4.json");
  make(folder, "agentic_x/LOGS/agentic/log.txt");
  EXPECT_EQ(walk(folder).runs,
            (Lines{"agentic x agentic_x none", "agentic x_conc4 power_audit_x"}));
}

TEST(FindNodeLogs, OfAgentsAreWhereTheirFormalResultsAre) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x_conc4.json");
  make(folder, "agentic_x/LOGS/agentic/conc_4/agentic_power_concurrency_4.json");
  const StoredRun run = walk(folder).by_name.at("x_conc4");
  std::vector<MultinodeLogs> found = find_agents_logs(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].logs.below, "agentic_x/LOGS");
  EXPECT_FALSE(found[0].power);
  make(folder, "power_audit_x/LOGS/power/manifest.json");  // nothing of agents there
  EXPECT_EQ(find_agents_logs(run)[0].logs.below, "agentic_x/LOGS");
  make(folder, "power_audit_x/LOGS/agentic/log.txt");
  found = find_agents_logs(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].power->below, "power_audit_x/LOGS/power");
  EXPECT_TRUE(found[0].formal_results.empty());
  make(folder, "agentic_x/LOGS/power/manifest.json");  // the more complete
  found = find_agents_logs(run);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].power->below, "agentic_x/LOGS/power");
  make(folder, "power_audit_x/LOGS/agentic/conc_4/agentic_power_concurrency_4.json");
  EXPECT_EQ(find_agents_logs(run).size(), 2U);  // which of them, their contents tell
}

TEST(FindNodeLogs, OfAgentsOnOneNodeAreNotLookedFor) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x.json");
  make(folder, "agentic_x/gpu_metrics.csv");
  make(folder, "power_audit_x.zip");  // no archive at all
  const StoredRun run = walk(folder).by_name.at("x");
  EXPECT_TRUE(find_agents_logs(run).empty());
  fs::remove_all(folder / "agentic_x");
  EXPECT_THROW(find_agents_logs(run), FileError);
}

TEST(FindNodeLogs, NeedNoArchiveThatCannotBeReadWhereAllIsThere) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x_conc4.json");
  make(folder, "power_audit_x.zip");
  make(folder, "agentic_x/LOGS/agentic/conc_4/agentic_power_concurrency_4.json");
  const StoredRun run = walk(folder).by_name.at("x_conc4");
  EXPECT_THROW(find_agents_logs(run), FileError);
  make(folder, "agentic_x/LOGS/power/manifest.json");
  EXPECT_EQ(find_agents_logs(run).size(), 1U);
}

TEST(FindNodeLogs, AreTheRunsOwnFirst) {
  const Folder folder;
  make(folder, "power_audit_x/agg_x_conc4_gpus_4.json");
  make(folder, "power_audit_x/LOGS/power/manifest.json");
  make(folder, "power_audit_x_conc4_gpus_4/LOGS/power/manifest.json");
  const auto found = find_multinode_logs(walk(folder).by_name.at("x_conc4_gpus_4"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].power->below, "power_audit_x/LOGS/power");
}

TEST(FindNodeLogs, HaveTheFormalResultsOfTheLoad) {
  const Folder folder;
  make(folder, "bmk_agentic_x/x_conc4.json");
  const std::string results = "agentic_x/LOGS/agentic/";
  make(folder, results + "conc_16/agentic_power_concurrency_16.json");
  const StoredRun run = walk(folder).by_name.at("x_conc4");
  const auto formal_results = [&] {
    const std::vector<MultinodeLogs> logs = find_agents_logs(run);
    Lines found;
    for (const StorePath& place : logs.at(0).formal_results) found.push_back(place.below);
    return found;
  };
  EXPECT_EQ(formal_results(), Lines{});
  make(folder, results + "agentic_power_concurrency_16.json");  // another load's
  EXPECT_EQ(formal_results(), Lines{});
  make(folder, results + "agentic_power_concurrency_4.json");  // not just one
  EXPECT_EQ(formal_results(), (Lines{results + "agentic_power_concurrency_16.json",
                                     results + "agentic_power_concurrency_4.json"}));
  make(folder, results + "conc_4/agentic_power_concurrency_4.json");
  make(folder, results + "conc_4/agentic_power_concurrency_4.json.bak");
  EXPECT_EQ(formal_results(), Lines{results + "conc_4/agentic_power_concurrency_4.json"});
}

TEST(WalkStore, TakesNamesOfAnyBytes) {
  const Folder folder;
  make(folder, "power_audit_a\nb\xFF/agg_a\nb\xFF.json");
  EXPECT_EQ(walk(folder).runs, Lines{"power_audit a\nb\xFF power_audit_a\nb\xFF"});
}

TEST(WalkStore, NamesAFolderThatIsTooDeep) {
  const Folder folder;
  std::string path;
  for (int i = 0; i < 201; ++i) path += "d/";
  make(folder, path + "agg_x.json");
  const Walked walked = walk(folder);
  EXPECT_TRUE(walked.runs.empty());
  EXPECT_EQ(walked.faults.size(), 1U);
}

TEST(NearbyPieces, AreThoseOfTheFolderFirst) {
  const Folder folder;
  make(folder, "bmk_x/agg_x.json");
  make(folder, "bmk_x/x.json");
  make(folder, "x.json");
  make(folder, "gpu_metrics_x/gpu_metrics.csv");
  make(folder, "power_audit_x/gpu_metrics.csv");
  const StoredRun run = walk(folder).by_name.at("x");
  EXPECT_EQ(nearby(run, PieceKind::benchmark_result), Lines{"bmk_x/x.json"});
  EXPECT_EQ(nearby(run, PieceKind::telemetry), Lines{"gpu_metrics_x/gpu_metrics.csv"});
}

TEST(NearbyPieces, AreInTheSiblingsThenAbove) {
  const Folder folder;
  make(folder, "bmk_x/agg_x.json");
  make(folder, "x.json");
  EXPECT_EQ(nearby(walk(folder).by_name.at("x"), PieceKind::benchmark_result), Lines{"x.json"});
  make(folder, "power_audit_x/x.json");
  EXPECT_EQ(nearby(walk(folder).by_name.at("x"), PieceKind::benchmark_result),
            Lines{"power_audit_x/x.json"});
}

TEST(NearbyPieces, ArePlainRatherThanCompressed) {
  const Folder folder;
  make(folder, "run/agg_x.json");
  make(folder, "run/gpu_metrics.csv.gz");
  const StoredRun run = walk(folder).by_name.at("x");
  EXPECT_EQ(nearby(run, PieceKind::telemetry), Lines{"run/gpu_metrics.csv.gz"});
  make(folder, "run/gpu_metrics.csv");
  EXPECT_EQ(nearby(run, PieceKind::telemetry), Lines{"run/gpu_metrics.csv"});
  make(folder, "run/gpu_metrics_x.csv");
  EXPECT_EQ(nearby(run, PieceKind::telemetry), Lines{"run/gpu_metrics_x.csv"});
}

TEST(NearbyPieces, AreOfTheArtifactWhenItHoldsSeveralRuns) {
  const Folder folder;
  make(folder, "bmk_x/agg_x_conc1.json");
  make(folder, "gpu_metrics_x/gpu_metrics.csv");
  const StoredRun run = walk(folder).by_name.at("x_conc1");
  EXPECT_EQ(run.artifact, "x");
  EXPECT_EQ(nearby(run, PieceKind::telemetry), Lines{"gpu_metrics_x/gpu_metrics.csv"});
}

TEST(NearbyPieces, AreNotTheRunsOwnInTheFolderAbove) {
  const Folder folder;
  make(folder, "bmk_x/agg_x.json");
  make(folder, "bmk_x/gpu_metrics.csv");
  make(folder, "x.json");
  const StoredRun run = walk(folder).by_name.at("x");
  EXPECT_TRUE(pieces_near(run, PieceKind::telemetry).is_own);
  EXPECT_FALSE(pieces_near(run, PieceKind::benchmark_result).is_own);
}

TEST(PlaceText, LeadsBackToThePlace) {
  const Folder folder;
  make(folder, "a/b\n/c.json");
  const StorePath store = *find_store(folder.path(), "below");
  const std::string text = fmt::format("{}{}below{}/a/b\n/c.json", store.display, '\0', '\0');
  const StorePath place = store_path_of(text);
  EXPECT_EQ(place.below, "below/a/b\n/c.json");
  EXPECT_EQ(place.path, folder / "a/b\n/c.json");
  EXPECT_EQ(place.folder->below, "below/a/b\n");
  EXPECT_EQ(store_path_text(place), text);
}

TEST(FindStore, IsNothingForAFileThatIsNoArchive) {
  const Folder folder;
  make(folder, "x.json");
  EXPECT_FALSE(find_store(folder / "x.json", ""));
  EXPECT_FALSE(find_store(folder / "absent", ""));
}

}  // namespace store_test
}  // namespace aggregate_power
