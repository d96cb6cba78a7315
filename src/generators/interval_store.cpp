// Sorts chunks of intervals, and merges them.
#include "generators/interval_store.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace aggregate_power {
namespace {

constexpr std::size_t kChunk = 64 * 1024;

bool begins_before(const TraceInterval& a, const TraceInterval& b) {
  return std::tuple(a.start_s, -a.end_s, a.name, a.track) <
         std::tuple(b.start_s, -b.end_s, b.name, b.track);
}

}  // namespace

void IntervalStore::add(const TraceInterval& interval) {
  if (chunks_.empty() || chunks_.back().size() == kChunk) chunks_.emplace_back();
  chunks_.back().push_back(interval);
  first_start_s_ = size_ == 0 ? interval.start_s : std::min(first_start_s_, interval.start_s);
  last_end_s_ = size_ == 0 ? interval.end_s : std::max(last_end_s_, interval.end_s);
  ++size_;
  is_sorted_ = false;
}

void IntervalStore::sort() {
  if (is_sorted_) return;
  for (std::vector<TraceInterval>& chunk : chunks_) std::ranges::sort(chunk, begins_before);
  is_sorted_ = true;
}

void IntervalStore::each(const std::function<void(const TraceInterval&)>& take) {
  sort();
  struct Place {
    const TraceInterval* next;
    const TraceInterval* end;
  };
  const auto is_later = [](const Place& a, const Place& b) {
    return begins_before(*b.next, *a.next);
  };
  std::priority_queue<Place, std::vector<Place>, decltype(is_later)> places(is_later);
  for (const std::vector<TraceInterval>& chunk : chunks_) {
    places.push({chunk.data(), chunk.data() + chunk.size()});
  }
  while (!places.empty()) {
    Place place = places.top();
    places.pop();
    // Chunks overlap little: most of one comes before the next one begins.
    do {
      take(*place.next++);
    } while (place.next != place.end &&
             (places.empty() || !begins_before(*places.top().next, *place.next)));
    if (place.next != place.end) places.push(place);
  }
}

}  // namespace aggregate_power
