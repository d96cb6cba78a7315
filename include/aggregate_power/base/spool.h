// A file without a name, for what is unpacked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "aggregate_power/base/descriptor.h"

namespace aggregate_power {

// Lies in $TMPDIR, else in /tmp, and is gone with the last who holds file(), also when the process
// is killed.
class Spool {
 public:
  // `name` is what is unpacked, for messages. Throws FileError, as append() does.
  explicit Spool(std::string name);

  void append(std::string_view bytes);
  std::uint64_t size() const { return size_; }
  // To be read; what was appended stays where it is.
  const std::shared_ptr<const Descriptor>& file() const { return file_; }

 private:
  [[noreturn]] void fail(int errno_value) const;

  std::string name_;
  std::string folder_;
  std::shared_ptr<const Descriptor> file_;
  std::uint64_t size_ = 0;
};

}  // namespace aggregate_power
