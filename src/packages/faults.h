// What is wrong with a package, as its checks find it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace aggregate_power {

struct PackageFault {
  std::string text;
  // It concerns other windows only, or rows that no window of ours needs.
  bool is_elsewhere = false;
};

struct PackageFaults {
  std::vector<PackageFault> list;
  // What is elsewhere, by name: how often.
  std::map<std::string, std::uint64_t> elsewhere;

  void add(std::string text, bool is_elsewhere = false);
  // The same, and counts a fault that is elsewhere under `name`.
  void add(std::string text, bool is_elsewhere, const std::string& name);
  void count_elsewhere(const std::string& name, std::uint64_t count);
  void add(PackageFaults others);
};

}  // namespace aggregate_power
