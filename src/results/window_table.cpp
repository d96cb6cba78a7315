// Lays out windows as a table of at most 80 columns, as long as its numbers are not huge and no
// cost is asked for.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "results/facility_report.h"
#include "results/short_names.h"
#include "results/window_report.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostNameColumns = 20;
constexpr std::size_t kMostGpuColumns = 12;
constexpr std::size_t kTableColumns = 80;
constexpr std::size_t kHalfColumns = 9;  // of half an interval

class TableWindows final : public WindowReport {
 public:
  explicit TableWindows(const WindowReportFacts& facts) : facts_(facts) {
    name_columns_ =
        std::clamp(facts.longest_name, std::string_view("window").size(), kMostNameColumns);
    gpus_ = shortened_apart(facts.gpus, kMostGpuColumns);
    for (const std::string& gpu : gpus_) gpu_columns_ = std::max(gpu_columns_, gpu.size());
    witnesses_.emplace(facts.witnesses, are_of_one_node(facts.gpus, facts.telemetry.size()),
                       name_columns_);
  }

  std::string head() override {
    std::string line =
        fmt::format("{:<{}} {:<{}} {:>9} {:>12} {:>8} {:>8} {:>7}{}", "window", name_columns_,
                    "GPU", gpu_columns_, "seconds", "joules", "mean W", "peak W", "share %",
                    facts_.has_counters ? " source" : "");
    columns_ = line.size() + (facts_.has_counters ? 1 : 0);  // "counter" is longer than "source"
    if (facts_.has_intervals) {
      line.resize(columns_, ' ');
      line += fmt::format(" {:>12} \u00B1 {:<{}}", "estimate J", "J", kHalfColumns);
    }
    const std::size_t own_columns = columns_;
    columns_ = std::max(columns_, line.size());
    add_facility({"facility J", "cost", "gCO2e"}, 0, line);
    columns_ = own_columns;
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

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
    const std::size_t begin = text.size();
    if (row.gpus.size() > 1) {
      is_measured ? add_energy(name, "all", duration_s, row.energy_j(), text)
                  : add_fault(name, "all", "not all GPUs are", text);
      if (is_measured) end_line(row.stated, row.facility, begin, text);
      name.clear();
    }
    const double all_j = row.energy_j();
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuWindow& gpu = row.gpus[i];
      if (!gpu.fault.empty()) {
        add_fault(name, gpus_[i], gpu.fault, text);
        continue;
      }
      const std::size_t begin_of_gpu = text.size();
      add_energy(name, gpus_[i], duration_s, gpu.energy_j, text);
      const std::string peak = gpu.peak_power_w ? fmt::format("{:.2f}", *gpu.peak_power_w) : "";
      const std::string share = is_measured && all_j > 0
                                    ? fmt::format(" {:>7.1f}", 100 * gpu.energy_j / all_j)
                                    : std::string();
      if (facts_.has_counters) {
        fmt::format_to(std::back_inserter(text), " {:>8}{:>8} {}", peak, share, gpu.source);
      } else {
        fmt::format_to(std::back_inserter(text), " {:>8}{}", peak, share);
      }
      end_line(gpu.stated, gpu.facility, begin_of_gpu, text);
      name.clear();
    }
    if (row.has_children && is_measured) {
      add_energy(indent + "(own)", row.gpus.size() > 1 ? "all" : gpus_[0], row.own_duration_s,
                 row.own_energy_j(), text);
      text += '\n';
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
  void add_energy(const std::string& name, const std::string& gpu, double duration_s,
                  double energy_j, std::string& text) const {
    fmt::format_to(std::back_inserter(text), "{:<{}} {:<{}} {:>9.3f} {:>12.3f}", name,
                   name_columns_, gpu, gpu_columns_, duration_s, energy_j);
    if (duration_s > 0) {
      fmt::format_to(std::back_inserter(text), " {:>8.2f}", energy_j / duration_s);
    }
  }
  void add_fault(const std::string& name, const std::string& gpu, const std::string& fault,
                 std::string& text) const {
    fmt::format_to(std::back_inserter(text), "{:<{}} {:<{}} not measured: {}\n", name,
                   name_columns_, gpu, gpu_columns_, fault);
  }
  void end_line(const std::optional<StatedEnergy>& stated,
                const std::optional<FacilityFigures>& figures, std::size_t begin,
                std::string& text) const {
    if (stated) {
      pad(begin, text);
      text += fmt::format(" {:>12.3f} \u00B1 {:.3f}", stated->estimate_j, stated->half_j());
      if (figures) {
        constexpr std::size_t kSign = 2;  // bytes
        const std::size_t wide = columns_ + 1 + 12 + 2 + kSign + kHalfColumns;
        if (text.size() - begin < wide) text.append(wide - (text.size() - begin), ' ');
      }
    }
    if (figures) {
      const auto shown = [](std::optional<double> value) {
        return value ? fmt::format("{:.6g}", *value) : std::string("-");
      };
      const std::string joules =
          figures->energy_j ? fmt::format("{:.3f}", *figures->energy_j) : std::string();
      add_facility({joules, shown(figures->cost), shown(figures->carbon_g)}, begin, text);
    }
    text += '\n';
  }
  // Adds those of these columns that were asked for to the line that begins at `begin`.
  void add_facility(const std::array<std::string, 3>& cells, std::size_t begin,
                    std::string& text) const {
    if (!facts_.rates.is_asked()) return;
    pad(begin, text);
    auto out = std::back_inserter(text);
    if (facts_.rates.pue) fmt::format_to(out, " {:>12}", cells[0]);
    if (facts_.rates.price) fmt::format_to(out, " {:>12}", cells[1]);
    if (facts_.rates.carbon) fmt::format_to(out, " {:>12}", cells[2]);
  }

  void pad(std::size_t begin, std::string& text) const {
    const std::size_t line = text.size() - begin;
    if (line < columns_) text.append(columns_ - line, ' ');
  }

  const WindowReportFacts& facts_;
  std::vector<std::string> gpus_;
  std::size_t name_columns_ = 0;
  std::size_t gpu_columns_ = 3;
  std::size_t columns_ = 0;  // before those of cost
  std::optional<WitnessBlock> witnesses_;
};

}  // namespace

std::unique_ptr<WindowReport> window_table(const WindowReportFacts& facts) {
  return std::make_unique<TableWindows>(facts);
}

}  // namespace aggregate_power
