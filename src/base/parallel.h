// Independent pieces of work, several at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace aggregate_power {

// Calls `work` with 0 to count - 1, each once, on as many threads as there are processors for, at
// most `most_threads`, this one among them. When one throws no more are begun, and the first
// exception is thrown once all that were begun have ended.
void in_parallel(std::size_t count, std::size_t most_threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace aggregate_power
