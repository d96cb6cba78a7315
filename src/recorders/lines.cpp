// Splits a stream at its line breaks.
#include "recorders/lines.h"

#include <array>
#include <string>

#include "recorders/telemetry.h"

namespace aggregate_power {

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
