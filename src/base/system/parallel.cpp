// Threads that take turns at the pieces of work.
#include "base/system/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace aggregate_power {

unsigned usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

void in_parallel(std::size_t count, std::size_t most_threads,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr fault;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        next = count;
        const std::lock_guard guard(mutex);
        if (!fault) fault = std::current_exception();
      }
    }
  };
  {
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t threads = std::min({count, most_threads, processors});
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < threads) others.emplace_back(take_turns);
    } catch (const std::system_error&) {
      // The threads that could be started are enough.
    }
    take_turns();
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace aggregate_power
