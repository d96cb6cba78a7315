// Finds single members by scanning the text.
#include "base/text/json_members.h"

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

std::string_view inside(std::string_view spelling) {
  return spelling.substr(1, spelling.size() - 2);
}

}  // namespace

JsonValue JsonMemberText::scalar() const {
  switch (kind) {
    case JsonKind::null:
    case JsonKind::array:
    case JsonKind::object:
      return {kind};
    case JsonKind::string:
      return JsonValue::string(unescaped_json(inside(spelling)));
    default:
      return {kind, std::string(spelling)};
  }
}

bool JsonMemberText::is_truthy() const {
  const bool is_nested = kind == JsonKind::array || kind == JsonKind::object;
  return is_nested ? !strip(inside(spelling)).empty() : scalar().is_truthy();
}

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

}  // namespace aggregate_power
