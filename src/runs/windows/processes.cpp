// Lays out the parts of each GPU, one below the other.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "core/energy/curve.h"
#include "core/energy/plausibility.h"
#include "recorders/recorders.h"
#include "runs/attribute/report.h"
#include "runs/windows/windows.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostColumns = 20;  // of a name
constexpr const char* kProcessSchema = "aggregate-power/processes-1";

std::optional<double> part_of(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

// Of at most 80 columns, as long as its numbers and names are not huge.
class TableProcesses final : public ProcessReport {
 public:
  explicit TableProcesses(const WindowReportFacts& facts) : facts_(facts) {
    const auto widen = [](std::size_t& columns, std::size_t wanted) {
      columns = std::clamp(wanted, columns, kMostColumns);
    };
    widen(name_columns_, facts.longest_name);
    for (const std::string& gpu : facts.gpus) widen(gpu_columns_, printable(gpu).size());
    table_.emplace(fmt::format(
        "[window <{}] [GPU <{}] [process <9] [seconds >9.3f] [joules >12.3f] [mean W >8.2f] [share % >7.1f]",
        name_columns_, gpu_columns_));
  }

  std::string head() override { return table_->head(); }

  void add(const ProcessWindow& row, std::string& text) override {
    std::string name = printable(row.name, name_columns_);
    const double duration_s = row.window.duration_s();
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuProcesses& gpu = row.gpus[i];
      std::string id = printable(facts_.gpus[i], gpu_columns_);
      const auto line = [&](std::string_view process, double energy_j) {
        table_->add(
            {std::exchange(name, {}), std::exchange(id, {}), printable(process), duration_s,
             energy_j, energy_j / duration_s, 100 * part_of(energy_j, gpu.energy_j).value_or(0)},
            text);
      };
      if (!gpu.fault.empty()) {
        table_->add({std::exchange(name, {}), id, "not measured: " + gpu.fault}, text);
        continue;
      }
      line("all", gpu.energy_j);
      for (const ProcessPart& part : gpu.parts) line(part.process, part.energy_j);
    }
  }

 private:
  const WindowReportFacts& facts_;
  std::size_t name_columns_ = 6;
  std::size_t gpu_columns_ = 3;
  std::optional<TextTable> table_;
};

class CsvProcesses final : public ProcessReport {
 public:
  explicit CsvProcesses(const WindowReportFacts& facts) : facts_(facts) {}

  std::string head() override { return csv_names(line({}, "", {}, {})) + "\n"; }

  void add(const ProcessWindow& row, std::string& text) override {
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuProcesses& gpu = row.gpus[i];
      const auto add_part = [&](const ProcessPart& part) {
        add_csv_cells(line(row, facts_.gpus[i], gpu, part), text);
        text += '\n';
      };
      add_part({"all", gpu.energy_j});
      std::ranges::for_each(gpu.parts, add_part);
    }
  }

 private:
  static Json::object_t line(const ProcessWindow& row, const std::string& gpu,
                             const GpuProcesses& all, const ProcessPart& part) {
    const double duration_s = row.window.duration_s();
    const auto known = [&](std::optional<double> value) {
      return all.fault.empty() ? or_null(value) : Json();
    };
    return {{"number", row.number},
            {"name", row.name},
            {"start_unix_s", row.window.start_unix_s},
            {"end_unix_s", row.window.end_unix_s},
            {"duration_s", duration_s},
            {"gpu", gpu},
            {"process", part.process},
            {"energy_j", known(part.energy_j)},
            {"mean_power_w", known(part_of(part.energy_j, duration_s))},
            {"share", known(part_of(part.energy_j, all.energy_j))},
            {"idle_power_j", known(part.idle_power_j)},
            {"reason", all.fault}};
  }

  const WindowReportFacts& facts_;
};

class JsonProcesses final : public ProcessReport {
 public:
  JsonProcesses(const WindowReportFacts& facts, const std::vector<double>& idle_w)
      : facts_(facts), idle_w_(idle_w) {}

  std::string head() override {
    return fmt::format(
        "{{\n\"schema\": {},\n\"telemetry\": {},\n\"windows_file\": {},\n\"gpus\": {},\n"
        "\"idle_power_w\": {},\n\"windows\": [",
        line_text(kProcessSchema), line_text(facts_.telemetry), line_text(facts_.windows_file),
        line_text(facts_.gpus), line_text(idle_w_));
  }

  void add(const ProcessWindow& row, std::string& text) override {
    Json gpus = Json::array();
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      gpus.push_back(gpu_json(facts_.gpus[i], row.gpus[i]));
    }
    const Json json = {{"number", row.number},
                       {"name", row.name},
                       {"start_unix_s", row.window.start_unix_s},
                       {"end_unix_s", row.window.end_unix_s},
                       {"duration_s", row.window.duration_s()},
                       {"gpus", std::move(gpus)}};
    text += (row.number > 1 ? ",\n" : "\n") + line_text(json);
  }

  std::string foot() override { return "\n]\n}\n"; }

 private:
  static Json gpu_json(const std::string& name, const GpuProcesses& gpu) {
    const bool is_measured = gpu.fault.empty();
    Json parts = list_of(gpu.parts, [&](const ProcessPart& part) -> Json {
      return {{"process", part.process},
              {"energy_j", part.energy_j},
              {"share", number_or_null(part_of(part.energy_j, gpu.energy_j))},
              {"idle_power_j", number_or_null(part.idle_power_j)}};
    });
    return {{"gpu", name},
            {"energy_j", is_measured ? Json(gpu.energy_j) : Json()},
            {"reason", text_or_null(gpu.fault)},
            {"processes", gpu.parts.empty() ? Json() : std::move(parts)}};
  }

  const WindowReportFacts& facts_;
  const std::vector<double>& idle_w_;
};

// There is no form for WindowFormat::zeus. `idle_w`, the idle power of each GPU, outlives it.
std::unique_ptr<ProcessReport> process_report(WindowFormat format, const WindowReportFacts& facts,
                                              const std::vector<double>& idle_w) {
  if (format == WindowFormat::csv) return std::make_unique<CsvProcesses>(facts);
  if (format == WindowFormat::json) return std::make_unique<JsonProcesses>(facts, idle_w);
  return std::make_unique<TableProcesses>(facts);
}

}  // namespace

// ---- Reads how processes shared the GPUs, and divides each window.

namespace {

struct ProcessEnergy {
  double energy_j = 0;
  double idle_power_j = 0;  // the part of it that the GPU draws anyway
};

// The parts add up to the energy of the GPU in the window.
struct DividedEnergy {
  std::vector<ProcessEnergy> processes;  // by number
  double idle_j = 0;                     // no process used the GPU
  double unknown_j = 0;                  // no record says which did
};

void divide_stretch(double energy_j, double idle_j, const ShareRecord& record,
                    DividedEnergy& divided) {
  if (!record.is_known) {
    divided.unknown_j += energy_j;
    return;
  }
  if (record.uses.empty()) {
    divided.idle_j += energy_j;
    return;
  }
  const double all_uses = summed(record.uses, &ProcessUse::use);
  const double each_idle_j = idle_j / static_cast<double>(record.uses.size());
  for (const ProcessUse& use : record.uses) {
    ProcessEnergy& process = divided.processes[use.process];
    process.energy_j += (energy_j - idle_j) * (use.use / all_uses) + each_idle_j;
    process.idle_power_j += each_idle_j;
  }
}

// The energy between two records is that of the processes in the later one: its part above
// `idle_w` in proportion to their use, and that up to `idle_w` in equal parts. `records` are in
// order of time, `processes` of them are numbered.
DividedEnergy divide_energy(const PowerTrace& power, std::span<const ShareRecord> records,
                            std::size_t processes, double idle_w, Window window) {
  DividedEnergy divided{std::vector<ProcessEnergy>(processes)};
  auto record = std::ranges::upper_bound(records, window.start_unix_s, {}, &ShareRecord::unix_s);
  double from = window.start_unix_s;
  for (; record != records.end() && from < window.end_unix_s; ++record) {
    const double to = std::min(record->unix_s, window.end_unix_s);
    if (!(from < to)) continue;  // several records of one time
    const double energy_j = power.energy_j({from, to});
    divide_stretch(energy_j, std::min(energy_j, idle_w * (to - from)), *record, divided);
    from = to;
  }
  return divided;
}

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

// Measures the processor or its memory.
class PowerMeter {
 public:
  PowerMeter(const AipmMetrics::Power& power, const AipmMetrics& metrics, double max_gap_s)
      : total_(power.name, power.total, Interpolation::linear, metrics.pauses),
        max_gap_s_(max_gap_s) {
    for (const auto& [process, named] : power.processes) {
      processes_.emplace_back(process, power.samples_of(named), Interpolation::linear,
                              metrics.pauses);
    }
  }

  const std::string& name() const { return total_.device(); }

  // What no process of the recording used is "other".
  GpuProcesses measure(Window window) const {
    GpuProcesses found;
    found.fault = TraceCoverage(total_, max_gap_s_).fault(window);
    if (!found.fault.empty()) return found;
    double sum_j = 0;
    for (const PowerTrace& process : processes_) {
      const double energy_j = process.energy_j(window);
      sum_j += energy_j;
      if (energy_j > 0) found.parts.push_back({process.device(), energy_j});
    }
    found.energy_j = std::max(total_.energy_j(window), sum_j);
    found.parts.push_back({"other", found.energy_j - sum_j});
    return found;
  }

 private:
  PowerTrace total_;
  std::vector<PowerTrace> processes_;
  double max_gap_s_;
};

// Of a single recording: several may be of one machine.
std::vector<PowerMeter> power_meters(const Traces& traces, double max_gap_s) {
  std::vector<PowerMeter> meters;
  if (traces.files.size() != 1) return meters;
  const TraceFile& file = traces.files[0];
  if (file.path == "-" || file.facts.series.schema != "aipowermeter") return meters;
  const auto source = as_utf8(decompressed(open_source(file.path), file.path));
  const AipmMetrics metrics = read_aipm_metrics(*source, file.zone);
  for (const AipmMetrics::Power& power : metrics.powers) {
    meters.emplace_back(power, metrics, max_gap_s);
  }
  return meters;
}

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
  const auto files = mapped<SharedFile>(traces.files, shared_file);
  std::vector<ProcessMeter> meters;
  meters.reserve(traces.devices.size());
  std::vector<double> idle_w;
  facts.gpus.clear();
  for (const PowerTrace& device : traces.devices) {
    facts.gpus.push_back(device.device());
    idle_w.push_back(
        meters.emplace_back(device, files, request, plausible_watts_of(traces).most_w).idle_w());
  }
  const std::vector<PowerMeter> others = power_meters(traces, request.max_sample_gap_s);
  for (const PowerMeter& meter : others) {
    facts.gpus.push_back(meter.name());
    idle_w.push_back(0);
  }
  note_shares(files, outcome);

  const auto report = process_report(request.format, facts, idle_w);
  std::string text = report->head();
  std::size_t unmeasured = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ProcessWindow row{i + 1, windows[i].name, windows[i].window};
    for (const ProcessMeter& meter : meters) row.gpus.push_back(meter.measure(row.window));
    for (const PowerMeter& meter : others) row.gpus.push_back(meter.measure(row.window));
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
