// Lays out windows as a table, as CSV, as JSON and as Zeus does.
#include "runs/windows/window_energy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/wrap.h"
#include "core/model/code_descriptions.h"
#include "core/record/record_numbers.h"
#include "runs/calibrate/calibrate.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

constexpr const char* kWindowsSchema = "aggregate-power/windows-1";

// A mean over no time, or a share of nothing, is not a number.
std::optional<double> ratio(double numerator, double denominator) {
  if (!(denominator > 0)) return std::nullopt;
  return numerator / denominator;
}

std::optional<double> counter_to_power(const GpuWindow& gpu) {
  if (!gpu.counter_energy_j || !gpu.power_energy_j) return std::nullopt;
  return ratio(*gpu.counter_energy_j, *gpu.power_energy_j);
}

// The members of a window that are columns too. More are to come.
Json::object_t window_members(const WindowRow& row) {
  constexpr std::size_t kMostMembers = 24;
  Json::object_t members;
  members.reserve(kMostMembers);
  members.emplace_back("number", row.number);
  members.emplace_back("name", row.name);
  members.emplace_back("start_unix_s", row.window.start_unix_s);
  members.emplace_back("end_unix_s", row.window.end_unix_s);
  members.emplace_back("duration_s", row.window.duration_s());
  members.emplace_back("depth", row.depth);
  members.emplace_back("parent", row.parent == 0 ? Json() : Json(row.parent));
  members.emplace_back("overlaps", row.overlaps.empty() ? Json() : Json(row.overlaps));
  return members;
}

void add_stated(const std::optional<StatedEnergy>& stated, Json::object_t& members) {
  const auto add = [&](const char* name, double StatedEnergy::*energy_j) {
    members.emplace_back(name, stated ? Json((*stated).*energy_j) : Json());
  };
  add("energy_j_estimate", &StatedEnergy::estimate_j);
  add("energy_j_low", &StatedEnergy::low_j);
  add("energy_j_high", &StatedEnergy::high_j);
}

// The members of a GPU in a window. `energy_j` is of all GPUs, if they were all measured.
Json::object_t gpu_members(const WindowReportFacts& facts, const WindowRow& row, std::size_t i,
                           std::optional<double> energy_j, bool is_csv) {
  constexpr std::size_t kMostMembers = 24;
  Json::object_t members;
  members.reserve(kMostMembers);
  const GpuWindow& gpu = row.gpus[i];
  const auto add = [&](const char* name, Json value) {
    members.emplace_back(name, std::move(value));
  };
  const auto known = [&](std::optional<double> value) {
    return gpu.fault.empty() ? or_null(value) : Json();
  };
  const auto add_logged = [&](bool is_here) {
    if (facts.has_logged && is_here) add("logged_energy_j", or_null(gpu.logged_energy_j));
  };
  add("gpu", facts.gpus[i]);
  add("source", gpu.source);
  add("energy_j", known(gpu.energy_j));
  add("mean_power_w", known(ratio(gpu.energy_j, row.window.duration_s())));
  add("peak_power_w", known(gpu.peak_power_w));
  add("share", energy_j ? or_null(ratio(gpu.energy_j, *energy_j)) : Json());
  if (is_csv) add("own_duration_s", row.own_duration_s);
  add("own_energy_j", known(gpu.own_energy_j));
  add_logged(!is_csv);
  add("reason", text_or_null(gpu.fault));
  if (facts.has_counters) {
    add("power_energy_j", or_null(gpu.power_energy_j));
    add("counter_energy_j", or_null(gpu.counter_energy_j));
    add("counter_to_power", or_null(counter_to_power(gpu)));
    add("counter_resolution_j", or_null(gpu.counter_resolution_j));
    add("counter_reason", text_or_null(gpu.counter_fault));
  }
  if (facts.has_intervals) {
    add_stated(gpu.stated, members);
    if (is_csv) add("no_interval", gpu.stated ? Json() : Json(row.no_interval));
  }
  add_logged(is_csv);
  return members;
}

class JsonWindows final : public WindowReport {
 public:
  explicit JsonWindows(const WindowReportFacts& facts)
      : facts_(facts), is_one_node_(are_of_one_node(facts.gpus, facts.telemetry.size())) {}

  std::string head() override {
    Json head = {{"schema", kWindowsSchema},
                 {"telemetry", facts_.telemetry},
                 {"windows_file", facts_.windows_file},
                 {"recorded",
                  {{"start_unix_s", facts_.recorded.start_unix_s},
                   {"end_unix_s", facts_.recorded.end_unix_s}}},
                 {"gpus", facts_.gpus},
                 {"not_exact", facts_.missing}};
    if (!facts_.witnesses.empty()) {
      head["witnesses"] = witnesses_json(facts_.witnesses, is_one_node_);
    }
    std::string text = spaced_json_head(head, "windows");
    if (!facts_.rates.is_asked()) return text;
    return text.insert(text.rfind("\"windows"),
                       fmt::format("\"facility\": {},\n",
                                   line_text(facility_terms_json(facts_.rates, facts_.measured))));
  }

  void add(const WindowRow& row, std::string& text) override {
    const std::string fault = row.fault(facts_.gpus);
    const std::optional<double> energy_j = row.measured_energy_j();
    const double duration_s = row.window.duration_s();
    Json::object_t members = window_members(row);
    members.emplace_back("measured", fault.empty());
    members.emplace_back("reason", text_or_null(fault));
    members.emplace_back("energy_j", or_null(energy_j));
    members.emplace_back("mean_power_w", energy_j ? or_null(ratio(*energy_j, duration_s)) : Json());
    members.emplace_back("own_duration_s", row.own_duration_s);
    members.emplace_back("own_energy_j", energy_j ? Json(row.own_energy_j()) : Json());
    Json::array_t gpus;
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      gpus.emplace_back(gpu_members(facts_, row, i, energy_j, false));
    }
    members.emplace_back("gpus", std::move(gpus));
    if (facts_.has_intervals) {
      add_stated(row.stated, members);
      members.emplace_back("no_interval", text_or_null(row.no_interval));
    }
    if (!facts_.witnesses.empty()) members.emplace_back("witnesses", seen_by_witnesses(row));
    if (row.node) members.emplace_back("modelled_node", modelled_node_json(*row.node));
    text += row.number > 1 ? ",\n" : "\n";
    add_spaced_json(std::move(members), text);
    if (!facts_.rates.is_asked()) return;
    text.back() = ',';
    text += fmt::format(" \"facility\": {}}}",
                        row.facility ? line_text(facility_figures_json(*row.facility)) : "null");
  }

  std::string foot() override { return "\n]\n}\n"; }

 private:
  Json seen_by_witnesses(const WindowRow& row) const {
    Json list = Json::array();
    for (std::size_t i = 0; i < row.witnesses.size(); ++i) {
      list.push_back(witness_json({facts_.witnesses[i], row.witnesses[i], row.window.duration_s(),
                                   is_one_node_ ? row.measured_energy_j() : std::nullopt}));
    }
    return list;
  }

  const WindowReportFacts& facts_;
  bool is_one_node_;
};

class CsvWindows final : public WindowReport {
 public:
  explicit CsvWindows(const WindowReportFacts& facts) : facts_(facts) {}

  std::string head() override {
    WindowRow none;
    none.gpus.emplace_back();
    return csv_names(window_members(none)) + "," + csv_names(gpu(none, 0, {})) + "\n";
  }

  void add(const WindowRow& row, std::string& text) override {
    const std::optional<double> energy_j = row.measured_energy_j();
    std::string of_window;
    add_csv_cells(window_members(row), of_window);
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      text.append(of_window).append(",");
      add_csv_cells(gpu(row, i, energy_j), text);
      text += '\n';
    }
  }

 private:
  Json::object_t gpu(const WindowRow& row, std::size_t i, std::optional<double> energy_j) const {
    Json::object_t members = gpu_members(facts_, row, i, energy_j, true);
    if (facts_.rates.is_asked()) add_facility_members(row.gpus[i].facility, true, members);
    return members;
  }

  const WindowReportFacts& facts_;
};

// The energy of a GPU that was not measured is left empty.
class ZeusWindows final : public WindowReport {
 public:
  explicit ZeusWindows(const WindowReportFacts& facts) : facts_(facts) {}

  std::string head() override {
    std::string line = "start_time,window_name,elapsed_time";
    for (const std::string& column : zeus_columns(facts_.gpus)) line += "," + column;
    return line + "\n";
  }

  void add(const WindowRow& row, std::string& text) override {
    text += fmt::format("{},{},{}", json_number(row.window.start_unix_s), csv_cell(row.name),
                        json_number(row.window.duration_s()));
    for (const GpuWindow& gpu : row.gpus) {
      text += ',';
      if (gpu.fault.empty()) text += json_number(gpu.energy_j);
    }
    text += '\n';
  }

 private:
  const WindowReportFacts& facts_;
};

constexpr std::size_t kMostNameColumns = 20;
constexpr std::size_t kMostGpuColumns = 12;
constexpr std::size_t kTableColumns = 80;

// At most 80 columns, as long as its numbers are not huge and no cost is asked for.
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
    if (!row.no_interval.empty()) text += no_interval_line(indent, row.no_interval);
    if (row.node && row.node->energy_j) {
      text += wrapped(fmt::format("(node: {})", modelled_node_text(*row.node)), indent,
                      indent.size() + 1, kTableColumns);
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
  static std::string no_interval_line(const std::string& indent, const std::string& why) {
    const ExplainedWord* const word = word_in(interval_refusals(), why);
    const std::string_view rule = word == nullptr ? std::string_view(why) : word->rule;
    return wrapped(fmt::format("(no interval: {})", rule), indent, indent.size() + 1,
                   kTableColumns);
  }
  static std::vector<TextCell> energy_cells(std::string name, const std::string& gpu,
                                            double duration_s, double energy_j) {
    constexpr std::size_t kMostCells = 13;
    std::vector<TextCell> cells;
    cells.reserve(kMostCells);
    cells.insert(cells.end(), {std::move(name), gpu, duration_s, energy_j});
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

std::string WindowRow::fault(const std::vector<std::string>& names) const {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].fault.empty()) return fmt::format("GPU {}: {}", names[i], gpus[i].fault);
  }
  return {};
}

std::optional<double> WindowRow::measured_energy_j() const {
  const bool is_measured =
      std::ranges::all_of(gpus, [](const GpuWindow& gpu) { return gpu.fault.empty(); });
  return is_measured ? std::optional(energy_j()) : std::nullopt;
}

double WindowRow::energy_j() const { return summed(gpus, &GpuWindow::energy_j); }

double WindowRow::own_energy_j() const { return summed(gpus, &GpuWindow::own_energy_j); }

std::vector<std::string> zeus_columns(const std::vector<std::string>& gpus) {
  const bool are_numbers = std::ranges::all_of(gpus, is_ascii_digits);
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    columns.push_back(fmt::format("gpu{}_energy", are_numbers ? gpus[i] : std::to_string(i)));
  }
  return columns;
}

std::unique_ptr<WindowReport> window_report(WindowFormat format, const WindowReportFacts& facts) {
  switch (format) {
    case WindowFormat::csv:
      return std::make_unique<CsvWindows>(facts);
    case WindowFormat::json:
      return std::make_unique<JsonWindows>(facts);
    case WindowFormat::zeus:
      return std::make_unique<ZeusWindows>(facts);
    case WindowFormat::table:
      break;
  }
  return std::make_unique<TableWindows>(facts);
}

}  // namespace aggregate_power
