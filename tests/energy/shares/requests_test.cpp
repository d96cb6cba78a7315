// How power is shared among requests.
#include "energy/shares/requests.h"

#include <gtest/gtest.h>

#include <numeric>

#include "truth/random.h"

namespace aggregate_power {
namespace request_energy_test {

double total_of(const SharedEnergy& energy) {
  return std::accumulate(energy.joules.begin(), energy.joules.end(), energy.unattributed_j);
}

// 100 W for ten seconds.
const FleetPower kSteady({{0, 100}, {10, 100}});

TEST(ShareEnergy, GivesBothHalfWhileTheyOverlap) {
  const SharingRequest requests[] = {{{1, 5}}, {{3, 8}}};
  const SharedEnergy energy = share_energy(kSteady, requests);
  EXPECT_DOUBLE_EQ(energy.joules[0], 200 + 100);  // alone from 1 to 3, half of 200 J until 5
  EXPECT_DOUBLE_EQ(energy.joules[1], 100 + 300);
  EXPECT_DOUBLE_EQ(energy.unattributed_j, 100 + 200);
}

TEST(ShareEnergy, FollowsAPowerThatChanges) {
  const FleetPower power({{0, 100}, {2, 300}, {4, 300}});
  const SharingRequest requests[] = {{{0, 1}}, {{0, 4}}};
  const SharedEnergy energy = share_energy(power, requests);
  EXPECT_DOUBLE_EQ(energy.joules[0], 75);  // half of 150 J
  EXPECT_DOUBLE_EQ(energy.joules[1], 75 + 250 + 600);
  EXPECT_EQ(energy.unattributed_j, 0);
}

TEST(ShareEnergy, TakesOnlyWhatIsInTheWindow) {
  const SharingRequest requests[] = {{{-5, 2}}, {{8, 90}}, {{-9, -8}}, {{10, 12}}, {{4, 4}}};
  const SharedEnergy energy = share_energy(kSteady, requests);
  EXPECT_EQ(energy.joules, (std::vector<double>{200, 200, 0, 0, 0}));
  EXPECT_EQ(energy.unattributed_j, 600);
}

TEST(ShareEnergy, SharesByWeightsThatChangeWithTheFirstToken) {
  // Prefill 300 W, decode 100 W: from 2 to 4 a prefill beside a decode.
  const SharingRequest requests[] = {{{0, 4}, 1, 300, 100}, {{2, 6}, 4, 300, 100}};
  const SharedEnergy energy = share_energy(kSteady, requests);
  EXPECT_DOUBLE_EQ(energy.joules[0], 200 + 50);
  EXPECT_DOUBLE_EQ(energy.joules[1], 150 + 200);
  EXPECT_DOUBLE_EQ(energy.unattributed_j, 400);
}

TEST(ShareEnergy, IsEqualWhereNoRequestHasAWeight) {
  const SharingRequest requests[] = {{{0, 4}, 9, 0, 0}, {{2, 6}, 9, 0, 0}, {{3, 4}, 9, 5, 5}};
  const SharedEnergy energy = share_energy(kSteady, requests);
  EXPECT_DOUBLE_EQ(energy.joules[0], 200 + 50);
  EXPECT_DOUBLE_EQ(energy.joules[1], 50 + 200);
  EXPECT_DOUBLE_EQ(energy.joules[2], 100);
}

TEST(ShareEnergy, LeavesAllUnattributedWithoutRequests) {
  EXPECT_DOUBLE_EQ(share_energy(kSteady, {}).unattributed_j, 1000);
}

// Whatever the weights are, nothing is lost and nothing is made up.
TEST(ShareEnergy, ConservesEnergy) {
  truth::Random random(1);
  for (int run = 0; run < 200; ++run) {
    std::vector<Sample> knots = {{1788852000, random.uniform(0, 900)}};
    double joules = 0;
    while (knots.size() < 300) {
      const Sample next = {knots.back().unix_s + random.exponential(0.3), random.uniform(0, 900)};
      joules += (next.unix_s - knots.back().unix_s) * (next.watts + knots.back().watts) / 2;
      knots.push_back(next);
    }
    const double length_s = knots.back().unix_s - knots.front().unix_s;
    std::vector<SharingRequest> requests;
    const double size = random.uniform(0, 12);
    while (requests.size() < 500) {
      const double start_s = knots.front().unix_s + random.uniform(-0.1, 1) * length_s;
      const auto weight = [&] {
        return random.chance(0.1) ? 0 : std::pow(10.0, random.uniform(-size, size));
      };
      const double end_s = start_s + random.exponential(run % 2 == 0 ? 5 : 0.02);
      requests.push_back({{start_s, end_s}, random.uniform(start_s, end_s), weight(), weight()});
    }
    const SharedEnergy energy = share_energy(FleetPower(std::move(knots)), requests);
    EXPECT_NEAR(total_of(energy) / joules, 1, 1e-10) << run;
    for (const double each : energy.joules) EXPECT_GE(each, -1e-9 * joules);
  }
}

}  // namespace request_energy_test
}  // namespace aggregate_power
