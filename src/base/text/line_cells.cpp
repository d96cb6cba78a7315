// Finds the commas of a line, and its cells if the line before had others.
#include "base/text/line_cells.h"

#include <bit>
#include <utility>

#include "base/text/byte_masks.h"

namespace aggregate_power {

LineCells::LineCells() {
#if defined(__x86_64__)
  has_avx2_ = Avx2Kernel::is_supported();
#endif
}

// Inlined with everything it calls, so that one source becomes each kernel's instructions.
template <typename Kernel>
[[gnu::always_inline]] inline bool LineCells::split_with(std::string_view line) {
  constexpr std::size_t kBlock = 64;
  // Rows of a table usually have their cells in the same places.
  bool is_like_last = std::exchange(line_size_, line.npos) == line.size();
  line_ = line.data();
  const std::size_t blocks = line.size() / kBlock + 1;
  if (commas_.size() != blocks) commas_.resize(blocks);
  std::uint64_t odd = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    ByteMasks masks = Kernel::masks(line.data() + kBlock * i);
    const std::size_t left = line.size() - kBlock * i;
    if (left < kBlock) masks = masks.first(left);
    odd |= masks.quotes | masks.controls;
    is_like_last = is_like_last && masks.commas == commas_[i];
    commas_[i] = masks.commas;
  }
  if (odd != 0) return false;
  line_size_ = line.size();
  if (!is_like_last) find_cells();
  return true;
}

void LineCells::find_cells() {
  ++layout_;
  if (begins_.size() < line_size_ + 2) begins_.resize(line_size_ + 2);
  std::uint32_t* begin = begins_.data() + 1;
  std::uint32_t at = 0;
  for (std::uint64_t commas : commas_) {
    for (; commas != 0; commas &= commas - 1) {
      *begin++ = at + static_cast<std::uint32_t>(std::countr_zero(commas)) + 1;
    }
    at += 64;
  }
  *begin = static_cast<std::uint32_t>(line_size_) + 1;
  size_ = static_cast<std::size_t>(begin - begins_.data());
}

#if defined(__x86_64__)
[[AGGREGATE_POWER_AVX2]] bool LineCells::split_with_avx2(std::string_view line) {
  return split_with<Avx2Kernel>(line);
}
#endif

bool LineCells::split(std::string_view line) {
#if defined(__x86_64__)
  if (has_avx2_) return split_with_avx2(line);
#endif
  return split_with<PortableKernel>(line);
}

}  // namespace aggregate_power
