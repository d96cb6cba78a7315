// What named windows used, for people and for programs, window by window: there may be millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/sample.h"
#include "runs/measure/witnesses.h"

namespace aggregate_power {

enum class WindowFormat { table, csv, json, zeus };

// An energy with its interval: 95 %.
struct StatedEnergy {
  double estimate_j = 0;
  double low_j = 0;
  double high_j = 0;

  double half_j() const { return (high_j - low_j) / 2; }
};

// One GPU in one window. Without a fault its numbers are known.
struct GpuWindow {
  std::string fault = {};  // why it was not measured
  std::string_view source = "power";
  double energy_j = 0;
  double own_energy_j = 0;                  // outside the windows inside this one
  std::optional<double> peak_power_w = {};  // nullopt: the power does not cover the window

  // Of a GPU with an energy counter: what each source says.
  std::optional<double> power_energy_j = {};
  std::optional<double> counter_energy_j = {};
  std::optional<double> counter_resolution_j = {};  // at both edges together
  std::string counter_fault = {};                   // why it is not the counter's energy
  std::optional<double> logged_energy_j = {};       // what the windows file states
  // By how much the counter is off the power between its steps, and what power alone may be off.
  std::optional<double> counter_off_j = {};
  double repeatability_half_j = 0;
  std::optional<StatedEnergy> stated = {};  // if it was asked for and there is one

  std::optional<FacilityFigures> facility = {};  // of a measured GPU, if asked for
};

struct WindowRow {
  std::size_t number = 0;  // from 1
  std::string_view name = {};
  Window window = {};
  std::size_t parent = 0;  // its number; 0: none
  std::uint32_t depth = 0;
  std::string_view overlaps = {};  // a window's name; empty: none
  bool has_children = false;
  double own_duration_s = 0;
  std::vector<GpuWindow> gpus = {};           // in the order of WindowReportFacts::gpus
  std::optional<StatedEnergy> stated = {};    // of all GPUs
  std::string no_interval = {};               // why there is none; empty: there is, or nobody asked
  std::vector<WitnessEnergy> witnesses = {};  // in that of WindowReportFacts::witnesses
  // Of all GPUs, if they were all measured and it was asked for.
  std::optional<FacilityFigures> facility = {};
  std::optional<ModelledNode> node = {};  // by a calibration, if asked for

  // Why not all GPUs were measured, with the GPU's name; empty: they were.
  std::string fault(const std::vector<std::string>& names) const;
  // The energy of all GPUs, if they were all measured.
  std::optional<double> measured_energy_j() const;
  // Of all GPUs, if all were measured.
  double energy_j() const;
  double own_energy_j() const;
};

struct WindowReportFacts {
  std::vector<std::string> gpus = {};
  std::vector<std::string> telemetry = {};
  std::string windows_file = {};
  Window recorded = {};
  std::size_t longest_name = 0;           // with its indentation
  std::vector<std::string> missing = {};  // why a benchmark has no window
  std::vector<WitnessFacts> witnesses = {};
  bool has_counters = false;     // some GPU has an energy counter
  bool has_intervals = false;    // they were asked for
  bool has_logged = false;       // some window of the file states energies
  FacilityRates rates = {};      // those asked for
  std::string measured = "gpu";  // measured_boundary()
};

// The parts of a report, in this order. Facts outlive it.
template <typename Row>
class RowReport {
 public:
  virtual ~RowReport() = default;
  virtual std::string head() = 0;
  virtual void add(const Row& row, std::string& text) = 0;
  virtual std::string foot() { return {}; }
};
using WindowReport = RowReport<WindowRow>;

std::unique_ptr<WindowReport> window_report(WindowFormat format, const WindowReportFacts& facts);

// The columns of a CSV of Zeus for these GPUs: "gpu3_energy" for a GPU named by its number; if not
// all are, by its place.
std::vector<std::string> zeus_columns(const std::vector<std::string>& gpus);

}  // namespace aggregate_power
