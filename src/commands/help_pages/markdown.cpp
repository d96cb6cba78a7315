// Parses the Markdown of the help pages.
#include "commands/help_pages/help_pages.h"

#include <algorithm>
#include <utility>

namespace aggregate_power::markdown {
namespace {

constexpr std::string_view kCommentStart = "<!-- ";
constexpr std::string_view kCommentEnd = " -->";
constexpr std::string_view kTable = "<!-- table: ";

std::vector<std::string_view> lines_of(std::string_view source) {
  std::vector<std::string_view> lines;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    lines.push_back(source.substr(0, end));
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

std::optional<std::string> placeholder(std::string_view line) {
  const std::size_t start = line.find(kTable);
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(start + kTable.size());
  return std::string(rest.substr(0, rest.find(kCommentEnd)));
}

int heading_level(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  return level != std::string_view::npos && level > 0 && line[level] == ' '
             ? static_cast<int>(level)
             : 0;
}

// "* " or "12. " at the start of a line; empty: not a list item.
std::string_view list_mark(std::string_view line) {
  if (line.starts_with("* ")) return line.substr(0, 1);
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits > 0 && line.substr(std::min(digits, line.size())).starts_with(". ")
             ? line.substr(0, digits + 1)
             : std::string_view();
}

// The cells of "| a | b |"; a bar inside a cell is written \|.
std::vector<std::string> cells_of(std::string_view line) {
  line = trimmed(line);
  line.remove_prefix(1);
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("\\|")) {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back(trimmed(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

bool starts_a_block(std::string_view line) {
  return trimmed(line).empty() || heading_level(line) > 0 || !list_mark(line).empty() ||
         line.starts_with("```") || line.starts_with('|') || line.starts_with(kCommentStart) ||
         placeholder(line);
}

class Parser {
 public:
  explicit Parser(std::string_view source) : lines_(lines_of(source)) {}

  std::vector<Block> parse() {
    std::vector<Block> blocks;
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      if (const auto name = placeholder(line)) {
        ++at_;
        blocks.emplace_back(Placeholder{*name});
      } else if (trimmed(line).empty() || line.starts_with(kCommentStart)) {
        ++at_;
      } else if (const int level = heading_level(line); level > 0) {
        ++at_;
        blocks.emplace_back(
            Heading{level, std::string(trimmed(line.substr(static_cast<std::size_t>(level))))});
      } else if (line.starts_with("```")) {
        blocks.emplace_back(code());
      } else if (line.starts_with('|')) {
        blocks.emplace_back(table());
      } else if (const std::string_view mark = list_mark(line); !mark.empty()) {
        blocks.emplace_back(ListItem{std::string(mark), text(mark.size())});
      } else {
        blocks.emplace_back(Paragraph{text(0)});
      }
    }
    return blocks;
  }

 private:
  // This line without its first `skipped` bytes, and the lines that continue it.
  std::string text(std::size_t skipped) {
    std::string joined(trimmed(lines_[at_++].substr(skipped)));
    while (at_ < lines_.size() && !starts_a_block(lines_[at_])) {
      joined.append(" ").append(trimmed(lines_[at_++]));
    }
    return joined;
  }

  Code code() {
    Code code{lines_[at_] == "```sh", {}};
    for (++at_; at_ < lines_.size() && !lines_[at_].starts_with("```"); ++at_) {
      code.lines.emplace_back(lines_[at_]);
    }
    ++at_;
    return code;
  }

  Table table() {
    Table table;
    table.header = cells_of(lines_[at_]);
    at_ += 2;  // the line of dashes contains nothing else
    for (; at_ < lines_.size() && lines_[at_].starts_with('|'); ++at_) {
      table.rows.push_back(cells_of(lines_[at_]));
      table.rows.back().resize(table.header.size());
    }
    return table;
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

struct Marks {
  std::string_view open;
  std::string_view close;
  MarkdownSpan::Kind kind;
};
constexpr Marks kMarks[] = {{"`", "`", MarkdownSpan::Kind::code},
                            {"**", "**", MarkdownSpan::Kind::bold},
                            {"[", "](", MarkdownSpan::Kind::link}};

// The span at the start of `text`, if it has a special form, and its length in the source.
std::optional<std::pair<MarkdownSpan, std::size_t>> span_at(std::string_view text) {
  for (const Marks& marks : kMarks) {
    if (!text.starts_with(marks.open)) continue;
    const std::size_t end = text.find(marks.close, marks.open.size());
    if (end == std::string_view::npos) continue;
    MarkdownSpan span{marks.kind,
                      std::string(text.substr(marks.open.size(), end - marks.open.size()))};
    if (marks.kind == MarkdownSpan::Kind::link && span.text.find('[') != std::string::npos)
      continue;
    std::size_t length = end + marks.close.size();
    if (marks.kind == MarkdownSpan::Kind::link) {
      const std::size_t close = text.find(')', length);
      if (close == std::string_view::npos) continue;
      span.target = text.substr(length, close - length);
      length = close + 1;
    }
    return std::pair(std::move(span), length);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Block> parse(std::string_view source) { return Parser(source).parse(); }

std::vector<MarkdownSpan> spans_of(std::string_view text) {
  std::vector<MarkdownSpan> spans;
  while (!text.empty()) {
    if (auto found = span_at(text)) {
      spans.push_back(std::move(found->first));
      text.remove_prefix(found->second);
      continue;
    }
    if (spans.empty() || spans.back().kind != MarkdownSpan::Kind::plain) spans.push_back({});
    spans.back().text += text.front();
    text.remove_prefix(1);
  }
  return spans;
}

}  // namespace aggregate_power::markdown
