// Results written as YAML are recognized, not read.
#include "generators/yaml.h"

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

// Whether the text has this line.
bool has_line(std::string_view text, std::string_view line) {
  for (std::size_t at = text.find(line); at != text.npos; at = text.find(line, at + 1)) {
    const std::size_t end = at + line.size();
    const bool begins = at == 0 || text[at - 1] == '\n';
    if (begins && (end == text.size() || text[end] == '\n' || text[end] == '\r')) return true;
  }
  return false;
}

LoadReading of_yaml(const LoadFiles& files, std::string_view what) {
  LoadReading reading;
  reading.reasons.add(
      Reason::invalid_benchmark_result,
      fmt::format("{}: {}; write it as JSON, for example with 'yq -o=json'", files.name, what));
  return reading;
}

}  // namespace

double fits_yaml(const ResultHead& head) {
  std::string_view text = head.text;
  if (text.starts_with("---")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  constexpr double kMoreThanAnyFile = 0.2;
  return is_mapping_line(text.substr(0, text.find('\n'))) ? kMoreThanAnyFile : 0;
}

std::vector<LoadReading> read_yaml(const LoadFiles& files) {
  return {of_yaml(files, "it is YAML")};
}

double fits_llmd_yaml(const ResultHead& head) {
  constexpr double kCertain = 0.9;
  const auto has = [&](std::string_view line) { return has_line(head.text, line); };
  return fits_yaml(head) > 0 && has("run:") && has("scenario:") && has("results:") ? kCertain : 0;
}

std::vector<LoadReading> read_llmd_yaml(const LoadFiles& files) {
  LoadReading reading = of_yaml(files, "it is a benchmark report of llm-d in YAML");
  reading.generator = "llm-d benchmark report";
  return {reading};
}

}  // namespace aggregate_power
