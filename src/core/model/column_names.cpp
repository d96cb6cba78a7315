// Parses names of columns.
#include "aggregate_power/column_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"

namespace aggregate_power {

std::vector<std::string> parse_column_names(std::string_view text) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = strip(text.substr(begin, end - begin));
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(fmt::format("--columns: '{}' is there twice", printable(name)));
    }
    names.emplace_back(name);
    begin = end + 1;
  }
  if (std::ranges::all_of(names, &std::string::empty)) {
    throw Error(fmt::format(
        "--columns: expected names such as timestamp,index,power.draw, got '{}'", printable(text)));
  }
  return names;
}

}  // namespace aggregate_power
