#include "base/files/hash.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace sha256_test {

// FIPS 180-2, appendix B.
TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const std::string million(1000000, 'a');
  MemorySource source(million);
  EXPECT_EQ(sha256_of(source), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, KnowsWhatADigestLooksLike) {
  EXPECT_TRUE(is_sha256(std::string(64, 'a')));
  EXPECT_FALSE(is_sha256(std::string(64, 'A')));
  EXPECT_FALSE(is_sha256(std::string(63, '0')));
  EXPECT_FALSE(is_sha256("ABC"));
}

}  // namespace sha256_test
}  // namespace aggregate_power
