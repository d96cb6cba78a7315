// aggregate-power explain: what reason codes and verdicts mean.
#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/verdict.h"
#include "base/text/nearest.h"
#include "base/text/wrap.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/terminal.h"

namespace aggregate_power {
namespace {

using Json = nlohmann::ordered_json;

struct ExplainRequest {
  std::vector<std::string> codes;  // empty: all
  bool json = false;
};

std::vector<std::string> words_known() {
  std::vector<std::string> words;
  for (const Reason reason : all_reasons()) words.emplace_back(code(reason));
  for (const VerdictWord& verdict : verdict_words()) words.emplace_back(verdict.code);
  return words;
}

// A reason against a run, or a word that judges its power.
using Word = std::variant<Reason, const VerdictWord*>;

Word word_named(const std::string& word) {
  if (const auto reason = reason_of(word)) return *reason;
  if (const VerdictWord* const verdict = verdict_word(word)) return verdict;
  const std::string near = did_you_mean(word, words_known());
  throw Error(fmt::format(
      "unknown code '{}'{}", word,
      near.empty()
          ? "; 'aggregate-power explain' lists all, and 'help uncertainty' and 'help requests' have the words of their objects"
          : near));
}

std::vector<Word> all_words() {
  std::vector<Word> words;
  for (const Reason reason : all_reasons()) words.emplace_back(reason);
  for (const VerdictWord& verdict : verdict_words()) words.emplace_back(&verdict);
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
  if (const auto* const verdict = std::get_if<const VerdictWord*>(&word)) {
    return {{"code", (*verdict)->code},
            {"rule", plain((*verdict)->rule)},
            {"remedy", plain((*verdict)->remedy)}};
  }
  const Reason reason = std::get<Reason>(word);
  return {{"code", code(reason)},
          {"meaning", plain(meaning(reason))},
          {"causes", plain(causes(reason))},
          {"remedy", plain(remedy(reason))}};
}

std::string word_text(const Word& word, std::size_t width) {
  const auto part = [&](const char* what, std::string_view text) {
    return wrapped(fmt::format("{}: {}", what, plain(text)), "  ", 4, width);
  };
  if (const auto* const verdict = std::get_if<const VerdictWord*>(&word)) {
    return fmt::format("{}\n{}{}", (*verdict)->code, part("when", (*verdict)->rule),
                       part("what to do", (*verdict)->remedy));
  }
  const Reason reason = std::get<Reason>(word);
  return fmt::format("{}\n{}{}{}", code(reason), part("what happened", meaning(reason)),
                     part("usual causes", causes(reason)), part("what to do", remedy(reason)));
}

std::string word_list(std::size_t width) {
  constexpr std::size_t kIndent = 38;
  std::string text;
  const auto add = [&](std::string_view word, std::string_view meaning) {
    text += wrapped(short_meaning(meaning), fmt::format("{:<37} ", word), kIndent, width);
  };
  for (const Reason reason : all_reasons()) add(code(reason), meaning(reason));
  text += "\nVerdicts of --uncertainty:\n";
  for (const VerdictWord& verdict : verdict_words()) {
    text += wrapped(plain(verdict.rule), fmt::format("{:<37} ", verdict.code), kIndent, width);
  }
  return text + "More on one of them: 'aggregate-power explain CODE'.\n";
}

int run_explain(const ExplainRequest& request) {
  std::vector<Word> words;
  for (const std::string& word : request.codes) words.push_back(word_named(word));
  if (request.json) {
    Json all = Json::array();
    if (words.empty()) words = all_words();
    for (const Word& word : words) all.push_back(word_json(word));
    print(stdout, (request.codes.size() == 1 ? all[0] : all).dump(2) + "\n");
    return 0;
  }
  const std::size_t width = text_width();
  if (words.empty()) print_result(word_list(width));
  for (std::size_t i = 0; i < words.size(); ++i) {
    print_result((i > 0 ? "\n" : "") + word_text(words[i], width));
  }
  return 0;
}

}  // namespace

Command explain_command() {
  const auto request = std::make_shared<ExplainRequest>();
  Command command;
  command.options
      .positionals("CODE", into(request->codes),
                   "Reason codes and verdicts to explain (default: list all)")
      .offer(words_known());
  command.options.flag("--json", request->json,
                       "Print one JSON object for one code, else one JSON array");
  command.examples =
      "aggregate-power explain sampling_gap_exceeded\n"
      "aggregate-power explain\n"
      "aggregate-power explain no_usable_power_samples --json";
  command.exit_statuses = "0 printed; 2 unknown code, or wrong options";
  command.run = [request] { return run_explain(*request); };
  return command;
}

}  // namespace aggregate_power
