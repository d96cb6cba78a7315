// Hashes: the values are those that xxhsum -H2 and -H3 of xxHash 0.8.1 print.
#include "base/files/hash.h"
#include "test_util.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace hash_test {

TEST(ContentHash, IsThatOfTheXxhsumProgram) {
  ContentHash hash;
  EXPECT_EQ(hash.hex(), "99aa06d3014798d86001c324468d497f");
  hash.add("aggregate");
  hash.add("-power\n");
  EXPECT_EQ(hash.hex(), "1e7515061be865e94e05d8437a9eeb93");
  EXPECT_EQ(hash.bytes(), 16U);
}

TEST(ContentHash, IsTakenOnTheWay) {
  ContentHash hash;
  HashingSource source(std::make_unique<MemorySource>("aggregate-power\n"), hash);
  EXPECT_EQ(read_all(source), "aggregate-power\n");
  EXPECT_EQ(hash.hex(), "1e7515061be865e94e05d8437a9eeb93");
}

TEST(TextHash, IsThatOfTheXxhsumProgram) {
  EXPECT_EQ(text_hash("aggregate-power\n"), 0xc1a54e2eeb60603bULL);
}

}  // namespace hash_test
}  // namespace aggregate_power
