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
#include "base/files/file.h"
#include "base/files/lock_wait.h"
#include "base/files/path.h"
#include "base/text/nearest.h"
#include "base/text/unicode.h"
#include "commands/commands.h"
#include "commands/completion.h"
#include "commands/help_pages.h"
#include "commands/manual.h"
#include "commands/output.h"

namespace {

using namespace aggregate_power;

// For packagers: the program itself prints its man pages and its completions.
struct Generator {
  const char* option;
  std::string (*text)();
};
constexpr Generator kGenerators[] = {
    {"--generate-man-page", man_page},
    {"--generate-bash-completion", bash_completion},
    {"--generate-zsh-completion", zsh_completion},
    {"--generate-fish-completion", fish_completion},
};

// What the words ask to generate; nullopt if they do not.
std::optional<std::string> generated(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "--generate-man-page") {
    const auto page = help_man_page(words[1]);
    if (!page) throw Error(unknown_topic(words[1]));
    return page;
  }
  if (words.size() != 1) return std::nullopt;
  for (const Generator& generator : kGenerators) {
    if (words[0] == generator.option) return generator.text();
  }
  return std::nullopt;
}

// A file in place of a command is most likely a result, or a recording.
int unknown_command(const std::string& word) {
  if (is_regular_file(normal_path(word))) {
    const bool is_csv = word.find(".csv") != std::string::npos;
    return usage_fault("aggregate-power",
                       fmt::format("'{0}' is a file, not a command: did you mean 'aggregate-power "
                                   "{1} {0}'?",
                                   printable(word), is_csv ? "inspect" : "measure"));
  }
  const auto names = command_names();
  const std::string near = did_you_mean(word, std::vector<std::string>(names.begin(), names.end()));
  const std::string known = fmt::format("; known: {}, or options alone", fmt::join(names, ", "));
  return usage_fault("aggregate-power",
                     fmt::format("unknown command '{}'{}", word, near.empty() ? known : near));
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    return usage_fault(
        "aggregate-power",
        fmt::format("expected --bench-result FILE --agg-result FILE, or a command: {}",
                    fmt::join(command_names(), ", ")));
  }
  if (const auto text = generated(words)) {
    print(stdout, *text);
    return 0;
  }
  if (words[0].starts_with('-')) return run_command(make_command(command_rows().front()), words);
  if (const CommandRow* const row = find_command(words[0])) {
    return run_command(make_command(*row), {words.begin() + 1, words.end()});
  }
  return unknown_command(words[0]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const WatchLocks watch([](const std::string& path, std::optional<pid_t> holder) {
      print_note(one_line(lock_wait_text(path, holder)));
    });
    const int status = run({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      print_message("error: cannot write to standard output");
      return status == 0 ? 1 : status;
    }
    return status;
  } catch (const std::exception& error) {
    print_message(fmt::format("error: {}", error_text(error)));
    return 2;
  }
}
