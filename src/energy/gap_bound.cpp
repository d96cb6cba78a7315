// Gathers long gaps and the range of each GPU's power.
#include "energy/gap_bound.h"

#include <algorithm>
#include <cmath>

#include "energy/interpolation.h"

namespace aggregate_power {

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

}  // namespace aggregate_power
