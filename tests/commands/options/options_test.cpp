// What is declared is what is parsed, and wrong use is named.
#include "commands/options/options.h"

#include <gtest/gtest.h>

#include "aggregate_power/error.h"

namespace aggregate_power {
namespace options_test {

using Words = std::vector<std::string>;

// Returns what wrong use is said to be; empty if there is none.
std::string fault(Options& options, const Words& words) {
  try {
    options.parse(words);
    return {};
  } catch (const UsageError& error) {
    return error.what();
  }
}

struct Wanted {
  std::string file;
  std::string path;
  int jobs = 1;
  double gap_s = 3;
  bool force = false;
  std::vector<std::string> hosts;
};

Options options_of(Wanted& wanted) {
  Options options;
  options.positional("FILE", into(wanted.file), "Read this").required();
  options.value("--path", "FILE", into_path(wanted.path), "A path").check(not_empty());
  options.value("--jobs", "N", into(wanted.jobs), "At a time").check(whole_number_between(1, 8));
  options.value("--gap", "SECONDS", into(wanted.gap_s), "Gap").check(number_between(0.5, 10));
  options.flag("--force", wanted.force, "Do it");
  options.list("--host", "HOST", into(wanted.hosts), "A host").excludes("--path");
  return options;
}

TEST(OptionsTest, StoreWhatIsGiven) {
  Wanted wanted;
  Options options = options_of(wanted);
  options.parse({"--jobs", "2", "a.csv", "--path", "./b//c", "--gap", "0.5", "--force"});
  EXPECT_EQ(wanted.file, "a.csv");
  EXPECT_EQ(wanted.path, "b/c");
  EXPECT_EQ(wanted.jobs, 2);
  EXPECT_EQ(wanted.gap_s, 0.5);
  EXPECT_TRUE(wanted.force);
  EXPECT_TRUE(options.is_given("--path"));
  EXPECT_EQ(options.text("--path"), "./b//c");
  EXPECT_FALSE(options.is_given("--host"));
}

TEST(OptionsTest, KeepDefaultsWhereNothingIsGiven) {
  Wanted wanted;
  options_of(wanted).parse({"a.csv"});
  EXPECT_EQ(wanted.jobs, 1);
  EXPECT_EQ(wanted.gap_s, 3);
  EXPECT_FALSE(wanted.force);
}

TEST(OptionsTest, TakeTheLastOfARepeatedOptionAndAllOfAList) {
  Wanted wanted;
  options_of(wanted).parse({"a", "--jobs", "2", "--host", "x", "--jobs", "3", "--host", "y"});
  EXPECT_EQ(wanted.jobs, 3);
  EXPECT_EQ(wanted.hosts, (Words{"x", "y"}));
}

TEST(OptionsTest, NameWrongUse) {
  const std::pair<Words, const char*> cases[] = {
      {{}, "FILE is required"},
      {{"a", "b"}, "The following argument was not expected: b"},
      {{"a", "--jobs", "0"}, "--jobs: expected a whole number from 1 to 8, got '0'"},
      {{"a", "--jobs", "9"}, "--jobs: expected a whole number from 1 to 8, got '9'"},
      {{"a", "--jobs", "-1"}, "--jobs: expected a whole number from 1 to 8, got '-1'"},
      {{"a", "--jobs", "2x"}, "--jobs: expected a whole number from 1 to 8, got '2x'"},
      {{"a", "--gap", "nan"}, "--gap: expected a number from 0.5 to 10, got 'nan'"},
      {{"a", "--gap", "11"}, "--gap: expected a number from 0.5 to 10, got '11'"},
      {{"a", "--path", ""}, "--path: expected a name, got ''"},
      {{"a", "--path", "p", "--host", "h"}, "--path excludes --host"},  // the first declared
  };
  for (const auto& [words, message] : cases) {
    Wanted wanted;
    Options options = options_of(wanted);
    EXPECT_EQ(fault(options, words), message);
  }
}

TEST(OptionsTest, CheckEveryOccurrenceThoughTheLastCounts) {
  Wanted wanted;
  Options options = options_of(wanted);
  EXPECT_EQ(fault(options, {"a", "--jobs", "9", "--jobs", "2"}),
            "--jobs: expected a whole number from 1 to 8, got '9'");
}

TEST(OptionsTest, WantWhatAnOptionNeeds) {
  std::string a;
  std::string b;
  Options options;
  options.value("--a", "A", into(a), "A").needs("--b");
  options.value("--b", "B", into(b), "B");
  EXPECT_EQ(fault(options, {"--a", "1"}), "--a requires --b");
  EXPECT_EQ(fault(options, {"--a", "1", "--b", "2"}), "");
}

TEST(OptionsTest, TakeOneOfTheWordsAndOfferThem) {
  std::string unit;
  Options options;
  options.value("--unit", "UNIT", into(unit), "Unit").one_of({"mW", "W", "kW"});
  EXPECT_EQ(fault(options, {"--unit", "MW"}), "--unit: expected mW, W or kW, got 'MW'");
  EXPECT_EQ(options.at("--unit").words, (Words{"mW", "W", "kW"}));
}

TEST(OptionsTest, TakeLateValuesOnlyWhenAsked) {
  std::string taken;
  Options options;
  const auto take = [&](const std::string& text) {
    if (text == "bad") throw Error("bad zone");
    taken = text;
    return true;
  };
  options.value("--zone", "ZONE", take, "Zone").late();
  EXPECT_EQ(fault(options, {"--zone", "bad"}), "");
  EXPECT_THROW(options.take_late_values(), Error);
  EXPECT_EQ(fault(options, {"--zone", "bad", "--zone", "UTC"}), "");
  EXPECT_EQ(taken, "");
  options.take_late_values();
  EXPECT_EQ(taken, "UTC");
}

TEST(OptionsTest, AreQuietWhenAsked) {
  for (const char* name : {"-q", "--quiet"}) {
    Wanted wanted;
    Options options = options_of(wanted);
    options.parse({"a.csv"});
    EXPECT_FALSE(options.is_quiet());
    options.parse({"a.csv", name});
    EXPECT_TRUE(options.is_quiet());
  }
}

TEST(OptionsTest, AskForHelpAndVersionBeforeWhatIsMissing) {
  Wanted wanted;
  Options options = options_of(wanted);
  EXPECT_EQ(options.parse({"--help"}), Options::Outcome::help);
  EXPECT_EQ(options.parse({"-h"}), Options::Outcome::help);
  EXPECT_EQ(options.parse({"--version"}), Options::Outcome::version);
  EXPECT_EQ(options.parse({"-V"}), Options::Outcome::version);
}

}  // namespace options_test
}  // namespace aggregate_power
