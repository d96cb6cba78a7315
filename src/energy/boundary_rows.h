// Rows near the window, but outside it, that state no power above 0 W, counted by GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

class BoundaryRows {
 public:
  // `device` is Reading::device.
  void add(std::uint32_t device);
  std::uint64_t of(std::uint32_t device) const;

  // By GPU, in the order of first appearance; rows that name no GPU are counted as "unknown".
  // `devices` are the names by Reading::device.
  using ByName = std::vector<std::pair<std::string, std::uint64_t>>;
  ByName by_name(std::span<const std::string> devices) const;

 private:
  std::vector<std::uint64_t> counts_;  // first without a device, then by device
  std::vector<std::size_t> met_;       // indices into it, in the order of first appearance
};

}  // namespace aggregate_power
