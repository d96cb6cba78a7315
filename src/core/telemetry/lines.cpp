// Splits a stream at its line breaks.
#include "core/telemetry/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/sample.h"
#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"
#include "core/telemetry/telemetry.h"

namespace aggregate_power {

namespace {

constexpr std::size_t kLongestLine = 1 << 20;

[[noreturn]] void throw_long_line() {
  throw TelemetryError(fmt::format("a line of more than {} bytes", kLongestLine));
}

}  // namespace

void for_each_line(ByteSource& source, const TakeLine& take) {
  constexpr std::size_t kPieceBytes = 1 << 18;
  std::size_t room = kPieceBytes;
  auto buffer = std::make_unique_for_overwrite<char[]>(room);
  std::size_t begun = 0;  // bytes of a line that is not ended yet
  while (true) {
    if (room < begun + kPieceBytes) {
      room *= 2;
      auto larger = std::make_unique_for_overwrite<char[]>(room);
      std::memcpy(larger.get(), buffer.get(), begun);
      buffer = std::move(larger);
    }
    const std::size_t count = source.read({buffer.get() + begun, kPieceBytes});
    if (count == 0) break;
    std::string_view rest(buffer.get(), begun + count);
    for (std::size_t end = rest.find('\n', begun); end != rest.npos; end = rest.find('\n')) {
      if (end > kLongestLine) throw_long_line();
      const std::string_view line = rest.substr(0, end);
      take(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line, true);
      rest.remove_prefix(end + 1);
    }
    begun = rest.size();
    std::memmove(buffer.get(), rest.data(), begun);
    if (begun > kLongestLine) throw_long_line();
  }
  if (begun > 0) take({buffer.get(), begun}, false);
}

std::vector<std::string_view> lines_of(std::string_view text, std::size_t most) {
  constexpr std::size_t kMostShownBytes = 4096;
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = strip(text.substr(0, std::min(end, kMostShownBytes)));
    if (!line.empty()) lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool has_all(std::string_view text, const std::vector<std::string_view>& parts) {
  return std::ranges::all_of(parts,
                             [&](std::string_view part) { return text.find(part) != text.npos; });
}

bool looks_like_data(std::span<const std::string> cells) {
  return std::ranges::any_of(cells, [](const std::string& cell) {
    const auto stamp = StampParser(Zone::fixed(0)).parse(strip(cell));
    return stamp && (stamp->unix_s >= kFirstAbsoluteUnixS || cell.find('.') != cell.npos);
  });
}

std::vector<std::string> first_lines(std::string_view head) {
  constexpr std::size_t kLines = 3;
  constexpr std::size_t kCharacters = 100;
  std::vector<std::string> shown;
  for (const std::string_view line : lines_of(head, kLines)) {
    std::string text(line);
    std::erase(text, '\0');
    shown.push_back(printable(text, kCharacters));
  }
  return shown;
}

// ---- Takes the marks and words off that scripts put before a time.

std::string_view time_of_line(std::string_view line) {
  if (line.find('{') != line.npos) return {};
  if (line.starts_with("# HELP") || line.starts_with("# TYPE")) return {};
  while (line.starts_with('#') || line.starts_with('=') || line.starts_with('-')) {
    line.remove_prefix(1);
  }
  line = strip(line);
  for (const std::string_view word : {"timestamp", "scrape", "time", "date"}) {
    if (!lower_ascii(line.substr(0, word.size())).starts_with(word)) continue;
    line.remove_prefix(word.size());
    line = strip(line);
    while (line.starts_with(':') || line.starts_with('=')) line.remove_prefix(1);
    line = strip(line);
  }
  static const Zone utc = Zone::fixed(0);
  const auto stamp = StampParser(utc).parse(line);
  return stamp && stamp->unix_s >= kFirstAbsoluteUnixS ? line : std::string_view();
}

}  // namespace aggregate_power
