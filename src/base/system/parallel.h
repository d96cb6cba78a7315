// Runs independent pieces of work, several at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace aggregate_power {

// Number of processors that this process may use, not of all that the machine has.
unsigned usable_processors();

// Calls `work` with 0 to count - 1, each once, on as many threads as there are processors, at most
// `most_threads`, including this one. If a call throws, no more are begun, and the first exception
// is thrown when all calls that were begun have ended.
void in_parallel(std::size_t count, std::size_t most_threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace aggregate_power
