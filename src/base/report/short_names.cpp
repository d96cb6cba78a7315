// Cuts names.
#include "base/report/short_names.h"

#include <algorithm>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kDots = "...";

// The last characters of a text that is UTF-8.
std::string_view last_of(std::string_view text, std::size_t characters) {
  std::size_t begin = text.size();
  while (begin > 0 && characters > 0) {
    --begin;
    const bool is_inside = (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80;
    if (!is_inside) --characters;
  }
  return text.substr(begin);
}

// Keeps `last` characters of the end, and as many of the beginning as fit before the dots.
std::string cut(std::string_view name, std::size_t columns, std::size_t last) {
  const std::string whole = one_line(name);
  std::string shown = shortened(whole, columns);
  if (last == 0 || shown == whole) return shown;
  return printable(whole, columns - kDots.size() - last).append(last_of(whole, last));
}

bool differ(std::vector<std::string> names) {
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

}  // namespace

std::string shortened(std::string_view text, std::size_t columns) {
  std::string whole = printable(text, columns);
  return whole.ends_with(kDots) ? printable(text, columns - kDots.size()) : whole;
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names,
                                         std::size_t columns) {
  const std::size_t kept = columns - kDots.size();
  for (const std::size_t last : {std::size_t{0}, kept / 2, kept}) {
    std::vector<std::string> cut_names;
    for (const std::string& name : names) cut_names.push_back(cut(name, columns, last));
    if (differ(cut_names)) return cut_names;
  }
  std::vector<std::string> whole;
  for (const std::string& name : names) whole.push_back(one_line(name));
  return whole;
}

}  // namespace aggregate_power
