// Names files that are not telemetry CSVs, by their content, and says what to do instead.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

struct ForeignFormat {
  std::string sentence;  // what it is, and what to do: "this is JSON: ..."; lower case
  bool is_binary = false;
  bool may_be_result = false;  // rather a load generator's result than telemetry
};

// The format of a file that begins with `head` (UTF-8, at most 64 KiB); nullopt: none of those
// known. A file that can be read may have one too: ask only for a file that cannot.
std::optional<ForeignFormat> foreign_format(std::string_view head);

// Whether the first row of a file is one of values: some cell is a time or a number such as 28.44.
// "0" and "1" may name columns.
bool looks_like_data(std::span<const std::string> cells);

// The first three lines that are not blank, as a message may show them.
std::vector<std::string> first_lines(std::string_view head);

}  // namespace aggregate_power
