// Hands pieces from one thread to another.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace aggregate_power {

// Pieces that one thread fills and another takes, in order.
//
//   free_piece() -> give() -> | full | full | free | free | -> next()
//
// The constructor is given them, and their number never grows, so memory is bounded: the filling
// thread waits while all are full. Pieces are reused, along with the memory they own. Each belongs
// to one of the two threads at a time.
template <typename Piece>
class Relay {
 public:
  explicit Relay(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  // ---- For the thread that fills.

  // A piece to fill, which may contain old content; nullptr if no more are wanted.
  Piece* free_piece() {
    std::unique_lock lock(mutex_);
    has_free_.wait(lock, [&] { return full_ < pieces_.size() || is_unwanted_; });
    return is_unwanted_ ? nullptr : &pieces_[(first_ + full_) % pieces_.size()];
  }
  // Hands on the piece that free_piece() returned.
  void give() {
    {
      const std::lock_guard guard(mutex_);
      ++full_;
    }
    has_full_.notify_one();
  }
  // No more will come: next() throws `fault`, if it is not null, after the pieces before.
  void end(std::exception_ptr fault) {
    const std::lock_guard guard(mutex_);
    is_over_ = true;
    fault_ = std::move(fault);
    has_full_.notify_one();
  }

  // ---- For the thread that takes.

  // The next piece, valid until the next call; nullptr at the end.
  Piece* next() {
    std::unique_lock lock(mutex_);
    if (is_lent_) {
      is_lent_ = false;
      --full_;
      first_ = (first_ + 1) % pieces_.size();
      has_free_.notify_one();
    }
    has_full_.wait(lock, [&] { return full_ > 0 || is_over_; });
    if (full_ == 0) {
      if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
      return nullptr;
    }
    is_lent_ = true;
    return &pieces_[first_];
  }
  // No more are wanted.
  void stop() {
    {
      const std::lock_guard guard(mutex_);
      is_unwanted_ = true;
    }
    has_free_.notify_one();
  }

 private:
  std::vector<Piece> pieces_;
  std::mutex mutex_;
  std::condition_variable has_full_;
  std::condition_variable has_free_;
  std::size_t first_ = 0;  // the first full piece
  std::size_t full_ = 0;   // including the one that is lent
  bool is_lent_ = false;
  bool is_over_ = false;  // no more pieces will be filled
  bool is_unwanted_ = false;
  std::exception_ptr fault_;
};

}  // namespace aggregate_power
