// JSON values that reports and the audit record are built from, and their one writer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

namespace aggregate_power {

using Json = nlohmann::ordered_json;

// Whether characters that are not ASCII are escaped or written as they are.
enum class JsonCharacters { ascii, utf8 };

// In lines, as Python's json.dumps(indent=2) writes it, without a line break at the end; bytes that
// are not UTF-8 become U+FFFD.
std::string indented_text(const Json& json, JsonCharacters characters = JsonCharacters::ascii);
// The same with a line break at the end: what a command prints.
std::string indented_lines(const Json& json, JsonCharacters characters = JsonCharacters::ascii);
// In one line without blanks, without a line break at the end.
std::string line_text(const Json& json, JsonCharacters characters = JsonCharacters::ascii);

// Json::parse(), which throws nothing: what is no JSON is discarded, and so is what is nested more
// than kMaxJsonDepth levels deep, because a Json is copied and written by calls for each level.
Json parsed_json(std::string_view text);

// The member itself, without a copy. Returns nullptr if `object` is not an object or lacks it.
const Json* find_member(const Json& object, const char* key);

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// What `make` makes of each item, as an array.
template <typename Items, typename Make>
Json list_of(const Items& items, const Make& make) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(make(item));
  return list;
}

// Builds an object with many members one by one; operator[] searches all members each time, which
// would be quadratic. If a key is set again, the last value counts, in the first one's place.
class JsonObject {
 public:
  void set(const std::string& key, Json value) {
    const auto [place, is_new] = places_.try_emplace(key, members_.size());
    if (is_new) {
      members_.push_back({key, std::move(value)});
    } else {
      members_.data()[place->second].second = std::move(value);
    }
  }

  Json take() && { return std::move(members_); }

 private:
  Json::object_t members_;
  std::unordered_map<std::string, std::size_t> places_;
};

// JSON cannot express a number that is not finite; such a value becomes null.
Json number_or_null(std::optional<double> value);

// An empty text becomes null.
Json text_or_null(const std::string& text);

}  // namespace aggregate_power
