// Reads a list of runs, and sorts its paths by store.
#include "store/catalogue/run_list.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostLineBytes = 65536;
constexpr std::string_view kNoStore = "none";  // sorted after the numbers of stores

std::string normal_absolute(const std::string& path) {
  std::error_code ignored;
  return normal_path(std::filesystem::absolute(path, ignored).string());
}

// A route only leads down, and text after a NUL would be ignored.
bool is_route(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name == "..") return false;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return true;
}

// Passes each line without its end and anything after a tab.
void read_lines(const std::string& file, const std::function<void(const std::string&)>& take) {
  const auto source = open_source(file);
  std::array<char, 65536> chunk;
  std::string line;
  const auto end_line = [&] {
    line.resize(std::min(line.find('\t'), line.size()));
    if (line.ends_with('\r')) line.pop_back();
    if (!strip(line).empty()) take(line);
    line.clear();
  };
  while (const std::size_t count = source->read(chunk)) {
    for (const char c : std::string_view(chunk.data(), count)) {
      if (c == '\n') {
        end_line();
      } else if (line.size() == kMostLineBytes) {
        throw Error(
            fmt::format("--runs: {}: a line is longer than {} bytes: this is not a list of runs",
                        file, kMostLineBytes));
      } else {
        line.push_back(c);
      }
    }
  }
  end_line();
}

}  // namespace

RunList::RunList(const std::string& file, const std::vector<StorePath>& stores,
                 const std::function<void(const std::string&)>& take_name)
    : stores_(stores) {
  read_lines(file, [&](const std::string& line) {
    if (line.find('/') != std::string::npos || line.ends_with(".json")) return add_path(line);
    has_names_ = true;
    take_name(line);
  });
}

void RunList::add_path(const std::string& line) {
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    const auto route = route_below(stores_[i], line);
    if (!route) continue;
    const auto store = std::make_shared<const StorePath>(stores_[i]);
    return paths_.add(scattered_key(child(store, *route).display), std::to_string(i));
  }
  paths_.add(scattered_key(line), kNoStore);
}

void RunList::for_each_path(
    const std::function<void(const std::string&, const StorePath* store)>& take) {
  paths_.for_each_key([&](const std::string& path, const std::vector<std::string>& stores) {
    const std::string& store = stores.front();
    take(name_of_key(path), store == kNoStore ? nullptr : &stores_[std::stoul(store)]);
  });
}

std::optional<std::string> route_below(const StorePath& store, const std::string& path) {
  const std::string wanted = normal_absolute(path);
  std::array<std::string, 2> spellings = {normal_absolute(store.path), {}};
  try {
    spellings[1] = resolve_links(store.path);
  } catch (const FileError&) {  // then only by its given name
  }
  for (const std::string& folder : spellings) {
    const std::string start = folder.ends_with('/') ? folder : folder + '/';
    if (folder.empty() || !wanted.starts_with(start)) continue;
    std::string route = wanted.substr(start.size());
    if (is_route(route)) return route;
  }
  return std::nullopt;
}

}  // namespace aggregate_power
