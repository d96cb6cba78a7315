// An AIPerf profile to its window and its counts: contract.md D.
#include "generators/aiperf.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "test_util.h"

namespace aggregate_power {
namespace aiperf_test {

std::string line_of(int input_tokens, int output_tokens, const std::string& error = "null") {
  return fmt::format(
      R"({{"metadata": {{"benchmark_phase": "profiling", "request_start_ns": 1500000000,)"
      R"( "request_end_ns": 2000000000}}, "metrics": {{"input_sequence_length": {{"value": {}}},)"
      R"( "output_sequence_length": {{"value": {}}}}}, "error": {}}})",
      input_tokens, output_tokens, error);
}

std::vector<ProfileRecord> records_of(const std::string& text, std::size_t piece = 1 << 16) {
  test::StutterSource source(text, piece);
  std::vector<ProfileRecord> records;
  read_profile_records({source, "p.jsonl"},
                       [&](const ProfileRecord& record) { records.push_back(record); });
  return records;
}

// A request from and to so many seconds, and one that does not say when it was.
std::string timed(double start_s, double end_s) {
  return fmt::format(
      R"({{"metadata": {{"request_start_ns": {:.0f}, "request_end_ns": {:.0f}}}, "metrics": )"
      R"({{"input_sequence_length": 1, "output_sequence_length": 1}}}})",
      start_s * 1e9, end_s * 1e9);
}
const std::string kUntimed =
    R"({"metrics": {"input_sequence_length": 1, "output_sequence_length": 1}})";

ProfileZone no_zone() {
  ProfileZone none;
  none.fault.add(Reason::profile_timezone_offset_missing, "offset.txt");
  return none;
}

LoadReading read(const std::string& summary, const std::string& records,
                 const ProfileZone& zone = {}) {
  MemorySource summary_source(summary);
  MemorySource records_source(records);
  return read_profile({summary_source, "p.json"}, {records_source, "p.jsonl"}, zone);
}

TEST(ReadProfileRecords, TellsWhatBecameOfEachRequest) {
  const auto records = records_of(line_of(100, 50) + "\n" + line_of(1, 2, R"({"code": 499})"));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].is_profiling);
  EXPECT_FALSE(records[0].failed);
  EXPECT_EQ(records[0].input_tokens, 100);
  EXPECT_EQ(records[0].output_tokens, 50);
  ASSERT_TRUE(records[0].in_flight);
  EXPECT_EQ(records[0].in_flight->start_unix_s, 1.5);
  EXPECT_EQ(records[0].in_flight->end_unix_s, 2.0);
  EXPECT_TRUE(records[1].failed);
  EXPECT_EQ(records[1].input_tokens, std::nullopt);
}

TEST(ReadProfileRecords, ReadsLinesAcrossPieces) {
  const std::string text = "\r\n" + line_of(1, 2) + "\n \n" + line_of(3, 4) + "\r" + line_of(5, 6);
  for (const std::size_t piece : {1, 2, 3, 7, 64, 1000}) {
    const auto records = records_of(text, piece);
    ASSERT_EQ(records.size(), 3u) << piece;
    EXPECT_EQ(records[2].output_tokens, 6) << piece;
  }
}

TEST(ReadProfileRecords, SaysWhereALineIsWrong) {
  const std::pair<std::string, std::string> kCases[] = {
      {"[]", "p.jsonl:2: expected a JSON object"},
      {"{\"metadata\": []}", "p.jsonl:2: 'metadata' is not an object"},
      {"{} {}", "p.jsonl:2:4: expected nothing more after the value"},
  };
  for (const auto& [line, message] : kCases) {
    try {
      records_of(line_of(1, 2) + "\n" + line + "\n");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message);
    }
  }
}

TEST(ReadProfileRecords, RefusesALineWithoutEnd) {
  const std::string name = "p.jsonl";
  class Endless : public ByteSource {
   public:
    std::size_t read(std::span<char> into) override {
      std::ranges::fill(into, '[');
      return into.size();
    }
  } source;
  try {
    read_profile_records({source, name}, [](const ProfileRecord&) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "p.jsonl:1: a record of more than 64 MiB");
  }
}

TEST(ReadProfile, GivesTheWindowAndTheCountsOfSuccesses) {
  const LoadReading reading =
      read(R"({"start_time": "1970-01-02T00:00:00Z", "end_time": 86403.5})",
           line_of(100, 50) + "\n" + line_of(200, 100) + "\n" + line_of(7, 7, "\"timeout\""));
  EXPECT_EQ(reading.reasons.text(), "");
  ASSERT_TRUE(reading.load);
  EXPECT_EQ(reading.load->window.start_unix_s, 86400);
  EXPECT_EQ(reading.load->reported_duration_s, 3.5);
  EXPECT_EQ(reading.load->completed, 2);
  EXPECT_EQ(reading.load->total_input_tokens, 300);
  EXPECT_EQ(reading.load->total_output_tokens, 150);
  EXPECT_EQ(reading.failed_requests, 1u);
  EXPECT_EQ(benchmark_text(*reading.load),
            "{\n  \"benchmark_start_time_unix\": 86400.0,\n"
            "  \"benchmark_end_time_unix\": 86403.5,\n  \"duration\": 3.5,\n"
            "  \"completed\": 2,\n  \"total_input_tokens\": 300,\n"
            "  \"total_output_tokens\": 150\n}");
}

TEST(ReadProfile, NeedsAZoneForTimesWithoutAnOffsetOnly) {
  const std::string naive = R"({"start_time": "1970-01-02T00:00:00", "end_time": "1970-01-02T01"})";
  const std::string aware = R"({"start_time": 0, "end_time": "1970-01-02T00:00:00+00:00"})";
  EXPECT_EQ(read(naive, kUntimed, no_zone()).reasons.text(),
            "profile_timezone_offset_missing (offset.txt)");
  EXPECT_TRUE(read(aware, line_of(1, 1), no_zone()).reasons.empty());
  const LoadReading berlin = read(naive, kUntimed, {Zone::fixed(3600), {}});
  EXPECT_EQ(berlin.load->window.start_unix_s, 82800);
}

// The window is from 02:00:00 to 02:00:10 by some clock; a request may be a minute beside it.
TEST(ReadProfile, TakesTheOnlyZoneInWhichTheRequestsAreInTheWindow) {
  const auto start_for = [](double first_s, double last_s, const ProfileZone& zone) {
    const LoadReading reading =
        read(R"({"start_time": "1970-01-02T02:00:00", "end_time": "1970-01-02T02:00:10"})",
             timed(first_s, first_s) + "\n" + timed(last_s, last_s), zone);
    return reading.load ? fmt::format("{}", reading.load->window.start_unix_s)
                        : reading.reasons.codes()[0];
  };
  constexpr double kDay = 86400;
  EXPECT_EQ(start_for(kDay, kDay + 10, no_zone()), "86400");                     // +02:00
  EXPECT_EQ(start_for(kDay + 900, kDay + 905, no_zone()), "87300");              // +01:45
  EXPECT_EQ(start_for(kDay + 7200 + 43200, kDay + 50405, no_zone()), "136800");  // -12:00
  EXPECT_EQ(start_for(kDay + 7200 - 50400, kDay - 43195, no_zone()), "43200");   // +14:00
  EXPECT_EQ(start_for(kDay - 60, kDay + 70, no_zone()), "86400");
  EXPECT_EQ(start_for(kDay - 60.5, kDay + 10, no_zone()), "profile_window_invalid");
  EXPECT_EQ(start_for(kDay, kDay + 70.5, no_zone()), "profile_window_invalid");
  EXPECT_EQ(start_for(kDay, kDay + 10, {Zone::parse("Europe/Kyiv"), {}}),
            "profile_timezone_offset_invalid");  // was 3 h east then
  EXPECT_EQ(start_for(kDay - 3600, kDay - 3590, {Zone::parse("Europe/Kyiv"), {}}), "82800");
}

TEST(ReadProfile, NeedsAStatedZoneWhereTheRequestsFitSeveral) {
  // With a minute on either side, another quarter hour fits from 13 minutes and 5 s on.
  const auto reading = [](const char* end, const ProfileZone& zone) {
    return read(fmt::format(R"({{"start_time": "1970-01-02T02:00:00", "end_time": "{}"}})", end),
                timed(86405, 86405), zone);
  };
  EXPECT_EQ(reading("1970-01-02T02:13:00", no_zone()).load->window.start_unix_s, 86400);
  EXPECT_EQ(
      reading("1970-01-02T02:15:00", no_zone()).reasons.text(),
      "profile_timezone_offset_missing (offset.txt; the requests, from 86405.000 to 86405.000, are between start_time and end_time under +02:00, +02:15)");
  EXPECT_EQ(reading("1970-01-02T02:15:00", {Zone::fixed(7200), {}, "x"}).load->window.start_unix_s,
            86400);
}

// Python takes any character between a date and its time, half a surrogate pair too, and none
// around them.
TEST(ReadProfile, ReadsStampsWithHalfASurrogatePairAsPythonDoes) {
  const auto reasons = [](const char* start) {
    return read(fmt::format(R"({{"start_time": "{}", "end_time": 86403.5}})", start), line_of(1, 1))
        .reasons.codes();
  };
  EXPECT_EQ(reasons(R"(1970-01-02\ud80000:00:00Z)"), std::vector<std::string>{});
  const std::vector<std::string> invalid = {"profile_window_invalid"};
  EXPECT_EQ(reasons(R"(\ud8001970-01-02T00:00:00Z)"), invalid);
  EXPECT_EQ(reasons(R"(1970-01-02T00:00:00Z\udc00)"), invalid);
}

TEST(ReadProfile, NamesTheFirstFaultAlone) {
  const std::string good = R"({"start_time": 1, "end_time": 2})";
  const std::pair<std::pair<std::string, std::string>, std::string> kCases[] = {
      {{"", "rubbish"},
       "profile_artifacts_invalid (p.json:1:1: expected a value, but the text ends)"},
      {{"{}", ""}, "profile_window_missing ('start_time' is missing or null)"},
      {{R"({"start_time": 2, "end_time": 1})", ""},
       "profile_window_invalid (the end is not after the start)"},
      {{good, ""}, "successful_request_count_invalid (0 failed)"},
      {{good, line_of(1, -1)}, "incomplete_token_accounting (1 of 1 successful requests)"},
      {{good, line_of(0, 1)}, "incomplete_token_accounting (all inputs are empty)"},
  };
  for (const auto& [texts, message] : kCases) {
    EXPECT_EQ(read(texts.first, texts.second).reasons.text(), message);
  }
}

TEST(CapturedZone, IsWhatDateWrites) {
  const std::pair<std::string, std::optional<std::int32_t>> kCases[] = {
      {"+0900", 32400},
      {"-08:00\n", -28800},
      {" +0530 ", 19800},
      {"-2359", -86340},
      {"+2400", {}},
      {"+0060", {}},
      {"0900", {}},
      {"+09", {}},
      {"+09:000", {}},
      {"UTC", {}},
      {"", {}},
      {"+09-00", {}},
      {"\u00a0+0100", 3600},
      {"+a100", {}},
      {"+\u0660\u0661\u0660\u0660", 3600},
  };
  for (const auto& [text, offset_s] : kCases) {
    const std::optional<Zone> zone = captured_zone(text);
    ASSERT_EQ(zone.has_value(), offset_s.has_value()) << text;
    if (!zone) continue;
    EXPECT_EQ(zone->offset_at(0), *offset_s) << text;
  }
}

}  // namespace aiperf_test
}  // namespace aggregate_power
