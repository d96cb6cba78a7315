// What each process used of each GPU in named windows, for people and for programs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "runs/windows/window_report.h"

namespace aggregate_power {

// What is not that of a process: "idle", when none used the GPU, and "unknown", when no record
// says which did.
struct ProcessPart {
  std::string_view process = {};  // an id, or one of those
  double energy_j = 0;
  std::optional<double> idle_power_j = {};  // of a process: what the GPU would have drawn anyway
};

struct GpuProcesses {
  std::string fault = {};  // why it was not measured
  double energy_j = 0;
  std::vector<ProcessPart> parts = {};  // they add up to the energy; empty: it is not divided
};

struct ProcessWindow {
  std::size_t number = 0;  // from 1
  std::string_view name = {};
  Window window = {};
  std::vector<GpuProcesses> gpus = {};  // in the order of WindowReportFacts::gpus
};

// The parts of a report, in this order. Facts and `idle_w`, the idle power of each GPU, outlive it.
class ProcessReport {
 public:
  virtual ~ProcessReport() = default;
  virtual std::string head() = 0;
  virtual void add(const ProcessWindow& row, std::string& text) = 0;
  virtual std::string foot() { return {}; }
};

// There is no form for WindowFormat::zeus.
std::unique_ptr<ProcessReport> process_report(WindowFormat format, const WindowReportFacts& facts,
                                              const std::vector<double>& idle_w);

}  // namespace aggregate_power
