// The archives of a receipt: which names, types and sizes they may hold, and what they hold.
// Contract-october.md 5.4.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file.h"

namespace aggregate_power {

inline constexpr std::uint64_t kMostMemberBytes = std::uint64_t{10} << 30;
inline constexpr std::uint64_t kMostArchiveBytes = std::uint64_t{20} << 30;  // unpacked

// Why a member must not be in an archive of a receipt; empty: it may be.
std::string name_fault(std::string_view name);

struct ArchiveMember {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;
};

// Receives the bytes of a member in pieces; an empty piece is its end.
using TakeMember = std::function<void(std::string_view piece)>;

// Reads an archive of any size in little memory. Its files, sorted by path; those in `wanted` are
// also passed on. Throws Error for an archive that breaks a rule, before anything is unpacked if
// its directory shows that; FileError for one that cannot be read.
std::vector<ArchiveMember> read_receipt_archive(
    const OpenedFile& file, const std::multimap<std::string, TakeMember>& wanted);

}  // namespace aggregate_power
