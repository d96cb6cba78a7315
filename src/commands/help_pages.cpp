// Assembles the compiled-in help pages.
#include "commands/help_pages.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text/nearest.h"
#include "base/text/wrap.h"

#include "commands/help_tables.h"
#include "commands/page_text.h"

namespace aggregate_power {
namespace {

using namespace markdown;
using Json = nlohmann::ordered_json;

const HelpPage* find_page(std::string_view topic) {
  const auto page = std::ranges::find(help_pages(), topic, &HelpPage::topic);
  return page == help_pages().end() ? nullptr : &*page;
}

// The page's blocks, with the program's tables in their places.
std::vector<Block> blocks_of(const HelpPage& page) {
  std::vector<Block> blocks = parse(page.source);
  for (Block& block : blocks) {
    if (const auto* wanted = std::get_if<Placeholder>(&block)) block = help_table(wanted->name);
  }
  return blocks;
}

std::string sentence_of(const HelpPage& page) {
  for (const Block& block : parse(page.source)) {
    if (const auto* paragraph = std::get_if<Paragraph>(&block)) return paragraph->text;
  }
  return {};
}

}  // namespace

const std::vector<HelpPage>& help_pages() {
  static const std::vector<HelpPage> pages = {
#include "help_pages.inc"
  };
  return pages;
}

std::vector<std::string> help_topics() {
  std::vector<std::string> topics;
  for (const HelpPage& page : help_pages()) topics.emplace_back(page.topic);
  return topics;
}

std::string help_list(std::size_t width) {
  constexpr std::size_t kIndent = 21;
  std::string text = "Topics of 'aggregate-power help TOPIC':\n";
  for (const HelpPage& page : help_pages()) {
    text += wrapped(sentence_of(page), fmt::format("  {:18} ", page.topic), kIndent, width);
  }
  return text + "The options of a command: 'aggregate-power COMMAND --help'.\n";
}

std::string help_list_json() {
  Json topics = Json::array();
  for (const HelpPage& page : help_pages()) {
    topics.push_back({{"topic", page.topic}, {"summary", sentence_of(page)}});
  }
  return topics.dump(2) + "\n";
}

std::optional<std::string> help_text(std::string_view topic, std::size_t width) {
  const HelpPage* const page = find_page(topic);
  if (page == nullptr) return std::nullopt;
  return page_text(blocks_of(*page), width);
}

std::optional<std::string> help_json(std::string_view topic, std::size_t width) {
  const HelpPage* const page = find_page(topic);
  if (page == nullptr) return std::nullopt;
  const Json json = {{"topic", page->topic},
                     {"summary", sentence_of(*page)},
                     {"text", page_text(blocks_of(*page), width)}};
  return json.dump(2) + "\n";
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

}  // namespace aggregate_power
