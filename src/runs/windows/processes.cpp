// Lays out the parts of each GPU, one below the other.
#include "runs/windows/process_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/csv.h"
#include "base/text/json.h"
#include "base/text/characters.h"
#include "runs/attribute/report.h"

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

  std::string head() override {
    return "number,name,start_unix_s,end_unix_s,duration_s,gpu,process,energy_j,mean_power_w,share,"
           "idle_power_j,reason\n";
  }

  void add(const ProcessWindow& row, std::string& text) override {
    const double duration_s = row.window.duration_s();
    const std::string of_window =
        fmt::format("{},{},{},{},{}", row.number, spreadsheet_cell(row.name),
                    json_number(row.window.start_unix_s), json_number(row.window.end_unix_s),
                    json_number(duration_s));
    const auto known = [](std::optional<double> value) {
      return value ? json_number(*value) : std::string();
    };
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      const GpuProcesses& gpu = row.gpus[i];
      const std::string of_gpu = of_window + "," + spreadsheet_cell(facts_.gpus[i]);
      if (!gpu.fault.empty()) {
        text += fmt::format("{},all,,,,,{}\n", of_gpu, spreadsheet_cell(gpu.fault));
        continue;
      }
      const auto line = [&](const ProcessPart& part) {
        text += fmt::format("{},{},{},{},{},{},\n", of_gpu, spreadsheet_cell(part.process),
                            known(part.energy_j), known(part_of(part.energy_j, duration_s)),
                            known(part_of(part.energy_j, gpu.energy_j)), known(part.idle_power_j));
      };
      line({"all", gpu.energy_j});
      std::ranges::for_each(gpu.parts, line);
    }
  }

 private:
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

}  // namespace

std::unique_ptr<ProcessReport> process_report(WindowFormat format, const WindowReportFacts& facts,
                                              const std::vector<double>& idle_w) {
  if (format == WindowFormat::csv) return std::make_unique<CsvProcesses>(facts);
  if (format == WindowFormat::json) return std::make_unique<JsonProcesses>(facts, idle_w);
  return std::make_unique<TableProcesses>(facts);
}

}  // namespace aggregate_power
