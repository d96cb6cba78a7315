// Files without a name, for what does not fit into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/descriptor.h"

namespace aggregate_power {

// $TMPDIR, else /tmp.
std::string temporary_folder();

// A file in there that goes with its last descriptor, also when the process is killed. Below 0,
// with errno set, when there can be none.
int open_nameless(const std::string& folder);

// For what is unpacked. Lies in temporary_folder(), and is gone with the last who holds file(),
// also when the process is killed.
class NamelessFile {
 public:
  // `name` is what is unpacked, for messages. Throws FileError, as append() does.
  explicit NamelessFile(std::string name);

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
