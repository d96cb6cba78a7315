// Finds the files of an agentic run.
#include "generators/aiperf_folder.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"

namespace aggregate_power {

bool is_records_name(std::string_view name) { return is_compressed_or(name, kProfileRecords); }

std::vector<std::string> all_records(const Tree& tree, const std::string& profile_folder) {
  std::vector<std::string> all;
  const auto look_in = [&](const std::string& prefix) {
    for (const std::string_view compression : kCompressions) {
      std::string path = fmt::format("{}{}{}", prefix, kProfileRecords, compression);
      if (!tree.find_file(fmt::format("{}/{}", profile_folder, path))) continue;
      all.push_back(std::move(path));
      return;
    }
  };
  look_in("");
  if (!tree.has_folder(profile_folder)) return all;
  std::set<std::string> folders;
  tree.list(profile_folder, [&](const TreeEntry& entry) {
    const bool is_folder =
        entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
    if (is_folder) folders.insert(entry.name);
  });
  for (const std::string& folder : folders) look_in(folder + "/");
  return all;
}

std::optional<std::string> find_records(const Tree& tree, const std::string& profile_folder) {
  std::vector<std::string> all = all_records(tree, profile_folder);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::optional<std::string> written_concurrency(std::string_view text) {
  const bool is_number =
      !text.empty() && text[0] != '0' && text.find_first_not_of("0123456789") == text.npos;
  return is_number ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::string> formal_concurrency(std::string_view name) {
  constexpr std::string_view kBegin = "agentic_power_concurrency_";
  constexpr std::string_view kEnd = ".json";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  if (name.size() < kBegin.size() + kEnd.size()) return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  return written_concurrency(name);
}

std::vector<std::string> formal_results(const Tree& tree, const std::string& folder) {
  std::vector<std::string> names;
  if (!tree.has_folder(folder)) return names;
  tree.list(folder, [&](const TreeEntry& entry) {
    const bool is_file = entry.kind == TreeEntry::Kind::file;
    if (is_file && formal_concurrency(entry.name)) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  return names;
}

}  // namespace aggregate_power
