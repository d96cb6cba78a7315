// Which windows are inside which, and which overlap. Pure arithmetic: no files, no printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

// A window is inside another if it neither begins earlier nor ends later; of two that are equal,
// the later one in the list is inside the earlier. Its parent is the innermost such window: the one
// that begins last. Time grows with the windows times their logarithm.
class WindowTree {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // At most kNone windows, which end no earlier than they begin.
  explicit WindowTree(std::span<const Window> windows);

  std::uint32_t parent(std::size_t window) const { return parents_[window]; }
  // How many windows are around it, from its parent outwards.
  std::uint32_t depth(std::size_t window) const { return depths_[window]; }
  // A window that shares time with it, neither being inside the other; kNone: there is none.
  std::uint32_t overlap(std::size_t window) const { return overlaps_[window]; }
  bool has_children(std::size_t window) const { return begins_[window] < begins_[window + 1]; }
  // What of the window is outside its children, in order of time. All windows of a set without
  // overlaps divide the outermost one among them.
  std::vector<Window> own(std::size_t window) const;

 private:
  void find_parents(std::span<const std::uint32_t> order);
  void gather_children(std::span<const std::uint32_t> order);

  std::vector<Window> windows_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> overlaps_;
  // The children of window i, by their starts, are children_[begins_[i]] to children_[begins_[i +
  // 1]].
  std::vector<std::uint32_t> children_;
  std::vector<std::uint32_t> begins_;
};

}  // namespace aggregate_power
