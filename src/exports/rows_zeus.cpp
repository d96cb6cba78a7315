// Lays runs and windows out as windows of one log, which `windows` writes too.
#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/ascii.h"
#include "exports/run_rows.h"
#include "results/window_report.h"

namespace aggregate_power {
namespace {

struct ZeusLine {
  std::string name;
  Window window;
  std::vector<std::pair<std::string, std::optional<double>>> gpu_energies_j;
};

bool has_energy(const ZeusLine& line) {
  return line.window.start_unix_s > 0 &&
         std::ranges::any_of(line.gpu_energies_j,
                             [](const auto& gpu) { return gpu.second.has_value(); });
}

std::vector<ZeusLine> zeus_lines(const Exported& exported) {
  std::vector<ZeusLine> lines;
  for (const ExportedRun& run : exported.runs) {
    ZeusLine line{run.name, {run.run.start_unix_s, run.end_unix_s()}, {}};
    for (const auto& [gpu, energy_j] : run.run.gpu_energies_j) {
      line.gpu_energies_j.emplace_back(gpu, energy_j);
    }
    lines.push_back(std::move(line));
  }
  for (const ExportedWindows& file : exported.windows) {
    for (const ExportedWindow& window : file.windows) {
      lines.push_back({window.name, window.window, window.gpu_energies_j});
    }
  }
  return lines;
}

bool zeus_less(const std::string& a, const std::string& b) {
  if (!is_ascii_digits(a) || !is_ascii_digits(b)) return false;  // they stay as they are
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// The GPUs of all lines, in the order of their numbers.
std::vector<std::string> zeus_gpus(const std::vector<ZeusLine>& lines) {
  std::vector<std::string> gpus;
  bool are_same = true;
  for (const ZeusLine& line : lines) {
    const std::size_t known = gpus.size();
    for (const auto& [gpu, energy_j] : line.gpu_energies_j) {
      if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
    }
    are_same &= known == 0 || (gpus.size() == known && line.gpu_energies_j.size() == known);
  }
  if (!are_same && !std::ranges::all_of(gpus, is_ascii_digits)) {
    throw Error(
        "--format zeus: its columns are numbers of GPUs, but these runs have different GPUs with other names: export them one by one");
  }
  std::ranges::stable_sort(gpus, zeus_less);
  return gpus;
}

WindowRow zeus_row(const ZeusLine& line, const std::vector<std::string>& gpus) {
  WindowRow row;
  row.name = line.name;
  row.window = line.window;
  for (const std::string& gpu : gpus) {
    const auto found = std::ranges::find_if(line.gpu_energies_j,
                                            [&](const auto& one) { return one.first == gpu; });
    GpuWindow cell;
    const bool is_known = found != line.gpu_energies_j.end() && found->second;
    if (is_known) cell.energy_j = *found->second;
    if (!is_known) cell.fault = "not measured";
    row.gpus.push_back(std::move(cell));
  }
  return row;
}

}  // namespace

std::string rows_zeus(const Exported& exported, std::vector<std::string>& warnings) {
  std::vector<ZeusLine> lines = zeus_lines(exported);
  const std::size_t all = lines.size();
  std::erase_if(lines, [](const ZeusLine& line) { return !has_energy(line); });
  if (lines.size() < all) {
    warnings.push_back(fmt::format(
        "{} of {} left out: not valid, or without the energy of single GPUs or the time of the window",
        all - lines.size(), all));
  }
  WindowReportFacts facts;
  facts.gpus = zeus_gpus(lines);
  const auto report = window_report(WindowFormat::zeus, facts);
  std::string text = report->head();
  for (const ZeusLine& line : lines) report->add(zeus_row(line, facts.gpus), text);
  return text + report->foot();
}

}  // namespace aggregate_power
