// Judges plans of comparisons: how often comparisons that follow one decide, and how often looks
// err.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace truth {

// Shares are relative.
struct PlanClass {
  std::string name;
  double change = 0;
  double margin = 0;
  double spread = 0;         // of what repeats use
  double drift = 0;          // of each run against the one before, in the order of the plan
  std::size_t pilots = 0;    // runs by which each comparison is planned; 0: the spread is known
  bool at_smallest = false;  // the true change is the one that the plan's repeats just find
};
std::vector<PlanClass> plan_classes();

struct PlanFigures {
  PlanClass of;
  double repeats = 0;   // of a side, mean
  double promised = 0;  // mean share that the plans say
  double right = 0;     // share with the right verdict
  double wrong = 0;     // with a verdict against the true change
};

// Each comparison draws its runs from simulated recordings of a serving load, whose estimates err
// as the sensor and the recorder make them.
std::vector<PlanFigures> make_plan_table(std::size_t comparisons, std::uint64_t first_seed);

// Comparisons that a few repeats leave open, and the repeats that `compare` then asks for.
struct MoreFigures {
  double change = 0;
  double margin = 0;
  double spread = 0;
  std::size_t repeats = 0;  // of a side, at first
  double open = 0;          // share that these leave open
  double more = 0;          // of a side, median that is asked for
  double right = 0;         // share of these that is decided rightly with them
};
std::vector<MoreFigures> make_more_table(std::size_t comparisons, std::uint64_t first_seed);

// Comparisons without a change, looked at after each `repeats_each` repeats until one look decides.
struct LookFigures {
  std::size_t looks = 1;
  double plain = 0;  // share that says "worse" or "better" at an alpha of 5 % each time
  double obrien_fleming = 0;
  double pocock = 0;
};
std::vector<LookFigures> make_look_table(const std::vector<std::size_t>& looks,
                                         std::size_t comparisons, std::size_t repeats_each,
                                         std::uint64_t first_seed);

std::string as_text(const std::vector<PlanFigures>& table);
std::string as_text(const std::vector<MoreFigures>& table);
std::string as_text(const std::vector<LookFigures>& table);

}  // namespace truth
