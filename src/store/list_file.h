// A list of texts on disk, for data that does not fit into memory.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// An anonymous temporary file: nothing is left over, whatever happens. All functions throw Error if
// the file cannot be used.
class ListFile {
 public:
  ListFile();

  void write(std::string_view text);
  // Starts again from the beginning.
  void rewind();
  // The next text, nullopt after the last one; write() only before rewind(), read() only after it.
  std::optional<std::string> read();

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace aggregate_power
