// What a windows file says; expected values are those of its text.
#include "generators/windows_file.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace windows_file_test {

constexpr Window kRecorded{1788852000, 1788852100};

using Found = std::vector<std::pair<std::string, std::pair<double, double>>>;

Found read(const std::string& text, std::optional<Zone> zone = {}) {
  Found found;
  for (const NamedWindow& one : read_windows(text, "w.txt", {kRecorded, std::move(zone)})) {
    found.push_back({one.name, {one.window.start_unix_s, one.window.end_unix_s}});
  }
  return found;
}

std::string fault(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(WindowsFile, HasLinesInTheOrderOfTheirBegins) {
  const Found wanted{{"a b", {1788852010, 1788852020}},
                     {"x", {1788852011, 1788852013}},
                     {"x", {1788852012, 1788852012.5}}};
  EXPECT_EQ(
      read("# a comment\n\nbegin a b 1788852010\r\n\tbegin  x 1788852011\nbegin x 1788852012\n"
           "end x 1788852012.5\nend x 1788852013\nend a b 1788852020"),
      wanted);
}

TEST(WindowsFile, HasWindowsThatOverlapByName) {
  const Found wanted{{"a", {1788852010, 1788852012}}, {"b", {1788852011, 1788852013}}};
  EXPECT_EQ(read("begin a +10\nbegin b +11\nend a +12\nend b +13\n"), wanted);
}

TEST(WindowsFile, ReadsEachFormOfTime) {
  const std::pair<const char*, double> kTimes[] = {{"1788852010", 1788852010},
                                                   {"1788852010.25", 1788852010.25},
                                                   {"1788852010250", 1788852010.25},
                                                   {"1788852010250000", 1788852010.25},
                                                   {"1788852010250000000", 1788852010.25},
                                                   {"2026-09-08T07:20:10Z", 1788852010},
                                                   {"2026-09-08T09:20:10.25+02:00", 1788852010.25},
                                                   {"+0", 1788852000},
                                                   {"+12.5", 1788852012.5},
                                                   {"-60", 1788852040},
                                                   {"-0", 1788852100}};
  for (const auto& [text, unix_s] : kTimes) {
    const Found found = read("begin a " + std::string(text) + "\nend a 1788852100\n");
    EXPECT_DOUBLE_EQ(found[0].second.first, unix_s) << text;
  }
  const Found found = read("begin a 2026-09-08T09:20:10.5\nend a -0\n", Zone::parse("+02:00"));
  EXPECT_DOUBLE_EQ(found[0].second.first, 1788852010.5);
}

TEST(WindowsFile, SaysWhereLinesAreUnbalanced) {
  const std::pair<const char*, const char*> kCases[] = {
      {"begin a +1\n\nend b +2\n", "w.txt:3: 'b' ends here and has not begun"},
      {"begin a +1\nend a +2\nend a +3\n", "w.txt:3: 'a' ends here and has not begun"},
      {"begin b +1\nbegin a +1\nend b +2\n", "w.txt:2: 'a' begins here and never ends"},
      {"begin b +1\nbegin a +1\nbegin a +2\nend a +3\n",
       "w.txt:1: 'b' begins here and never ends (nor do 1 others)"},
      {"begin a +5\nend a +4.5\n", "w.txt:2: 'a' ends 0.5 s before it begins on line 1"},
      {"begin a\n", "w.txt:1: expected 'begin NAME TIME' or 'end NAME TIME', got 'begin a'"},
      {"begin\n", "w.txt:1: expected 'begin NAME TIME' or 'end NAME TIME', got 'begin'"},
      {"begin a +1\nstop a +2\n",
       "w.txt:2: expected 'begin NAME TIME' or 'end NAME TIME', got 'stop a +2'"},
      {"begin a 12.5\n",
       "w.txt:1: 12.5 is not Unix time, which is above 1e8: write +12.5 if it counts from the "
       "recording's start; times of a monotonic clock do not say when"},
      {"begin a 2026-09-08T07:20:10\n",
       "w.txt:1: '2026-09-08T07:20:10' has no offset from UTC: write one, or Z, or name the zone "
       "with --timezone"},
      {"begin a soon\n",
       "w.txt:1: 'soon' is not a time: expected Unix time, ISO 8601 without blanks, +SECONDS after "
       "the recording's start or -SECONDS before its end"},
      {"begin a nan\n",
       "w.txt:1: 'nan' is not a time: expected Unix time, ISO 8601 without blanks, +SECONDS after "
       "the recording's start or -SECONDS before its end"}};
  for (const auto& [text, wanted] : kCases) EXPECT_EQ(fault(text), wanted) << text;
}

TEST(WindowsFile, ReadsACsv) {
  const Found wanted{{"a, \"b\"", {1788852010, 1788852020}}, {"c", {1788852030, 1788852030}}};
  EXPECT_EQ(read("# made by hand\nEnd,rows,Name,start\n1788852020,7,\"a, \"\"b\"\"\",+10\n\n"
                 "# more\n-70,,c,1788852030\n"),
            wanted);
  EXPECT_EQ(fault("name,start,end\na,+1,+2\nb,+2,+1\n"), "w.txt:3: 'b' ends 1 s before it begins");
  EXPECT_EQ(fault("name,start,end\na,+1\n"),
            "w.txt:2: the row has 2 cells, too few for its columns");
  EXPECT_EQ(fault("name,start,end\n,+1,+2\n"), "w.txt:2: the window has no name");
  EXPECT_EQ(fault("name,start,end\n# a,\"b\nc,+1,+2\n"), "w.txt:2: the comment opens a quote");
  EXPECT_EQ(fault("name,begin,end\na,+1,+2\n").substr(0, 40),
            "w.txt:1: expected lines 'begin NAME TIME");
}

TEST(WindowsFile, ReadsTheCsvOfZeus) {
  const std::string head = "start_time,window_name,elapsed_time,gpu0_energy\n";
  const Found wanted{{"epoch 1", {1788852010.5, 1788852030.75}}};
  EXPECT_EQ(read(head + "1788852010.5,epoch 1,20.25,1000.0\n"), wanted);
  EXPECT_EQ(fault(head + "13586624.12,__Global_300,33.27,3991.39\n"),
            "w.txt:2: start_time 13586624.12 is of the machine's monotonic clock, as some versions "
            "of Zeus write it: it does not say when the window was; log begins and ends in Unix "
            "time");
  EXPECT_EQ(fault(head + "1788852010.5,a,-1,0\n"), "w.txt:2: 'a' ends 1 s before it begins");
}

TEST(WindowsFile, ReadsJson) {
  const Found wanted{{"a", {1788852010, 1788852020}}, {"b", {1788852012.5, 1788852097}}};
  EXPECT_EQ(read(R"([{"name": "a", "start": 1788852010, "end": "2026-09-08T07:20:20Z", "x": [1]},
                     {"end": -3, "start": "+12.5", "name": "b"}])"),
            wanted);
  EXPECT_EQ(fault(R"([{"name": "a", "start": "+1", "end": "+2"}, {"name": "b", "start": "+1"}])"),
            "w.txt: window 2: expected end: a time");
  EXPECT_EQ(fault(R"([{"name": 5, "start": "+1", "end": "+2"}])"),
            "w.txt: window 1: expected name: a text");
  EXPECT_EQ(fault("[5]"), "w.txt: window 1: expected an object with name, start and end");
  EXPECT_EQ(fault("[{]").substr(0, 10), "w.txt:1:3:");
  EXPECT_EQ(read("{\"name\": \"a\", \"start\": 1788852010, \"end\": \"2026-09-08T07:20:20Z\"}\n"
                 "{\"end\": -3, \"start\": \"+12.5\", \"name\": \"b\"}\n"),
            wanted);
  EXPECT_EQ(fault("{}"), "w.txt: window 1: expected name: a text");
}

TEST(WindowsFile, HasAtLeastOneWindow) {
  for (const char* text : {"", "\n\n", "# nothing\n", "[]", "name,start,end\n"}) {
    EXPECT_EQ(fault(text).substr(0, 26), "w.txt: it has no window: e") << text;
  }
}

}  // namespace windows_file_test
}  // namespace aggregate_power
