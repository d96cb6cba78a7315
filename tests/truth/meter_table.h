// Judges calibrations against nodes whose watts are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/coverage.h"

namespace truth {

struct MeterFigures {
  std::string name;
  std::size_t nodes = 0;
  double bias = 0;   // of the slope: mean of the relative errors
  double error = 0;  // mean of their sizes
  double width = 0;  // mean half of its interval, relative
  double lag_s = 0;  // mean size of the errors of the lag
  Coverage slope = {};
  Coverage idle = {};    // of the node's power when the GPUs draw nothing
  Coverage center = {};  // of its power at the GPUs' mean
  Coverage lag = {};
};

// Nodes under each load, of 3 minutes to an hour: one to eight GPUs, sensors and meters of any
// kind, fans in steps, clocks up to 7 s apart.
std::vector<MeterFigures> make_meter_table(std::size_t nodes, std::uint64_t first_seed,
                                           const std::string& filter = {});
std::string as_text(const std::vector<MeterFigures>& table);

}  // namespace truth
