// A file or folder of an artifact store, and what lies in it or beside it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/tree.h"

namespace aggregate_power {

// An archive in a store is a folder of its name.
struct StorePath {
  std::shared_ptr<const Tree> tree;  // nothing: there is no such file
  std::string path;                  // in the tree
  std::string display;               // for people: the store as it was named, and what is below
  std::string below;                 // the store
  std::shared_ptr<const StorePath> folder;  // that holds it; nothing above the store
  std::optional<FileFacts> facts = {};      // of a file, when it was looked for
};

using Folder = std::shared_ptr<const StorePath>;

// Whatever is there.
StorePath child(const Folder& folder, std::string_view name);

// These give nothing where there is none of that name.
std::optional<StorePath> file_in(const Folder& folder, const std::string& name);
std::optional<StorePath> folder_in(const Folder& folder, const std::string& name);
std::optional<StorePath> archive_in(const Folder& folder, const std::string& stem);
// A plain file goes before a compressed one of its name.
std::optional<StorePath> maybe_compressed_in(const Folder& folder, std::string_view name);
// A folder goes before an archive of its name, which is opened: throws FileError.
std::optional<StorePath> artifact_in(const Folder& folder, const std::string& name);

bool has_artifact(const Folder& folder, const std::string& name);
bool has_below(const StorePath& folder, std::string_view path);

// A file some folders below another; nothing when there is none.
std::optional<StorePath> file_below(const StorePath& folder, const std::string& path);
// A file beside another one; nothing when there is none of that name.
std::optional<StorePath> find_beside(const StorePath& file, const std::string& name);

// The outermost folder, or archive, that a place lies in.
const StorePath& store_of(const StorePath& place);

// An archive as the folder that it stands for. Throws FileError when it cannot be read or trusted.
StorePath inside(const StorePath& archive);

// Of a place in an archive: the outermost one, on disk. Else the place's own path.
std::string path_on_disk(const StorePath& place);

// A place as a text, to be kept outside memory, and back. The latter throws FileError when an
// archive on the way cannot be read.
std::string store_path_text(const StorePath& place);
StorePath store_path_of(std::string_view text);
std::string display_of(std::string_view text);  // StorePath::display of the place, however it is

}  // namespace aggregate_power
