// Reads retained files, each digest once.
#include "store/catalogue/retained_files.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"

namespace aggregate_power {
namespace {

constexpr std::ptrdiff_t kMostJsonValues = 2'000'000;

bool begins_value(char c) { return c == ',' || c == '[' || c == '{'; }

std::string first_component(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('/'), rest.size());
  std::string component(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return component;
}

std::string json_text(const OpenedFile& file) {
  if (file.size() > kAuditRecordFile.most_bytes) {
    throw Error(fmt::format("{}: {}", file.name(), too_large(kAuditRecordFile)));
  }
  return read_whole(file, kAuditRecordFile);
}

}  // namespace

void check_json_values(std::string_view text, const std::string& name) {
  if (std::ranges::count_if(text, begins_value) > kMostJsonValues) {
    throw Error(name + ": has more than 2,000,000 values, the most that such a file may have");
  }
}

std::string repetition_of(const std::string& key) {
  return fmt::format("'{}' occurs twice, and programs differ in which of the two counts", key);
}

JsonValue json_object_of(std::string_view text, const std::string& name) {
  check_json_values(text, name);
  try {
    JsonValue value = parse_json(text);
    if (!value.is_object()) throw Error(name + ": is not a JSON object");
    return value;
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", name, error.what()));
  }
}

JsonValue read_json_object(const OpenedFile& file) {
  return json_object_of(json_text(file), file.name());
}

JsonValue read_published_object(const OpenedFile& file) {
  const std::string text = json_text(file);
  JsonValue value = json_object_of(text, file.name());
  if (const auto key = repeated_json_key(text)) {
    throw Error(fmt::format("{}: {}", file.name(), repetition_of(*key)));
  }
  return value;
}

JsonValue read_json_object(const StorePath& file) {
  return read_json_object(file.tree->open(file.path));
}

bool is_path_below(std::string_view path) {
  if (path.empty() || path.back() == '/' || path.find('\0') != std::string_view::npos) return false;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string component = first_component(rest);
    if (component.empty() || component == "." || component == "..") return false;
  }
  return true;
}

bool path_less(const std::string& a, const std::string& b) {
  std::string_view rest_a = a;
  std::string_view rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    const std::string of_a = first_component(rest_a);
    const std::string of_b = first_component(rest_b);
    if (of_a != of_b) return of_a < of_b;
  }
  return rest_a.size() < rest_b.size();
}

Evidence::Evidence(std::string root)
    : tree_(disk_tree()), root_(std::move(root)), resolved_root_(tree_->resolved(root_)) {}

std::string Evidence::full(const std::string& path) const { return path_below(root_, path); }

std::string Evidence::artifact_fault(const std::string& path) const {
  {
    const std::lock_guard guard(mutex_);
    if (const auto known = faults_.find(path); known != faults_.end()) return known->second;
  }
  std::string fault = determined_fault(path);
  const std::lock_guard guard(mutex_);
  faults_.emplace(path, fault);
  return fault;
}

std::string Evidence::determined_fault(const std::string& path) const {
  if (!is_path_below(path)) return "is not the path of a file in the folder of artifacts";
  const std::string place = full(path);
  if (tree_->is_link(place)) return "is a link";
  const auto facts = tree_->find_file(place);
  if (!facts) return tree_->has_folder(place) ? "is a folder" : "is missing";
  if (facts->bytes == 0) return "is empty";
  std::string root = resolved_root_;
  if (!root.ends_with('/')) root += '/';
  if (!tree_->resolved(place).starts_with(root)) return "leads out of the folder of artifacts";
  return {};
}

OpenedFile Evidence::open_artifact(const std::string& path) const {
  if (const std::string fault = artifact_fault(path); !fault.empty()) {
    throw Error(fmt::format("{}: {}", path, fault));
  }
  return tree_->open(full(path));
}

JsonValue Evidence::json(const std::string& path) const {
  return read_published_object(open_artifact(path));
}

std::string Evidence::text(const std::string& path, std::size_t most_bytes) const {
  return read_up_to(*open_artifact(path).source(), most_bytes);
}

std::string Evidence::sha256(const std::string& path) const {
  std::promise<std::string> ours;
  std::shared_future<std::string> digest;
  bool is_ours = false;
  {
    const std::lock_guard guard(mutex_);
    const auto [known, is_new] = digests_.try_emplace(path);
    if (is_new) known->second = ours.get_future().share();
    digest = known->second;
    is_ours = is_new;
  }
  if (is_ours) {
    try {
      ours.set_value(sha256_of(open_artifact(path)));
    } catch (...) {
      ours.set_exception(std::current_exception());
    }
  }
  return digest.get();
}

std::vector<std::string> Evidence::files_below(const std::string& folder) const {
  const StorePath place{tree_, full(folder), folder, folder, nullptr};
  if (!tree_->has_folder(place.path) || tree_->is_link(place.path)) return {};
  std::vector<std::string> files;
  for (const StorePath& file :
       entries_below(place, std::numeric_limits<int>::max(), [](const auto&) { return true; })) {
    files.push_back(file.display);
  }
  return files;
}

std::vector<std::string> Evidence::folders(std::string_view begin) const {
  std::vector<std::string> names;
  tree_->list(root_, [&](const TreeEntry& entry) {
    const bool is_folder = entry.kind == TreeEntry::Kind::folder;
    if (is_folder && entry.name.starts_with(begin)) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  return names;
}

std::size_t Evidence::files_hashed() const {
  const std::lock_guard guard(mutex_);
  return digests_.size();
}

}  // namespace aggregate_power
