// Hands tasks from the walk to the workers.
#include "store/task_queue.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kShare = 8;  // of what waits, leaving enough for the others
constexpr std::size_t kMostAtATime = 8;
constexpr auto kMoment = std::chrono::milliseconds(100);

}  // namespace

void TaskQueue::push(Task task) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [&] { return waiting_.size() < kMostWaiting || is_over_; });
  if (is_over_) return;
  waiting_.push_back(std::move(task));
  ++open_;
  has_task_.notify_one();
}

std::vector<Task> TaskQueue::pop() {
  std::unique_lock lock(mutex_);
  has_task_.wait_for(lock, kMoment, [&] { return !waiting_.empty() || is_over_; });
  const std::size_t count = std::min((waiting_.size() + kShare - 1) / kShare, kMostAtATime);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Task> tasks(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  has_room_.notify_one();
  return tasks;
}

void TaskQueue::finished() {
  const std::lock_guard guard(mutex_);
  if (--open_ == 0) all_finished_.notify_all();
}

void TaskQueue::wait_until_all_are_finished() {
  std::unique_lock lock(mutex_);
  all_finished_.wait(lock, [&] { return open_ == 0 || is_over_; });
}

void TaskQueue::end(bool drop) {
  const std::lock_guard guard(mutex_);
  if (drop) waiting_.clear();
  is_over_ = true;
  has_task_.notify_all();
  has_room_.notify_all();
  all_finished_.notify_all();
}

bool TaskQueue::is_over() {
  const std::lock_guard guard(mutex_);
  return is_over_ && waiting_.empty();
}

}  // namespace aggregate_power
