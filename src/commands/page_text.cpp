// Formats a help page as text for a terminal.
#include "commands/page_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

using namespace markdown;

constexpr std::size_t kWidth = 80;
constexpr std::size_t kTableWidth = 100;

// The width of UTF-8 text, in characters: those in the pages are one column wide.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

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

// `text` split into lines; the first begins with `first`, the others with `indent` blanks.
std::string wrapped(std::string_view text, std::string first, std::size_t indent) {
  std::string result;
  std::string line = std::move(first);
  bool is_empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) continue;
    if (!is_empty && columns(line) + 1 + columns(word) > kWidth) {
      result += line + "\n";
      line.assign(indent, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return result + line + "\n";
}

// One row after another: the first cell, and below it the others with their columns' names.
std::string described(const Table& table) {
  std::string text;
  for (const auto& row : table.rows) {
    text += wrapped(shown(row[0]), "  ", 2);
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      const std::string name = row.size() > 2 ? shown(table.header[i]) + ": " : "";
      text += wrapped(name + shown(row[i]), std::string(6, ' '), 6);
    }
  }
  return text;
}

std::string text_of(const Heading& heading) {
  const std::string title = shown(heading.text);
  const char under = heading.level == 1 ? '=' : '-';
  return heading.level > 2 ? title + "\n"
                           : fmt::format("{}\n{}\n", title, std::string(columns(title), under));
}

std::string text_of(const Paragraph& paragraph) { return wrapped(shown(paragraph.text), "", 0); }

std::string text_of(const ListItem& item) {
  const std::string mark = fmt::format("  {} ", item.mark);
  return wrapped(shown(item.text), mark, mark.size());
}

std::string text_of(const Code& code) {
  std::string text;
  for (const std::string& line : code.lines) text += line.empty() ? "\n" : "    " + line + "\n";
  return text;
}

std::string text_of(const Table& table) {
  std::string text;
  for (const std::string& line : aligned(table, kTableWidth - 2)) text += "  " + line + "\n";
  return text.empty() ? described(table) : text;
}

std::string text_of(const Placeholder&) { return {}; }

}  // namespace

std::string_view linked_topic(std::string_view target) {
  const std::string_view file = target.substr(0, target.find('#'));
  if (!file.ends_with(".md") || file.find('/') != std::string_view::npos) return {};
  return file.substr(0, file.size() - 3);
}

std::vector<std::string> aligned(const Table& table, std::size_t width) {
  std::vector<std::vector<std::string>> rows = {table.header};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  std::vector<std::size_t> widths(table.header.size());
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = shown(row[i]);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  std::size_t total = 0;
  for (const std::size_t one : widths) total += one + 2;
  if (total > width + 2) return {};

  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] + 2 - columns(row[i]), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string page_text(std::span<const Block> blocks) {
  std::string text;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool goes_on = i > 0 && std::holds_alternative<ListItem>(blocks[i - 1]) &&
                         std::holds_alternative<ListItem>(blocks[i]);
    if (i > 0 && !goes_on) text += '\n';
    text += std::visit([](const auto& block) { return text_of(block); }, blocks[i]);
  }
  return text;
}

}  // namespace aggregate_power
