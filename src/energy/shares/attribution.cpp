// Sweeps over intervals in the order of time.
#include "energy/shares/attribution.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <queue>
#include <unordered_map>

namespace aggregate_power {
namespace {

// An interval that began.
struct OpenInterval {
  TraceInterval interval;
  bool is_short = false;
  CarriedSum energy_j;
  CarriedSum time_s;
};

// Intervals of one track that are open, in the order in which they began.
struct OpenTrack {
  std::map<std::uint64_t, OpenInterval> open;  // by End::number
  // Since when the one that gets power has been getting it.
  double since_s = 0;
  CarriedSum since_j;
};

struct End {
  double end_s = 0;
  std::uint64_t number = 0;  // of those that end together, the one that began last ends first
  std::size_t track = 0;
};

bool ends_later(const End& a, const End& b) {
  return a.end_s != b.end_s ? a.end_s > b.end_s : a.number < b.number;
}

class Sweep {
 public:
  Sweep(const PowerTrace& power, const AttributionRules& rules, EnergyShares& shares)
      : power_(power), rules_(rules), shares_(shares), now_s_(rules.window.start_unix_s) {}

  void take(TraceInterval interval) {
    const Window& window = rules_.window;
    const double length_s = interval.end_s - interval.start_s;
    interval.start_s += rules_.shift_s;
    interval.end_s += rules_.shift_s;
    if (interval.end_s < window.start_unix_s || interval.start_s > window.end_unix_s) {
      ++shares_.outside;
      return;
    }
    interval.start_s = std::max(interval.start_s, window.start_unix_s);
    interval.end_s = std::min(interval.end_s, window.end_unix_s);
    close_until(interval.start_s);
    advance(interval.start_s);
    open(interval, length_s);
  }

  void conclude() {
    close_until(rules_.window.end_unix_s);
    advance(rules_.window.end_unix_s);
  }

 private:
  void open(const TraceInterval& interval, double length_s) {
    const std::size_t place = track_of(interval);
    OpenTrack& track = tracks_[place];
    if (!track.open.empty()) settle(track);
    if (track.open.empty()) ++sharing_;
    track.since_s = now_s_;
    track.since_j = each_j_;
    track.open.emplace(++number_,
                       OpenInterval{interval, length_s < rules_.sensor_period_s, {}, {}});
    ends_.push({interval.end_s, number_, place});
    if (interval.name >= shares_.by_name.size()) shares_.by_name.resize(interval.name + 1);
  }

  // Without nesting, each interval has a track of its own, used again when it has ended.
  std::size_t track_of(const TraceInterval& interval) {
    std::size_t place = tracks_.size();
    if (rules_.nesting != Nesting::none) {
      place = places_.try_emplace(interval.track, place).first->second;
    } else if (!free_tracks_.empty()) {
      place = free_tracks_.back();
      free_tracks_.pop_back();
    }
    if (place == tracks_.size()) tracks_.emplace_back();
    return place;
  }

  void close_until(double time_s) {
    while (!ends_.empty() && ends_.top().end_s <= time_s) {
      const End end = ends_.top();
      ends_.pop();
      advance(end.end_s);
      close(end);
    }
  }

  void close(const End& end) {
    OpenTrack& track = tracks_[end.track];
    settle(track);
    give(track.open.extract(end.number).mapped());
    if (!track.open.empty()) return;
    --sharing_;
    if (rules_.nesting == Nesting::none) free_tracks_.push_back(end.track);
  }

  void give(const OpenInterval& ended) {
    // Below an outermost one, it is no phase of its own.
    if (rules_.nesting == Nesting::outermost && ended.time_s.value() == 0) return;
    EnergyShare& share = shares_.by_name[ended.interval.name];
    ++share.calls;
    if (ended.is_short) ++share.short_calls;
    share.energy_j.add(ended.energy_j);
    share.time_s.add(ended.time_s);
    if (rules_.each) rules_.each({ended.interval, ended.energy_j.value()});
  }

  // Gives the track's present receiver what it got so far.
  void settle(OpenTrack& track) {
    OpenInterval& receiver =
        (rules_.nesting == Nesting::outermost ? track.open.begin() : std::prev(track.open.end()))
            ->second;
    receiver.energy_j.add(each_j_.less(track.since_j));
    receiver.time_s.add(now_s_ - track.since_s);
    track.since_s = now_s_;
    track.since_j = each_j_;
  }

  void advance(double to_s) {
    if (!(to_s > now_s_)) return;
    const double energy_j = power_.energy_j({now_s_, to_s});
    if (sharing_ == 0) {
      shares_.rest.energy_j.add(energy_j);
      shares_.rest.time_s.add(to_s - now_s_);
    } else {
      each_j_.add(energy_j / static_cast<double>(sharing_));
    }
    now_s_ = to_s;
  }

  const PowerTrace& power_;
  const AttributionRules& rules_;
  EnergyShares& shares_;
  double now_s_;
  CarriedSum each_j_;  // what one that was open all the time would have got
  std::size_t sharing_ = 0;
  std::uint64_t number_ = 0;
  std::vector<OpenTrack> tracks_;
  std::vector<std::size_t> free_tracks_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // of tracks, by TraceInterval::track
  std::priority_queue<End, std::vector<End>, decltype(&ends_later)> ends_{ends_later};
};

}  // namespace

void CarriedSum::add(double value) {
  const double sum = high_ + value;
  low_ += std::abs(high_) >= std::abs(value) ? (high_ - sum) + value : (value - sum) + high_;
  high_ = sum;
}

void CarriedSum::add(const CarriedSum& other) {
  add(other.high_);
  low_ += other.low_;
}

CarriedSum CarriedSum::less(const CarriedSum& other) const {
  CarriedSum difference = *this;
  difference.add(-other.high_);
  difference.low_ -= other.low_;
  return difference;
}

void EnergyShare::add(const EnergyShare& other) {
  calls += other.calls;
  short_calls += other.short_calls;
  time_s.add(other.time_s);
  energy_j.add(other.energy_j);
}

void attribute_energy(const PowerTrace& power, IntervalStore& intervals,
                      const AttributionRules& rules, EnergyShares& shares) {
  Sweep sweep(power, rules, shares);
  intervals.each([&](const TraceInterval& interval) { sweep.take(interval); });
  sweep.conclude();
}

}  // namespace aggregate_power
