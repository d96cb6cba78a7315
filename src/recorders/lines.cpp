// Splits a stream at its line breaks.
#include "recorders/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "recorders/telemetry.h"

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

}  // namespace aggregate_power
