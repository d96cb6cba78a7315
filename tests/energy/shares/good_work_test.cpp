// Objectives and their percentages, by hand.
#include "energy/shares/good_work.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/record/request_json.h"

namespace aggregate_power {
namespace good_work_test {

constexpr double kNever = std::numeric_limits<double>::infinity();
using enum shares::RequestOutcome;

RequestTimes request(double e2e_s) { return {.stated_e2e_s = e2e_s}; }

// Of requests that all count and are good, unless it is said otherwise.
shares::LatencyQuantile quantile_of_e2e(const char* slo, const std::vector<RequestTimes>& requests,
                                        std::vector<shares::RequestOutcome> outcomes = {}) {
  outcomes.resize(requests.size(), good);
  return shares::latency_quantiles(requests, outcomes, shares::parse_slo(slo)).front();
}

TEST(QuantileShare, IsThatOfTheLimit) {
  EXPECT_DOUBLE_EQ(shares::quantile_share({.share = 0.9}), 0.9);
  EXPECT_DOUBLE_EQ(shares::quantile_share({.share = 0.5}), 0.5);
  EXPECT_DOUBLE_EQ(shares::quantile_share({.share = 0.999}), 0.999);
  EXPECT_DOUBLE_EQ(shares::quantile_share({.share = 1}),
                   0.99);  // the slowest of all is one request
  EXPECT_DOUBLE_EQ(shares::quantile_share({}), 0.99);
  EXPECT_DOUBLE_EQ(shares::quantile_share({.share = std::nan("")}), 0.99);
}

// 1 to 100 s: the 90th, and 1.96 sqrt(100 x 0.9 x 0.1) = 5.88 ranks to either side.
TEST(LatencyQuantiles, AreOrderStatistics) {
  std::vector<RequestTimes> requests;
  for (int i = 100; i > 0; --i) requests.push_back(request(i));
  const auto p90 = quantile_of_e2e("p90:e2e=1s", requests);
  EXPECT_DOUBLE_EQ(p90.seconds, 90);
  EXPECT_DOUBLE_EQ(p90.bounds.low, 84);   // floor(84.12)
  EXPECT_DOUBLE_EQ(p90.bounds.high, 97);  // ceil(95.88) + 1
  EXPECT_DOUBLE_EQ(quantile_of_e2e("e2e=1s", requests).seconds, 99);
}

TEST(LatencyQuantiles, AreNotKnownOfNoneAndHardlyOfOne) {
  EXPECT_EQ(quantile_of_e2e("p90:e2e=1s", {}).seconds, kNever);
  EXPECT_EQ(quantile_of_e2e("p90:e2e=1s", {request(3)}, {not_counted}).seconds, kNever);
  const auto one = quantile_of_e2e("p90:e2e=1s", {request(3)});
  EXPECT_DOUBLE_EQ(one.seconds, 3);
  EXPECT_DOUBLE_EQ(one.bounds.low, 0);
  EXPECT_EQ(one.bounds.high, kNever);
}

// The 9th of ten requests counts, and eight ended.
TEST(LatencyQuantiles, NeverEndForRequestsThatFailedOrSayNothing) {
  std::vector<RequestTimes> requests;
  for (int i = 1; i <= 8; ++i) requests.push_back(request(i));
  requests.push_back(request(0.1));
  requests.push_back(request(0.2));
  EXPECT_DOUBLE_EQ(quantile_of_e2e("p90:e2e=1s", requests).seconds, 7);
  EXPECT_EQ(quantile_of_e2e("p90:e2e=1s", requests,
                            {good, good, good, good, good, good, good, good, failed, failed})
                .seconds,
            kNever);
  requests[8] = {};  // NaN
  requests[9] = request(std::nan(""));
  EXPECT_EQ(quantile_of_e2e("p90:e2e=1s", requests).seconds, kNever);
  EXPECT_DOUBLE_EQ(quantile_of_e2e("p80:e2e=1s", requests).seconds, 8);
}

struct Kept {
  const char* slo;
  std::size_t requests;
  std::vector<std::size_t> kept;
  bool holds;
};

TEST(AllHold, ComparesEachLimitWithItsShare) {
  const Kept kCases[] = {
      {"p70:ttft=1s", 10, {7}, true},
      {"p71:ttft=1s", 10, {7}, false},
      {"ttft=1s", 10, {10}, true},
      {"ttft=1s", 10, {9}, false},
      {"p90:ttft=1s,e2e=9s", 10, {9, 10}, true},
      {"p90:ttft=1s,e2e=9s", 10, {9, 9}, false},
      {"p90:ttft=1s,e2e=9s", 10, {8, 10}, false},
      {"p50:ttft=1s", 1, {1}, true},
      {"p50:ttft=1s", 1, {0}, false},
      {"p33.3:ttft=1s", 3, {1}, true},
      {"p99.9:ttft=1s", 1000, {999}, true},
      {"p99.9:ttft=1s", 1000, {998}, false},
      {"ttft=1s", 0, {0}, false},  // of no request nothing is known
  };
  for (const Kept& one : kCases) {
    GoodWork work;
    work.slo = shares::parse_slo(one.slo);
    work.requests = one.requests;
    work.kept = one.kept;
    EXPECT_EQ(work.holds(), one.holds) << one.slo << " of " << one.requests;
  }
  EXPECT_TRUE(GoodWork().holds());  // nothing is asked
}

// Without good work joules are infinite, not missing.
TEST(GoodNumbers, AreInfiniteWithoutGoodWork) {
  GoodWork work;
  work.requests = 4;
  work.late = 4;
  work.duration_s = 10;
  work.energy_j = 500;
  work.output_tokens = 0;
  for (const auto& [key, value] : good_numbers(work)) {
    EXPECT_EQ(value, key.starts_with("joules_") ? kNever : 0) << key;
  }
  EXPECT_EQ(good_numbers(work).size(), 5U);
  work.good = 2;
  work.output_tokens.reset();
  EXPECT_EQ(good_numbers(work).size(), 3U);  // attainment, goodput, 250 J a request
  EXPECT_EQ(good_numbers(work).back().second, 250);
}

TEST(WilsonInterval, IsThatOfTheHelpPage) {
  const Interval share = shares::wilson_interval(731, 1000);
  EXPECT_NEAR(share.low, 0.70267, 1e-5);
  EXPECT_NEAR(share.high, 0.757562, 1e-5);
  EXPECT_DOUBLE_EQ(shares::wilson_interval(0, 0).high, 1);
}

}  // namespace good_work_test
}  // namespace aggregate_power
