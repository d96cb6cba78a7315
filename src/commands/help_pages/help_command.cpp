// aggregate-power help and aggregate-power explain: pages, and what the words of a record mean.
#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/assumption.h"
#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "core/model/refusal.h"
#include "core/model/verdict.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/ascii.h"
#include "base/text/suggest.h"
#include "base/text/characters.h"
#include "base/text/wrap.h"
#include "commands/options/command.h"
#include "commands/help_pages/help_pages.h"
#include "commands/options/output.h"
#include "commands/help_pages/overview.h"
#include "commands/options/terminal.h"
#include "energy/uncertainty/interval.h"
#include "generators/generator_table.h"
#include "packages/srt_slurm/package_codes.h"

namespace aggregate_power {
// What a code means, as text of so many columns; empty: it is unknown.
std::string explanation(std::string_view code, std::size_t width);

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

struct ExplainRequest {
  std::vector<std::string> codes;  // empty: all
  bool json = false;
};

// The words of one list of an object in the record.
struct WordList {
  const char* heading;
  const char* where;  // empty: it need not be said
  std::span<const ExplainedWord> words;
};

const std::vector<WordList>& word_lists() {
  static const std::vector<WordList> lists = {
      {"Verdicts of --uncertainty", "", verdict_words()},
      {"Components of --uncertainty", "the components of `uncertainty`", component_words()},
      {"Assumptions of --uncertainty, --requests and --phases",
       "the assumptions of `uncertainty`, `request_energy` and `phase_energy`", assumption_words()},
      {"Why --uncertainty gives no interval", "the reasons of `uncertainty`", interval_refusals()},
      {"Why --idle gives no net energy", "the reasons of `idle`", idle_refusals()},
      {"Why --requests and --phases give no energies",
       "what is refused of `request_energy` and `phase_energy`", request_refusals()},
      {"What the files of a package show", "a package's `reason_codes`", packages::disk_codes()},
      {"What the recorder of a package has seen", "a package's `reason_codes`",
       packages::runtime_codes()}};
  return lists;
}

// A word of a list.
struct ListedWord {
  const WordList* list;
  const ExplainedWord* word;
};

std::vector<ListedWord> listed_words() {
  std::vector<ListedWord> words;
  for (const WordList& list : word_lists()) {
    for (const ExplainedWord& word : list.words) words.push_back({&list, &word});
  }
  return words;
}

// A reason against a run, or a word of an object.
using Word = std::variant<Reason, ListedWord>;

std::vector<std::string> words_known() {
  std::vector<std::string> words;
  for (const Reason reason : all_reasons()) words.emplace_back(code(reason));
  for (const ListedWord& listed : listed_words()) {
    if (std::ranges::count(words, listed.word->code) == 0) words.emplace_back(listed.word->code);
  }
  return words;
}

// Several objects may use one word.
std::vector<Word> words_that_are(std::string_view word) {
  std::vector<Word> found;
  if (const auto reason = reason_of(word)) found.emplace_back(*reason);
  for (const ListedWord& listed : listed_words()) {
    if (listed.word->code == word) found.emplace_back(listed);
  }
  return found;
}

std::vector<Word> words_named(const std::string& word) {
  std::vector<Word> found = words_that_are(word);
  if (!found.empty()) return found;
  const std::string near = did_you_mean(word, words_known());
  throw Error(fmt::format("unknown code '{}'{}", word,
                          near.empty() ? "; 'aggregate-power explain' lists all" : near));
}

std::vector<Word> all_words() {
  std::vector<Word> words;
  for (const Reason reason : all_reasons()) words.emplace_back(reason);
  for (const ListedWord& listed : listed_words()) words.emplace_back(listed);
  return words;
}

// Half a sentence of the table, without its code marks.
std::string plain(std::string_view text) {
  std::string result(text);
  std::erase(result, '`');
  return result;
}

// Its first part, which says enough in a list.
std::string short_meaning(std::string_view whole) {
  const std::string text = plain(whole);
  const std::size_t end = std::min({text.find("; "), text.find(". "), text.find(" (")});
  return text.substr(0, end);
}

Json word_json(const Word& word) {
  if (const auto* const listed = std::get_if<ListedWord>(&word)) {
    Json json = {{"code", listed->word->code}};
    if (*listed->list->where != '\0') json["where"] = plain(listed->list->where);
    json["rule"] = plain(listed->word->rule);
    json["remedy"] = plain(listed->word->remedy);
    return json;
  }
  const Reason reason = std::get<Reason>(word);
  return {{"code", code(reason)},
          {"meaning", plain(meaning(reason))},
          {"causes", plain(causes(reason))},
          {"remedy", plain(remedy(reason))}};
}

std::string word_text(const Word& word, std::size_t width) {
  const auto part = [&](const char* what, std::string_view text) {
    return text.empty() ? std::string()
                        : wrapped(fmt::format("{}: {}", what, plain(text)), "  ", 4, width);
  };
  if (const auto* const listed = std::get_if<ListedWord>(&word)) {
    return fmt::format("{}\n{}{}{}", listed->word->code, part("where", listed->list->where),
                       part("when", listed->word->rule), part("what to do", listed->word->remedy));
  }
  const Reason reason = std::get<Reason>(word);
  return fmt::format("{}\n{}{}{}", code(reason), part("what happened", meaning(reason)),
                     part("usual causes", causes(reason)), part("what to do", remedy(reason)));
}

std::string word_list(std::size_t width) {
  constexpr std::size_t kIndent = 38;
  std::string text;
  const auto add = [&](std::string_view word, const std::string& meaning) {
    text += fact(word, meaning, kIndent, width);
  };
  for (const Reason reason : all_reasons()) add(code(reason), short_meaning(meaning(reason)));
  for (const WordList& list : word_lists()) {
    text += fmt::format("\n{}:\n", list.heading);
    for (const ExplainedWord& word : list.words) add(word.code, plain(word.rule));
  }
  return text + "\nMore on one of them: 'aggregate-power explain CODE'.\n";
}

std::string words_text(const std::vector<Word>& words, std::size_t width) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : "\n") + word_text(word, width);
  return text;
}

int run_explain(const ExplainRequest& request) {
  std::vector<Word> words;
  for (const std::string& word : request.codes) {
    std::ranges::copy(words_named(word), std::back_inserter(words));
  }
  if (request.json) {
    Json all = Json::array();
    if (request.codes.empty()) words = all_words();
    for (const Word& word : words) all.push_back(word_json(word));
    print(stdout, indented_lines(all.size() == 1 ? all[0] : all, JsonCharacters::utf8));
    return 0;
  }
  const std::size_t width = text_width();
  print_result(words.empty() ? word_list(width) : words_text(words, width));
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

std::string explanation(std::string_view code, std::size_t width) {
  return words_text(words_that_are(code), width);
}

Command explain_command() {
  const auto request = std::make_shared<ExplainRequest>();
  Command command;
  command.options
      .positionals(
          "CODE", into(request->codes),
          "Reason codes, also of packages, and words of the objects `uncertainty`, `idle`, `request_energy` and `phase_energy`, to explain (default: list all)")
      .offer(words_known());
  command.options.flag(
      "--json", request->json,
      "Print one JSON object for one code, else one JSON array; a code that several objects use is an array, too");
  command.examples =
      "aggregate-power explain sampling_gap_exceeded\n"
      "aggregate-power explain\n"
      "aggregate-power explain no_usable_power_samples --json";
  command.exit_statuses = "0 printed; 2 unknown code, or wrong options";
  command.run = [request] { return run_explain(*request); };
  return command;
}

}  // namespace aggregate_power
