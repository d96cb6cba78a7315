// Recordings with a fault of each kind that leads to a wrong energy, and sound ones that resemble
// them.
#pragma once

#include <string>
#include <vector>

#include "truth/recorded_run.h"

namespace truth {

struct RecordingClass {
  bool is_good;
  std::string name;
  RecordedRun (*make)(Random& random);
  double hidden_share = 0;  // of the recordings, in which noise hides the fault
};
std::vector<RecordingClass> recording_classes();

}  // namespace truth
