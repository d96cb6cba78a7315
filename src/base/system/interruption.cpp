// The flag that a signal handler sets.
#include "base/system/interruption.h"

#include <atomic>

namespace aggregate_power {
namespace {

std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // otherwise a handler could not set it

}  // namespace

void interrupt(int signal) noexcept {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

int interrupting_signal() noexcept { return first_signal.load(std::memory_order_relaxed); }

void throw_if_interrupted() {
  if (interrupting_signal() != 0) throw Interrupted();
}

}  // namespace aggregate_power
