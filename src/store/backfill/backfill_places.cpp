// Checks stores and output, and raises the limit of open files.
#include "store/backfill/backfill_places.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "store/catalogue/walk.h"

namespace aggregate_power {
namespace {

using NamesByReal = std::map<std::string, std::string>;

// Whether one of the stores above `real` is walked in such a way that it reaches `real`.
bool is_met(const std::filesystem::path& real, const NamesByReal& stores) {
  for (std::filesystem::path above = real; above.has_relative_path();) {
    above = above.parent_path();
    const auto store = stores.find(above);
    if (store == stores.end()) continue;
    const auto place = find_store(store->second, "");
    if (place && walk_meets(*place, real.lexically_relative(above).string())) return true;
  }
  return false;
}

}  // namespace

std::vector<NamedStore> distinct_stores(const std::vector<std::string>& names) {
  NamesByReal by_real;
  std::vector<NamedStore> stores;
  for (const std::string& name : names) {
    std::string real = resolve_links(name);
    if (by_real.emplace(real, name).second) stores.push_back({name, std::move(real)});
  }
  std::erase_if(stores, [&](const NamedStore& store) { return is_met(store.real, by_real); });
  return stores;
}

std::vector<StorePath> stores_to_walk(const std::vector<std::string>& names,
                                      const std::string& output, const StoreAccess& access) {
  for (const std::string& path : names) {
    if (!find_store(path, ""))
      throw Error(fmt::format("{}: is neither a folder nor an archive", path));
  }
  std::vector<StorePath> stores;
  std::set<std::string> taken;
  const std::vector<NamedStore> distinct = distinct_stores(names);
  const bool is_one = distinct.size() == 1;
  for (const auto& [path, real] : distinct) {
    std::string below = is_one ? "" : std::string(last_name(real));
    if (!is_one && !output.empty() && !taken.insert(below).second) {
      throw Error(fmt::format("--output: two stores are called '{}'; give one at a time", below));
    }
    stores.push_back(find_store(path, std::move(below), access).value());
  }
  return stores;
}

void require_output_outside(const std::string& output, const std::vector<StorePath>& stores) {
  const std::string target = resolve_what_is_there(output);
  std::filesystem::path there = target;
  std::error_code ignored;
  while (!std::filesystem::exists(there, ignored)) there = there.parent_path();
  if (!disk_tree()->has_folder(there)) {
    throw Error(
        fmt::format("--output: {} is not a folder; give a folder, or a new name", there.string()));
  }
  for (const StorePath& store : stores) {
    if (is_in(target, resolve_links(store.path))) {
      throw Error(fmt::format("--output: {} is inside the store {}; give a folder outside it",
                              output, store.path));
    }
  }
}

std::optional<std::size_t> allow_many_open_files() {
  constexpr rlim_t kEnough = 65536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  std::ignore = ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace aggregate_power
