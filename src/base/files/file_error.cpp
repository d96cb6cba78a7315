// What the system says against a file.
#include "base/files/file_error.h"

#include <cerrno>

namespace aggregate_power {

FileError::FileError(const std::string& path, const std::string& action, int errno_value)
    : std::system_error(errno_value, std::generic_category()),
      text_(path + ": cannot " + action + ": " + code().message()) {}

FileError::FileError(const std::string& path, const std::string& what)
    : std::system_error(EIO, std::generic_category()), text_(path + ": " + what) {}

FileChanged::FileChanged(const std::string& path)
    : FileError(path, "was changed while it was in use") {}

}  // namespace aggregate_power
