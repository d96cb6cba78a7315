// Keeps what was found.
#include "energy/reading_series.h"

#include "energy/placed_readings.h"

namespace aggregate_power {

ReadingSeries::ReadingSeries(std::span<const Sample> samples)
    : samples_(samples), moments_(samples), period_s_(median_period_s(samples)) {
  if (share_stamps(samples)) moments_ = merged_ = merged(samples);
  blocks_j_ = line_blocks_j(moments_);
}

double ReadingSeries::moment_period_s() const {
  if (!moment_period_s_) {
    moment_period_s_ = merged_.empty() ? period_s_ : median_period_s(moments_);
  }
  return *moment_period_s_;
}

const PaceFinding& ReadingSeries::moment_pace() const {
  if (!moment_pace_) moment_pace_ = find_moment_pace(moments_, moment_period_s());
  return *moment_pace_;
}

// Sensors of different ages mostly see the same moments in a window.
Scatter ReadingSeries::scatter(std::size_t first, std::size_t end) const {
  const bool is_kept = kept_scatter_ && kept_scatter_->first == first && kept_scatter_->end == end;
  if (!is_kept) kept_scatter_ = {first, end, scatter_of(moments_.subspan(first, end - first))};
  return kept_scatter_->scatter;
}

}  // namespace aggregate_power
