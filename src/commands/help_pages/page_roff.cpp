// Formats a help page as a man page, with troff's man macros.
#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/reason.h"
#include "commands/commands.h"
#include "commands/help_pages/help_pages.h"
#include "commands/help_pages/page_roff.h"

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

// ---- Generates the man page.

namespace {

// Text with everything escaped that troff would take for a request or an escape.
std::string troff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string option_entry(const Option& option) {
  std::string names = option.name;
  std::ranges::replace(names, ',', ' ');
  const std::string value = option.takes_value() ? " \\fI" + troff(option.value_name) + "\\fR" : "";
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(names), value, troff(option.help));
}

std::string entry(const Surrounding& one) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", troff(one.name), troff(one.text));
}

std::string entries(std::span<const Surrounding> all) {
  std::string text;
  for (const Surrounding& one : all) text += entry(one);
  return text;
}

std::string reason_codes() {
  std::string text = "What an audit record or a message names, and what to do about it.\n";
  for (const Reason reason : all_reasons()) {
    text += entry({code(reason), remedy(reason)});
  }
  return text;
}

std::string command_section(const Command& command) {
  std::string section = fmt::format(".SS {}\n{}\n", troff(command.name), troff(command.sentence));
  for (const Option& option : command.options.all()) section += option_entry(option);
  return command.notes.empty() ? section : section + ".PP\n" + troff(command.notes) + "\n";
}

}  // namespace

std::string man_page() {
  std::string page = fmt::format(
      ".TH AGGREGATE\\-POWER 1 \"\" \"aggregate\\-power {}\"\n.SH NAME\naggregate\\-power \\- energy of a GPU benchmark run, from its power telemetry\n.SH SYNOPSIS\n",
      AGGREGATE_POWER_VERSION);
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) {
    page += fmt::format(".PP\n\\fB{}\\fR {}\n", troff(command.name), troff(command.forms[0]));
  }
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) page += command_section(command);
  page += ".SH EXIT STATUS\n";
  for (const Command& command : commands) {
    page += entry({command.name, command.exit_statuses});
  }
  page += ".SH ENVIRONMENT\n" + entries(environment_variables());
  page += ".SH FILES\n" + entries(files());
  page += ".SH REASON CODES\n" + reason_codes();
  page += ".SH EXAMPLES\n.nf\n";
  for (const Command& command : commands) page += troff(command.examples) + "\n";
  return page + ".fi\n";
}

}  // namespace aggregate_power
