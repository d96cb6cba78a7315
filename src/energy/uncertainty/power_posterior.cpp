// Lays readings on the grid and conditions energies on them.
#include "energy/uncertainty/uncertainty.h"

#include <algorithm>

namespace aggregate_power {
namespace {

// An age is known to be in a stretch; the mean over it is taken at so many places.
constexpr int kAges = 4;
constexpr std::size_t kSlopesAround = 5;  // on each side of a reading
// Nothing is known about the level.
constexpr double kVagueVariance_w2 = 1e8;

// How much a reading would differ if its stretch were a second later, from its neighbours.
double slope_w_per_s(std::span<const PlacedReading> readings, std::size_t i) {
  const PlacedReading& before = readings[i > 0 ? i - 1 : 0];
  const PlacedReading& after = readings[std::min(i + 1, readings.size() - 1)];
  const double span_s = after.end_unix_s - before.end_unix_s;
  return span_s > 0 ? (after.watts - before.watts) / span_s : 0;
}

// The root mean square of those around a reading. With its own, a reading at a peak, where the
// slope is zero, would count more than others.
double slope_around_w_per_s(std::span<const PlacedReading> readings, std::size_t i) {
  const std::size_t first = i - std::min(i, kSlopesAround);
  const std::size_t end = std::min(i + kSlopesAround + 1, readings.size());
  double squares = 0;
  for (std::size_t k = first; k < end; ++k) squares += std::pow(slope_w_per_s(readings, k), 2);
  return std::sqrt(squares / static_cast<double>(end - first));
}

// Of a reading, a variance: digits, and the unknown age where power changes.
double error_of(const PowerQuestion& question, std::size_t i) {
  const PlacedReading& reading = question.readings[i];
  // A window that is longer than known takes in power from elsewhere, about as a later one does.
  const double unknown_s = reading.age_s / std::sqrt(12.0);
  const double age_w = slope_around_w_per_s(question.readings, i) * unknown_s;
  const double floor_w = 0.01 + 2e-4 * reading.watts;
  // The fast part differs between the stretch and its neighbours.
  const double fast_w2 = question.pace.fast_w2_s * std::min(reading.age_s, question.window_s) /
                         (3 * question.window_s * question.window_s);
  return age_w * age_w + floor_w * floor_w + fast_w2;
}

}  // namespace

PowerPosterior::PowerPosterior(const PowerQuestion& question) : grid_(question) {
  lay_readings(question);
  take_differences();
  solve();
}

// The weights of cells in a reading are the mean over its possible ages.
void PowerPosterior::lay_readings(const PowerQuestion& question) {
  const double window_s = question.window_s;
  rows_.resize(question.readings.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const PlacedReading& reading = question.readings[i];
    Row& row = rows_[i];
    row.watts = reading.watts;
    row.middle_unix_s = reading.end_unix_s - (reading.age_s + window_s) / 2;
    row.error_w2 = error_of(question, i);
    row.cells = grid_.cells_in({reading.end_unix_s - reading.age_s - window_s, reading.end_unix_s});
    row.place = weights_.size();
    weights_.resize(row.place + row.cells.end - row.cells.first);
    const std::span<double> weights = std::span(weights_).subspan(row.place);
    for (int age = 0; age < kAges; ++age) {
      const double end_unix_s = reading.end_unix_s - reading.age_s * (age + 0.5) / kAges;
      grid_.add_seconds({end_unix_s - window_s, end_unix_s}, 1 / (window_s * kAges),
                        row.cells.first, weights);
    }
    for (const double weight : weights) row.weight += weight;
  }
}

void PowerPosterior::add_weights(const Row& row, double factor, std::size_t first_cell,
                                 std::span<Share> into) const {
  for (std::size_t cell = row.cells.first; cell < row.cells.end; ++cell) {
    into[cell - first_cell].fast += factor * weights_[row.place + cell - row.cells.first];
  }
}

// A step counts in all cells after it.
void PowerPosterior::add_steps(std::span<Share> shares) {
  double after = 0;
  for (auto share = shares.rbegin(); share != shares.rend(); ++share) {
    share->step = after;
    after += share->fast;
  }
}

void PowerPosterior::take_differences() {
  std::optional<std::size_t> base;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.base = i;
    row.share = shares_.size();
    differences_w_.push_back(row.watts);
    if (row.weight == 0) continue;  // it is beyond the grid
    row.shared = {0, row.cells.end};
    if (base) {
      const Row& before = rows_[*base];
      row.base = *base;
      row.ratio = row.weight / before.weight;
      row.shared = {std::min(row.cells.first, before.cells.first),
                    std::max(row.cells.end, before.cells.end)};
      differences_w_[i] -= row.ratio * before.watts;
    } else {
      row.level = row.weight;
    }
    shares_.resize(row.share + row.shared.end - row.shared.first);
    const std::span<Share> shares = std::span(shares_).subspan(row.share);
    add_weights(row, 1, row.shared.first, shares);
    if (base) add_weights(rows_[*base], -row.ratio, row.shared.first, shares);
    add_steps(shares);
    base = i;
  }
}

// Of two differences, from errors of readings that are in both.
double PowerPosterior::shared_error_w2(std::size_t later, std::size_t earlier) const {
  const Row& a = rows_[later];
  const Row& b = rows_[earlier];
  const double of_base_w2 = rows_[a.base].error_w2;
  if (later == earlier) return a.error_w2 + a.ratio * a.ratio * of_base_w2;
  if (a.base == earlier) return -a.ratio * of_base_w2;
  return a.base == b.base ? a.ratio * b.ratio * of_base_w2 : 0;
}

// How far apart differences may be that have a cell or a reading in common.
std::size_t PowerPosterior::reach() const {
  std::vector<std::size_t> ends;  // of all up to each
  std::size_t most = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    const auto first = std::ranges::upper_bound(ends, row.shared.first);
    most = std::max({most, static_cast<std::size_t>(ends.end() - first), i - row.base});
    ends.push_back(std::max(row.shared.end, ends.empty() ? 0 : ends.back()));
  }
  return most;
}

PowerPosterior::CellShares PowerPosterior::shares_of(const Row& row) const {
  return {row.shared, std::span(shares_).subspan(row.share, row.shared.end - row.shared.first)};
}

// Both parts, each times its variance.
std::vector<PowerPosterior::Share> PowerPosterior::scaled(const CellShares& shares) const {
  std::vector<Share> found(shares.values.begin(), shares.values.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].fast *= grid_.fast_w2(shares.cells.first + i);
    found[i].step *= grid_.walk_w2(shares.cells.first + i);
  }
  return found;
}

double PowerPosterior::product(const CellShares& one, const CellShares& other) {
  const std::size_t first = std::max(one.cells.first, other.cells.first);
  const std::size_t end = std::min(one.cells.end, other.cells.end);
  double fast = 0;
  double step = 0;
  for (std::size_t cell = first; cell < end; ++cell) {
    const Share& a = one.values[cell - one.cells.first];
    const Share& b = other.values[cell - other.cells.first];
    fast += a.fast * b.fast;
    step += a.step * b.step;
  }
  return fast + step;
}

void PowerPosterior::solve() {
  const std::size_t most = reach();
  covariance_ = BandMatrix(rows_.size(), most);
  double level = 0;
  std::size_t first = 0;  // the row that depends on the level
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::vector<Share> times_variance = scaled(shares_of(rows_[i]));
    for (std::size_t k = i - std::min(i, most); k <= i; ++k) {
      covariance_.at(i, k) =
          product({rows_[i].shared, times_variance}, shares_of(rows_[k])) + shared_error_w2(i, k);
    }
    covariance_.at(i, i) += rows_[i].level * rows_[i].level * kVagueVariance_w2;
    if (rows_[i].level > 0) {
      level = rows_[i].level;
      first = i;
    }
  }
  covariance_.factor();
  std::vector<double> solved = differences_w_;
  covariance_.solve(solved);
  double misfit = covariance_.log_determinant() - std::log(kVagueVariance_w2);
  for (std::size_t i = 0; i < solved.size(); ++i) misfit += solved[i] * differences_w_[i];
  // Any level is as good as another.
  misfit -= std::pow(level * solved[first], 2) * kVagueVariance_w2;
  log_evidence_ = -misfit / 2;
}

// How many seconds of each reading are in the energy under straight lines between their middles.
std::vector<double> PowerPosterior::line_of(Window stretch) const {
  std::vector<double> seconds(rows_.size());
  const Row* left = nullptr;
  double from_unix_s = stretch.start_unix_s;
  const auto share = [&](const Row& row) -> double& { return seconds[&row - rows_.data()]; };
  for (const Row& right : rows_) {
    if (right.weight == 0 || (left && right.middle_unix_s <= left->middle_unix_s)) continue;
    const double to_unix_s = std::min(right.middle_unix_s, stretch.end_unix_s);
    if (to_unix_s > from_unix_s) {
      const double length_s = to_unix_s - from_unix_s;
      double rise = 1;
      if (left) {
        rise = ((from_unix_s + to_unix_s) / 2 - left->middle_unix_s) /
               (right.middle_unix_s - left->middle_unix_s);
        share(*left) += (1 - rise) * length_s;
      }
      share(right) += rise * length_s;
      from_unix_s = to_unix_s;
    }
    left = &right;
  }
  if (left) share(*left) += std::max(0.0, stretch.end_unix_s - from_unix_s);
  for (const Row& row : rows_) {
    if (row.weight > 0) share(row) /= row.weight;
  }
  return seconds;
}

PowerPosterior::Energy PowerPosterior::energy(Window stretch) const {
  const std::vector<double> line_s = line_of(stretch);
  const PowerGrid::Cells all = {0, grid_.cells()};
  std::vector<double> seconds(grid_.cells());
  grid_.add_seconds(stretch, 1, 0, seconds);
  std::vector<Share> error(grid_.cells());
  for (std::size_t cell = 0; cell < all.end; ++cell) error[cell].fast = seconds[cell];
  Energy energy;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    add_weights(rows_[i], -line_s[i], 0, error);
    energy.joules += line_s[i] * rows_[i].watts;
    energy.variance_j2 += line_s[i] * line_s[i] * rows_[i].error_w2;
  }
  add_steps(error);
  const std::vector<Share> times_variance = scaled({all, error});
  energy.variance_j2 += product({all, times_variance}, {all, error});
  std::vector<double> covariances;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    covariances.push_back(product({all, times_variance}, shares_of(row)) -
                          line_s[i] * row.error_w2 +
                          row.ratio * line_s[row.base] * rows_[row.base].error_w2);
  }
  std::vector<double> solved = covariances;
  covariance_.solve(solved);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    energy.joules += solved[i] * differences_w_[i];
    energy.variance_j2 -= solved[i] * covariances[i];
  }
  return energy;
}

// ---- Cholesky's method without square roots, inside the band.

void BandMatrix::factor() {
  std::vector<double> scaled(reach_ + 1);
  for (std::size_t j = 0; j < size_; ++j) {
    double* const pivot = &columns_[j * (reach_ + 1)];
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    for (std::size_t i = 1; i <= below; ++i) {
      scaled[i] = pivot[i];
      pivot[i] /= pivot[0];
    }
    for (std::size_t i = 1; i <= below; ++i) {
      if (pivot[i] == 0) continue;
      double* const target = &columns_[(j + i) * (reach_ + 1)];
      const double factor = pivot[i];
      for (std::size_t k = i; k <= below; ++k) target[k - i] -= factor * scaled[k];
    }
  }
}

void BandMatrix::solve(std::span<double> right) const {
  for (std::size_t j = 0; j < size_; ++j) {
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    for (std::size_t i = 1; i <= below; ++i) right[j + i] -= column(j)[i] * right[j];
  }
  for (std::size_t j = size_; j-- > 0;) {
    const std::size_t below = std::min(reach_, size_ - 1 - j);
    double sum = right[j] / column(j)[0];
    for (std::size_t i = 1; i <= below; ++i) sum -= column(j)[i] * right[j + i];
    right[j] = sum;
  }
}

double BandMatrix::log_determinant() const {
  double sum = 0;
  for (std::size_t j = 0; j < size_; ++j) sum += std::log(column(j)[0]);
  return sum;
}

// ---- Lays out the cells.

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
