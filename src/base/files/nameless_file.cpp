// Creates files without a name.
#include "base/files/nameless_file.h"

#include <cstdlib>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace aggregate_power {

std::string temporary_folder() {
  const char* const given = std::getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

int open_nameless(const std::string& folder) {
  // O_EXCL: nobody can give it a name later.
  const int fd = open_fd(folder, O_TMPFILE | O_RDWR | O_EXCL, 0600);
  if (fd >= 0) return fd;
  // NFS, overlays and older kernels have no nameless files, and report it in various ways.
  std::string name = folder + "/aggregate-power.XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) std::ignore = unlink(name.c_str());
  return named;
}

NamelessFile::NamelessFile(std::string name)
    : name_(std::move(name)),
      folder_(temporary_folder()),
      file_(std::make_shared<const Descriptor>(open_nameless(folder_))) {
  if (file_->get() < 0) fail(errno);
}

void NamelessFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = retrying([&] { return write(file_->get(), bytes.data(), bytes.size()); });
    if (count < 0) fail(errno);
    size_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void NamelessFile::fail(int errno_value) const {
  throw FileError(
      name_,
      fmt::format(
          "cannot be unpacked in {}: {}; set $TMPDIR to a folder that is writable and has free space",
          folder_, std::generic_category().message(errno_value)));
}

}  // namespace aggregate_power
