// Readings that are not power: zeros and spikes on their own, and values that a sensor was stuck
// at. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "core/energy/curve.h"
#include "energy/uncertainty/random_walk.h"

namespace aggregate_power {

// A lone high reading that a board may draw, or two equal ones (the time is of the first): a spike,
// or a load shorter than the readings are apart.
struct DoubtfulReading {
  double unix_s = 0;
  double above_j = 0;  // its energy above a line between its neighbours
};

struct SoundReadings {
  SoundReadings() = default;
  SoundReadings(SoundReadings&&) = default;
  SoundReadings& operator=(SoundReadings&&) = default;

  // Without faults, in time order: `kept`, or all that were given, if none has one.
  std::span<const Sample> samples;
  std::vector<Sample> kept = {};
  std::size_t implausible = 0;                 // zeros and spikes that were left out
  std::vector<Sample> left_out = {};           // these, in time order
  std::vector<DoubtfulReading> doubtful = {};  // that were kept, in time order
  std::vector<Window> stuck;  // stretches of one value under load; only its first reading is kept
};

// Left out are
// * up to three zeros between readings above 15 W;
// * single readings above twice what is usual around them and 1.5 times the board's limit, if at
//   most a third of the readings under load are above that; where no limit is known, above twice
//   the 99th percentile of the others and above what the board may draw by its model, if at most a
//   tenth of those under load and at most three, or one in a hundred, are; what is not above that
//   is kept;
// * readings above what any board draws, beside others that are not;
// * all but the first of a stretch >= 4 s and >= 6 readings of one value under load (above 40 % of
//   the 95th percentile), five times longer than any but 2 % of the other repeats under load, if
//   readings under load otherwise move from one to the next, by more than 0.01 % and by more than
//   their last digit.
SoundReadings sound_readings(std::span<const Sample> samples, std::optional<double> limit_w,
                             std::string_view model = {});

// The power limit that a maker states of a model; of an unknown one the highest of any board.
double most_board_w(std::string_view model);

// ---- The readings of one GPU, and what is found from them once for all sensors and windows. Pure
// arithmetic.

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
