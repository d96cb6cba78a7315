// What speaks for and against a measurement, before it is made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runs/evaluate/run_options.h"

namespace aggregate_power {

struct CheckupRequest : RecordingOptions {
  std::string telemetry;                        // normal path; empty: this machine is checked
  double window_s = 60;                         // of the runs to come
  std::optional<double> shortest_phase_s = {};  // that is to be told apart
  std::string gpu = {};                         // model of the GPUs; empty: as the files say
};

struct CheckupItem {
  enum class Status { ok, advice, problem };
  std::string name;
  Status status = Status::ok;
  std::string found;
  std::string advice = {};  // what to change; empty: nothing
};
using Checkup = std::vector<CheckupItem>;

// Throws FileError if the recording cannot be opened.
Checkup check_recording(const CheckupRequest& request);
// Asks the tools that $PATH leads to, each for a bounded time.
Checkup check_machine();

bool has_problem(const Checkup& checkup);
std::string checkup_text(const Checkup& checkup);
std::string checkup_json(const Checkup& checkup);

}  // namespace aggregate_power
