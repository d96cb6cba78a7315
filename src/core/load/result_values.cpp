// Keeps the values of a result.
#include "core/load/result_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {

namespace {

// Nanoseconds since 1970 have 19 digits.
constexpr std::size_t kStampDigits = 19;

double stamp(std::string_view digits) {
  const auto eight_at = [&](std::size_t at) {
    std::uint64_t characters = 0;
    std::memcpy(&characters, digits.data() + at, sizeof(characters));
    return static_cast<std::uint64_t>(eight_digits(characters ^ 0x3030303030303030U));
  };
  constexpr std::uint64_t kEightDigits = 100'000'000;
  std::uint64_t value = 0;
  for (const char c : digits.substr(0, 3)) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return static_cast<double>((value * kEightDigits + eight_at(3)) * kEightDigits + eight_at(11));
}

// Of a text in a list of what became of each request.
bool says_no_fault(std::string_view text) {
  constexpr std::string_view kWords[] = {"success", "successful", "succeeded", "ok",
                                         "passed",  "pass",       "complete",  "completed",
                                         "done",    "finished",   "none",      "200"};
  return text.empty() || std::ranges::find(kWords, lower_ascii(text)) != std::end(kWords);
}

}  // namespace

double number_of(JsonKind kind, std::string_view text) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t kShort = 18;  // digits that fit 64 bits
  if (kind == JsonKind::integer && !text.empty() && text.size() <= kShort) {
    return static_cast<double>(from_text<std::int64_t>(text).value_or(0));
  }
  if (kind == JsonKind::integer && text.size() == kStampDigits && text.front() != '-') {
    return stamp(text);
  }
  if (kind != JsonKind::integer && kind != JsonKind::real && kind != JsonKind::string) return kNone;
  const double value = from_text<double>(text).value_or(kNone);
  return std::isfinite(value) ? value : kNone;
}

std::optional<std::int64_t> whole_count(double value) {
  constexpr double kMost = 9e15;  // whole numbers up to here are exact in a double
  return value >= 0 && value <= kMost ? std::optional<std::int64_t>(std::llround(value))
                                      : std::nullopt;
}

const ResultValues::Slot* ResultValues::find(std::string_view path) const {
  const auto found = std::ranges::find(paths_, path);
  return found == paths_.end() ? nullptr
                               : &slots_[static_cast<std::size_t>(found - paths_.begin())];
}

bool ResultValues::has(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot != nullptr && (slot->kind != JsonKind::null || !slot->list.empty());
}

JsonKind ResultValues::kind(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot == nullptr ? JsonKind::null : slot->kind;
}

std::optional<double> ResultValues::number(std::string_view path) const {
  const Slot* const slot = find(path);
  if (slot == nullptr) return std::nullopt;
  const double value = number_of(slot->kind, slot->text);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<std::int64_t> ResultValues::count(std::string_view path) const {
  const std::optional<double> value = number(path);
  const std::optional<std::int64_t> count = value ? whole_count(*value) : std::nullopt;
  return count && static_cast<double>(*count) == *value ? count : std::nullopt;
}

std::string ResultValues::text(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot == nullptr || slot->kind == JsonKind::null ? std::string() : slot->text;
}

std::span<const double> ResultValues::list(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot == nullptr ? std::span<const double>() : slot->list;
}

std::int64_t ResultValues::sum(std::string_view path) const {
  const auto numbers = list(path);
  return whole_count(std::accumulate(numbers.begin(), numbers.end(), 0.0)).value_or(0);
}

void ResultValues::clear() {
  for (Slot& slot : slots_) {
    slot.kind = JsonKind::null;
    slot.text.clear();
    slot.list.clear();
  }
}

void ResultValues::set(std::size_t path, JsonKind kind, std::string_view text) {
  slots_[path].kind = kind;
  slots_[path].text = text;
}

void ResultValues::append(std::size_t path, JsonKind kind, std::string_view text) {
  slots_[path].list.push_back(kind == JsonKind::string ? (says_no_fault(text) ? 0 : 1)
                                                       : number_of(kind, text));
}

// ---- Collects the key paths in the beginning of a JSON text, which may break off anywhere.

namespace {

constexpr std::size_t kMostKeys = 2000;
constexpr std::size_t kMostLevelsKept = kMostKeyLevels + 2;

// Follows braces, brackets and strings, and nothing else.
class KeyCollector {
 public:
  KeyCollector(std::string_view text, std::set<std::string, std::less<>>& keys)
      : rest_(text), keys_(keys) {}

  void collect() {
    while (!rest_.empty() && keys_.size() < kMostKeys) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        open(c == '[');
      } else if ((c == '}' || c == ']') && !levels_.empty()) {
        levels_.pop_back();
      } else if (c == ',' && !levels_.empty()) {
        levels_.back().key.clear();
      }
    }
  }

 private:
  struct Level {
    std::string prefix;  // the path of the container
    bool is_array = false;
    std::string key = {};  // the member that is being read
  };

  // The path of a value that begins here.
  std::string path() const {
    if (levels_.empty()) return {};
    const Level& level = levels_.back();
    if (level.is_array) return level.prefix + "[]";
    return level.prefix.empty() ? level.key : level.prefix + "." + level.key;
  }

  // The paths of deeper levels are not kept.
  void open(bool is_array) {
    const bool is_deep = levels_.size() > kMostLevelsKept;
    levels_.push_back({is_deep ? std::string() : path(), is_array});
  }

  void string() {
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    const std::string_view text = rest_.substr(0, std::min(end, rest_.size()));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const std::size_t next = rest_.find_first_not_of(" \t\r\n");
    const bool is_key = next != rest_.npos && rest_[next] == ':';
    if (!is_key || levels_.empty() || levels_.back().is_array) return;
    levels_.back().key = text;
    if (levels_.size() <= kMostLevelsKept) keys_.insert(path());
  }

  std::string_view rest_;
  std::set<std::string, std::less<>>& keys_;
  std::vector<Level> levels_;
};

}  // namespace

ResultHead result_head(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  ResultHead head{text, {}};
  std::string_view rest = text;
  if (rest.starts_with(kMark)) rest.remove_prefix(kMark.size());
  rest = strip(rest);
  // Prose may quote a result.
  const bool is_json = rest.starts_with('{') || rest.starts_with('[');
  if (is_json) KeyCollector(rest, head.keys).collect();
  return head;
}

}  // namespace aggregate_power
