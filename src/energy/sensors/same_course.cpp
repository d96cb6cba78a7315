// Interpolates one device's readings to the times of the other's.
#include "energy/sensors/same_course.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text/characters.h"
#include "core/energy/recording_summary.h"
#include "core/telemetry/samples.h"

namespace aggregate_power::energy {
namespace {

constexpr double kFewestAtLevel = 5;
constexpr double kFarApart = 0.03;       // of an interval
constexpr double kLeastStepShare = 0.3;  // of the highest reading
constexpr double kSteep = 0.1;           // of the range, from reading to reading, is an edge
constexpr double kSameLevel = 0.001;
constexpr double kErrors = 2.5;         // of a mean
constexpr double kMostResidual = 0.75;  // of what varies
// Of 62 pairs of GPUs of one job, 3 % differ by less than 0.1 %, 11 % by less than 0.5 %.
constexpr double kChancePerShare = 25;
constexpr double kLeastVaried = 0.002;

// Readings of both at one level.
struct Level {
  double count = 0;
  double sum_w = 0;
  double squares = 0;
  double off_w = 0;
  double off_squares = 0;

  void add(double watts, double off) {
    ++count;
    sum_w += watts;
    squares += watts * watts;
    off_w += off;
    off_squares += off * off;
  }
  double mean_w() const { return sum_w / count; }
  double varied() const { return std::max(0.0, squares - sum_w * sum_w / count); }
  // The share of its power within which it is the same.
  double tolerance() const {
    return std::max(kSameLevel, kErrors * std::sqrt(off_squares) / std::max(sum_w, 1e-9));
  }
  bool is_same() const { return std::abs(off_w) <= tolerance() * sum_w; }
};

// The last digit of the readings, roughly: a difference below it says nothing.
double digit_of(std::span<const Sample> samples) {
  const bool are_whole = std::ranges::all_of(
      samples, [](const Sample& sample) { return sample.watts == std::floor(sample.watts); });
  return are_whole ? 1 : 0.01;
}

struct BothLevels {
  Level low;
  Level high;
  Level all;  // with the edges
  std::vector<double> apart_s;
};

BothLevels compared_levels(std::span<const Sample> few, std::span<const Sample> many) {
  constexpr double kLongPause = 2.5;
  const auto [least, most] = std::ranges::minmax(many, {}, &Sample::watts);
  const double most_s = kLongPause * mean_step_s(many);
  const double range_w = most.watts - least.watts;
  const bool has_step =
      range_w > kLeastStepShare * most.watts;  // else noise has no edges and one level
  const double middle_w = has_step ? least.watts + range_w / 2 : 0;
  const double steep_w = has_step ? kSteep * range_w : range_w;
  BothLevels levels;
  std::size_t at = 1;
  for (const Sample& sample : few) {
    while (at + 1 < many.size() && many[at].unix_s < sample.unix_s) ++at;
    const Sample& before = many[at - 1];
    const Sample& after = many[at];
    const double between_s = after.unix_s - before.unix_s;
    if (sample.unix_s < before.unix_s || sample.unix_s > after.unix_s || between_s <= 0) continue;
    if (between_s > most_s) continue;
    const double part = (sample.unix_s - before.unix_s) / between_s;
    const double watts = before.watts + part * (after.watts - before.watts);
    levels.all.add(watts, sample.watts - watts);
    if (std::abs(after.watts - before.watts) > steep_w) continue;
    levels.apart_s.push_back(std::min(part, 1 - part) * between_s);
    (watts < middle_w ? levels.low : levels.high).add(watts, sample.watts - watts);
  }
  return levels;
}

// Of bursts, only the mean and idle power can be compared: readings between two high ones are low.
std::optional<Course> course_of_bursts(const BothLevels& levels) {
  constexpr double kFlat = 0.03;
  const Level& low = levels.low;
  const bool has_idle =
      low.count >= kFewestAtLevel && std::sqrt(low.varied() / low.count) <= kFlat * low.mean_w();
  if (!has_idle || !low.is_same() || !levels.all.is_same()) return std::nullopt;
  return Course{std::min(1.0, kChancePerShare * low.tolerance()), false};
}

std::optional<Course> course_by(const BothLevels& levels, double digit_w) {
  Course course;
  double varied = 0;
  double residual = 0;
  double count = 0;
  double sum_w = 0;
  for (const Level& level : {levels.low, levels.high}) {
    if (level.count < kFewestAtLevel) continue;
    if (!level.is_same()) return course_of_bursts(levels);
    course.chance = std::min(course.chance, kChancePerShare * level.tolerance());
    varied += level.varied();
    residual += level.off_squares;
    count += level.count;
    sum_w += level.sum_w;
  }
  const double varied_w = std::sqrt(varied / count);
  if (!(varied_w >= std::max(kLeastVaried * sum_w / count, 2 * digit_w))) return std::nullopt;
  course.is_in_step = residual <= kMostResidual * kMostResidual * varied;
  return course;
}

// By the number in the last part: "cuda:0" and "node1/0".
bool have_one_number(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view name) {
    std::string digits;
    for (const char c : name.substr(name.rfind('/') + 1)) {
      if (is_ascii_digit(c)) digits += c;
    }
    return digits;
  };
  constexpr std::size_t kMostDigits = 3;  // UUIDs and addresses have more
  const std::string own = number(a);
  return !own.empty() && own.size() <= kMostDigits && own == number(b);
}

}  // namespace

std::optional<Course> one_course(const DeviceSeries& first, const DeviceSeries& second) {
  const std::span<const Sample> a = first.samples;
  const std::span<const Sample> b = second.samples;
  if (a.size() < kFewestOfCourse || b.size() < kFewestOfCourse) return std::nullopt;
  const Window both = {std::max(a.front().unix_s, b.front().unix_s),
                       std::min(a.back().unix_s, b.back().unix_s)};
  std::span<const Sample> few = samples_in(a, both);
  std::span<const Sample> many = samples_in(b, both);
  if (few.size() > many.size()) std::swap(few, many);
  if (few.size() < kFewestOfCourse) return std::nullopt;
  if (std::ranges::equal(few, many, {}, &Sample::unix_s, &Sample::unix_s)) return std::nullopt;
  const BothLevels levels = compared_levels(few, many);
  if (levels.apart_s.size() < kFewestOfCourse) return std::nullopt;
  if (quantile_of(levels.apart_s, 0.5) < kFarApart * mean_step_s(many)) return std::nullopt;
  const std::optional<Course> course = course_by(levels, digit_of(few));
  const bool is_enough =
      course && (course->is_in_step || have_one_number(first.device, second.device));
  return is_enough ? course : std::nullopt;
}

bool is_worth_comparing(std::string_view a, std::string_view b, std::size_t pairs) {
  constexpr std::size_t kMostPairs = 1 << 16;
  return pairs <= kMostPairs || have_one_number(a, b);
}

void OneCourse::add(const Course& course, const DeviceSeries& a, const DeviceSeries& b,
                    std::size_t others) {
  ++matched_;
  const double tries = have_one_number(a.device, b.device) ? 1 : static_cast<double>(others);
  chance_ *= std::min(1.0, course.chance * tries);
  are_in_step_ = are_in_step_ && course.is_in_step;
}

Sameness OneCourse::sameness(std::size_t expected) const {
  constexpr double kUnlikely = 0.03;
  constexpr double kLessLikely = 0.15;
  if (matched_ == 0 || 2 * matched_ < expected || chance_ > kLessLikely) return Sameness::none;
  const bool are_all = matched_ >= expected;
  if (!are_in_step_) return are_all ? Sameness::possible : Sameness::none;
  return are_all && chance_ <= kUnlikely ? Sameness::certain : Sameness::possible;
}

}  // namespace aggregate_power::energy
