// Writes JSON, and converts values to it.
#include "base/report/json_parts.h"

#include <cmath>

namespace aggregate_power {
namespace {

std::string written(const Json& json, int indent, JsonCharacters characters) {
  return json.dump(indent, ' ', characters == JsonCharacters::ascii,
                   Json::error_handler_t::replace);
}

}  // namespace

std::string indented_text(const Json& json, JsonCharacters characters) {
  return written(json, 2, characters);
}

std::string indented_lines(const Json& json, JsonCharacters characters) {
  return written(json, 2, characters) + "\n";
}

std::string line_text(const Json& json, JsonCharacters characters) {
  return written(json, -1, characters);
}

Json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

}  // namespace aggregate_power
