// Scans JSON as it streams by, and sets members in the text itself.
#include "base/text/json.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <memory>
#include <set>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <fmt/format.h>

#include "base/text/ascii.h"
#include "base/text/unicode.h"
#include "base/text/utf8.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kBufferSize = 256 * 1024;
constexpr std::size_t kStep = 16;  // how far past the buffer's end the skip functions may look
constexpr std::size_t kMaxKey = 256;
constexpr std::size_t kMaxScalar = 5000;
constexpr std::size_t kMaxKeySpelling = 6 * kMaxKey;  // if every byte is written like \u0041
constexpr std::size_t kMaxShown = 40;                 // characters of a key in a message

// What may follow a backslash besides `u`, and what it means.
constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

using Byte = unsigned char;

bool is_digit(Byte c) { return is_ascii_digit(static_cast<char>(c)); }

bool is_hex(Byte c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }

// ASCII characters without a special meaning inside a string.
bool is_plain(Byte c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

// Most of a benchmark result is digits and plain text, and most of the time is spent in these two
// functions. Both stop at '\0' at the latest.
#if defined(__SSE2__)
const char* skip_plain(const char* p) {
  for (;; p += kStep) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    // As signed numbers, bytes outside ASCII are negative and therefore also below a blank.
    const __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    const int stops = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
    if (stops != 0) return p + std::countr_zero(static_cast<unsigned>(stops));
  }
}

const char* skip_digits(const char* p) {
  for (;; p += kStep) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i below = _mm_cmplt_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i above = _mm_cmpgt_epi8(bytes, _mm_set1_epi8('9'));
    const int stops = _mm_movemask_epi8(_mm_or_si128(below, above));
    if (stops != 0) return p + std::countr_zero(static_cast<unsigned>(stops));
  }
}
#else
const char* skip_plain(const char* p) {
  while (is_plain(static_cast<Byte>(*p))) ++p;
  return p;
}

const char* skip_digits(const char* p) {
  while (is_digit(static_cast<Byte>(*p))) ++p;
  return p;
}
#endif

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
      walk(JsonPaths::kRoot);
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
    found.kind = value();
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
    if (token_begin_ != nullptr) {
      keep_token();
      token_begin_ = buffer_.get();
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
    if (*p_ == ' ') ++p_;
    return static_cast<Byte>(*p_) > ' ' ? static_cast<Byte>(*p_) : next_after_blanks();
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

  void start_token() {
    token_.clear();
    token_begin_ = p_;
  }

  void keep_token() {
    const auto length = static_cast<std::size_t>(p_ - token_begin_);
    token_.append(token_begin_, std::min(length, kMaxScalar + 1 - token_.size()));
  }

  // Valid until the next token starts or the buffer is refilled.
  std::string_view finish_token() {
    const std::string_view in_buffer(token_begin_, p_);
    const bool is_whole = token_.empty();
    if (!is_whole) keep_token();
    token_begin_ = nullptr;
    return is_whole ? in_buffer : std::string_view(token_);
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

  JsonKind value() {
    const Byte c = next();
    if (is_digit(c) || c == '-') return number();
    switch (c) {
      case '{':
        object();
        return JsonKind::object;
      case '[':
        array();
        return JsonKind::array;
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

  void object() {
    open();
    if (next() == '}') return close();
    do {
      if (next() != '"') expected("a key in double quotes");
      member();
    } while (another("',' or '}'", '}'));
    close();
  }

  void array() {
    open();
    if (next() == ']') return close();
    do {
      value();
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
    if (c != ',' && c != closing) expected(what);
    p_ += c == ',';
    return c == ',';
  }

  // ---- The same along wanted paths; what lies beside them is only checked.

  void walk(int node) {
    const int id = paths_->id(node);
    switch (next()) {
      case '{':
        if (id >= 0) visitor_->begin(static_cast<std::size_t>(id));
        walk_object(node);
        break;
      case '[':
        if (id >= 0) visitor_->begin(static_cast<std::size_t>(id));
        walk_array(node);
        break;
      default:
        if (id < 0) {
          value();
        } else {
          walk_scalar(static_cast<std::size_t>(id));
        }
        return;
    }
    if (id >= 0) visitor_->end(static_cast<std::size_t>(id));
  }

  void walk_scalar(std::size_t id) {
    if (std::string_view plain; *p_ == '"' && plain_string(plain)) {
      visitor_->scalar(id, JsonKind::string,
                       plain.size() + 2 > kMaxScalar ? std::string_view() : plain);
      return;
    }
    start_token();
    const JsonKind kind = value();
    std::string_view text = finish_token();
    if (text.size() > kMaxScalar) {
      text = {};
    } else if (kind == JsonKind::string) {
      text.remove_prefix(1);
      text.remove_suffix(1);
      if (text.find('\\') != text.npos) {
        key_ = unescaped_json(text);
        text = key_;
      }
    }
    visitor_->scalar(id, kind, text);
  }

  void walk_object(int node) {
    open();
    if (next() == '}') return close();
    do {
      if (next() != '"') expected("a key in double quotes");
      const std::string_view key = walk_key();
      if (depth_ == 1) {
        in_member_ = true;
        key_spelling_ = key;
      }
      const int child = paths_->member(node, key);
      colon();
      walk_or_skip(child);
    } while (another("',' or '}'", '}'));
    close();
  }

  // Valid until the buffer is refilled or another key is read.
  std::string_view walk_key() {
    std::string_view key;
    if (plain_string(key)) return key;
    start_token();
    string();
    key = finish_token();
    key = key.substr(1, key.size() - 2);
    if (key.size() > kMaxKeySpelling || key.find('\\') == key.npos) return key;
    key_ = unescaped_json(key);
    return key_;
  }

  void walk_array(int node) {
    const int child = paths_->element(node);
    open();
    if (next() == ']') return close();
    do {
      walk_or_skip(child);
    } while (another("',' or ']'", ']'));
    close();
  }

  void walk_or_skip(int node) {
    if (node < 0) {
      value();
    } else {
      walk(node);
    }
  }

  void member() {
    if (depth_ == 1 && on_member_ != nullptr) return top_member();
    string();
    colon();
    value();
  }

  void colon() {
    if (next() != ':') expected("':'");
    ++p_;
  }

  void top_member() {
    JsonMember found;
    found.key_begin = offset();
    start_token();
    string();
    found.key_end = offset();
    name_member(finish_token());
    colon();

    next();
    found.value_begin = offset();
    start_token();
    found.kind = value();
    found.value_end = offset();
    found.text = finish_token();
    if (found.text.size() > kMaxScalar) found.text = {};

    const bool has_spelling = found.kind != JsonKind::string && found.kind != JsonKind::array &&
                              found.kind != JsonKind::object;
    if (has_spelling) found.scalar = found.text;
    found.key_kept = key_.size() <= kMaxKey;
    if (found.key_kept) found.key = key_;
    (*on_member_)(found);
  }

  // `quoted` is cut off if it is very long; then it cannot be decoded but can still be shown.
  void name_member(std::string_view quoted) {
    in_member_ = true;
    key_spelling_ = quoted.substr(1, quoted.size() - 2);
    key_ = key_spelling_.size() > kMaxKeySpelling ? key_spelling_ : unescaped_json(key_spelling_);
  }

  // Steps over a string if it has nothing but plain ASCII and is whole in the buffer, as most are.
  bool plain_string(std::string_view& text) {
    const char* const end = skip_plain(p_ + 1);
    if (end >= end_ || *end != '"') return false;
    text = {p_ + 1, end};
    p_ = end + 1;
    return true;
  }

  void string() {
    if (std::string_view plain; plain_string(plain)) return;
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
    if (c != 'u' && kEscapes.find(static_cast<char>(c)) == kEscapes.npos) {
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
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferSize + kStep);
  const char* p_ = buffer_.get();    // the current byte
  const char* end_ = buffer_.get();  // just past the buffer's last byte
  bool ended_ = false;               // the source has no more
  std::uint64_t buffer_offset_ = 0;  // the buffer's first byte in the text

  std::uint64_t line_ = 1;
  std::uint64_t line_offset_ = 0;  // the line's first byte in the text
  std::uint64_t line_tails_ = 0;   // bytes of the line so far that only continue a character

  int depth_ = 0;
  const char* token_begin_ = nullptr;  // while one is kept, its part that is still in the buffer
  std::string token_;
  bool in_member_ = false;  // a key of the top-level object was seen
  std::string key_spelling_;
  std::string key_;
  std::uint64_t string_offset_ = 0;  // of the string that is being read; it has no line breaks
  std::uint64_t string_tails_ = 0;   // line_tails_ at its start
};

}  // namespace

JsonError::JsonError(std::uint64_t line, std::uint64_t column, std::string_view message)
    : line_(line), column_(column), text_(fmt::format("{}:{}: {}", line, column, message)) {}

std::string unescaped_json(std::string_view spelling) {
  std::string text;
  for (std::size_t at; (at = spelling.find('\\')) != std::string_view::npos;) {
    text += spelling.substr(0, at);
    const char kind = spelling[at + 1];
    spelling.remove_prefix(at + 2);
    if (kind == 'u') {
      append_utf8(text, take_code(spelling));
    } else {
      text += kEscaped[kEscapes.find(kind)];
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
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

}  // namespace aggregate_power
