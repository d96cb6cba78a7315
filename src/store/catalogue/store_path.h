// A file or folder in an artifact store, and what is in it or beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"

namespace aggregate_power {

// How deep folders are searched: deeper than any artifact. Links are not followed, and each level
// may hold one folder open.
inline constexpr int kMostLevels = 200;

// An archive in a store counts as a folder with its name.
struct StorePath {
  std::shared_ptr<const Tree> tree;  // null: there is no such file
  std::string path;                  // in the tree
  std::string display;               // for people: the store as it was named, and the path below it
  std::string below;                 // relative to the store
  std::shared_ptr<const StorePath> folder;  // the folder around it; null above the store
  std::optional<FileFacts> facts = {};      // of a file, at the time it was found
};

using Folder = std::shared_ptr<const StorePath>;

// A file that is in no store, by its normal path. Returns nullopt if there is none.
std::optional<StorePath> disk_file(const std::string& path);

// A place in few bytes, for stores with many.
class KeptPlace {
 public:
  KeptPlace() = default;  // none
  explicit KeptPlace(const StorePath& place);
  explicit operator bool() const { return base_ != nullptr; }
  StorePath place() const;
  const std::string& names() const { return names_; }
  std::string display() const;

 private:
  Folder base_;             // the outermost folder of the place's tree, or the place itself
  std::string names_ = {};  // below it
  bool is_file_ = false;    // and has facts
};

// Does not check what is there.
StorePath child(const Folder& folder, std::string_view name);

// These return nullopt if there is nothing with that name.
std::optional<StorePath> file_in(const Folder& folder, const std::string& name);
std::optional<StorePath> folder_in(const Folder& folder, const std::string& name);
std::optional<StorePath> archive_in(const Folder& folder, const std::string& stem);
// A plain file takes precedence over a compressed one with its name.
std::optional<StorePath> maybe_compressed_in(const Folder& folder, std::string_view name);
// A folder takes precedence over an archive with its name, which is opened: throws FileError.
std::optional<StorePath> artifact_in(const Folder& folder, const std::string& name);

bool has_artifact(const Folder& folder, const std::string& name);
bool has_below(const StorePath& folder, std::string_view path);

// A file some folders below another; nullopt if there is none.
std::optional<StorePath> file_below(const StorePath& folder, const std::string& path);
// A file beside another one; nullopt if there is none with that name.
std::optional<StorePath> find_beside(const StorePath& file, const std::string& name);

// What is wanted, except folders, at most `levels` folders below `folder`, in the order of the
// paths. Links to folders are not followed. Throws FileError.
using IsWantedEntry = std::function<bool(const TreeEntry& entry)>;
void for_each_below(const StorePath& folder, int levels, const IsWantedEntry& is_wanted,
                    const std::function<void(StorePath)>& take);
std::vector<StorePath> entries_below(const StorePath& folder, int levels,
                                     const IsWantedEntry& is_wanted);
// The files with wanted names.
using IsWantedName = bool (*)(std::string_view name);
std::vector<StorePath> files_below(const StorePath& folder, int levels, IsWantedName is_wanted);

// What identifies a file, whatever leads to it.
std::string identity_of(const StorePath& place);

// The outermost folder or archive around a place.
const StorePath& store_of(const StorePath& place);

// The folder that an archive represents. Throws FileError if it cannot be read or trusted.
StorePath inside(const StorePath& archive);

// For a place in an archive, the outermost archive, on disk; otherwise the place's own path.
std::string path_on_disk(const StorePath& place);

// Converts a place to a text that can be kept outside memory, and back. The latter throws FileError
// if an archive on the way cannot be read.
std::string store_path_text(const StorePath& place);
StorePath store_path_of(std::string_view text, const StoreAccess& access = {});
std::string display_of(
    std::string_view text);  // StorePath::display of the place, which is not opened

// ---- One run in an artifact store, as a walk finds it.

// The layout of a run in its store; layouts.h says what each of these means.
enum class Layout { power_audit, bmk, folder, multinode, agentic };

// One aggregate, or a folder that should have one.
struct StoredRun {
  std::string name;  // the part after "agg_"; for an agentic run the whole name
  // The part after "bmk_" or "power_audit_" in the name of the artifact around it, preferably of an
  // archive rather than a folder; else the name. The same for everything in one artifact.
  std::string artifact;
  Layout layout = Layout::folder;
  StorePath folder;     // contains the aggregate, or should
  StorePath aggregate;  // possibly empty
};

// The kinds of pieces of a run: its telemetry, its benchmark result.
enum class PieceKind : std::uint8_t { telemetry, benchmark_result };

}  // namespace aggregate_power
