// Normalizes, joins and splits paths.
#include "base/files/path.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/suggest.h"

namespace aggregate_power {
std::string normal_path(std::string_view text) {
  // POSIX gives exactly two leading slashes a meaning of their own.
  const std::size_t slashes = std::min(text.find_first_not_of('/'), text.size());
  std::string path(slashes == 2 ? 2 : slashes > 0 ? 1 : 0, '/');
  const std::size_t root = path.size();
  while (!text.empty()) {
    const std::string_view component = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(component.size() + 1, text.size()));
    if (component.empty() || component == ".") continue;
    if (path.size() > root) path += '/';
    path += component;
  }
  return path.empty() ? "." : path;
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", name);
}

std::string path_below(std::string_view root, std::string_view relative) {
  return normal_path(root.empty() ? std::string(relative) : fmt::format("{}/{}", root, relative));
}

std::string path_stem(std::string_view path) {
  const std::string_view name = last_name(path);
  const std::size_t dot = name.rfind('.');
  const bool has_suffix = dot != std::string_view::npos && dot > 0 && dot + 1 < name.size();
  return std::string(name.substr(0, has_suffix ? dot : name.size()));
}

std::string plain_stem(std::string_view path) {
  const std::string stem = path_stem(path);
  const bool is_compressed = path.ends_with(".gz") || path.ends_with(".zst");
  const bool is_ours = stem.ends_with(".csv") || stem.ends_with(".json");
  return is_compressed && is_ours ? path_stem(stem) : stem;
}

std::string beside(std::string_view path, std::string_view name) {
  const std::string_view folder = path.substr(0, path.size() - last_name(path).size());
  return std::string(folder) + std::string(name);
}

bool is_compressed_or(std::string_view name, std::string_view plain) {
  return name.starts_with(plain) &&
         std::ranges::find(kCompressions, name.substr(plain.size())) != kCompressions.end();
}

std::string printable_path(std::string_view path) {
  // Goes character by character: only bytes that are not part of one are escaped.
  std::string text;
  while (!path.empty()) {
    const Utf8Character character = first_character(path);
    if (character.code) {
      text += path.substr(0, character.size);
      path.remove_prefix(character.size);
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(path[0]));
      path.remove_prefix(1);
    }
  }
  return text;
}

// ---- Compares a mistyped name with those in its folder.

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
