// Reads the names of a header, with their units.
#include "core/telemetry/column_names.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"

namespace aggregate_power::columns {
namespace {

Name read_name(std::size_t index, std::string_view text) {
  Name name{index, std::string(strip(text)), {}, {}, {}, false};
  name.plain = name.no_brackets = name.full;
  const char last = name.full.empty() ? ' ' : name.full.back();
  const std::size_t open = last == ']'   ? name.full.rfind('[')
                           : last == ')' ? name.full.rfind('(')
                                         : std::string::npos;
  if (open != std::string::npos) {
    const std::string_view inside =
        strip(std::string_view(name.full).substr(open + 1, name.full.size() - open - 2));
    name.no_brackets = std::string(strip(std::string_view(name.full).substr(0, open)));
    if (const auto size = power_unit(inside)) {
      name.plain = name.no_brackets;
      name.unit = {*size, true};
    }
  }
  if (!name.unit.stated) {
    if (const auto size = power_unit_in_name(name.full)) name.unit = {*size, true};
  }
  name.plain = for_patterns(name.plain);
  name.no_brackets = for_patterns(name.no_brackets);
  return name;
}

}  // namespace

std::string for_patterns(std::string_view name) {
  std::string lower = lower_ascii(name);
  std::ranges::replace(lower, '\r', '\n');  // "." matches neither
  return lower;
}

bool matches(std::string_view name, const Pattern& pattern) {
  return pattern.matches(for_patterns(name));
}

std::vector<Name> read_names(std::span<const std::string> header) {
  std::vector<Name> names;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < header.size(); ++i) {
    Name name = read_name(i, replace_invalid_utf8(header[i]));
    const auto [place, is_new] = places.try_emplace(name.full, names.size());
    if (is_new) {
      names.push_back(std::move(name));
    } else {
      names[place->second].index = i;
      names[place->second].repeated = true;
    }
  }
  return names;
}

Found find(const std::vector<Name>& names, const Pattern& pattern) {
  Found found;
  for (const Name& name : names) {
    if (pattern.matches(name.plain)) found.push_back(&name);
  }
  return found;
}

const Name* find_named(const std::vector<Name>& names, std::string_view wanted) {
  wanted = strip(wanted);
  for (const Name& name : names) {
    if (name.full == wanted) return &name;
  }
  for (const Name& name : names) {
    if (lower_ascii(name.full) == lower_ascii(wanted)) return &name;
  }
  for (const Name& name : names) {
    if (name.plain == for_patterns(wanted)) return &name;
  }
  return nullptr;
}

std::optional<NumbersInTurn> rows_in_turn(std::span<const std::string> header,
                                          std::span<const std::vector<std::string>> rows,
                                          MeasuredColumns read) {
  // Parts of times, processes, which repeat their GPU's power, and measured values.
  static const Pattern other =
      "(.*[^a-z])?(ms|us|ns|m?secs?|usecs?|milli.*|micro.*|nano.*|frac.*|seconds?|time.*|date.*|pid"
      "|process.*|temp.*|fan.*|clocks?|clk|[mg]hz|util.*|usage|used|free|mem|memory|load|pct|percent.*"
      "|.*throttl.*|p_?state|ecc.*|volt.*|power|energy|limit|speed|rpm|pcie|tx|rx|sm|enc.*|dec.*|count.*"
      ")([^a-z].*)?";
  if (auto words = alternating_words(rows, header.size(), read)) {
    return NumbersInTurn{std::move(*words), true};
  }
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (other.matches(for_patterns(strip(header[i])))) read.others.insert(i);
  }
  return numbers_in_turn(rows, header.size(), read);
}

std::string turns_text(const AlternatingWords& turns, std::span<const std::string> header) {
  return fmt::format(
      "rows of one GPU alternate between '{}' and '{}' in column '{}': if it names hosts, call it 'host' in the header; else record each into a file of its own",
      printable(turns.first), printable(turns.second), printable(header[turns.column]));
}

std::string quoted_list(const Found& found) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> texts;
  for (const Name* name : found) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("{} more", found.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("'{}'", printable(name->full)));
  }
  return joined_text(texts, ", ");
}

}  // namespace aggregate_power::columns
