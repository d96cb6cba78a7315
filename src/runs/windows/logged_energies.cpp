// Counts the windows whose energies differ, and keeps the first.
#include "runs/windows/logged_energies.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text/characters.h"

namespace aggregate_power {

void LoggedEnergies::take(const WindowRow& row, const std::vector<std::string>& gpus) {
  constexpr double kMostDifference = 0.05;
  bool differs = false;
  for (std::size_t i = 0; i < row.gpus.size(); ++i) {
    const GpuWindow& gpu = row.gpus[i];
    if (!gpu.fault.empty() || !gpu.logged_energy_j) continue;
    compared_ = true;
    const double logged_j = *gpu.logged_energy_j;
    if (std::abs(logged_j - gpu.energy_j) <= kMostDifference * gpu.energy_j) continue;
    differs = true;
    if (!first_.empty()) continue;
    first_ = fmt::format("{}: GPU {}: {:.3f} J logged, {:.3f} J here", printable(row.name),
                         printable(gpus[i]), logged_j, gpu.energy_j);
  }
  differing_ += differs ? 1 : 0;
}

void LoggedEnergies::tell(const WindowReportFacts& facts, std::size_t windows,
                          std::vector<std::string>& notes) const {
  if (facts.has_logged && !compared_) {
    notes.push_back(fmt::format(
        "note: {}: its energies are not compared: no GPU that was measured has the number of one there",
        facts.windows_file));
  }
  if (differing_ == 0) return;
  notes.push_back(fmt::format(
      "note: {}: the energies in it differ by more than 5 % from those of the recording in {} of {} windows; the first is {}",
      facts.windows_file, differing_, windows, first_));
}

}  // namespace aggregate_power
