// Keeps what was found.
#include "energy/uncertainty/reading_series.h"

#include "energy/uncertainty/placed_readings.h"

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
Scatter ReadingSeries::kept(FindScatter find, std::size_t first, std::size_t end,
                            std::optional<KeptScatter>& kept) const {
  const bool is_kept = kept && kept->first == first && kept->end == end;
  if (!is_kept) kept = {first, end, find(moments_.subspan(first, end - first))};
  return kept->scatter;
}

Scatter ReadingSeries::scatter(std::size_t first, std::size_t end) const {
  return kept(scatter_of, first, end, kept_scatter_);
}

Scatter ReadingSeries::scatter_around_trend(std::size_t first, std::size_t end) const {
  return kept(aggregate_power::scatter_around_trend, first, end, kept_around_trend_);
}

}  // namespace aggregate_power
