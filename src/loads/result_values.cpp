// Keeps the values of a result.
#include "loads/result_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text/python_number.h"

namespace aggregate_power {

double number_of(JsonKind kind, std::string_view text) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t kShort = 18;  // digits that fit 64 bits
  if (kind == JsonKind::integer && !text.empty() && text.size() <= kShort) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return static_cast<double>(value);
  }
  if (kind != JsonKind::integer && kind != JsonKind::real && kind != JsonKind::string) return kNone;
  double value = kNone;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && std::isfinite(value) ? value : kNone;
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
  return value && *value == std::floor(*value) ? whole_count(*value) : std::nullopt;
}

std::string ResultValues::text(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot == nullptr || slot->kind == JsonKind::null ? std::string() : slot->text;
}

std::span<const double> ResultValues::list(std::string_view path) const {
  const Slot* const slot = find(path);
  return slot == nullptr ? std::span<const double>() : slot->list;
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
  slots_[path].list.push_back(kind == JsonKind::string ? (text.empty() ? 0 : 1)
                                                       : number_of(kind, text));
}

}  // namespace aggregate_power
