// Compressed files as streams.
#include "aggregate_power/base/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <array>
#include <cstdint>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/file.h"

namespace aggregate_power {
namespace {

class ExpandedSource : public ByteSource {
 public:
  ExpandedSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)), archive_(archive_read_new()) {
    archive_read_support_filter_gzip(archive_.get());
    archive_read_support_filter_zstd(archive_.get());
    archive_read_support_format_raw(archive_.get());
    archive_read_support_format_empty(archive_.get());
    check(archive_read_open(archive_.get(), this, nullptr, &feed, nullptr));
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    is_empty_ = status == ARCHIVE_EOF;
    if (!is_empty_) check(status);
  }

  std::size_t read(std::span<char> into) override {
    if (is_empty_) return 0;
    const la_ssize_t count = archive_read_data(archive_.get(), into.data(), into.size());
    if (count < 0) check(ARCHIVE_FATAL);
    expanded_bytes_ += static_cast<std::uint64_t>(count);
    if (expanded_bytes_ > most_expanded_bytes(packed_bytes_)) {
      throw FileError(name_, fmt::format("expands to more than {} times its size: not read further",
                                         kMostTimes));
    }
    return static_cast<std::size_t>(count);
  }

 private:
  struct Free {
    void operator()(archive* reader) const { archive_read_free(reader); }
  };

  // Called by libarchive, through which no exception may pass.
  static la_ssize_t feed(archive*, void* self, const void** bytes) {
    auto& source = *static_cast<ExpandedSource*>(self);
    *bytes = source.chunk_.data();
    try {
      const std::size_t count = source.packed_->read(source.chunk_);
      source.packed_bytes_ += count;
      return static_cast<la_ssize_t>(count);
    } catch (...) {
      source.fault_ = std::current_exception();
      return -1;
    }
  }

  void check(int status) {
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    if (status >= ARCHIVE_WARN) return;
    const char* const why = archive_error_string(archive_.get());
    throw FileError(name_, fmt::format("cannot be expanded: {}", why != nullptr ? why : "damaged"));
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::unique_ptr<archive, Free> archive_;
  std::array<char, 65536> chunk_;
  std::exception_ptr fault_;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t expanded_bytes_ = 0;
  bool is_empty_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name) {
  std::string ahead = read_up_to(*source, 4);
  const bool is_gzip = ahead.starts_with("\x1F\x8B");
  const bool is_zstd = ahead == "\x28\xB5\x2F\xFD";
  auto resumed = std::make_unique<ResumedSource>(std::move(ahead), std::move(source));
  if (!is_gzip && !is_zstd) return resumed;
  return std::make_unique<ExpandedSource>(std::move(resumed), name);
}

}  // namespace aggregate_power
