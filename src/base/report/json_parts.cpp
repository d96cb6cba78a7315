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
  bool is_too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t event, const Json&) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    is_too_deep = is_too_deep || (opens && depth >= kMaxJsonDepth);
    return !is_too_deep;
  };
  Json json = Json::parse(text, keep, false);
  return is_too_deep ? Json(Json::value_t::discarded) : json;
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
