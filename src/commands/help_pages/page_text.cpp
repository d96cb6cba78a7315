// Formats a help page as text for a terminal.
#include "commands/help_pages/help_pages.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/wrap.h"

namespace aggregate_power {
namespace {

using namespace markdown;

std::string shown(const MarkdownSpan& span) {
  switch (span.kind) {
    case MarkdownSpan::Kind::plain:
    case MarkdownSpan::Kind::bold:
      return span.text;
    case MarkdownSpan::Kind::code:
      return fmt::format("`{}`", span.text);
    case MarkdownSpan::Kind::link:
      if (const std::string_view topic = linked_topic(span.target); !topic.empty()) {
        return fmt::format("{} (help {})", span.text, topic);
      }
      if (span.target.find("://") == std::string::npos) return span.text;
      return fmt::format("{} <{}>", span.text, span.target);
  }
  return {};
}

std::string shown(std::string_view text) {
  std::string plain;
  for (const MarkdownSpan& span : spans_of(text)) plain += shown(span);
  return plain;
}

// One row after another: the first cell, and below it the others with their columns' names.
std::string described(const Table& table, std::size_t width) {
  std::string text;
  for (const auto& row : table.rows) {
    text += wrapped(shown(row[0]), "  ", 2, width);
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      const std::string name = row.size() > 2 ? shown(table.header[i]) + ": " : "";
      text += wrapped(name + shown(row[i]), std::string(6, ' '), 6, width);
    }
  }
  return text;
}

std::string text_of(const Heading& heading, std::size_t) {
  const std::string title = shown(heading.text);
  const char under = heading.level == 1 ? '=' : '-';
  return heading.level > 2 ? title + "\n"
                           : fmt::format("{}\n{}\n", title, std::string(columns(title), under));
}

std::string text_of(const Paragraph& paragraph, std::size_t width) {
  return wrapped(shown(paragraph.text), "", 0, width);
}

std::string text_of(const ListItem& item, std::size_t width) {
  const std::string mark = fmt::format("  {} ", item.mark);
  return wrapped(shown(item.text), mark, mark.size(), width);
}

// A line of code, broken at blanks where it is too long, or else in a word.
std::string folded(std::string_view line, std::size_t indent, std::size_t width) {
  std::string text;
  while (indent + columns(line) > width) {
    const std::string_view part = line.substr(0, width - indent);
    const std::size_t blank = part.find_last_of(" \t");
    const std::size_t code = part.find_first_not_of(" \t");
    std::size_t end = part.size();
    if (blank != std::string_view::npos && blank > code) end = blank;
    while (end > 1 && end < line.size() && is_utf8_continuation(line[end])) --end;
    text += std::string(indent, ' ').append(line.substr(0, end)) + "\n";
    line.remove_prefix(end);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    indent = 8;
  }
  return text + std::string(indent, ' ').append(line) + "\n";
}

// The last blank outside quotes, before an option if possible, at which the line, with a backslash
// in place of what follows, is not too long; npos: there is none.
std::size_t shell_break(std::string_view line, std::size_t most) {
  std::size_t at = std::string_view::npos;
  std::size_t before_option = at;
  char quote = 0;
  for (std::size_t i = 2; i < line.size() && columns(line.substr(0, i)) + 2 <= most; ++i) {
    if (quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (line[i] == '"' || line[i] == '\'') {
      quote = line[i];
    } else if (line[i] == ' ' && line.find_first_not_of(' ', 2) < i) {
      at = i;
      if (line.substr(i + 1).starts_with("--")) before_option = i;
    }
  }
  return before_option != std::string_view::npos ? before_option : at;
}

// The same for a line that is typed, also after the shell's prompt: it remains a command. What
// follows its first line begins with `next`.
std::string folded_command(std::string line, std::string_view next, std::size_t indent,
                           std::size_t width) {
  std::string text;
  while (indent + columns(line) > width) {
    const std::size_t end = shell_break(line, width - indent);
    if (end == std::string::npos) break;  // a long word
    text += fmt::format("{:{}}{} \\\n", "", indent, line.substr(0, end));
    line = std::string(next) + line.substr(end + 1);
  }
  return fmt::format("{}{:{}}{}\n", text, "", indent, line);
}

bool is_command(std::string_view line) { return line.starts_with("$ ") || line.starts_with("> "); }

std::string text_of(const Code& code, std::size_t width) {
  constexpr std::size_t kIndent = 4;
  std::string text;
  bool is_text = false;  // of a here-document, up to its last line
  for (const std::string& line : code.lines) {
    is_text = is_text || line.find("<<") != std::string::npos || line.starts_with('#');
    text += line.empty()       ? "\n"
            : is_command(line) ? folded_command(line, ">   ", kIndent, width)
            : !code.is_shell   ? folded(line, kIndent, width)
            : is_text          ? fmt::format("{:{}}{}\n", "", kIndent, line)
                               : folded_command(line, "    ", kIndent, width);
    is_text = is_text && !line.starts_with('#') && line != "EOF";
  }
  return text;
}

std::string text_of(const Table& table, std::size_t width) {
  std::string text;
  for (const std::string& line : aligned(table, width - 2)) text += "  " + line + "\n";
  return text.empty() ? described(table, width) : text;
}

std::string text_of(const Placeholder&, std::size_t) { return {}; }

// Lines of one cell that is `width` columns wide; empty: a word does not fit.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines;
  const std::string text = wrapped(cell, "", 0, width);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    if (columns(lines.back()) > width) return {};
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string_view linked_topic(std::string_view target) {
  const std::string_view file = target.substr(0, target.find('#'));
  if (!file.ends_with(".md") || file.find('/') != std::string_view::npos) return {};
  return file.substr(0, file.size() - 3);
}

std::vector<std::string> aligned(const Table& table, std::size_t width) {
  std::vector<std::vector<std::string>> rows = {table.header};
  append(rows, table.rows);
  std::vector<std::size_t> widths(table.header.size());
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = shown(row[i]);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  constexpr std::size_t kBetween = 2;
  std::size_t total = kBetween * (widths.size() - 1);
  for (const std::size_t one : widths) total += one;
  const auto widest = std::ranges::max_element(widths);
  if (total > width) {
    const std::size_t too_wide = total - width;
    if (3 * too_wide > *widest) return {};  // it would have to be broken more than a little
    *widest -= too_wide;
  }

  const auto wide = static_cast<std::size_t>(widest - widths.begin());
  std::vector<std::string> lines;
  for (auto& row : rows) {
    const std::vector<std::string> parts = cell_lines(row[wide], *widest);
    if (parts.empty()) return {};
    for (const std::string& part : parts) {
      row[wide] = part;
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += row[i] + std::string(widths[i] + kBetween - columns(row[i]), ' ');
        if (i != wide) row[i].clear();
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::string page_text(std::span<const Block> blocks, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool goes_on = i > 0 && std::holds_alternative<ListItem>(blocks[i - 1]) &&
                         std::holds_alternative<ListItem>(blocks[i]);
    if (i > 0 && !goes_on) text += '\n';
    text += std::visit([&](const auto& block) { return text_of(block, width); }, blocks[i]);
  }
  return text;
}

}  // namespace aggregate_power
