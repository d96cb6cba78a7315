// Writes and reads texts in an anonymous temporary file.
#include "store/list_file.h"

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/nameless_file.h"

namespace aggregate_power {
namespace {

// Not a FileError: those are faults of the store.
[[noreturn]] void fail(const char* action) {
  throw Error(fmt::format(
      "cannot {} the list of what is in the store, in {}: {}; set $TMPDIR to a folder that is writable and has free space",
      action, temporary_folder(), std::generic_category().message(errno)));
}

}  // namespace

void ListFile::Close::operator()(std::FILE* file) const { std::ignore = std::fclose(file); }

ListFile::ListFile() {
  const int fd = open_nameless(temporary_folder());
  file_.reset(fd < 0 ? nullptr : ::fdopen(fd, "w+b"));
  if (!file_) fail("create");
}

void ListFile::write(std::string_view text) {
  const std::uint64_t size = text.size();
  if (std::fwrite(&size, sizeof size, 1, file_.get()) != 1 ||
      std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    fail("write");
  }
}

void ListFile::rewind() {
  if (std::fflush(file_.get()) != 0) fail("write");
  std::rewind(file_.get());
}

std::optional<std::string> ListFile::read() {
  std::uint64_t size = 0;
  if (std::fread(&size, sizeof size, 1, file_.get()) != 1) {
    if (std::ferror(file_.get()) != 0) fail("read");
    return std::nullopt;
  }
  std::string text(size, '\0');
  if (std::fread(text.data(), 1, text.size(), file_.get()) != text.size()) fail("read");
  return text;
}

}  // namespace aggregate_power
