// Finds what a record names, where it is now.
#include "store/catalogue/run_record.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "core/record/record_write.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {
namespace {

// The results of agents are this far below what their aggregate is in.
constexpr int kMostLevelsUp = 3;

StorePath disk_root(std::shared_ptr<const Tree> tree) {
  return {std::move(tree), "/", "/", "", nullptr};
}

std::string current_folder() { return std::filesystem::current_path().string(); }

// Ways up from the current folder are gone: it is no link, and what is next to it need not be in
// its tree.
std::string absolute(std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  std::filesystem::path folder = std::filesystem::current_path();
  while (path == ".." || path.starts_with("../") || path.starts_with("./")) {
    if (path[1] == '.') folder = folder.parent_path();
    path.remove_prefix(std::min(path.find('/'), path.size() - 1) + 1);
  }
  return (folder / path).string();
}

// One component further; "..": the folder around. Nullopt: nothing can be below that. `here`: the
// current folder, relative to which places are shown.
std::optional<StorePath> step(const StorePath& at, std::string_view name, bool is_last,
                              const std::string& here) {
  if (name.empty() || name == ".") return at;
  if (name == "..") return at.folder ? std::optional(*at.folder) : std::nullopt;
  StorePath next = child(std::make_shared<const StorePath>(at), name);
  if (next.path == here && !next.tree->is_archive()) next.display.clear();
  if (is_last || next.tree->has_folder(next.path)) return next;
  const bool is_archive = is_archive_name(name) && next.tree->find_file(next.path);
  return is_archive ? std::optional(inside(next)) : std::nullopt;
}

template <typename Take>
void for_each_component(std::string_view path, Take take) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (!take(name, path.empty())) return;
  }
}

// Whether one look decides that there is nothing: no archive and no way back is in the path.
bool is_one_look(std::string_view path) {
  bool is_plain = true;
  for_each_component(path, [&](std::string_view name, bool is_last) {
    is_plain = name != ".." && (is_last || !is_archive_name(name));
    return is_plain;
  });
  return is_plain;
}

bool is_name_of_a_file(std::string_view name) {
  constexpr std::size_t kMostBytes = 4096;  // PATH_MAX
  constexpr std::ptrdiff_t kMostSlashes = 50;
  return name.size() < kMostBytes && std::ranges::count(name, '/') <= kMostSlashes &&
         name.find('\0') == std::string_view::npos;
}

std::optional<StorePath> below(const StorePath& folder, std::string_view path) {
  if (is_one_look(path)) {
    const std::string whole = join_path(folder.path, path);
    if (!folder.tree->find_file(whole) && !folder.tree->has_folder(whole)) return std::nullopt;
  }
  std::optional<StorePath> at = folder;
  const std::string here = current_folder();
  for_each_component(path, [&](std::string_view name, bool is_last) {
    at = step(*at, name, is_last, here);
    return at.has_value();
  });
  if (!at) return std::nullopt;
  at->facts = at->tree->find_file(at->path);
  return at->facts || at->tree->has_folder(at->path) ? at : std::nullopt;
}

// The outermost archive on the way to `path`, else the folder or file itself.
std::string archive_or_itself(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    std::string above = path.substr(0, slash);
    if (is_archive_name(above) && is_regular_file(above)) return above;
  }
  return path;
}

// The folder in the current one that leads to a file; of an audit record, which is in the folder of
// results, the current one itself. Else the file's own folder.
std::string folder_of_named(const std::string& file) {
  const std::string here = current_folder() + "/";
  const std::string whole = std::filesystem::path(absolute(file)).lexically_normal().string();
  if (!whole.starts_with(here)) return whole.substr(0, std::max<std::size_t>(whole.rfind('/'), 1));
  if (last_name(whole).starts_with("power_validation")) return ".";
  const std::size_t slash = whole.find('/', here.size());
  return slash == whole.npos ? "." : whole.substr(here.size(), slash - here.size());
}

// Returns null if the record is in an archive that is known by itself only.
std::shared_ptr<const Tree> tree_on_disk(const StorePath& place) {
  const StorePath* at = &place;
  while (at->tree->is_archive() && at->folder) at = at->folder.get();
  return at->tree->is_archive() ? nullptr : at->tree;
}

// The path, then what is left of it without its first folder, and so on.
std::vector<std::string> endings(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  std::vector<std::string> all = {std::string(path)};
  for (std::size_t slash; (slash = path.find('/')) != std::string_view::npos;) {
    path.remove_prefix(slash + 1);
    all.emplace_back(path);
  }
  return all;
}

bool has_hash(const StorePath& place, const std::string& hash) {
  return place.facts && hash_of(place.tree->open(place.path)) == hash;
}

// Those that exist, in their order; only the first one if that is enough. Looking is slow.
class FoundPlaces {
 public:
  explicit FoundPlaces(bool is_first_enough) : is_first_enough_(is_first_enough) {}

  template <typename Find>
  void add(Find find) {
    if (is_first_enough_ && !found_.empty()) return;
    if (std::optional<StorePath> place = find()) found_.push_back(std::move(*place));
  }
  std::vector<StorePath>& all() { return found_; }

 private:
  bool is_first_enough_;
  std::vector<StorePath> found_;
};

// What the aggregate of a record next to it is called.
std::vector<std::string> usual_aggregates(const StorePath& record) {
  constexpr std::string_view kBegin = "power_validation_";
  const std::string_view name = last_name(record.path);
  if (!name.starts_with(kBegin)) return {};
  const std::string run(name.substr(kBegin.size()));
  return {"agg_" + run, run};
}

// Whether a file may be the aggregate of a record that names another one, which is not there.
bool has_numbers_of(const JsonValue& record, const StorePath& aggregate) {
  try {
    const JsonValue members = read_json_object(aggregate);
    if (members.find(kPowerValid) == nullptr && members.find("avg_power_w") == nullptr)
      return false;
    return std::ranges::none_of(members.members, [&](const JsonValue::Member& member) {
      const auto& [key, value] = member;
      return value.is_finite_number() &&
             other_recorded_number(record, key, value.as_double()) != nullptr;
    });
  } catch (const std::runtime_error&) {  // it is no JSON object, or cannot be read
    return false;
  }
}

}  // namespace

std::optional<StorePath> place_on_disk(const std::string& path, std::shared_ptr<const Tree> tree) {
  return below(disk_root(std::move(tree)), absolute(path));
}

std::string root_of_store(const std::string& path) {
  std::string root = archive_or_itself(path);
  const bool is_store = !is_regular_file(root) || is_archive_name(root);
  return is_store ? root : folder_of_named(root);
}

std::optional<StorePath> place_in_store(const std::string& path, const StoreAccess& access) {
  return below(disk_root(bounded_tree(root_of_store(path), access)), absolute(path));
}

std::optional<StorePath> RunRecord::find(const std::string& name, const std::string& hash) const {
  if (!is_name_of_a_file(name)) return std::nullopt;
  const StorePath& folder = *place.folder;
  const std::shared_ptr<const Tree> disk = tree_on_disk(place);
  const auto on_disk = [&](const std::string& path) { return find_on_disk(path); };
  const std::string elsewhere = artifacts.empty() && disk ? disk->access().artifacts : artifacts;
  FoundPlaces found(hash.empty());
  if (is_of_store()) {
    found.add([&] { return below(folder, name); });
    if (found.all().empty() && !elsewhere.empty()) {
      found.add([&] { return on_disk(elsewhere + "/" + name); });
    }
  } else {
    if (name.find('/') != name.npos) found.add([&] { return on_disk(name); });
    const StorePath* around = &folder;
    for (int levels = 0; around != nullptr && levels <= kMostLevelsUp; ++levels) {
      for (const std::string& ending : endings(name)) {
        found.add([&] { return below(*around, ending); });
      }
      around = around->folder.get();
    }
    found.add([&] { return on_disk(name); });
    if (!elsewhere.empty()) {
      for (const std::string& ending : endings(name)) {
        found.add([&] { return on_disk(elsewhere + "/" + ending); });
      }
    }
  }
  std::vector<StorePath>& all = found.all();
  if (all.empty()) return std::nullopt;
  for (StorePath& candidate : all) {
    if (!hash.empty() && all.size() > 1 && has_hash(candidate, hash)) return std::move(candidate);
  }
  return std::move(all.front());
}

std::optional<StorePath> RunRecord::find_on_disk(const std::string& path) const {
  const std::shared_ptr<const Tree> disk = tree_on_disk(place);
  if (!disk || !is_name_of_a_file(path)) return std::nullopt;
  return below(disk_root(disk), absolute(path));
}

std::string RunRecord::way_out(const std::string& name) const {
  const std::shared_ptr<const Tree> disk = tree_on_disk(place);
  if (!disk || name.empty() || !is_name_of_a_file(name)) return {};
  std::string out;
  if (!place.tree->is_archive() && !name.starts_with('/')) {
    out = disk->way_out(join_path(place.folder->path, name));
  }
  if (out.empty()) out = disk->way_out(absolute(name));
  return out.empty() ? out : out.append(kToFollow);
}

std::optional<StorePath> RunRecord::find_aggregate() const {
  const JsonValue& named = from().at("aggregate");
  if (named.is_string()) {
    if (auto aggregate = find(named.text)) return aggregate;
  }
  for (const std::string& file : usual_aggregates(place)) {
    auto aggregate = file_in(place.folder, file);
    if (aggregate && (!named.is_string() || has_numbers_of(content, *aggregate))) return aggregate;
  }
  return std::nullopt;
}

std::optional<RunRecord::WayOut> RunRecord::aggregate_way_out() const {
  const JsonValue& named = from().at("aggregate");
  const auto names = named.is_string() ? std::vector{named.text} : usual_aggregates(place);
  for (const std::string& name : names) {
    if (std::string out = way_out(name); !out.empty()) return WayOut{name, std::move(out)};
  }
  return std::nullopt;
}

std::optional<RunRecord> read_run_record(const StorePath& place) {
  RunRecord record{place, read_json_object(place)};
  return is_run_record(record.content) ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<RunRecord> run_record_in(const StorePath& place) {
  try {
    return read_run_record(place);
  } catch (const std::runtime_error&) {  // it cannot be read, or is not an object
    return std::nullopt;
  }
}

}  // namespace aggregate_power
