// Formats and prints the progress line.
#include "commands/options/progress.h"

#include <unistd.h>

#include <cmath>

#include <fmt/format.h>

#include "commands/options/output.h"
#include "commands/options/terminal.h"

namespace aggregate_power {
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
