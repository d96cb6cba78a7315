// Sorts any number of texts by their keys.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/list_file.h"

namespace aggregate_power {

// Sorted in memory one part at a time; the parts wait on disk and are merged at the end.
class SortedTexts {
 public:
  // Memory: about that many bytes, and the next text of each part.
  explicit SortedTexts(std::size_t most_bytes_in_memory = std::size_t{8} << 20)
      : most_bytes_in_memory_(most_bytes_in_memory) {}

  // `key` contains no NUL. Throws Error if the files cannot be used, as take_all() does.
  void add(std::string_view key, std::string_view text);
  // Passes all texts ordered by the bytes of their keys, those with equal keys in their own order.
  // Afterwards it is empty.
  void take_all(const std::function<void(std::string_view text)>& take);

 private:
  void put_on_disk();

  std::size_t most_bytes_in_memory_;
  std::size_t bytes_ = 0;           // of those in memory
  std::vector<std::string> texts_;  // each after its key and a NUL
  std::vector<ListFile> parts_;
};

}  // namespace aggregate_power
