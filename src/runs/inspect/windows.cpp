// Shows the windows of a CSV of Zeus, with the energies that it states.
#include "runs/inspect/inspect.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "generators/windows_file.h"

namespace aggregate_power {
namespace {

bool is_monotonic(const std::vector<NamedWindow>& windows) {
  return std::ranges::any_of(windows, [](const NamedWindow& named) {
    return named.window.start_unix_s < kFirstAbsoluteUnixS;
  });
}

double logged_sum_j(const NamedWindow& named) {
  double sum_j = 0;
  for (const auto& [gpu, joules] : named.logged_j) sum_j += joules;
  return sum_j;
}

std::string log_text(const std::string& file, const std::vector<NamedWindow>& windows) {
  const TextTable table("[window <32] [GPU <4] [seconds >10.3f] [joules >12.3f] [mean W >9.2f]");
  std::string text =
      fact("file", one_line(printable_path(file))) +
      fact("log", "of Zeus: windows and their energies, no samples") +
      fact("clock", is_monotonic(windows) ? "monotonic: the times do not say when the windows were"
                                          : "Unix time") +
      fact("windows", std::to_string(windows.size())) + "\n" + table.head();
  for (const NamedWindow& named : windows) {
    std::string name = printable(named.name, 29);
    const double duration_s = named.window.duration_s();
    const auto line = [&](const std::string& gpu, double joules) {
      table.add({std::exchange(name, {}), gpu, duration_s, joules,
                 duration_s > 0 ? TextCell(joules / duration_s) : TextCell("-")},
                text);
    };
    if (named.logged_j.size() != 1) line("all", logged_sum_j(named));
    for (const auto& [gpu, joules] : named.logged_j) line(printable(gpu), joules);
  }
  return text;
}

Json log_json(const std::vector<NamedWindow>& windows) {
  return {{"log_of", "Zeus"},
          {"clock", is_monotonic(windows) ? "monotonic" : "unix"},
          {"windows", list_of(windows, [](const NamedWindow& named) -> Json {
             return {{"name", named.name},
                     {"start", named.window.start_unix_s},
                     {"duration_s", named.window.duration_s()},
                     {"energy_j", logged_sum_j(named)},
                     {"gpus", list_of(named.logged_j, [](const auto& member) -> Json {
                        return {{"gpu", member.first}, {"energy_j", member.second}};
                      })}};
           })}};
}

}  // namespace

std::optional<InspectReport> inspect_windows_log(const InspectRequest& request) {
  const auto source = as_utf8(decompressed(open_source(request.file), request.file));
  if (!is_zeus_log(read_up_to(*source, kHeadBytes))) return std::nullopt;
  InspectReport report;
  try {
    WindowsFileOptions options;
    options.any_clock = true;
    const auto windows = read_windows_file(request.file, options);
    report.out = request.json ? indented_lines(log_json(windows)) : log_text(request.file, windows);
  } catch (const Error& error) {
    report.exit_status = 1;
    report.err.push_back(error.what());
    if (!request.json) return report;
    const Json broken = {{"log_of", "Zeus"},
                         {"clock", nullptr},
                         {"windows", Json::array()},
                         {"fault", error.what()}};
    report.out = indented_lines(broken);
  }
  return report;
}

}  // namespace aggregate_power
