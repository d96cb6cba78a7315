// Shares of requests in a window; each number by hand.
#include "generators/request_file.h"

#include <gtest/gtest.h>

namespace aggregate_power {
namespace requests_in_window_test {

// 100 tokens in, 200 out.
RequestTimes request(double start_s, double first_s, double end_s) {
  return {.start_s = start_s,
          .first_token_s = first_s,
          .end_s = end_s,
          .input_tokens = 100,
          .output_tokens = 200};
}

RequestTally tally(std::initializer_list<RequestTimes> requests) {
  RequestTally all;
  for (const RequestTimes& one : requests) all.take(one);
  return all;
}

constexpr Window kWindow{100, 200};

TEST(WorkIn, IsThatOfTheWindow) {
  // A half of the input and all of the output; all of the input and a quarter of the output; none.
  const RequestTally requests =
      tally({request(90, 110, 150), request(150, 190, 230), request(0, 10, 100 - 1)});
  const auto work = work_in(requests, 3, kWindow);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->completed, 1);
  EXPECT_EQ(work->input_tokens, 50 + 100);
  EXPECT_EQ(work->output_tokens, 200 + 50);
  EXPECT_FALSE(work->is_approximate);
  EXPECT_TRUE(reach_beyond(requests, kWindow));
}

TEST(WorkIn, IsScaledWhereTheListIsASample) {
  const RequestTally requests = tally({request(120, 130, 140), request(150, 160, 240)});
  const auto work = work_in(requests, 6, kWindow);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->completed, 3);
  EXPECT_EQ(work->output_tokens, 3 * (200 + 100));
  EXPECT_TRUE(work->is_approximate);
}

TEST(WorkIn, IsAbsentWithoutTimesOrTokens) {
  EXPECT_FALSE(work_in(tally({}), 0, kWindow));
  EXPECT_FALSE(work_in(tally({request(0, 10, 20)}), 1, kWindow));  // none in the window
  RequestTimes without = request(120, 130, 140);
  without.output_tokens = -1;
  EXPECT_FALSE(work_in(tally({without}), 1, kWindow));
  EXPECT_FALSE(work_in(tally({{.input_tokens = 1, .output_tokens = 1}}), 1, kWindow));
}

TEST(WorkIn, TakesTheWholeOfARequestWithoutAFirstToken) {
  const auto work = work_in(tally({request(150, RequestTimes::kUnknown, 250)}), 1, kWindow);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->input_tokens, 100);
  EXPECT_EQ(work->output_tokens, 100);
  EXPECT_EQ(work->completed, 0);
}

TEST(ReachBeyond, IsFalseForRequestsInside) {
  EXPECT_FALSE(reach_beyond(tally({request(100, 101, 200), request(150, 150, 150)}), kWindow));
}

TEST(SeenRequests, KnowsAnIdWithItsTimes) {
  SeenRequests seen;
  const auto is_repeated = [&](std::string_view id, double start_s, double end_s) {
    return seen.is_repeated(id, {.start_s = start_s, .end_s = end_s});
  };
  EXPECT_FALSE(is_repeated("a", 1, 2));
  EXPECT_TRUE(is_repeated("a", 1, 2));
  EXPECT_FALSE(is_repeated("a", 1, 3));
  EXPECT_FALSE(is_repeated("b", 1, 2));
  for (const bool is_again : {false, true}) {
    EXPECT_FALSE(is_repeated("", 1, 2));
    EXPECT_FALSE(is_repeated("", 1.001, 2.5));
    EXPECT_EQ(is_repeated("", 1788852030.123456, 1788852031.654321), is_again);
  }
}

// `copies` of requests that follow one another at whole seconds; the tokens of the last copy.
bool is_doubtful(int requests, int copies, std::int64_t last_tokens = 8) {
  SeenRequests seen;
  for (int copy = 0; copy < copies; ++copy) {
    for (int i = 0; i < requests; ++i) {
      const std::int64_t tokens = copy + 1 == copies ? last_tokens : 8;
      EXPECT_FALSE(seen.is_repeated(
          "", {.start_s = 1.0 * i, .end_s = i + 1.0, .input_tokens = 8, .output_tokens = tokens}));
    }
  }
  return !seen.doubt().empty();
}

TEST(SeenRequests, DoubtsAListWhoseRequestsAllComeTwice) {
  EXPECT_FALSE(is_doubtful(20, 1));
  EXPECT_TRUE(is_doubtful(20, 2));
  EXPECT_TRUE(is_doubtful(20, 3));
  EXPECT_FALSE(is_doubtful(20, 8));  // batches
  EXPECT_FALSE(is_doubtful(4, 2));   // too few
  EXPECT_FALSE(is_doubtful(20, 2, 9));
}

}  // namespace requests_in_window_test
}  // namespace aggregate_power
