// Compares misspelt words with known ones.
#include "base/text/suggest.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// What is compared: "--Bench_Result" is "bench_result".
std::string bare(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return lower_ascii(word);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the usual table: the distances of the first i characters of `a` to each start of `b`.
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 256;  // nothing known is nearly as long
  const std::string wanted = bare(word);
  if (wanted.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& one : known) {
    const std::string candidate = bare(one);
    const std::size_t most =
        std::max<std::size_t>(std::min(wanted.size(), candidate.size()) / 3, 1);
    const std::size_t distance = edit_distance(wanted, candidate);
    const bool shares_nothing = distance >= std::min(wanted.size(), candidate.size());
    if (distance > most || shares_nothing || (best && distance >= best_distance)) continue;
    best = one;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::optional<std::string> near = nearest(word, known);
  return near ? fmt::format(": did you mean {}?", *near) : std::string();
}

}  // namespace aggregate_power
