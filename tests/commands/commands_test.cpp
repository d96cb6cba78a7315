// The table of commands, against what each command has.
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "commands/help_pages/page_roff.h"
#include "commands/options/completion.h"

namespace aggregate_power {
namespace commands_test {

TEST(CommandsTest, AreFoundByName) {
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command("bogus"), nullptr);
  ASSERT_NE(find_command("backfill"), nullptr);
  EXPECT_EQ(make_command(*find_command("backfill")).name, "aggregate-power backfill");
}

TEST(CommandsTest, FitOnOneScreen) {
  const std::string text = overview();
  EXPECT_LE(std::ranges::count(text, '\n'), 30);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 70) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(CommandsTest, AreSortedByName) { EXPECT_TRUE(std::ranges::is_sorted(command_names())); }

TEST(CommandsTest, SayAllThatTheirHelpShows) {
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(command.usage.starts_with(command.name + " ")) << command.usage;
    EXPECT_FALSE(command.sentence.empty()) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_FALSE(command.exit_statuses.empty()) << command.name;
    EXPECT_TRUE(command.run) << command.name;
    EXPECT_LE(command.common.size(), 12) << command.name;
    for (const std::string& name : command.common) {
      EXPECT_TRUE(std::ranges::count(command.options.all(), name, &Option::long_name)) << name;
    }
  }
}

TEST(CommandsTest, HaveEachOptionOnceAndNameOnlyThoseThatTheyHave) {
  for (const Command& command : all_commands()) {
    std::set<std::string> names;
    for (const Option& option : command.options.all()) {
      EXPECT_TRUE(names.insert(option.name).second) << command.name << ' ' << option.name;
      EXPECT_FALSE(option.help.empty()) << command.name << ' ' << option.name;
    }
    std::vector<std::string> named = command.first_choice;
    for (const Option& option : command.options.all()) {
      named.insert(named.end(), option.excluded.begin(), option.excluded.end());
      named.insert(named.end(), option.needed.begin(), option.needed.end());
    }
    for (const std::string& name : named) {
      EXPECT_TRUE(names.contains(name)) << command.name << ' ' << name;
    }
  }
}

TEST(CommandsTest, AreInTheOverviewTheManualAndTheCompletion) {
  for (const CommandRow& row : command_rows()) {
    const std::string name(row.name);
    EXPECT_NE(overview().find(" " + name + " "), std::string::npos) << name;
    EXPECT_NE(man_page().find(".SS aggregate\\-power " + name + "\n"), std::string::npos) << name;
    EXPECT_NE(bash_completion().find("    " + name + ":*) options="), std::string::npos) << name;
  }
}

}  // namespace commands_test
}  // namespace aggregate_power
