// std::regex where several threads make them.
#pragma once

#include <mutex>
#include <regex>

namespace aggregate_power {

// What libstdc++ remembers of characters while it compiles it shares among threads, without a lock.
inline std::regex compiled_regex(const char* pattern, std::regex::flag_type flags) {
  static std::mutex compiling;
  const std::lock_guard guard(compiling);
  return std::regex(pattern, flags);
}

}  // namespace aggregate_power
