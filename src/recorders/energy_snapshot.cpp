// Reads the energy snapshots beside a recording.
#include "recorders/energy_snapshot.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"

namespace aggregate_power {

std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source) {
  const std::string text = read_whole(source, "energy snapshot", kEnergySnapshotFile);
  const std::vector<CsvTextRow> rows = split_csv(text, text.size() + 1, true);
  std::optional<std::size_t> gpu;
  std::optional<std::size_t> energy;
  std::map<std::string, double> joules;
  for (const CsvTextRow& row : rows) {
    if (row.blank) continue;
    if (!gpu || !energy) {  // the header is still to come
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

std::optional<EnergySnapshots> read_energy_snapshots(const Recording& recording) {
  EnergySnapshots snapshots;
  const auto read = [&](const char* which, std::unique_ptr<ByteSource> source,
                        std::map<std::string, double>& into) {
    if (!snapshots.unavailable.empty()) return;
    auto joules = read_energy_snapshot(*as_utf8(std::move(source)));
    if (joules) {
      into = std::move(*joules);
    } else {
      snapshots.unavailable = fmt::format("unparseable_{}_snapshot", which);
    }
  };
  try {
    std::unique_ptr<ByteSource> start = recording.beside("_energy_start.csv");
    std::unique_ptr<ByteSource> end = recording.beside("_energy_end.csv");
    if (!start && !end) return std::nullopt;
    if (!start || !end) {
      snapshots.unavailable = fmt::format("missing_{}_snapshot", start ? "end" : "start");
      return snapshots;
    }
    read("start", std::move(start), snapshots.start);
    read("end", std::move(end), snapshots.end);
  } catch (const FileError&) {
    snapshots.unavailable = "cross_check_error";
    snapshots.could_not_read = true;
  } catch (const std::exception&) {
    snapshots.unavailable = "cross_check_error";
  }
  return snapshots;
}

}  // namespace aggregate_power
