// Tells the system where large pages are worth it.
#include "base/large_pages.h"

#include <sys/mman.h>

#include <memory>
#include <tuple>

namespace aggregate_power {

void prefer_large_pages(void* begin, std::size_t bytes) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  if (std::align(kLargePage, kLargePage, begin, bytes) == nullptr) return;
  std::ignore = ::madvise(begin, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
}

}  // namespace aggregate_power
