// Compares the times and the power of rows that follow each other.
#include "core/energy/single_series.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace aggregate_power {
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
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
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
  differs_ = false;
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
  std::vector<double> means_w;
  for (const std::vector<double>& group : kept_w_) means_w.push_back(mean_number(group));
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

bool Groups::have_one_size() const {
  const std::uint64_t usual = *std::ranges::max_element(of_size_);
  return static_cast<double>(usual) >= kOneSize * static_cast<double>(groups_);
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
  Groups groups = groups_;
  return differ_within_groups() && groups.are_of_several() ? groups_text() : std::string();
}

std::string SingleSeries::possible_doubt_of_device() const {
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
