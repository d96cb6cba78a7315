// Adds up the requests' phases along the time.
#include "energy/shares/phase_activity.h"

#include <algorithm>
#include <cmath>

namespace aggregate_power {

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
