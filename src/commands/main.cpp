// Which command, and the last catch.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/commands/command.h"

namespace {

using namespace aggregate_power;

int run(const std::vector<std::string>& words) {
  std::vector<Command> commands = all_commands();
  Command& main_command = commands.front();
  if (words.empty()) {
    fmt::print(stderr, "{}", help(main_command));
    return 2;
  }
  // For packagers: the man page and the completion come from the program itself.
  if (words == std::vector<std::string>{"--generate-man-page"}) {
    fmt::print("{}", man_page());
    return 0;
  }
  if (words == std::vector<std::string>{"--generate-bash-completion"}) {
    fmt::print("{}", bash_completion());
    return 0;
  }
  const auto named =
      std::find_if(commands.begin() + 1, commands.end(), [&](const Command& command) {
        return command.options->get_name() == "aggregate-power " + words[0];
      });
  if (named != commands.end()) return run_command(*named, {words.begin() + 1, words.end()});
  if (!words[0].starts_with('-')) {
    fmt::print(
        stderr,
        "aggregate-power: error: unknown command '{}'; known: inspect, synthesize, or options "
        "alone; see 'aggregate-power --help'\n",
        words[0]);
    return 2;
  }
  return run_command(main_command, words);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "aggregate-power: error: {}\n", error.what());
    return 2;
  }
}
