// Counts the votes of a recorder's runs for each clock of the world.
#include "energy/zones/zone_consensus.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace aggregate_power {
namespace {

constexpr std::size_t kLeastVotes = 2;
constexpr std::size_t kMostElsewhere = 4;  // votes for each run whose load is elsewhere

constexpr int kMinute_s = 60;
constexpr int kFiveMinutes_s = 300;
// A timer starts jobs at most this late; jobs started every minute are recognized by less.
constexpr int kLateOfMinute_s = 3;
constexpr int kLateOfFiveMinutes_s = 20;

bool is_for(const ZoneVote& vote, const ClockHistory& clock) {
  return clock.offset_at(vote.start_unix_s) == vote.offset_s;
}

int phase_of(double unix_s) {
  const double phase_s = std::fmod(std::floor(unix_s), kFiveMinutes_s);
  return static_cast<int>(phase_s < 0 ? phase_s + kFiveMinutes_s : phase_s);
}

int distance(int a_s, int b_s, int period_s) {
  const int apart_s = std::abs(a_s - b_s) % period_s;
  return std::min(apart_s, period_s - apart_s);
}

bool share_a_timer(int a_s, int b_s) {
  return distance(a_s, b_s, kFiveMinutes_s) <= kLateOfFiveMinutes_s ||
         distance(a_s, b_s, kMinute_s) <= kLateOfMinute_s;
}

}  // namespace

ZoneConsensus::ZoneConsensus()
    : votes_for_(clock_histories().size()),
      lowest_load_w_(std::numeric_limits<double>::infinity()) {}

void ZoneConsensus::add(const ZoneVote& vote) {
  ++votes_;
  for (std::size_t i = 0; i < votes_for_.size(); ++i) {
    if (is_for(vote, clock_histories()[i])) ++votes_for_[i];
  }
  if (vote.is_stated) {
    if (stated_starts_unix_s_.size() <= kLeastVotes)
      stated_starts_unix_s_.insert(vote.start_unix_s);
    return;
  }
  phases_s_.insert(phase_of(vote.start_unix_s));
  highest_idle_w_ = std::max(highest_idle_w_, vote.idle_w);
  lowest_load_w_ = std::min(lowest_load_w_, vote.load_w);
}

// Whether two of the votes come from runs that are evidence for this one: stated ones always are.
bool ZoneConsensus::has_independent(double start_unix_s) const {
  const int own_s = phase_of(start_unix_s);
  std::set<double> stated = stated_starts_unix_s_;
  stated.erase(start_unix_s);
  if (stated.size() >= kLeastVotes) return true;
  for (const int a_s : phases_s_) {
    if (share_a_timer(a_s, own_s)) continue;
    if (!stated.empty() && phase_of(*stated.begin()) != a_s) return true;
    const auto is_third = [&](int b_s) {
      return !share_a_timer(b_s, own_s) && !share_a_timer(a_s, b_s);
    };
    if (std::ranges::any_of(phases_s_, is_third)) return true;
  }
  return false;
}

ZoneAgreement ZoneConsensus::for_run(double start_unix_s,
                                     const std::optional<ZoneVote>& own) const {
  ZoneAgreement agreement;
  const std::size_t others = votes_ - (own ? 1 : 0);
  if (kMostElsewhere * loads_elsewhere_ > votes_ || !has_independent(start_unix_s)) {
    return agreement;
  }
  for (std::size_t i = 0; i < votes_for_.size(); ++i) {
    const ClockHistory& clock = clock_histories()[i];
    if (votes_for_[i] - (own && is_for(*own, clock) ? 1 : 0) == others) {
      agreement.clocks.push_back(&clock);
    }
  }
  agreement.least_load_w = (highest_idle_w_ + lowest_load_w_) / 2;
  return agreement;
}

const ClockHistory* ZoneConsensus::favourite() const {
  const auto most = std::ranges::max_element(votes_for_);
  if (*most < kLeastVotes) return nullptr;
  return &clock_histories()[static_cast<std::size_t>(most - votes_for_.begin())];
}

std::size_t ZoneConsensus::contradictions() const {
  const std::size_t most = std::ranges::max(votes_for_);
  return loads_elsewhere_ + (most < kLeastVotes ? 0 : votes_ - most);
}

bool ZoneConsensus::contradicts(const ZoneVote& vote) const {
  const ClockHistory* const clock = favourite();
  return clock != nullptr && !is_for(vote, *clock);
}

}  // namespace aggregate_power
