// The energy of each of a list of windows, GPU by GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "generators/windows_file.h"
#include "runs/evaluate/run_options.h"
#include "runs/windows/window_energy.h"

namespace aggregate_power {

struct WindowsRequest : RunOptions {
  std::vector<std::string> telemetry;  // normal paths
  std::string windows;                 // a path, or "bench:" and that of a benchmark result
  WindowFormat format = WindowFormat::table;
  bool per_process = false;                 // divide the energy of each GPU among processes
  std::optional<double> idle_power_w = {};  // then: of each GPU; nullopt: the least it drew
};

struct WindowsOutcome {
  int exit_status = 0;  // 0: all were measured; 1: not all were
  std::vector<std::string> err;
};

// Gives the report to `print`, part by part. Throws FileError if a file cannot be opened, and Error
// for what cannot be used; then nothing was printed.
WindowsOutcome run_windows(const WindowsRequest& request,
                           const std::function<void(const std::string&)>& print);

// ---- What a report notes about its energy counters: where they differ from the power, and
// where they were not used.

class CounterDoubts {
 public:
  // `gpus` must outlive this object.
  explicit CounterDoubts(const std::vector<std::string>& gpus)
      : gpus_(gpus), of_gpus_(gpus.size()) {}

  void note(const WindowRow& row);
  // Of each GPU, the windows that its power measured although there is a counter, and the window in
  // which the two differ most.
  std::vector<std::string> notes() const;

 private:
  struct OfGpu {
    std::size_t unused = 0;  // windows
    std::string first_unused;
    double furthest_apart = 0;  // as a share of the power's energy
    std::string furthest;
    std::size_t outside = 0;  // windows in which the two differ by more than the interval
    std::string first_outside;
  };

  const std::vector<std::string>& gpus_;
  std::vector<OfGpu> of_gpus_;
};

// ---- Compares the energies that a windows file states with those that were measured.

class LoggedEnergies {
 public:
  void take(const WindowRow& row, const std::vector<std::string>& gpus);
  // Adds a note if some differ by more than 5 %, or if none could be compared.
  void tell(const WindowReportFacts& facts, std::size_t windows,
            std::vector<std::string>& notes) const;

 private:
  bool compared_ = false;
  std::size_t differing_ = 0;
  std::string first_;
};

// ---- What each process used of each GPU in named windows, for people and for programs.

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

using ProcessReport = RowReport<ProcessWindow>;

// ---- The energy of each process in each of a list of windows.

// Prints what each process used in each window, and adds to the outcome what is to be said. GPUs
// are those with samples of power. Recordings without processes give the totals of their GPUs, and
// exit status 1.
void print_processes(const WindowsRequest& request, const Traces& traces,
                     const std::vector<NamedWindow>& windows, WindowReportFacts facts,
                     const std::function<void(const std::string&)>& print, WindowsOutcome& outcome);

}  // namespace aggregate_power
