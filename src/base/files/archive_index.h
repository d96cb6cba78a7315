// The names in an archive as a tree of folders.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace aggregate_power {

// "./a//b/" becomes "a/b"; "" is the root. Returns nullopt if the name is absolute or contains
// "..", since it may lead elsewhere.
std::optional<std::string> member_path(std::string_view name);

// Position of a member's bytes in the spool file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> written_ns = {};  // Member's
};

// Takes and returns paths in the form of member_path().
class ArchiveIndex {
 public:
  // Also adds the folders above it. Returns false if the name is taken.
  bool add_file(const std::string& path, Extent extent);
  void add_folder(const std::string& path);
  // A name used by both a file and a folder.
  std::optional<std::string> find_clash() const;

  // Counts files, and folders that were added without a file in them.
  std::size_t size() const { return entries_.size(); }
  std::optional<Extent> find_file(const std::string& path) const;
  bool has_folder(const std::string& path) const;
  // In order of names.
  void list(const std::string& folder,
            const std::function<void(std::string_view name, bool is_folder)>& entry) const;

 private:
  // A folder's key ends in a slash. The folders above an entry follow from its key, so an index of
  // deep paths takes no more room than the paths.
  std::map<std::string, Extent, std::less<>> entries_;
};

}  // namespace aggregate_power
