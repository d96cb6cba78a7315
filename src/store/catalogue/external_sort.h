// Sorts more texts than fit into memory: a store may hold millions of runs.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aggregate_power {

// Texts with keys; both may contain any bytes. They are sorted in memory one part at a time; the
// parts wait in a temporary file without a name, so that nothing is left over, and are merged at
// the end. All functions throw Error if that file cannot be used.
class ExternalSort {
 public:
  // Memory: about that many bytes, and the next text of each part.
  explicit ExternalSort(std::size_t most_bytes_in_memory = std::size_t{256} << 10);

  void add(std::string_view key, std::string_view text);
  // Passes each key once with all its texts, both in the order of their bytes. Afterwards it is
  // empty.
  using Take = std::function<void(const std::string& key, const std::vector<std::string>& texts)>;
  void for_each_key(const Take& take);

 private:
  using Entry = std::pair<std::string, std::string>;  // a key and its text
  struct Part {
    long at = 0;  // in the file
    long end = 0;
  };
  struct Close {
    void operator()(std::FILE* file) const;
  };

  void put_on_disk();
  void write(const std::string& text);
  std::string read();
  std::optional<Entry> next_of(Part& part);

  std::size_t most_bytes_in_memory_;
  std::size_t bytes_ = 0;  // of those in memory
  std::vector<Entry> entries_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<Part> parts_;
};

// A key under which a name is in an order that tells nothing of it.
std::string scattered_key(std::string_view name);
// The name of such a key.
std::string name_of_key(const std::string& key);

}  // namespace aggregate_power
