// Which command, and the last catch.
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/files/lock_wait.h"
#include "base/text/unicode.h"
#include "commands/commands.h"
#include "commands/manual.h"
#include "commands/output.h"

namespace {

using namespace aggregate_power;

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    print(stderr, help(aggregate_command()));
    return 2;
  }
  // For packagers: the man page and the completion come from the program itself.
  if (words == std::vector<std::string>{"--generate-man-page"}) {
    print(stdout, man_page());
    return 0;
  }
  if (words == std::vector<std::string>{"--generate-bash-completion"}) {
    print(stdout, bash_completion());
    return 0;
  }
  if (words[0].starts_with('-')) return run_command(aggregate_command(), words);
  const std::vector<std::string> options(words.begin() + 1, words.end());
  if (words[0] == "agentic") return run_command(agentic_command(), options);
  if (words[0] == "backfill") return run_command(backfill_command(), options);
  if (words[0] == "inspect") return run_command(inspect_command(), options);
  if (words[0] == "multinode") return run_command(multinode_command(), options);
  if (words[0] == "synthesize") return run_command(synthesize_command(), options);
  print(stderr,
        fmt::format("aggregate-power: error: unknown command '{}'; known: agentic, backfill, "
                    "inspect, multinode, "
                    "synthesize, or options alone; see 'aggregate-power --help'\n",
                    words[0]));
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
