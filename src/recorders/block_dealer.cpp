// Fills the buffers of one thread after the other.
#include "recorders/block_dealer.h"

#include <utility>

namespace aggregate_power {

void BlockDealer::begin(std::size_t threads) {
  const std::lock_guard guard(mutex_);
  threads_ = threads;
  turn_begins_.notify_all();
}

void BlockDealer::end() {
  const std::lock_guard guard(mutex_);
  is_over_ = true;
  turn_begins_.notify_all();
}

std::size_t BlockDealer::deal(std::size_t thread, std::span<char> into, bool& is_whole) {
  std::unique_lock lock(mutex_);
  turn_begins_.wait(lock, [&] { return is_over_ || (threads_ > 0 && turn_ == thread); });
  is_whole = false;
  if (is_over_) return 0;
  if (has_rest_) return fill(into);
  const std::size_t size = fill(into);
  const std::string_view bytes(into.data(), size);
  const std::size_t block = source_ended_ || fault_ ? 0 : cut_off_(bytes);
  has_rest_ = block == 0;
  if (has_rest_) return size;  // the turn stays: the others get nothing until end()
  carried_.insert(0, bytes.substr(block));
  is_whole = true;
  turn_ = (turn_ + 1) % threads_;
  turn_begins_.notify_all();
  return block;
}

// Reads what is carried, then as much of the source as there is room for.
std::size_t BlockDealer::fill(std::span<char> into) {
  std::size_t size = carried_.copy(into.data(), into.size());
  carried_.erase(0, size);
  if (size == 0 && fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  try {
    while (size < into.size() && !source_ended_ && !fault_) {
      const std::size_t count = source_.read(into.subspan(size));
      source_ended_ = count == 0;
      size += count;
    }
  } catch (...) {
    if (size == 0) throw;
    fault_ = std::current_exception();
  }
  return size;
}

}  // namespace aggregate_power
