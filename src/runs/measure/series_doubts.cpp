// Keeps samples of recordings, and finds what speaks against them.
#include "runs/measure/series_doubts.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/telemetry/gpu_names.h"
#include "energy/sensors/same_course.h"
#include "energy/uncertainty/gather.h"
#include "recorders/recorder_context.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostKept = 1 << 17;
constexpr std::size_t kMostStates = 1 << 14;  // of a device
constexpr std::size_t kMostPairs = 3;         // that a message names
constexpr std::size_t kLeastUuid = 8;         // shorter ones may be an index

// By the number of the device, as it was recorded.
std::vector<DeviceSeries> series_of(const Samples& samples, const Telemetry& telemetry) {
  const std::vector<std::string> names = telemetry.devices();
  const std::vector<GpuKey> keys = telemetry.keys();
  std::vector<DeviceSeries> devices;
  for (std::size_t i = 0; i < std::min(samples.devices().size(), names.size()); ++i) {
    DeviceSeries& device = devices.emplace_back();
    device.device = names[i];
    device.samples = samples.devices()[i];
    device.has_uuid = plain_uuid(keys[i].uuid).size() >= kLeastUuid;
    device.is_in_watts = telemetry.facts().unit == PowerUnit::Size::watt;
  }
  return devices;
}

// Unless it is NaN.
void keep(double value, std::vector<double>& values) {
  if (!std::isnan(value) && values.size() < kMostStates) values.push_back(value);
}

// Adds the states of the devices from the stretches in which their power did not change.
void read_states(const Recording& recording, std::span<const energy::ConstantStretch> stretches,
                 std::vector<DeviceSeries>& devices) {
  std::vector<Window> where(devices.size(), kNever);
  for (const energy::ConstantStretch& constant : stretches)
    where[constant.device] = constant.stretch;
  const auto wanted = [](const Telemetry&) {
    return quantity_set(
        {GpuQuantity::utilization_pct, GpuQuantity::temperature_c, GpuQuantity::clock_mhz});
  };
  const auto take = [&](const Batch& batch) {
    if (batch.states.empty()) return;
    for (std::size_t i = 0; i < batch.readings.size(); ++i) {
      const Reading& reading = batch.readings[i];
      if (reading.device >= where.size() || reading.kind == Reading::Kind::bad_timestamp) continue;
      if (!where[reading.device].contains(reading.unix_s)) continue;
      const GpuState& state = batch.states[i];
      keep(state[GpuQuantity::utilization_pct], devices[reading.device].utilization_pct);
      keep(state[GpuQuantity::temperature_c], devices[reading.device].temperature_c);
      keep(state[GpuQuantity::clock_mhz], devices[reading.device].clock_mhz);
    }
  };
  read_whole(recording, {.take = take, .begin = wanted, .may_use_threads = false});
}

double mean_reading_w(std::span<const Sample> samples) {
  return summed(samples, &Sample::watts) / static_cast<double>(samples.size());
}

std::string name_of(const KeptSeries& series) {
  return fmt::format("GPU {} of {}", printable(series.device), printable_path(series.recording));
}

std::set<std::string> names_of_recordings(std::span<const KeptSeries> series) {
  std::set<std::string> names;
  for (const KeptSeries& one : series) names.insert(one.recording);
  return names;
}

// How to count each sensor once, if `shared` of the `more` are in `before`, too.
std::string remedy_of(std::span<const KeptSeries> before, std::span<const KeptSeries> more,
                      std::size_t shared) {
  const std::set<std::string> own = names_of_recordings(more);
  if (shared == more.size() && own.size() == 1) {
    return fmt::format("leave out {}", printable_path(*own.begin()));
  }
  const std::set<std::string> first = names_of_recordings(before);
  if (shared == before.size() && first.size() == 1) {
    return fmt::format("leave out {}", printable_path(*first.begin()));
  }
  return "name the GPUs that count with --gpus, each once";
}

// The series of `more` that follow the course of one `before`, each with it.
struct SharedCourses {
  std::vector<std::string> pairs;
  Sameness sameness = Sameness::none;
};
SharedCourses shared_courses(std::span<const KeptSeries> before, std::span<const KeptSeries> more) {
  SharedCourses shared;
  energy::OneCourse course;
  for (const KeptSeries& own : more) {
    if (own.samples.size() < energy::kFewestOfCourse) continue;
    for (const KeptSeries& other : before) {
      const std::size_t pairs = before.size() * more.size();
      if (!energy::is_worth_comparing(other.device, own.device, pairs)) continue;
      const DeviceSeries a{other.device, other.samples};
      const DeviceSeries b{own.device, own.samples};
      const auto found = energy::one_course(a, b);
      if (!found) continue;
      course.add(*found, a, b, before.size());
      shared.pairs.push_back(fmt::format("{} and {}", name_of(other), name_of(own)));
      break;
    }
  }
  shared.sameness = course.sameness(std::min(before.size(), more.size()));
  return shared;
}

// Their rows are sorted by series, and each series by its times.
bool is_sorted_form(const SeriesFacts& facts) {
  constexpr std::string_view kForms[] = {"prometheus", "victoriametrics", "grafana"};
  return std::ranges::any_of(kForms,
                             [&](std::string_view form) { return facts.schema.starts_with(form); });
}

bool is_same_row(const Sample& a, const Sample& b) {
  return a.unix_s == b.unix_s && a.watts == b.watts;
}

// Rows that a file has twice, as where it was appended to itself. Passes of a steady power are
// none, unless they begin and end together.
bool are_copies(std::span<const Sample> samples, bool is_joined) {
  constexpr std::size_t kMostOdd = 2;  // at the ends
  constexpr std::size_t kFewestValues = 5;
  std::size_t odd = 0;
  std::set<double> values;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool is_alone = (i == 0 || !is_same_row(samples[i - 1], samples[i])) &&
                          (i + 1 == samples.size() || !is_same_row(samples[i + 1], samples[i]));
    odd += is_alone ? 1 : 0;
    if (values.size() < kFewestValues) values.insert(samples[i].watts);
  }
  return odd <= kMostOdd && (is_joined || values.size() >= kFewestValues);
}

std::string one_series_text(std::string_view device) {
  return fmt::format(
      "the rows of GPU {} go through the same time twice, with other readings: it seems to be several GPUs",
      printable(device));
}

std::string shared_text(const energy::SharedTime& shared, std::string_view device) {
  const Window both = shared.window();
  const energy::ClockPass& earlier = shared.earlier;
  const double interval_s =
      (earlier.last_unix_s - earlier.first_unix_s) / static_cast<double>(earlier.rows - 1);
  return fmt::format(
      "the stamps of GPU {} go back by {} after {}, and rows of both passes are from {} to {}: the clock was set back, a local hour was shown twice, or two clocks wrote one file",
      printable(device),
      difference_in_words(shared.earlier.last_unix_s + interval_s - shared.later.first_unix_s),
      unix_and_iso(shared.earlier.last_unix_s), unix_and_iso(both.start_unix_s),
      unix_and_iso(both.end_unix_s));
}

// The standard error of a mean: readings of a power that changes miss a part of it.
double mean_error_w(std::span<const Sample> samples) {
  const double mean_w = mean_reading_w(samples);
  double square = 0;
  for (const Sample& sample : samples) square += (sample.watts - mean_w) * (sample.watts - mean_w);
  return std::sqrt(square) / static_cast<double>(samples.size());
}

// The means of two columns of one power in the window.
struct PowersApart {
  double own_w = 0;
  double other_w = 0;
  bool is_sure = false;

  double ratio() const { return std::max(own_w, other_w) / std::min(own_w, other_w); }
};

std::optional<PowersApart> powers_apart(std::span<const Sample> own, std::span<const Sample> other,
                                        Window window) {
  constexpr double kMostApart = 0.16;  // as between counter and power
  constexpr double kShort_s = 20;      // where a second at either edge counts
  constexpr double kSurely = 4;        // standard errors
  if (own.empty() || other.empty()) return std::nullopt;
  const Window both = {std::max(window.start_unix_s, own.front().unix_s),
                       std::min(window.end_unix_s, own.back().unix_s)};
  own = samples_in(own, both);
  other = samples_in(other, both);
  if (both.duration_s() < kShort_s || own.empty() || other.empty()) return std::nullopt;
  PowersApart apart{mean_reading_w(own), mean_reading_w(other)};
  if (apart.other_w == 0) return std::nullopt;  // as drivers fill what a GPU lacks
  const double most_w = kMostApart * std::max(apart.own_w, apart.other_w);
  const double apart_w = std::abs(apart.other_w - apart.own_w);
  if (apart_w <= most_w) return std::nullopt;
  apart.is_sure = apart_w > most_w + kSurely * std::hypot(mean_error_w(own), mean_error_w(other));
  return apart;
}

// Recorders write a power as it is now and its mean over some time; N/A is no reading.
void compare_with_same(const Recording& recording, const SeriesFacts& facts,
                       std::span<const DeviceSeries> devices, Window window,
                       energy::WindowDoubts& doubts) {
  for (const std::string& name : facts.same_power) {
    // May meet a load of a steady rhythm in one phase again and again, where a mean sees all of it.
    constexpr double kBeyondRhythm = 1.9;
    const std::string lower = lower_ascii(name);
    const bool is_at_once =
        lower.find("instant") != lower.npos || lower.find("current") != lower.npos;
    Telemetry telemetry = recording.open_power(name);
    if (!telemetry.facts().power_column) continue;
    Samples samples(window);
    telemetry.read([&](std::span<const Reading> readings) { samples.take(readings); });
    samples.sort();
    for (const DeviceSeries& other : series_of(samples, telemetry)) {
      const auto own = std::ranges::find(devices, other.device, &DeviceSeries::device);
      if (own == devices.end()) continue;
      const auto apart = powers_apart(own->samples, other.samples, window);
      if (!apart) continue;
      (apart->is_sure && (!is_at_once || apart->ratio() > kBeyondRhythm) ? doubts.certain
                                                                         : doubts.possible)
          .add(
              Reason::implausible_power,
              fmt::format(
                  "GPU {}: the mean of {} is {:.6g} W in the window, and of {} {:.6g} W: one of them is wrong; choose with --power-column",
                  printable(own->device), printable(facts.sensor.name), apart->own_w,
                  printable(name), apart->other_w));
    }
  }
}

}  // namespace

void SeriesKeeper::take(std::span<const Reading> readings) {
  passes_.take(readings);
  if (samples_.size() >= kMostKept) {
    if (is_narrow_) return;
    samples_.narrow(gathered_around(window_));
    is_narrow_ = true;
  }
  samples_.take(readings);
  for (const Reading& reading : readings) {
    if (reading.device == kNoDevice) continue;
    if (reading.kind != Reading::Kind::no_power) continue;
    if (reading.device >= powerless_.size()) powerless_.resize(reading.device + 1);
    ++powerless_[reading.device];
  }
}

std::vector<std::uint32_t> SeriesKeeper::silent() const {
  constexpr std::uint64_t kFewestRows = 10;
  std::vector<std::uint32_t> devices;
  for (std::uint32_t i = 0; i < powerless_.size(); ++i) {
    const bool has_any = i < samples_.devices().size() && !samples_.devices()[i].empty();
    if (!has_any && powerless_[i] >= kFewestRows) devices.push_back(i);
  }
  return devices;
}

const Samples& SeriesKeeper::finish() {
  samples_.sort();
  return samples_;
}

void keep_series(const Samples& samples, std::span<const std::string> names, Window window,
                 const std::string& recording, SeriesSink& sink) {
  for (std::size_t i = 0; i < std::min(samples.devices().size(), names.size()); ++i) {
    std::span<const Sample> all = samples.devices()[i];
    const auto before = std::ranges::lower_bound(all, window.start_unix_s, {}, &Sample::unix_s);
    const std::size_t in_front = static_cast<std::size_t>(before - all.begin());
    const std::size_t spare = all.size() - std::min(all.size(), sink.most);
    all = all.subspan(std::min(in_front, spare));
    all = all.first(std::min(all.size(), sink.most));
    if (!all.empty()) sink.kept.push_back({recording, names[i], {all.begin(), all.end()}});
  }
}

Reasons clock_doubts(const Recording& recording, const Telemetry& telemetry,
                     const SeriesKeeper& keeper, Window window) {
  Reasons doubts;
  const energy::ClockPasses& passes = keeper.passes();
  if (auto text = recording.clock_contradiction(
          telemetry, {passes.extent(), passes.last_unix_s(), passes.falls()})) {
    doubts.add(Reason::timezone_contradicts_clocks, std::move(*text));
  }
  for (const AmbiguousHour& hour : telemetry.ambiguous_hours()) {
    const bool is_apart = hour.window.start_unix_s >= window.end_unix_s ||
                          hour.window.end_unix_s <= window.start_unix_s;
    if (!is_apart) doubts.add(Reason::clock_set_back, hour.text);
  }
  if (is_sorted_form(telemetry.facts())) return doubts;
  for (const energy::SharedTime& shared : passes.shared()) {
    const auto& devices = keeper.samples().devices();
    const std::span<const Sample> samples =
        shared.device < devices.size() ? samples_in(devices[shared.device], shared.window())
                                       : std::span<const Sample>();
    if (samples.empty() || are_copies(samples, shared.is_joined)) continue;
    const std::string& device = telemetry.devices()[shared.device];
    if (shared.is_joined) {
      doubts.add(Reason::several_gpus_in_one_series, one_series_text(device));
    } else {
      doubts.add(Reason::clock_set_back, shared_text(shared, device));
    }
  }
  return doubts;
}

Reasons small_clock_doubts(const Recording& recording, const Telemetry& telemetry,
                           const SeriesKeeper& keeper, Window window) {
  Reasons doubts;
  if (const auto step_s = clock_step_s(window, recorder_context(recording).clock_pairs)) {
    doubts.add(
        Reason::clock_set_back,
        fmt::format(
            "by the clock_pairs beside {}, its clock was set {} by {:.1f} s while the window was recorded: the time and the energy may be off by as much",
            printable_path(recording.path()), *step_s > 0 ? "forward" : "back", std::abs(*step_s)));
  } else if (const auto fall = keeper.passes().small_fall(window)) {
    doubts.add(
        Reason::clock_set_back,
        fmt::format(
            "the stamps of GPU {} go back after {}, as of a clock that was set back by {:.1f} s, and are regular before and after that: the energy lacks as much time, unless two recordings overlap there",
            printable(telemetry.devices()[fall->device]), unix_and_iso(fall->at_unix_s),
            fall->back_s));
  }
  return doubts;
}

void add_clock_doubts(const Reasons& clock, Reasons& doubts) {
  if (clock.empty()) return;
  Reasons all = clock;
  doubts.remove(Reason::several_gpus_in_one_series);
  if (clock.contains(Reason::timezone_contradicts_clocks) ||
      clock.contains(Reason::clock_set_back)) {
    doubts.remove(Reason::load_outside_window);
    doubts.remove(Reason::clock_offset_suspected);
  }
  all.add(doubts);
  doubts = std::move(all);
}

Reasons possible_series_doubts(const Samples& samples, const Telemetry& telemetry,
                               const SeriesRules& rules) {
  std::vector<DeviceSeries> devices = series_of(samples, telemetry);
  std::erase_if(devices, [](const DeviceSeries& device) { return device.samples.empty(); });
  return possible_series_reasons(devices, rules);
}

Reasons series_doubts(const Recording& recording, SeriesKeeper& series, const Telemetry& telemetry,
                      const SeriesRules& rules) {
  std::vector<DeviceSeries> devices = series_of(series.finish(), telemetry);
  const std::vector<energy::ConstantStretch> constant = energy::constant_stretches(devices, rules);
  if (!constant.empty()) {
    try {
      read_states(recording, constant, devices);
    } catch (const std::exception&) {  // it changed meanwhile; the power was read
    }
  }
  std::erase_if(devices, [](const DeviceSeries& device) { return device.samples.empty(); });
  return series_reasons(devices, rules);
}

energy::WindowDoubts same_power_doubts(const Recording& recording, const Telemetry& telemetry,
                                       const Samples& samples, Window window) {
  energy::WindowDoubts doubts;
  try {
    compare_with_same(recording, telemetry.facts(), series_of(samples, telemetry), window, doubts);
  } catch (const std::exception&) {  // it changed meanwhile; the power was read
  }
  return doubts;
}

SharedSensors shared_sensors(std::span<const KeptSeries> before, std::span<const KeptSeries> more,
                             bool are_hosts) {
  std::vector<std::string> certain;
  std::vector<std::string> possible;
  const SharedCourses courses = shared_courses(before, more);
  for (const KeptSeries& own : more) {
    for (const KeptSeries& other : before) {
      const Sameness same = sameness(other.samples, own.samples, true);
      if (same == Sameness::none) continue;
      (same == Sameness::certain ? certain : possible)
          .push_back(fmt::format("{} and {}", name_of(other), name_of(own)));
      break;
    }
  }
  const auto first = [](const std::vector<std::string>& pairs) {
    const std::size_t shown = std::min(pairs.size(), kMostPairs);
    std::string text = joined_text(std::span(pairs).first(shown), ", of ");
    if (shown < pairs.size()) text += fmt::format(", and of {} more", pairs.size() - shown);
    return text;
  };
  const std::string remedy =
      are_hosts ? "one of the hosts was not recorded: give each its own recording"
                : remedy_of(before, more, std::max(certain.size(), possible.size()));
  SharedSensors shared;
  if (certain.empty() && courses.sameness != Sameness::none) {
    const bool are_one = courses.sameness == Sameness::certain;
    const std::string text = fmt::format(
        "the readings of {} agree between each other's times, too: they {} of one GPU{}; {}",
        first(courses.pairs), are_one ? "are" : "may be",
        are_one ? "" : ", whose energy then counts twice",
        are_hosts ? remedy : remedy_of(before, more, courses.pairs.size()));
    if (are_one) {
      shared.reasons.add(Reason::same_sensor, text);
    } else {
      shared.warnings.push_back(text);
    }
  } else if (!certain.empty()) {
    shared.reasons.add(
        Reason::same_sensor,
        fmt::format("the readings of {} are the same at all times: they are of one sensor; {}",
                    first(certain), remedy));
  } else if (!possible.empty()) {
    shared.warnings.push_back(fmt::format(
        "the readings of {} are equal at all times, but of few values: they may be of the same GPU, whose energy then counts twice; if so, {}",
        first(possible), remedy));
  }
  return shared;
}

}  // namespace aggregate_power
