// Compares a mistyped name with those in its folder.
#include "base/files/near_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/suggest.h"
#include "base/text/characters.h"

namespace aggregate_power {

std::optional<std::string> near_file(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::size_t kMostNames = 100'000;
  std::error_code error;
  if (path == "-" || fs::exists(fs::symlink_status(path, error))) return std::nullopt;
  const std::string folder = fs::path(path).parent_path().string();
  std::vector<std::string> names;
  std::error_code fault;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, fault), end;
       !fault && entry != end && names.size() < kMostNames; entry.increment(fault)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  const auto name = nearest(last_name(path), names);
  if (!name) return std::nullopt;
  return join_path(folder, *name);
}

std::string missing_file_hint(const std::string& path) {
  const auto near = near_file(path);
  if (!near) return {};
  return one_line(fmt::format("{} does not exist: did you mean {}?", path, *near));
}

}  // namespace aggregate_power
