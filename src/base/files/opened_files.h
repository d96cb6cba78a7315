// Which files a piece of work reads.
#pragma once

#include <set>
#include <string>

namespace aggregate_power {

// While this exists, adds the path of every file that any thread opens for reading to `paths`. One
// at a time.
class WatchOpened {
 public:
  explicit WatchOpened(std::set<std::string>& paths);
  ~WatchOpened();
  WatchOpened(const WatchOpened&) = delete;
  WatchOpened& operator=(const WatchOpened&) = delete;
};

}  // namespace aggregate_power
