// A reading of the hardware's own energy counters.
#include "aggregate_power/inputs/snapshot.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "aggregate_power/base/csv.h"
#include "aggregate_power/base/unicode.h"

namespace aggregate_power {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// float(text): digits of any script, single underscores between digits, a sign, an exponent.
std::optional<double> python_float(std::string_view text) {
  const std::string digits = ascii_digits(strip(text));
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      plain.push_back(digits[i]);
    } else if (i == 0 || i + 1 == digits.size() || !is_digit(digits[i - 1]) ||
               !is_digit(digits[i + 1])) {
      return std::nullopt;
    }
  }
  const bool plus = plain.starts_with('+');
  if (plus && plain.starts_with("+-")) return std::nullopt;
  double value = 0;
  const char* const begin = plain.data() + (plus ? 1 : 0);
  const char* const end = plain.data() + plain.size();
  const auto [at, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source) {
  const std::string text = read_all(source);
  const std::vector<CsvTextRow> rows = split_csv(text, text.size() + 1, true);
  std::optional<std::size_t> gpu;
  std::optional<std::size_t> energy;
  std::map<std::string, double> joules;
  for (const CsvTextRow& row : rows) {
    if (row.blank) continue;
    if (!gpu || !energy) {  // not yet behind the header
      gpu.reset();
      energy.reset();
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (strip(row.cells[i]) == "gpu") gpu = i;
        if (strip(row.cells[i]) == "total_energy_consumption") energy = i;
      }
      continue;
    }
    if (row.cells.size() <= std::max(*gpu, *energy)) continue;
    const std::string id = replace_invalid_utf8(strip(row.cells[*gpu]));
    const auto value = python_float(row.cells[*energy]);
    if (!id.empty() && value) joules[id] = *value;
  }
  if (joules.empty()) return std::nullopt;
  return joules;
}

}  // namespace aggregate_power
