// Asks the machine: its tools, its GPUs, its clock.
#include <sys/timex.h>

#include <ctime>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/system/child.h"
#include "base/files/file.h"
#include "base/text/python_number.h"
#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "runs/inspect/checkup.h"

namespace aggregate_power {
namespace {

using enum CheckupItem::Status;

constexpr double kMostSeconds = 10;  // for one answer

struct Tool {
  const char* name;
  std::vector<std::string> question;
};

const std::vector<Tool>& tools() {
  static const std::vector<Tool> all = {
      {"nvidia-smi",
       {"--query-gpu=index,name,driver_version,persistence_mode,power.limit,power.default_limit,power.draw",
        "--format=csv,noheader,nounits"}},
      {"amd-smi", {"version"}},
      {"rocm-smi", {"--version"}}};
  return all;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    cells.emplace_back(strip(std::string_view(line).substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    auto cells = cells_of(text.substr(begin, end - begin));
    if (cells.size() == 7) rows.push_back(std::move(cells));
    begin = end + 1;
  }
  return rows;
}

// The GPUs with some property, as "0, 3".
template <typename Has>
std::string gpus_with(const std::vector<std::vector<std::string>>& rows, const Has& has) {
  std::vector<std::string> names;
  for (const auto& cells : rows) {
    if (has(cells)) names.push_back(cells[0]);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_nvidia(const std::vector<std::vector<std::string>>& rows, Checkup& checkup) {
  checkup.push_back(
      {"GPUs", ok, fmt::format("{} x {}, driver {}", rows.size(), rows[0][1], rows[0][2])});
  const std::string sleepy = gpus_with(rows, [](const auto& row) { return row[3] == "Disabled"; });
  if (sleepy.empty()) {
    checkup.push_back({"persistence mode", ok, rows[0][3]});
  } else {
    checkup.push_back(
        {"persistence mode", advice, "off on GPU " + sleepy,
         "nvidia-smi -pm 1: otherwise the driver unloads between runs, and idle power is not that of a loaded driver"});
  }
  const std::string capped = gpus_with(rows, [](const auto& row) {
    const auto limit = python_float(row[4]);
    const auto usual = python_float(row[5]);
    return limit && usual && *limit < *usual;
  });
  if (capped.empty()) {
    checkup.push_back({"power limit", ok, fmt::format("{} W", rows[0][4])});
  } else {
    checkup.push_back({"power limit", advice,
                       fmt::format("below the default of {} W on GPU {}", rows[0][5], capped),
                       "say so with the results, or nvidia-smi -pl WATTS"});
  }
  double sum_w = 0;
  for (const auto& row : rows) sum_w += python_float(row[6]).value_or(0);
  checkup.push_back({"power now", ok,
                     fmt::format("{:.1f} W each; this is the idle level if nothing runs",
                                 sum_w / static_cast<double>(rows.size()))});
}

// Returns whether the tool is there.
bool check_tool(const Tool& tool, Checkup& checkup) {
  const auto path = find_program(tool.name);
  if (!path) return false;
  std::vector<std::string> words = {*path};
  words.insert(words.end(), tool.question.begin(), tool.question.end());
  try {
    const ChildResult answer = run_child(words, kMostSeconds);
    if (answer.timed_out) {
      checkup.push_back({tool.name, problem, fmt::format("no answer within {} s", kMostSeconds),
                         "its driver hangs: a recording would have gaps; restart it first"});
    } else if (answer.exit_status != 0) {
      checkup.push_back({tool.name, problem, fmt::format("exit status {}", answer.exit_status),
                         fmt::format("run '{}' by hand to see why", tool.name)});
    } else {
      checkup.push_back({tool.name, ok, *path});
      const auto rows = rows_of(answer.out);
      if (std::string_view(tool.name) == "nvidia-smi" && !rows.empty()) check_nvidia(rows, checkup);
    }
  } catch (const Error& error) {
    checkup.push_back({tool.name, problem, error.what()});
  }
  return true;
}

CheckupItem check_clock() {
  timex state{};
  const bool is_kernel_sure = ::adjtimex(&state) != TIME_ERROR && !(state.status & STA_UNSYNC);
  if (is_kernel_sure || is_regular_file("/run/systemd/timesync/synchronized")) {
    return {"clock", ok, "synchronized"};
  }
  return {"clock", advice, "not known to be synchronized",
          "run chrony or systemd-timesyncd: a load on another host is placed by its clock"};
}

CheckupItem check_local_zone() {
  const std::int32_t offset_s = Zone::local().offset_at(std::time(nullptr));
  if (offset_s == 0) return {"zone", ok, "UTC"};
  return {
      "zone", advice, fmt::format("{} east of UTC", Zone::fixed(offset_s).name()),
      "nvidia-smi writes local times without an offset: aggregate-power-monitor notes the zone"};
}

}  // namespace

Checkup check_machine() {
  Checkup checkup;
  bool has_tool = false;
  for (const Tool& tool : tools()) has_tool = check_tool(tool, checkup) || has_tool;
  if (!has_tool) {
    checkup.push_back({"recorder", problem, "none of nvidia-smi, amd-smi and rocm-smi is on PATH",
                       "install the driver's tools, or give a recording"});
  }
  checkup.push_back(check_clock());
  checkup.push_back(check_local_zone());
  return checkup;
}

}  // namespace aggregate_power
