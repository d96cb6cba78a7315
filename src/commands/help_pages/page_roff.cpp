// Formats a help page as a man page, with troff's man macros.
#include <fmt/format.h>

#include "commands/help_pages/page_text.h"

namespace aggregate_power {
namespace {

using namespace markdown;

// The first character of UTF-8 text; all characters in the pages have at most three bytes.
char32_t code_point_at_start(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0xC0) return byte(0);
  if (byte(0) < 0xE0) return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
  return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
}
std::size_t size_of(char32_t character) { return character < 0x80 ? 1 : character < 0x800 ? 2 : 3; }

// Characters that troff would print as others, or interpret.
std::string_view escape_of(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    case '"':
      return "\\(dq";
    default:
      return {};
  }
}

std::string roff(const MarkdownSpan& span) {
  const std::string text = roff_escaped(span.text);
  switch (span.kind) {
    case MarkdownSpan::Kind::plain:
      return text;
    case MarkdownSpan::Kind::bold:
    case MarkdownSpan::Kind::code:
      return fmt::format("\\fB{}\\fR", text);
    case MarkdownSpan::Kind::link:
      if (const std::string_view topic = linked_topic(span.target); !topic.empty()) {
        return fmt::format("{} (\\fBaggregate\\-power\\-{}\\fR(7))", text, roff_escaped(topic));
      }
      if (span.target.find("://") == std::string::npos) return text;
      return fmt::format("{} <{}>", text, roff_escaped(span.target));
  }
  return {};
}

// A line of text that cannot be mistaken for a request.
std::string line_of(std::string_view text) {
  std::string line;
  for (const MarkdownSpan& span : spans_of(text)) line += roff(span);
  return line.starts_with('.') ? "\\&" + line : line;
}

std::string verbatim(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.RS 4\n.nf\n";
  for (const std::string& line : lines) {
    const std::string escaped = roff_escaped(line);
    text += (escaped.starts_with('.') ? "\\&" + escaped : escaped) + "\n";
  }
  return text + ".fi\n.RE\n";
}

std::string roff_of(const Heading& heading) {
  if (heading.level == 1) return {};  // the page's name is in .TH
  return fmt::format(".{} {}\n", heading.level == 2 ? "SH" : "SS", line_of(heading.text));
}

std::string roff_of(const Paragraph& paragraph) { return ".PP\n" + line_of(paragraph.text) + "\n"; }

std::string roff_of(const ListItem& item) {
  const std::string mark = item.mark == "*" ? "\\(bu 2" : roff_escaped(item.mark) + " 4";
  return fmt::format(".IP {}\n{}\n", mark, line_of(item.text));
}

std::string roff_of(const Code& code) { return verbatim(code.lines); }

std::string roff_of(const Table& table) {
  constexpr std::size_t kWidth = 68;
  if (const auto lines = aligned(table, kWidth); !lines.empty()) return verbatim(lines);
  std::string text;
  for (const auto& row : table.rows) {
    text += ".TP\n" + line_of(row[0]) + "\n";
    std::string_view between;
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      const std::string name = row.size() > 2 ? table.header[i] + ": " : "";
      text += fmt::format("{}{}\n", between, line_of(name + row[i]));
      between = ".br\n";
    }
  }
  return text;
}

std::string roff_of(const Placeholder&) { return {}; }

}  // namespace

std::string roff_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const char32_t character = code_point_at_start(text);
    if (character >= 0x80) {
      result += fmt::format("\\[u{:04X}]", static_cast<unsigned>(character));
    } else if (const std::string_view escape = escape_of(text.front()); !escape.empty()) {
      result += escape;
    } else {
      result += text.front();
    }
    text.remove_prefix(size_of(character));
  }
  return result;
}

std::string page_roff(std::span<const Block> blocks) {
  std::string text;
  for (const Block& block : blocks) {
    text += std::visit([](const auto& one) { return roff_of(one); }, block);
  }
  return text;
}

}  // namespace aggregate_power
