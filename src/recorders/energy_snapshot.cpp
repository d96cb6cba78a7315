// A reading of the hardware's own energy counters.
#include "recorders/energy_snapshot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text/csv.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"

namespace aggregate_power {
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
    if (!id.empty() && value && std::isfinite(*value)) joules[id] = *value;
  }
  if (joules.empty()) return std::nullopt;
  return joules;
}

}  // namespace aggregate_power
