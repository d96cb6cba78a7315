// Lays out windows as a table, as CSV, as JSON and as Zeus does.
#include "runs/windows/window_report.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

constexpr const char* kWindowsSchema = "aggregate-power/windows-1";

std::string quoted_json(std::string_view text) { return line_text(Json(std::string(text))); }

std::string quoted_json(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", quoted_json(text));
  }
  return fmt::format("[{}]", list);
}

// A mean over no time, or a share of nothing, is not a number.
std::optional<double> ratio(double numerator, double denominator) {
  if (!(denominator > 0)) return std::nullopt;
  return numerator / denominator;
}

std::optional<double> counter_to_power(const GpuWindow& gpu) {
  if (!gpu.counter_energy_j || !gpu.power_energy_j) return std::nullopt;
  return ratio(*gpu.counter_energy_j, *gpu.power_energy_j);
}

// Members of a JSON object, each with a comma before it.
std::string stated_json(const std::optional<StatedEnergy>& stated) {
  if (!stated) {
    return R"(, "energy_j_estimate": null, "energy_j_low": null, "energy_j_high": null)";
  }
  return fmt::format(R"(, "energy_j_estimate": {}, "energy_j_low": {}, "energy_j_high": {})",
                     json_number(stated->estimate_j), json_number(stated->low_j),
                     json_number(stated->high_j));
}

std::string stated_cells(const std::optional<StatedEnergy>& stated, const std::string& why) {
  if (!stated) return ",,,," + csv_cell(why);
  return fmt::format(",{},{},{},", json_number(stated->estimate_j), json_number(stated->low_j),
                     json_number(stated->high_j));
}

class JsonWindows final : public WindowReport {
 public:
  explicit JsonWindows(const WindowReportFacts& facts)
      : facts_(facts), is_one_node_(are_of_one_node(facts.gpus, facts.telemetry.size())) {
    for (const std::string& gpu : facts.gpus) gpus_.push_back(quoted_json(gpu));
  }

  std::string head() override {
    return fmt::format(
        "{{\n\"schema\": \"{}\",\n\"telemetry\": {},\n\"windows_file\": {},\n"
        "\"recorded\": {{\"start_unix_s\": {}, \"end_unix_s\": {}}},\n\"gpus\": {},\n"
        "\"not_exact\": {},\n{}{}\"windows\": [",
        kWindowsSchema, quoted_json(facts_.telemetry), quoted_json(facts_.windows_file),
        json_number(facts_.recorded.start_unix_s), json_number(facts_.recorded.end_unix_s),
        quoted_json(facts_.gpus), quoted_json(facts_.missing),
        facts_.witnesses.empty()
            ? std::string()
            : fmt::format("\"witnesses\": {},\n", witnesses_json(facts_.witnesses, is_one_node_)),
        facts_.rates.is_asked()
            ? fmt::format("\"facility\": {},\n",
                          line_text(facility_terms_json(facts_.rates, facts_.measured)))
            : std::string());
  }

  void add(const WindowRow& row, std::string& text) override {
    const std::string fault = row.fault(facts_.gpus);
    const bool is_measured = fault.empty();
    const double duration_s = row.window.duration_s();
    const double energy_j = row.energy_j();
    const auto known = [&](std::optional<double> value, bool is_known) {
      return is_known && value ? json_number(*value) : std::string("null");
    };
    auto out = std::back_inserter(text);
    fmt::format_to(
        out,
        "{}\n{{\"number\": {}, \"name\": {}, \"start_unix_s\": {}, \"end_unix_s\": {}, "
        "\"duration_s\": {}, \"depth\": {}, \"parent\": {}, \"overlaps\": {}, \"measured\": {}, "
        "\"reason\": {}, \"energy_j\": {}, \"mean_power_w\": {}, \"own_duration_s\": {}, "
        "\"own_energy_j\": {}, \"gpus\": [",
        row.number > 1 ? "," : "", row.number, quoted_json(row.name),
        json_number(row.window.start_unix_s), json_number(row.window.end_unix_s),
        json_number(duration_s), row.depth, row.parent == 0 ? "null" : std::to_string(row.parent),
        row.overlaps.empty() ? "null" : quoted_json(row.overlaps), is_measured,
        is_measured ? "null" : quoted_json(fault), known(energy_j, is_measured),
        known(ratio(energy_j, duration_s), is_measured), json_number(row.own_duration_s),
        known(row.own_energy_j(), is_measured));
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuWindow& gpu = row.gpus[i];
      const bool has_energy = gpu.fault.empty();
      fmt::format_to(
          out,
          "{}{{\"gpu\": {}, \"source\": \"{}\", \"energy_j\": {}, \"mean_power_w\": {}, "
          "\"peak_power_w\": {}, \"share\": {}, \"own_energy_j\": {}, {}\"reason\": {}",
          i > 0 ? ", " : "", gpus_[i], gpu.source, known(gpu.energy_j, has_energy),
          known(ratio(gpu.energy_j, duration_s), has_energy), known(gpu.peak_power_w, has_energy),
          known(ratio(gpu.energy_j, energy_j), is_measured), known(gpu.own_energy_j, has_energy),
          facts_.has_logged
              ? fmt::format("\"logged_energy_j\": {}, ", known(gpu.logged_energy_j, true))
              : "",
          has_energy ? "null" : quoted_json(gpu.fault));
      if (facts_.has_counters) add_sources(gpu, text);
      if (facts_.has_intervals) text += stated_json(gpu.stated);
      text += '}';
    }
    text += ']';
    if (facts_.has_intervals) {
      text += stated_json(row.stated);
      text += ", \"no_interval\": ";
      text += row.no_interval.empty() ? "null" : quoted_json(row.no_interval);
    }
    add_witnesses(row, text);
    if (facts_.rates.is_asked()) {
      text += ", \"facility\": ";
      text += row.facility ? line_text(facility_figures_json(*row.facility)) : "null";
    }
    text += '}';
  }

  std::string foot() override { return "\n]\n}\n"; }

 private:
  void add_witnesses(const WindowRow& row, std::string& text) const {
    if (facts_.witnesses.empty()) return;
    text += ", \"witnesses\": [";
    for (std::size_t i = 0; i < row.witnesses.size(); ++i) {
      if (i > 0) text += ", ";
      text += witness_json({facts_.witnesses[i], row.witnesses[i], row.window.duration_s(),
                            is_one_node_ ? row.measured_energy_j() : std::nullopt});
    }
    text += ']';
  }
  static void add_sources(const GpuWindow& gpu, std::string& text) {
    const auto number = [](std::optional<double> value) {
      return value ? json_number(*value) : std::string("null");
    };
    fmt::format_to(std::back_inserter(text),
                   ", \"power_energy_j\": {}, \"counter_energy_j\": {}, \"counter_to_power\": {}, "
                   "\"counter_resolution_j\": {}, \"counter_reason\": {}",
                   number(gpu.power_energy_j), number(gpu.counter_energy_j),
                   number(counter_to_power(gpu)), number(gpu.counter_resolution_j),
                   gpu.counter_fault.empty() ? "null" : quoted_json(gpu.counter_fault));
  }

  const WindowReportFacts& facts_;
  bool is_one_node_;
  std::vector<std::string> gpus_;
};

class CsvWindows final : public WindowReport {
 public:
  explicit CsvWindows(const WindowReportFacts& facts) : facts_(facts) {}

  std::string head() override {
    std::string names =
        "number,name,start_unix_s,end_unix_s,duration_s,depth,parent,overlaps,gpu,source,"
        "energy_j,mean_power_w,peak_power_w,share,own_duration_s,own_energy_j,reason";
    if (facts_.has_counters) {
      names +=
          ",power_energy_j,counter_energy_j,counter_to_power,counter_resolution_j,counter_reason";
    }
    if (facts_.has_intervals) {
      names += ",energy_j_estimate,energy_j_low,energy_j_high,no_interval";
    }
    if (facts_.has_logged) names += ",logged_energy_j";
    if (facts_.rates.is_asked()) names += facility_columns();
    return names + "\n";
  }

  void add(const WindowRow& row, std::string& text) override {
    const bool is_measured = row.fault(facts_.gpus).empty();
    const double duration_s = row.window.duration_s();
    const double energy_j = row.energy_j();
    const auto known = [&](std::optional<double> value, bool is_known) {
      return is_known && value ? json_number(*value) : std::string();
    };
    const std::string of_window = fmt::format(
        "{},{},{},{},{},{},{},{}", row.number, spreadsheet_cell(row.name),
        json_number(row.window.start_unix_s), json_number(row.window.end_unix_s),
        json_number(duration_s), row.depth, row.parent == 0 ? "" : std::to_string(row.parent),
        spreadsheet_cell(row.overlaps));
    const std::string own_s = json_number(row.own_duration_s);
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuWindow& gpu = row.gpus[i];
      const bool has_energy = gpu.fault.empty();
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{}", of_window,
                     spreadsheet_cell(facts_.gpus[i]), gpu.source, known(gpu.energy_j, has_energy),
                     known(ratio(gpu.energy_j, duration_s), has_energy),
                     known(gpu.peak_power_w, has_energy),
                     known(ratio(gpu.energy_j, energy_j), is_measured), own_s,
                     known(gpu.own_energy_j, has_energy), spreadsheet_cell(gpu.fault));
      if (facts_.has_counters) {
        fmt::format_to(std::back_inserter(text), ",{},{},{},{},{}", known(gpu.power_energy_j, true),
                       known(gpu.counter_energy_j, true), known(counter_to_power(gpu), true),
                       known(gpu.counter_resolution_j, true), spreadsheet_cell(gpu.counter_fault));
      }
      if (facts_.has_intervals) text += stated_cells(gpu.stated, row.no_interval);
      if (facts_.has_logged) text += "," + known(gpu.logged_energy_j, true);
      if (facts_.rates.is_asked()) text += facility_cells(gpu.facility);
      text += '\n';
    }
  }

 private:
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

double WindowRow::energy_j() const {
  double sum_j = 0;
  for (const GpuWindow& gpu : gpus) sum_j += gpu.energy_j;
  return sum_j;
}

double WindowRow::own_energy_j() const {
  double sum_j = 0;
  for (const GpuWindow& gpu : gpus) sum_j += gpu.own_energy_j;
  return sum_j;
}

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
