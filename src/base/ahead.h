// Does work on a thread of its own, a little ahead of its consumer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace aggregate_power {

// Pieces that one thread fills and another takes, in order.
//
//   fill -> | full | full | free | free | -> next()
//
// The constructor is given them, and their number never grows, so memory is bounded: the filling
// thread waits while all are full. Pieces are reused, along with the memory they own. The two
// threads share nothing but the pieces, each of which belongs to one of them at a time, and what
// `fill` refers to. The caller must leave that alone until next() has returned nullptr or thrown,
// or this object is destroyed.
template <typename Piece>
class Ahead {
 public:
  // Fills a piece, which may contain old content. Returns false at the end: that piece is not given
  // out. An exception that it throws is thrown by next(), after the earlier pieces; the piece at
  // fault is given out first, as it is.
  using Fill = std::function<bool(Piece&)>;

  // Throws std::system_error if no thread can be started; nothing was filled then.
  Ahead(std::vector<Piece> pieces, Fill fill)
      : pieces_(std::move(pieces)), fill_(std::move(fill)), thread_([this] { work(); }) {}
  // Waits for the piece that is being filled. No others are wanted.
  ~Ahead() {
    {
      const std::lock_guard guard(mutex_);
      is_unwanted_ = true;
    }
    has_free_.notify_one();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

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

 private:
  void work() {
    std::exception_ptr fault;
    bool goes_on = true;
    while (goes_on) {
      Piece* const piece = free_piece();
      if (piece == nullptr) return;
      try {
        goes_on = fill_(*piece);
        if (!goes_on) break;
      } catch (...) {
        fault = std::current_exception();
        goes_on = false;
      }
      const std::lock_guard guard(mutex_);
      ++full_;
      has_full_.notify_one();
    }
    const std::lock_guard guard(mutex_);
    is_over_ = true;
    fault_ = std::move(fault);
    has_full_.notify_one();
  }

  // Returns nullptr if no more are wanted.
  Piece* free_piece() {
    std::unique_lock lock(mutex_);
    has_free_.wait(lock, [&] { return full_ < pieces_.size() || is_unwanted_; });
    return is_unwanted_ ? nullptr : &pieces_[(first_ + full_) % pieces_.size()];
  }

  std::vector<Piece> pieces_;
  Fill fill_;
  std::mutex mutex_;
  std::condition_variable has_full_;
  std::condition_variable has_free_;
  std::size_t first_ = 0;  // the first full piece
  std::size_t full_ = 0;   // including the one that is lent
  bool is_lent_ = false;
  bool is_over_ = false;  // no more pieces will be filled
  bool is_unwanted_ = false;
  std::exception_ptr fault_;
  std::jthread thread_;  // last, because it uses all others
};

}  // namespace aggregate_power
