// The help pages: their texts, the tables that the program makes itself, and how they are shown.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "commands/options/command.h"

namespace aggregate_power::markdown {

// ---- The help pages of src/help, which are compiled into the program: list, texts and man pages.

// The subset of Markdown that the help pages use.
//
// Blocks: headings, paragraphs, lists of one level, fenced code, tables, and comments. A line that
// contains `<!-- table: NAME -->` is a Placeholder, whatever else it says: the source's readers
// find there where to look, the page's readers the table itself.

// Texts are as in the source, with their lines joined by a blank; spans_of() splits them.
struct Heading {
  int level = 1;
  std::string text;
};
struct Paragraph {
  std::string text;
};
struct ListItem {
  std::string mark;  // "*", or "1."
  std::string text;
};
struct Code {
  bool is_shell = false;  // commands, and nothing that they print
  std::vector<std::string> lines;
};
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};
struct Placeholder {
  std::string name;  // "options backfill"
};
using Block = std::variant<Heading, Paragraph, ListItem, Code, Table, Placeholder>;

std::vector<Block> parse(std::string_view source);

struct MarkdownSpan {
  enum class Kind { plain, code, bold, link };
  Kind kind = Kind::plain;
  std::string text;
  std::string target = {};  // for a link
};
std::vector<MarkdownSpan> spans_of(std::string_view text);

}  // namespace aggregate_power::markdown

namespace aggregate_power {

// A page begins with a heading, its title, and a paragraph of one sentence that sums it up.
struct HelpPage {
  std::string_view topic;   // "backfill"
  std::string_view source;  // Markdown
};
const std::vector<HelpPage>& help_pages();

// A page for man: aggregate-power-TOPIC(7), in troff. Returns nullopt if there is no such topic.
std::optional<std::string> help_man_page(std::string_view topic);

// The error for a topic that does not exist, with the nearest one, or with all.
std::string unknown_topic(std::string_view topic);

// ---- The text of a command's --help.

// Usage, sentence, the options that people use, examples, exit statuses and notes, in lines of at
// most `width` columns except longer words.
std::string help_of(const Command& command, std::size_t width);
std::string help_with_all_options(const Command& command, std::size_t width);

// ---- Help pages as text for a terminal, and as man pages.

// Lines of at most `width` columns, except longer words; long lines of code are folded. Code in
// sentences keeps its backticks.
std::string page_text(std::span<const markdown::Block> blocks, std::size_t width);

// The same for troff's man macros: everything after .TH and NAME.
std::string page_roff(std::span<const markdown::Block> blocks);
// Text without markup, escaped for troff.
std::string roff_escaped(std::string_view text);

// The topic that a link such as "backfill.md#layouts" leads to; empty: not another page.
std::string_view linked_topic(std::string_view target);

// A table as columns; empty: it does not fit into `width`. The widest column may take two lines or
// three.
std::vector<std::string> aligned(const markdown::Table& table, std::size_t width);

// ---- The environment variables and files that commands use, for the man page and the help page.

struct Surrounding {
  std::string_view name;
  std::string_view text;  // plain text, no markup
};
std::span<const Surrounding> environment_variables();
std::span<const Surrounding> files();

// The names of the schemas of all outputs, with their versions.
std::vector<std::string> schema_titles();

// A text with all words of the pages and the schemas.
std::string words_of_help();

// ---- What the program is, on one screen.

// At most 30 lines of at most 70 columns: a sentence, examples, and the commands in groups.
std::string overview();

// What --help adds, as narrow: how options are asked for, and where to look for what.
std::string where_to_find();

}  // namespace aggregate_power
