// Results written as YAML are recognized, not read.
#include "loads/yaml.h"

#include <algorithm>

#include <fmt/format.h>

namespace aggregate_power {
namespace {

// "key:" or "key: value" at the beginning of a line.
bool is_mapping_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return false;
  const auto is_of_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  const bool ends_there = colon + 1 == line.size() || line[colon + 1] == ' ';
  return ends_there && std::ranges::all_of(line.substr(0, colon), is_of_key);
}

}  // namespace

double fits_yaml(const ResultHead& head) {
  std::string_view text = head.text;
  if (text.starts_with("---")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  constexpr double kMoreThanAnyFile = 0.2;
  return is_mapping_line(text.substr(0, text.find('\n'))) ? kMoreThanAnyFile : 0;
}

std::vector<LoadReading> read_yaml(const LoadFiles& files) {
  LoadReading reading;
  reading.reasons.add(
      Reason::invalid_benchmark_result,
      fmt::format("{}: it is YAML; write it as JSON, for example with 'yq -o=json'", files.name));
  return {reading};
}

}  // namespace aggregate_power
