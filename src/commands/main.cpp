// Runs the command that the arguments name, and catches what it throws.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/suggest.h"
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"
#include "commands/help_pages/page_roff.h"
#include "commands/options/command.h"
#include "commands/options/completion.h"
#include "commands/options/terminal.h"
#include "verify/bundle/bundle.h"

namespace {

using namespace aggregate_power;

// For packagers: the program itself prints its man pages, its completions and its version.
struct Generator {
  const char* option;
  std::string (*text)();
};
constexpr Generator kGenerators[] = {
    {"--generate-man-page", man_page},
    {"--generate-bash-completion", bash_completion},
    {"--generate-zsh-completion", zsh_completion},
    {"--generate-fish-completion", fish_completion},
    {"--version", version_line},
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

// "result.json", "runs/a": no command is called so.
bool looks_like_a_file(const std::string& word) {
  return word.find_first_of("/.") != std::string::npos;
}

int unknown_command(const std::string& word) {
  if (const std::string hint = missing_file_hint(normal_path(word)); !hint.empty()) {
    return usage_fault("aggregate-power", hint);
  }
  if (looks_like_a_file(word)) {
    return usage_fault(
        "aggregate-power",
        fmt::format("{} does not exist: name the load generator's result and the recording",
                    printable_path(word)));
  }
  const auto names = command_names();
  const std::string near = did_you_mean(word, std::vector<std::string>(names.begin(), names.end()));
  const std::string known =
      fmt::format(", and there is no file of this name; known: {}", fmt::join(names, ", "));
  return usage_fault("aggregate-power",
                     fmt::format("unknown command '{}'{}", word, near.empty() ? known : near));
}

// These read a bundle as the folder of its files.
constexpr std::string_view kReaders[] = {"attribute", "calibrate", "compare", "doctor",
                                         "export",    "inspect",   "measure", "plot",
                                         "recommend", "report",    "windows"};

using Bundles = std::vector<std::unique_ptr<const bundle::Unpacked>>;

// The same words, with a folder for a bundle, and for one of its files that file there.
std::vector<std::string> with_unpacked(std::vector<std::string> words, Bundles& unpacked) {
  constexpr std::string_view kEnd = ".tar.zst";
  const bool is_command = !words.empty() && find_command(words[0]) != nullptr;
  const auto named = is_command ? std::ranges::find(kReaders, words[0]) : std::begin(kReaders);
  if (named == std::end(kReaders)) return words;
  for (std::size_t i = is_command ? 1 : 0; i < words.size(); ++i) {
    const bool is_output = i > 0 && words[i - 1].starts_with("--o");
    const std::size_t end = words[i].find(kEnd);
    if (is_output || end == std::string::npos) continue;
    const std::string path = words[i].substr(0, end + kEnd.size());
    if (!bundle::is_bundle(path)) continue;
    unpacked.push_back(std::make_unique<const bundle::Unpacked>(opened_regular(path)));
    words[i] = unpacked.back()->folder() + words[i].substr(path.size());
  }
  return words;
}

// Options without a command are patch's. Where they and the files are measure's, its command line
// is a part of the message; `given` has it as it was typed.
int run_patch(const std::vector<std::string>& words, const std::vector<std::string>& given) {
  return run_command(make_command(*find_command("patch")), words, [&](const std::string& fault) {
    if (!takes_files(make_command(*find_command("measure")), words)) {
      return usage_fault("aggregate-power patch", fault);
    }
    std::string line = "aggregate-power measure";
    for (const std::string& word : given) line += fmt::format(" {}", shell_word(word));
    return usage_fault(
        "aggregate-power measure",
        fmt::format("{}{} name the command: {}", fault, fault.ends_with('?') ? "" : ";", line));
  });
}

int run(const std::vector<std::string>& given) {
  Bundles unpacked;
  const std::vector<std::string> words = with_unpacked(given, unpacked);
  if (words.empty()) {
    print(stdout, overview());
    return 2;
  }
  const bool asks_for_help = words[0] == "-h" || words[0] == "--help";
  if (asks_for_help && words.size() == 1) {
    print(stdout, overview() + where_to_find());
    return 0;
  }
  const CommandRow* const asked_about = asks_for_help ? find_command(words[1]) : nullptr;
  if (asked_about != nullptr) return run_command(make_command(*asked_about), {words[0]});
  if (const auto text = generated(words)) {
    print(stdout, *text);
    return 0;
  }
  if (words[0].starts_with('-')) return run_patch(words, given);
  if (const CommandRow* const row = find_command(words[0])) {
    return run_command(make_command(*row), {words.begin() + 1, words.end()});
  }
  // Files without a command are measured.
  if (std::error_code ignored; std::filesystem::exists(normal_path(words[0]), ignored)) {
    return run_command(make_command(*find_command("measure")), words);
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
