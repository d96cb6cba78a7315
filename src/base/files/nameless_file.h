// Files without a name, for data that does not fit into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/file.h"

namespace aggregate_power {

// $TMPDIR, else /tmp.
std::string temporary_folder();

// From now on temporaries are in a folder of this process's own in temporary_folder(), if one can
// be made. Another process removes it with all that is in it when this one ends, however that is.
void make_own_folder();
// That folder; else temporary_folder().
std::string folder_for_temporaries();

// A path in temporary_folder() that nobody could foresee, so that nothing is there. It is not made.
std::string unforeseen_path();

// Opens a file in `folder` that disappears with its last descriptor, even if the process is killed.
// Returns a negative value, with errno set, if that is impossible.
int open_nameless(const std::string& folder);

// A file for unpacked data, in folder_for_temporaries(). It disappears with the last owner of
// file(), even if the process is killed.
class NamelessFile {
 public:
  // `name` is the name of the unpacked file, for messages. Throws FileError, as append() does.
  explicit NamelessFile(std::string name);

  void append(std::string_view bytes);
  std::uint64_t size() const { return size_; }
  // For reading; appended bytes stay at their offset.
  const std::shared_ptr<const Descriptor>& file() const { return file_; }

 private:
  [[noreturn]] void fail(int errno_value) const;

  std::string name_;
  std::string folder_;
  std::shared_ptr<const Descriptor> file_;
  std::uint64_t size_ = 0;
};

}  // namespace aggregate_power
