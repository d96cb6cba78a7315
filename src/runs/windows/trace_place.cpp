// Asks of the span of all windows what a run is asked of its own.
#include "runs/windows/trace_place.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "energy/zones/window_doubts.h"
#include "runs/measure/evaluate.h"
#include "runs/window/own_zone.h"

namespace aggregate_power::runs {
namespace {

constexpr std::size_t kReadAtOnce = 4096;

bool is_hold(const TraceFile& file) {
  return file.facts.series.interpolation == Interpolation::hold;
}

void take_samples(const Traces& traces, OwnZone& own) {
  std::vector<Reading> readings;
  for (std::uint32_t device = 0; device < traces.devices.size(); ++device) {
    std::span<const Sample> rest = traces.devices[device].samples();
    while (!rest.empty()) {
      const auto part = rest.first(std::min(rest.size(), kReadAtOnce));
      rest = rest.subspan(part.size());
      readings.clear();
      for (const Sample& sample : part) {
        readings.push_back({sample.unix_s, sample.watts, device});
      }
      own.take(readings);
    }
  }
}

std::optional<double> written_unix_s(const std::string& recording, const std::string& file) {
  const auto tree = disk_tree();
  const auto written_ns = own_time_ns(tree->written_ns(recording),
                                      file.empty() ? std::nullopt : tree->written_ns(file));
  return written_ns ? std::optional(static_cast<double>(*written_ns) / 1e9) : std::nullopt;
}

// Recordings whose zones are not all this process's are not asked.
void judge_own_zone_of(const Traces& traces, const PlacedSpan& span,
                       std::vector<std::string>& warnings) {
  const bool are_own = std::ranges::all_of(
      traces.files, [](const TraceFile& file) { return OwnZone::is_used(file.facts); });
  if (!are_own || traces.devices.empty()) return;
  OwnZone own(span.window);
  take_samples(traces, own);
  const TraceFile& first = traces.files.front();
  const OwnZoneFinding finding =
      own.finding(first.path, first.facts, written_unix_s(first.path, span.file));
  if (!finding.contradiction.empty()) {
    throw Error(fmt::format("{}: {} ({}): give --timezone", printable_path(first.path),
                            code(Reason::timezone_ambiguous), finding.contradiction));
  }
  if (!finding.warning.empty()) warnings.push_back(finding.warning);
}

}  // namespace

std::vector<std::string> place_doubts(const Traces& traces, const PlacedSpan& span) {
  std::vector<std::string> warnings;
  if (traces.devices.empty() || !(span.window.duration_s() > 0)) return warnings;
  judge_own_zone_of(traces, span, warnings);
  if (std::ranges::any_of(traces.files, is_hold)) return warnings;
  std::vector<std::span<const Sample>> gpus;
  for (const PowerTrace& device : traces.devices) gpus.push_back(device.samples());
  energy::WindowDoubts doubts =
      energy::window_doubts(gpus, span.window, {.offset_s = span.clock_offset_s});
  Reasons accepted;
  doubts.certain.accept(span.accepted, accepted);
  const std::string& path = traces.files.front().path;
  if (!doubts.certain.empty()) refuse_doubts(path, doubts.certain);
  for (const Reasons::Entry& entry : accepted.entries()) {
    warnings.push_back(fmt::format("{}: accepted by the caller: {} ({})", printable_path(path),
                                   code(entry.reason), entry.detail));
  }
  for (const Reasons::Entry& entry : doubts.possible.entries()) {
    // A list of windows may be of idle time on purpose.
    if (!span.is_of_load && entry.reason == Reason::load_outside_window) continue;
    warnings.push_back(
        fmt::format("{}: {}: {}", printable_path(path), code(entry.reason), entry.detail));
  }
  return warnings;
}

}  // namespace aggregate_power::runs
