// Memory in large pages.
#pragma once

#include <cstddef>
#include <vector>

namespace aggregate_power {

// Asks for pages of 2 MiB, of which the system has to bring far fewer, in `bytes` at `begin`. Where
// it has none, nothing changes.
void prefer_large_pages(void* begin, std::size_t bytes);

// The same for all the room of a vector, which is going to be filled.
template <typename Value>
void prefer_large_pages(std::vector<Value>& values) {
  prefer_large_pages(values.data(), values.capacity() * sizeof(Value));
}

}  // namespace aggregate_power
