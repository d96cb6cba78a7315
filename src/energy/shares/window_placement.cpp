// Slides a window of fixed length along the power of all devices.
#include "energy/shares/window_placement.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace aggregate_power {
namespace {

constexpr double kKept_s = 15;        // of the range is kept, to see what lies beside the load
constexpr double kBeside_s = 5;       // of power is compared on either side of an edge
constexpr double kClearShare = 0.05;  // of the load's power is a clear step
constexpr double kSurelyIdle = 0.05;  // of the load's power above idle is surely none of its tail
constexpr double kQuietShare = 0.15;  // of the load's power above idle is no load
constexpr double kMostIdle = 0.35;    // the same of idle power next to the load, above the least
constexpr double kLeastLoad = 0.1;    // of the energy above idle of another place is no load
constexpr double kBusyShare = 0.25;   // of the load's power above idle is another load
constexpr double kSensor_s = 1;       // the longest common averaging of a sensor
constexpr double kSlack_s = 0.5;      // a load may show itself so much later, or longer
constexpr double kDeviations = 2;     // on either side, of what readings leave out
constexpr double kStep_s = 0.1;
constexpr double kMostSteps = 2000;
constexpr double kMostCells = 20'000;

// The power of one device.
struct PlacedDevice {
  std::span<const Sample> samples;
  std::vector<double> energy_j = {0};  // up to each sample

  explicit PlacedDevice(std::span<const Sample> all) : samples(all) {
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const Sample& before = samples[i - 1];
      const Sample& sample = samples[i];
      energy_j.push_back(energy_j.back() +
                         (sample.unix_s - before.unix_s) * (sample.watts + before.watts) / 2);
    }
  }
  double energy_until_j(double unix_s) const;
  bool covers(double start_s, double end_s) const {
    return samples.front().unix_s <= start_s && samples.back().unix_s >= end_s;
  }
};

struct Candidate {
  double start_s = 0;
  double energy_j = 0;
  bool begins = false;  // power rises from idle where it starts
  bool ends = false;    // and falls to idle where it ends
  bool cuts = false;    // power goes on beyond an end
  bool is_excluded = false;
  bool is_alone = false;
  bool is_extra = false;  // beside the steps through the range

  bool fits() const { return is_alone && !is_excluded; }
};

double PlacedDevice::energy_until_j(double unix_s) const {
  const auto next = std::ranges::upper_bound(samples, unix_s, {}, &Sample::unix_s);
  if (next == samples.begin()) return 0;
  const auto i = static_cast<std::size_t>(next - samples.begin()) - 1;
  if (next == samples.end()) return energy_j[i];
  const double share = (unix_s - samples[i].unix_s) / (next->unix_s - samples[i].unix_s);
  const double watts = samples[i].watts + share * (next->watts - samples[i].watts);
  return energy_j[i] + (unix_s - samples[i].unix_s) * (samples[i].watts + watts) / 2;
}

// The power next to a load, and its mean.
struct LoadLevels {
  double least_w = 0;  // of the recording
  double idle_w = 0;
  double load_w = 0;

  double at_w(double share) const { return idle_w + share * (load_w - idle_w); }
};

struct Placing {
  PlacementRange range;
  std::vector<PlacedDevice> devices;

  std::optional<double> energy_j(double start_s, double end_s) const;
  std::optional<double> mean_w(double start_s, double end_s) const;
  std::size_t steps() const;
  std::vector<Candidate> candidates() const;  // those that every device covers
  void add_candidate(double start_s, std::vector<Candidate>& all) const;
  Window covered() const;
  double period_s() const;
  double resolution_s() const { return std::max(kSensor_s, period_s()); }
  std::optional<LoadLevels> levels(const Candidate& highest) const;
  double unseen_j(Window window) const;
};

std::optional<double> Placing::energy_j(double start_s, double end_s) const {
  double sum_j = 0;
  for (const PlacedDevice& device : devices) {
    if (!device.covers(start_s, end_s)) return std::nullopt;
    sum_j += device.energy_until_j(end_s) - device.energy_until_j(start_s);
  }
  return sum_j;
}

std::optional<double> Placing::mean_w(double start_s, double end_s) const {
  if (!(end_s > start_s)) return std::nullopt;
  const auto energy = energy_j(start_s, end_s);
  return energy ? std::optional(*energy / (end_s - start_s)) : std::nullopt;
}

std::size_t Placing::steps() const {
  const double length_s = std::max(range.latest_start_s - range.earliest_start_s, 0.0);
  const double step_s = std::max(kStep_s, std::min(length_s / kMostSteps, range.duration_s / 2));
  return static_cast<std::size_t>(std::clamp(std::ceil(length_s / step_s), 1.0, kMostCells));
}

void Placing::add_candidate(double start_s, std::vector<Candidate>& all) const {
  if (const auto energy = energy_j(start_s, start_s + range.duration_s)) {
    all.push_back({start_s, *energy});
  }
}

std::vector<Candidate> Placing::candidates() const {
  const double length_s = std::max(range.latest_start_s - range.earliest_start_s, 0.0);
  std::vector<Candidate> all;
  for (std::size_t i = 0; i <= steps(); ++i) {
    add_candidate(
        range.earliest_start_s + length_s * static_cast<double>(i) / static_cast<double>(steps()),
        all);
  }
  return all;
}

// The longest mean interval between the samples of a device.
double Placing::period_s() const {
  double longest_s = 0;
  for (const PlacedDevice& device : devices) {
    const double span_s = device.samples.back().unix_s - device.samples.front().unix_s;
    const auto intervals = static_cast<double>(device.samples.size()) - 1;
    if (intervals > 0) longest_s = std::max(longest_s, span_s / intervals);
  }
  return longest_s;
}

Window Placing::covered() const {
  Window all = placement_surroundings(range);
  for (const PlacedDevice& device : devices) {
    all.start_unix_s = std::max(all.start_unix_s, device.samples.front().unix_s);
    all.end_unix_s = std::min(all.end_unix_s, device.samples.back().unix_s);
  }
  return all;
}

// Idle is the power next to the place with the highest energy, or the least power where another
// load is next to it. Returns nullopt if no load stands out.
std::optional<LoadLevels> Placing::levels(const Candidate& highest) const {
  const Window all = covered();
  const double beside_s = std::min(kBeside_s, range.duration_s / 2);
  const double short_s = std::max(kStep_s, std::min(beside_s, std::max(2.0, 2 * period_s())));
  const double step_s = std::max(short_s / 2, all.duration_s() / kMostCells);
  const double load_w = highest.energy_j / range.duration_s;
  double least_w = load_w;
  for (double at_s = all.start_unix_s; at_s + short_s <= all.end_unix_s; at_s += step_s) {
    least_w = std::min(least_w, mean_w(at_s, at_s + short_s).value_or(least_w));
  }
  if (!(load_w - least_w >= kClearShare * load_w && load_w > 0)) return std::nullopt;
  LoadLevels levels{least_w, least_w, load_w};
  const double end_s = highest.start_s + range.duration_s;
  const double before_w = mean_w(highest.start_s - beside_s, highest.start_s).value_or(load_w);
  const double after_w = mean_w(end_s, end_s + beside_s).value_or(load_w);
  if (std::max(before_w, after_w) <= levels.at_w(kMostIdle)) {
    levels.idle_w = std::max(least_w, std::min(before_w, after_w));
  }
  return levels;
}

// The standard deviation that an energy has because readings are moments: a step between two of
// them is anywhere between them.
double Placing::unseen_j(Window window) const {
  double variance_j2 = 0;
  for (const PlacedDevice& device : devices) {
    const std::span<const Sample> inside = samples_in(device.samples, window);
    for (std::size_t i = 1; i < inside.size(); ++i) {
      const double step_j =
          (inside[i].watts - inside[i - 1].watts) * (inside[i].unix_s - inside[i - 1].unix_s);
      variance_j2 += step_j * step_j / 12;
    }
  }
  return std::sqrt(variance_j2);
}

// Where the power of a recording is more than idle.
class BusyTime {
 public:
  BusyTime(const Placing& placing, double quiet_w);

  // How long it is idle from an instant on, and up to it.
  double idle_after_s(double unix_s) const;
  double idle_before_s(double unix_s) const;
  bool is_busy_in(double from_s, double to_s) const;
  // Whether it is idle around a window for longer than in it.
  bool stands_alone(Window window, double near_s) const;
  // Whether it begins, or ends, so much before an instant or after it.
  bool begins_near(double unix_s, double before_s, double after_s) const;
  bool ends_near(double unix_s, double before_s, double after_s) const;
  std::span<const Window> stretches() const { return stretches_; }

 private:
  std::vector<Window> stretches_;  // in order, of the stretch that is covered
  Window covered_;
};

BusyTime::BusyTime(const Placing& placing, double quiet_w) : covered_(placing.covered()) {
  const double step_s = std::max(kStep_s, covered_.duration_s() / kMostCells);
  bool was_busy = false;
  for (double at_s = covered_.start_unix_s; at_s + step_s <= covered_.end_unix_s; at_s += step_s) {
    const bool is_busy = placing.mean_w(at_s, at_s + step_s).value_or(0) > quiet_w;
    if (is_busy && !was_busy) stretches_.push_back({at_s, at_s});
    if (is_busy) stretches_.back().end_unix_s = at_s + step_s;
    was_busy = is_busy;
  }
}

double BusyTime::idle_after_s(double unix_s) const {
  const auto next = std::ranges::upper_bound(stretches_, unix_s, {}, &Window::end_unix_s);
  const double until_s = next == stretches_.end() ? covered_.end_unix_s : next->start_unix_s;
  return std::max(0.0, until_s - unix_s);
}

double BusyTime::idle_before_s(double unix_s) const {
  const auto next = std::ranges::lower_bound(stretches_, unix_s, {}, &Window::start_unix_s);
  const double from_s =
      next == stretches_.begin() ? covered_.start_unix_s : std::prev(next)->end_unix_s;
  return std::max(0.0, unix_s - from_s);
}

bool BusyTime::is_busy_in(double from_s, double to_s) const {
  const auto next = std::ranges::upper_bound(stretches_, from_s, {}, &Window::end_unix_s);
  return next != stretches_.end() && next->start_unix_s < to_s;
}

bool BusyTime::begins_near(double unix_s, double before_s, double after_s) const {
  return std::ranges::any_of(stretches_, [&](const Window& busy) {
    const double at_s = busy.start_unix_s;
    return at_s > covered_.start_unix_s && at_s >= unix_s - before_s && at_s <= unix_s + after_s;
  });
}

bool BusyTime::ends_near(double unix_s, double before_s, double after_s) const {
  return std::ranges::any_of(stretches_, [&](const Window& busy) {
    const double at_s = busy.end_unix_s;
    return at_s < covered_.end_unix_s - kStep_s && at_s >= unix_s - before_s &&
           at_s <= unix_s + after_s;
  });
}

bool BusyTime::stands_alone(Window window, double near_s) const {
  constexpr double kPausesAround = 1.5;
  if (stretches_.empty()) return false;
  double pause_s = 0;
  for (std::size_t i = 1; i < stretches_.size(); ++i) {
    const Window pause = {stretches_[i - 1].end_unix_s, stretches_[i].start_unix_s};
    if (pause.start_unix_s <= window.start_unix_s + near_s ||
        pause.end_unix_s >= window.end_unix_s - near_s) {
      continue;
    }
    pause_s = std::max(pause_s, pause.duration_s());
  }
  const auto starts = std::ranges::min_element(stretches_, {}, [&](const Window& busy) {
    return std::abs(busy.start_unix_s - window.start_unix_s);
  });
  const auto ends = std::ranges::min_element(stretches_, {}, [&](const Window& busy) {
    return std::abs(busy.end_unix_s - window.end_unix_s);
  });
  const double least_s = kPausesAround * pause_s;
  const bool is_before = starts == stretches_.begin() ||
                         starts->start_unix_s - std::prev(starts)->end_unix_s >= least_s;
  const bool is_after = std::next(ends) == stretches_.end() ||
                        std::next(ends)->start_unix_s - ends->end_unix_s >= least_s;
  return is_before && is_after;
}

// A load begins with its power, and may end in a tail that the power hardly shows. That excludes a
// place that begins idle and leaves out power that a later one would take in, and one that begins
// in the middle of a load and ends idle.
void judge(Candidate& candidate, const Placing& placing, const LoadLevels& levels,
           const BusyTime& busy) {
  const PlacementRange& range = placing.range;
  const double start_s = candidate.start_s;
  const double end_s = start_s + range.duration_s;
  const double near_s = placing.period_s() + kSlack_s;
  const double of_command_s = range.is_of_command ? placing.resolution_s() : -1;
  candidate.begins =
      busy.begins_near(start_s, near_s, near_s) || start_s <= range.earliest_start_s + of_command_s;
  candidate.ends = busy.ends_near(end_s, near_s, near_s + kSensor_s) ||
                   start_s >= range.latest_start_s - of_command_s;
  candidate.is_alone =
      candidate.begins && candidate.ends && busy.stands_alone({start_s, end_s}, near_s);
  const double lead_s = busy.idle_after_s(start_s);
  const double trail_s = busy.idle_before_s(end_s);
  const bool cuts_begin = !candidate.begins && lead_s == 0;
  candidate.cuts = cuts_begin || (!candidate.ends && trail_s == 0);
  const double most_s = placing.resolution_s() + kSlack_s;
  const auto is_idle = [&](double from_s, double to_s) {
    return to_s - from_s > most_s &&
           placing.mean_w(from_s, to_s).value_or(0) <= levels.at_w(kSurelyIdle);
  };
  const bool begins_idle = is_idle(start_s, start_s + lead_s);
  candidate.is_excluded = (begins_idle && busy.is_busy_in(end_s + near_s, end_s + lead_s)) ||
                          (cuts_begin && is_idle(end_s - trail_s, end_s));
}

// Steps through a long range may miss the edges of a load: adds the places that begin or end with
// one, and those beside them that are near enough.
void add_places_at_edges(const Placing& placing, const BusyTime& busy,
                         std::vector<Candidate>& all) {
  const PlacementRange& range = placing.range;
  const double length_s = range.latest_start_s - range.earliest_start_s;
  const std::span<const Window> stretches = busy.stretches();
  const bool are_few = static_cast<double>(stretches.size()) <= kMostSteps;
  if (length_s <= kStep_s * static_cast<double>(placing.steps()) || !are_few) return;
  const std::size_t steps = all.size();
  const double near_s = placing.period_s() + kSlack_s;
  const auto add_around = [&](double edge_s) {
    for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      const double start_s = edge_s + share * near_s;
      const bool is_inside = start_s >= range.earliest_start_s && start_s <= range.latest_start_s;
      if (is_inside) placing.add_candidate(start_s, all);
    }
  };
  for (const Window& stretch : stretches) {
    add_around(stretch.start_unix_s);
    add_around(stretch.end_unix_s - range.duration_s);
  }
  for (std::size_t i = steps; i < all.size(); ++i) all[i].is_extra = true;
  std::ranges::sort(all, {}, &Candidate::start_s);
}

// The middle of those with the highest energy.
const Candidate& highest(const std::vector<Candidate>& all) {
  constexpr double kEqual = 1e-9;
  const double highest_j = std::ranges::max_element(all, {}, &Candidate::energy_j)->energy_j;
  const auto is_highest = [&](const Candidate& candidate) {
    return candidate.energy_j >= highest_j - kEqual * std::abs(highest_j);
  };
  const auto first = std::ranges::find_if(all, is_highest);
  const auto last = std::find_if_not(first, all.end(), is_highest);
  return *(first + (last - first - 1) / 2);
}

// Whether the GPUs are busy in the part of a placement that the other one leaves out.
bool is_another_load(const Candidate& other, const Candidate& one, const Placing& placing,
                     const LoadLevels& levels) {
  const double length_s = placing.range.duration_s;
  const double end_s = other.start_s + length_s;
  Window outside{std::max(other.start_s, one.start_s + length_s + placing.resolution_s()), end_s};
  if (other.start_s < one.start_s) {
    outside = {other.start_s, std::min(end_s, one.start_s - placing.resolution_s())};
  }
  if (!(outside.duration_s() > 0)) return false;
  const auto outside_w = placing.mean_w(outside.start_unix_s, outside.end_unix_s);
  return outside_w && *outside_w >= levels.at_w(kBusyShare);
}

// Of some places, the one next to which the load is likely to have started.
template <typename Is>
const Candidate* nearest_to(double likely_start_s, const std::vector<Candidate>& all, Is is) {
  const Candidate* nearest = nullptr;
  for (const Candidate& candidate : all) {
    const double far_s = std::abs(candidate.start_s - likely_start_s);
    if (std::invoke(is, candidate) &&
        (!nearest || far_s < std::abs(nearest->start_s - likely_start_s))) {
      nearest = &candidate;
    }
  }
  return nearest;
}

// The middle of the places next to each other that have an edge of the load at the same end.
Candidate middle_at(const Candidate* place, const std::vector<Candidate>& all) {
  const auto is_alike = [&](const Candidate& each) {
    return each.begins == place->begins && each.ends == place->ends;
  };
  const Candidate* first = place;
  const Candidate* last = place;
  while (first != all.data() && is_alike(*(first - 1))) --first;
  while (last + 1 != all.data() + all.size() && is_alike(*(last + 1))) ++last;
  return *(first + (last - first) / 2);
}

// Of the places next to each other that fit, the one with the highest energy.
Candidate best_fit_at(const Candidate* fit, const std::vector<Candidate>& all) {
  const Candidate* first = fit;
  const Candidate* last = fit;
  while (first != all.data() && (first - 1)->fits()) --first;
  while (last + 1 != all.data() + all.size() && (last + 1)->fits()) ++last;
  return highest({first, last + 1});
}

struct Remaining {
  std::vector<Candidate> places;
  Candidate chosen;
  bool is_by_power = false;
};

// What the power does not exclude. Where power continues before the load or after it, each place in
// it remains.
Remaining remaining_places(const Placing& placing, const LoadLevels& levels,
                           std::vector<Candidate> all) {
  const double likely_s = placing.range.likely_start_s;
  const BusyTime busy(placing, levels.at_w(kQuietShare));
  add_places_at_edges(placing, busy, all);
  const double idle_j = levels.least_w * placing.range.duration_s;
  const double highest_j = highest(all).energy_j;
  for (Candidate& candidate : all) {
    judge(candidate, placing, levels, busy);
    if (candidate.energy_j - idle_j < kLeastLoad * (highest_j - idle_j)) {
      candidate.is_excluded = true;
    }
  }
  std::erase_if(all, [](const Candidate& each) { return each.is_extra && !each.fits(); });
  if (const Candidate* const fit = nearest_to(likely_s, all, &Candidate::fits)) {
    const Candidate best = best_fit_at(fit, all);
    std::erase_if(all, [&](const Candidate& each) {
      if (each.fits()) return false;
      const double best_end_s = best.start_s + placing.range.duration_s;
      const double most_s = placing.resolution_s() + placing.period_s() + kSlack_s;
      const bool may_be_later =
          each.start_s > best.start_s && !placing.range.is_of_command &&
          busy.is_busy_in(best_end_s + most_s, each.start_s + placing.range.duration_s);
      return each.is_excluded ||
             (!may_be_later && (each.cuts || !is_another_load(each, best, placing, levels)));
    });
    return {std::move(all), best, true};
  }
  std::erase_if(all, &Candidate::is_excluded);
  if (all.empty()) return {};
  const auto has_edge = [](const Candidate& each) { return each.begins || each.ends; };
  const auto any = [](const Candidate&) { return true; };
  const Candidate* const edge = nearest_to(likely_s, all, has_edge);
  const Candidate chosen = edge ? middle_at(edge, all) : *nearest_to(likely_s, all, any);
  const bool is_by_power = std::ranges::none_of(all, &Candidate::cuts);
  return {std::move(all), chosen, is_by_power};
}

}  // namespace

Window placement_surroundings(PlacementRange range) {
  return {range.earliest_start_s - kKept_s, range.latest_start_s + range.duration_s + kKept_s};
}

std::optional<Placement> find_placement(PlacementRange range, const Samples& samples) {
  Placing placing{range, {}};
  for (const std::vector<Sample>& device : samples.devices()) {
    if (!device.empty()) placing.devices.emplace_back(device);
  }
  const std::vector<Candidate> all = placing.candidates();
  if (placing.devices.empty() || all.empty()) return std::nullopt;
  const std::optional<LoadLevels> levels = placing.levels(highest(all));
  Remaining remaining;
  if (levels) remaining = remaining_places(placing, *levels, all);
  // A placement that the recording does not cover may be the right one.
  if (!remaining.is_by_power && all.size() < placing.steps() + 1) return std::nullopt;
  if (remaining.places.empty()) {
    const auto any = [](const Candidate&) { return true; };
    remaining = {all, *nearest_to(range.likely_start_s, all, any), false};
  }
  const Candidate& chosen = remaining.chosen;
  Placement placement{
      .window = {chosen.start_s, chosen.start_s + range.duration_s},
      .slack = {chosen.start_s - range.earliest_start_s, range.latest_start_s - chosen.start_s},
      .energy_j = chosen.energy_j,
      .low_j = chosen.energy_j,
      .high_j = chosen.energy_j,
      .is_by_power = remaining.is_by_power,
      .is_in_command = range.is_of_command};
  const double near_s = 2 * (placing.resolution_s() + placing.period_s() + kSlack_s);
  const auto is_elsewhere = [&](const Candidate& each) {
    return each.fits() == chosen.fits() && std::abs(each.start_s - chosen.start_s) > near_s;
  };
  for (const Candidate& candidate : remaining.places) {
    placement.low_j = std::min(placement.low_j, candidate.energy_j);
    placement.high_j = std::max(placement.high_j, candidate.energy_j);
    placement.half_width_s =
        std::max(placement.half_width_s, std::abs(candidate.start_s - chosen.start_s));
    if (is_elsewhere(candidate)) {
      placement.elsewhere_j =
          std::max(placement.elsewhere_j, std::abs(candidate.energy_j - chosen.energy_j));
    }
  }
  if (!levels || placing.range.latest_start_s <= placing.range.earliest_start_s) return placement;
  // A step that is smeared over s seconds leaves an eighth of s outside of the best placement,
  // which has as much at either end. Straight lines between moments leave up to half an interval
  // outside, those between means less.
  const double smeared_s = (kSensor_s + 3 * placing.period_s()) / 8;
  const double unseen_j = kDeviations * placing.unseen_j(placement.window);
  placement.low_j -= unseen_j;
  const double edges = remaining.is_by_power ? 2 : 1;
  placement.high_j += unseen_j + edges * smeared_s * (levels->load_w - levels->idle_w);
  placement.half_width_s = std::max(placement.half_width_s, placing.resolution_s() / 2);
  return placement;
}

}  // namespace aggregate_power
