// Faults of samples.csv by the rules of each dialect.
#include "packages/srt_slurm/package.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace sample_checks_test {

const PackageDialect& dialect(std::string_view name) {
  for (const PackageDialect& one : package_dialects(Contract::august)) {
    if (one.name == name) return one;
  }
  throw std::invalid_argument(std::string(name));
}

TEST(SampleFaults, AreNoneOfSoundSamples) {
  EXPECT_TRUE(sample_faults(PackageSamples(), dialect("pinned")).list.empty());
}

TEST(SampleFaults, CountWhatIsFarFromTheWindow) {
  PackageSamples samples;
  samples.malformed.outside = 2;
  samples.blank_rows = 1;
  samples.repeated = {1, 3};
  samples.first_fault = "row 3 after the header: a blank line";
  const PackageFaults faults = sample_faults(samples, dialect("current"));
  ASSERT_EQ(faults.list.size(), 2u);
  EXPECT_EQ(faults.list[0].text,
            "samples_csv_malformed in samples.csv (row 3 after the header: a blank line)");
  EXPECT_TRUE(faults.list[0].is_elsewhere);
  EXPECT_FALSE(faults.list[1].is_elsewhere);  // one is in the window
  EXPECT_EQ(faults.elsewhere, (std::map<std::string, std::uint64_t>{{"blank_sample_row", 1},
                                                                    {"malformed_sample_row", 2},
                                                                    {"duplicate_sample_row", 3}}));
}

TEST(SampleFaults, IncludeTheSameStampTwiceInThePinnedDialectOnly) {
  PackageSamples samples;
  samples.same_stamp.in_band = 1;
  EXPECT_EQ(sample_faults(samples, dialect("pinned")).list.size(), 1u);
  EXPECT_TRUE(sample_faults(samples, dialect("current")).list.empty());
}

}  // namespace sample_checks_test
}  // namespace aggregate_power
