// Counts the rows near the window without power.
#include "energy/boundary_rows.h"

#include <algorithm>

namespace aggregate_power {
namespace {

constexpr const char* kUnknown = "unknown";

std::size_t place_of(std::uint32_t device) {
  return device == kNoDevice ? 0 : std::size_t{device} + 1;
}

}  // namespace

void BoundaryRows::add(std::uint32_t device) {
  const std::size_t place = place_of(device);
  if (place >= counts_.size()) counts_.resize(place + 1);
  if (counts_[place]++ == 0) met_.push_back(place);
}

std::uint64_t BoundaryRows::of(std::uint32_t device) const {
  const std::size_t place = place_of(device);
  return place < counts_.size() ? counts_[place] : 0;
}

BoundaryRows::ByName BoundaryRows::by_name(std::span<const std::string> devices) const {
  ByName rows;
  for (const std::size_t place : met_) {
    const std::string name = place == 0 ? kUnknown : devices[place - 1];
    // A GPU may have this name too; no other name occurs twice.
    const auto same =
        name == kUnknown ? std::ranges::find(rows, name, &ByName::value_type::first) : rows.end();
    if (same == rows.end()) {
      rows.emplace_back(name, counts_[place]);
    } else {
      same->second += counts_[place];
    }
  }
  return rows;
}

}  // namespace aggregate_power
