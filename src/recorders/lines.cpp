// Splits a stream at its line breaks.
#include "recorders/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text/byte_masks.h"
#include "base/text/line_parts.h"
#include "recorders/telemetry.h"

namespace aggregate_power {

namespace {

// In runs so short that each sum fits into a byte: then many are added at a time. Inlined into a
// function for each kind of processor.
[[gnu::always_inline]] inline std::uint64_t count_breaks(std::span<const char> text) {
  constexpr std::size_t kRun = 224;
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

#if defined(__x86_64__)
[[AGGREGATE_POWER_AVX2]] std::uint64_t count_breaks_with_avx2(std::span<const char> text) {
  return count_breaks(text);
}
#endif

constexpr std::size_t kLongestLine = 1 << 20;

[[noreturn]] void throw_long_line() {
  throw TelemetryError(fmt::format("a line of more than {} bytes", kLongestLine));
}

}  // namespace

std::uint64_t line_breaks(std::span<const char> text) {
#if defined(__x86_64__)
  static const bool has_avx2 = Avx2Kernel::is_supported();
  if (has_avx2) return count_breaks_with_avx2(text);
#endif
  return count_breaks(text);
}

void for_each_line(ByteSource& source, const TakeLine& take, const TakeLines& take_more) {
  constexpr std::size_t kPieceBytes = 1 << 18;
  std::size_t room = kPieceBytes;
  auto buffer = std::make_unique_for_overwrite<char[]>(room + kLineSlack);
  std::size_t begun = 0;  // bytes of a line that is not ended yet
  while (true) {
    if (room < begun + kPieceBytes) {
      room *= 2;
      auto larger = std::make_unique_for_overwrite<char[]>(room + kLineSlack);
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
      if (take_more) rest.remove_prefix(take_more(rest));
    }
    begun = rest.size();
    std::memmove(buffer.get(), rest.data(), begun);
    if (begun > kLongestLine) throw_long_line();
  }
  if (begun > 0) take({buffer.get(), begun}, false);
}

}  // namespace aggregate_power
