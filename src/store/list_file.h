// A list of texts on disk, for what does not fit into memory.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// An anonymous temporary file: nothing stays behind, whatever happens. All throw Error when the
// file cannot be had.
class ListFile {
 public:
  ListFile();

  void write(std::string_view text);
  // From the start again.
  void rewind();
  // The next text, nothing after the last one; write() comes before rewind(), read() after it.
  std::optional<std::string> read();

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace aggregate_power
