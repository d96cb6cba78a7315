// Removes stores that are named twice or are inside others.
#include "store/distinct_stores.h"

#include <filesystem>
#include <map>
#include <utility>

#include "base/files/file.h"
#include "store/store.h"

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

}  // namespace aggregate_power
