// Scans JSON as it streams by, and sets members in the text itself.
#include "base/text/json.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>

#include <fmt/format.h>

namespace aggregate_power {

// ---- The tree of wanted paths

JsonPaths::JsonPaths(std::span<const std::string_view> paths) : nodes_(1) {
  int id = 0;
  for (std::string_view rest : paths) {
    int node = kRoot;
    while (!rest.empty()) {
      if (rest.starts_with("[]")) {
        node = add_element(node);
        rest.remove_prefix(2);
        continue;
      }
      if (rest.starts_with('.')) rest.remove_prefix(1);
      const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
      const std::string_view key = rest.substr(0, end);
      node = key == "*" ? add_any_member(node) : add_member(node, key);
      rest.remove_prefix(end);
    }
    nodes_[static_cast<std::size_t>(node)].id = id++;
  }
}

int JsonPaths::member(int node, std::string_view key) const {
  const Node& object = nodes_[static_cast<std::size_t>(node)];
  for (const auto& [name, child] : object.members) {
    // Most keys differ in their length or their first character.
    if (name.size() != key.size() || name.front() != key.front()) continue;
    if (name == key) return child;
  }
  return object.any_member;
}

int JsonPaths::add_member(int node, std::string_view key) {
  const int known = member(node, key);
  if (known >= 0 && !is_any_member(known)) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  nodes_[static_cast<std::size_t>(node)].members.emplace_back(key, child);
  return child;
}

int JsonPaths::add_element(int node) {
  if (const int known = element(node); known >= 0) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back();
  return nodes_[static_cast<std::size_t>(node)].element = child;
}

int JsonPaths::add_any_member(int node) {
  if (const int known = nodes_[static_cast<std::size_t>(node)].any_member; known >= 0) return known;
  const int child = static_cast<int>(nodes_.size());
  nodes_.emplace_back().is_any = true;
  return nodes_[static_cast<std::size_t>(node)].any_member = child;
}

// ---- Documents

namespace {

constexpr std::size_t kBufferSize = 256 * 1024;
constexpr std::size_t kMaxKey = kMaxJsonKey;
constexpr std::size_t kMaxScalar = kMaxJsonScalar;
constexpr std::size_t kMaxKeySpelling = 6 * kMaxKey;  // if every byte is written like \u0041
constexpr std::size_t kMaxShown = 40;                 // characters of a key in a message

// What kJsonEscapes mean.
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

constexpr int kUnwanted = -1;  // a value beside the wanted paths

using Byte = unsigned char;

bool is_hex(Byte c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

int hex_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

// The number at the front of `digits`: four hexadecimal digits.
char32_t hex4(std::string_view digits) {
  char32_t value = 0;
  for (const char c : digits.substr(0, 4)) value = value * 16 + hex_value(c);
  return value;
}

void append_utf8(std::string& text, char32_t code) {
  constexpr char32_t kLead[] = {0x00, 0xC0, 0xE0, 0xF0};
  const int tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += static_cast<char>(kLead[tails] | (code >> 6 * tails));
  for (int i = tails - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((code >> 6 * i) & 0x3F));
}

// Removes what follows `\u` from the front of `rest`: four digits, or a surrogate pair's ten bytes.
char32_t take_code(std::string_view& rest) {
  const char32_t first = hex4(rest);
  rest.remove_prefix(4);
  if (first < 0xD800 || first > 0xDBFF || !rest.starts_with("\\u")) return first;
  const char32_t second = hex4(rest.substr(2));
  if (second < 0xDC00 || second > 0xDFFF) return first;
  rest.remove_prefix(6);
  return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

struct Position {
  std::uint64_t line;
  std::uint64_t column;
};

// Walks the text once, value inside value, through one buffer. The buffer's last byte is followed
// by a '\0', which is valid nowhere in JSON: loops over bytes stop there and need not check for the
// end.
class Scanner {
 public:
  using OnMember = std::function<void(const JsonMember&)>;

  Scanner(ByteSource& source, const OnMember& on_member) : source_(source), on_member_(&on_member) {
    buffer_[0] = '\0';
  }

  Scanner(ByteSource& source, const JsonPaths& paths, JsonVisitor& visitor)
      : source_(source), paths_(&paths), visitor_(&visitor) {
    buffer_[0] = '\0';
  }

  // Walks along the paths, in one value or in one after the other.
  std::uint64_t walk_values(JsonTexts texts) {
    refuse_byte_order_mark();
    std::uint64_t values = 0;
    next();
    do {
      value(JsonPaths::kRoot);
      ++values;
      next();
    } while (texts == JsonTexts::several && !at_end());
    if (!at_end()) fail(here(), "expected nothing more after the value");
    return values;
  }

  JsonDocument document() {
    refuse_byte_order_mark();
    JsonDocument found;
    next();
    found.begin = offset();
    found.kind = value(kUnwanted);
    found.end = offset();
    next();
    if (!at_end()) fail(here(), "expected nothing more after the value");
    return found;
  }

 private:
  // ---- The text and the position in it.

  // The current byte; '\0' at the end of the text.
  Byte peek() {
    if (p_ == end_) refill();
    return static_cast<Byte>(*p_);
  }

  bool at_end() {
    peek();
    return p_ == end_;
  }

  void refill() {
    if (ended_) return;
    for (Token* const token : {&token_, &value_token_}) {
      if (token->begin == nullptr) continue;
      keep(*token);
      token->begin = buffer_.get();
    }
    buffer_offset_ += static_cast<std::uint64_t>(p_ - buffer_.get());
    const std::size_t count = source_.read({buffer_.get(), kBufferSize});
    ended_ = count == 0;
    p_ = buffer_.get();
    end_ = p_ + count;
    buffer_[count] = '\0';
  }

  std::uint64_t offset() const {
    return buffer_offset_ + static_cast<std::uint64_t>(p_ - buffer_.get());
  }

  Position here() const { return {line_, offset() - line_offset_ - line_tails_ + 1}; }

  // The first byte that is not blank.
  Byte next() {
    if (*p_ == ' ') [[likely]]
      ++p_;
    const Byte c = static_cast<Byte>(*p_);
    if (c > ' ') [[likely]]
      return c;
    return next_after_blanks();
  }

  Byte next_after_blanks() {
    for (;; ++p_) {
      const Byte c = peek();
      if (c == '\n') {
        ++line_;
        line_offset_ = offset() + 1;
        line_tails_ = 0;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return c;
      }
    }
  }

  // ---- A piece of the text that is kept, up to a limit, while the buffer is refilled.

  struct Token {
    const char* begin = nullptr;  // while it is kept, its part that is still in the buffer
    std::string text;             // the part before that
  };

  void start(Token& token) {
    token.text.clear();
    token.begin = p_;
  }

  void keep(Token& token) {
    const auto length = static_cast<std::size_t>(p_ - token.begin);
    token.text.append(token.begin, std::min(length, kMaxScalar + 1 - token.text.size()));
  }

  // Valid until the token starts again or the buffer is refilled.
  std::string_view finish(Token& token) {
    const std::string_view in_buffer(token.begin, p_);
    const bool is_whole = token.text.empty();
    if (!is_whole) keep(token);
    token.begin = nullptr;
    return is_whole ? in_buffer : std::string_view(token.text);
  }

  // ---- Faults.

  [[noreturn]] void fail(Position position, std::string_view message) const {
    throw JsonError(position.line, position.column, message);
  }

  [[noreturn]] void expected(std::string_view what) { expected(what, here()); }

  [[noreturn]] void expected(std::string_view what, Position position) {
    std::string message = fmt::format("expected {}", what);
    if (depth_ > 0 && in_member_) {
      message += fmt::format(" {} \"{}\"", depth_ == 1 ? "after" : "in",
                             printable(key_spelling_, kMaxShown));
    }
    if (at_end()) message += ", but the text ends";
    fail(position, message);
  }

  [[noreturn]] void fail_in_string(Position position, std::string_view message) {
    if (at_end()) {
      fail({line_, string_offset_ - line_offset_ - string_tails_ + 1}, "unterminated string");
    }
    fail(position, message);
  }

  void refuse_byte_order_mark() {
    constexpr Byte kMark[] = {0xEF, 0xBB, 0xBF};
    if (peek() != kMark[0]) return;
    for (const Byte c : kMark) {
      if (peek() != c) expected("a value", {1, 1});
      ++p_;
    }
    fail({1, 1}, "a byte-order mark is not allowed");
  }

  // ---- The grammar. Each of these starts at the first byte of what it is named after.

  // `node` is the value's place in the wanted paths; what is beside them is only checked.
  [[gnu::always_inline]] JsonKind value(int node) {
    next();
    const char* const begin = p_;
    JsonKind kind;
    const char* const end = after_plain_scalar(begin, kind);
    if (end == nullptr) return other_value(node);
    p_ = end;
    if (const int id = path_of(node); id >= 0) visit(id, kind, {begin, end});
    return kind;
  }

  // One that is not a plain scalar.
  [[gnu::noinline]] JsonKind other_value(int node) {
    const int id = path_of(node);
    const char c = *p_;
    if (c != '{' && c != '[') return id < 0 ? scalar() : wanted_scalar(id);
    if (id >= 0) visitor_->begin(static_cast<std::size_t>(id));
    c == '{' ? object(node) : array(node);
    if (id >= 0) visitor_->end(static_cast<std::size_t>(id));
    return c == '{' ? JsonKind::object : JsonKind::array;
  }

  int path_of(int node) const { return node < 0 ? kUnwanted : paths_->id(node); }

  JsonKind scalar() {
    const Byte c = peek();
    if (is_digit(c) || c == '-') return number();
    switch (c) {
      case '"':
        string();
        return JsonKind::string;
      case 't':
        return word("true", JsonKind::boolean);
      case 'f':
        return word("false", JsonKind::boolean);
      case 'n':
        return word("null", JsonKind::null);
      case 'N':
        return word("NaN", JsonKind::real);
      case 'I':
        return word("Infinity", JsonKind::real);
      default:
        expected("a value");
    }
  }

  void object(int node) {
    open();
    if (next() == '}') return close();
    do {
      if (next() != '"') expected("a key in double quotes");
      if (depth_ == 1 && on_member_ != nullptr) {
        top_member();
      } else {
        member(node);
      }
    } while (another("',' or '}'", '}'));
    close();
  }

  void array(int node) {
    const int child = node < 0 ? kUnwanted : paths_->element(node);
    open();
    if (next() == ']') return close();
    do {
      value(child);
    } while (another("',' or ']'", ']'));
    close();
  }

  void open() {
    if (depth_ == kMaxJsonDepth) {
      fail(here(), fmt::format("nested more than {} levels deep", kMaxJsonDepth));
    }
    ++depth_;
    ++p_;
  }

  void close() {
    --depth_;
    ++p_;
  }

  // Steps over a comma; stays at the closing bracket.
  bool another(std::string_view what, Byte closing) {
    const Byte c = next();
    if (c == ',') [[likely]] {
      ++p_;
      return true;
    }
    if (c != closing) expected(what);
    return false;
  }

  JsonKind wanted_scalar(int id) {
    start(token_);
    const JsonKind kind = scalar();
    visit(id, kind, finish(token_));
    return kind;
  }

  void visit(int id, JsonKind kind, std::string_view spelling) {
    if (spelling.size() > kMaxScalar) {
      spelling = {};
    } else if (kind == JsonKind::string) {
      spelling = spelling.substr(1, spelling.size() - 2);
      if (spelling.find('\\') != spelling.npos) {
        key_ = unescaped_json(spelling);
        spelling = key_;
      }
    }
    visitor_->scalar(static_cast<std::size_t>(id), kind, spelling);
  }

  void member(int node) {
    const char* const begin = p_;
    const char* const end = skip_plain(begin + 1);
    const bool is_plain = end[0] == '"' && end[1] == ':';
    // Nobody asks for its key, and the token of the member around it may be open.
    const bool is_unwanted = node < 0 && depth_ > 1;
    if (is_unwanted && !is_plain) {
      string();
      colon();
      value(kUnwanted);
      return;
    }
    const std::string_view key = is_plain ? std::string_view(begin + 1, end) : quoted_key();
    if (is_plain) p_ = end + 1;
    if (depth_ == 1) name_member(key);
    const int child = node < 0 ? kUnwanted : paths_->member(node, key);
    if (child >= 0) tell_key(child, key);
    colon();
    value(child);
  }

  void tell_key(int node, std::string_view key) {
    const int id = path_of(node);
    if (id >= 0 && paths_->is_any_member(node)) {
      visitor_->key(static_cast<std::size_t>(id), key.substr(0, kMaxKey));
    }
  }

  // A key that has other than plain characters, or is cut by the buffer's end. Valid until the
  // buffer is refilled or another key is read.
  std::string_view quoted_key() {
    start(token_);
    string();
    std::string_view key = finish(token_);
    key = key.substr(1, key.size() - 2);
    if (key.size() > kMaxKeySpelling || key.find('\\') == key.npos) return key;
    key_ = unescaped_json(key);
    return key_;
  }

  void colon() {
    if (next() != ':') expected("':'");
    ++p_;
  }

  void top_member() {
    JsonMember found;
    found.key_begin = offset();
    start(token_);
    string();
    found.key_end = offset();
    std::string_view quoted = finish(token_);
    name_member(quoted.substr(1, quoted.size() - 2));
    // One that is very long is cut off; then it cannot be decoded but can still be shown.
    key_ = key_spelling_.size() > kMaxKeySpelling ? key_spelling_ : unescaped_json(key_spelling_);
    colon();

    next();
    found.value_begin = offset();
    start(value_token_);
    found.kind = value(kUnwanted);
    found.value_end = offset();
    found.text = finish(value_token_);
    if (found.text.size() > kMaxScalar) found.text = {};

    const bool has_spelling = found.kind != JsonKind::string && found.kind != JsonKind::array &&
                              found.kind != JsonKind::object;
    if (has_spelling) found.scalar = found.text;
    found.key_kept = key_.size() <= kMaxKey;
    if (found.key_kept) found.key = key_;
    (*on_member_)(found);
  }

  void name_member(std::string_view key) {
    in_member_ = true;
    key_spelling_ = key;
  }

  void string() {
    string_offset_ = offset();
    string_tails_ = line_tails_;
    p_ = skip_plain(p_ + 1);
    for (Byte c = peek(); c != '"'; c = peek()) {
      if (is_plain(c)) {
        p_ = skip_plain(p_);
      } else if (c == '\\') {
        escape();
      } else if (c >= 0x80) {
        character();
      } else {
        fail_in_string(here(), fmt::format("control character U+{:04X} in string", c));
      }
    }
    ++p_;
  }

  void escape() {
    const Position start = here();
    ++p_;
    const Byte c = peek();
    if (c != 'u' && !kIsEscape[c]) {
      fail_in_string(start, "invalid escape in string");
    }
    ++p_;
    for (int i = 0; c == 'u' && i < 4; ++i, ++p_) {
      if (!is_hex(peek())) fail_in_string(start, "expected four hexadecimal digits after \\u");
    }
  }

  // A character outside ASCII: only well-formed UTF-8.
  void character() {
    const Position start = here();
    const Utf8Sequence sequence = utf8_sequence(peek());
    if (sequence.size == 0) fail(start, "invalid UTF-8 in string");
    ++p_;
    Byte low = sequence.second_from;
    Byte high = sequence.second_to;
    for (std::size_t i = 1; i < sequence.size; ++i, ++p_) {
      const Byte tail = peek();
      if (tail < low || tail > high) fail(start, "invalid UTF-8 in string");
      low = 0x80;
      high = 0xBF;
    }
    line_tails_ += sequence.size - 1;
  }

  JsonKind number() {
    if (peek() == '-') {
      ++p_;
      if (peek() == 'I') return word("Infinity", JsonKind::real);
    }
    if (peek() == '0') {
      ++p_;
      if (is_digit(peek())) fail(here(), "leading zero in number");
    } else {
      digits("no digit after '-' in number");
    }
    JsonKind kind = JsonKind::integer;
    if (peek() == '.') {
      ++p_;
      digits("no digit after '.' in number");
      kind = JsonKind::real;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++p_;
      if (peek() == '+' || peek() == '-') ++p_;
      digits("no digit in the exponent of a number");
      kind = JsonKind::real;
    }
    return kind;
  }

  void digits(std::string_view if_none) {
    if (!is_digit(peek())) fail(here(), if_none);
    do {
      p_ = skip_digits(p_);
    } while (is_digit(peek()));  // more may follow past the buffer's end
  }

  JsonKind word(std::string_view spelling, JsonKind kind) {
    const Position start = here();
    for (const char c : spelling) {
      if (peek() != static_cast<Byte>(c)) expected("a value", start);
      ++p_;
    }
    return kind;
  }

  ByteSource& source_;
  const OnMember* on_member_ = nullptr;
  const JsonPaths* paths_ = nullptr;
  JsonVisitor* visitor_ = nullptr;

  // Left uninitialized: many texts are far smaller.
  std::unique_ptr<char[]> buffer_ =
      std::make_unique_for_overwrite<char[]>(kBufferSize + kJsonSlack);
  const char* p_ = buffer_.get();    // the current byte
  const char* end_ = buffer_.get();  // just past the buffer's last byte
  bool ended_ = false;               // the source has no more
  std::uint64_t buffer_offset_ = 0;  // the buffer's first byte in the text

  std::uint64_t line_ = 1;
  std::uint64_t line_offset_ = 0;  // the line's first byte in the text
  std::uint64_t line_tails_ = 0;   // bytes of the line so far that only continue a character

  int depth_ = 0;
  Token token_;             // a key or a scalar
  Token value_token_;       // the value of a top-level member, which may have keys in it
  bool in_member_ = false;  // a key of the top-level object was seen
  std::string key_spelling_;
  std::string key_;
  std::uint64_t string_offset_ = 0;  // of the string that is being read; it has no line breaks
  std::uint64_t string_tails_ = 0;   // line_tails_ at its start
};

}  // namespace

JsonError::JsonError(std::uint64_t line, std::uint64_t column, std::string_view message)
    : line_(line),
      column_(column),
      message_(message),
      text_(fmt::format("{}:{}: {}", line, column, message)) {}

std::string unescaped_json(std::string_view spelling) {
  std::string text;
  for (std::size_t at; (at = spelling.find('\\')) != std::string_view::npos;) {
    text += spelling.substr(0, at);
    const char kind = spelling[at + 1];
    spelling.remove_prefix(at + 2);
    if (kind == 'u') {
      append_utf8(text, take_code(spelling));
    } else {
      text += kEscaped[kJsonEscapes.find(kind)];
    }
  }
  return text += spelling;
}

JsonDocument scan_json(ByteSource& source,
                       const std::function<void(const JsonMember&)>& on_member) {
  return Scanner(source, on_member).document();
}

std::uint64_t walk_json(ByteSource& source, const JsonPaths& paths, JsonVisitor& visitor,
                        JsonTexts texts) {
  return Scanner(source, paths, visitor).walk_values(texts);
}

std::string json_number(double value) {
  assert(std::isfinite(value));
  std::string text = fmt::format("{}", value);
  // fmt uses the exponent form where Python does, but writes 600.0 as 600.
  if (std::ranges::none_of(text, [](char c) { return c == '.' || c == 'e'; })) text += ".0";
  return text;
}

}  // namespace aggregate_power
