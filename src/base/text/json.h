// Reads JSON as Python's json module does, checked in one pass.
//
// Accepted: RFC 8259 plus the bare words NaN, Infinity and -Infinity; duplicate keys; lone
// surrogate escapes. Refused: a byte-order mark, invalid UTF-8 (overlong forms and encoded
// surrogates included), control characters inside strings, trailing bytes, and more than
// kMaxJsonDepth levels of nesting.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <emmintrin.h>

#include "base/system/byte_source.h"
#include "base/text/characters.h"

namespace aggregate_power {

// ---- The parts of a JSON document that matter, by path.

// Paths such as "duration", "server_info.tp_size", "benchmarks[].start_time", "itls[][]", or "" for
// the whole document; "[]" stands for each element of an array, and the key "*" for each member of
// an object that no other path names. Keys contain no '.' and no '['.
class JsonPaths {
 public:
  // The n-th path has the id n. Paths differ.
  explicit JsonPaths(std::span<const std::string_view> paths);

  static constexpr int kRoot = 0;
  // All return -1 for nothing wanted. `key` is without escapes.
  int member(int node, std::string_view key) const;
  int element(int node) const { return nodes_[static_cast<std::size_t>(node)].element; }
  // Whether the node is a "*": the visitor gets its key.
  bool is_any_member(int node) const { return nodes_[static_cast<std::size_t>(node)].is_any; }
  int id(int node) const { return nodes_[static_cast<std::size_t>(node)].id; }

 private:
  struct Node {
    std::vector<std::pair<std::string, int>> members;
    int element = -1;
    int any_member = -1;
    int id = -1;
    bool is_any = false;
  };
  int add_member(int node, std::string_view key);
  int add_element(int node);
  int add_any_member(int node);

  std::vector<Node> nodes_;
};

// ---- Walks a document

inline constexpr int kMaxJsonDepth = 1000;

// A syntax error: `line` and `column` count from 1, `column` in characters (code points).
class JsonError : public std::exception {
 public:
  JsonError(std::uint64_t line, std::uint64_t column, std::string_view message);
  const char* what() const noexcept override { return text_.c_str(); }  // "LINE:COLUMN: message"
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }
  // The same `lines` below.
  JsonError moved_by(std::uint64_t lines) const { return {line_ + lines, column_, message_}; }

 private:
  std::uint64_t line_;
  std::uint64_t column_;
  std::string message_;
  std::string text_;
};

enum class JsonKind { null, boolean, integer, real, string, array, object };
// `integer` has neither point nor exponent; NaN and the infinities are `real`.

// One member of the top-level object, as encountered. Offsets are bytes from the start of the text.
struct JsonMember {
  std::string_view key;  // escapes decoded, a lone surrogate as three bytes as if it were a
                         // character; empty, with `key_kept` false, if over 256 bytes long
  bool key_kept = true;
  JsonKind kind = JsonKind::null;
  std::string_view scalar;  // the spelling of a number, true, false or null; empty for others, and
                            // for numbers of more than 5000 bytes
  std::string_view text;    // the value as written, of any kind; empty if over 5000 bytes
  std::uint64_t key_begin = 0;  // at the key's opening quote
  std::uint64_t key_end = 0;    // just past its closing quote
  std::uint64_t value_begin = 0;
  std::uint64_t value_end = 0;  // just past the value
};

// The kind of the top-level value, and the span of an object's braces.
struct JsonDocument {
  JsonKind kind = JsonKind::null;
  std::uint64_t begin = 0;  // where the value starts
  std::uint64_t end = 0;    // just past it
};

// Reads all of `source` in one pass and in memory that does not grow with it (at most 2 MiB), and
// calls `on_member` for each member of a top-level object, in order; the views in it are valid only
// during the call. Throws JsonError at the first fault, or what `source` throws.
JsonDocument scan_json(ByteSource& source, const std::function<void(const JsonMember&)>& on_member);

// Receives what lies on wanted paths. `path` counts from 0 in the order of the paths.
class JsonVisitor {
 public:
  virtual ~JsonVisitor() = default;
  // The key of a member that a "*" stands for, before its value; cut off after 256 bytes. For
  // wanted paths only that end in "*".
  virtual void key(std::size_t /*path*/, std::string_view /*key*/) {}
  // An object or array that is itself a wanted path.
  virtual void begin(std::size_t path) = 0;
  virtual void end(std::size_t path) = 0;
  // `text` is a string's meaning, or the spelling of a number, true, false or null; empty, with a
  // null data(), if that has more than 5000 bytes.
  virtual void scalar(std::size_t path, JsonKind kind, std::string_view text) = 0;
};

enum class JsonTexts { one, several };  // several: one after the other, as in JSON lines

// Reads all of `source` like scan_json(), and visits what lies on `paths`. Returns the number of
// values at the top. Throws JsonError at the first fault, or what `source` throws.
std::uint64_t walk_json(ByteSource& source, const JsonPaths& paths, JsonVisitor& visitor,
                        JsonTexts texts);

// The meaning of a string: `spelling` is the text between its quotes, known to be valid. A lone
// surrogate becomes three bytes as if it were a character.
std::string unescaped_json(std::string_view spelling);

// A finite number as Python's repr writes it: the shortest digits that read back to the same
// double, always with a point or an exponent: 600.0, 1e-05, 1e+16.
std::string json_number(double value);

}  // namespace aggregate_power

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

inline constexpr std::size_t kJsonSlack = 64;
inline constexpr unsigned kMostPlainNumber = 32;
inline constexpr std::size_t kMaxJsonKey = 256;      // a longer one is cut off
inline constexpr std::size_t kMaxJsonScalar = 5000;  // a longer one is not handed over

// What may follow a backslash besides `u`.
inline constexpr std::string_view kJsonEscapes = "\"\\/bfnrt";

inline bool is_digit(unsigned char c) { return is_ascii_digit(static_cast<char>(c)); }

// Whether `c` may follow a backslash, other than `u`.
inline constexpr std::array<bool, 256> kIsEscape = [] {
  std::array<bool, 256> is_escape{};
  for (const char c : kJsonEscapes) is_escape[static_cast<unsigned char>(c)] = true;
  return is_escape;
}();

// ASCII characters without a special meaning inside a string.
inline bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

// Digits and points from `p` on, and where those that are no digits are.
struct NumberShape {
  unsigned size;
  std::uint32_t points;  // or slashes, which have the code between
};

// Most of a benchmark result is digits and plain text, and most of the time is spent in these
// functions. They stop at '\0' at the latest, or look at 32 bytes.
#if defined(__SSE2__)
inline const char* skip_plain(const char* p) {
  for (;; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    // As signed numbers, bytes outside ASCII are negative and therefore also below a blank.
    const __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    const int stops = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
    if (stops != 0) return p + std::countr_zero(static_cast<unsigned>(stops));
  }
}

inline const char* skip_digits(const char* p) {
  for (;; p += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i below = _mm_cmplt_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i above = _mm_cmpgt_epi8(bytes, _mm_set1_epi8('9'));
    const int stops = _mm_movemask_epi8(_mm_or_si128(below, above));
    if (stops != 0) return p + std::countr_zero(static_cast<unsigned>(stops));
  }
}
// The bytes among the 32 at `p` that are not plain, as bits.
inline std::uint32_t not_plain(const char* p) {
  const auto bits = [&](int half) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + half);
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    const __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    const int found = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
    return static_cast<std::uint32_t>(found) << (16 * half);
  };
  return bits(0) | bits(1);
}

// Of the first 16 * kBlocks bytes.
template <int kBlocks>
NumberShape number_shape(const char* p) {
  NumberShape shape{};
  std::uint64_t in_number = 0;
  for (int block = 0; block < kBlocks; ++block) {
    const auto bits = [block](__m128i equal) {
      return static_cast<std::uint32_t>(_mm_movemask_epi8(equal)) << (16 * block);
    };
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + block);
    const __m128i above_point = _mm_sub_epi8(bytes, _mm_set1_epi8('.'));
    in_number |=
        bits(_mm_cmpeq_epi8(_mm_min_epu8(above_point, _mm_set1_epi8('9' - '.')), above_point));
    shape.points |= bits(_mm_cmplt_epi8(bytes, _mm_set1_epi8('0')));
  }
  shape.size = static_cast<unsigned>(std::countr_one(in_number));
  shape.points &= static_cast<std::uint32_t>((std::uint64_t{1} << shape.size) - 1);
  return shape;
}
#else
inline const char* skip_plain(const char* p) {
  while (is_plain(static_cast<unsigned char>(*p))) ++p;
  return p;
}

inline const char* skip_digits(const char* p) {
  while (is_digit(static_cast<unsigned char>(*p))) ++p;
  return p;
}

inline std::uint32_t not_plain(const char* p) {
  std::uint32_t found = 0;
  for (int i = 0; i < 32; ++i) {
    found |= static_cast<std::uint32_t>(!is_plain(static_cast<unsigned char>(p[i]))) << i;
  }
  return found;
}

template <int kBlocks>
NumberShape number_shape(const char* p) {
  NumberShape shape{};
  for (; shape.size < 16 * kBlocks; ++shape.size) {
    const bool is_point = p[shape.size] == '.';
    if (!is_point && !is_digit(static_cast<unsigned char>(p[shape.size]))) break;
    shape.points |= static_cast<std::uint32_t>(is_point) << shape.size;
  }
  return shape;
}
#endif

// ---- These return the end of the plain scalar at `p`, or nullptr if it is not plain.

inline const char* after_plain_string(const char* p) {
  constexpr int kBlock = 32;
  for (++p;; p += kBlock) {
    for (std::uint32_t stops = not_plain(p); stops != 0;) {
      const int at = std::countr_zero(stops);
      if (p[at] == '"') return p + at + 1;
      if (p[at] != '\\' || !kIsEscape[static_cast<unsigned char>(p[at + 1])]) return nullptr;
      stops &= ~(std::uint32_t{3} << at);
      if (at == kBlock - 1) ++p;  // the escaped character is in the next block
    }
  }
}

inline const char* after_plain_number(const char* p, JsonKind& kind) {
  if (*p == '-') [[unlikely]]
    ++p;
  NumberShape shape = number_shape<1>(p);
  if (shape.size == 16) shape = number_shape<2>(p);
  const char* const end = p + shape.size;
  kind = JsonKind::integer;
  const auto whole =
      static_cast<unsigned>(std::countr_zero(shape.points | std::uint64_t{1} << shape.size));
  if (shape.points != 0) {
    kind = JsonKind::real;
    const bool is_one = (shape.points & (shape.points - 1)) == 0;
    if (!is_one || p[whole] != '.' || whole + 1 == shape.size) return nullptr;
  }
  const bool is_whole_plain = whole == 1 || (whole > 1 && *p != '0');
  const bool may_go_on =
      shape.size == kMostPlainNumber || *end == 'e' || *end == 'E' || *end == '\0';
  return is_whole_plain && !may_go_on ? end : nullptr;
}

[[gnu::always_inline]] inline const char* after_plain_scalar(const char* p, JsonKind& kind) {
  if (*p == '"') {
    kind = JsonKind::string;
    return after_plain_string(p);
  }
  if (*p <= '9') return after_plain_number(p, kind);
  const auto word = [&](std::string_view spelling, JsonKind kind_of_word) {
    kind = kind_of_word;
    return std::memcmp(p, spelling.data(), spelling.size()) == 0 ? p + spelling.size() : nullptr;
  };
  if (*p == 'n') return word("null", JsonKind::null);
  if (*p == 't') return word("true", JsonKind::boolean);
  if (*p == 'f') return word("false", JsonKind::boolean);
  return nullptr;
}

}  // namespace aggregate_power
