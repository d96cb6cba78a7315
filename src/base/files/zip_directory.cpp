// Reads the central directory of a zip, also of a large one (zip64).
#include "base/files/files.h"

#include <algorithm>

namespace aggregate_power {
namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kMostCommentBytes = 65535;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
constexpr std::uint64_t kMostDirectoryBytes = 64 << 20;
constexpr std::uint64_t kIsElsewhere = 0xFFFFFFFF;  // in the fields of zip64

[[noreturn]] void refuse_zip(const OpenedFile& file) {
  throw FileError(file.name(), "is not a whole zip: its directory cannot be read");
}

// A little-endian number; `text` has it.
std::uint64_t number_at(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(text[at + i]);
  }
  return number;
}

std::string bytes_of(const OpenedFile& file, std::uint64_t at, std::uint64_t size) {
  if (at > file.size() || size > file.size() - at) refuse_zip(file);
  std::string bytes(size, '\0');
  for (std::size_t have = 0; have < size;) {
    const std::size_t count = file.read_at(at + have, std::span(bytes).subspan(have));
    if (count == 0) refuse_zip(file);
    have += count;
  }
  return bytes;
}

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
};

Directory find_directory(const OpenedFile& file) {
  const std::uint64_t tail_bytes =
      std::min<std::uint64_t>(file.size(), kEndBytes + kMostCommentBytes);
  const std::uint64_t tail_at = file.size() - tail_bytes;
  const std::string tail = bytes_of(file, tail_at, tail_bytes);
  if (tail.size() < kEndBytes) refuse_zip(file);
  const std::size_t end = tail.rfind("PK\x05\x06", tail.size() - kEndBytes);
  if (end == std::string::npos) refuse_zip(file);
  Directory found{number_at(tail, end + 10, 2), number_at(tail, end + 12, 4),
                  number_at(tail, end + 16, 4)};
  const std::uint64_t end_at = tail_at + end;
  if (end_at < kLocatorBytes) return found;
  const std::string locator = bytes_of(file, end_at - kLocatorBytes, kLocatorBytes);
  if (!locator.starts_with("PK\x06\x07")) return found;
  const std::string end64 = bytes_of(file, number_at(locator, 8, 8), kEnd64Bytes);
  if (!end64.starts_with("PK\x06\x06")) refuse_zip(file);
  return {number_at(end64, 32, 8), number_at(end64, 40, 8), number_at(end64, 48, 8)};
}

// The size of a member in the field of zip64, which begins with it. Nullopt: there is none.
std::optional<std::uint64_t> large_size(std::string_view extra) {
  while (extra.size() >= 4) {
    const std::uint64_t size = number_at(extra, 2, 2);
    if (size > extra.size() - 4) return std::nullopt;
    if (number_at(extra, 0, 2) == 1 && size >= 8) return number_at(extra, 4, 8);
    extra.remove_prefix(4 + size);
  }
  return std::nullopt;
}

}  // namespace

std::vector<ZipEntry> zip_directory(const OpenedFile& file) {
  const Directory directory = find_directory(file);
  if (directory.bytes > kMostDirectoryBytes) refuse_zip(file);
  const std::string bytes = bytes_of(file, directory.offset, directory.bytes);
  std::string_view rest = bytes;
  std::vector<ZipEntry> entries;
  while (!rest.empty()) {
    if (rest.size() < kEntryBytes || !rest.starts_with("PK\x01\x02")) refuse_zip(file);
    const std::uint64_t name_bytes = number_at(rest, 28, 2);
    const std::uint64_t extra_bytes = number_at(rest, 30, 2);
    const std::uint64_t all = kEntryBytes + name_bytes + extra_bytes + number_at(rest, 32, 2);
    if (all > rest.size()) refuse_zip(file);
    ZipEntry entry;
    entry.name = rest.substr(kEntryBytes, name_bytes);
    entry.is_utf8 = (number_at(rest, 8, 2) & 0x800) != 0;
    entry.mode = static_cast<std::uint32_t>(number_at(rest, 40, 2));
    entry.bytes = number_at(rest, 24, 4);
    if (entry.bytes == kIsElsewhere) {
      entry.bytes =
          large_size(rest.substr(kEntryBytes + name_bytes, extra_bytes)).value_or(entry.bytes);
    }
    entries.push_back(std::move(entry));
    rest.remove_prefix(all);
  }
  if (entries.size() != directory.entries) refuse_zip(file);
  return entries;
}

}  // namespace aggregate_power
