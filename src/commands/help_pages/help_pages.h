// The help pages of src/help, which are compiled into the program: list, texts and man pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/help_pages/markdown.h"

namespace aggregate_power {

// A page begins with a heading, its title, and a paragraph of one sentence that sums it up.
struct HelpPage {
  std::string_view topic;   // "backfill"
  std::string_view source;  // Markdown
};
const std::vector<HelpPage>& help_pages();

std::vector<std::string> help_topics();

// Every topic with its page's sentence, for people, in lines of at most `width` columns.
std::string help_list(std::size_t width);
// The same as a JSON array.
std::string help_list_json();

// A page for a terminal of `width` columns. Returns nullopt if there is no such topic.
std::optional<std::string> help_text(std::string_view topic, std::size_t width);
// The same as a JSON object.
std::optional<std::string> help_json(std::string_view topic, std::size_t width);

// What pages have on a word or words, in upper or lower case: the sections that have most, and the
// names of the others. Empty: no page has it.
std::string help_search(std::string_view words, std::size_t width);

// A page for man: aggregate-power-TOPIC(7), in troff. Returns nullopt if there is no such topic.
std::optional<std::string> help_man_page(std::string_view topic);

// The error for a topic that does not exist, with the nearest one, or with all.
std::string unknown_topic(std::string_view topic);

}  // namespace aggregate_power
