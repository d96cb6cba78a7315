// The power of a recording in cells of equal length. Pure arithmetic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power::energy {

// The mean power of all GPUs together in short cells of equal length.
class PowerCells {
 public:
  // Of the stretch that all of them cover. A gap of more than `gap_s` leaves its cells unknown.
  PowerCells(std::span<const std::span<const Sample>> gpus, Window covered, double cell_s,
             double gap_s);

  std::size_t size() const { return watts_.size(); }
  double watts(std::size_t cell) const { return watts_[cell]; }
  bool is_known(std::size_t cell) const {
    return unknown_before_[cell + 1] == unknown_before_[cell];
  }
  double middle_unix_s(std::size_t cell) const {
    return covered_.start_unix_s + (static_cast<double>(cell) + 0.5) * cell_s_;
  }
  // Of the cells whose middle is in a stretch; nullopt if there are none, or if one is unknown.
  std::optional<double> mean_w(Window stretch) const;
  Window covered() const { return covered_; }
  // The first cell whose middle is not before an instant; size() if there is none.
  std::size_t cell_from(double unix_s) const;
  // The same power in a time that runs backwards: an instant t is at -t.
  PowerCells mirrored() const;

 private:
  PowerCells(Window covered, double cell_s, std::vector<double> watts,
             const std::vector<bool>& unknown);
  void sum_up(const std::vector<bool>& unknown);
  void add(std::span<const Sample> samples, double gap_s, std::vector<bool>& unknown);

  Window covered_;
  double cell_s_;
  std::vector<double> watts_;
  std::vector<double> joules_before_;
  std::vector<std::size_t> unknown_before_;
};

}  // namespace aggregate_power::energy
