// Compares a recording of GPUs with a meter beside them, and uses what was found.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "base/report/json_parts.h"
#include "energy/shares/calibration.h"
#include "runs/evaluate/run_options.h"

namespace aggregate_power {

// ---- The command

struct CalibrateRequest : RunOptions {
  std::vector<std::string> telemetry;    // normal paths
  std::vector<std::string> meters = {};  // names of sensors, NAME or FILE:NAME, which are added up;
                                         // empty: the only one
  std::string scope = {};                // "node" or "gpu"; empty: as the witness says
  std::vector<Window> windows = {};      // empty: all that was recorded
  std::optional<double> meter_accuracy = {};  // relative standard uncertainty
  std::string out = {};                       // normal path of the profile; empty: none is written
};

struct CalibrateOutcome {
  int exit_status = 0;  // 0: calibrated; 1: refused, with the reason
  std::string out;
  std::vector<std::string> err;
};

// Throws FileError if a file cannot be opened, and Error for what cannot be used.
CalibrateOutcome run_calibrate(const CalibrateRequest& request);

// ---- What a calibration found, as a file that later measurements use

// What a profile is of: it says nothing of other GPUs, and nothing of another reading of them.
struct CalibratedGpus {
  std::string model = {};   // empty: the recording does not name it
  std::string driver = {};  // the same
  std::size_t count = 0;
  Sensor sensor = {};
  std::vector<std::string> hosts = {};  // that its rows name, each once
  std::vector<std::string> uuids = {};  // as written
};

struct CalibrationProfile {
  CalibratedGpus gpus = {};
  std::string meter = {};   // its name
  std::string source = {};  // what recorded it
  std::string scope = {};   // "node": it measures other parts, too; "gpu": the GPUs alone
  std::optional<double> meter_accuracy =
      {};                  // relative standard uncertainty, as somebody states it
  double last_unix_s = 0;  // the end of what was calibrated
  Calibration line = {};
  std::vector<std::pair<std::string, InputFile>> inputs = {};  // by path

  bool is_of_gpus() const { return scope == "gpu"; }
};

// {"schema": "aggregate-power/calibration-1", ...}
Json profile_json(const CalibrationProfile& profile);

// Throws FileError if the file cannot be opened, and Error if it is not a profile.
CalibrationProfile read_profile(const std::string& path);

// The GPUs of a recording. `models` are those that are known of it, `given` is what the caller
// states where they are not.
CalibratedGpus gpus_read(const TelemetryFacts& telemetry, std::size_t count,
                         const std::vector<std::string>& models, const std::string& given);

// Why a profile says nothing of these GPUs; empty: it does.
std::string profile_mismatch(const CalibrationProfile& profile, const CalibratedGpus& gpus);

// Why the line is not of a meter that shows the whole node, or of one that shows the GPUs, in
// watts; empty: it may be.
std::string impossible_slope(const CalibrationProfile& profile);

// What is in the numbers of a calibration and cannot be told apart, a sentence for each.
std::vector<std::string> inseparable(bool is_of_gpus);

// ---- What a profile adds to a run: never to what was measured.

class AppliedProfile {
 public:
  // Reads the profile that --calibration names; without one, nothing is applied. Never throws
  // because of the file.
  AppliedProfile(const std::string& path, const CalibratedGpus& gpus);

  // For people: why it is not used, or what differs although it is.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // The relative standard uncertainty of the sensors' gain, by a meter of the GPUs alone whose
  // accuracy is stated: goes instead of what is known of boards in general.
  std::optional<double> sensor_accuracy() const;
  // The energy of the node by what all GPUs used over some time, or why it is not known. Returns
  // nullopt if none is modelled: there is no profile, or it is of the GPUs alone.
  std::optional<ModelledNode> node(double gpu_energy_j, double duration_s) const;
  // What the meter would show at an instant, with what drifts slowly, while all GPUs draw that; the
  // noise of single readings is not in it. Returns nullopt where nothing was calibrated.
  struct MeterPower {
    double watts = 0;
    Interval bounds_w = {};
  };
  std::optional<MeterPower> power(double gpu_w) const;
  const CalibrationProfile* profile() const {  // null: none is used
    return profile_ && reason_.empty() ? &*profile_ : nullptr;
  }

 private:
  std::string path_;
  std::optional<CalibrationProfile> profile_;
  std::string reason_;  // why it is not used
  std::vector<std::string> warnings_;
};

// For people: "1500.0 J modelled, not measured; 95 %: 1480.0 to 1520.0 J, as 'METER' would show
// it".
std::string modelled_node_text(const ModelledNode& node);

}  // namespace aggregate_power
