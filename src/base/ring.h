// Passes pieces from one thread to another, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace aggregate_power {

// Pieces that one thread fills and another takes.
//
//   free_piece(), give() -> | full | full | free | free | -> next()
//
// Their number never grows, so memory is bounded: the filling thread waits while all are full.
// Each thread is woken when there is work for some time, half of all pieces, and not for each
// piece. Pieces are reused, along with the memory they own. The two threads share nothing but the
// pieces, each of which belongs to one of them at a time.
template <typename Piece>
class Ring {
 public:
  explicit Ring(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  // ---- For the thread that fills

  // The next one to fill, which may contain old content; nullptr if no more are wanted.
  Piece* free_piece() {
    std::unique_lock lock(mutex_);
    if (full_ == pieces_.size()) {
      has_free_.wait(lock, [&] { return full_ <= pieces_.size() / 2 || is_unwanted_; });
    }
    return is_unwanted_ ? nullptr : &pieces_[(first_ + full_) % pieces_.size()];
  }
  // It is full. `at_once`: the other thread may have to take it before this one can go on.
  void give(bool at_once = false) {
    const std::lock_guard guard(mutex_);
    ++full_;
    is_ready_ = is_ready_ || at_once || full_ >= pieces_.size() / 2;
    if (is_ready_) has_full_.notify_one();
  }
  // No more pieces will be given.
  void end() {
    const std::lock_guard guard(mutex_);
    is_over_ = true;
    has_full_.notify_one();
  }

  // ---- For the thread that takes

  // The next piece, valid until the next call; nullptr at the end.
  Piece* next() {
    std::unique_lock lock(mutex_);
    if (is_lent_) {
      is_lent_ = false;
      --full_;
      first_ = (first_ + 1) % pieces_.size();
      if (full_ <= pieces_.size() / 2) has_free_.notify_one();
    }
    is_ready_ = is_ready_ && full_ > 0;
    has_full_.wait(lock, [&] { return is_ready_ || is_over_; });
    if (full_ == 0) return nullptr;
    is_lent_ = true;
    return &pieces_[first_];
  }
  // No more pieces are wanted.
  void refuse() {
    const std::lock_guard guard(mutex_);
    is_unwanted_ = true;
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
  bool is_ready_ = false;  // there are enough full pieces, or one that is to be taken at once
  bool is_over_ = false;
  bool is_unwanted_ = false;
};

}  // namespace aggregate_power
