// Compares the energies that a windows file states with those that were measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runs/windows/window_report.h"

namespace aggregate_power {

class LoggedEnergies {
 public:
  void take(const WindowRow& row, const std::vector<std::string>& gpus);
  // Adds a note if some differ by more than 5 %, or if none could be compared.
  void tell(const WindowReportFacts& facts, std::size_t windows,
            std::vector<std::string>& notes) const;

 private:
  bool compared_ = false;
  std::size_t differing_ = 0;
  std::string first_;
};

}  // namespace aggregate_power
