// Learns shapes, and compares texts with them.
#include "base/text/json_shape.h"

#include "base/text/json_plain.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kBlock = 16;

// Whether `text`, which ends with a '\0' somewhere, begins with the `size` bytes at `wanted`, which
// has none. Up to kBlock bytes after either may be read.
[[gnu::always_inline]] inline bool begins_with(const char* text, const char* wanted,
                                               std::size_t size) {
#if defined(__SSE2__)
  const auto load = [](const char* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  for (;; text += kBlock, wanted += kBlock, size -= kBlock) {
    const auto equal =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(load(text), load(wanted))));
    if (size <= kBlock) return (~equal & ((1U << size) - 1)) == 0;
    if (equal != 0xFFFF) return false;
  }
#else
  return std::strncmp(text, wanted, size) == 0;
#endif
}

}  // namespace

// Reads a valid text. Its functions return false if the text has no shape.
class JsonShape::Reader {
 public:
  Reader(JsonShape& shape, std::string_view text)
      : shape_(shape), begin_(text.data()), at_(text.data()) {}

  bool read_text() {
    shape_.gaps_.emplace_back();
    if (*at_ != '{' || !value(JsonPaths::kRoot)) return false;
    shape_.gaps_.back().end = offset();
    return true;
  }

 private:
  // All start at the first byte of what they are named after, and end behind it.

  bool value(int node) {
    const int id = node < 0 ? kUnwanted : shape_.paths_.id(node);
    if (*at_ != '{' && *at_ != '[') return scalar(id);
    if (!call(Call::Kind::begin, id)) return false;
    if (!(*at_ == '{' ? object(node) : array(node))) return false;
    return call(Call::Kind::end, id);
  }

  bool scalar(int id) {
    const std::size_t begin = offset();
    JsonKind kind;
    at_ = after_plain_scalar(at_, kind);
    if (at_ == nullptr) return false;
    if (id < 0) {
      if (shape_.unwanted_.size() == kMost) return false;
      shape_.unwanted_.push_back({begin, offset()});
      return true;
    }
    shape_.gaps_.back().end = begin;
    shape_.gaps_.push_back({offset(), 0, shape_.unwanted_.size()});
    shape_.scalars_.emplace_back();
    return call(Call::Kind::scalar, id);
  }

  bool object(int node) {
    do {
      ++at_;
      if (next() == '}') break;
      if (!member(node)) return false;
    } while (next() == ',');
    ++at_;
    return true;
  }

  bool member(int node) {
    const std::string_view key(at_ + 1, skip_plain(at_ + 1));
    at_ += 1 + key.size();
    if (*at_++ != '"' || key.size() > kMaxJsonKey) return false;
    const int child = node < 0 ? kUnwanted : shape_.paths_.member(node, key);
    const bool is_told = child >= 0 && shape_.paths_.is_any_member(child);
    if (is_told && !call(Call::Kind::key, shape_.paths_.id(child), key)) return false;
    next();
    ++at_;  // the colon
    next();
    return value(child);
  }

  bool array(int node) {
    const int child = node < 0 ? kUnwanted : shape_.paths_.element(node);
    do {
      ++at_;
      if (next() == ']') break;
      if (!value(child)) return false;
    } while (next() == ',');
    ++at_;
    return true;
  }

  // The first byte that is not blank.
  char next() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
    return *at_;
  }

  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

  bool call(Call::Kind kind, int id, std::string_view key = {}) {
    if (id < 0) return true;
    if (shape_.calls_.size() == kMost) return false;
    shape_.calls_.push_back({kind, static_cast<std::size_t>(id), std::string(key)});
    return true;
  }

  static constexpr int kUnwanted = -1;

  JsonShape& shape_;
  const char* begin_;
  const char* at_;
};

void JsonShape::forget() {
  gaps_.clear();
  unwanted_.clear();
  scalars_.clear();
  calls_.clear();
}

void JsonShape::learn(std::string_view text) {
  forget();
  if (!patience_.is_due()) return;
  if (text.find('\n') != text.npos || !Reader(*this, text).read_text()) return forget();
  bytes_.assign(text).append(kBlock, '\0');
}

const char* JsonShape::match(const char* text) {
  if (gaps_.empty()) return nullptr;
  for (std::size_t i = 0;; ++i) {
    const Gap& gap = gaps_[i];
    const std::size_t size = gap.end - gap.begin;
    if (begins_with(text, bytes_.data() + gap.begin, size)) {
      text += size;
    } else {
      const bool is_last = i == scalars_.size();
      text = match_parts(gap, is_last ? unwanted_.size() : gaps_[i + 1].first, text);
    }
    if (text == nullptr || i == scalars_.size()) break;
    text = read_plain_scalar(text, scalars_[i]);
    if (text == nullptr) break;
  }
  if (text != nullptr) patience_.reward();
  return text;
}

// Compares a gap whose unwanted scalars, those up to `last`, have changed.
const char* JsonShape::match_parts(const Gap& gap, std::size_t last, const char* text) {
  std::size_t begin = gap.begin;
  for (std::size_t i = gap.first; i < last; ++i) {
    const Unwanted& known = unwanted_[i];
    if (!begins_with(text, bytes_.data() + begin, known.begin - begin)) return nullptr;
    text += known.begin - begin;
    JsonKind kind;
    const char* const end = after_plain_scalar(text, kind);
    if (end == nullptr) return nullptr;
    const auto size = static_cast<std::size_t>(end - text);
    // Even if the rest of the text does not match: a plain scalar of that size fits the shape, too.
    if (size == known.end - known.begin) std::memcpy(bytes_.data() + known.begin, text, size);
    text = end;
    begin = known.end;
  }
  return begins_with(text, bytes_.data() + begin, gap.end - begin) ? text + gap.end - begin
                                                                   : nullptr;
}

void JsonShape::tell(JsonVisitor& visitor) const {
  const JsonScalar* scalar = scalars_.data();
  for (const Call& call : calls_) {
    switch (call.kind) {
      case Call::Kind::begin:
        visitor.begin(call.path);
        break;
      case Call::Kind::end:
        visitor.end(call.path);
        break;
      case Call::Kind::key:
        visitor.key(call.path, call.key);
        break;
      case Call::Kind::scalar:
        visitor.scalar(call.path, scalar->kind, scalar->text);
        ++scalar;
        break;
    }
  }
}

}  // namespace aggregate_power
