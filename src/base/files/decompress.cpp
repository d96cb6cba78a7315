// Expands gzip and Zstandard streams, with a limit on their size.
#include "base/files/decompress.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <array>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"

namespace aggregate_power {
namespace {

std::atomic<std::uint64_t>& the_most_unpacked_bytes() {
  static std::atomic<std::uint64_t> bytes = std::uint64_t{64} << 30;
  return bytes;
}

constexpr std::string_view kGzipStart = "\x1F\x8B";
constexpr std::string_view kZstdStart = "\x28\xB5\x2F\xFD";

// Counts the bytes that go in and come out.
class Expander : public ByteSource {
 public:
  Expander(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)) {}

  std::size_t read(std::span<char> into) final {
    const std::size_t count = expand(into);
    expanded_bytes_ += count;
    if (expanded_bytes_ > most_expanded_bytes(packed_bytes_)) {
      throw FileError(name_, fmt::format("expands to more than {} times its size: not read further",
                                         kMostTimes));
    }
    if (const std::uint64_t most = most_unpacked_bytes(); expanded_bytes_ > most) {
      throw FileError(name_, too_much_unpacked(most));
    }
    return count;
  }

 protected:
  virtual std::size_t expand(std::span<char> into) = 0;

  std::span<char> next_packed() {
    const std::size_t count = packed_->read(chunk_);
    packed_bytes_ += count;
    return std::span(chunk_).first(count);
  }

  [[noreturn]] void refuse(const char* why) const {
    throw FileError(name_, fmt::format("cannot be expanded: {}", why != nullptr ? why : "damaged"));
  }

 private:
  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::array<char, 65536> chunk_;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t expanded_bytes_ = 0;
};

// Uses zlib, because libarchive does not check the checksum.
class GzipSource : public Expander {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : Expander(std::move(packed), std::move(name)) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 protected:
  std::size_t expand(std::span<char> into) override {
    into = into.first(std::min<std::size_t>(into.size(), 1 << 30));  // zlib counts in 32 bits
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    while (stream_.avail_out == into.size() && starts_or_goes_on()) {
      if (stream_.avail_in == 0) take_more();
      if (stream_.avail_in == 0) refuse("truncated gzip input");
      const int status = inflate(&stream_, Z_NO_FLUSH);
      is_between_ = status == Z_STREAM_END;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) refuse(stream_.msg);
    }
    return into.size() - stream_.avail_out;
  }

 private:
  void take_more() {
    const std::span<char> more = next_packed();
    stream_.next_in = reinterpret_cast<Bytef*>(more.data());
    stream_.avail_in = static_cast<uInt>(more.size());
  }

  // Another part may follow, as after `cat a.gz b.gz`; anything else is padding.
  bool starts_or_goes_on() {
    if (!is_between_) return true;
    if (stream_.avail_in == 0) take_more();
    if (stream_.avail_in == 0 || *stream_.next_in != static_cast<Bytef>(kGzipStart[0]))
      return false;
    return inflateReset(&stream_) == Z_OK;
  }

  z_stream stream_{};
  bool is_between_ = false;
};

class ZstdSource : public Expander {
 public:
  ZstdSource(std::unique_ptr<ByteSource> packed, std::string name)
      : Expander(std::move(packed), std::move(name)), archive_(archive_read_new()) {
    archive_read_support_filter_zstd(archive_.get());
    archive_read_support_format_raw(archive_.get());
    archive_read_support_format_empty(archive_.get());
    check(archive_read_open(archive_.get(), this, nullptr, &feed, nullptr));
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    is_empty_ = status == ARCHIVE_EOF;
    if (!is_empty_) check(status);
  }

 protected:
  std::size_t expand(std::span<char> into) override {
    if (is_empty_) return 0;
    const la_ssize_t count = archive_read_data(archive_.get(), into.data(), into.size());
    if (count < 0) check(ARCHIVE_FATAL);
    return static_cast<std::size_t>(count);
  }

 private:
  // Called by libarchive, which no exception may pass through.
  static la_ssize_t feed(archive*, void* self, const void** bytes) {
    auto& source = *static_cast<ZstdSource*>(self);
    try {
      const std::span<char> next = source.next_packed();
      *bytes = next.data();
      return static_cast<la_ssize_t>(next.size());
    } catch (...) {
      source.fault_ = std::current_exception();
      return -1;
    }
  }

  void check(int status) {
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    if (status < ARCHIVE_WARN) refuse(archive_error_string(archive_.get()));
  }

  ArchiveHandle archive_;
  std::exception_ptr fault_;
  bool is_empty_ = false;
};

}  // namespace

void set_most_unpacked_bytes(std::uint64_t bytes) { the_most_unpacked_bytes() = bytes; }

std::uint64_t most_unpacked_bytes() { return the_most_unpacked_bytes(); }

std::string too_much_unpacked(std::uint64_t most_bytes) {
  return fmt::format("expands to more than {} GiB: raise the limit with --max-unpacked",
                     most_bytes >> 30);
}

bool is_compressed(std::string_view start) {
  return start.starts_with(kGzipStart) || start.starts_with(kZstdStart);
}

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source,
                                         const std::string& name) {
  std::string ahead = read_up_to(*source, 4);
  const bool is_gzip = ahead.starts_with(kGzipStart);
  const bool is_zstd = ahead.starts_with(kZstdStart);
  auto resumed = std::make_unique<ResumedSource>(std::move(ahead), std::move(source));
  if (is_gzip) return std::make_unique<GzipSource>(std::move(resumed), name);
  if (is_zstd) return std::make_unique<ZstdSource>(std::move(resumed), name);
  return resumed;
}

}  // namespace aggregate_power
