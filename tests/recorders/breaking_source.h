// A file whose end cannot be read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/files/file.h"
#include "test_util.h"

namespace aggregate_power::test {

// The first `good` bytes, in pieces. If there are more, reading on fails as for the file `path`.
class BreakingSource : public ByteSource {
 public:
  BreakingSource(const std::string& bytes, std::size_t good, std::string path)
      : source_(bytes.substr(0, good), 50'000),
        breaks_(good < bytes.size()),
        path_(std::move(path)) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    if (count == 0 && breaks_) throw FileError(path_, "read", EIO);
    return count;
  }

 private:
  StutterSource source_;
  bool breaks_;
  std::string path_;
};

}  // namespace aggregate_power::test
