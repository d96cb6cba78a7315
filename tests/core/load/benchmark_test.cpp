// A benchmark result to its window and its counts: contract.md A.3 and B.2.
#include "core/load/benchmark.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace benchmark_test {

using Codes = std::vector<std::string>;

LoadReading read(const std::string& text, LoadRules rules = LoadRules::schema_2) {
  MemorySource source(text);
  return read_benchmark(source, "run.json", rules);
}

// A result in which each member has its usual value, but for those given; an empty value leaves
// the member out.
std::string result_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::pair<std::string, std::string>> members = {
      {"date", "\"20260425-120000\""},
      {"benchmark_start_time_unix", "1777118400.5"},
      {"benchmark_end_time_unix", "1777118460.5"},
      {"duration", "60.0"},
      {"completed", "100"},
      {"total_input_tokens", "819200"},
      {"total_output_tokens", "102400"},
  };
  for (const auto& [key, value] : changes) {
    for (auto& member : members) {
      if (member.first == key) member.second = value;
    }
  }
  std::string text;
  for (const auto& [key, value] : members) {
    if (!value.empty()) text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, value);
  }
  return "{" + text + "}";
}

TEST(ReadBenchmark, ReadsTheWindowAndTheCounts) {
  for (const LoadRules rules : {LoadRules::schema_1, LoadRules::schema_2}) {
    const LoadReading reading = read(result_with({}), rules);
    ASSERT_TRUE(reading.load);
    EXPECT_EQ(reading.load->window.start_unix_s, 1777118400.5);
    EXPECT_EQ(reading.load->window.end_unix_s, 1777118460.5);
    EXPECT_EQ(reading.load->reported_duration_s, 60.0);
    EXPECT_EQ(reading.load->total_input_tokens, 819200);
    EXPECT_EQ(reading.load->total_output_tokens, 102400);
    EXPECT_TRUE(reading.reasons.empty());
  }
  EXPECT_EQ(read(result_with({})).load->completed, 100);
}

struct Case {
  std::string key;
  std::string value;
  Codes codes;
  std::string text;  // of the reasons
};

void expect(const Case& c, LoadRules rules, bool has_benchmark) {
  const LoadReading reading = read(result_with({{c.key, c.value}}), rules);
  const std::string what = c.key + ": " + c.value;
  EXPECT_EQ(reading.reasons.codes(), c.codes) << what;
  if (!c.text.empty()) {
    EXPECT_EQ(reading.reasons.text(), c.text) << what;
  }
  EXPECT_EQ(reading.load.has_value(), has_benchmark) << what;
}

TEST(ReadBenchmark, HasNoWindowWithoutThreeFiniteNumbers) {
  const Codes codes = {"invalid_benchmark_window"};
  const struct {
    std::string value;
    std::string detail;
  } values[] = {
      {"", "is missing or null"},
      {"null", "is missing or null"},
      {"\"1777118400\"", "is not a number"},
      {"[1]", "is not a number"},
      {"{}", "is not a number"},
      {"true", "is true"},
      {"false", "is false"},
      {"NaN", "is NaN"},
      {"Infinity", "is Infinity"},
      {"-Infinity", "is -Infinity"},
      {"1e400", "is 1e400"},
      {"1" + std::string(400, '0'), "is 1" + std::string(39, '0') + "..."},
  };
  for (const char* key : {"benchmark_start_time_unix", "benchmark_end_time_unix", "duration"}) {
    for (const auto& v : values) {
      expect(
          {key, v.value, codes, fmt::format("invalid_benchmark_window ('{}' {})", key, v.detail)},
          LoadRules::schema_2, false);
    }
  }
}

TEST(ReadBenchmark, HasNoWindowWhenItEndsBeforeItBegins) {
  const Codes codes = {"invalid_benchmark_window"};
  const Case cases[] = {
      {"benchmark_end_time_unix", "1777118400.5", codes,
       "invalid_benchmark_window (the end is not after the start)"},
      {"benchmark_end_time_unix", "1777118400", codes,
       "invalid_benchmark_window (the end is not after the start)"},
      {"duration", "0", codes, "invalid_benchmark_window ('duration' is 0)"},
      {"duration", "0.0", codes, "invalid_benchmark_window ('duration' is 0.0)"},
      {"duration", "-1", codes, "invalid_benchmark_window ('duration' is -1)"},
  };
  for (const Case& c : cases) expect(c, LoadRules::schema_2, false);
}

TEST(ReadBenchmark, NamesTheUnitOfTimesThatAreNotInSeconds) {
  const struct {
    std::vector<std::pair<std::string, std::string>> members;
    const char* text;
  } cases[] = {
      {{{"benchmark_start_time_unix", "1777118400500"}},
       "invalid_benchmark_window (the end is not after the start; 'benchmark_start_time_unix' is "
       "in milliseconds: divide by 1000)"},
      {{{"benchmark_start_time_unix", "1777118400500"},
        {"benchmark_end_time_unix", "1777118460500"},
        {"duration", "60"}},
       "benchmark_duration_mismatch (60.000 s reported, 60000.000 s between start and end; "
       "'benchmark_start_time_unix' is in milliseconds: divide by 1000)"},
      {{{"benchmark_end_time_unix", "1777118460500000"}, {"duration", "60"}},
       "benchmark_duration_mismatch (60.000 s reported, 1777116683381599.500 s between start and end; "
       "'benchmark_end_time_unix' is in microseconds: divide by 1000000)"},
      {{{"benchmark_end_time_unix", "1777118460.5"}, {"duration", "60000"}},
       "benchmark_duration_mismatch (60000.000 s reported, 60.000 s between start and end; "
       "'duration' is in milliseconds: divide by 1000)"},
  };
  for (const auto& c : cases) EXPECT_EQ(read(result_with(c.members)).reasons.text(), c.text);
}

TEST(ReadBenchmark, TakesNumbersAsPythonReadsThem) {
  const struct {
    const char* spelling;
    double value;
  } cases[] = {
      {"1777118400", 1777118400},
      {"1.7771184e9", 1777118400},
      {"1777118400.0000001", 1777118400.0000001},
      {"17771184000000000000000000e-16", 1777118400},
      {"0", 0},
      {"-5", -5},
      {"1e-400", 0},
  };
  for (const auto& c : cases) {
    const LoadReading reading = read(result_with({{"benchmark_start_time_unix", c.spelling}}));
    ASSERT_TRUE(reading.load) << c.spelling;
    EXPECT_EQ(reading.load->window.start_unix_s, c.value) << c.spelling;
  }
}

TEST(ReadBenchmark, ComparesTheReportedDurationWithTheWindow) {
  // The window lasts 60 s: at most 0.6 s apart. One of 10 s: at most 0.5 s.
  const struct {
    const char* end;
    const char* duration;
    const char* text;
  } cases[] = {
      {"1777118460.5", "60.59", ""},
      {"1777118460.5", "59.41", ""},
      {"1777118460.5", "60.7",
       "benchmark_duration_mismatch (60.700 s reported, 60.000 s between start and end)"},
      {"1777118460.5", "59.3",
       "benchmark_duration_mismatch (59.300 s reported, 60.000 s between start and end)"},
      {"1777118410.5", "10.5", ""},
      {"1777118410.5", "9.5", ""},
      {"1777118410.5", "10.75",
       "benchmark_duration_mismatch (10.750 s reported, 10.000 s between start and end)"},
  };
  for (const auto& c : cases) {
    const LoadReading reading =
        read(result_with({{"benchmark_end_time_unix", c.end}, {"duration", c.duration}}));
    EXPECT_EQ(reading.reasons.text(), c.text) << c.duration;
    ASSERT_TRUE(reading.load) << c.duration;
    EXPECT_EQ(reading.load->reported_duration_s, std::stod(c.duration));
  }
}

TEST(ReadBenchmark, CountsMustBeWholeNumbersAboveZero) {
  const struct {
    const char* key;
    const char* code;
  } counts[] = {{"completed", "invalid_successful_query_count"},
                {"total_input_tokens", "invalid_input_token_count"},
                {"total_output_tokens", "invalid_output_token_count"}};
  const struct {
    const char* value;
    const char* detail;
  } values[] = {
      {"", "is missing or null"},
      {"null", "is missing or null"},
      {"0", "is 0"},
      {"-5", "is -5"},
      {"5.0", "is 5.0"},
      {"5e0", "is 5e0"},
      {"true", "is true"},
      {"\"5\"", "is not a number"},
      {"[]", "is not a number"},
      {"NaN", "is NaN"},
      {"-0", "is -0"},
      {"99999999999999999999999", "is 99999999999999999999999"},
  };
  for (const auto& count : counts) {
    for (const auto& v : values) {
      const Case c = {count.key,
                      v.value,
                      {count.code},
                      fmt::format("{} ('{}' {})", count.code, count.key, v.detail)};
      expect(c, LoadRules::schema_2, true);
      const Load load = *read(result_with({{count.key, v.value}})).load;
      const std::string key = count.key;
      EXPECT_EQ(key == "completed"            ? load.completed
                : key == "total_input_tokens" ? load.total_input_tokens
                                              : load.total_output_tokens,
                0)
          << key << " " << v.value;
    }
  }
  EXPECT_EQ(read(result_with({{"completed", "9223372036854775807"}})).load->completed, INT64_MAX);
}

TEST(ReadBenchmark, GivesReasonsInTheContractsOrder) {
  const LoadReading reading = read(result_with({{"total_output_tokens", "0"},
                                                {"total_input_tokens", ""},
                                                {"completed", "true"},
                                                {"duration", "1"}}));
  EXPECT_EQ(reading.reasons.codes(),
            (Codes{"benchmark_duration_mismatch", "invalid_successful_query_count",
                   "invalid_input_token_count", "invalid_output_token_count"}));
  EXPECT_TRUE(reading.load);
}

// Contract.md A.3.
TEST(ReadBenchmark, FollowsTheOldRulesForSchema1) {
  const auto read_1 = [](const std::string& key, const std::string& value) {
    return read(result_with({{key, value}}), LoadRules::schema_1);
  };
  for (const char* value : {"", "0", "null", "\"x\"", "-1"}) {
    EXPECT_TRUE(read_1("completed", value).reasons.empty()) << "not looked at";
  }
  for (const char* value : {"", "null", "5.0", "\"5\"", "-5", "0", "false"}) {
    const LoadReading reading = read_1("total_input_tokens", value);
    EXPECT_TRUE(reading.reasons.empty()) << value;
    ASSERT_TRUE(reading.load) << value;
    EXPECT_EQ(reading.load->total_input_tokens, 0) << value;
  }
  EXPECT_EQ(read_1("total_input_tokens", "true").load->total_input_tokens, 1);
  for (const char* value : {"", "null", "1000.0", "0", "-1", "false", "\"5\""}) {
    const LoadReading reading = read_1("total_output_tokens", value);
    EXPECT_EQ(reading.reasons.codes(), Codes{"invalid_output_token_count"}) << value;
    EXPECT_FALSE(reading.load) << value;
  }
  EXPECT_EQ(read_1("total_output_tokens", "true").load->total_output_tokens, 1);
  EXPECT_TRUE(read_1("duration", "1").reasons.empty()) << "not compared with the window";
  EXPECT_EQ(read_1("duration", "true").load->reported_duration_s, 1);
  EXPECT_EQ(read_1("benchmark_start_time_unix", "true").load->window.start_unix_s, 1);
  EXPECT_EQ(read_1("benchmark_start_time_unix", "false").load->window.start_unix_s, 0);
  // Part 0 row 2: windows that are none are refused, as in schema 2.
  for (const char* value : {"NaN", "Infinity", "null", "", "\"1\""}) {
    for (const char* key : {"benchmark_start_time_unix", "benchmark_end_time_unix", "duration"}) {
      EXPECT_EQ(read_1(key, value).reasons.codes(), Codes{"invalid_benchmark_window"})
          << key << " " << value;
    }
  }
}

// A result with 60 of its requests completed, and `members` after the usual ones.
LoadReading sixty_with(const std::string& members, const std::string& completed = "60") {
  std::string text = result_with({{"completed", completed}, {"total_output_tokens", "6000"}});
  text.back() = ',';
  return read(text + members + "}");
}

std::string list_of(std::size_t count, const std::string& item, std::size_t others,
                    const std::string& other) {
  std::string text;
  for (std::size_t i = 0; i < count + others; ++i) {
    text += (i == 0 ? "" : ", ") + (i < count ? item : other);
  }
  return "[" + text + "]";
}

TEST(ReadBenchmark, FindsFailedRequestsByAnyName) {
  const std::string no_text = "\"\"";
  for (const std::string& members :
       {std::string(R"("num_prompts": "100")"), std::string(R"("num_prompts": 100.0)"),
        std::string(R"("failed": "40")"), std::string(R"("num_failed": 40)"),
        std::string(R"("failed_requests": 40.0)"), std::string(R"("num_failed_requests": 40)"),
        std::string(R"("error_count": 40)"), std::string(R"("errors": 40)"),
        std::string(R"("timeouts": 25, "aborted": 15)"),
        std::string(R"("failed": 40, "timeouts": 25)"), std::string(R"("num_aborted": 40)"),
        std::string(R"("results_number_errors": 40)"), std::string(R"("total_requests": 100)"),
        std::string(R"("requests": {"total": 100, "completed": 60})"),
        std::string(R"("request_counts": {"failed": 40})"),
        "\"errors\": " + list_of(60, no_text, 40, "\"refused\""),
        "\"errors\": " + list_of(2000 * 60, no_text, 40, "\"refused\""),
        "\"errors\": " + list_of(60, "null", 40, "\"refused\""),
        "\"outcomes\": " + list_of(60, "\"success\"", 40, "\"timeout\"")}) {
    const LoadReading reading = sixty_with(members);
    EXPECT_EQ(reading.failed_requests, 40u) << members.substr(0, 60);
    EXPECT_NE(reading.failure.find("40 of 100 requests failed"), std::string::npos)
        << members.substr(0, 60) << ": " << reading.failure;
  }
}

TEST(ReadBenchmark, FindsFailedRequestsByARate) {
  for (const char* const members :
       {R"("success_rate": 0.6)", R"("success_rate": 60)", R"("success_rate": "60%")",
        R"("success_rate": 94.9)", R"("error_rate": 0.4)", R"("error_rate": 40.0)",
        R"("failure_rate": "5.1 %")", R"("error_rate": 0.051)"}) {
    EXPECT_NE(sixty_with(members).failure, "") << members;
  }
  for (const char* const members :
       {R"("success_rate": 1)", R"("success_rate": 1.0)", R"("success_rate": 0.95)",
        R"("success_rate": 95)", R"("success_rate": 100)", R"("error_rate": 0)",
        R"("error_rate": 0.05)", R"("error_rate": 1)", R"("error_rate": 5)",
        R"("failure_rate": "5%")", R"("success_rate": "high")", R"("error_rate": -1)"}) {
    EXPECT_EQ(sixty_with(members).failure, "") << members;
  }
}

TEST(ReadBenchmark, TakesNoOtherCountForFailedRequests) {
  for (const std::string& members :
       {std::string(R"("failed": 0, "errors": [], "num_prompts": 60)"),
        std::string(R"("failed": 3, "num_prompts": 63)"), std::string(R"("num_prompts": 63)"),
        std::string(R"("total_requests": 66, "num_warmups": 6)"),
        std::string(R"("requests": [{"failed": 40}])"), std::string(R"("failed": null)"),
        std::string(R"("failed": true, "errors": {}, "timeouts": "none")"),
        "\"errors\": " + list_of(60, "\"\"", 3, "\"refused\""),
        "\"outcomes\": " + list_of(60, "\"OK\"", 0, "")}) {
    const LoadReading reading = sixty_with(members);
    EXPECT_EQ(reading.failure, "") << members.substr(0, 60);
    EXPECT_TRUE(reading.load) << members.substr(0, 60);
    EXPECT_TRUE(reading.notes.empty()) << members.substr(0, 60);
  }
}

TEST(ReadBenchmark, NamesTotalsThatContradictEachOther) {
  const struct {
    std::string members;
    const char* note;  // 60 s, 60 requests, 819200 tokens in and 6000 out
  } cases[] = {
      {R"("output_throughput": 50.0)",
       "'output_throughput' times 'duration' is 3000 output tokens, 'total_output_tokens' 6000"},
      {R"("total_token_throughput": 27506.7)",
       "'total_token_throughput' times 'duration' is 1650402 tokens, 'total_input_tokens and "
       "total_output_tokens' 825200"},
      {R"("request_throughput": 0.5)",
       "'request_throughput' times 'duration' is 30 requests, 'completed' 60"},
      {R"("num_prompts": 50)", "60 requests completed, 'num_prompts' is 50"},
      {"\"output_lens\": " + list_of(60, "50", 0, ""),
       "'output_lens' have 3000 tokens together, 'total_output_tokens' is 6000"},
      {"\"output_lens\": " + list_of(30, "200", 30, "0"),
       "30 of 60 requests in 'output_lens' have a token, 'completed' is 60"},
      {R"("total_output_tokens_retokenized": 18000)",
       "'total_output_tokens' is 6000, and 'total_output_tokens_retokenized' is 18000: the energy "
       "per output token is of 'total_output_tokens'"},
      {R"("total_output_tokens_retokenized": 4000)",
       "'total_output_tokens' is 6000, and 'total_output_tokens_retokenized' is 4000: the energy "
       "per output token is of 'total_output_tokens'"},
  };
  for (const auto& c : cases) {
    const LoadReading reading = sixty_with(c.members);
    EXPECT_EQ(reading.notes, Codes{std::string("the result contradicts itself: ") + c.note});
    EXPECT_EQ(reading.failure, "") << c.note;
    EXPECT_TRUE(reading.load) << c.note;
  }
  // Rounded, without the first tokens, or of a few: no contradiction.
  for (const std::string& members :
       {std::string(R"("output_throughput": 97, "request_throughput": 1.0)"),
        std::string(R"("request_throughput": 1)"), std::string(R"("output_throughput": "fast")"),
        std::string(R"("total_token_throughput": 13753.3, "input_throughput": 13653.33)"),
        "\"output_lens\": " + list_of(60, "100", 2, "0")}) {
    EXPECT_TRUE(sixty_with(members).notes.empty()) << members.substr(0, 60);
  }
  EXPECT_TRUE(sixty_with(R"("request_throughput": 0.03)", "2").notes.empty());
}

TEST(ReadBenchmark, NotesAPlanThatWasNotFinished) {
  EXPECT_EQ(sixty_with(R"("num_requests": 100)").notes,
            Codes{"'num_requests' is 100, and 60 requests completed: if the others were sent, they "
                  "drew power too"});
  EXPECT_TRUE(sixty_with(R"("n_requests": 60)").notes.empty());
}

TEST(ReadBenchmark, SaysWhereAFileIsNoJson) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"[1, 2]",
       "invalid_benchmark_result (run.json: a list of 2, where one JSON object is expected: write "
       "the one that counts into a file of its own)"},
      {" [] ", "invalid_benchmark_result (run.json: expected a JSON object)"},
      {"5", "invalid_benchmark_result (run.json: expected a JSON object)"},
      {"null", "invalid_benchmark_result (run.json: expected a JSON object)"},
  };
  for (const auto& c : cases) {
    for (const LoadRules rules : {LoadRules::schema_1, LoadRules::schema_2}) {
      EXPECT_EQ(read(c.text, rules).reasons.text(), c.reason) << c.text;
      EXPECT_FALSE(read(c.text, rules).load);
    }
  }
  for (const char* text : {"", " ", "{", "{\"duration\": 1,}", "{} x", "\xEF\xBB\xBF{}",
                           "{\"a\": \"\xFF\"}", "{'a': 1}", "{\"a\": 01}"}) {
    const LoadReading reading = read(text);
    EXPECT_EQ(reading.reasons.codes(), Codes{"invalid_benchmark_result"}) << text;
    // Where: the file's line and column.
    EXPECT_TRUE(reading.reasons.text().starts_with("invalid_benchmark_result (run.json:1:"))
        << reading.reasons.text();
  }
}

TEST(ReadBenchmark, TheLastOfTheSameKeyCounts) {
  const LoadReading reading = read(
      "{\"duration\": \"x\", \"benchmark_start_time_unix\": 1, \"benchmark_end_time_unix\": 3, "
      "\"completed\": 1, \"total_input_tokens\": 1, \"total_output_tokens\": 1, \"duration\": 2, "
      "\"complet\\u0065d\": 7}");
  ASSERT_TRUE(reading.load);
  EXPECT_EQ(reading.load->reported_duration_s, 2);
  EXPECT_EQ(reading.load->completed, 7);
}

TEST(ReadBenchmark, LooksOnlyAtTheOutermostMembers) {
  EXPECT_EQ(read("{\"result\": " + result_with({}) + "}").reasons.codes(),
            Codes{"invalid_benchmark_window"});
}

TEST(ReadBenchmark, ReadsAHugeResultInPieces) {
  std::string text = result_with({});
  text.pop_back();
  text += ", \"itls\": [";
  for (int i = 0; i < 200000; ++i) text += i == 0 ? "[0.0125]" : ", [0.0125, 0.5]";
  text += "], \"generated_texts\": [\"" + std::string(3000000, 'x') + "\"]}";
  test::StutterSource source(text, 5003);
  const LoadReading reading = read_benchmark(source, "run.json", LoadRules::schema_2);
  EXPECT_TRUE(reading.reasons.empty()) << reading.reasons.text();
  ASSERT_TRUE(reading.load);
  EXPECT_EQ(reading.load->completed, 100);
}

}  // namespace benchmark_test
}  // namespace aggregate_power
