// Builds and solves the equations of the posterior.
#include "energy/power_posterior.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {
namespace {

// An age is known to be in a stretch; the mean over it is taken at so many places.
constexpr int kAges = 4;
// Nothing is known about the power before the first cell.
constexpr double kVagueVariance_w2 = 1e8;
constexpr std::size_t kMostCells = 20000;

// How much a reading would differ if its stretch were a second later, from its neighbours.
double slope_w_per_s(std::span<const PlacedReading> readings, std::size_t i) {
  const PlacedReading& before = readings[i > 0 ? i - 1 : 0];
  const PlacedReading& after = readings[std::min(i + 1, readings.size() - 1)];
  const double span_s = after.end_unix_s - before.end_unix_s;
  return span_s > 0 ? (after.watts - before.watts) / span_s : 0;
}

}  // namespace

PowerPosterior::PowerPosterior(const Question& question) {
  lay_grid(question);
  solve(question);
}

void PowerPosterior::lay_grid(const Question& question) {
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
  cells_ = static_cast<std::size_t>(std::ceil((end_unix_s - first_unix_s_) / cell_s_ + 1e-6));
}

// The seconds of each cell in a stretch.
std::vector<PowerPosterior::Weight> PowerPosterior::share_of(double from_unix_s,
                                                             double to_unix_s) const {
  const double last = static_cast<double>(cells_);
  const double from = std::clamp((from_unix_s - first_unix_s_) / cell_s_, 0.0, last);
  const double to = std::clamp((to_unix_s - first_unix_s_) / cell_s_, 0.0, last);
  std::vector<Weight> weights;
  for (auto cell = static_cast<std::size_t>(from); static_cast<double>(cell) < to; ++cell) {
    const double begin = std::max(from, static_cast<double>(cell));
    const double end = std::min(to, static_cast<double>(cell + 1));
    weights.push_back({cell, (end - begin) * cell_s_});
  }
  return weights;
}

// The share of each cell in a reading, as the mean over its possible ages.
std::vector<PowerPosterior::Weight> PowerPosterior::share_of(const PlacedReading& reading,
                                                             double window_s) const {
  std::vector<Weight> sum;
  for (int i = 0; i < kAges; ++i) {
    const double end_unix_s = reading.end_unix_s - reading.age_s * (i + 0.5) / kAges;
    for (const Weight& weight : share_of(end_unix_s - window_s, end_unix_s)) {
      auto at = std::ranges::find(sum, weight.cell, &Weight::cell);
      if (at == sum.end()) at = sum.insert(sum.end(), {weight.cell, 0});
      at->weight += weight.weight / (window_s * kAges);
    }
  }
  return sum;
}

bool PowerPosterior::is_active(const Question& question, std::size_t cell) const {
  const double middle_unix_s = first_unix_s_ + (static_cast<double>(cell) + 0.5) * cell_s_;
  return question.active.contains(middle_unix_s);
}

// Of the change of the slow part from each cell to the next.
std::vector<double> PowerPosterior::walk_variances(const Question& question) const {
  std::vector<double> variances(cells_);
  for (std::size_t cell = 0; cell < cells_; ++cell) {
    const bool active = is_active(question, cell) && is_active(question, cell + 1);
    const PowerPace& pace = active ? question.pace : question.still;
    variances[cell] = std::max(pace.walk_w2_per_s * cell_s_, 1e-6);
  }
  for (const PowerJump& jump : question.jumps) {
    // From the cell's middle to the next one's, so that a jump can be at an edge of cells.
    const double from = (jump.from_unix_s - first_unix_s_) / cell_s_ - 1;
    const double to = (jump.to_unix_s - first_unix_s_) / cell_s_;
    const auto first = static_cast<std::size_t>(std::max(0.0, std::round(from)));
    const auto end = static_cast<std::size_t>(std::clamp(std::round(to), 0.0, double(cells_)));
    if (end <= first) continue;
    const double more = jump.height_w * jump.height_w / static_cast<double>(end - first);
    for (std::size_t cell = first; cell < end; ++cell) {
      variances[cell] = std::max(variances[cell], more);
    }
  }
  return variances;
}

// Of the fast part in each cell.
std::vector<double> PowerPosterior::fast_variances(const Question& question) const {
  std::vector<double> variances(cells_);
  for (std::size_t cell = 0; cell < cells_; ++cell) {
    const PowerPace& pace = is_active(question, cell) ? question.pace : question.still;
    variances[cell] = std::max(pace.fast_w2_s / cell_s_, 1e-4);
  }
  return variances;
}

// Of each reading: digits, and the unknown age where power changes.
std::vector<double> PowerPosterior::noise_variances(const Question& question) const {
  std::vector<double> variances;
  for (std::size_t i = 0; i < question.readings.size(); ++i) {
    const PlacedReading& reading = question.readings[i];
    // A window that is longer than known takes in power from elsewhere, about as a later one does.
    const double unknown_s = std::hypot(reading.age_s / std::sqrt(12.0),
                                        question.window_uncertainty * question.window_s);
    const double age_w = slope_w_per_s(question.readings, i) * unknown_s;
    const double floor_w = 0.01 + 2e-4 * reading.watts;
    // The fast part differs between the stretch and its neighbours.
    const double fast_w2 = question.pace.fast_w2_s * std::min(reading.age_s, question.window_s) /
                           (3 * question.window_s * question.window_s);
    variances.push_back(age_w * age_w + floor_w * floor_w + fast_w2);
  }
  return variances;
}

// The shares of the cells in each reading.
std::vector<std::vector<PowerPosterior::Weight>> PowerPosterior::shares(
    const Question& question) const {
  std::vector<std::vector<Weight>> rows;
  for (const PlacedReading& reading : question.readings) {
    rows.push_back(share_of(reading, question.window_s));
    std::ranges::sort(rows.back(), {}, &Weight::cell);
  }
  return rows;
}

// Unknowns of a cell: 2 * cell is the slow part, 2 * cell + 1 the fast part.
void PowerPosterior::add_reading(std::span<const Weight> row, double watts, double variance) {
  for (const Weight& one : row) {
    for (const std::size_t at : {2 * one.cell, 2 * one.cell + 1}) {
      solution_[at] += one.weight * watts / variance;
      for (const Weight& other : row) {
        for (const std::size_t column : {2 * other.cell, 2 * other.cell + 1}) {
          if (column <= at) matrix_.at(at, column) += one.weight * other.weight / variance;
        }
      }
    }
  }
}

void PowerPosterior::solve(const Question& question) {
  const std::vector<double> walk = walk_variances(question);
  const std::vector<double> fast = fast_variances(question);
  const std::vector<double> noise = noise_variances(question);
  const std::vector<std::vector<Weight>> rows = shares(question);
  std::size_t reach = 1;  // in cells
  for (const std::vector<Weight>& row : rows) {
    if (!row.empty()) reach = std::max(reach, row.back().cell - row.front().cell);
  }
  matrix_ = BandMatrix(2 * cells_, 2 * reach + 1);
  solution_.assign(2 * cells_, 0);
  matrix_.at(0, 0) += 1 / kVagueVariance_w2;
  for (std::size_t cell = 0; cell < cells_; ++cell) {
    matrix_.at(2 * cell + 1, 2 * cell + 1) += 1 / fast[cell];
    if (cell + 1 == cells_) break;
    matrix_.at(2 * cell, 2 * cell) += 1 / walk[cell];
    matrix_.at(2 * cell + 2, 2 * cell + 2) += 1 / walk[cell];
    matrix_.at(2 * cell + 2, 2 * cell) -= 1 / walk[cell];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add_reading(rows[i], question.readings[i].watts, noise[i]);
  }
  matrix_.factor();
  matrix_.solve(solution_);

  // Squares of all that had to be assumed, each over its variance.
  double misfit = matrix_.log_determinant();
  const auto add = [&](double deviation, double variance) {
    misfit += deviation * deviation / variance + std::log(variance);
  };
  for (std::size_t cell = 0; cell < cells_; ++cell) {
    add(solution_[2 * cell + 1], fast[cell]);
    if (cell + 1 < cells_) add(solution_[2 * cell + 2] - solution_[2 * cell], walk[cell]);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double left_w = question.readings[i].watts;
    for (const Weight& weight : rows[i]) {
      left_w -= weight.weight * (solution_[2 * weight.cell] + solution_[2 * weight.cell + 1]);
    }
    add(left_w, noise[i]);
    worst_residual_ = std::max(worst_residual_, std::abs(left_w) / std::sqrt(noise[i]));
  }
  log_evidence_ = -misfit / 2;
}

PowerPosterior::Energy PowerPosterior::energy(Window stretch) const {
  std::vector<double> solved(2 * cells_);
  const std::vector<Weight> weights = share_of(stretch.start_unix_s, stretch.end_unix_s);
  Energy energy;
  for (const Weight& weight : weights) {
    const std::size_t slow = 2 * weight.cell;
    energy.joules += weight.weight * (solution_[slow] + solution_[slow + 1]);
    solved[slow] = solved[slow + 1] = weight.weight;
  }
  matrix_.solve(solved);
  for (const Weight& weight : weights) {
    const std::size_t slow = 2 * weight.cell;
    energy.variance_j2 += weight.weight * (solved[slow] + solved[slow + 1]);
  }
  return energy;
}

double PowerPosterior::joules(Window stretch) const {
  double sum = 0;
  for (const Weight& weight : share_of(stretch.start_unix_s, stretch.end_unix_s)) {
    sum += weight.weight * (solution_[2 * weight.cell] + solution_[2 * weight.cell + 1]);
  }
  return sum;
}

double PowerPosterior::watts_at(double unix_s) const {
  const double place = (unix_s - first_unix_s_) / cell_s_;
  const auto cell =
      static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(cells_ - 1)));
  return solution_[2 * cell] + solution_[2 * cell + 1];
}

}  // namespace aggregate_power
