// The readings of one GPU, and what is found from them once for all sensors and windows. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/power_line.h"
#include "energy/uncertainty/random_walk.h"
#include "energy/uncertainty/reading_scatter.h"

namespace aggregate_power {

class ReadingSeries {
 public:
  ReadingSeries() = default;
  // Of samples in time order; it refers to them.
  explicit ReadingSeries(std::span<const Sample> samples);

  ReadingSeries(ReadingSeries&&) = default;
  ReadingSeries& operator=(ReadingSeries&&) = default;

  std::span<const Sample> samples() const { return samples_; }
  double period_s() const { return period_s_; }  // the median time between two

  // Straight lines between the samples; those with one stamp count once, as their mean.
  PowerLine line(double older_s = 0) const { return PowerLine(moments_, older_s, blocks_j_); }

  // ---- The samples as moments, those with one stamp counted once. Results are kept from the first
  // call on, so only one thread may ask.
  double moment_period_s() const;
  const PaceFinding& moment_pace() const;
  Scatter scatter(std::size_t first, std::size_t end) const;
  Scatter scatter_around_trend(std::size_t first, std::size_t end) const;

 private:
  struct KeptScatter {
    std::size_t first = 0;
    std::size_t end = 0;
    Scatter scatter;
  };
  std::span<const Sample> samples_;
  std::vector<Sample> merged_;       // if some share stamps
  std::span<const Sample> moments_;  // all, or the merged ones
  std::vector<double> blocks_j_;
  double period_s_ = 0;
  mutable std::optional<double> moment_period_s_;
  mutable std::optional<PaceFinding> moment_pace_;
  using FindScatter = Scatter (*)(std::span<const Sample>);
  Scatter kept(FindScatter find, std::size_t first, std::size_t end,
               std::optional<KeptScatter>& kept) const;
  mutable std::optional<KeptScatter> kept_scatter_;
  mutable std::optional<KeptScatter> kept_around_trend_;
};

}  // namespace aggregate_power
