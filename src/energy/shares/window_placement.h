// Places a load of known length in a recording, when its result states its time only roughly.
#pragma once

#include <algorithm>
#include <optional>

#include "aggregate_power/sample.h"
#include "core/telemetry/samples.h"

namespace aggregate_power {

// Where the load may have started.
struct PlacementRange {
  double duration_s = 0;
  double earliest_start_s = 0;
  double latest_start_s = 0;
  double likely_start_s = 0;  // if the power does not tell
  // Whether the load surely ran within the range, in a command that the recorder ran: it may begin
  // and end with the command, and little is recorded after it.
  bool is_of_command = false;
};

// Beside the place of a window that the power chose, its load may begin so much earlier or later.
struct PlaceSlack {
  double earlier_s = 0;
  double later_s = 0;
};

struct Placement {
  Window window;
  double half_width_s = 0;  // how far the window may be from its place
  PlaceSlack slack = {};    // how far from it the range goes
  // Energy of all devices: in the window, and the extremes over all placements that remain, with
  // what sensors and straight lines between samples smear over the edges.
  double energy_j = 0;
  double low_j = 0;
  double high_j = 0;
  double elsewhere_j = 0;      // by how much the energy differs at most where it fits as well
  bool is_by_power = false;    // the power rises where the window starts, and falls where it ends
  bool is_in_command = false;  // PlacementRange::is_of_command

  // By how much of it the energy may differ at a placement that remains; nullopt: there is none.
  std::optional<double> most_share() const {
    if (!(energy_j > 0)) return std::nullopt;
    return std::max(high_j - energy_j, energy_j - low_j) / energy_j;
  }
};

// What find_placement() needs to see of a recording.
Window placement_surroundings(PlacementRange range);

// Places the load by the power around the range, of samples that are sorted. A load stands out when
// the power before it and after it is lower: then the window is where its energy is highest, and
// the placements remain that explain nearly as much, because sensors average and samples are apart;
// and those that take in another load, such as a warm-up, because either may be the one that is
// meant. Otherwise all placements in the range remain. Returns nullopt if no placement is covered
// by every device, or if one that is not may be right.
std::optional<Placement> find_placement(PlacementRange range, const Samples& samples);

}  // namespace aggregate_power
