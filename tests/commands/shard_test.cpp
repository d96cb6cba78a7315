// Which part of the runs of a store is this process's.
#include "commands/backfill_parts.h"

#include <map>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace shard_test {

using Set = std::map<std::string, std::string>;

Shard shard(const std::string& text, const Set& set = {}) {
  return shard_of(text, [&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

std::string fault(const std::string& text, const Set& set = {}) {
  try {
    const Shard found = shard(text, set);
    return std::to_string(found.index) + "/" + std::to_string(found.count);
  } catch (const Error& error) {
    return error.what();
  }
}

Set slurm(const char* id, const char* count, const char* least, const char* most,
          const char* step = "1") {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_COUNT", count},
          {"SLURM_ARRAY_TASK_MIN", least},
          {"SLURM_ARRAY_TASK_MAX", most},
          {"SLURM_ARRAY_TASK_STEP", step}};
}

TEST(Shard, IsAsGiven) {
  EXPECT_EQ(shard("0/1"), (Shard{0, 1}));
  EXPECT_EQ(shard("3/4"), (Shard{3, 4}));
  for (const char* text : {"4/4", "0/0", "-1/4", "1", "a/b", "1/", "/1", "1/4x", "", "Auto"}) {
    EXPECT_EQ(fault(text),
              std::string("expected auto, or I/N with I from 0 to N-1, got '") + text + "'");
  }
}

TEST(Shard, IsTheSchedulers) {
  const struct {
    const char* index;
    const char* count;
  } pairs[] = {
      {"JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"},
      {"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"},
      {"BATCH_TASK_INDEX", "BATCH_TASK_COUNT"},
      {"CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
  };
  for (const auto& [index, count] : pairs) {
    EXPECT_EQ(shard("auto", {{index, "2"}, {count, "5"}}), (Shard{2, 5})) << index;
    const std::string half_set = "auto: " + std::string(index) + " is set, but " + count;
    EXPECT_EQ(fault("auto", {{index, "2"}}), half_set + " is not; give I/N");
    EXPECT_EQ(fault("auto", {{count, "2"}}),
              "auto: " + std::string(count) + " is set, but " + index + " is not; give I/N");
    EXPECT_EQ(fault("auto", {{index, "2"}, {count, "2"}}),
              "auto: " + std::string(index) + " is 2, but " + count + " is 2; give I/N");
    EXPECT_EQ(fault("auto", {{index, "two"}, {count, "5"}}),
              "auto: " + std::string(index) + " is not a whole number: 'two'; give I/N");
    EXPECT_EQ(fault("auto", {{index, "2"}, {count, "-5"}}),
              "auto: " + std::string(count) + " is not a whole number: '-5'; give I/N");
  }
}

// sbatch --array=0-3, 1-4, 10-40:10; the last one may also be written 10-45:10.
TEST(Shard, IsThePlaceInAnArrayOfSlurm) {
  EXPECT_EQ(shard("auto", slurm("3", "4", "0", "3")), (Shard{3, 4}));
  EXPECT_EQ(shard("auto", slurm("1", "4", "1", "4")), (Shard{0, 4}));
  EXPECT_EQ(shard("auto", slurm("30", "4", "10", "40", "10")), (Shard{2, 4}));
  EXPECT_EQ(shard("auto", slurm("40", "4", "10", "45", "10")), (Shard{3, 4}));
  EXPECT_EQ(shard("auto", slurm("7", "1", "7", "7", "")), (Shard{0, 1}));
}

TEST(Shard, IsNotThatOfAnArrayWithHoles) {
  // --array=1,3,7
  EXPECT_EQ(fault("auto", slurm("3", "3", "1", "7")),
            "auto: the task ids of the Slurm array have gaps: 3 ids, from 1 to 7; give I/N");
  Set set = slurm("3", "4", "0", "3");
  set.erase("SLURM_ARRAY_TASK_MIN");
  EXPECT_EQ(fault("auto", set),
            "auto: SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not; give I/N");
}

TEST(Shard, NeedsSchedulersThatAgree) {
  Set set = slurm("1", "4", "0", "3");
  set["OMPI_COMM_WORLD_RANK"] = "1";
  set["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_EQ(shard("auto", set), (Shard{1, 4}));
  set["OMPI_COMM_WORLD_SIZE"] = "8";
  EXPECT_EQ(fault("auto", set),
            "auto: SLURM_ARRAY_TASK_ID and OMPI_COMM_WORLD_RANK disagree: 1/4 and 1/8; give I/N");
}

TEST(Shard, IsNotMadeUpWhereNothingIsSet) {
  EXPECT_EQ(fault("auto", {{"BATCH_TASK_INDEX", ""}, {"BATCH_TASK_COUNT", ""}}),
            "auto: none of these variables is set: SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT, "
            "JOB_COMPLETION_INDEX and JOB_COMPLETIONS, AWS_BATCH_JOB_ARRAY_INDEX and "
            "AWS_BATCH_JOB_ARRAY_SIZE, BATCH_TASK_INDEX and BATCH_TASK_COUNT, CLOUD_RUN_TASK_INDEX "
            "and CLOUD_RUN_TASK_COUNT, OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE; give I/N");
}

}  // namespace shard_test
}  // namespace aggregate_power
