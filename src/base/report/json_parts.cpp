// Writes JSON, and converts values to it.
#include "base/report/json_parts.h"

#include <cmath>

#include "base/text/json.h"

namespace aggregate_power {
namespace {

std::string written(const Json& json, int indent, JsonCharacters characters) {
  return json.dump(indent, ' ', characters == JsonCharacters::ascii,
                   Json::error_handler_t::replace);
}

// Up to the first fault, after which the text is no JSON anyway.
bool is_nested_too_deep(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      while (++i < text.size() && text[i] != '"') i += text[i] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
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

Json parsed_json(std::string_view text) {
  if (is_nested_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
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
