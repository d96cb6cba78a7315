// Reads how processes shared the GPUs, and divides each window.
#include "runs/windows/processes_run.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/encoding.h"
#include "base/text/characters.h"
#include "core/energy/plausibility.h"
#include "energy/shares/processes.h"
#include "core/energy/trace_coverage.h"
#include "recorders/process_shares.h"
#include "runs/windows/process_report.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kProcessBytesAtOnce = 64 * 1024;

struct SharedFile {
  std::string path;
  ProcessShares shares;
};

SharedFile shared_file(const TraceFile& file) {
  SharedFile shared{file.path, {}};
  const SeriesFacts& series = file.facts.series;
  if (file.path == "-") {
    throw Error("--per-process reads the recording twice: give a file instead of standard input");
  }
  if (series.schema != "aipowermeter" || series.power_column != "per_gpu_power_draw") return shared;
  const auto source = as_utf8(decompressed(open_source(file.path), file.path));
  shared.shares = read_process_shares(*source, file.zone);
  return shared;
}

// Measures one GPU.
class ProcessMeter {
 public:
  ProcessMeter(const PowerTrace& power, const std::vector<SharedFile>& files,
               const WindowsRequest& request, double most_w)
      : power_(power), most_w_(most_w), coverage_(power, request.max_sample_gap_s) {
    const Sample least = *std::ranges::min_element(power.samples(), {}, &Sample::watts);
    idle_w_ = request.idle_power_w.value_or(least.watts);
    for (const SharedFile& file : files) {
      for (const ProcessShares::Gpu& gpu : file.shares.gpus) {
        if (!file.shares.has_processes || !is_named(plain_stem(file.path), gpu.name)) continue;
        shares_ = &file.shares;
        gpu_ = &gpu;
      }
    }
  }

  double idle_w() const { return idle_w_; }

  GpuProcesses measure(Window window) const {
    GpuProcesses found;
    found.fault = coverage_.fault(window);
    if (!found.fault.empty()) return found;
    found.energy_j = power_.energy_j(window);
    const double mean_w = found.energy_j / window.duration_s();
    const std::string why =
        impossible_window_text(mean_w, power_.peak_w(window), PowerUnit::Size::watt, most_w_);
    if (!why.empty()) {
      found.fault = "implausible_power: " + why;
      return found;
    }
    if (gpu_ == nullptr) return found;
    const DividedEnergy divided =
        divide_energy(power_, gpu_->records, shares_->processes.size(), idle_w_, window);
    for (std::size_t i = 0; i < divided.processes.size(); ++i) {
      const ProcessEnergy& process = divided.processes[i];
      if (process.energy_j == 0) continue;
      found.parts.push_back({shares_->processes[i], process.energy_j, process.idle_power_j});
    }
    found.parts.push_back({"idle", divided.idle_j});
    if (divided.unknown_j > 0) found.parts.push_back({"unknown", divided.unknown_j});
    return found;
  }

 private:
  // A GPU that is in several recordings has the file's name before its own.
  bool is_named(const std::string& stem, const std::string& gpu) const {
    return power_.device() == gpu || power_.device() == fmt::format("{}:{}", stem, gpu);
  }

  const PowerTrace& power_;
  double most_w_;
  TraceCoverage coverage_;
  double idle_w_ = 0;
  const ProcessShares* shares_ = nullptr;  // nothing says how processes shared it
  const ProcessShares::Gpu* gpu_ = nullptr;
};

void note_shares(const std::vector<SharedFile>& files, WindowsOutcome& outcome) {
  for (const SharedFile& file : files) {
    const ProcessShares& shares = file.shares;
    if (!shares.has_processes) {
      outcome.exit_status = 1;
      outcome.err.push_back(fmt::format(
          "{}: attribution is not possible, because no record says which processes used a GPU; the energies are those of whole GPUs",
          printable_path(file.path)));
    }
    if (shares.above_drawn == 0) continue;
    outcome.err.push_back(fmt::format(
        "warning: {}: {} of {} records attribute more to the experiment than a GPU drew; no energy here is above what was drawn",
        printable_path(file.path), shares.above_drawn, shares.attributed));
  }
}

}  // namespace

void print_processes(const WindowsRequest& request, const Traces& traces,
                     const std::vector<NamedWindow>& windows, WindowReportFacts facts,
                     const std::function<void(const std::string&)>& print,
                     WindowsOutcome& outcome) {
  std::vector<SharedFile> files;
  for (const TraceFile& file : traces.files) files.push_back(shared_file(file));
  std::vector<ProcessMeter> meters;
  meters.reserve(traces.devices.size());
  std::vector<double> idle_w;
  facts.gpus.clear();
  for (const PowerTrace& device : traces.devices) {
    facts.gpus.push_back(device.device());
    idle_w.push_back(
        meters.emplace_back(device, files, request, plausible_watts_of(traces).most_w).idle_w());
  }
  note_shares(files, outcome);

  const auto report = process_report(request.format, facts, idle_w);
  std::string text = report->head();
  std::size_t unmeasured = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ProcessWindow row{i + 1, windows[i].name, windows[i].window};
    for (const ProcessMeter& meter : meters) row.gpus.push_back(meter.measure(row.window));
    unmeasured += std::ranges::all_of(row.gpus, &std::string::empty, &GpuProcesses::fault) ? 0 : 1;
    report->add(row, text);
    if (text.size() < kProcessBytesAtOnce) continue;
    print(text);
    text.clear();
  }
  print(text + report->foot());
  if (unmeasured == 0) return;
  outcome.exit_status = 1;
  outcome.err.push_back(fmt::format("{} of {} windows not measured", unmeasured, windows.size()));
}

}  // namespace aggregate_power
