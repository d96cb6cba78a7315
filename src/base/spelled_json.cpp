// Values of a JSON text that is in memory.
#include "aggregate_power/base/spelled_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "aggregate_power/base/python_number.h"
#include "aggregate_power/base/unicode.h"

namespace aggregate_power {

bool find_members(std::string_view text, std::initializer_list<WantedMember> wanted) {
  MemorySource source(text);
  const auto keep = [&](const JsonMember& member) {
    for (const WantedMember& one : wanted) {
      if (!member.key_kept || member.key != one.key) continue;
      const auto size = static_cast<std::size_t>(member.value_end - member.value_begin);
      one.value = {member.kind, text.substr(static_cast<std::size_t>(member.value_begin), size)};
    }
  };
  return scan_json(source, keep).kind == JsonKind::object;
}

std::optional<std::string> text_of(const SpelledJson& value) {
  if (value.kind != JsonKind::string) return std::nullopt;
  const auto text = nlohmann::json::parse(value.spelling, nullptr, false);
  return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

bool is_truthy(const SpelledJson& value) {
  const std::string_view spelling = value.spelling;
  switch (value.kind) {
    case JsonKind::null:
      return false;
    case JsonKind::boolean:
      return spelling == "true";
    case JsonKind::string:
      return spelling != "\"\"";
    case JsonKind::array:
    case JsonKind::object:
      return !strip(spelling.substr(1, spelling.size() - 2)).empty();
    default:
      return nearest_double(spelling) != 0.0;  // the words give nothing, so not 0
  }
}

std::optional<std::int64_t> whole_number(const SpelledJson& value) {
  constexpr double kBeyond = 9223372036854775808.0;
  switch (value.kind) {
    case JsonKind::boolean:
      return value.spelling == "true" ? 1 : 0;
    case JsonKind::integer:
      return python_int(value.spelling);
    case JsonKind::real: {
      const std::optional<double> number = nearest_double(value.spelling);
      if (!number || !(std::abs(*number) < kBeyond)) return std::nullopt;
      return static_cast<std::int64_t>(*number);
    }
    case JsonKind::string: {
      const std::optional<std::string> text = text_of(value);
      return text ? python_int(*text) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace aggregate_power
