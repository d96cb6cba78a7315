// Builds and compares trees of JSON values.
#include "base/text/json_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostIntegerDigits = 4300;

bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_integer(std::string_view spelling) {
  return spelling.find_first_not_of("-0123456789") == std::string_view::npos;
}

bool is_long(std::string_view integer) {
  return integer.size() - (integer.starts_with('-') ? 1 : 0) > kMostIntegerDigits;
}

double number_value(std::string_view spelling) {
  if (spelling == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (spelling == "Infinity") return std::numeric_limits<double>::infinity();
  if (spelling == "-Infinity") return -std::numeric_limits<double>::infinity();
  return nearest_double(spelling).value_or(0);  // it is known to be a number
}

// Walks a text that is known to be valid.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  char peek() {
    while (is_json_space(rest_.front())) skip();
    return rest_.front();
  }
  void skip() { rest_.remove_prefix(1); }
  // Takes `c` if it is next.
  bool take(char c) {
    if (peek() != c) return false;
    skip();
    return true;
  }
  // Returns the text between the quotes.
  std::string_view take_string() {
    skip();
    std::size_t end = 0;
    while (rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    const std::string_view spelling = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return spelling;
  }
  // Takes a number or a word.
  std::string_view take_plain() {
    const auto ends = [](char c) { return is_json_space(c) || c == ',' || c == ']' || c == '}'; };
    const auto end = std::ranges::find_if(rest_, ends);
    const std::string_view plain(rest_.begin(), end);
    rest_.remove_prefix(plain.size());
    return plain;
  }
  std::string_view take_value() {
    const char first = peek();
    const char* const begin = rest_.data();
    if (first == '"') {
      take_string();
    } else if (first == '{' || first == '[') {
      skip_nested();
    } else {
      take_plain();
    }
    return {begin, static_cast<std::size_t>(rest_.data() - begin)};
  }
  // At an object: passes each member's key spelling to `member`, which takes the value.
  template <typename Member>
  void members(Member member) {
    skip();
    if (take('}')) return;
    do {
      peek();
      const std::string_view key = take_string();
      peek();
      skip();
      member(key);
    } while (take(','));
    skip();
  }
  // At an array: calls `item` for each item, which takes it.
  template <typename Item>
  void items(Item item) {
    skip();
    if (take(']')) return;
    do {
      item();
    } while (take(','));
    skip();
  }

 private:
  void skip_nested() {
    for (int depth = 0;;) {
      const std::size_t at = rest_.find_first_of("\"{}[]");
      rest_.remove_prefix(at);
      const char c = rest_.front();
      if (c == '"') {
        take_string();
        continue;
      }
      skip();
      depth += c == '{' || c == '[' ? 1 : -1;
      if (depth == 0) return;
    }
  }

  std::string_view rest_;
};

bool has_repeated_keys(const std::vector<JsonValue::Member>& members) {
  constexpr std::size_t kFew = 16;  // searching is faster than what is built for many
  if (members.size() <= kFew) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i].first == members[j].first) return true;
      }
    }
    return false;
  }
  std::unordered_set<std::string_view> keys;
  return !std::ranges::all_of(members,
                              [&](const auto& member) { return keys.insert(member.first).second; });
}

// A key that occurs more than once keeps its first position and its last value.
void drop_repeated_keys(std::vector<JsonValue::Member>& members) {
  if (!has_repeated_keys(members)) return;
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return members[i].first; });
  std::vector<bool> goes(members.size());
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].first != members[order[i - 1]].first) continue;
    members[order[i - 1]].second = std::move(members[order[i]].second);
    goes[order[i]] = true;
    order[i] = order[i - 1];
  }
  std::size_t at = 0;
  std::erase_if(members, [&](const auto&) { return goes[at++]; });
}

// The path below `cursor` of the first key that occurs twice.
std::optional<std::string> repeated_key_at(Cursor& cursor) {
  std::optional<std::string> found;
  if (cursor.peek() == '{') {
    std::unordered_set<std::string> keys;
    cursor.members([&](std::string_view spelling) {
      const auto [key, is_new] = keys.insert(unescaped_json(spelling));
      if (!found && !is_new) found = *key;
      const auto below = repeated_key_at(cursor);
      if (!found && below) found = fmt::format("{}.{}", *key, *below);
    });
  } else if (cursor.peek() == '[') {
    cursor.items([&] {
      auto below = repeated_key_at(cursor);
      if (!found) found = std::move(below);
    });
  } else {
    cursor.take_value();
  }
  return found;
}

JsonValue value_at(Cursor& cursor) {
  JsonValue value;
  switch (cursor.peek()) {
    case '{':
      value.kind = JsonKind::object;
      cursor.members([&](std::string_view spelling) {
        constexpr std::size_t kSome = 4;  // most objects of manifests have at least so many
        if (value.members.empty()) value.members.reserve(kSome);
        std::string key = unescaped_json(spelling);
        value.members.emplace_back(std::move(key), value_at(cursor));
      });
      drop_repeated_keys(value.members);
      break;
    case '[':
      value.kind = JsonKind::array;
      cursor.items([&] { value.items.push_back(value_at(cursor)); });
      break;
    case '"':
      value.kind = JsonKind::string;
      value.text = unescaped_json(cursor.take_string());
      break;
    default:
      value.text = cursor.take_plain();
      if (value.text == "null") return {};
      value.kind = value.text == "true" || value.text == "false" ? JsonKind::boolean
                   : is_integer(value.text)                      ? JsonKind::integer
                                                                 : JsonKind::real;
      if (value.kind == JsonKind::integer && is_long(value.text)) {
        throw JsonError(1, 1, fmt::format("an integer of more than {} digits", kMostIntegerDigits));
      }
  }
  return value;
}

std::string integer_text(const JsonValue& value) {
  if (value.kind == JsonKind::boolean) return value.is_true() ? "1" : "0";
  return value.text == "-0" ? "0" : value.text;
}

bool counts_as_number(const JsonValue& value) {
  return value.is_number() || value.kind == JsonKind::boolean;
}

// Compares an integer and a double exactly, however large.
bool equals_integer(double real, const std::string& integer) {
  if (!std::isfinite(real) || real != std::floor(real)) return false;
  const std::string text = fmt::format("{:.0f}", real);
  return (text == "-0" ? "0" : text) == integer;
}

bool equal_members(const JsonValue& a, const JsonValue& b) {
  if (a.members.size() != b.members.size()) return false;
  using Pair = JsonValue::Member;
  // They are usually in the same order.
  if (std::ranges::equal(a.members, b.members, {}, &Pair::first, &Pair::first)) {
    return std::ranges::equal(a.members, b.members, equal_in_python, &Pair::second, &Pair::second);
  }
  const auto sorted = [](const JsonValue& object) {
    std::vector<const Pair*> members;
    for (const Pair& member : object.members) members.push_back(&member);
    std::ranges::sort(members, {}, &Pair::first);
    return members;
  };
  return std::ranges::equal(sorted(a), sorted(b), [](const Pair* member, const Pair* other) {
    return member->first == other->first && equal_in_python(member->second, other->second);
  });
}

bool same_value(Cursor& a, Cursor& b);

bool same_members(Cursor& a, Cursor& b) {
  using Members = std::vector<std::pair<std::string, std::string_view>>;
  const auto sorted = [](Cursor& cursor) {
    Members members;
    cursor.members([&](std::string_view key) {
      members.emplace_back(unescaped_json(key), cursor.take_value());
    });
    std::ranges::stable_sort(members, {}, &Members::value_type::first);
    Members last;
    for (auto& member : members) {
      if (!last.empty() && last.back().first == member.first) last.pop_back();
      last.push_back(std::move(member));
    }
    return last;
  };
  const Members of_a = sorted(a);
  const Members of_b = sorted(b);
  return std::ranges::equal(of_a, of_b, [](const auto& member, const auto& other) {
    Cursor value(member.second);
    Cursor other_value(other.second);
    return member.first == other.first && same_value(value, other_value);
  });
}

bool same_items(Cursor& a, Cursor& b) {
  a.skip();
  b.skip();
  if (a.peek() == ']' || b.peek() == ']') return a.take(']') && b.take(']');
  for (;;) {
    if (!same_value(a, b)) return false;
    const bool goes_on = a.take(',');
    if (b.take(',') != goes_on) return false;
    if (!goes_on) break;
  }
  a.skip();
  b.skip();
  return true;
}

// Compares as json.dumps() would spell what json.loads() read.
bool same_plain(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto is_word = [](std::string_view text) {
    return text == "true" || text == "false" || text == "null";
  };
  if (is_word(a) || is_word(b) || is_integer(a) != is_integer(b)) return false;
  if (is_integer(a)) return (a == "-0" || a == "0") && (b == "-0" || b == "0");
  return std::bit_cast<std::uint64_t>(number_value(a)) ==
         std::bit_cast<std::uint64_t>(number_value(b));
}

bool same_value(Cursor& a, Cursor& b) {
  const char kind = a.peek();
  const char other = b.peek();
  const auto is_special = [](char c) { return c == '{' || c == '[' || c == '"'; };
  if ((is_special(kind) || is_special(other)) && kind != other) return false;
  switch (kind) {
    case '{':
      return same_members(a, b);
    case '[':
      return same_items(a, b);
    case '"': {
      const std::string_view spelling = a.take_string();
      const std::string_view other_spelling = b.take_string();
      return spelling == other_spelling ||
             unescaped_json(spelling) == unescaped_json(other_spelling);
    }
    default:
      return same_plain(a.take_plain(), b.take_plain());
  }
}

}  // namespace

JsonValue JsonValue::real(double value) { return {JsonKind::real, json_number(value)}; }

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::ranges::find(
      members, key, [](const auto& member) -> std::string_view { return member.first; });
  return found == members.end() ? nullptr : &found->second;
}

const JsonValue& JsonValue::at(std::string_view key) const {
  static const JsonValue null;
  const JsonValue* const found = find(key);
  return found == nullptr ? null : *found;
}

double JsonValue::as_double() const {
  return kind == JsonKind::boolean ? (is_true() ? 1 : 0) : number_value(text);
}

bool JsonValue::is_finite_number() const { return is_number() && std::isfinite(as_double()); }

std::optional<std::int64_t> JsonValue::as_integer() const {
  return kind == JsonKind::integer ? from_text<std::int64_t>(text) : std::nullopt;
}

std::optional<std::int64_t> JsonValue::to_int() const {
  constexpr double kBeyond = 9223372036854775808.0;
  switch (kind) {
    case JsonKind::boolean:
      return is_true() ? 1 : 0;
    case JsonKind::integer:
      return as_integer();
    case JsonKind::real: {
      const double number = as_double();
      return std::abs(number) < kBeyond ? std::optional(static_cast<std::int64_t>(number))
                                        : std::nullopt;
    }
    case JsonKind::string:
      return python_int(text);
    default:
      return std::nullopt;
  }
}

bool JsonValue::is_truthy() const {
  switch (kind) {
    case JsonKind::null:
      return false;
    case JsonKind::string:
      return !text.empty();
    case JsonKind::array:
      return !items.empty();
    case JsonKind::object:
      return !members.empty();
    default:
      return as_double() != 0;
  }
}

std::string JsonValue::shown() const {
  switch (kind) {
    case JsonKind::null:
      return "null";
    case JsonKind::string:
      return fmt::format("'{}'", printable(text));
    case JsonKind::array:
      return "an array";
    case JsonKind::object:
      return "an object";
    default:
      return printable(text);
  }
}

JsonValue parse_json(std::string_view text) {
  MemorySource source(text);
  scan_json(source, [](const JsonMember&) {});
  Cursor cursor(text);
  return value_at(cursor);
}

std::optional<std::string> repeated_json_key(std::string_view text) {
  Cursor cursor(text);
  return repeated_key_at(cursor);
}

bool equal_in_python(const JsonValue& a, const JsonValue& b) {
  if (counts_as_number(a) && counts_as_number(b)) {
    const bool a_is_real = a.kind == JsonKind::real;
    const bool b_is_real = b.kind == JsonKind::real;
    if (a_is_real && b_is_real) return a.as_double() == b.as_double();
    if (a_is_real) return equals_integer(a.as_double(), integer_text(b));
    if (b_is_real) return equals_integer(b.as_double(), integer_text(a));
    return integer_text(a) == integer_text(b);
  }
  if (a.kind != b.kind) return false;
  if (a.is_array()) {
    return std::ranges::equal(a.items, b.items, equal_in_python);
  }
  if (a.is_object()) return equal_members(a, b);
  return a.text == b.text;
}

bool same_json(std::string_view a, std::string_view b) {
  if (a == b) return true;
  Cursor cursor_a(a);
  Cursor cursor_b(b);
  return same_value(cursor_a, cursor_b);
}

// ---- Finds single members by scanning the text.

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
