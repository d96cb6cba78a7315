// A thread for one piece of work, which is used again for the next piece.
#pragma once

#include <functional>
#include <utility>

namespace aggregate_power {

// As std::jthread, but the thread waits for other work afterwards instead of ending. It begins
// sooner than a new one, which often starts on a processor that is busy and waits there. Not for
// the child of a fork(), which has none of the threads.
class ReusedThread {
 public:
  // `work` must not throw. Throws std::system_error if no thread can be started.
  explicit ReusedThread(std::function<void()> work);
  // Waits until the work has ended.
  ~ReusedThread();
  ReusedThread(ReusedThread&& other) noexcept : seat_(std::exchange(other.seat_, nullptr)) {}
  ReusedThread(const ReusedThread&) = delete;
  ReusedThread& operator=(const ReusedThread&) = delete;
  ReusedThread& operator=(ReusedThread&&) = delete;

 private:
  class Seat;
  class Seats;
  Seat* seat_;
};

}  // namespace aggregate_power
