// Gathers long gaps and the range of each GPU's power.
#include "packages/gap_bound.h"

#include <algorithm>
#include <cmath>

#include "energy/interpolation.h"

namespace aggregate_power {

void GapBound::begin(Window window) {
  window_ = window;
  devices_.clear();
}

void GapBound::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    if (sample.device >= devices_.size()) devices_.resize(sample.device + 1);
    Device& device = devices_[sample.device];
    const Sample now = {sample.unix_s, sample.watts};
    if (now.unix_s - device.last.unix_s > kPackageMaxSampleGapS) note_gap(device.last, now, device);
    device.last = now;
    device.lowest_w = std::min(device.lowest_w, now.watts);
    device.highest_w = std::max(device.highest_w, now.watts);
  }
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
