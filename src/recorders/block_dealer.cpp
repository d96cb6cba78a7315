// Fills the buffer of one thread at a time.
#include "recorders/block_dealer.h"

#include <utility>

namespace aggregate_power {

void BlockDealer::begin() {
  const std::lock_guard guard(mutex_);
  has_begun_ = true;
  begins_.notify_all();
}

void BlockDealer::end() {
  const std::lock_guard guard(mutex_);
  is_over_ = true;
  begins_.notify_all();
}

std::size_t BlockDealer::deal(std::size_t thread, std::span<char> into, bool& is_whole) {
  std::unique_lock lock(mutex_);
  begins_.wait(lock, [&] { return is_over_ || (has_begun_ && (was_first_dealt_ || thread == 0)); });
  is_whole = false;
  if (is_over_) return 0;
  if (rest_owner_) return *rest_owner_ == thread ? fill(into) : 0;
  if (std::exchange(was_first_dealt_, true)) {
    const std::lock_guard guard(owners_mutex_);
    owners_.push_back(thread);
    is_dealt_.notify_one();
  } else {
    begins_.notify_all();
  }
  rest_owner_ = thread;  // if there is a fault, or no place to cut
  const std::size_t size = fill(into);
  const std::string_view bytes(into.data(), size);
  const std::size_t block = source_ended_ || fault_ ? 0 : cut_off_(bytes);
  if (block == 0) return size;
  rest_owner_.reset();
  carried_.insert(0, bytes.substr(block));
  is_whole = true;
  return block;
}

std::size_t BlockDealer::next_owner() {
  std::unique_lock lock(owners_mutex_);
  is_dealt_.wait(lock, [&] { return !owners_.empty(); });
  const std::size_t owner = owners_.front();
  owners_.pop_front();
  return owner;
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
