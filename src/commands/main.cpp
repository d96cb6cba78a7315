// Runs the command that the arguments name, and catches what it throws.
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/lock_wait.h"
#include "base/text/unicode.h"
#include "commands/commands.h"
#include "commands/help_pages.h"
#include "commands/manual.h"
#include "commands/output.h"

namespace {

using namespace aggregate_power;

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    print(stderr, help(make_command(command_rows().front())));
    return 2;
  }
  // For packagers: the program itself prints its man pages and its completion.
  if (words == std::vector<std::string>{"--generate-man-page"}) {
    print(stdout, man_page());
    return 0;
  }
  if (words.size() == 2 && words[0] == "--generate-man-page") {
    const auto page = help_man_page(words[1]);
    if (!page) throw Error(unknown_topic(words[1]));
    print(stdout, *page);
    return 0;
  }
  if (words == std::vector<std::string>{"--generate-bash-completion"}) {
    print(stdout, bash_completion());
    return 0;
  }
  if (words[0].starts_with('-')) return run_command(make_command(command_rows().front()), words);
  if (const CommandRow* const row = find_command(words[0])) {
    return run_command(make_command(*row), {words.begin() + 1, words.end()});
  }
  print_message(fmt::format(
      "error: unknown command '{}'; known: {}, or options alone; see 'aggregate-power --help'",
      words[0], fmt::join(command_names(), ", ")));
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const WatchLocks watch([](const std::string& path, std::optional<pid_t> holder) {
      print_message(one_line(lock_wait_text(path, holder)));
    });
    const int status = run({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      std::ignore =
          std::fprintf(stderr, "aggregate-power: error: cannot write to standard output\n");
      return status == 0 ? 1 : status;
    }
    return status;
  } catch (const std::exception& error) {
    std::ignore = std::fprintf(stderr, "aggregate-power: error: %s\n", error.what());
    return 2;
  }
}
