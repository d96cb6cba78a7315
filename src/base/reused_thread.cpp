// Keeps the threads that have nothing to do.
#include "base/reused_thread.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace aggregate_power {

// Where a thread waits for work.
class ReusedThread::Seat {
 public:
  void give(std::function<void()> work) {
    const std::lock_guard guard(mutex_);
    work_ = std::move(work);
    changes_.notify_all();
  }

  void wait_for_end() {
    std::unique_lock lock(mutex_);
    changes_.wait(lock, [&] { return !work_; });
  }

  [[noreturn]] void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changes_.wait(lock, [&] { return work_ != nullptr; });
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      changes_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changes_;
  std::function<void()> work_;  // none: it waits
};

// All seats of the program.
class ReusedThread::Seats {
 public:
  // They are never destroyed: at the program's end their threads still wait.
  static Seats& all() {
    static Seats& seats = *new Seats;
    return seats;
  }

  Seat* take() {
    const std::lock_guard guard(mutex_);
    if (free_.empty()) return add();
    Seat* const seat = free_.back();
    free_.pop_back();
    return seat;
  }

  void put_back(Seat* seat) {
    const std::lock_guard guard(mutex_);
    free_.push_back(seat);
  }

 private:
  Seat* add() {
    auto seat = std::make_unique<Seat>();
    free_.reserve(++count_);  // so that put_back() cannot fail
    std::thread([at = seat.get()] { at->run(); }).detach();
    return seat.release();
  }

  std::mutex mutex_;
  std::vector<Seat*> free_;
  std::size_t count_ = 0;
};

ReusedThread::ReusedThread(std::function<void()> work) : seat_(Seats::all().take()) {
  seat_->give(std::move(work));
}

ReusedThread::~ReusedThread() {
  if (seat_ == nullptr) return;
  seat_->wait_for_end();
  Seats::all().put_back(seat_);
}

}  // namespace aggregate_power
