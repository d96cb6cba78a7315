// What part of the fleet's energy failed requests had.
#include "energy/shares/requests.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace request_share_test {

// 100 W rising to 300 W over two seconds, then flat for two more: 400 J and 600 J.
const FleetPower kPower({{0, 100}, {2, 300}, {4, 300}});

TEST(FailedShare, IsNothingWithoutFailedRequests) {
  FailedShare share;
  EXPECT_EQ(share.energy_j(kPower), 0);
  share.add({0, 4}, false);
  EXPECT_EQ(share.energy_j(kPower), 0);
}

TEST(FailedShare, IsAllOfItWhereNoOtherRequestIsInFlight) {
  FailedShare share;
  share.add({1, 3}, true);
  EXPECT_DOUBLE_EQ(share.energy_j(kPower), 250 * 1 + 300 * 1);
}

TEST(FailedShare, IsSharedEquallyByTheRequestsInFlight) {
  FailedShare share;
  share.add({2, 4}, true);
  share.add({3, 5}, true);
  share.add({0, 4}, false);
  // From 2 to 3 one of two, from 3 to 4 two of three.
  EXPECT_DOUBLE_EQ(share.energy_j(kPower), 300.0 / 2 + 300.0 * 2 / 3);
}

TEST(FailedShare, EndsWithTheWindow) {
  FailedShare share;
  share.add({-10, 10}, true);
  share.add({-20, -15}, true);
  EXPECT_DOUBLE_EQ(share.energy_j(kPower), 1000);
}

TEST(FailedShare, TakesRequestsOfNoLength) {
  FailedShare share;
  share.add({1, 1}, true);
  share.add({1, 1}, false);
  share.add({0, 4}, false);
  EXPECT_EQ(share.energy_j(kPower), 0);
}

}  // namespace request_share_test
}  // namespace aggregate_power
