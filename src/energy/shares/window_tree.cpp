// Sweeps over the windows in the order of their starts, with a stack of those that may contain the
// next.
#include "energy/shares/window_tree.h"

#include <algorithm>
#include <numeric>

#include "base/text/lists.h"

namespace aggregate_power {
namespace {

constexpr std::uint32_t kNoWindow = WindowTree::kNone;

std::vector<Window> mirrored(std::span<const Window> windows) {
  return mapped(windows, [](const Window& window) {
    return Window{-window.end_unix_s, -window.start_unix_s};
  });
}

// Outer windows before those inside them.
std::vector<std::uint32_t> sweep_order(std::span<const Window> windows) {
  std::vector<std::uint32_t> order(windows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (windows[a].start_unix_s != windows[b].start_unix_s) {
      return windows[a].start_unix_s < windows[b].start_unix_s;
    }
    return windows[a].end_unix_s > windows[b].end_unix_s;
  });
  return order;
}

// For each window that ends inside a later one which began inside it: the first such. The first
// later window with a later end begins earliest of all those, so no other needs to be tried.
void find_overlaps(std::span<const Window> windows, std::span<const std::uint32_t> order,
                   std::vector<std::uint32_t>& overlaps) {
  std::vector<std::uint32_t> open;
  for (const std::uint32_t i : order) {
    while (!open.empty() && windows[open.back()].end_unix_s < windows[i].end_unix_s) {
      const std::uint32_t before = open.back();
      open.pop_back();
      const bool shares_time = windows[i].start_unix_s < windows[before].end_unix_s;
      if (shares_time && overlaps[before] == kNoWindow) overlaps[before] = i;
    }
    open.push_back(i);
  }
}

}  // namespace

WindowTree::WindowTree(std::span<const Window> windows)
    : windows_(windows.begin(), windows.end()),
      parents_(windows.size(), kNone),
      depths_(windows.size(), 0),
      overlaps_(windows.size(), kNone) {
  const std::vector<std::uint32_t> order = sweep_order(windows_);
  find_parents(order);
  gather_children(order);
  find_overlaps(windows_, order, overlaps_);
  // In the mirror each window looks back in time.
  const std::vector<Window> mirror = mirrored(windows_);
  find_overlaps(mirror, sweep_order(mirror), overlaps_);
}

void WindowTree::find_parents(std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> open;
  for (const std::uint32_t i : order) {
    while (!open.empty() && windows_[open.back()].end_unix_s < windows_[i].end_unix_s) {
      open.pop_back();
    }
    if (!open.empty()) {
      parents_[i] = open.back();
      depths_[i] = depths_[open.back()] + 1;
    }
    open.push_back(i);
  }
}

void WindowTree::gather_children(std::span<const std::uint32_t> order) {
  begins_.assign(windows_.size() + 1, 0);
  for (const std::uint32_t parent : parents_) {
    if (parent != kNone) ++begins_[parent + 1];
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  children_.resize(begins_.back());
  std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
  for (const std::uint32_t i : order) {
    if (parents_[i] != kNone) children_[next[parents_[i]]++] = i;
  }
}

std::vector<Window> WindowTree::own(std::size_t window) const {
  std::vector<Window> stretches;
  double at = windows_[window].start_unix_s;
  for (std::uint32_t i = begins_[window]; i < begins_[window + 1]; ++i) {
    const Window& child = windows_[children_[i]];
    if (at < child.start_unix_s) stretches.push_back({at, child.start_unix_s});
    at = std::max(at, child.end_unix_s);
  }
  if (at < windows_[window].end_unix_s) stretches.push_back({at, windows_[window].end_unix_s});
  return stretches;
}

}  // namespace aggregate_power
