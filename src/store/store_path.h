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
struct Place {
  std::shared_ptr<const Tree> tree;     // nothing: there is no such file
  std::string path;                     // in the tree
  std::string shown;                    // for people: the store as it was named, and what is below
  std::string below;                    // the store
  std::shared_ptr<const Place> folder;  // that holds it; nothing above the store
  std::optional<FileFacts> facts = {};  // of a file, when it was looked for
};

using Folder = std::shared_ptr<const Place>;

std::string_view last_name(std::string_view path);

// Whatever is there.
Place child(const Folder& folder, std::string_view name);

// These give nothing where there is none of that name.
std::optional<Place> file_in(const Folder& folder, const std::string& name);
std::optional<Place> folder_in(const Folder& folder, const std::string& name);
std::optional<Place> archive_in(const Folder& folder, const std::string& stem);
// A plain file goes before a compressed one of its name.
std::optional<Place> maybe_compressed_in(const Folder& folder, std::string_view name);
// A folder goes before an archive of its name, which is opened: throws FileError.
std::optional<Place> artifact_in(const Folder& folder, const std::string& name);

bool has_artifact(const Folder& folder, const std::string& name);
bool has_below(const Place& folder, std::string_view path);

// A file some folders below another; nothing when there is none.
std::optional<Place> file_below(const Place& folder, const std::string& path);
// A file beside another one; nothing when there is none of that name.
std::optional<Place> find_beside(const Place& file, const std::string& name);

// The outermost folder, or archive, that a place lies in.
const Place& store_of(const Place& place);

// An archive as the folder that it stands for. Throws FileError when it cannot be read or trusted.
Place inside(const Place& archive);

// Of a place in an archive: the outermost one, on disk. Else the place's own path.
std::string path_on_disk(const Place& place);

// A place as a text, to be kept outside memory, and back. The latter throws FileError when an
// archive on the way cannot be read.
std::string place_text(const Place& place);
Place place_of(std::string_view text);
std::string shown_of(std::string_view text);  // Place::shown of the place, however it is

}  // namespace aggregate_power
