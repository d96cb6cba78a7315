// Integrates devices, and judges them against window and gap.
#include "core/energy/integrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/energy/curve.h"
#include "core/energy/recording_summary.h"
#include "core/energy/stale_readings.h"

namespace aggregate_power {

namespace {

// Of the readings that count.
Window band_of(const IntegrationOptions& options) {
  return {options.window.start_unix_s - options.max_sample_gap_s,
          options.window.end_unix_s + options.max_sample_gap_s};
}

bool counts(const IntegrationOptions& options, Sample sample) {
  return !options.is_power || sample.watts > 0 || options.window.contains(sample.unix_s);
}

Integration unfinished(const IntegrationOptions& options, const WindowRows& rows, bool is_end,
                       std::span<const std::string> names) {
  Integration result;
  result.expected_num_gpus = options.expected_num_gpus;
  result.reasons = rows.reasons(is_end);
  result.boundary_degenerate_rows = rows.boundary_rows().by_name(names);
  return result;
}

constexpr const char* kUnnamedRows = "unknown";

std::size_t boundary_place(std::uint32_t device) {
  return device == kNoDevice ? 0 : std::size_t{device} + 1;
}

}  // namespace

void BoundaryRows::add(std::uint32_t device) {
  const std::size_t place = boundary_place(device);
  if (place >= counts_.size()) counts_.resize(place + 1);
  if (counts_[place]++ == 0) met_.push_back(place);
}

std::uint64_t BoundaryRows::of(std::uint32_t device) const {
  const std::size_t place = boundary_place(device);
  return place < counts_.size() ? counts_[place] : 0;
}

BoundaryRows::ByName BoundaryRows::by_name(std::span<const std::string> devices) const {
  ByName rows;
  for (const std::size_t place : met_) {
    const std::string name = place == 0 ? kUnnamedRows : devices[place - 1];
    // A GPU may have this name too; no other name occurs twice.
    const auto same = name == kUnnamedRows
                          ? std::ranges::find(rows, name, &ByName::value_type::first)
                          : rows.end();
    if (same == rows.end()) {
      rows.emplace_back(name, counts_[place]);
    } else {
      same->second += counts_[place];
    }
  }
  return rows;
}

WindowRows::WindowRows(const IntegrationOptions& options)
    : options_(options), band_(band_of(options)), unplaced_rows_(band_) {
  if (options.expected_num_gpus && *options.expected_num_gpus <= 0) {
    reasons_.add(Reason::invalid_expected_gpu_count, fmt::format("{}", *options.expected_num_gpus));
  }
}

void WindowRows::take_bad_stamp() {
  if (rules_of(options_.contract).allows_rows_without_time) {
    unplaced_rows_.add();
  } else {
    reasons_.add(Reason::invalid_timestamp_sample);
  }
}

// A row near the window that states no device's power.
void WindowRows::take_no_power(const Reading& reading) {
  if (states_power(reading, options_.window)) {
    missing_identity_ = true;
  } else if (!options_.window.contains(reading.unix_s)) {
    boundary_rows_.add(reading.device);
  } else {
    if (options_.keeps_blanks) blanks_.emplace_back(reading.device, reading.unix_s);
    if (reasons_.contains(Reason::invalid_power_sample)) return;
    reasons_.add(Reason::invalid_power_sample, "the first at " + unix_and_iso(reading.unix_s));
  }
}

inline void WindowRows::take_row(const Reading& reading) {
  if (unplaced_rows_.add(reading.unix_s)) reasons_.add(Reason::invalid_timestamp_sample);
  if (!band_.contains(reading.unix_s)) return;
  if (reading.kind != Reading::Kind::power || !counts(options_, {reading.unix_s, reading.watts})) {
    return take_no_power(reading);
  }
  const std::uint32_t device = reading.device;
  if (device < is_met_.size() && is_met_[device] != 0) return;
  if (device >= is_met_.size()) is_met_.resize(device + 1);
  is_met_[device] = 1;
  met_.push_back(device);
}

// Most rows are the power of a device that was met, inside the window.
void WindowRows::take(std::span<const Reading> readings) {
  const Window window = options_.window;
  for (const Reading& reading : readings) {
    const bool is_plain = reading.kind == Reading::Kind::power && window.contains(reading.unix_s) &&
                          reading.device < is_met_.size() && is_met_[reading.device] != 0;
    if (is_plain && unplaced_rows_.add_inside(reading.unix_s)) continue;
    if (reading.kind == Reading::Kind::bad_timestamp) {
      take_bad_stamp();
    } else {
      take_row(reading);
    }
  }
}

Reasons WindowRows::reasons(bool is_end) const {
  Reasons reasons = reasons_;
  if (unplaced_rows_.may_be_inside()) reasons.add(Reason::invalid_timestamp_sample);
  if (is_end && missing_identity_) reasons.add(Reason::gpu_identity_missing);
  return reasons;
}

Integration abandoned(const IntegrationOptions& options, const WindowRows& rows, Reason reason,
                      std::string detail, std::span<const std::string> names) {
  Integration result = unfinished(options, rows, false, names);
  result.reasons.add(reason, std::move(detail));
  return result;
}

void PowerIntegrator::take(const Samples& samples) {
  while (integrators_.size() < samples.devices().size()) {
    integrators_.emplace_back(options_.window);
  }
  for (std::size_t i = 0; i < samples.devices().size(); ++i) {
    DeviceIntegrator& integrator = integrators_[i];
    const std::span<const Sample> near = samples_in(samples.devices()[i], band_of(options_));
    if (near.empty()) continue;
    is_out_of_order_ = is_out_of_order_ || integrator.is_behind(near.front().unix_s);
    if (is_out_of_order_) return;
    const std::span<const Sample> inside = samples_in(near, options_.window);
    const auto begin = inside.empty() ? near.end() : near.begin() + (inside.data() - near.data());
    const auto add_outside = [&](auto from, auto to) {
      for (; from != to; ++from) {
        if (counts(options_, *from)) integrator.add(from->unix_s, from->watts);
      }
    };
    add_outside(near.begin(), begin);
    integrator.add(inside);
    add_outside(begin + std::ssize(inside), near.end());
  }
}

Integration PowerIntegrator::finish(const WindowRows& rows, std::span<const std::string> names) {
  Integration result = unfinished(options_, rows, true, names);
  std::vector<std::uint32_t> order(rows.met().begin(), rows.met().end());
  if (order.empty()) {
    result.reasons.add(Reason::no_usable_power_samples);
    return result;
  }
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return device_name_less(names[a], names[b]);
  });
  const auto expected = options_.expected_num_gpus;
  if (expected && *expected > 0 && static_cast<std::int64_t>(order.size()) != *expected) {
    result.reasons.add(Reason::expected_gpu_count_mismatch,
                       fmt::format("{} seen, {} expected", order.size(), *expected));
  }

  double total_j = 0;
  bool complete = true;
  for (const std::uint32_t i : order) {
    const DeviceEnergy gpu = integrators_[i].finish();
    std::optional<Reason> issue;
    std::string detail;
    const std::string name = printable(names[i]);
    if (gpu.samples < 2) {
      issue = Reason::insufficient_power_samples;
      detail = fmt::format("GPU {}: 1 sample", name);
    } else if (!gpu.bracketed) {
      issue = Reason::benchmark_window_not_bracketed;
      const double late_s = gpu.first_unix_s - options_.window.start_unix_s;
      const double early_s = options_.window.end_unix_s - gpu.last_unix_s;
      detail = late_s > 0
                   ? fmt::format("GPU {}: first sample {:.3f} s after the start", name, late_s)
                   : fmt::format("GPU {}: last sample {:.3f} s before the end", name, early_s);
      const std::uint64_t outside = rows.boundary_rows().of(i);
      if (outside > 0 && integrators_[i].has_only_zeros()) {
        detail = fmt::format(
            "GPU {} states 0 W in all its {} rows in and near the window: it has no sensor, or was "
            "not used; --gpus leaves it out if the load did not use it",
            name, gpu.samples + outside);
      } else if (outside > 0) {
        detail += fmt::format("; rows outside it without power above 0 W: {}", outside);
      }
    } else if (gpu.max_sample_gap_s > options_.max_sample_gap_s) {
      issue = Reason::sampling_gap_exceeded;
      detail = fmt::format("GPU {}: {:.3f} s, at most {} s", name, gpu.max_sample_gap_s,
                           options_.max_sample_gap_s);
    }
    if (issue) result.reasons.add(*issue, detail);
    if (gpu.bracketed) total_j += gpu.energy_j;
    complete = complete && gpu.bracketed;
    result.gpu_ids.push_back(names[i]);
    result.gpus.push_back(gpu);
    result.issues.push_back(issue);
  }
  if (complete) {
    result.total_gpu_energy_j = total_j;
    result.avg_total_gpu_power_w = total_j / options_.window.duration_s();
    result.avg_power_w = *result.avg_total_gpu_power_w / static_cast<double>(order.size());
  }
  return result;
}

// ---- Sums trapezoids, interpolates at the window's edges, and notes odd samples.

Sample DeviceIntegrator::finished_stamp() {
  const double watts = same_stamp_->mean();
  same_stamp_.reset();
  return {stamp_.unix_s, watts};
}

void DeviceIntegrator::take_near_edge(Sample sample) {
  const bool is_first = result_.samples++ == 0;
  if (is_first) {
    result_.first_unix_s = sample.unix_s;
  } else if (sample.unix_s > window_.start_unix_s && before_.unix_s < window_.end_unix_s) {
    result_.max_sample_gap_s = std::max(result_.max_sample_gap_s, sample.unix_s - before_.unix_s);
  }
  if (is_first) before_ = sample;
  if (!done_) integrate_to(sample);
  before_ = sample;
}

void DeviceIntegrator::integrate_to(Sample sample) {
  if (!inside_) {
    if (sample.unix_s < window_.start_unix_s) return;
    inside_ = true;
    const bool counts_before =
        before_.unix_s < window_.start_unix_s && sample.unix_s > window_.start_unix_s;
    if (counts_before && before_.watts > kMostUsualWatts) note_odd(before_);
    point_ = {window_.start_unix_s, watts_at(window_.start_unix_s, before_, sample)};
  }
  note_if_odd(sample);
  if (sample.unix_s > window_.start_unix_s && sample.unix_s < window_.end_unix_s) {
    result_.energy_j += trapezoid_j(point_, sample);
    point_ = sample;
    is_steady_ = true;
  }
  if (sample.unix_s >= window_.end_unix_s) {
    const Sample end = {window_.end_unix_s, watts_at(window_.end_unix_s, before_, sample)};
    result_.energy_j += trapezoid_j(is_steady_ ? before_ : point_, end);
    is_steady_ = false;
    done_ = true;
  }
}

void DeviceIntegrator::note_odd(Sample sample) {
  constexpr double kOnW = 15;
  constexpr std::uint32_t kMostLoneZeros = 3;
  if (sample.watts > kMostBoardWatts) ++result_.absurd_samples;
  if (sample.watts > kMostUsualWatts && sample.watts > result_.highest_w) {
    result_.highest_w = sample.watts;
    result_.highest_unix_s = sample.unix_s;
  }
  if (sample.watts == 0) {
    if (zeros_++ == 0) is_on_before_zeros_ = before_.watts > kOnW;
    return;
  }
  const bool are_lone = is_on_before_zeros_ && zeros_ <= kMostLoneZeros && sample.watts > kOnW;
  if (are_lone) result_.lone_zeros += zeros_;
  zeros_ = 0;
}

// Adds those at the front that are later than the one before, inside the window behind a sample
// that is, and not odd: what changes with each of them stays in registers. Returns their number.
std::size_t DeviceIntegrator::add_steady(std::span<const Sample> samples) {
  if (!is_steady_ || same_stamp_ || zeros_ > 0 || is_odd(stamp_.watts)) return 0;
  Sample before = before_;
  Sample stamp = stamp_;
  double energy_j = result_.energy_j;
  double max_gap_s = result_.max_sample_gap_s;
  std::size_t count = 0;
  for (const Sample& sample : samples) {
    if (!(sample.unix_s > stamp.unix_s) || sample.unix_s >= window_.end_unix_s) break;
    if (is_odd(sample.watts)) break;
    max_gap_s = std::max(max_gap_s, stamp.unix_s - before.unix_s);
    energy_j += trapezoid_j(before, stamp);
    before = stamp;
    stamp = sample;
    ++count;
  }
  before_ = before;
  stamp_ = stamp;
  result_.energy_j = energy_j;
  result_.max_sample_gap_s = max_gap_s;
  result_.samples += count;
  return count;
}

DeviceEnergy DeviceIntegrator::finish() {
  if (has_stamp_) take(same_stamp_ ? finished_stamp() : stamp_);
  has_stamp_ = false;
  result_.last_unix_s = before_.unix_s;
  result_.bracketed = result_.samples >= 2 && result_.first_unix_s <= window_.start_unix_s &&
                      result_.last_unix_s >= window_.end_unix_s;
  if (!result_.bracketed) result_.energy_j = result_.max_sample_gap_s = 0;
  return result_;
}

// ---- Gathers long gaps and the range of each GPU's power; compares both sides of the edges.

namespace {

constexpr double kSensorMean_s = 1;  // of a usual sensor

// Readings from beyond a distance of an instant on, to one side; those nearest to it.
std::span<const Sample> beyond(std::span<const Sample> samples, double unix_s, double from_s,
                               bool is_after) {
  constexpr std::size_t kMost = 3;
  const auto place = std::ranges::lower_bound(samples, is_after ? unix_s + from_s : unix_s - from_s,
                                              {}, &Sample::unix_s);
  const auto at = static_cast<std::size_t>(place - samples.begin());
  if (is_after) return samples.subspan(at, std::min(kMost, samples.size() - at));
  return samples.subspan(at - std::min(kMost, at), std::min(kMost, at));
}

// The time for which readings around an edge are neither of the one side nor of the other: that
// of the sensor's mean, if readings are that close.
double seen_mean_s(std::span<const Sample> samples, double unix_s, double between_s,
                   const std::function<double(double)>& share_of) {
  constexpr double kClose = 0.5;
  if (between_s > kClose * kSensorMean_s) return kSensorMean_s;
  double on_the_way = 0;
  for (const Sample& sample :
       samples_in(samples, {unix_s - 1.5 * kSensorMean_s, unix_s + 1.5 * kSensorMean_s})) {
    const double share = share_of(sample.watts);
    on_the_way += share > 0.1 && share < 0.9 ? 1 : 0;
  }
  return std::min(kSensorMean_s, on_the_way * between_s);
}

void add_hidden_edge(std::span<const Sample> samples, double unix_s, double held_s, double most_s,
                     HiddenEdges& hidden) {
  const auto after = std::ranges::upper_bound(samples, unix_s, {}, &Sample::unix_s);
  if (after == samples.begin() || after == samples.end()) return;
  const double between_s = std::max(held_s, after->unix_s - (after - 1)->unix_s);
  // The reading at the edge is partly of either side.
  const auto before_edge = beyond(samples, unix_s, kSensorMean_s / 2, false);
  const auto after_edge = beyond(samples, unix_s, kSensorMean_s, true);
  if (before_edge.empty() || after_edge.empty()) return;
  const double from_w = median_w(before_edge);
  const double step_w = std::abs(median_w(after_edge) - from_w);
  const double mean_s = seen_mean_s(samples, unix_s, between_s, [&](double watts) {
    return std::abs(watts - from_w) / std::max(step_w, 1e-9);
  });
  hidden.joules += step_w * std::min(most_s, (between_s + mean_s) / 2);
  if (step_w <= hidden.step_w) return;
  hidden.step_w = step_w;
  hidden.between_s = between_s;
}

// One that the readings beside its edges do not tell from its surroundings.
bool is_shorter_than_readings_show(Window window) {
  return window.duration_s() < 2 * kSensorMean_s;
}

// A load moves by less.
constexpr double kLeastStepOfShort = 0.3;

// What the readings on both sides of either edge differ by may be the load of a short window.
HiddenEdges hidden_in_short(std::span<const Sample> samples, Window window, double held_s) {
  const auto first = std::ranges::upper_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  const auto last = std::ranges::lower_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  if (first == samples.begin() || last == samples.end()) return {};
  HiddenEdges hidden;
  hidden.between_s =
      std::max({held_s, first->unix_s - (first - 1)->unix_s, last->unix_s - (last - 1)->unix_s});
  const double beside_s = kSensorMean_s + hidden.between_s;
  const std::span<const Sample> near =
      samples_in(samples, {window.start_unix_s - beside_s, window.end_unix_s + beside_s});
  const auto range = std::ranges::minmax(near, {}, &Sample::watts);
  if (range.max.watts - range.min.watts < kLeastStepOfShort * range.max.watts) return {};
  hidden.step_w = range.max.watts - range.min.watts;
  const double middle_s = (window.start_unix_s + window.end_unix_s) / 2;
  const double mean_s = seen_mean_s(samples, middle_s, hidden.between_s, [&](double watts) {
    return (watts - range.min.watts) / std::max(hidden.step_w, 1e-9);
  });
  hidden.joules = 2 * hidden.step_w * std::min(window.duration_s(), hidden.between_s + mean_s) / 2;
  return hidden;
}

}  // namespace

void GapBound::add(std::uint32_t device, Sample sample) {
  if (device >= devices_.size()) devices_.resize(device + 1);
  Device& of = devices_[device];
  if (sample.unix_s - of.last.unix_s > kDefaultMaxSampleGapS) note_gap(of.last, sample, of);
  of.last = sample;
  of.lowest_w = std::min(of.lowest_w, sample.watts);
  of.highest_w = std::max(of.highest_w, sample.watts);
}

// There is no gap before the first sample: its neighbour is infinitely early.
void GapBound::note_gap(Sample before, Sample after, Device& device) {
  const double from = std::max(before.unix_s, window_.start_unix_s);
  const double to = std::min(after.unix_s, window_.end_unix_s);
  if (std::isinf(before.unix_s) || to <= from) return;
  device.gaps.push_back(
      {to - from, (watts_at(from, before, after) + watts_at(to, before, after)) / 2});
}

double GapBound::bound_j(std::uint32_t device) const {
  double bound_j = 0;
  if (device >= devices_.size()) return bound_j;
  const Device& of = devices_[device];
  for (const Gap& gap : of.gaps) {
    bound_j += gap.inside_s * std::max(of.highest_w - gap.mean_w, gap.mean_w - of.lowest_w);
  }
  return bound_j;
}

HiddenEdges hidden_at_edges(std::span<const Sample> samples, Window window) {
  const double held_s = energy::refresh_s(samples).value_or(0);
  if (is_shorter_than_readings_show(window)) return hidden_in_short(samples, window, held_s);
  HiddenEdges hidden;
  const double most_s = window.duration_s() / 2;
  add_hidden_edge(samples, window.start_unix_s, held_s, most_s, hidden);
  add_hidden_edge(samples, window.end_unix_s, held_s, most_s, hidden);
  return hidden;
}

// ---- Compares the times and the power of rows that follow each other.

namespace {

// Of rows of N GPUs in groups, 2 intervals in N are much longer or shorter than the one before:
// that between two groups, and the first within a group. Recordings of one GPU, sampled as fast as
// its tool can, have up to 1 in 20.
constexpr double kMuchLonger = 4;
// Rows of N GPUs in turn: each row's power is near that of N rows before, and not of the one
// before.
constexpr double kClearAlternation = 0.02;  // of the mean power, from row to row
constexpr double kClearRhythm = 0.8;        // of the mean interval, from row to row
constexpr double kMuchAlike = 4;
constexpr std::uint64_t kFewest = 2;
constexpr std::uint64_t kOneIn = 12;
// A sensor that is asked again so soon repeats its reading; another GPU has another one.
constexpr double kSoonS = 0.05;
constexpr double kOtherPower = 0.002;  // of the power
// The groups of several GPUs have one size, and each GPU has its place in them and a power of its
// own. One GPU that is asked several times at once has neither.
constexpr double kOneSize = 0.8;         // of the groups
constexpr double kOwnPower = 3.5;        // standard errors from the mean of the groups
constexpr double kClearlyOther = 0.012;  // of the power, from row to row within a group
constexpr double kOwnCourse = 0.35;      // correlation with the group before
constexpr double kAsFarApart = 0.7;      // of the steps from group to group
constexpr double kOften = 0.45;
constexpr std::uint64_t kFewestGroups = 5;
// Several GPUs that rest differ from each other by the same each time, and by more than any of them
// changes from one group to the next.
constexpr double kMuchMore = 4;
constexpr std::size_t kLongRest = 8;  // groups; half as many where they are clearly apart
// So many times with several readings are an accident.
constexpr std::uint64_t kFewTimes = 3;
constexpr std::uint64_t kOneTimeIn = 5;
// What stamps are cut to, in seconds.
constexpr double kGrids_s[] = {60, 1, 0.1, 0.01};
constexpr double kOffGridS = 1e-4;
// A row at each time that stamps can tell apart: the recorder may be faster than they are.
constexpr double kEachStep = 1.5;

// A load does not keep in step with its recorder for so long.
constexpr std::size_t kFewestRounds = 9;
constexpr std::size_t kFewestInTurn = 18;
constexpr std::size_t kManyInTurn = 32;  // fewer must be clearly apart
constexpr std::size_t kMostTurns = 16;
constexpr std::size_t kFewestValuesInTurn = 5;
constexpr double kClearLevels = 0.1;  // of the mean power, from row to row
constexpr double kFarLevels = 0.2;
constexpr double kLoadAndIdle = 1;
constexpr double kLeastRoundS = 0.5;  // a computer's clock ticks are shorter
constexpr double kClearPhase = 0.5;   // of the longest interval in a round
constexpr double kAsMuch = 0.7;
constexpr double kFarLower = 0.8;  // of the lowest level
constexpr double kNearLeast = 1.25;
constexpr std::size_t kFewestAtRest = 6;
constexpr double kOneLevel = 0.0075;    // of the power
constexpr double kVisibleLevel = 0.03;  // a difference that must have shown

// Numbers that belong to one place in each round.
struct Places {
  std::vector<double> means = {};
  double spread = 0;  // from the mean of their place
  double steps = 0;   // from each to the next

  bool stay_apart(double least) const { return steps >= least && spread * kMuchAlike < steps; }
};

Places places_in(std::span<const double> values, std::size_t round) {
  Places places;
  places.means.resize(round);
  std::vector<double> counts(round);
  for (std::size_t i = 0; i < values.size(); ++i) {
    places.means[i % round] += values[i];
    ++counts[i % round];
  }
  for (std::size_t i = 0; i < round; ++i) places.means[i] /= counts[i];
  const auto count = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    places.spread += std::abs(values[i] - places.means[i % round]) / count;
    if (i > 0) places.steps += std::abs(values[i] - values[i - 1]) / (count - 1);
  }
  return places;
}

double mean_number(std::span<const double> values) {
  return values.empty() ? 0 : summed(values) / static_cast<double>(values.size());
}

// Whether the power changes from row to row as much as from one round to the next: a sensor that is
// asked again after a short time has changed less.
bool differ_within_rounds(std::span<const double> watts, std::size_t round) {
  double within_w = 0;
  double between_w = 0;
  for (std::size_t i = round; i < watts.size(); ++i) {
    within_w += std::abs(watts[i] - watts[i - 1]);
    between_w += std::abs(watts[i] - watts[i - round]);
  }
  const double least_w = kOtherPower * mean_number(watts) * static_cast<double>(watts.size());
  return within_w >= least_w && within_w >= kAsMuch * between_w;
}

// Whether rows come at phases of a round that are clearly not even.
bool have_phases(std::span<const double> intervals_s, std::size_t round) {
  if (std::ranges::min(intervals_s) <= 0) return false;  // stamps that are cut
  const Places places = places_in(intervals_s, round);
  const auto [shortest_s, longest_s] = std::ranges::minmax(places.means);
  const double round_s = mean_number(places.means) * static_cast<double>(round);
  return round_s >= kLeastRoundS && shortest_s <= kClearPhase * longest_s &&
         places.stay_apart(kClearRhythm * mean_number(intervals_s));
}

// The longest stretch of samples below `most_w`.
std::vector<double> longest_below(std::span<const Sample> samples, double most_w) {
  std::vector<double> longest;
  std::vector<double> current;
  for (const Sample& sample : samples) {
    if (sample.watts >= most_w) current.clear();
    if (sample.watts < most_w) current.push_back(sample.watts);
    if (current.size() > longest.size()) longest = current;
  }
  return longest;
}

// Whether all places of a round have one level at rest, as far as the noise shows it.
bool rest_alike(std::span<const Sample> all, const Places& at_work) {
  const std::size_t round = at_work.means.size();
  if (all.empty()) return false;
  const double least_read_w = std::ranges::min(all, {}, &Sample::watts).watts;
  const std::vector<double> rest_w = longest_below(
      all, std::min(kFarLower * std::ranges::min(at_work.means), kNearLeast * least_read_w));
  if (rest_w.size() < std::max(kFewestAtRest, 2 * round)) return false;
  const Places rest = places_in(rest_w, round);
  const double mean_w = mean_number(rest_w);
  const auto [least_w, most_w] = std::ranges::minmax(rest.means);
  if (most_w - least_w <= kOneLevel * mean_w) return true;
  double apart_w = 0;
  for (const double place_w : rest.means) apart_w += std::abs(place_w - mean_w);
  const double rows = static_cast<double>(rest_w.size()) / static_cast<double>(round);
  const double by_chance_w = 1.5 * rest.spread / std::sqrt(rows);
  return apart_w / static_cast<double>(round) <= by_chance_w &&
         by_chance_w <= kVisibleLevel * mean_w;
}

}  // namespace

std::string doubt_of_turns(std::span<const Sample> samples, bool is_only,
                           std::span<const Sample> all) {
  std::vector<double> watts;
  std::vector<double> intervals_s;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    intervals_s.push_back(samples[i].unix_s - samples[i - 1].unix_s);
  }
  const double mean_w = mean_number(watts);
  const std::size_t values = std::set<double>(watts.begin(), watts.end()).size();
  if (watts.size() < kFewestInTurn) return {};
  for (std::size_t round = 2; round <= kMostTurns && round * kFewestRounds <= watts.size();
       ++round) {
    const Places places = places_in(watts, round);
    // Exact patterns are made up, such as i % 7, unless they are as far apart as load and idle.
    const bool is_pattern = values < kFewestValuesInTurn || values <= 2 * round;
    const bool must_be_far = round > 3 || watts.size() < kManyInTurn;
    const double least = must_be_far ? kFarLevels : kClearLevels;
    const bool have_levels = (!is_pattern && places.stay_apart(least * mean_w)) ||
                             (round == 2 && places.stay_apart(kLoadAndIdle * mean_w));
    if (have_levels && !rest_alike(all, places)) {
      return fmt::format("the power of {} rows before in each row, and not that of the row before",
                         round);
    }
    if (is_only && have_phases(intervals_s, round) && differ_within_rounds(watts, round)) {
      return fmt::format("rows in groups of {}, at the same phases in each of {} rounds", round,
                         watts.size() / round);
    }
  }
  return {};
}

void Alternation::add(double value) {
  constexpr std::size_t kKept = kMost + 1;
  const auto at = [&](std::uint64_t number) -> double& { return last_[number % kKept]; };
  if (count_ >= kMost) {
    for (std::size_t k = 1; k <= kMost; ++k) apart_[k] += std::abs(value - at(count_ - k));
  }
  sum_ += value;
  at(count_++) = value;
}

std::size_t Alternation::period(double least) const {
  if (count_ < 4 * kMost) return 0;
  const double members = static_cast<double>(count_);
  if (apart_[1] < least * sum_ * (members - kMost) / members) return 0;
  for (std::size_t k = 2; k <= kMost; ++k) {
    if (apart_[k] * kMuchAlike < apart_[1]) return k;
  }
  return 0;
}

void SingleSeries::take(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.kind != Reading::Kind::bad_timestamp) take_stamp(reading.unix_s);
    const bool is_power =
        reading.kind == Reading::Kind::power || reading.kind == Reading::Kind::no_device;
    if (is_power) power_.add(reading.watts);
  }
}

void SingleSeries::take_stamp(double unix_s) {
  const double interval_s = unix_s - last_unix_s_;
  if (++stamps_ > 1 && interval_s <= 0 && fault_.empty()) {
    fault_ = interval_s == 0
                 ? fmt::format("two rows have the time {:.3f}", unix_s)
                 : fmt::format("a row at {:.3f} comes after one at {:.3f}", unix_s, last_unix_s_);
  }
  if (stamps_ > 2) {
    ++comparisons_;
    const auto [shorter_s, longer_s] = std::minmax(interval_s, interval_s_);
    changes_ += longer_s > shorter_s * kMuchLonger ? 1 : 0;
  }
  interval_s_ = interval_s;
  last_unix_s_ = unix_s;
}

void SingleSeries::take(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    // Rows per process repeat the reading of their GPU.
    const bool is_same = sample.unix_s == last_.unix_s && sample.watts == last_.watts;
    at_times_.add(sample.unix_s, sample.watts);
    if (times_ > 0 && is_same) continue;
    if (times_ > 0) take_pair(last_, sample);
    if (times_ == 0 || sample.unix_s != last_.unix_s) take_time(sample.unix_s);
    take_stamp(sample.unix_s);
    power_.add(sample.watts);
    groups_.add(sample.unix_s, sample.watts);
    last_ = sample;
  }
}

void SingleSeries::take_time(double unix_s) {
  finish_stamp();
  for (std::size_t i = 0; i < kGrids; ++i) {
    const double off_s = std::abs(std::remainder(unix_s - clock_offset_s_, kGrids_s[i]));
    grids_[i].stamps += off_s < kOffGridS ? 1 : 0;
    const bool is_step = times_ > 0 && unix_s - last_.unix_s <= kEachStep * kGrids_s[i];
    grids_[i].steps += is_step ? 1 : 0;
  }
  ++times_;
}

void SingleSeries::finish_stamp() {
  differing_ += differs_ ? 1 : 0;
  mixed_ += is_mixed_ ? 1 : 0;
  differs_ = is_mixed_ = false;
}

void Groups::add(double unix_s, double watts) {
  if (size_ > 0 && unix_s - last_unix_s_ > kSoonS) finish();
  if (size_ < kMost) watts_[size_] = watts;
  ++size_;
  last_unix_s_ = unix_s;
}

void Groups::finish() {
  if (size_ >= 2 && size_ <= kMost) {
    ++groups_;
    ++of_size_[size_];
    double sum_w = 0;
    for (std::size_t i = 0; i < size_; ++i) sum_w += watts_[i];
    const double mean_w = sum_w / static_cast<double>(size_);
    note_rest(mean_w);
    for (std::size_t i = 0; i < size_; ++i) {
      const double off_w = watts_[i] - mean_w;
      in_course_ += off_w * off_w_[i];
      squares_ += off_w * off_w;
      off_w_[i] = off_w;
    }
    mean_w_ = mean_w;
    size_before_ = size_;
    kept_w_.emplace_back(watts_.begin(), watts_.begin() + static_cast<std::ptrdiff_t>(size_));
    for (std::size_t i = 1; i < size_; ++i) {
      within_.add(std::abs(watts_[i] - watts_[i - 1]));
      power_.add(watts_[i]);
    }
    const double step_w = std::abs(watts_[0] - first_w_);
    if (groups_ > 1 && std::abs(watts_[1] - watts_[0]) >= kAsFarApart * step_w) ++as_far_apart_;
    first_w_ = watts_[0];
  }
  size_ = 0;
}

// Compares the group with the one before.
void Groups::note_rest(double mean_w) {
  double off_w = 0;
  double changed_w = std::abs(mean_w - mean_w_);
  for (std::size_t i = 0; i < size_; ++i) {
    const double own_w = watts_[i] - mean_w;
    off_w = std::max(off_w, std::abs(own_w));
    changed_w = std::max(changed_w, std::abs(own_w - off_w_[i]));
  }
  const bool is_at_rest =
      size_ == size_before_ && off_w > kOtherPower * mean_w && off_w >= kMuchMore * changed_w;
  at_rest_ = is_at_rest ? at_rest_ + 1 : 0;
  const bool is_clear = off_w > kClearlyOther * mean_w;
  longest_at_rest_ = std::max(longest_at_rest_, (is_clear ? 2 : 1) * at_rest_);
}

// Whether the power at one place in the groups is off the groups' mean, among the groups of low or
// of high power: GPUs differ at idle, at work, or both.
bool Groups::have_own_power() const {
  const auto means_w = mapped<double>(kept_w_, mean_number);
  const auto [least_w, most_w] = std::ranges::minmax(means_w);
  const double middle_w = (least_w + most_w) / 2;
  std::array<Moments, 3 * kMost> places;  // of low groups, of high ones, of all
  for (std::size_t i = 0; i < kept_w_.size(); ++i) {
    for (std::size_t j = 0; j < kept_w_[i].size(); ++j) {
      const double off_w = kept_w_[i][j] - means_w[i];
      places[j + (means_w[i] < middle_w ? 0 : kMost)].add(off_w);
      places[j + 2 * kMost].add(off_w);
    }
  }
  return std::ranges::any_of(places, [](const Moments& place) {
    return place.count >= kFewestGroups &&
           std::abs(place.mean()) > kOwnPower * place.standard_error();
  });
}

// Without what the power rises by from group to group, which makes later places higher, too.
bool Groups::have_own_levels() const {
  constexpr double kOwnLevel = 0.01;     // of the power
  constexpr double kMedianError = 1.25;  // of a mean's
  std::vector<std::vector<double>> places(usual_size());
  Moments power;
  for (std::size_t i = 0; i < kept_w_.size(); ++i) {
    const std::vector<double>& group = kept_w_[i];
    if (group.size() != places.size()) continue;
    const double mean_w = mean_number(group);
    const std::size_t before = i - std::min<std::size_t>(i, 1);
    const std::size_t after = std::min(i + 1, kept_w_.size() - 1);
    const double rise_w =
        (mean_number(kept_w_[after]) - mean_number(kept_w_[before])) /
        static_cast<double>(std::max<std::size_t>(after - before, 1) * group.size());
    power.add(mean_w);
    for (std::size_t j = 0; j < group.size(); ++j) {
      const double from_middle =
          static_cast<double>(j) - (static_cast<double>(group.size()) - 1) / 2;
      places[j].push_back(group[j] - mean_w - rise_w * from_middle);
    }
  }
  return std::ranges::any_of(places, [&](const std::vector<double>& off_w) {
    Moments own;
    for (const double one_w : off_w) own.add(one_w);
    const double least_w =
        std::max(kOwnLevel * power.mean(), kMedianError * kOwnPower * own.standard_error());
    return !off_w.empty() && std::abs(quantile_of(off_w, 0.5)) > least_w;
  });
}

bool Groups::step_between_only() const {
  constexpr double kStep = 0.2;  // of the highest power
  constexpr double kUnlikely = 0.02;
  const double highest_w = largest_of<double>(
      0, kept_w_, [](const std::vector<double>& group) { return std::ranges::max(group); });
  std::size_t steps = 0;
  for (std::size_t i = 0; i < kept_w_.size(); ++i) {
    const auto [least_w, most_w] = std::ranges::minmax(kept_w_[i]);
    if (most_w - least_w > kStep * highest_w) return false;
    const bool is_step =
        i > 0 && std::abs(kept_w_[i].front() - kept_w_[i - 1].back()) > kStep * highest_w;
    steps += is_step ? 1 : 0;
  }
  // The first and the last are of the load; its stages may be of whole seconds.
  const double chance = std::pow(static_cast<double>(usual_size()),
                                 -static_cast<double>(std::min<std::size_t>(steps, 2)));
  return chance < kUnlikely;
}

std::size_t Groups::usual_size() const {
  return static_cast<std::size_t>(std::ranges::max_element(of_size_) - of_size_.begin());
}

bool Groups::have_one_size() const {
  return static_cast<double>(of_size_[usual_size()]) >= kOneSize * static_cast<double>(groups_);
}

bool Groups::are_of_one_size(std::uint64_t times) const {
  constexpr std::uint64_t kFewestTimes = 20;
  constexpr std::uint64_t kOdd = 3;  // at both ends, and where a copy was left out
  return times >= kFewestTimes && of_size_[usual_size()] + kOdd >= times;
}

bool Groups::are_of_several() {
  finish();
  if (groups_ < kFewestGroups) return true;  // too few to tell
  if (!have_one_size()) return false;
  const bool have_own_course = in_course_ > kOwnCourse * squares_;
  return longest_at_rest_ >= kLongRest || have_own_power() || have_own_course ||
         (within_.mean() >= kClearlyOther * power_.mean() &&
          static_cast<double>(as_far_apart_) >= kOften * static_cast<double>(groups_));
}

double Groups::Moments::standard_error() const {
  const double variance = std::max(0.0, squares / static_cast<double>(count) - mean() * mean());
  return std::sqrt(variance / static_cast<double>(count));
}

void SingleSeries::take_pair(Sample before, Sample sample) {
  const double interval_s = sample.unix_s - before.unix_s;
  const bool is_other =
      std::abs(sample.watts - before.watts) > kOtherPower * std::max(sample.watts, before.watts);
  intervals_.add(interval_s);
  if (interval_s == 0) is_mixed_ = true;  // a repeated number was left out
  if (interval_s == 0 && is_other) differs_ = true;
  if (interval_s > kSoonS) return;
  ++short_pairs_;
  short_steps_ += is_other ? 1 : 0;
}

bool SingleSeries::come_in_groups() const {
  return changes_ >= kFewest && changes_ * kOneIn > comparisons_;
}

// A few stamps may be damaged.
bool SingleSeries::are_stamps_coarse() const {
  return std::ranges::any_of(grids_, [&](const Grid& grid) {
    return grid.stamps * 4 >= times_ * 3 && grid.steps * 2 + 1 >= times_;
  });
}

std::string SingleSeries::doubt() const {
  constexpr const char* kAdvice =
      "rows that name no GPU may be of several: record a column that identifies the GPU";
  if (!fault_.empty()) return fmt::format("{}; {}", fault_, kAdvice);
  if (const std::size_t rows = power_.period(kClearAlternation); rows > 0) {
    return fmt::format(
        "the power of a row is that of {} rows before, not that of the row before; {}", rows,
        kAdvice);
  }
  if (!come_in_groups()) return {};
  return fmt::format(
      "the rows come in groups: {} of {} intervals between them are more than {} times as long or as short as the one before; {}",
      changes_, comparisons_, kMuchLonger, kAdvice);
}

// A GPU that is asked faster than the stamps has a reading more or less at some of its times.
bool SingleSeries::are_times_full() const {
  const std::uint64_t mixed = mixed_ + (is_mixed_ ? 1 : 0);
  return are_stamps_coarse() && mixed * 2 > times_ && at_times_.are_of_one_size(times_);
}

std::string SingleSeries::full_times_text() const {
  return fmt::format("{} readings at each of its {} times", at_times_.usual_size(), times_);
}

// Over a whole recording, GPUs that are asked each 1.003 s cross a second's end one by one.
std::string SingleSeries::doubt_of_full_times() const {
  const bool have_levels = are_times_full() && at_times_.have_own_levels();
  const bool have_steps =
      are_stamps_coarse() && at_times_.have_one_size() && at_times_.step_between_only();
  return have_levels || have_steps ? full_times_text() : std::string();
}

std::string SingleSeries::doubt_of_device() const {
  const std::uint64_t differing = differing_ + (differs_ ? 1 : 0);
  if (differing >= kFewTimes && differing * kOneTimeIn >= times_ && !are_stamps_coarse()) {
    return fmt::format("two readings or more that differ at {} of its {} times", differing, times_);
  }
  const std::size_t rows = power_.period(kClearAlternation);
  if (rows > 0 && intervals_.period(kClearRhythm) == rows) {
    return fmt::format(
        "{} in groups of {}, and the power of a row is that of {} rows before, not that of the row before",
        differing * 2 > times_ ? "several readings at one time" : "rows", rows, rows);
  }
  if (are_times_full()) {
    if (std::string full = doubt_of_full_times(); !full.empty()) return full;
  }
  Groups groups = groups_;
  return differ_within_groups() && groups.are_of_several() ? groups_text() : std::string();
}

std::string SingleSeries::possible_doubt_of_device() const {
  if (are_times_full()) return full_times_text();
  return differ_within_groups() && groups_.have_one_size() ? groups_text() : std::string();
}

bool SingleSeries::differ_within_groups() const {
  const bool is_soon = short_pairs_ >= kFewTimes && short_steps_ * 2 > short_pairs_;
  return is_soon && come_in_groups() && !are_stamps_coarse();
}

std::string SingleSeries::groups_text() const {
  return fmt::format(
      "rows in groups: {} of its readings come within {} ms of the one before, and {} of them with another power",
      short_pairs_, kSoonS * 1000, short_steps_);
}

}  // namespace aggregate_power
