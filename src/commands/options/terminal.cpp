// Asks the environment and the terminal.
#include "commands/options/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "verify/bundle/bundle.h"

namespace aggregate_power {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::size_t terminal_columns(std::FILE* stream) {
  const std::size_t wanted = from_text<std::size_t>(variable("COLUMNS")).value_or(0);
  if (wanted > 0) return wanted;
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                              : kUsual;
}

std::size_t text_width() {
  constexpr std::size_t kLeast = 40;
  constexpr std::size_t kMost = 100;
  return std::clamp(terminal_columns(stdout), kLeast, kMost);
}

bool is_utf8_locale() {
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  const std::string lower = lower_ascii(locale);
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

bool has_colour(std::FILE* stream) {
  return is_terminal(stream) && variable("NO_COLOR").empty() && !variable("TERM").empty() &&
         variable("TERM") != "dumb";
}

// ---- Prints to the standard streams.

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
  const std::string named = bundle::with_names_of_bundles(text);
  std::ignore = std::fwrite(named.data(), 1, named.size(), stream);
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

void print_after_report(const std::vector<std::string>& lines) {
  std::ignore = std::fflush(stdout);
  for (const std::string& line : lines) {
    const bool is_note = line.starts_with("warning: ") || line.starts_with("note: ");
    is_note ? print_note(line) : print_message(line);
  }
}

void refuse_missing(
    std::initializer_list<std::reference_wrapper<const std::vector<std::string>>> paths,
    const FileError& error) {
  for (const std::vector<std::string>& list : paths) {
    for (const std::string& path : list) {
      if (const std::string hint = missing_file_hint(path); !hint.empty()) throw Error(hint);
    }
  }
  throw Error(error.what());
}

Json outcomes_json(const std::vector<OutcomeRow>& rows) {
  Json json = Json::object();
  for (const OutcomeRow& row : rows) json[std::string(row.name)] = row.runs;
  return json;
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

// ---- Formats and prints the progress line.

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPlainInterval = std::chrono::seconds(30);

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_text(const BackfillProgress& progress, double seconds) {
  const BackfillCounts& counts = progress.counts;
  const std::uint64_t done = counts.done();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = fmt::format("{}/{}{} runs, {:.{}f}/s", done, progress.found,
                                 progress.all_found ? "" : "+", rate, rate < 10 ? 1 : 0);
  if (rate > 0 && done < progress.found) {
    const double left = static_cast<double>(progress.found - done) / rate;
    text += fmt::format(", {}{} left", progress.all_found ? "" : "over ", time_text(left));
  }
  return text + fmt::format(": {} valid, {} invalid, {} skipped, {} failed", counts.valid,
                            counts.of(Outcome::not_valid) + counts.unchanged_not_valid,
                            counts.of(Outcome::unchanged), counts.of(Outcome::failed));
}

ProgressLine::ProgressLine()
    : is_terminal_(::isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

void ProgressLine::show(const BackfillProgress& progress) {
  const auto now = Clock::now();
  if (!is_terminal_ && now - last_ < kPlainInterval) return;
  last_ = now;
  std::string text = progress_text(progress, seconds_between(start_, now));
  if (is_terminal_) {
    text.resize(std::min(text.size(), terminal_columns(stderr) - 1));  // one line, however narrow
                                                                       // the terminal
    aggregate_power::print(stderr, "\r\x1B[K" + text);
    is_shown_ = true;
  } else {
    print_message(text);
  }
}

void ProgressLine::print(const std::string& line) {
  clear();
  print_message(line);
}

void ProgressLine::clear() {
  if (is_shown_) aggregate_power::print(stderr, "\r\x1B[K");
  is_shown_ = false;
}

}  // namespace aggregate_power
