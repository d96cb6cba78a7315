// Faults of a package, as its checks find them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace aggregate_power {

struct PackageFault {
  std::string text;
  // It concerns only other windows, or rows that no window of ours needs.
  bool is_elsewhere = false;
  // It says that one window is not usable; the package may still be what its manifest says.
  bool is_of_window = false;
  bool is_of_cells = false;  // rows of samples lack a number of power, and nothing else
  bool is_of_clock = false;  // nobody knows whether the clocks of the nodes agree
};

struct PackageFaults {
  std::vector<PackageFault> list;
  // Number of faults elsewhere, by name.
  std::map<std::string, std::uint64_t> elsewhere;

  void add(std::string text, bool is_elsewhere = false);
  // The same, but counts a fault that is elsewhere under `name`.
  void add(std::string text, bool is_elsewhere, const std::string& name);
  void count_elsewhere(const std::string& name, std::uint64_t count);
  void add(PackageFaults others);
};

}  // namespace aggregate_power
