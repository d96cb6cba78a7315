// The subset of Markdown that the help pages use.
//
// Blocks: headings, paragraphs, lists of one level, fenced code, tables, and comments. A line that
// contains `<!-- table: NAME -->` is a Placeholder, whatever else it says: the source's readers
// find there where to look, the page's readers the table itself.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aggregate_power::markdown {

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
