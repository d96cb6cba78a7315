// Waiting for a file lock that someone else holds.
#include "base/files/lock.h"

#include <sys/sysmacros.h>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace lock_wait_test {

// As Linux writes it. 8:1 is sda1, 253:16 (fd:10) a volume.
constexpr std::string_view kLocks =
    "1: POSIX  ADVISORY  WRITE 11 08:01:500 0 EOF\n"
    "2: FLOCK  ADVISORY  WRITE 12 08:01:501 0 EOF\n"
    "2: -> FLOCK  ADVISORY  WRITE 13 08:01:501 0 EOF\n"
    "3: FLOCK  ADVISORY  READ  14 fd:10:500 0 EOF\n"
    "4: FLOCK  ADVISORY  WRITE -1 08:01:502 0 EOF\n"
    "5: FLOCK  ADVISORY  WRITE 0 08:01:503 0 EOF\n";

TEST(LockHolder, IsTheProcessThatHasTheFile) {
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 1), 501), 12);
  EXPECT_EQ(lock_holder(kLocks, makedev(0xfd, 0x10), 500), 14);
}

TEST(LockHolder, IsNotOneOfAnotherKindOfLockOrFile) {
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 1), 500), std::nullopt);
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 2), 501), std::nullopt);
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 1), 50), std::nullopt);
  EXPECT_EQ(lock_holder("", makedev(8, 1), 501), std::nullopt);
}

TEST(LockHolder, IsNothingWhenItCannotBeSeenFromHere) {
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 1), 502), std::nullopt);
  EXPECT_EQ(lock_holder(kLocks, makedev(8, 1), 503), std::nullopt);
}

TEST(LockWaitText, NamesTheHolderWhereItIsKnown) {
  EXPECT_EQ(lock_wait_text("agg.json", 1234), "waiting for agg.json, locked by process 1234");
  EXPECT_EQ(lock_wait_text("agg.json", std::nullopt),
            "waiting for agg.json, locked by another process");
}

TEST(LockTimeout, NamesTheFileTheHolderAndTheTime) {
  EXPECT_STREQ(LockTimeout("agg.json", 1234, 60).what(),
               "agg.json: still locked by process 1234 after 60 s");
  EXPECT_STREQ(LockTimeout("agg.json", std::nullopt, 0.5).what(),
               "agg.json: still locked by another process after 0.5 s");
}

}  // namespace lock_wait_test
}  // namespace aggregate_power
