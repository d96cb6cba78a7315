// Does work on a thread of its own, a little ahead of its consumer.
#pragma once

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "base/reused_thread.h"
#include "base/ring.h"

namespace aggregate_power {

// Pieces that a thread of its own fills and another takes, in order.
//
//   fill -> Ring -> next()
//
// The constructor is given the pieces. The threads also share what `fill` refers to. The caller
// must leave that alone until next() has returned nullptr or thrown, or this object is destroyed.
template <typename Piece>
class Ahead {
 public:
  // Fills a piece, which may contain old content. Returns false at the end: that piece is not given
  // out. An exception that it throws is thrown by next(), after the earlier pieces; the piece at
  // fault is given out first, as it is.
  using Fill = std::function<bool(Piece&)>;

  // Throws std::system_error if no thread can be started; nothing was filled then.
  Ahead(std::vector<Piece> pieces, Fill fill)
      : ring_(std::move(pieces)), fill_(std::move(fill)), thread_([this] { work(); }) {}
  // Waits for the piece that is being filled. No others are wanted.
  ~Ahead() { ring_.refuse(); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // The next piece, valid until the next call; nullptr at the end.
  Piece* next() {
    Piece* const piece = ring_.next();
    if (piece == nullptr && fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    return piece;
  }

 private:
  void work() {
    bool goes_on = true;
    while (goes_on) {
      Piece* const piece = ring_.free_piece();
      if (piece == nullptr) return;
      try {
        goes_on = fill_(*piece);
        if (!goes_on) break;
      } catch (...) {
        fault_ = std::current_exception();
        goes_on = false;
      }
      ring_.give();
    }
    ring_.end();
  }

  Ring<Piece> ring_;
  Fill fill_;
  std::exception_ptr fault_;  // the thread's until the ring has ended
  ReusedThread thread_;       // last, because it uses all others
};

}  // namespace aggregate_power
