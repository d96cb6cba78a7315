// The table of formats that are not read.
#include "recorders/foreign_format.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/sample.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "base/text/pattern.h"
#include "base/text/timestamp.h"
#include "core/telemetry/lines.h"
#include "recorders/node_sensors.h"
#include "recorders/recorders.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostLines = 16;  // a line that tells the format is among these
constexpr std::size_t kMostLineBytes = 4096;

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

bool starts_as(std::string_view head, std::string_view lower_case) {
  return lower_ascii(without_blanks_before(head).substr(0, lower_case.size())) == lower_case;
}

// ---- Binary files

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3"); }

bool is_parquet(std::string_view head) { return head.starts_with("PAR1"); }

bool is_compressed_otherwise(std::string_view head) {
  using namespace std::string_view_literals;
  constexpr std::string_view kStarts[] = {"PK\x03\x04"sv, "\xFD\x37zXZ\0"sv, "BZh"sv,
                                          "7z\xBC\xAF\x27\x1C"sv};
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return head.starts_with(start); });
}

// NULs do not count: some recorders write them into their text.
bool is_binary(std::string_view head) {
  constexpr std::string_view kOfText("\0\t\n\v\f\r\x1B", 7);
  const std::string_view begin = head.substr(0, kMostLineBytes);
  const auto odd = std::ranges::count_if(begin, [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && kOfText.find(c) == kOfText.npos;
  });
  return odd * 50 > std::ssize(begin);
}

// W&B's own log of a run.
bool is_wandb_log(std::string_view head) { return head.starts_with(":W&B"); }

// ---- JSON and markup

bool is_json(std::string_view head) {
  const std::string_view text = without_blanks_before(head);
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  const std::string_view inside = without_blanks_before(text.substr(1));
  if (text[0] == '{') return inside.starts_with('"') || inside.starts_with('}');
  return inside.starts_with('{') || inside.starts_with('[') || inside.starts_with('"');
}

bool is_prometheus_json(std::string_view head) {
  return is_json(head) && has_all(head, {"\"resultType\"", "\"status\""});
}

// {"status": "error", "errorType": "bad_data", "error": "..."}
bool is_prometheus_error(std::string_view head) {
  static const Pattern status = "\"status\"\\s*:\\s*\"error\"";
  static const Pattern error = "\"error(Type)?\"\\s*:\\s*\"";
  return is_json(head) && error.is_found_in(head) && status.is_found_in(head);
}

std::string prometheus_error(std::string_view head) {
  constexpr std::size_t kMostCharacters = 200;
  try {
    const JsonValue error = parse_json(head).at("error");
    if (error.is_string()) return printable(error.text, kMostCharacters);
  } catch (const std::exception&) {  // cut off
  }
  return "unknown";
}

// As torch.profiler and other profilers write it for Chrome.
bool is_profilers_trace(std::string_view head) {
  static const Pattern events = "\"traceEvents\"\\s*:";
  static const Pattern event = "\\{[^{}]*\"ph\"\\s*:\\s*\"[A-Za-z]\"";
  if (!is_json(head)) return false;
  const bool is_list = without_blanks_before(head).starts_with('[');
  return is_list ? event.is_found_in(head.substr(0, kMostLineBytes)) : events.is_found_in(head);
}

bool is_aiperf_export(std::string_view head) {
  return is_json(head) && has_all(head, {"\"telemetry_data\"", "\"endpoints_configured\""});
}

bool is_json_lines(std::string_view head) {
  const auto lines = lines_of(head, 2);
  return is_json(head) && lines.size() == 2 && lines[0].ends_with('}') && lines[1].starts_with('{');
}

bool is_one_amd_reading(std::string_view head) {
  return is_json(head) && has_all(head, {"\"gpu\"", "\"power\"", "socket_power\""});
}

bool is_macmon_without_times(std::string_view head) {
  return is_json(head) && has_all(head, {"\"gpu_power\"", "\"ane_power\""});
}

bool is_html(std::string_view head) {
  return starts_as(head, "<!doctype html") || starts_as(head, "<html");
}

bool is_one_nvidia_xml(std::string_view head) { return has_all(head, {"<nvidia_smi_log>"}); }

bool is_xml(std::string_view head) { return starts_as(head, "<?xml"); }

// ---- Texts of recorders

// Lines as these texts have them.
constexpr char kExposition[] =
    "# (HELP|TYPE) .*|[a-zA-Z_:][a-zA-Z0-9_:]*\\{.*\\} [-+.0-9a-zA-Z]+.*";
constexpr char kNvidiaDmon[] = "#\\s*((Date|Time)[\\s,]+)*gpu[\\s,].*";
constexpr char kNvidiaPmon[] = "#\\s*((Date|Time)[\\s,]+)*gpu[\\s,]+pid[\\s,].*";
constexpr char kNvidiaQ[] = "=+ ?NVSMI LOG ?=+";
constexpr char kNvidiaTable[] = "\\|\\s*NVIDIA-SMI .*";
constexpr char kRocmText[] = "=+ ?ROCm System Management Interface ?=+";
constexpr char kDcgmiDmon[] = "#\\s*Entity\\s.*";
constexpr char kTegrastats[] = "(.* )?RAM [0-9]+/[0-9]+MB .*";
constexpr char kVariorumText[] = "_[A-Z_]*GPU_POWER_USAGE\\s+Host\\s.*";
constexpr char kKokkosRelative[] = "time_relative_ms,power_watts(,.*)?";
constexpr char kKokkosEnergy[] = "timestamp_system_epoch_ms,nvml_joules_energy.*";
constexpr char kZeusWindows[] = "(.*,)?start_time,(.*,)?window_name,(.*,)?elapsed_time(,.*)?";
constexpr char kLayers[] = "layer_name,(.*,)?start_time,(.*,)?end_time(,.*)?";
constexpr char kKernels[] = "kernel_name,(.*,)?(total_)?duration_ms(,.*)?";

template <const char* kLine>
bool has_line(std::string_view head) {
  static constexpr Pattern pattern = kLine;
  return std::ranges::any_of(lines_of(head, kMostLines),
                             [](std::string_view line) { return pattern.matches(line); });
}

bool has_only_blanks(std::string_view head) {
  constexpr std::string_view kBlanks("\0 \t\r\n", 5);
  return head.find_first_not_of(kBlanks) == head.npos;
}

bool has_no_header(std::string_view head) {
  const auto lines = lines_of(head, kMostLines);
  const auto first =
      std::ranges::find_if_not(lines, [](std::string_view line) { return line.starts_with('#'); });
  if (first == lines.end()) return false;
  const std::vector<std::string> cells = cells_if_any(*first);
  return cells.size() > 1 && looks_like_data(cells);
}

// The cells of each row at a place, of the first rows that have as many as the first one.
std::vector<std::vector<std::string>> columns_of(std::string_view head) {
  std::vector<std::vector<std::string>> columns;
  for (const std::string_view line : lines_of(head, kMostLines)) {
    const std::vector<std::string> cells = cells_if_any(line);
    if (line.starts_with('#') || cells.empty()) continue;
    if (columns.empty()) columns.resize(cells.size());
    if (cells.size() != columns.size()) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      columns[i].emplace_back(strip(cells[i]));
    }
  }
  return columns;
}

// What nvidia-smi calls a column with such a cell, as far as the cell alone shows it.
std::string_view name_by_cell(const std::string& cell) {
  static constexpr Pattern kStamp = R"(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3})";
  static constexpr Pattern kUuid = "(GPU|MIG)-[0-9a-fA-F-]{12,}";
  static constexpr Pattern kBus = R"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])";
  static constexpr Pattern kIndex = R"(\d{1,2})";
  static constexpr Pattern kWatts = R"(\d+(\.\d+)? W)";
  if (kStamp.matches(cell)) return "timestamp";
  if (kUuid.matches(cell)) return "uuid";
  if (kBus.matches(cell)) return "pci.bus_id";
  if (kIndex.matches(cell)) return "index";
  if (kWatts.matches(cell)) return "power.draw";
  return cell.starts_with("NVIDIA ") || cell.starts_with("Tesla ") ? "name" : "";
}

// The names of nvidia-smi's columns, where the cells show them beyond doubt: a second column of
// watts is a limit if it alone stays the same. Else the columns that are needed.
std::string likely_names(std::string_view head) {
  constexpr const char* kNeeded = "timestamp,index,power.draw";
  const std::vector<std::vector<std::string>> columns = columns_of(head);
  const auto varies = [](const std::vector<std::string>& cells) {
    return std::ranges::any_of(cells, [&](const std::string& cell) { return cell != cells[0]; });
  };
  std::map<std::string_view, std::size_t> seen;
  std::string names;
  std::size_t of_watts = 0;
  for (const auto& cells : columns) of_watts += name_by_cell(cells[0]) == "power.draw" ? 1 : 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::string_view name = name_by_cell(columns[i][0]);
    if (name == "power.draw" && of_watts == 2 && !varies(columns[i])) name = "power.limit";
    if (!name.empty() && ++seen[name] > 1) return kNeeded;
    names +=
        (i == 0 ? "" : ",") + (name.empty() ? fmt::format("column{}", i + 1) : std::string(name));
  }
  return seen.contains("timestamp") && seen.contains("power.draw") ? names : kNeeded;
}

#define RECORD_NVIDIA "nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv -l 1"
#define EXPORT "write its samples as a CSV with the header timestamp,gpu,power_w"

struct KnownFormat {
  bool (*fits)(std::string_view head);
  std::string_view sentence;
  bool is_binary = false;
  bool may_be_result = false;
  std::string (*detail)(std::string_view head) = nullptr;  // what "{}" stands for
};

// The first that fits counts.
constexpr KnownFormat kFormats[] = {
    {is_sqlite,
     "this is an SQLite database, not a CSV: " EXPORT
     "; of MLflow's, write the rows 'timestamp value' of each key system/gpu_N_power_usage_watts of the table metrics into a file of that name; of Trackio's, print trackio get system-metric with --json",
     true},
    {is_parquet,
     "this is a Parquet file, not a CSV: " EXPORT
     "; of Trackio's, print trackio get system-metric with --json",
     true},
    {is_wandb_log,
     "this is W&B's binary log of a run: upload it with wandb sync, and write run.history(stream=\"system\", samples=1000000) as a CSV",
     true},
    {is_compressed_otherwise,
     "this is compressed in a way that is not read: unpack it, or compress it with gzip or Zstandard",
     true},
    {has_only_blanks,
     "this has nothing but blank lines: check that the recorder ran and can see the GPUs"},
    {is_binary, "this is a binary file, not a CSV: record with monitor.sh or " RECORD_NVIDIA, true},
    {is_prometheus_json,
     "this is the answer to a Prometheus query, but not a series: ask query_range, which answers with a matrix"},
    {is_prometheus_error,
     "this is an error of Prometheus and has no samples: '{}'; correct the query and ask again",
     false, false, prometheus_error},
    {is_profilers_trace,
     "this is a profiler's trace, not a recording of power: give it to 'aggregate-power attribute' with --trace, beside a recording of the GPUs"},
    {is_aiperf_export,
     "this is an export of AIPerf, which has statistics of its telemetry and no samples: give profile_export_gpu_telemetry.jsonl beside it",
     false, true},
    {is_one_amd_reading,
     "this is one reading of amd-smi, without a time: record with amd-smi metric -p -E -w 1 --json"},
    {is_macmon_without_times,
     "these are lines of a macmon that writes no times: a newer one does, or write the time before each line as \"timestamp\""},
    {is_json_lines, "these are JSON lines, not a CSV: " EXPORT},
    {is_json,
     "this is JSON, not a CSV: " EXPORT "; amd-smi metric -p -w 1 --csv and " RECORD_NVIDIA
     " record one",
     false, true},
    {is_html,
     "this is a web page (HTML), not a CSV: download the file itself, with a login if it needs one"},
    {is_one_nvidia_xml,
     "this is one reading of nvidia-smi -q -x: record with nvidia-smi -q -x -l 1 or " RECORD_NVIDIA},
    {is_xml, "this is XML, not a CSV: record with " RECORD_NVIDIA},
    {has_line<kNvidiaPmon>,
     "this is the text of nvidia-smi pmon, which has the shares of processes and no power: record with " RECORD_NVIDIA},
    {has_line<kNvidiaDmon>,
     "this is the text of nvidia-smi dmon without dates: record with nvidia-smi dmon -o DT or " RECORD_NVIDIA},
    {has_line<kNvidiaQ>,
     "this is one reading of nvidia-smi -q: record with nvidia-smi -q -l 1 or " RECORD_NVIDIA},
    {has_line<kNvidiaTable>,
     "this is the table of nvidia-smi, not a CSV: record with " RECORD_NVIDIA},
    {has_line<kRocmText>, "this is the text of rocm-smi, not a CSV: record with monitor.sh"},
    {has_line<kDcgmiDmon>,
     "this is the text of dcgmi dmon without times: put the time before each line, or record with " RECORD_NVIDIA},
    {has_line<kTegrastats>,
     "this is the text of tegrastats without dates: write the date before each line as newer versions do, as in 09-08-2026 09:20:30, or its samples as a CSV with the header timestamp,power_mw"},
    {has_line<kVariorumText>,
     "this is the text of Variorum, which has no times: record its JSON, as variorum_get_power_json gives it"},
    {has_line<kKokkosRelative>,
     "its times count from the start of the run: give the file without -relative in its name"},
    {has_line<kKokkosEnergy>,
     "this is an energy counter of Kokkos Tools, which does not tell GPUs apart, without a power: give nvml-power.csv or *-power-gpus.csv of the same run"},
    {is_sensor_log,
     "these are readings of a node's sensors, not of GPUs: give them to 'aggregate-power measure' or 'windows' with --witness, beside a recording of the GPUs"},
    {is_rapl_table,
     "these are energy counters of processors (RAPL), not of GPUs: give them to 'aggregate-power measure' or 'windows' with --witness, beside a recording of the GPUs"},
    {has_line<kLayers>,
     "these are the layers of a profile (GPUPP), not a recording of power: give them to 'aggregate-power attribute' with --trace, beside a recording of the GPUs"},
    {has_line<kKernels>,
     "these are the kernels of a profile (GPUPP), without times: give the trace that they came from to 'aggregate-power attribute' with --trace, beside a recording of the GPUs"},
    {has_line<kExposition>,
     "these are metrics as an exporter prints them for Prometheus, without times: keep each scrape in a file named by its Unix seconds, such as 1777118400.txt, and give the folder; or record with monitor.sh or " RECORD_NVIDIA},
    {has_line<kZeusWindows>,
     "this is a log of Zeus' windows, which has their energies and no samples: give it as --windows to 'aggregate-power windows', with a recording of the power as --telemetry"},
    {has_no_header,
     "row 1 looks like data: the file needs a header; give --columns {}, with a name for each of its columns",
     false, false, likely_names},
};

#undef RECORD_NVIDIA
#undef EXPORT

}  // namespace

std::optional<ForeignFormat> foreign_format(std::string_view head) {
  const auto format = std::ranges::find_if(
      kFormats, [&](const KnownFormat& candidate) { return candidate.fits(head); });
  if (format == std::end(kFormats)) return std::nullopt;
  std::string sentence(format->sentence);
  if (const std::size_t place = sentence.find("{}"); place != sentence.npos) {
    sentence.replace(place, 2, format->detail(head));
  }
  return ForeignFormat{std::move(sentence), format->is_binary, format->may_be_result};
}

}  // namespace aggregate_power
