// The values of one benchmark or request in a result, by path.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.h"

namespace aggregate_power {

// A path names a scalar ("duration"), a list ("start_times[]"), or a list of lists of which each
// inner one is summed ("itls[][]").
class ResultValues {
 public:
  explicit ResultValues(std::span<const std::string_view> paths)
      : paths_(paths), slots_(paths.size()) {}

  // The path was there, and not null.
  bool has(std::string_view path) const;
  JsonKind kind(std::string_view path) const;  // null: missing
  // A finite number; also one spelled in a string.
  std::optional<double> number(std::string_view path) const;
  // A whole number, 0 or more, however it is spelled: 2.0 too.
  std::optional<std::int64_t> count(std::string_view path) const;
  // The meaning of a string, the spelling of anything else; empty: missing or null.
  std::string text(std::string_view path) const;
  // A list's numbers; NaN where there is none, for a text 1 unless it is empty or says success.
  std::span<const double> list(std::string_view path) const;
  // The sum of a list as a count; 0 if it is not one.
  std::int64_t sum(std::string_view path) const;

  void clear();
  void set(std::size_t path, JsonKind kind, std::string_view text);  // the last one counts
  void append(std::size_t path, JsonKind kind, std::string_view text);
  void append_sum(std::size_t path, double sum) { slots_[path].list.push_back(sum); }

 private:
  struct Slot {
    JsonKind kind = JsonKind::null;
    std::string text;
    std::vector<double> list;
  };
  const Slot* find(std::string_view path) const;

  std::span<const std::string_view> paths_;
  std::vector<Slot> slots_;
};

// Rounded; nullopt if it is negative or too large to be a count, or NaN.
std::optional<std::int64_t> whole_count(double value);

// The number that a scalar is, or states in a string; NaN if it is none, as true and false.
double number_of(JsonKind kind, std::string_view text);

// ---- The beginning of a file, by which its format is recognized.

struct ResultHead {
  std::string_view text;
  // The paths of its keys, as far as the text goes: "metadata.version", "benchmarks[].type_",
  // "[].n_gen". At most kMostKeyLevels keys deep.
  std::set<std::string, std::less<>> keys;

  bool has(std::string_view path) const { return keys.contains(path); }
};

inline constexpr int kMostKeyLevels = 4;

// Never fails: a text that breaks off has the keys up to there, and one that does not begin as JSON
// has none.
ResultHead result_head(std::string_view text);

}  // namespace aggregate_power
