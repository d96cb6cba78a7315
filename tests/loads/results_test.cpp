// Parts of reading results: the head, the values, the selection, requests in flight.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/load/result_values.h"
#include "generators/benchmark_choice.h"
#include "generators/generator_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace results_test {

// ---- The head

TEST(ResultHead, KnowsThePathsOfKeys) {
  const ResultHead head = result_head(R"({"a": 1, "b": {"c": [{"d": "e"}]}, "f": ["g"]})");
  for (const char* const path : {"a", "b", "b.c", "b.c[].d", "f"})
    EXPECT_TRUE(head.has(path)) << path;
  for (const char* const path : {"c", "e", "g", "f[]", "d"}) EXPECT_FALSE(head.has(path)) << path;
  EXPECT_TRUE(result_head(R"([{"a": 1}])").has("[].a"));
}

TEST(ResultHead, TextsAreNoKeys) {
  const ResultHead head =
      result_head(R"({"a": "\"b\": {\"c\": 1}", "d": "x:", "e" : [1, "f", ": "]})");
  EXPECT_EQ(head.keys, (std::set<std::string, std::less<>>{"a", "d", "e"}));
}

TEST(ResultHead, MayBreakOffAnywhere) {
  const std::string text = R"({"a": {"b\\": [1, {"c": "d\""}]}, "e": "f"})";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const ResultHead head = result_head(std::string_view(text).substr(0, size));
    EXPECT_LE(head.keys.size(), 4U);
  }
  EXPECT_EQ(result_head("]]}}{{{,,,::\"\"\\").keys.size(), 0U);
  EXPECT_EQ(result_head(std::string(100000, '[')).keys.size(), 0U);
}

// ---- Values

TEST(NumberOf, TakesNumbersHoweverTheyAreSpelled) {
  EXPECT_EQ(number_of(JsonKind::integer, "-5"), -5);
  EXPECT_EQ(number_of(JsonKind::real, "1.5e3"), 1500);
  EXPECT_EQ(number_of(JsonKind::string, "59.8"), 59.8);
  for (const char* const text :
       {"", " 5", "5 ", "5s", "inf", "nan", "NaN", "1e999", "0x10", "5,5"}) {
    EXPECT_TRUE(std::isnan(number_of(JsonKind::string, text))) << text;
  }
  EXPECT_TRUE(std::isnan(number_of(JsonKind::real, "NaN")));
  EXPECT_TRUE(std::isnan(number_of(JsonKind::real, "-Infinity")));
  EXPECT_TRUE(std::isnan(number_of(JsonKind::boolean, "true")));
  EXPECT_TRUE(std::isnan(number_of(JsonKind::null, "null")));
}

TEST(NumberOf, TakesIntegersOfNineteenDigits) {
  // Doubles around 2^60 are 256 apart; 7,000,000 x 256 = 1,792,000,000.
  EXPECT_EQ(number_of(JsonKind::integer, "1152921504606846976"), 0x1p60);
  EXPECT_EQ(number_of(JsonKind::integer, "1152921506398846976"), 0x1p60 + 7e6 * 256);
  EXPECT_EQ(number_of(JsonKind::integer, "1152921504606847103"), 0x1p60);        // 127 above
  EXPECT_EQ(number_of(JsonKind::integer, "1152921504606847105"), 0x1p60 + 256);  // 129 above
  EXPECT_EQ(number_of(JsonKind::integer, "9223372036854775808"), 0x1p63);
  EXPECT_EQ(number_of(JsonKind::integer, "9999999999999999999"), 1e19);
  EXPECT_EQ(number_of(JsonKind::integer, "1000000000000000000"), 1e18);
  EXPECT_EQ(number_of(JsonKind::integer, "-115292150460684697"), -115292150460684697.0);
  EXPECT_EQ(number_of(JsonKind::integer, "-1152921504606846976"), -0x1p60);
}

TEST(WholeCount, IsACountOrNothing) {
  EXPECT_EQ(whole_count(0), 0);
  EXPECT_EQ(whole_count(2.5), 3);
  EXPECT_EQ(whole_count(9e15), 9'000'000'000'000'000);
  for (const double value : {-1.0, -0.6, 1e16, 1e300, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(whole_count(value), std::nullopt) << value;
  }
}

TEST(ResultValues, KeepsTheLastOfEach) {
  constexpr std::string_view kPaths[] = {"a", "b[]", "c"};
  ResultValues values(kPaths);
  EXPECT_FALSE(values.has("a"));
  EXPECT_FALSE(values.has("unknown"));
  values.set(0, JsonKind::integer, "5");
  values.set(0, JsonKind::real, "6.0");
  EXPECT_EQ(values.count("a"), 6);
  values.set(0, JsonKind::real, "6.5");
  EXPECT_EQ(values.number("a"), 6.5);
  EXPECT_EQ(values.count("a"), std::nullopt);
  values.set(0, JsonKind::object, "");
  EXPECT_EQ(values.number("a"), std::nullopt);
  EXPECT_EQ(values.kind("a"), JsonKind::object);
  values.append(1, JsonKind::integer, "1");
  values.append(1, JsonKind::null, "null");
  values.append(1, JsonKind::string, "error");
  values.append(1, JsonKind::string, "");
  const auto list = values.list("b[]");
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[0], 1);
  EXPECT_TRUE(std::isnan(list[1]));
  EXPECT_EQ(list[2], 1);
  EXPECT_EQ(list[3], 0);
  values.clear();
  EXPECT_TRUE(values.list("b[]").empty());
  EXPECT_FALSE(values.has("a"));
}

// ---- Selection

std::vector<LoadReading> rates(const std::vector<std::string>& texts) {
  std::vector<LoadReading> loads;
  for (const std::string& text : texts) {
    loads.emplace_back().settings = {{"config.rate", text}, {"model", "m"}};
  }
  return loads;
}

TEST(Selection, SelectsByNumberPlaceAndSetting) {
  const auto numbers = [](const std::string& selection) {
    return select_loads(rates({"1.0", "4.0", "4", "inf"}), selection).numbers;
  };
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(numbers("1"), Numbers{1});
  EXPECT_EQ(numbers("4"), Numbers{4});
  EXPECT_EQ(numbers("last"), Numbers{4});
  EXPECT_EQ(numbers("all"), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(numbers("rate=4"), (Numbers{2, 3}));
  EXPECT_EQ(numbers("config.rate=1"), Numbers{1});
  EXPECT_EQ(numbers("rate=inf"), Numbers{4});
  for (const char* const selection :
       {"5", "rate=2", "ate=4", "fig.rate=4", "rate=", "model=x", "x=m"}) {
    EXPECT_EQ(numbers(selection), Numbers()) << selection;
    EXPECT_NE(select_loads(rates({"1.0"}), selection).fault.find("1: rate=1.0 model=m"),
              std::string::npos)
        << selection;
  }
}

TEST(Selection, WithoutAChoiceThereMustBeOne) {
  EXPECT_EQ(select_loads(rates({"1"}), "").numbers, (std::vector<std::size_t>{1}));
  const SelectedLoads several = select_loads(rates({"1", "2"}), "");
  EXPECT_TRUE(several.loads.empty());
  EXPECT_NE(several.fault.find("1: rate=1 model=m; 2: rate=2 model=m"), std::string::npos);
}

TEST(Selection, ListsAtMostTwenty) {
  const std::string fault = select_loads(rates(std::vector<std::string>(23, "1")), "").fault;
  EXPECT_NE(fault.find("20: rate=1"), std::string::npos);
  EXPECT_EQ(fault.find("21: rate=1"), std::string::npos);
  EXPECT_NE(fault.find("and 3 more"), std::string::npos);
}

TEST(Selection, HasFourForms) {
  for (const char* const text : {"1", "20", "last", "all", "a=b", "a=", "a=b=c"}) {
    EXPECT_TRUE(is_selection(text)) << text;
  }
  for (const char* const text : {"", "0", "-1", "1.5", "first", "=", "=b"}) {
    EXPECT_FALSE(is_selection(text)) << text;
  }
}

// ---- Requests in flight

RequestTimes request(double start_s, double end_s) { return {.start_s = start_s, .end_s = end_s}; }

TEST(PeakInFlight, CountsTheMostAtOnce) {
  PeakInFlight peak;
  EXPECT_EQ(peak.peak(), 0U);
  peak.take(request(5, 9));
  peak.take(request(0, 4));
  peak.take(request(3, 6));
  peak.take(request(4, 5));  // begins when another ends
  EXPECT_EQ(peak.requests(), 4U);
  EXPECT_EQ(peak.peak(), 2U);
  peak.take(request(5.5, 5.6));
  EXPECT_EQ(peak.peak(), 3U);
  peak.take({});
  peak.take(request(9, 2));
  EXPECT_EQ(peak.requests(), 5U);
}

// ---- Formats

LoadFiles result_of(const std::string& text) {
  return {.name = "r", .open = [&text] { return std::make_unique<MemorySource>(text); }};
}

TEST(ReadLoads, SaysWhichOfSeveralABenchmarkIs) {
  const std::string line =
      R"({"backend": "x", "dataset_name": "d", "sharegpt_output_len": null, "duration": 5,)"
      R"( "total_output_tokens_retokenized": 1, "completed": 1})";
  const std::string two = line + "\n" + line;
  const auto loads = read_loads(result_of(two));
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_FALSE(loads[0].is_last);
  EXPECT_TRUE(loads[1].is_last);
  EXPECT_FALSE(loads[1].is_only);
  const auto one = read_loads(result_of(line));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_TRUE(one[0].is_last && one[0].is_only);
}

TEST(ReadLoads, ClearsTheValuesBetweenBenchmarks) {
  const std::string text =
      R"({"metadata": {"guidellm_version": "1"}, "benchmarks": [)"
      R"({"start_time": 1000, "end_time": 1010, "metrics": {"request_totals": {"successful": 3},)"
      R"( "output_token_count": {"successful": {"total_sum": 7}}}}, {"start_time": 1020}]})";
  const auto loads = read_loads(result_of(text));
  ASSERT_EQ(loads.size(), 2U);
  ASSERT_TRUE(loads[0].load);
  EXPECT_EQ(loads[0].load->completed, 3);
  EXPECT_FALSE(loads[1].load);
  EXPECT_EQ(loads[1].work.completed, 0);
  EXPECT_EQ(loads[1].work.total_output_tokens, 0);
}

TEST(ReadLoads, ABadWindowKeepsTheCountsForAGivenOne) {
  const std::string text =
      R"({"benchmark_start_time_unix": 5, "duration": 10, "completed": 3, "total_input_tokens": 0})";
  const auto loads = read_loads(result_of(text));
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0].reasons.codes(), (std::vector<std::string>{"invalid_benchmark_window"}));
  EXPECT_EQ(loads[0].work.completed, 3);
  EXPECT_EQ(loads[0].work.reported_duration_s, 10);
  EXPECT_EQ(loads[0].count_faults.codes(),
            (std::vector<std::string>{"invalid_input_token_count", "invalid_output_token_count"}));
}

}  // namespace results_test
}  // namespace aggregate_power
