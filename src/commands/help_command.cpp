// aggregate-power help: lists the topics, or prints the page on one.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "base/text/unicode.h"
#include "commands/command.h"
#include "commands/explain_command.h"
#include "commands/help_pages.h"
#include "commands/output.h"
#include "commands/overview.h"
#include "commands/terminal.h"
#include "loads/load_generator.h"

namespace aggregate_power {
namespace {

struct HelpRequest {
  std::vector<std::string> words;  // a topic, a code, or words to look for; empty: an overview
  bool json = false;
};

// Letters and digits, in lower case: "trtllmbench".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : lower_ascii(name)) {
    if ((c >= 'a' && c <= 'z') || is_ascii_digit(c)) plain += c;
  }
  return plain;
}

// The page on what `word` names: a load generator is on the page of all, if `word` is its name or
// how its name begins. A tool that people come from has a page of its own.
std::string topic_of(const std::string& word) {
  constexpr std::size_t kLeast = 4;
  const std::vector<std::string> topics = help_topics();
  const std::string plain = plain_name(word);
  if (std::ranges::find(topics, word) != topics.end() || plain.size() < kLeast) return word;
  const std::string coming_from = "coming-from-" + plain;
  if (std::ranges::find(topics, coming_from) != topics.end()) return coming_from;
  const bool is_generator =
      plain.starts_with("inferencex") ||
      std::ranges::any_of(load_generators(), [&](const LoadGenerator& generator) {
        return plain_name(generator.name).starts_with(plain);
      });
  return is_generator ? "generators" : word;
}

int run_help(const HelpRequest& request) {
  const std::size_t width = text_width();
  const std::string words = fmt::format("{}", fmt::join(request.words, " "));
  if (strip(words).empty()) {
    request.json ? print(stdout, help_list_json()) : print_result(overview());
    return 0;
  }
  if (words == "topics") {
    request.json ? print(stdout, help_list_json()) : print_result(help_list(width));
    return 0;
  }
  const std::string topic = topic_of(words);
  if (request.json) {
    const auto text = help_json(topic, width);
    if (!text) throw Error(unknown_topic(topic));
    print(stdout, *text);
    return 0;
  }
  std::string text = help_text(topic, width).value_or("");
  if (text.empty()) text = explanation(words, width);
  if (text.empty()) text = help_search(words, width);
  if (text.empty()) {
    const std::string near = did_you_mean(words, help_topics());
    throw Error(fmt::format("no page has '{}'{}", printable(words),
                            near.empty() ? "; 'aggregate-power help topics' lists them" : near));
  }
  print_result(text);
  return 0;
}

}  // namespace

Command help_command() {
  const auto request = std::make_shared<HelpRequest>();
  std::vector<std::string> topics = help_topics();
  topics.emplace_back("topics");
  Command command;
  command.options
      .positionals(
          "TOPIC", into(request->words),
          "The page to print, 'topics' for a list of all, a reason code, or words to look for in all pages; a load generator's name prints that of all generators, and 'zeus' that on coming from Zeus (default: an overview)")
      .offer(topics);
  command.options.flag("--json", request->json,
                       "Print the topics as one JSON array, or the page as one JSON object");
  command.examples =
      "aggregate-power help topics\n"
      "aggregate-power help backfill | less\n"
      "aggregate-power help sampling_gap_exceeded\n"
      "aggregate-power help power limit";
  command.exit_statuses = "0 printed; 2 nothing was found, or wrong options";
  command.run = [request] { return run_help(*request); };
  return command;
}

}  // namespace aggregate_power
