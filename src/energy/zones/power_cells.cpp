// Sums the power of all GPUs cell by cell.
#include "energy/zones/load_place.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace aggregate_power::energy {

PowerCells::PowerCells(std::span<const std::span<const Sample>> gpus, Window covered, double cell_s,
                       double gap_s)
    : covered_(covered),
      cell_s_(cell_s),
      watts_(static_cast<std::size_t>(covered.duration_s() / cell_s)) {
  std::vector<bool> unknown(watts_.size());
  for (const auto& samples : gpus) add(samples, gap_s, unknown);
  sum_up(unknown);
}

PowerCells::PowerCells(Window covered, double cell_s, std::vector<double> watts,
                       const std::vector<bool>& unknown)
    : covered_(covered), cell_s_(cell_s), watts_(std::move(watts)) {
  sum_up(unknown);
}

void PowerCells::sum_up(const std::vector<bool>& unknown) {
  joules_before_.assign(watts_.size() + 1, 0);
  unknown_before_.assign(watts_.size() + 1, 0);
  for (std::size_t i = 0; i < watts_.size(); ++i) {
    joules_before_[i + 1] = joules_before_[i] + watts_[i] * cell_s_;
    unknown_before_[i + 1] = unknown_before_[i] + (unknown[i] ? 1 : 0);
  }
}

PowerCells PowerCells::mirrored() const {
  std::vector<bool> unknown(size());
  for (std::size_t i = 0; i < size(); ++i) unknown[size() - 1 - i] = !is_known(i);
  // The last cell may end before the stretch does.
  const double end_unix_s = covered_.start_unix_s + static_cast<double>(size()) * cell_s_;
  return {
      {-end_unix_s, -covered_.start_unix_s}, cell_s_, {watts_.rbegin(), watts_.rend()}, unknown};
}

// Power is on straight lines between samples.
void PowerCells::add(std::span<const Sample> samples, double gap_s, std::vector<bool>& unknown) {
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    const double between_s = b.unix_s - a.unix_s;
    if (!(between_s > 0)) continue;
    const double first = (a.unix_s - covered_.start_unix_s) / cell_s_;
    const double last = (b.unix_s - covered_.start_unix_s) / cell_s_;
    const auto count = static_cast<double>(watts_.size());
    if (last <= 0 || first >= count) continue;
    const auto end = static_cast<std::size_t>(std::ceil(std::min(last, count)));
    for (auto cell = static_cast<std::size_t>(std::max(first, 0.0)); cell < end; ++cell) {
      const double from = std::max(first, static_cast<double>(cell));
      const double to = std::min(last, static_cast<double>(cell + 1));
      const double at = ((from + to) / 2 - first) / (last - first);
      watts_[cell] += (to - from) * (a.watts + at * (b.watts - a.watts));
      if (between_s > gap_s) unknown[cell] = true;
    }
  }
}

std::size_t PowerCells::cell_from(double unix_s) const {
  const double cell = std::ceil((unix_s - covered_.start_unix_s) / cell_s_ - 0.5);
  return static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(watts_.size())));
}

std::optional<double> PowerCells::mean_w(Window stretch) const {
  const std::size_t begin = cell_from(stretch.start_unix_s);
  const std::size_t end = cell_from(stretch.end_unix_s);
  if (begin >= end || unknown_before_[end] > unknown_before_[begin]) return std::nullopt;
  return (joules_before_[end] - joules_before_[begin]) /
         (cell_s_ * static_cast<double>(end - begin));
}

}  // namespace aggregate_power::energy
