// Compares the separators of lines, all bytes of a block at once.
#include "base/text/alike_lines.h"

#include <algorithm>

#include "base/text/byte_masks.h"

namespace aggregate_power {

AlikeLines::AlikeLines() {
#if defined(__x86_64__)
  has_avx2_ = Avx2Kernel::is_supported();
#endif
}

[[gnu::always_inline]] inline std::uint8_t AlikeLines::separator_or_text(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte <= ' ' || byte == ',' || byte == '"' ? byte : kText;
}

void AlikeLines::learn(std::string_view line, std::uint64_t layout) {
  layout_ = layout;
  is_alike_ = true;
  size_ = line.size();
  blocks_.resize((line.size() + LineBlock::kBytes - 1) / LineBlock::kBytes);
  std::size_t at = 0;
  for (LineBlock& block : blocks_) {
    for (std::size_t i = 0; i < LineBlock::kBytes; ++i, ++at) {
      block.separators[i] = at < line.size() ? separator_or_text(line[at]) : kText;
      block.ignored[i] = at < line.size() ? 0 : 0xFF;
    }
  }
}

// Inlined into a function for each kind of processor. The inner loop has neither branches nor an
// end that varies, so that it becomes a few instructions for many bytes.
[[gnu::always_inline]] inline std::size_t AlikeLines::count_in(std::string_view text,
                                                               std::size_t most) const {
  const std::size_t lines = std::min(most, text.size() / size_);
  const char* line = text.data();
  for (std::size_t found = 0; found < lines; ++found, line += size_) {
    std::uint8_t different = 0;
    const char* at = line;
    for (const LineBlock& block : blocks_) {
      for (std::size_t i = 0; i < LineBlock::kBytes; ++i) {
        const auto separator =
            static_cast<std::uint8_t>(separator_or_text(at[i]) | block.ignored[i]);
        different = static_cast<std::uint8_t>(different | (separator ^ block.separators[i]));
      }
      at += LineBlock::kBytes;
    }
    if (different != 0) return found;
  }
  return lines;
}

#if defined(__x86_64__)
[[AGGREGATE_POWER_AVX2]] std::size_t AlikeLines::count_with_avx2(std::string_view text,
                                                                 std::size_t most) const {
  return count_in(text, most);
}
#endif

std::size_t AlikeLines::count(std::string_view text, std::size_t most) const {
#if defined(__x86_64__)
  if (has_avx2_) return count_with_avx2(text, most);
#endif
  return count_in(text, most);
}

}  // namespace aggregate_power
