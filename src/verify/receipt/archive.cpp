// Judges the directory of an archive, then unpacks it into digests.
#include "verify/receipt/receipt.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/files.h"
#include "base/files/hash.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;

[[noreturn]] void refuse_member(const OpenedFile& file, std::string_view name,
                                const std::string& why) {
  throw Error(fmt::format("{}: member {}: {}", file.name(), printable(name, 200), why));
}

std::string_view without_slash(std::string_view name) {
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

std::string entry_fault(const ZipEntry& entry) {
  if (std::string fault = name_fault(entry.name); !fault.empty()) return fault;
  if (!entry.is_utf8 && !is_ascii(entry.name)) return "its name is not marked as UTF-8";
  const std::uint32_t type = entry.mode & S_IFMT;
  if (type != 0 && type != S_IFREG && type != S_IFDIR) return "is a link or a special file";
  if (entry.bytes > kMostMemberBytes) return "is larger than 10 GiB";
  return {};
}

// Sizes of the files by path.
std::map<std::string, std::uint64_t> judged_directory(const OpenedFile& file) {
  std::map<std::string, std::uint64_t> files;
  std::set<std::string> names;
  std::uint64_t total = 0;
  for (const ZipEntry& entry : zip_directory(file)) {
    if (const std::string fault = entry_fault(entry); !fault.empty()) {
      refuse_member(file, entry.name, fault);
    }
    const std::string path(without_slash(entry.name));
    if (!names.insert(path).second) refuse_member(file, entry.name, "occurs twice");
    if (entry.name.ends_with('/')) continue;
    total += entry.bytes;
    if (total > kMostArchiveBytes) {
      throw Error(fmt::format("{}: holds more than 20 GiB", file.name()));
    }
    files[path] = entry.bytes;
  }
  for (const std::string& name : names) {
    for (std::size_t end = name.find('/'); end != std::string::npos;
         end = name.find('/', end + 1)) {
      const std::string above = name.substr(0, end);
      if (files.contains(above)) refuse_member(file, above, "is a file and a folder");
    }
  }
  return files;
}

ArchiveMember unpacked(ArchiveReader& reader, std::string path, std::uint64_t most_bytes,
                       const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted,
                       std::span<char> piece) {
  const auto [begin, end] = wanted.equal_range(path);
  ArchiveMember member{std::move(path), 0, {}};
  Sha256 hash;
  while (const std::size_t count = reader.read(piece)) {
    member.bytes += count;
    if (member.bytes > most_bytes) refuse_member(file, member.path, "is longer than it says");
    hash.add({piece.data(), count});
    for (auto taker = begin; taker != end; ++taker) taker->second({piece.data(), count});
  }
  for (auto taker = begin; taker != end; ++taker) taker->second({});
  if (member.bytes != most_bytes) refuse_member(file, member.path, "is shorter than it says");
  member.sha256 = hash.hex();
  return member;
}

}  // namespace

std::string name_fault(std::string_view name) {
  const std::string_view path = without_slash(name);
  if (name.find('\\') != std::string_view::npos) return "has a backslash in its name";
  if (name.find('\0') != std::string_view::npos) return "has a NUL in its name";
  if (name.starts_with('/')) return "has an absolute name";
  const bool has_drive = name.size() > 1 && name[1] == ':' && lower_ascii(name)[0] >= 'a' &&
                         lower_ascii(name)[0] <= 'z';
  if (has_drive) return "has a drive in its name";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return "has a name that leads elsewhere";
    at = end + 1;
  }
  return {};
}

std::vector<ArchiveMember> read_receipt_archive(
    const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted) {
  std::map<std::string, std::uint64_t> expected = judged_directory(file);
  std::vector<ArchiveMember> members;
  std::vector<char> piece(kPieceBytes);
  ArchiveReader reader(file);
  while (const auto next = reader.next()) {
    if (next->kind == Member::Kind::folder) continue;
    const auto entry = expected.find(next->name);
    if (entry == expected.end() || next->kind != Member::Kind::file) {
      refuse_member(file, next->name, "is another one in the zip's directory");
    }
    members.push_back(unpacked(reader, next->name, entry->second, file, wanted, piece));
    expected.erase(entry);
  }
  if (!expected.empty()) refuse_member(file, expected.begin()->first, "cannot be found");
  std::ranges::sort(members, {}, &ArchiveMember::path);
  return members;
}

}  // namespace aggregate_power
