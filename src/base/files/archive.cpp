// Drives libarchive, and makes the checks that it leaves out.
#include "base/files/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>

#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/archive_handle.h"

namespace aggregate_power {
namespace {

// libarchive returns names that a zip marks as UTF-8 only if the locale can write them. Zip names
// without the mark, and all names in a tar, are passed on byte for byte.
class Utf8Locale {
 public:
  Utf8Locale() {
    for (const char* const name : {"C.UTF-8", "en_US.UTF-8"}) {
      if (ours_ == locale_t{}) ours_ = newlocale(LC_CTYPE_MASK, name, locale_t{});
    }
  }
  ~Utf8Locale() {
    if (ours_ != locale_t{}) freelocale(ours_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  bool is_there() const { return ours_ != locale_t{}; }
  // Applies to this thread only. Changes nothing if the system has no such locale.
  template <typename Call>
  auto within(Call call) const {
    if (ours_ == locale_t{}) return call();
    const locale_t before = uselocale(ours_);
    const auto result = call();
    uselocale(before);
    return result;
  }

 private:
  locale_t ours_{};
};

bool is_zip(const OpenedFile& file) {
  const std::string start = read_up_to(*file.source(), 4);
  return start == "PK\x03\x04" || start == "PK\x05\x06";  // the latter: an empty zip
}

// The number of members a zip declares, modulo 65536; nullopt if it is stored elsewhere (zip64).
std::optional<std::uint16_t> zip_count(const OpenedFile& file) {
  constexpr std::size_t kEndBytes = 22;
  constexpr std::size_t kMostCommentBytes = 16384;  // the same limit as libarchive's
  std::string tail(std::min<std::uint64_t>(file.size(), kEndBytes + kMostCommentBytes), '\0');
  const std::size_t start = file.size() - tail.size();
  for (std::size_t at = 0; at < tail.size();) {
    const std::size_t count = file.read_at(start + at, std::span(tail).subspan(at));
    if (count == 0) return std::nullopt;
    at += count;
  }
  const std::size_t end = tail.rfind("PK\x05\x06", tail.size() - kEndBytes);
  if (end == std::string::npos) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(tail[end + at]); };
  const auto count = static_cast<std::uint16_t>(byte(10) | byte(11) << 8);
  if (count == 0xFFFF) return std::nullopt;
  return count;
}

// Gives libarchive its bytes. No exception may pass through it, so they wait in `fault`.
struct Feed {
  OpenedFile file;
  std::unique_ptr<ByteSource> expanded;  // set for a compressed tar; otherwise bytes come straight
                                         // from the file
  std::uint64_t most_bytes = 0;          // that it may expand to
  std::uint64_t at = 0;
  std::array<char, 65536> chunk{};
  std::exception_ptr fault{};

  std::size_t fill() {
    if (expanded) return fill_expanded();
    const std::size_t count = file.read_at(at, chunk);
    at += count;
    return count;
  }

  std::size_t fill_expanded() {
    const std::size_t count = expanded->read(chunk);
    at += count;
    if (at > most_bytes) {
      throw FileError(file.name(), "expands to more than the archive around it may");
    }
    return count;
  }

  static la_ssize_t read(archive*, void* self, const void** bytes) {
    Feed& feed = *static_cast<Feed*>(self);
    *bytes = feed.chunk.data();
    try {
      return static_cast<la_ssize_t>(feed.fill());
    } catch (...) {
      feed.fault = std::current_exception();
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t skip(archive*, void* self, la_int64_t request) {
    Feed& feed = *static_cast<Feed*>(self);
    const std::uint64_t left = feed.file.size() - feed.at;
    const std::uint64_t count = std::min(left, static_cast<std::uint64_t>(request));
    feed.at += count;
    return static_cast<la_int64_t>(count);
  }

  static la_int64_t seek(archive*, void* self, la_int64_t offset, int whence) {
    Feed& feed = *static_cast<Feed*>(self);
    const auto size = static_cast<la_int64_t>(feed.file.size());
    const la_int64_t from = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(feed.at)
                                                 : size;
    if (offset < -from || offset > size - from) return ARCHIVE_FATAL;
    feed.at = static_cast<std::uint64_t>(from + offset);
    return from + offset;
  }
};

Member::Kind kind_of_member(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return Member::Kind::other;
  if (archive_entry_filetype(entry) == AE_IFREG) return Member::Kind::file;
  return archive_entry_filetype(entry) == AE_IFDIR ? Member::Kind::folder : Member::Kind::other;
}

}  // namespace

class ArchiveReader::Reader {
 public:
  Reader(const OpenedFile& file, std::uint64_t most_bytes)
      : is_zip_(is_zip(file)), feed_{file, nullptr, most_bytes}, archive_(archive_read_new()) {
    if (is_zip_) {
      // Reads by the zip's directory only: the streaming reader takes the front of a truncated file
      // for a whole archive.
      archive_read_support_format_zip_seekable(archive_.get());
    } else {
      archive_read_support_format_tar(archive_.get());
      if (is_compressed(read_up_to(*file.source(), 4))) expand();
    }
    archive_read_set_callback_data(archive_.get(), &feed_);
    archive_read_set_read_callback(archive_.get(), &Feed::read);
    if (!feed_.expanded) {
      archive_read_set_skip_callback(archive_.get(), &Feed::skip);
      archive_read_set_seek_callback(archive_.get(), &Feed::seek);
    }
    check(locale_.within([&] { return archive_read_open1(archive_.get()); }));
  }

  std::optional<Member> next() {
    // Skips the rest of the last member, and the padding of its last block.
    if (is_in_member_) check(archive_read_data_skip(archive_.get()));
    const la_int64_t before = archive_filter_bytes(archive_.get(), 0);
    archive_entry* entry = nullptr;
    const int status = next_header(&entry);
    is_in_member_ = status != ARCHIVE_EOF;
    if (status == ARCHIVE_EOF) {
      require_end(before);
      return std::nullopt;
    }
    // A retry would continue after a damaged header.
    check(status == ARCHIVE_RETRY ? ARCHIVE_FATAL : status);
    ++members_;
    return member(entry);
  }

  std::size_t read(std::span<char> into) {
    const la_ssize_t count = archive_read_data(archive_.get(), into.data(), into.size());
    // libarchive reports wrong sizes and checksums as mere warnings.
    if (count < 0) check(ARCHIVE_FATAL);
    return static_cast<std::size_t>(count);
  }

 private:
  // Done here and not by libarchive, which would stop at the tar's end and leave a damaged rest,
  // and the checksum after it, unread.
  void expand() {
    try {
      feed_.expanded = decompressed(feed_.file.source(), feed_.file.name());
    } catch (...) {
      feed_.fault = std::current_exception();
      refuse_for_fault();
    }
  }

  int next_header(archive_entry** entry) {
    const auto read = [&] { return archive_read_next_header(archive_.get(), entry); };
    return is_zip_ ? locale_.within(read) : read();
  }

  Member member(archive_entry* entry) const {
    if (archive_entry_is_encrypted(entry) != 0) refuse("is encrypted");
    const char* const name = archive_entry_pathname(entry);
    if (name == nullptr && !locale_.is_there()) {
      refuse("holds a name that cannot be read here: this system has no C.UTF-8 locale");
    }
    if (name == nullptr) refuse("is damaged: a name that is marked as UTF-8 is not UTF-8");
    Member found{name, kind_of_member(entry), std::nullopt, written_ns(entry)};
    if (archive_entry_size_is_set(entry) != 0) {
      found.bytes = static_cast<std::uint64_t>(archive_entry_size(entry));
    }
    return found;
  }

  // The zip field that holds UTC usually also contains the time of the last access, which no other
  // field does; libarchive does not say where the other time comes from.
  std::optional<std::int64_t> written_ns(archive_entry* entry) const {
    const bool is_utc = !is_zip_ || archive_entry_atime(entry) != 0;
    if (!is_utc || archive_entry_mtime_is_set(entry) == 0) return std::nullopt;
    struct stat found {};
    found.st_mtim = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    return facts_of(found).modified_ns;
  }

  // A tar ends with an empty block, but libarchive also accepts a cut between two members as the
  // end.
  void require_end(la_int64_t before) {
    constexpr la_int64_t kBlockBytes = 512;
    if (is_zip_) return require_count();
    if (archive_filter_bytes(archive_.get(), 0) - before < kBlockBytes) {
      refuse("is cut off: the end of the tar is missing");
    }
    try {
      while (feed_.expanded && feed_.fill() > 0) continue;
    } catch (...) {
      feed_.fault = std::current_exception();
      check(ARCHIVE_FATAL);
    }
  }

  // libarchive skips damaged directory entries, and entries that share a position.
  void require_count() const {
    const auto count = zip_count(feed_.file);
    if (!count || *count == static_cast<std::uint16_t>(members_)) return;
    refuse(fmt::format("is damaged: it says that it has {} members, but {} were found", *count,
                       members_));
  }

  void check(int status) {
    if (feed_.fault) refuse_for_fault();
    if (status >= ARCHIVE_WARN) return;
    const char* const told = archive_error_string(archive_.get());
    std::string why = told != nullptr ? told : "no reason given";
    if (why.ends_with('\n')) why.pop_back();
    refuse(fmt::format("is cut off or damaged ({})", why));
  }

  void refuse_for_fault() {
    try {
      std::rethrow_exception(std::exchange(feed_.fault, nullptr));
    } catch (const FileError& error) {
      // The message begins with the name, as all messages do.
      refuse(std::string(error.what()).substr(feed_.file.name().size() + 2));
    }
  }

  [[noreturn]] void refuse(const std::string& why) const { refuse_archive(feed_.file.name(), why); }

  bool is_zip_;
  bool is_in_member_ = false;
  std::uint64_t members_ = 0;
  Utf8Locale locale_;
  Feed feed_;
  ArchiveHandle archive_;
};

ArchiveReader::ArchiveReader(const OpenedFile& file, std::uint64_t most_bytes)
    : reader_(std::make_unique<Reader>(file, most_bytes)) {}

ArchiveReader::~ArchiveReader() = default;

std::optional<Member> ArchiveReader::next() { return reader_->next(); }

std::size_t ArchiveReader::read(std::span<char> into) { return reader_->read(into); }

void refuse_archive(const std::string& name, const std::string& why) {
  throw FileError(name, why + "; fetch the archive again, or unpack it and pass the folder");
}

}  // namespace aggregate_power
