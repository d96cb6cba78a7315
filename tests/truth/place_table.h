// Judges where windows are placed, by recordings whose truth is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "truth/load_shapes.h"
#include "truth/simulated_run.h"

namespace truth {

// What is recorded around the load.
enum class Margin {
  idle,
  warm_up,         // some seconds before it
  joined_warm_up,  // without a pause
  evaluation,      // at less power, from its end on
  equal_loads,     // a sweep whose loads are alike
  other_loads,     // a sweep of loads of several lengths and powers
  ramps,           // it rises and falls slowly
  prefill_decode,  // high power first, then less
  model_loads,     // idle power is higher from some time before the load on
  cool_down,       // and for a while after it
};
inline constexpr Margin kMargins[] = {
    Margin::idle,        Margin::warm_up,     Margin::joined_warm_up, Margin::evaluation,
    Margin::equal_loads, Margin::other_loads, Margin::ramps,          Margin::prefill_decode,
    Margin::model_loads, Margin::cool_down};
std::string name_of(Margin margin);

struct PlaceFigures {
  std::string name;
  std::size_t good = 0;     // windows that are at their load
  std::size_t refused = 0;  // of these
  std::size_t good_warned = 0;
  std::size_t moved = 0;  // windows that are elsewhere
  std::size_t named = 0;  // of these, refused with the offset, to 3 s
  std::size_t misnamed = 0;
  std::size_t warned = 0;
  std::size_t wrong = 0;  // published without a word, and more than 2 % off

  void add(const PlaceFigures& other);
};

// Windows by a clock that is right, and by one that is off by 5 s and 5 % of the window or more, up
// to 120 s: `runs` of each for each margin and shape.
std::vector<PlaceFigures> make_clock_table(std::size_t runs, std::uint64_t first_seed);
std::string clock_table_text(const std::vector<PlaceFigures>& table);

struct WrappedFigures {
  std::string name;
  std::size_t runs = 0;
  std::size_t refused = 0;  // the power does not show the place
  std::size_t wrong = 0;    // best value more than 2 % off, and not between the bounds
  double mean_error = 0;    // of the best value
  double largest_error = 0;

  void add(const WrappedFigures& other);
};

// Loads in a command that a recorder ran, of each shape with 30 sampling periods from 0.1 to 2 s.
std::vector<WrappedFigures> make_wrapped_table(std::size_t runs, std::uint64_t first_seed);
std::string wrapped_table_text(const std::vector<WrappedFigures>& table);

}  // namespace truth
