// The picture of recordings: power of each GPU and of all together, with all that gives it a
// meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/result.h"
#include "base/text/time_zone.h"
#include "chart/chart.h"
#include "runs/evaluate/run_options.h"
#include "runs/picture/curves.h"

namespace aggregate_power {

// One recording as it was read.
struct PicturedRecording {
  std::string path;
  PowerCurves curves;
  SeriesFacts facts;
  Zone zone = Zone::parse("UTC");  // of its stamps
  bool has_times = false;  // absolute ones: neither a lost zone, nor seconds since some start
};

struct PowerPicture {
  std::vector<PicturedRecording> recordings;
  std::string result;  // of the load generator; empty: none
  // Of the load; nullopt: the recording as a whole.
  std::optional<Window> window = {};
  std::string window_class = {};  // "exact"
  std::optional<double> window_half_width_s = {};
  bool is_window_in_command = false;
  double max_gap_s = kDefaultMaxSampleGapS;

  Reasons reasons = {};  // empty: valid
  // Of a valid picture: as published.
  std::optional<double> total_j = {};
  std::optional<double> low_j = {};  // bounds of an estimated window's energy
  std::optional<double> high_j = {};
  // By recording and name in it; not rounded.
  std::map<std::pair<std::size_t, std::string>, double> energies_j = {};
  std::optional<IdlePower> idle = {};  // of one recording, if it shows it

  bool is_valid() const { return reasons.empty(); }
  std::size_t gpus() const;
  double start_unix_s() const;  // the first sample: 0 s of the picture
};

// More GPUs than that are drawn as their range and mean.
inline constexpr std::size_t kMostLines = 16;

Chart power_chart(const PowerPicture& picture);

// "GPU 3"; other names as they are. With its recording, if there are several.
std::string gpu_label(const PowerPicture& picture, std::size_t recording, const std::string& gpu);

// What `chart` draws, as rows "series,line,time_s,power_w", or as one JSON object with the facts of
// the picture.
std::string picture_csv(const Chart& chart);
std::string picture_json(const PowerPicture& picture, const Chart& chart);

// ---- Reads recordings and a load for a picture of both.

struct PlottedRun {
  PowerPicture picture;
  std::vector<std::string> warnings;
};

// The energies are those that a single run publishes, by the same rules; without a load, those of
// the whole recording. Each recording is read once, except where its rows are out of order or its
// zone has to be found. Throws FileError if a file cannot be opened, and Error if the pictures
// cannot be one, or if `out` is one of the files that are read.
PlottedRun plotted_run(const RunSpec& request);

}  // namespace aggregate_power
