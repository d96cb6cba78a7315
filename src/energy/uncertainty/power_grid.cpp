// Lays out the cells.
#include "energy/uncertainty/power_grid.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {
namespace {

constexpr std::size_t kMostCells = 20000;

}  // namespace

PowerGrid::PowerGrid(const PowerQuestion& question) {
  const double duration_s = question.window.duration_s();
  const double wanted_s =
      std::max(std::clamp(question.window_s / 10, 0.05, 0.1), duration_s / kMostCells);
  cell_s_ = duration_s / std::ceil(duration_s / wanted_s);
  const PlacedReading& first = question.readings.front();
  const double begin_unix_s =
      std::min(first.end_unix_s - first.age_s - question.window_s, question.window.start_unix_s);
  const double end_unix_s =
      std::max(question.readings.back().end_unix_s, question.window.end_unix_s);
  const double before = std::ceil((question.window.start_unix_s - begin_unix_s) / cell_s_ + 1e-6);
  first_unix_s_ = question.window.start_unix_s - before * cell_s_;
  const auto cells =
      static_cast<std::size_t>(std::ceil((end_unix_s - first_unix_s_) / cell_s_ + 1e-6));

  walk_w2_.resize(cells);
  fast_w2_.resize(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const bool active = is_active(question, cell);
    const PowerPace& own = active ? question.pace : question.still;
    const PowerPace& next =
        active && is_active(question, cell + 1) ? question.pace : question.still;
    fast_w2_[cell] = std::max(own.fast_w2_s / cell_s_, 1e-4);
    walk_w2_[cell] = std::max(next.walk_w2_per_s * cell_s_, 1e-6);
  }
  for (const PowerJump& jump : question.jumps) {
    // From the cell's middle to the next one's, so that a jump can be at an edge of cells.
    const double from = std::round((jump.from_unix_s - first_unix_s_) / cell_s_ - 1);
    const double to = std::round((jump.to_unix_s - first_unix_s_) / cell_s_);
    const auto begin = static_cast<std::size_t>(std::max(0.0, from));
    const auto end = static_cast<std::size_t>(std::clamp(to, 0.0, static_cast<double>(cells)));
    const double more = jump.height_w * jump.height_w / static_cast<double>(end - begin);
    for (std::size_t cell = begin; cell < end; ++cell) {
      walk_w2_[cell] = std::max(walk_w2_[cell], more);
    }
  }
}

double PowerGrid::place(double unix_s) const {
  return std::clamp((unix_s - first_unix_s_) / cell_s_, 0.0, static_cast<double>(cells()));
}

PowerGrid::Cells PowerGrid::cells_in(Window stretch) const {
  return {static_cast<std::size_t>(place(stretch.start_unix_s)),
          static_cast<std::size_t>(std::ceil(place(stretch.end_unix_s)))};
}

void PowerGrid::add_seconds(Window stretch, double factor, std::size_t first_cell,
                            std::span<double> into) const {
  const double from = place(stretch.start_unix_s);
  const double to = place(stretch.end_unix_s);
  for (auto cell = static_cast<std::size_t>(from); static_cast<double>(cell) < to; ++cell) {
    const double begin = std::max(from, static_cast<double>(cell));
    const double end = std::min(to, static_cast<double>(cell + 1));
    into[cell - first_cell] += (end - begin) * cell_s_ * factor;
  }
}

bool PowerGrid::is_active(const PowerQuestion& question, std::size_t cell) const {
  const double middle_unix_s = first_unix_s_ + (static_cast<double>(cell) + 0.5) * cell_s_;
  return question.active.contains(middle_unix_s);
}

}  // namespace aggregate_power
