// The table of commands, against what each command has.
#include "commands/commands.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "commands/completion.h"
#include "commands/manual.h"

namespace aggregate_power {
namespace commands_test {

TEST(CommandsTest, AreFoundByNameButForTheProgramItself) {
  EXPECT_EQ(command_rows().front().name, "");
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command("bogus"), nullptr);
  ASSERT_NE(find_command("backfill"), nullptr);
  EXPECT_EQ(make_command(*find_command("backfill")).name, "aggregate-power backfill");
}

TEST(CommandsTest, AreSortedByName) { EXPECT_TRUE(std::ranges::is_sorted(command_names())); }

TEST(CommandsTest, SayAllThatTheirHelpShows) {
  for (const Command& command : all_commands()) {
    EXPECT_TRUE(command.usage.starts_with(command.name + " ")) << command.usage;
    EXPECT_FALSE(command.sentence.empty()) << command.name;
    EXPECT_FALSE(command.examples.empty()) << command.name;
    EXPECT_FALSE(command.exit_statuses.empty()) << command.name;
    EXPECT_TRUE(command.run) << command.name;
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

TEST(CommandsTest, AreInTheUsageTheManualAndTheCompletion) {
  const std::string usage = all_commands().front().usage;
  for (const CommandRow& row : command_rows().subspan(1)) {
    const std::string name(row.name);
    EXPECT_NE(usage.find("aggregate-power " + name + " " + std::string(row.usage)), usage.npos);
    EXPECT_NE(man_page().find(".SS aggregate\\-power " + name + "\n"), std::string::npos) << name;
    EXPECT_NE(bash_completion().find("    " + name + ":*) options="), std::string::npos) << name;
  }
}

}  // namespace commands_test
}  // namespace aggregate_power
