// Explains the readings by the requests' phases, in two ways.
#include "energy/shares/phases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/energy/recording_summary.h"
#include "core/model/code_descriptions.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMeanOfAges = 6;
constexpr std::size_t kLeastReadings = 20;
constexpr std::size_t kMostRows = 20000;  // more are joined, which loses next to nothing
constexpr double kLeastSpread = 0.02;     // over the mean
constexpr double kMostCondition = 6;
constexpr double kLeastR2 = 0.5;
constexpr double kMostSlopeError = 0.25;
constexpr double kMostStateError = 0.1;

// What the requests did while the readings were averaged, per second, and the readings.
struct Explained {
  SensorModel sensor;
  std::vector<Activity> activities = {};
  std::vector<double> watts = {};
  double period_s = 0;
};

double ticks_period_s(std::span<const Sample> readings) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    steps.push_back(readings[i].unix_s - readings[i - 1].unix_s);
  }
  return upper_median(std::move(steps));
}

// Replaces each `count` rows by their mean.
void join(Explained& rows, std::size_t count) {
  std::size_t joined = 0;
  for (std::size_t i = 0; i + count <= rows.watts.size(); i += count, ++joined) {
    Activity activity;
    double watts = 0;
    for (std::size_t k = i; k < i + count; ++k) {
      activity += rows.activities[k];
      watts += rows.watts[k];
    }
    rows.activities[joined] = activity / static_cast<double>(count);
    rows.watts[joined] = watts / static_cast<double>(count);
  }
  rows.activities.resize(joined);
  rows.watts.resize(joined);
  rows.period_s *= static_cast<double>(count);
}

// Those whose stretch is inside the window, whatever their age, for any of these sensors.
std::vector<Sample> readings_inside(const PhaseQuestion& question) {
  double oldest_s = 0;
  for (const SensorModel& sensor : question.sensors) {
    const double window_s = sensor.window_s * (1 + 3 * sensor.window_uncertainty);
    const double delay_s = sensor.delay_s + 3 * sensor.delay_uncertainty_s;
    oldest_s = std::max(oldest_s, sensor.refresh_s + delay_s + window_s);
  }
  std::vector<Sample> inside;
  for (const Sample& reading : question.readings) {
    if (reading.unix_s - oldest_s >= question.window.start_unix_s &&
        reading.unix_s <= question.window.end_unix_s) {
      inside.push_back(reading);
    }
  }
  return inside;
}

Explained explained_by(const PhaseQuestion& question, const PhaseActivity& activity,
                       const SensorModel& sensor) {
  Explained rows{sensor};
  rows.period_s = ticks_period_s(question.readings);
  std::array<PhaseActivity::Place, kMeanOfAges> starts;
  std::array<PhaseActivity::Place, kMeanOfAges> ends;
  for (const Sample& reading : question.readings) {
    Activity sum;
    for (std::size_t age = 0; age < kMeanOfAges; ++age) {
      const double aged_s = sensor.refresh_s * (static_cast<double>(age) + 0.5) / kMeanOfAges;
      const double end_s = reading.unix_s - sensor.delay_s - aged_s;
      sum +=
          activity.until(end_s, ends[age]) - activity.until(end_s - sensor.window_s, starts[age]);
    }
    rows.activities.push_back(sum / (kMeanOfAges * sensor.window_s));
    rows.watts.push_back(reading.watts);
  }
  const std::size_t count = (rows.watts.size() + kMostRows - 1) / kMostRows;
  if (count > 1) join(rows, count);
  return rows;
}

// A model's columns, each with what it multiplies in the window.
struct Design {
  PhaseModel model = PhaseModel::counts;
  std::vector<double Activity::*> columns;  // null: constant
};

double of(const Activity& activity, double Activity::*column) {
  return column == nullptr ? 1 : activity.*column;
}

bool ever(const Explained& rows, double Activity::*column) {
  return std::ranges::any_of(rows.activities,
                             [&](const Activity& each) { return each.*column > 1e-9; });
}

Design design_of(PhaseModel model, const Explained& rows) {
  if (model == PhaseModel::counts) {
    return {model, {nullptr, &Activity::prefills, &Activity::decodes}};
  }
  Design design{model, {&Activity::prefill_s, &Activity::decode_s}};
  for (const auto column : {&Activity::idle_s, &Activity::further_decodes}) {
    if (ever(rows, column)) design.columns.push_back(column);
  }
  return design;
}

struct ModelFit {
  Design design;
  SensorModel sensor = {};
  NonNegativeFit fit = {.is_singular = true};
  double condition = 0;
  double adjusted_r2 = -1;  // what more columns explain by chance is taken off
  // Of this sensor, by what is known of it beforehand and by the readings.
  double log_weight = -std::numeric_limits<double>::infinity();

  std::optional<std::size_t> place(double Activity::*column) const {
    const auto found = std::ranges::find(design.columns, column);
    if (found == design.columns.end()) return std::nullopt;
    return static_cast<std::size_t>(found - design.columns.begin());
  }
};

std::size_t lags_of(const Explained& rows) {
  const double seen_s = rows.sensor.window_s + rows.sensor.refresh_s;
  return static_cast<std::size_t>(
      std::ceil(seen_s / rows.period_s + std::cbrt(static_cast<double>(rows.watts.size()))));
}

FitRows rows_of(const Design& design, const Explained& explained) {
  FitRows rows{design.columns.size(), {}, explained.watts};
  for (const Activity& activity : explained.activities) {
    for (const auto column : design.columns) rows.x.push_back(of(activity, column));
  }
  return rows;
}

// The fit for a sensor that is known; without errors.
ModelFit fit_model(const Design& design, const Explained& explained, double log_prior) {
  const FitRows rows = rows_of(design, explained);
  ModelFit result{
      .design = design, .sensor = explained.sensor, .fit = fit_non_negative(rows, std::nullopt)};
  const auto n = static_cast<double>(rows.size());
  const double freedom = std::max(1.0, n - static_cast<double>(rows.columns));
  if (result.fit.is_singular) return result;
  result.adjusted_r2 = 1 - (1 - result.fit.r2) * (n - 1) / freedom;
  result.log_weight = log_prior - 0.5 * n * std::log(std::max(1e-12, 1 - result.fit.r2));
  return result;
}

// One state follows from the others, and a constant from nothing.
double condition_of(const Design& design, const FitRows& rows) {
  double Activity::*const dependent =
      design.model == PhaseModel::counts ? nullptr : &Activity::decode_s;
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < design.columns.size(); ++i) {
    if (design.columns[i] != dependent) varying.push_back(i);
  }
  return correlation_condition(rows, varying);
}

// ---- When there is no answer

double spread_of(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return mean > 0 ? std::sqrt(squares / static_cast<double>(values.size())) / mean : 0;
}

// From the first reading to the last one that show about as many requests as half of all do: a
// closed loop without its rise and its fall.
bool is_constant_concurrency(std::span<const double> in_flight) {
  const double middle = upper_median(std::vector<double>(in_flight.begin(), in_flight.end()));
  const auto is_high = [&](double count) { return count >= (1 - kLeastSpread) * middle; };
  const auto first = std::ranges::find_if(in_flight, is_high);
  auto last = in_flight.end();
  while (last != first && !is_high(*(last - 1))) --last;
  return middle > 0 && spread_of({first, last}) < kLeastSpread;
}

bool never_varies(const Explained& rows) {
  std::vector<double> prefills;
  std::vector<double> decodes;
  std::vector<double> in_flight;
  for (const Activity& activity : rows.activities) {
    prefills.push_back(activity.prefills);
    decodes.push_back(activity.decodes);
    in_flight.push_back(activity.prefills + activity.decodes);
  }
  return spread_of(prefills) < kLeastSpread || spread_of(decodes) < kLeastSpread ||
         is_constant_concurrency(in_flight);
}

bool overlaps(const RequestTimes& request, Window window) {
  return request.has_times() && request.end_s > window.start_unix_s &&
         request.start_s < window.end_unix_s;
}

double first_token_of(const RequestTimes& request) {
  if (std::isnan(request.first_token_s)) return request.end_s;
  return std::clamp(request.first_token_s, request.start_s, request.end_s);
}

// The mean length of a phase that a request has.
bool is_shorter_than_refresh(const PhaseQuestion& question, double refresh_s) {
  double prefill_s = 0;
  double decode_s = 0;
  double requests = 0;
  for (const RequestTimes& request : question.requests) {
    if (!overlaps(request, question.window) || request.failed) continue;
    prefill_s += first_token_of(request) - request.start_s;
    decode_s += request.end_s - first_token_of(request);
    ++requests;
  }
  return std::min(prefill_s, decode_s) < refresh_s * requests;
}

bool lacks_first_tokens(const PhaseQuestion& question) {
  return std::ranges::any_of(question.requests, [&](const RequestTimes& request) {
    return overlaps(request, question.window) && !request.failed &&
           std::isnan(request.first_token_s);
  });
}

// Such stamps are cut by an unknown part of a second, which may be the same for all.
bool has_whole_seconds(std::span<const Sample> readings) {
  return std::ranges::all_of(
      readings, [](const Sample& reading) { return reading.unix_s == std::floor(reading.unix_s); });
}

// What no model can explain.
std::vector<std::string> refused_at_once(const PhaseQuestion& question, const Explained& rows) {
  std::vector<std::string> refused;
  if (lacks_first_tokens(question)) refused.push_back(no_request_energy("first_tokens_unknown"));
  if (rows.watts.size() < kLeastReadings) refused.push_back(no_request_energy("too_few_readings"));
  if (has_whole_seconds(question.readings))
    refused.push_back(no_request_energy("stamps_of_whole_seconds"));
  if (!refused.empty()) return refused;
  if (never_varies(rows)) refused.push_back(no_request_energy("phase_never_varies"));
  if (is_shorter_than_refresh(question, rows.sensor.refresh_s)) {
    refused.push_back(no_request_energy("phase_shorter_than_refresh"));
  }
  return refused;
}

PhasePower power_of(const ModelFit& model, double Activity::*column, const Activity& in_window,
                    double duration_s) {
  const auto place = model.place(column);
  if (!place) return {};
  const double amount = column == nullptr ? duration_s : in_window.*column;
  const double watts = model.fit.coefficients[*place];
  const double error_w = model.fit.standard_error(*place);
  return {watts, error_w, watts * amount, error_w * amount};
}

// The energy of a phase with two coefficients.
void add_further(const ModelFit& model, const Activity& in_window, PhaseEnergy& energy) {
  const auto further = model.place(&Activity::further_decodes);
  if (!further) return;
  energy.further_decode = power_of(model, &Activity::further_decodes, in_window, 0);
  std::vector<double> amounts(model.design.columns.size());
  amounts[*model.place(&Activity::decode_s)] = in_window.decode_s;
  amounts[*further] = in_window.further_decodes;
  energy.decode.energy_j += energy.further_decode->energy_j;
  energy.decode.energy_standard_error_j = model.fit.standard_error(amounts);
}

PhaseEnergy powers_of(const ModelFit& model, const Activity& in_window, double duration_s) {
  PhaseEnergy energy;
  energy.model = model.design.model;
  energy.r2 = model.fit.r2;
  energy.condition = model.condition;
  energy.sensor_window_s = model.sensor.window_s;
  const bool is_counts = energy.model == PhaseModel::counts;
  const auto power = [&](double Activity::*column) {
    return power_of(model, column, in_window, duration_s);
  };
  energy.prefill = power(is_counts ? &Activity::prefills : &Activity::prefill_s);
  energy.decode = power(is_counts ? &Activity::decodes : &Activity::decode_s);
  if (is_counts || model.place(&Activity::idle_s)) {
    energy.idle = power(is_counts ? nullptr : &Activity::idle_s);
  }
  add_further(model, in_window, energy);
  return energy;
}

bool is_too_uncertain(const PhaseEnergy& energy) {
  const auto is_slope = [](const PhasePower& power) {
    return power.watts > 0 && power.standard_error_w <= kMostSlopeError * power.watts;
  };
  const auto is_state = [](const PhasePower& power) {
    return power.energy_j > 0 && power.energy_standard_error_j <= kMostStateError * power.energy_j;
  };
  if (energy.model == PhaseModel::counts) {
    return !is_slope(energy.prefill) || !is_slope(energy.decode);
  }
  return !is_state(energy.prefill) || !is_state(energy.decode) ||
         (energy.idle && !is_state(*energy.idle));
}

std::vector<std::string> refused_by(const ModelFit& model, const PhaseEnergy& energy) {
  const bool is_counts = energy.model == PhaseModel::counts;
  if (model.fit.is_singular || (is_counts && model.condition > kMostCondition)) {
    return {no_request_energy("phases_collinear")};
  }
  std::vector<std::string> refused;
  // GPUs draw power when they are idle: 0 W are no estimate.
  if (energy.r2 < kLeastR2 || (is_counts && energy.idle->watts <= 0)) {
    refused.push_back(no_request_energy("model_does_not_fit"));
  }
  if (is_too_uncertain(energy)) refused.push_back(no_request_energy("phase_power_too_uncertain"));
  return refused;
}

// ---- Per token

// The tokens of the requests' phases, as far as these are inside the window; nullopt if some are
// unknown, or there are none.
std::optional<double> tokens_in(const PhaseQuestion& question, bool of_prefill) {
  double sum = 0;
  for (const RequestTimes& request : question.requests) {
    if (!overlaps(request, question.window)) continue;
    const std::int64_t tokens = of_prefill ? request.input_tokens : request.output_tokens;
    if (tokens < 0 && request.failed) continue;
    if (tokens < 0) return std::nullopt;
    const double from_s = of_prefill ? request.start_s : first_token_of(request);
    const double to_s = of_prefill ? first_token_of(request) : request.end_s;
    const double inside_s =
        std::min(to_s, question.window.end_unix_s) - std::max(from_s, question.window.start_unix_s);
    if (inside_s < 0) continue;
    sum += static_cast<double>(tokens) * (to_s > from_s ? inside_s / (to_s - from_s) : 1);
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

// ---- What is not known of the sensor

// How a sensor may be, with the logarithm of how likely that is before the readings are seen.
struct PossibleSensor {
  SensorModel sensor;
  double log_prior = 0;
};

// Delays, and lengths of means over 1 s, differ from board to board.
std::vector<PossibleSensor> possible_sensors(std::span<const SensorModel> models) {
  std::vector<PossibleSensor> possible;
  for (const SensorModel& model : models) {
    for (const double window_sigmas : {0.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0}) {
      if (window_sigmas != 0 && !model.is_averaged()) continue;
      for (const double delay_sigmas : {0.0, -1.25, 1.25}) {
        SensorModel sensor = model;
        sensor.window_s *= 1 + window_sigmas * model.window_uncertainty;
        sensor.delay_s = std::max(0.0, model.delay_s + delay_sigmas * model.delay_uncertainty_s);
        possible.push_back(
            {sensor, -0.5 * (window_sigmas * window_sigmas + delay_sigmas * delay_sigmas)});
      }
    }
  }
  return possible;
}

// The fit of a model with the sensor's own window and delay, which are found along with the watts:
// how little they are known is part of the errors.
class SensorFit {
 public:
  SensorFit(const PhaseQuestion& question, const PhaseActivity& activity, ModelFit found)
      : question_(question), activity_(activity), found_(std::move(found)) {}

  ModelFit finish() && {
    if (found_.fit.is_singular) return std::move(found_);
    step();  // the first step settles the sensor, the second one the errors
    if (!found_.fit.is_singular) step();
    return std::move(found_);
  }

 private:
  Explained explained(const SensorModel& sensor) const {
    return explained_by(question_, activity_, sensor);
  }

  // How much each reading of the model changes with a member of the sensor.
  std::vector<double> slopes(const Explained& rows, double SensorModel::*member) const {
    constexpr double kStep_s = 0.002;
    SensorModel moved = found_.sensor;
    moved.*member += kStep_s;
    const Explained other = explained(moved);
    std::vector<double> changes(rows.watts.size());
    for (std::size_t row = 0; row < changes.size(); ++row) {
      for (std::size_t i = 0; i < found_.design.columns.size(); ++i) {
        const auto column = found_.design.columns[i];
        changes[row] += found_.fit.coefficients[i] *
                        (of(other.activities[row], column) - of(rows.activities[row], column)) /
                        kStep_s;
      }
    }
    return changes;
  }

  void step() {
    const Explained rows = explained(found_.sensor);
    FitRows fit_rows = rows_of(found_.design, rows);
    found_.condition = condition_of(found_.design, fit_rows);
    std::vector<double SensorModel::*> members = {&SensorModel::delay_s};
    std::vector<double> deviations = {found_.sensor.delay_uncertainty_s};
    if (found_.sensor.is_averaged()) {
      members.push_back(&SensorModel::window_s);
      deviations.push_back(found_.sensor.window_s * found_.sensor.window_uncertainty);
    }
    std::vector<std::vector<double>> more;
    for (const auto member : members) more.push_back(slopes(rows, member));
    add_columns(fit_rows, more);
    fit_rows.free_deviations = deviations;
    NonNegativeFit fit = fit_non_negative(fit_rows, lags_of(rows));
    if (fit.is_singular) {
      found_.fit = std::move(fit);
      return;
    }
    const std::size_t k = found_.design.columns.size();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double change_s = std::clamp(fit.coefficients[k + i], -deviations[i], deviations[i]);
      found_.sensor.*members[i] = std::max(0.0, found_.sensor.*members[i] + change_s);
    }
    found_.fit = without_last(fit, members.size());
  }

  static void add_columns(FitRows& rows, const std::vector<std::vector<double>>& more) {
    FitRows wider{rows.columns + more.size(), {}, std::move(rows.y)};
    for (std::size_t row = 0; row < wider.y.size(); ++row) {
      wider.x.insert(wider.x.end(), rows.row(row), rows.row(row) + rows.columns);
      for (const std::vector<double>& column : more) wider.x.push_back(column[row]);
    }
    rows = std::move(wider);
  }

  static NonNegativeFit without_last(const NonNegativeFit& fit, std::size_t count) {
    const std::size_t n = fit.coefficients.size();
    NonNegativeFit kept{.coefficients = fit.coefficients, .r2 = fit.r2};
    kept.coefficients.resize(n - count);
    for (std::size_t i = 0; i < n - count; ++i) {
      const auto row = fit.covariance.begin() + static_cast<std::ptrdiff_t>(i * n);
      kept.covariance.insert(kept.covariance.end(), row,
                             row + static_cast<std::ptrdiff_t>(n - count));
    }
    return kept;
  }

  const PhaseQuestion& question_;
  const PhaseActivity& activity_;
  ModelFit found_;
};

}  // namespace

PhaseAnswer phase_energy(PhaseQuestion question) {
  const PhaseActivity activity(question.requests);
  question.readings = readings_inside(question);
  PhaseAnswer answer;
  const Explained known = explained_by(question, activity, question.sensors.front());
  answer.energy.refused = answer.weights_refused = refused_at_once(question, known);
  if (!answer.energy.refused.empty()) return answer;

  ModelFit found[] = {{.design = design_of(PhaseModel::counts, known)},
                      {.design = design_of(PhaseModel::states, known)}};
  for (const PossibleSensor& possible : possible_sensors(question.sensors)) {
    const Explained rows = explained_by(question, activity, possible.sensor);
    for (ModelFit& best : found) {
      ModelFit fit = fit_model(best.design, rows, possible.log_prior);
      if (fit.log_weight > best.log_weight) best = std::move(fit);
    }
  }
  for (ModelFit& best : found) best = SensorFit(question, activity, std::move(best)).finish();
  const ModelFit& counts = found[0];
  const ModelFit& best = found[1].adjusted_r2 > counts.adjusted_r2 ? found[1] : counts;
  const double duration_s = question.window.duration_s();
  const Activity in_window = activity.in(question.window);
  const auto powers = [&](const ModelFit& model) {
    return model.fit.is_singular ? PhaseEnergy() : powers_of(model, in_window, duration_s);
  };
  const PhaseEnergy by_counts = powers(counts);
  answer.weights_refused = refused_by(counts, by_counts);
  if (answer.weights_refused.empty()) {
    answer.weights = {by_counts.prefill.watts, by_counts.decode.watts};
  }
  PhaseEnergy energy = powers(best);
  energy.refused = refused_by(best, energy);
  if (energy.refused.empty()) {
    if (const auto tokens = tokens_in(question, true)) {
      energy.joules_per_input_token = energy.prefill.energy_j / *tokens;
    }
    if (const auto tokens = tokens_in(question, false)) {
      energy.joules_per_output_token = energy.decode.energy_j / *tokens;
    }
    energy.unexplained_j = question.energy_j - (energy.idle ? energy.idle->energy_j : 0) -
                           energy.prefill.energy_j - energy.decode.energy_j;
  }
  answer.energy = std::move(energy);
  return answer;
}

std::vector<Sample> readings_together(std::span<const std::vector<Sample>> gpus) {
  const auto fewest = std::ranges::min_element(gpus, {}, &std::vector<Sample>::size);
  if (fewest == gpus.end()) return {};
  const double most_apart_s = ticks_period_s(*fewest) / 2;
  std::vector<std::size_t> places(gpus.size());
  std::vector<Sample> together;
  for (const Sample& tick : *fewest) {
    Sample sum{0, 0};
    bool is_complete = true;
    for (std::size_t i = 0; i < gpus.size() && is_complete; ++i) {
      const std::vector<Sample>& samples = gpus[i];
      std::size_t& place = places[i];
      const auto apart_s = [&](std::size_t k) { return std::abs(samples[k].unix_s - tick.unix_s); };
      while (place + 1 < samples.size() && apart_s(place + 1) <= apart_s(place)) ++place;
      is_complete = apart_s(place) <= most_apart_s;
      sum.unix_s += samples[place].unix_s - tick.unix_s;
      sum.watts += samples[place].watts;
    }
    if (!is_complete) continue;
    together.push_back({tick.unix_s + sum.unix_s / static_cast<double>(gpus.size()), sum.watts});
  }
  return together;
}

// ---- Tries every set of coefficients that may be above zero: there are few.

namespace {

// A square matrix, row by row.
struct Square {
  explicit Square(std::size_t order) : n(order), cells(order * order) {}
  double& at(std::size_t i, std::size_t j) { return cells[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return cells[i * n + j]; }

  std::size_t n;
  std::vector<double> cells;
};

// The inverse of a symmetric positive definite matrix; nullopt if it is not, or hardly so. Scaled,
// so that columns of any size are judged alike.
std::optional<Square> inverse_of(const Square& matrix) {
  constexpr double kLeastPivot = 1e-10;
  const std::size_t n = matrix.n;
  std::vector<double> scale(n);
  for (std::size_t i = 0; i < n; ++i) scale[i] = std::sqrt(matrix.at(i, i));
  Square left(n);
  Square right(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(scale[i] > 0)) return std::nullopt;
    right.at(i, i) = 1;
    for (std::size_t j = 0; j < n; ++j) left.at(i, j) = matrix.at(i, j) / (scale[i] * scale[j]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = left.at(i, i);
    if (!(pivot > kLeastPivot)) return std::nullopt;
    for (std::size_t j = 0; j < n; ++j) {
      left.at(i, j) /= pivot;
      right.at(i, j) /= pivot;
    }
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = left.at(k, i);
      if (k == i || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) {
        left.at(k, j) -= factor * left.at(i, j);
        right.at(k, j) -= factor * right.at(i, j);
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) right.at(i, j) /= scale[i] * scale[j];
  }
  return right;
}

using Columns = std::vector<std::size_t>;

Square products_of(const FitRows& rows, const Columns& columns) {
  Square products(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double* const x = rows.row(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        products.at(i, j) += x[columns[i]] * x[columns[j]];
      }
    }
  }
  return products;
}

// Least squares in some of the columns; the others' coefficients are 0.
struct Solution {
  Columns columns;
  std::vector<double> coefficients;  // of all columns
  Square inverse;
  double residuals = 0;  // the sum of their squares
};

std::vector<double> residuals_of(const FitRows& rows, const std::vector<double>& coefficients) {
  std::vector<double> residuals(rows.y);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows.columns; ++i) {
      residuals[row] -= coefficients[i] * rows.row(row)[i];
    }
  }
  return residuals;
}

double squares_of(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// What is known beforehand of a coefficient, as so many squares of its column, if the residuals'
// variance is this; 0: nothing is.
double known_squares(const FitRows& rows, std::size_t column, double variance) {
  const std::size_t first_free = rows.columns - rows.free_deviations.size();
  if (column < first_free) return 0;
  const double deviation = rows.free_deviations[column - first_free];
  return variance / (deviation * deviation);
}

std::optional<Solution> solve(const FitRows& rows, const Columns& columns, double variance) {
  Square products = products_of(rows, columns);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    products.at(i, i) += known_squares(rows, columns[i], variance);
  }
  auto inverse = inverse_of(products);
  if (!inverse) return std::nullopt;
  std::vector<double> sums(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      sums[i] += rows.row(row)[columns[i]] * rows.y[row];
    }
  }
  Solution solution{columns, std::vector<double>(rows.columns), std::move(*inverse)};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      solution.coefficients[columns[i]] += solution.inverse.at(i, j) * sums[j];
    }
  }
  solution.residuals = squares_of(residuals_of(rows, solution.coefficients));
  return solution;
}

// The sandwich of Newey and West with Bartlett's weights.
Square covariance_of(const FitRows& rows, const Solution& solution, std::size_t lags) {
  const std::size_t k = solution.columns.size();
  const std::vector<double> residuals = residuals_of(rows, solution.coefficients);
  const auto scores = [&](std::size_t row, std::size_t i) {
    return residuals[row] * rows.row(row)[solution.columns[i]];
  };
  Square middle(k);
  for (std::size_t lag = 0; lag <= std::min(lags, rows.size() - 1); ++lag) {
    const double weight = 1 - static_cast<double>(lag) / static_cast<double>(lags + 1);
    for (std::size_t row = lag; row < rows.size(); ++row) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
          const double product = weight * scores(row, i) * scores(row - lag, j);
          middle.at(i, j) += product;
          if (lag > 0) middle.at(j, i) += product;
        }
      }
    }
  }
  const auto n = static_cast<double>(rows.size());
  const double variance = solution.residuals / n;
  for (std::size_t i = 0; i < k; ++i) {
    middle.at(i, i) += variance * known_squares(rows, solution.columns[i], variance);
  }
  const double few = n / (n - static_cast<double>(k));
  Square covariance(k);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b) {
          covariance.at(i, j) +=
              few * solution.inverse.at(i, a) * middle.at(a, b) * solution.inverse.at(b, j);
        }
      }
    }
  }
  return covariance;
}

// The best of all solutions without negative coefficients where these are not allowed.
std::optional<Solution> solve(const FitRows& rows, double variance) {
  Columns all(rows.columns);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::size_t bound = rows.columns - rows.free_deviations.size();
  const auto is_allowed = [bound](const Solution& solution) {
    return std::ranges::all_of(solution.coefficients.begin(),
                               solution.coefficients.begin() + static_cast<std::ptrdiff_t>(bound),
                               [](double each) { return each >= 0; });
  };
  std::optional<Solution> best = solve(rows, all, variance);
  if (!best || is_allowed(*best)) return best;
  best.reset();
  for (std::uint32_t set = 1; set + 1 < (1U << bound); ++set) {
    Columns some;
    for (const std::size_t column : all) {
      if (column >= bound || ((set >> column) & 1U)) some.push_back(column);
    }
    std::optional<Solution> solution = solve(rows, some, variance);
    if (!solution || !is_allowed(*solution)) continue;
    if (!best || solution->residuals < best->residuals) best = std::move(solution);
  }
  return best;
}

// The eigenvalues of a symmetric matrix, by Jacobi's rotations.
std::vector<double> eigenvalues_of(Square matrix) {
  constexpr int kSweeps = 50;
  const std::size_t n = matrix.n;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (matrix.at(p, q) == 0) continue;
        const double theta = (matrix.at(q, q) - matrix.at(p, p)) / (2 * matrix.at(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1);
        const double s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double a = matrix.at(k, p);
          const double b = matrix.at(k, q);
          matrix.at(k, p) = c * a - s * b;
          matrix.at(k, q) = s * a + c * b;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double a = matrix.at(p, k);
          const double b = matrix.at(q, k);
          matrix.at(p, k) = c * a - s * b;
          matrix.at(q, k) = s * a + c * b;
        }
      }
    }
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(matrix.at(i, i));
  return values;
}

}  // namespace

double NonNegativeFit::standard_error(std::size_t i) const {
  return std::sqrt(std::max(0.0, covariance[i * coefficients.size() + i]));
}

double NonNegativeFit::standard_error(const std::vector<double>& factors) const {
  double variance = 0;
  const std::size_t n = coefficients.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) variance += factors[i] * factors[j] * covariance[i * n + j];
  }
  return std::sqrt(std::max(0.0, variance));
}

NonNegativeFit fit_non_negative(const FitRows& rows, std::optional<std::size_t> lags) {
  const auto n = static_cast<double>(rows.size());
  if (rows.size() <= rows.columns) return {.is_singular = true};
  std::optional<Solution> best = solve(rows, 0);
  if (best && !rows.free_deviations.empty()) best = solve(rows, best->residuals / n);
  if (!best) return {.is_singular = true};
  NonNegativeFit fit;
  fit.coefficients = best->coefficients;
  fit.covariance.resize(rows.columns * rows.columns);
  if (lags) {
    const Square covariance = covariance_of(rows, *best, *lags);
    for (std::size_t i = 0; i < best->columns.size(); ++i) {
      for (std::size_t j = 0; j < best->columns.size(); ++j) {
        fit.covariance[best->columns[i] * rows.columns + best->columns[j]] = covariance.at(i, j);
      }
    }
  }
  const double mean = std::accumulate(rows.y.begin(), rows.y.end(), 0.0) / n;
  const double spread = summed(rows.y, [&](const double y) { return (y - mean) * (y - mean); });
  fit.r2 = spread > 0 ? 1 - best->residuals / spread : 0;
  return fit;
}

double correlation_condition(const FitRows& rows, const std::vector<std::size_t>& columns) {
  const auto n = static_cast<double>(rows.size());
  std::vector<double> means(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) means[i] += rows.row(row)[columns[i]] / n;
  }
  Square spreads(columns.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        spreads.at(i, j) +=
            (rows.row(row)[columns[i]] - means[i]) * (rows.row(row)[columns[j]] - means[j]);
      }
    }
  }
  Square correlations(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double scale = std::sqrt(spreads.at(i, i)) * std::sqrt(spreads.at(j, j));
      if (!(scale > 0)) return std::numeric_limits<double>::infinity();
      correlations.at(i, j) = spreads.at(i, j) / scale;
    }
  }
  const std::vector<double> values = eigenvalues_of(correlations);
  const auto [least, most] = std::ranges::minmax(values);
  if (!(least > 0)) return std::numeric_limits<double>::infinity();
  return std::sqrt(most / least);
}

// ---- Adds up the requests' phases along the time.

Activity& Activity::operator+=(const Activity& other) {
  prefills += other.prefills;
  decodes += other.decodes;
  idle_s += other.idle_s;
  prefill_s += other.prefill_s;
  decode_s += other.decode_s;
  further_decodes += other.further_decodes;
  return *this;
}

Activity Activity::operator-(const Activity& other) const {
  return {prefills - other.prefills, decodes - other.decodes,
          idle_s - other.idle_s,     prefill_s - other.prefill_s,
          decode_s - other.decode_s, further_decodes - other.further_decodes};
}

Activity Activity::operator/(double divisor) const {
  return {prefills / divisor,  decodes / divisor,  idle_s / divisor,
          prefill_s / divisor, decode_s / divisor, further_decodes / divisor};
}

PhaseActivity::PhaseActivity(std::span<const RequestTimes> requests) {
  struct Step {
    double unix_s;
    std::int32_t prefills;
    std::int32_t decodes;
  };
  std::vector<Step> steps;
  steps.reserve(3 * requests.size());
  for (const RequestTimes& request : requests) {
    if (!request.has_times()) continue;
    const double first_s = std::isnan(request.first_token_s)
                               ? request.end_s
                               : std::clamp(request.first_token_s, request.start_s, request.end_s);
    steps.push_back({request.start_s, 1, 0});
    steps.push_back({first_s, -1, 1});
    steps.push_back({request.end_s, 0, -1});
  }
  std::ranges::sort(steps, {}, &Step::unix_s);
  stretches_.reserve(steps.size());
  Stretch now{steps.empty() ? 0 : steps[0].unix_s, 0, 0, {}};
  for (const Step& step : steps) {
    if (step.unix_s > now.start_unix_s) {
      stretches_.push_back(now);
      now.before += of(now, step.unix_s - now.start_unix_s);
      now.start_unix_s = step.unix_s;
    }
    now.prefills += step.prefills;
    now.decodes += step.decodes;
  }
  stretches_.push_back(now);
}

Activity PhaseActivity::of(const Stretch& stretch, double seconds) {
  Activity activity;
  activity.prefills = stretch.prefills * seconds;
  activity.decodes = stretch.decodes * seconds;
  if (stretch.prefills > 0) {
    activity.prefill_s = seconds;
  } else if (stretch.decodes > 0) {
    activity.decode_s = seconds;
    activity.further_decodes = (stretch.decodes - 1) * seconds;
  } else {
    activity.idle_s = seconds;
  }
  return activity;
}

Activity PhaseActivity::until(double unix_s, Place& place) const {
  // In steps that grow, then between the last two.
  std::size_t step = 1;
  while (place.next + step < stretches_.size() &&
         stretches_[place.next + step].start_unix_s <= unix_s) {
    place.next += step;
    step *= 2;
  }
  const auto from = stretches_.begin() + static_cast<std::ptrdiff_t>(place.next);
  const auto to = stretches_.begin() +
                  static_cast<std::ptrdiff_t>(std::min(place.next + step, stretches_.size()));
  place.next = static_cast<std::size_t>(
      std::ranges::upper_bound(from, to, unix_s, {}, &Stretch::start_unix_s) - stretches_.begin());
  if (place.next == 0) {
    return {.idle_s = unix_s - stretches_.front().start_unix_s};  // negative, before the first
  }
  const Stretch& stretch = stretches_[place.next - 1];
  Activity activity = stretch.before;
  activity += of(stretch, unix_s - stretch.start_unix_s);
  return activity;
}

}  // namespace aggregate_power
