// Finds the line, then the member in it.
#include "publication/compare_lines.h"

#include <algorithm>
#include <optional>

#include "base/text/json_value.h"
#include "base/text/unicode.h"
#include "publication/compare_records.h"

namespace aggregate_power {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

std::optional<JsonValue> object_in(std::string_view line) {
  try {
    JsonValue value = parse_json(line);
    if (value.is_object()) return value;
  } catch (const JsonError&) {  // somebody else's line
  }
  return std::nullopt;
}

std::string shown_line(std::string_view line) {
  constexpr std::size_t kMost = 100;
  return line.empty() ? "nothing" : printable(line, kMost);
}

}  // namespace

DifferentLine first_difference(std::string_view expected, std::string_view found) {
  DifferentLine different;
  std::string_view wanted;
  std::string_view was;
  do {
    ++different.number;
    wanted = take_line(expected);
    was = take_line(found);
  } while (wanted == was && !(expected.empty() && found.empty()));
  const auto wanted_object = object_in(wanted);
  const auto found_object = object_in(was);
  if (wanted_object && found_object) {
    const auto differences = compare_records(*wanted_object, *found_object);
    if (!differences.empty()) {
      const RecordDifference& first = differences.front();
      return {different.number, first.key, first.expected, first.found};
    }
  }
  different.expected = shown_line(wanted);
  different.found = shown_line(was);
  return different;
}

}  // namespace aggregate_power
