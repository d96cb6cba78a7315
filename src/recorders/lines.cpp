// Splits a stream at its line breaks.
#include "recorders/lines.h"

#include <algorithm>
#include <array>
#include <string>

#include "recorders/telemetry.h"

namespace aggregate_power {

// In runs so short that each sum fits into a byte: then sixteen are added at a time.
std::uint64_t line_breaks(std::span<const char> text) {
  constexpr std::size_t kRun = 240;
  std::uint64_t count = 0;
  while (!text.empty()) {
    const std::span<const char> run = text.first(std::min(kRun, text.size()));
    std::uint8_t in_run = 0;
    for (const char c : run) in_run = static_cast<std::uint8_t>(in_run + (c == '\n' ? 1 : 0));
    count += in_run;
    text = text.subspan(run.size());
  }
  return count;
}

void for_each_line(ByteSource& source,
                   const std::function<void(std::string_view line, bool is_whole)>& take) {
  constexpr std::size_t kMostBytes = 1 << 20;
  std::array<char, 1 << 16> piece;
  std::string begun;  // of a line that earlier pieces did not end
  while (const std::size_t count = source.read(piece)) {
    std::string_view rest(piece.data(), count);
    for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      std::string_view line = rest.substr(0, end);
      if (!begun.empty()) line = begun.append(line);
      take(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line, true);
      begun.clear();
    }
    begun += rest;
    if (begun.size() > kMostBytes) throw TelemetryError("a line of more than 1048576 bytes");
  }
  if (!begun.empty()) take(begun, false);
}

}  // namespace aggregate_power
