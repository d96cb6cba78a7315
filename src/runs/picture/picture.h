// The picture of recordings: power of each GPU and of all together, with all that gives it a
// meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/reason.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/request.h"
#include "aggregate_power/result.h"
#include "base/text/time_zone.h"
#include "chart/chart.h"
#include "generators/windows_file.h"
#include "runs/evaluate/run_options.h"
#include "runs/picture/curves.h"

namespace aggregate_power {

// One recording as it was read.
struct PicturedRecording {
  std::string path;
  PowerCurves curves;
  SeriesFacts facts;
  std::vector<std::pair<std::string, GpuKey>> gpus = {};  // that it names, and who they are
  Zone zone = Zone::parse("UTC");                         // of its stamps
  bool has_times = false;  // absolute ones: neither a lost zone, nor seconds since some start
};

// What a calibrated meter would show, of one recording; x: Unix time.
struct ModelledMeter {
  std::string label;
  std::string value;    // the energy of a node; empty: unknown, or it is of the GPUs alone
  std::string caption;  // what it is
  std::vector<Polyline> lines = {};
  std::vector<Ribbon> ribbons = {};  // 95 %
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
  // Joules per token and per request, each as `measure` has it: its text, the published number, and
  // its interval.
  struct Ratio {
    std::string key;
    std::string text;
    double value = 0;
    std::optional<Interval> bounds = {};
  };
  std::vector<Ratio> ratios = {};
  // By recording and name in it; not rounded.
  std::map<std::pair<std::size_t, std::string>, double> energies_j = {};
  std::optional<IdlePower> idle = {};  // of one recording, if it shows it

  std::optional<ModelledMeter> modelled = {};

  std::vector<RequestTimes> requests = {};  // of the load, on the Unix clock; empty: not listed
  bool are_requests_assumed = false;        // the first one begins with the window
  std::vector<NamedWindow> logged = {};     // that a script logged

  bool is_valid() const { return reasons.empty(); }
  std::size_t gpus() const;
  double start_unix_s() const;  // the first sample: 0 s of the picture
};

// More GPUs than that are drawn as their range and mean.
inline constexpr std::size_t kMostLines = 16;

Chart power_chart(const PowerPicture& picture);
// Its panels below the power: requests in flight, input and output tokens per second.
std::vector<Panel> load_panels(const PowerPicture& picture);
inline constexpr double kLoadPanelHeight = 90;

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
// cannot be one, or if `out` is one of the files that are read. `windows`: a file of windows that a
// script logged; empty: none.
PlottedRun plotted_run(const RunSpec& request, const std::string& windows);

}  // namespace aggregate_power
