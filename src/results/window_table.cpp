// Lays out windows as a table of at most 80 columns, as long as its numbers are not huge and no
// cost is asked for.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/report/document.h"
#include "results/facility_report.h"
#include "results/short_names.h"
#include "results/window_report.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostNameColumns = 20;
constexpr std::size_t kMostGpuColumns = 12;
constexpr std::size_t kTableColumns = 80;

class TableWindows final : public WindowReport {
 public:
  explicit TableWindows(const WindowReportFacts& facts) : facts_(facts) {
    name_columns_ =
        std::clamp(facts.longest_name, std::string_view("window").size(), kMostNameColumns);
    gpus_ = shortened_apart(facts.gpus, kMostGpuColumns);
    std::size_t gpu_columns = 3;
    for (const std::string& gpu : gpus_) gpu_columns = std::max(gpu_columns, gpu.size());
    witnesses_.emplace(facts.witnesses, are_of_one_node(facts.gpus, facts.telemetry.size()),
                       name_columns_);
    std::string layout = fmt::format(
        "[window <{}] [GPU <{}] [seconds >9.3f] [joules >12.3f] [mean W >8.2f] [peak W >8.2f] [share % >7.1f]",
        name_columns_, gpu_columns);
    if (facts.has_counters) layout += " [source <7]";
    if (facts.has_intervals) layout += " [estimate J >12.3f] \u00B1 [J <9.3f]";
    if (facts.rates.pue) layout += " [facility J >12.3f]";
    if (facts.rates.price) layout += " [cost >12.6g]";
    if (facts.rates.carbon) layout += " [gCO2e >12.6g]";
    table_.emplace(layout);
  }

  std::string head() override { return table_->head(); }

  void add(const WindowRow& row, std::string& text) override {
    const std::string indent(std::min<std::size_t>(2 * row.depth, 10), ' ');
    std::string name = indent + shortened(row.name, name_columns_ - indent.size());
    witnesses_->add(name, row.window.duration_s(), row.measured_energy_j(), row.witnesses);
    const bool is_measured = row.fault(facts_.gpus).empty();
    const double duration_s = row.window.duration_s();
    if (std::ranges::none_of(row.gpus, [](const GpuWindow& gpu) { return gpu.fault.empty(); })) {
      add_fault(name, row.gpus.size() == 1 ? gpus_[0] : "all", row.gpus[0].fault, text);
      return;
    }
    if (row.gpus.size() > 1) {
      is_measured ? add_line(energy_cells(name, "all", duration_s, row.energy_j()), row.stated,
                             row.facility, text)
                  : add_fault(name, "all", "not all GPUs are", text);
      name.clear();
    }
    const double all_j = row.energy_j();
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuWindow& gpu = row.gpus[i];
      if (!gpu.fault.empty()) {
        add_fault(name, gpus_[i], gpu.fault, text);
        continue;
      }
      std::vector<TextCell> cells = energy_cells(name, gpus_[i], duration_s, gpu.energy_j);
      cells.resize(5, "");
      cells.emplace_back(gpu.peak_power_w, "");
      if (is_measured && all_j > 0) cells.emplace_back(100 * gpu.energy_j / all_j);
      if (facts_.has_counters) {
        cells.resize(7, "");
        cells.emplace_back(gpu.source);
      }
      add_line(std::move(cells), gpu.stated, gpu.facility, text);
      name.clear();
    }
    if (row.has_children && is_measured) {
      table_->add(energy_cells(indent + "(own)", row.gpus.size() > 1 ? "all" : gpus_[0],
                               row.own_duration_s, row.own_energy_j()),
                  text);
    }
    if (row.overlaps.empty()) return;
    constexpr std::string_view kWhat = "(overlaps : their common time is in both)";
    text += fmt::format("{}(overlaps {}: their common time is in both)\n", indent,
                        shortened(row.overlaps, kTableColumns - kWhat.size() - indent.size()));
  }

  std::string foot() override {
    if (!facts_.rates.is_asked()) return witnesses_->text();
    return fmt::format("({})\n{}", facility_note(facts_.rates, facts_.measured),
                       witnesses_->text());
  }

 private:
  static std::vector<TextCell> energy_cells(std::string name, const std::string& gpu,
                                            double duration_s, double energy_j) {
    std::vector<TextCell> cells = {std::move(name), gpu, duration_s, energy_j};
    if (duration_s > 0) cells.emplace_back(energy_j / duration_s);
    return cells;
  }
  void add_fault(const std::string& name, const std::string& gpu, const std::string& fault,
                 std::string& text) const {
    table_->add({name, gpu, "not measured: " + fault}, text);
  }
  // Adds a line with the interval and the figures of the facility, if they are known.
  void add_line(std::vector<TextCell> cells, const std::optional<StatedEnergy>& stated,
                const std::optional<FacilityFigures>& figures, std::string& text) const {
    const std::size_t own = facts_.has_counters ? 8 : 7;
    if (stated) {
      cells.resize(own, "");
      cells.insert(cells.end(), {stated->estimate_j, stated->half_j()});
    }
    if (figures) {
      cells.resize(facts_.has_intervals ? own + 2 : own, "");
      if (facts_.rates.pue) cells.emplace_back(figures->energy_j, "");
      if (facts_.rates.price) cells.emplace_back(figures->cost);
      if (facts_.rates.carbon) cells.emplace_back(figures->carbon_g);
    }
    table_->add(cells, text);
  }

  const WindowReportFacts& facts_;
  std::vector<std::string> gpus_;
  std::size_t name_columns_ = 0;
  std::optional<TextTable> table_;
  std::optional<WitnessBlock> witnesses_;
};

}  // namespace

std::unique_ptr<WindowReport> window_table(const WindowReportFacts& facts) {
  return std::make_unique<TableWindows>(facts);
}

}  // namespace aggregate_power
