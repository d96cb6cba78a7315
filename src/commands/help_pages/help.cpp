// Assembles the compiled-in help pages.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "aggregate_power/reason.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/suggest.h"
#include "base/text/wrap.h"
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"
#include "commands/options/command.h"
#include "commands/options/terminal.h"
#include "core/energy/metrics.h"
#include "core/load/stated_totals.h"
#include "core/model/code_descriptions.h"
#include "core/telemetry/power_limits.h"
#include "energy/uncertainty/interval.h"
#include "energy/uncertainty/sensor_table.h"
#include "generators/generator_table.h"
#include "packages/srt_slurm/package_codes.h"
#include "recorders/recorder_table.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

using markdown::Table;

std::string code_span(std::string_view text) { return fmt::format("`{}`", text); }

// The options of a command ("agentic"), of a group ("agentic: On one node"), or of the program
// ("").
Table options_table(std::string_view wanted) {
  const std::size_t colon = wanted.find(": ");
  const std::string_view word = wanted.substr(0, colon);
  const std::string_view group =
      colon == std::string_view::npos ? "Options" : wanted.substr(colon + 2);
  const std::string name = fmt::format("aggregate-power {}", word.empty() ? "patch" : word);
  Table table{{"option", "meaning"}, {}};
  for (const Command& command : all_commands()) {
    if (command.name != name) continue;
    for (const Option& option : command.options.all()) {
      if (option.group != group || option.is_positional()) continue;
      std::string text = option.long_name();
      if (option.takes_value()) text += " " + option.value_name;
      table.rows.push_back({code_span(text), option.help});
    }
  }
  return table;
}

std::string what_to_do(Reason reason) {
  std::string text(remedy(reason));
  if (is_acceptable(reason))
    text += fmt::format(". It can be accepted: `--accept {}`", code(reason));
  return text;
}

Table reasons_table(std::string_view wanted) {
  constexpr std::pair<std::string_view, ReasonGroup> kGroups[] = {
      {"run", ReasonGroup::run},       {"nodes", ReasonGroup::nodes},
      {"cpu", ReasonGroup::cpu},       {"agents", ReasonGroup::agents},
      {"header", ReasonGroup::header}, {"agent_nodes", ReasonGroup::agent_nodes},
      {"store", ReasonGroup::store},
  };
  Table table{{"code", "what happened", "usual causes", "what to do"}, {}};
  for (const auto& [name, of] : kGroups) {
    if (name != wanted) continue;
    for (const Reason reason : all_reasons()) {
      if (group(reason) != of) continue;
      table.rows.push_back({code_span(code(reason)), std::string(meaning(reason)),
                            std::string(causes(reason)), what_to_do(reason)});
    }
  }
  return table;
}

// The words of one list of an object in the record.
struct WordList {
  std::string_view name;
  const char* heading;
  const char* where;  // empty: it need not be said
  std::span<const ExplainedWord> words;
};

const std::vector<WordList>& word_lists() {
  static const std::vector<WordList> lists = {
      {"verdicts", "Verdicts of --uncertainty", "", verdict_words()},
      {"components", "Components of --uncertainty", "the components of `uncertainty`",
       component_words()},
      {"assumptions", "Assumptions of --uncertainty, --requests and --phases",
       "the assumptions of `uncertainty`, `request_energy` and `phase_energy`", assumption_words()},
      {"interval-refusals", "Why --uncertainty gives no interval", "the reasons of `uncertainty`",
       interval_refusals()},
      {"idle-refusals", "Why --idle gives no net energy", "the reasons of `idle`", idle_refusals()},
      {"request-refusals", "Why --requests and --phases give no energies",
       "what is refused of `request_energy` and `phase_energy`", request_refusals()},
      {"disk-codes", "What the files of a package show", "a package's `reason_codes`",
       packages::disk_codes()},
      {"runtime-codes", "What the recorder of a package has seen", "a package's `reason_codes`",
       packages::runtime_codes()},
      {"windows", "Where a window comes from", "the class of a window, `window_source`",
       window_words()},
      {"zones", "How a time zone was found", "`timezone_evidence`", zone_words()},
      {"corrections", "What changes the published energy to the estimate",
       "the corrections of `uncertainty`", correction_words()}};
  return lists;
}

// Of one of these names.
std::span<const ExplainedWord> words_of(std::string_view list) {
  return std::ranges::find(word_lists(), list, &WordList::name)->words;
}

Table words_table(std::string_view wanted) {
  Table table{{"word", "when", "what to do"}, {}};
  for (const ExplainedWord& word : words_of(wanted)) {
    table.rows.push_back({code_span(word.code), std::string(word.rule), std::string(word.remedy)});
  }
  return table;
}

Table sensors_table(std::string_view) {
  Table table{{"boards", "`power.draw`, or the only power", "average", "instant"}, {}};
  for (const GpuSensorRow& row : gpu_sensor_rows()) {
    table.rows.push_back({row.boards, row.usage, row.average, row.instant});
  }
  return table;
}

Table power_limits_table(std::string_view) {
  Table table{{"GPU", "W", "stated by"}, {}};
  for (const PowerLimit& limit : power_limits()) {
    table.rows.push_back(
        {std::string(limit.gpu), fmt::format("{}", limit.watts), std::string(limit.source)});
  }
  return table;
}

// The members that make a configuration, and the keys of results that state them.
Table configuration_table(std::string_view) {
  Table table{{"key", "stated by"}, {}};
  for (const std::string_view key : configuration_keys()) {
    std::vector<std::string> from;
    if (key == "hw" || key == "gpu_count" || key == "driver" || key == "clock_setting_mhz") {
      from.emplace_back("the recording");
    }
    for (const loads::SettingName& setting : loads::setting_names()) {
      if (setting.name == key) from.push_back(code_span(setting.key));
    }
    if (from.empty()) from.emplace_back("aggregates");
    table.rows.push_back({code_span(key), joined_text(from, ", ")});
  }
  return table;
}

Table metrics_table(std::string_view) {
  Table table{{"key", "schema", "meaning", "decimals"}, {}};
  for (const MetricRow& row : metric_rows()) {
    table.rows.push_back({code_span(row.key), std::string(row.schemas), std::string(row.meaning),
                          std::to_string(row.decimals)});
  }
  return table;
}

Table schemas_table(std::string_view) {
  Table table{{"schema", "power column, the first that exists", "devices"}, {}};
  for (const Recorder& recorder : recorders()) {
    for (const SchemaRow& row : recorder.schemas) {
      table.rows.push_back({code_span(row.name), std::string(row.power), std::string(row.devices)});
    }
  }
  return table;
}

Table generators_table(std::string_view) {
  Table table{{"result", "file", "window", "latencies of its requests"}, {}};
  for (const LoadGenerator& generator : load_generators()) {
    const bool has_list = *generator.latencies != '\0';
    table.rows.push_back({generator.name, generator.files, generator.window,
                          has_list ? generator.latencies : "none"});
  }
  return table;
}

Table exit_statuses_table(std::string_view) {
  Table table{{"command", "exit status"}, {}};
  for (const Command& command : all_commands()) {
    table.rows.push_back({code_span(command.name), command.exit_statuses});
  }
  return table;
}

Table surroundings_table(std::string title, std::span<const Surrounding> all) {
  Table table{{std::move(title), "meaning"}, {}};
  for (const Surrounding& one : all) {
    table.rows.push_back({code_span(one.name), std::string(one.text)});
  }
  return table;
}

Table environment_table(std::string_view) {
  return surroundings_table("variable", environment_variables());
}

Table files_table(std::string_view) { return surroundings_table("file", files()); }

struct Source {
  std::string_view name;
  Table (*table)(std::string_view wanted);
};
constexpr Source kSources[] = {
    {"options", options_table},
    {"reasons", reasons_table},
    {"metrics", metrics_table},
    {"schemas", schemas_table},
    {"generators", generators_table},
    {"environment", environment_table},
    {"words", words_table},
    {"sensors", sensors_table},
    {"configuration", configuration_table},
    {"files", files_table},
    {"exit-statuses", exit_statuses_table},
    {"power-limits", power_limits_table},
};

// The table for a line `<!-- table: NAME -->`: "options", "options COMMAND", "reasons GROUP",
// "metrics", "schemas", "exit-statuses", "environment" or "files". An unknown name is an error in
// the page.
Table help_table(std::string_view name) {
  const std::string_view word = name.substr(0, name.find(' '));
  const std::string_view wanted = word.size() < name.size() ? name.substr(word.size() + 1) : "";
  for (const Source& source : kSources) {
    if (source.name != word) continue;
    Table table = source.table(wanted);
    if (!table.rows.empty()) return table;
  }
  throw std::logic_error(fmt::format("a help page wants an unknown table '{}'", name));
}

using namespace markdown;
const HelpPage* find_page(std::string_view topic) {
  return find_item(help_pages(), topic, &HelpPage::topic);
}

// The page's blocks, with the program's tables in their places.
std::vector<Block> blocks_of(const HelpPage& page) {
  std::vector<Block> blocks = parse(page.source);
  for (Block& block : blocks) {
    if (const auto* wanted = std::get_if<Placeholder>(&block)) block = help_table(wanted->name);
  }
  return blocks;
}

// ---- Search

// How often a text has words: as whole words, and as parts of others, which count less than any.
struct Hits {
  std::size_t whole = 0;
  std::size_t parts = 0;

  std::size_t all() const { return whole + parts; }
  void add(const Hits& more, std::size_t weight) {
    whole += weight * more.whole;
    parts += weight * more.parts;
  }
};

// A heading and what is below it, up to the next heading.
struct Section {
  std::string_view topic;
  std::string heading;
  std::vector<Block> blocks;
  Hits found = {};
};

std::string searched_text(const Block& block) {
  if (const auto* heading = std::get_if<Heading>(&block)) return heading->text;
  if (const auto* paragraph = std::get_if<Paragraph>(&block)) return paragraph->text;
  if (const auto* item = std::get_if<ListItem>(&block)) return item->text;
  if (const auto* code = std::get_if<Code>(&block)) return joined_text(code->lines, "\n");
  std::string text;
  if (const auto* table = std::get_if<Table>(&block)) {
    for (const auto& row : table->rows) text += fmt::format("{}\n", fmt::join(row, " "));
  }
  return text;
}

// A plural is the same word.
Hits hits_of(std::string_view text, std::string_view words) {
  const auto is_of_word = [](char c) {
    return (c >= 'a' && c <= 'z') || is_ascii_digit(c) || c == '_';
  };
  const std::string lower = lower_ascii(text);
  Hits hits;
  for (std::size_t at = lower.find(words); at != lower.npos; at = lower.find(words, at + 1)) {
    std::string_view rest = std::string_view(lower).substr(at + words.size());
    if (rest.starts_with('s')) rest.remove_prefix(1);
    const bool is_begun = at > 0 && is_of_word(lower[at - 1]);
    const bool goes_on = !rest.empty() && is_of_word(rest.front());
    ++(is_begun || goes_on ? hits.parts : hits.whole);
  }
  return hits;
}

std::vector<Section> sections_of(const HelpPage& page) {
  std::vector<Section> sections;
  for (Block& block : blocks_of(page)) {
    if (const auto* heading = std::get_if<Heading>(&block); heading || sections.empty()) {
      sections.push_back({page.topic, heading ? heading->text : "", {}});
    }
    sections.back().blocks.push_back(std::move(block));
  }
  return sections;
}

// Names and titles come before text, however long that is. Nothing: it lacks one of the words.
Hits hits_of_words(const Section& section, std::span<const std::string> words, bool is_first) {
  constexpr std::size_t kOfTopic = 100;
  constexpr std::size_t kOfSentence = 50;
  constexpr std::size_t kOfHeading = 20;
  constexpr std::size_t kMostOfText = 15;
  Hits all;
  for (const std::string& word : words) {
    Hits text;
    Hits hits;
    bool is_sentence = is_first;
    for (const Block& block : section.blocks) {
      const Hits more = hits_of(searched_text(block), word);
      text.add(more, 1);
      if (!std::holds_alternative<Paragraph>(block)) continue;
      if (is_sentence) hits.add(more, kOfSentence);
      is_sentence = false;
    }
    hits.add(hits_of(section.heading, word), kOfHeading);
    if (is_first) hits.add(hits_of(section.topic, word), kOfTopic);
    hits.add({std::min(text.whole, kMostOfText), std::min(text.parts, kMostOfText)}, 1);
    if (hits.all() == 0) return {};
    all.add(hits, 1);
  }
  return all;
}

// The sections that have all the words, those with most first.
std::vector<Section> sections_with(std::span<const std::string> words) {
  std::vector<Section> found;
  for (const HelpPage& page : help_pages()) {
    bool is_first = true;
    for (Section& section : sections_of(page)) {
      section.found = hits_of_words(section, words, std::exchange(is_first, false));
      if (section.found.all() > 0) found.push_back(std::move(section));
    }
  }
  std::ranges::stable_sort(found, std::greater(), [](const Section& section) {
    return std::pair(section.found.whole, section.found.parts);
  });
  return found;
}

// The first blocks of a section that have one of the words, of a table the rows; or how it begins.
std::vector<Block> blocks_with(const Section& section, std::span<const std::string> words) {
  constexpr std::size_t kMost = 3;
  const auto has_one = [&](std::string_view text) {
    return std::ranges::any_of(words, [&](const auto& word) {
      const Hits hits = hits_of(text, word);
      return (section.found.whole > 0 ? hits.whole : hits.all()) > 0;
    });
  };
  std::vector<Block> found;
  for (const Block& block : section.blocks) {
    if (found.size() == kMost) break;
    if (std::holds_alternative<Heading>(block) || !has_one(searched_text(block))) continue;
    found.push_back(block);
    if (auto* const table = std::get_if<Table>(&found.back())) {
      std::erase_if(table->rows, [&](const std::vector<std::string>& row) {
        return !has_one(joined_text(row, " "));
      });
      table->rows.resize(std::min(table->rows.size(), kMost));
    }
  }
  if (found.empty() && section.blocks.size() > 1) found.push_back(section.blocks[1]);
  return found;
}

// The words themselves where a page has them in this order, else each of them.
std::vector<std::string> searched_words(std::string_view words) {
  std::vector<std::string> phrase = {lower_ascii(words)};
  if (!sections_with(phrase).empty()) return phrase;
  std::vector<std::string> each;
  const std::string text = phrase.front();
  for (std::string_view rest = strip(text); !rest.empty(); rest = strip(rest)) {
    each.emplace_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(each.back().size());
    if (std::ranges::count(each, each.back()) > 1) return phrase;  // that is no question
  }
  return each;
}

std::string sentence_of(const HelpPage& page) {
  for (const Block& block : parse(page.source)) {
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) return paragraph->text;
  }
  return {};
}

// The same as a JSON object.
std::optional<std::string> help_json(std::string_view topic, std::size_t width) {
  const HelpPage* const page = find_page(topic);
  if (page == nullptr) return std::nullopt;
  const Json json = {{"topic", page->topic},
                     {"summary", sentence_of(*page)},
                     {"text", page_text(blocks_of(*page), width)}};
  return indented_lines(json, JsonCharacters::utf8);
}

// Every topic with its page's sentence, for people, in lines of at most `width` columns.
std::string help_list(std::size_t width) {
  constexpr std::size_t kIndent = 21;
  std::string text = "Topics of 'aggregate-power help TOPIC':\n";
  for (const HelpPage& page : help_pages()) {
    text += wrapped(sentence_of(page), fmt::format("  {:18} ", page.topic), kIndent, width);
  }
  return text + "The options of a command: 'aggregate-power COMMAND --help'.\n";
}

// The same as a JSON array.
std::string help_list_json() {
  Json topics = list_of(help_pages(), [&](const HelpPage& page) -> Json {
    return {{"topic", page.topic}, {"summary", sentence_of(page)}};
  });
  return indented_lines(topics, JsonCharacters::utf8);
}

// What pages have on a word or words, in upper or lower case: the sections that have most, and the
// names of the others. Empty: no page has it.
std::string help_search(std::string_view words, std::size_t width) {
  constexpr std::size_t kQuoted = 5;
  constexpr std::size_t kNamed = 15;
  const std::vector<std::string> searched = searched_words(words);
  const std::vector<Section> found = sections_with(searched);
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), kQuoted); ++i) {
    const std::vector<Block> blocks = blocks_with(found[i], searched);
    text += fmt::format("help {}: {}\n\n{}\n", found[i].topic, found[i].heading,
                        page_text(blocks, width));
  }
  for (std::size_t i = kQuoted; i < std::min(found.size(), kQuoted + kNamed); ++i) {
    text += fmt::format("{}  help {:24} {}\n", i == kQuoted ? "Also in:\n" : "", found[i].topic,
                        found[i].heading);
  }
  return text;
}

// A page for a terminal of `width` columns. Returns nullopt if there is no such topic.
std::optional<std::string> help_text(std::string_view topic, std::size_t width) {
  const HelpPage* const page = find_page(topic);
  if (page == nullptr) return std::nullopt;
  return page_text(blocks_of(*page), width);
}

std::vector<std::string> help_topics() {
  return mapped<std::string>(help_pages(), &HelpPage::topic);
}

}  // namespace

const std::vector<HelpPage>& help_pages() {
  static const std::vector<HelpPage> pages = {
#include "help_pages.inc"
  };
  return pages;
}

std::optional<std::string> help_man_page(std::string_view topic) {
  const HelpPage* const page = find_page(topic);
  if (page == nullptr) return std::nullopt;
  std::string name = fmt::format("aggregate-power-{}", topic);
  std::string sentence = sentence_of(*page);
  if (sentence.ends_with('.')) sentence.pop_back();
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return fmt::format(
      ".TH {} 7 \"\" \"aggregate\\-power {}\" \" \"\n.ad l\n.SH NAME\n{} \\- {}\n"
      ".SH DESCRIPTION\n{}"
      ".SH SEE ALSO\n\\fBaggregate\\-power\\fR(1)\n",
      roff_escaped(title), AGGREGATE_POWER_VERSION, roff_escaped(name), roff_escaped(sentence),
      page_roff(blocks_of(*page)));
}

std::string unknown_topic(std::string_view topic) {
  const std::string near = did_you_mean(topic, help_topics());
  if (!near.empty()) return fmt::format("unknown topic '{}'{}", topic, near);
  return fmt::format("unknown topic '{}'; known: {}", topic, fmt::join(help_topics(), ", "));
}

// ---- aggregate-power help and aggregate-power explain: pages, and what the words of a record
// mean.

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

// The same for one and for several: "timezone" and "time-zones".
std::string singular_name(std::string_view name) {
  std::string plain = plain_name(name);
  if (plain.ends_with('s')) plain.pop_back();
  return plain;
}

// The page on what `word` names, also without its dashes, or for one of several. The pages of two
// commands have other names. A load generator is on the page of all, if `word` is its name or how
// its name begins. A tool that people come from has a page of its own.
std::string topic_of(const std::string& word) {
  constexpr std::size_t kLeast = 4;
  const std::vector<std::string> topics = help_topics();
  const std::string plain = plain_name(word);
  if (std::ranges::find(topics, word) != topics.end() || plain.size() < kLeast) return word;
  if (word == "patch") return "run";
  if (word == "help") return "options";
  const auto same = std::ranges::find(topics, singular_name(word), singular_name);
  if (same != topics.end()) return *same;
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
  const std::string words = joined_text(request.words, " ");
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

// A word of a list.
struct ListedWord {
  const WordList* list;
  const ExplainedWord* word;
};

// A reason against a run, or a word of an object.
using Word = std::variant<Reason, ListedWord>;

std::string_view code_of(const Word& word) {
  const auto* const listed = std::get_if<ListedWord>(&word);
  return listed != nullptr ? listed->word->code : code(std::get<Reason>(word));
}

std::vector<Word> all_words() {
  std::vector<Word> words(all_reasons().begin(), all_reasons().end());
  for (const WordList& list : word_lists()) {
    for (const ExplainedWord& word : list.words) words.emplace_back(ListedWord{&list, &word});
  }
  return words;
}

std::vector<std::string> words_known() {
  std::vector<std::string> known;
  for (const Word& word : all_words()) {
    if (std::ranges::count(known, code_of(word)) == 0) known.emplace_back(code_of(word));
  }
  return known;
}

// Several objects may use one word.
std::vector<Word> words_that_are(std::string_view code) {
  std::vector<Word> words = all_words();
  std::erase_if(words, [&](const Word& word) { return code_of(word) != code; });
  return words;
}

std::vector<Word> words_named(const std::string& word) {
  std::vector<Word> found = words_that_are(word);
  if (!found.empty()) return found;
  const std::string near = did_you_mean(word, words_known());
  throw Error(fmt::format("unknown code '{}'{}", word,
                          near.empty() ? "; 'aggregate-power explain' lists all" : near));
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
    append(words, words_named(word));
  }
  if (request.json) {
    if (request.codes.empty()) words = all_words();
    const Json all = list_of(words, word_json);
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
          "Reason codes, also of packages, words of the objects `uncertainty`, `idle`, `request_energy` and `phase_energy`, classes of a window, and how a time zone was found (default: list all)")
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

// ---- Schemas: the files of src/schemas, with shared parts and the program's own words in place.

namespace {

const std::vector<HelpPage>& schema_files() {
  static const std::vector<HelpPage> files = {
#include "schemas.inc"
  };
  return files;
}

Json schema_file(std::string_view name) {
  return Json::parse(std::ranges::find(schema_files(), name, &HelpPage::topic)->source);
}

// The list that a schema names instead of an enumeration.
Json enumeration(const std::string& list) {
  if (list == "reasons") {
    return list_of(all_reasons(), [](Reason reason) -> Json { return code(reason); });
  }
  return list_of(words_of(list), [](const ExplainedWord& word) -> Json { return word.code; });
}

// Puts the words into `part`, and into `shared` the shared parts that it refers to.
void complete(Json& part, std::map<std::string, Json>& shared) {
  static const Json parts = schema_file("parts").at("$defs");
  for (const auto& [key, value] : part.items()) {
    if (key == "enum" && value.is_string()) value = enumeration(value);
    if (value.is_structured()) complete(value, shared);
    if (key != "$ref") continue;
    const std::string name = value.get<std::string>().substr(std::size("#/$defs/") - 1);
    if (!parts.contains(name) || !shared.try_emplace(name).second) continue;
    Json copy = parts.at(name);
    complete(copy, shared);
    shared[name] = std::move(copy);
  }
}

std::string schema_text(std::string_view name) {
  Json schema = schema_file(name);
  std::map<std::string, Json> shared;
  complete(schema, shared);
  for (const auto& [part, content] : shared) schema["$defs"][part] = content;
  return indented_lines(schema, JsonCharacters::utf8);
}

int run_schema(const std::string& asked) {
  std::vector<std::string> names;
  for (const HelpPage& file : schema_files()) {
    const Json schema = schema_file(file.topic);
    if (!schema.contains("title")) continue;
    if (asked == file.topic || asked == schema["title"]) {
      print(stdout, schema_text(file.topic));
      return 0;
    }
    names.emplace_back(file.topic);
    if (!asked.empty()) continue;
    print_result(fact(file.topic, std::string(schema["description"]), 20, text_width()));
  }
  if (asked.empty()) return 0;
  const std::string near = did_you_mean(asked, names);
  throw Error(fmt::format("unknown schema '{}'{}", printable(asked),
                          near.empty() ? "; 'aggregate-power schema' lists all" : near));
}

}  // namespace

std::vector<std::string> schema_titles() {
  std::vector<std::string> titles;
  for (const HelpPage& file : schema_files()) {
    const Json schema = schema_file(file.topic);
    if (schema.contains("title")) titles.push_back(schema["title"]);
  }
  std::ranges::sort(titles);
  return titles;
}

std::string words_of_help() {
  constexpr std::size_t kWidth = 200;
  std::string words;
  for (const std::string& topic : help_topics())
    words += help_text(topic, kWidth).value_or("") + "\n";
  for (const HelpPage& file : schema_files()) words += file.source;
  return words;
}

Command schema_command() {
  const auto name = std::make_shared<std::string>();
  Command command;
  command.options.positional(
      "NAME", into(*name),
      fmt::format("The output, such as measure, or its schema {} (default: list all)",
                  std::string(schema_file("measure")["title"])));
  command.examples = "aggregate-power schema measure >measure.schema.json";
  command.exit_statuses = "0 printed; 2 unknown name, or wrong options";
  command.run = [name] { return run_schema(*name); };
  return command;
}

}  // namespace aggregate_power
