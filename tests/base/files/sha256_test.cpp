// SHA-256 against the examples of FIPS 180-2 and `sha256sum`.
#include "base/files/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace {

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.hex();
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The end of the message needs a block of its own from 56 bytes on.
TEST(Sha256, HasNoSeamAtTheEdgesOfBlocks) {
  for (const std::size_t size : {55, 56, 63, 64, 65, 119, 120, 128}) {
    const std::string text(size, 'x');
    Sha256 pieces;
    for (const char c : text) pieces.add({&c, 1});
    EXPECT_EQ(pieces.hex(), sha256(text)) << size;
    pieces.hex();  // changes nothing
    pieces.add("y");
    EXPECT_EQ(pieces.hex(), sha256(text + "y")) << size;
  }
  // sha256sum
  EXPECT_EQ(sha256(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

}  // namespace
}  // namespace aggregate_power
