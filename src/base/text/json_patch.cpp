// Sets members in a JSON text itself.
#include "base/text/json_patch.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text/json.h"

namespace aggregate_power {
namespace {

// ---- An object taken apart: its pieces, concatenated, are the text again.

struct Member {
  const JsonEdit* edit;  // null: not ours
  std::string_view gap;  // between it and the member, or brace, before it
  std::string_view key;
  std::string_view colon;  // with the blanks around it
  std::string_view value;
};

struct Object {
  std::string_view head;  // up to and including the opening brace
  std::vector<Member> members;
  std::string_view gap;
  std::string_view tail;  // from the closing brace
};

Object take_apart(std::string_view text, std::span<const JsonEdit> edits) {
  const auto between = [&](std::uint64_t begin, std::uint64_t end) {
    return text.substr(begin, end - begin);
  };
  Object object;
  std::uint64_t done = 0;
  MemorySource source(text);
  const JsonDocument document = scan_json(source, [&](const JsonMember& m) {
    const auto edit = std::ranges::find(edits, m.key, &JsonEdit::key);
    const bool ours = m.key_kept && edit != edits.end();
    object.members.push_back({ours ? &*edit : nullptr, between(done, m.key_begin),
                              between(m.key_begin, m.key_end), between(m.key_end, m.value_begin),
                              between(m.value_begin, m.value_end)});
    done = m.value_end;
  });
  if (document.kind != JsonKind::object) throw JsonError(1, 1, "expected an object");

  // Where the object begins is only known now, so the first gap still contains what is before it.
  const std::uint64_t inside = document.begin + 1;
  if (!object.members.empty()) object.members.front().gap.remove_prefix(inside);
  object.head = text.substr(0, inside);
  object.gap = between(std::max(done, inside), document.end - 1);
  object.tail = text.substr(document.end - 1);
  return object;
}

// ---- The layout of new members.

struct Layout {
  std::string leading;  // before the first member
  std::string separator;
  std::string colon;
};

bool has_line_break(std::string_view blank) { return blank.find('\n') != blank.npos; }

Layout layout_of_empty(std::string_view blank) {
  if (!has_line_break(blank)) return {std::string(blank), ", ", ": "};
  const std::string indented = std::string(blank) + "  ";
  return {indented, "," + indented, ": "};
}

Layout layout_of(const Object& object) {
  if (object.members.empty()) return layout_of_empty(object.gap);
  const std::string leading(object.members.front().gap);
  const std::string colon(object.members.back().colon);
  if (object.members.size() > 1) return {leading, std::string(object.members.back().gap), colon};
  if (has_line_break(leading)) return {leading, "," + leading, colon};
  return {leading, colon.ends_with(':') ? "," : ", ", colon};
}

std::string json_string(std::string_view plain) {
  std::string text = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < ' ') {
      text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace

std::string patch_json(std::string_view text, std::span<const JsonEdit> edits) {
  const Object object = take_apart(text, edits);
  const Layout layout = layout_of(object);
  std::string inside;
  const auto add = [&](std::string_view gap, std::string_view key, std::string_view colon,
                       std::string_view value) {
    inside += inside.empty() ? layout.leading : gap;
    inside.append(key).append(colon).append(value);
  };

  std::set<const JsonEdit*> met;
  for (const Member& m : object.members) {
    if (m.edit == nullptr) {
      add(m.gap, m.key, m.colon, m.value);
    } else if (met.insert(m.edit).second && !m.edit->value.empty()) {
      add(m.gap, m.key, m.colon, m.edit->value);
    }
  }
  for (const JsonEdit& edit : edits) {
    if (met.contains(&edit) || edit.value.empty()) continue;
    add(layout.separator, json_string(edit.key), layout.colon, edit.value);
  }
  return fmt::format("{}{}{}{}", object.head, inside, object.gap, object.tail);
}

}  // namespace aggregate_power
