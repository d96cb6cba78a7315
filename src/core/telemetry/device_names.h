// Numbers device names in the order of first appearance.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"

namespace aggregate_power {

class DeviceNames {
 public:
  // For a cell that names no GPU ("N/A"), and for one whose digits are not a number (a
  // superscript).
  static constexpr std::uint32_t kNone = kNoDevice;

  DeviceNames() { by_character_.fill(kNone); }

  // The number of the device that a cell names, or kNone. The next row usually names the next
  // device, or its name is one character.
  [[gnu::always_inline]] std::uint32_t find(std::string_view cell) {
    const std::uint32_t known = find_character(cell);
    if (known != kNone) return known;
    if (expected_ < cells_.size() && cells_[expected_] == cell) {
      const std::uint32_t found = numbers_[expected_];
      expected_ = expected_ + 1 == cells_.size() ? 0 : expected_ + 1;
      return found;
    }
    return look_up(cell);
  }
  // The same for a cell of one character that was found before; else kNone.
  std::uint32_t find_character(std::string_view cell) const {
    return cell.size() == 1 ? by_character_[static_cast<unsigned char>(cell[0])] : kNone;
  }

  // The same for a device named by its host and its number there: "host/3".
  std::uint32_t find(std::string_view host, std::string_view cell);

  // A file without a device column has one device.
  void add_only_device(std::string name = "0") { names_ = {std::move(name)}; }

  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::uint32_t look_up(std::string_view cell);

  std::vector<std::string> names_;  // by number
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> number_by_name_;
  // Cells as spelled in the file, in the order of first appearance, and the devices they mean.
  std::vector<std::string> cells_;
  std::vector<std::uint32_t> numbers_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> place_by_cell_;
  std::size_t expected_ = 0;
  std::array<std::uint32_t, 256> by_character_;
  std::string joined_;
};

}  // namespace aggregate_power
