// The retained files of a sweep: a folder of artifacts, read and never changed.
#pragma once

#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/tree.h"
#include "base/text/json_value.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// A JSON object of at most 16 MiB and two million values, so that memory is bounded. Throws Error
// for anything else, and FileError.
JsonValue read_json_object(const OpenedFile& file);
JsonValue read_json_object(const StorePath& file);
JsonValue json_object_of(std::string_view text, const std::string& name);
// Throws Error if a JSON text has more than two million values. `name` is for the message.
void check_json_values(std::string_view text, const std::string& name);
// What is wrong with a text that has a key twice.
std::string repetition_of(const std::string& key);
// The same as read_json_object(), for what is published: no key may occur twice.
JsonValue read_published_object(const OpenedFile& file);

// Whether a path names something below the folder that it is relative to: it has components, and
// none of them is empty, "." or "..".
bool is_path_below(std::string_view path);

// Sorts paths by their components.
bool path_less(const std::string& a, const std::string& b);

// All paths are relative to the root, with single slashes. Any number of threads may use it.
class Evidence {
 public:
  explicit Evidence(std::string root);

  const Tree& tree() const { return *tree_; }
  std::string full(const std::string& path) const;
  bool has_file(const std::string& path) const { return tree_->find_file(full(path)).has_value(); }

  // What a file must not be to be an artifact: missing, empty, a link, or elsewhere. Empty: it is
  // one. Determined once: many points may list one file.
  std::string artifact_fault(const std::string& path) const;
  // These throw Error for what is not an artifact, or not JSON, and FileError for what cannot be
  // read.
  JsonValue json(const std::string& path) const;
  std::string text(const std::string& path, std::size_t most_bytes) const;
  std::string sha256(const std::string& path) const;  // computed once

  // Everything below a folder except folders; links are listed and not followed. Sorted. Empty if
  // there is no such folder. Throws FileError.
  std::vector<std::string> files_below(const std::string& folder) const;
  // The folders in the root itself whose names begin so; sorted.
  std::vector<std::string> folders(std::string_view begin) const;

  std::size_t files_hashed() const;

 private:
  std::string determined_fault(const std::string& path) const;
  OpenedFile open_artifact(const std::string& path) const;

  std::shared_ptr<const Tree> tree_;
  std::string root_;
  std::string resolved_root_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> faults_;  // by path
  mutable std::map<std::string, std::shared_future<std::string>> digests_;
};

}  // namespace aggregate_power
