// Looks up device names that are not the expected next one.
#include "core/telemetry/device_names.h"

#include "base/text/characters.h"
#include "core/telemetry/gpu_names.h"

namespace aggregate_power {

std::uint32_t DeviceNames::look_up(std::string_view cell) {
  if (const auto known = place_by_cell_.find(cell); known != place_by_cell_.end()) {
    expected_ = known->second + 1 == cells_.size() ? 0 : known->second + 1;
    return numbers_[known->second];
  }
  const std::string text = replace_invalid_utf8(cell);
  const std::string name(strip(text));
  if (names_no_gpu(name) || (is_digit_string(name) && !decimal_numeral(name))) return kNone;

  const auto [at, is_new] =
      number_by_name_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  place_by_cell_.emplace(cell, cells_.size());
  cells_.emplace_back(cell);
  numbers_.push_back(at->second);
  expected_ = 0;
  if (cell.size() == 1) by_character_[static_cast<unsigned char>(cell[0])] = at->second;
  return at->second;
}

std::uint32_t DeviceNames::find(std::string_view host, std::string_view cell) {
  host = strip(host);
  cell = strip(cell);
  if (names_no_gpu(cell)) return kNone;
  joined_.assign(host).append("/").append(cell);
  return find(joined_);
}

}  // namespace aggregate_power
