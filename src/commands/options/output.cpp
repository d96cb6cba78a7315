// Prints to the standard streams.
#include "commands/options/output.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/report/document.h"
#include "base/text/characters.h"
#include "commands/options/terminal.h"

namespace aggregate_power {
namespace {

bool quiet = false;

struct WordColour {
  std::string_view word;  // at the beginning of a line
  std::string_view code;
};
constexpr WordColour kColours[] = {
    {"error:", "\x1B[31m"},            // red
    {"power not valid:", "\x1B[31m"},  // red
    {"warning:", "\x1B[33m"},          // yellow
};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Whether a line without blanks before it is a command because of how it begins: "::set-output
// ...::" to GitHub; "--- name", "+++ name", "~~~ name" and "^^^ +++" to Buildkite.
bool begins_a_command(std::string_view line) {
  if (line.starts_with("::")) return line.size() > 2 && is_letter(line[2]);
  constexpr std::string_view kOfGroups[] = {"--- ", "+++ ", "~~~ ", "^^^ "};
  return std::ranges::any_of(
      kOfGroups, [&](std::string_view beginning) { return line.starts_with(beginning); });
}

// What services find in the log of a job, with '?' instead of its first character: those and,
// anywhere in a line, "##vso[...]" (Azure), "##teamcity[...]" and "##[...]" (GitHub).
std::string without_log_commands(std::string line) {
  const std::string_view text = strip(line);
  const auto begin = static_cast<std::size_t>(text.data() - line.data());
  if (begins_a_command(text)) line[begin] = '?';
  for (std::size_t at = line.find("##"); at != line.npos; at = line.find("##", at + 1)) {
    std::size_t end = at + 2;
    while (end < line.size() && is_letter(line[end])) ++end;
    if (end < line.size() && line[end] == '[') line[at] = '?';
  }
  return line;
}

// Each line of a text, with its end if it has one.
void for_each_line(std::string_view text, const auto& take) {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    const bool has_end = size < text.size();
    take(text.substr(0, size), has_end);
    text.remove_prefix(size + (has_end ? 1 : 0));
  }
}

std::string coloured(const std::string& line) {
  for (const WordColour& colour : kColours) {
    if (line.starts_with(colour.word)) {
      return fmt::format("{}{}\x1B[0m{}", colour.code, colour.word,
                         line.substr(colour.word.size()));
    }
  }
  return line;
}

}  // namespace

void be_quiet() { quiet = true; }

bool is_quiet() { return quiet; }

void print(std::FILE* stream, const std::string& text) {
  std::ignore = std::fwrite(text.data(), 1, text.size(), stream);
}

void print_lines(std::FILE* stream, const std::string& text) {
  std::string lines;
  for_each_line(text, [&](std::string_view line, bool has_end) {
    lines += without_log_commands(std::string(line)) + (has_end ? "\n" : "");
  });
  print(stream, lines);
}

void print_result(const std::string& text) {
  if (quiet) return;
  std::string lines;
  for_each_line(text, [&](std::string_view line, bool has_end) {
    lines += one_line(line) + (has_end ? "\n" : "");
  });
  print_lines(stdout, lines);
}

void print_message(const std::string& line) {
  const std::string shown = without_log_commands(one_line(line));
  print(stderr, fmt::format("aggregate-power: {}\n", has_colour(stderr) ? coloured(shown) : shown));
}

void print_note(const std::string& line) {
  if (!quiet) print_message(line);
}

std::string outcome_table(std::uint64_t runs, bool dry_run, const std::vector<OutcomeRow>& rows) {
  std::string text = count_line(dry_run ? "runs (dry run)" : "runs", runs);
  for (const OutcomeRow& row : rows) {
    if (row.runs > 0) text += count_line(fmt::format("  {}", row.name), row.runs, row.note);
  }
  return text;
}

std::string count_line(const std::string& name, std::uint64_t count, const std::string& note) {
  static const TextTable table("[ <22][ >8]  [ <]");
  std::string line;
  table.add({name, count, note}, line);
  return line;
}

int report(bool require_power, const std::function<CommandOutput()>& job) {
  CommandOutput output;
  try {
    output = job();
  } catch (const std::exception& error) {
    output.err.push_back(fmt::format("error: {}", error.what()));
    output.exit_status = require_power ? 1 : 0;
  }
  for (const std::string& line : output.original_err) print(stderr, line + '\n');
  for (const std::string& line : output.warnings) print_note(line);
  for (const std::string& line : output.err) print_message(line);
  if (!output.json.empty()) print(stdout, output.json);
  for (const std::string& line : output.out) {
    print_result(fmt::format("aggregate-power: {}\n", line));
  }
  return output.exit_status;
}

}  // namespace aggregate_power
