// Finds what a record names, where it is now.
#include "store/catalogue/run_record.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/files/hash.h"
#include "base/files/path.h"
#include "store/catalogue/retained_files.h"

namespace aggregate_power {
namespace {

// The results of agents are this far below what their aggregate is in.
constexpr int kMostLevelsUp = 3;

Folder disk_root() {
  return std::make_shared<const StorePath>(StorePath{disk_tree(), "/", "/", "", nullptr});
}

std::string current_folder() { return std::filesystem::current_path().string(); }

// One component further; "..": the folder around. Nullopt: nothing can be below that.
std::optional<StorePath> step(const StorePath& at, std::string_view name, bool is_last) {
  if (name.empty() || name == ".") return at;
  if (name == "..") return at.folder ? std::optional(*at.folder) : std::nullopt;
  StorePath next = child(std::make_shared<const StorePath>(at), name);
  if (next.path == current_folder() && !next.tree->is_archive()) next.display.clear();
  if (is_last || next.tree->has_folder(next.path)) return next;
  const bool is_archive = is_archive_name(name) && next.tree->find_file(next.path);
  return is_archive ? std::optional(inside(next)) : std::nullopt;
}

std::optional<StorePath> below(StorePath at, std::string_view path) {
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    auto next = step(at, name, rest.empty());
    if (!next) return std::nullopt;
    at = std::move(*next);
  }
  at.facts = at.tree->find_file(at.path);
  return at.facts || at.tree->has_folder(at.path) ? std::optional(std::move(at)) : std::nullopt;
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

}  // namespace

std::optional<StorePath> place_on_disk(const std::string& path) {
  const bool is_absolute = path.starts_with('/');
  return below(*disk_root(), is_absolute ? path : current_folder() + "/" + path);
}

std::optional<StorePath> RunRecord::find(const std::string& name, const std::string& hash) const {
  const StorePath& folder = *place.folder;
  FoundPlaces found(hash.empty());
  if (is_of_store()) {
    found.add([&] { return below(folder, name); });
    if (found.all().empty() && !artifacts.empty()) {
      found.add([&] { return place_on_disk(artifacts + "/" + name); });
    }
  } else {
    if (name.find('/') != name.npos) found.add([&] { return place_on_disk(name); });
    const StorePath* around = &folder;
    for (int levels = 0; around != nullptr && levels <= kMostLevelsUp; ++levels) {
      for (const std::string& ending : endings(name)) {
        found.add([&] { return below(*around, ending); });
      }
      around = around->folder.get();
    }
    found.add([&] { return place_on_disk(name); });
    if (!artifacts.empty()) {
      for (const std::string& ending : endings(name)) {
        found.add([&] { return place_on_disk(artifacts + "/" + ending); });
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

std::optional<StorePath> RunRecord::find_aggregate() const {
  const JsonValue& named = from().at("aggregate");
  if (named.is_string()) return find(named.text);
  constexpr std::string_view kBegin = "power_validation_";
  const std::string_view name = last_name(place.path);
  if (!name.starts_with(kBegin)) return std::nullopt;
  const std::string run(name.substr(kBegin.size()));
  for (const std::string& file : {"agg_" + run, run}) {
    if (auto aggregate = file_in(place.folder, file)) return aggregate;
  }
  return std::nullopt;
}

std::optional<RunRecord> read_run_record(const StorePath& place) {
  RunRecord record{place, read_json_object(place)};
  return is_run_record(record.content) ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace aggregate_power
