// What the system says against a file.
#pragma once

#include <string>
#include <system_error>

namespace aggregate_power {

// The system's error for a file: "agg.json: cannot open: Permission denied". The file is named as
// the caller named it.
class FileError : public std::system_error {
 public:
  // `action` reads as "cannot ...": "open", "write", "replace".
  FileError(const std::string& path, const std::string& action, int errno_value);
  // For faults without an error number of the system.
  FileError(const std::string& path, const std::string& what);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// A file differs from what its replacement was made from: "agg.json: was changed while it was in
// use".
class FileChanged : public FileError {
 public:
  explicit FileChanged(const std::string& path);
};

}  // namespace aggregate_power
