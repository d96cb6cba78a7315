// Judges the watts of phases by loads whose truth is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/coverage.h"
#include "truth/request_load.h"

namespace truth {

struct PhaseFigures {
  std::string name;
  bool is_refused = false;  // all should be
  std::size_t loads = 0;
  std::size_t given = 0;
  std::size_t right_model = 0;
  // Of the watts of prefill, over all loads that are given.
  double prefill_bias = 0;   // mean of the relative errors
  double prefill_error = 0;  // mean of their sizes
  Coverage prefill = {};     // by 1.96 standard errors
  double decode_bias = 0;
  double decode_error = 0;
  Coverage decode = {};
  double width = 0;  // mean relative standard error of prefill
};

std::vector<PhaseFigures> make_phase_table(std::size_t loads, std::uint64_t first_seed,
                                           const std::string& filter = {});
std::string as_text(const std::vector<PhaseFigures>& table);

}  // namespace truth
