// An attribution as a table for people.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/shown_time.h"
#include "base/text/unicode.h"
#include "base/text/wrap.h"
#include "results/attribution_report.h"
#include "results/facility_report.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLabel = 11;
constexpr std::size_t kLeastName = 20;

std::string labelled(std::string_view label, const std::string& text, std::size_t width) {
  return wrapped(text, fmt::format("{:<{}}", label, kLabel), kLabel, std::max(width, 2 * kLabel));
}

std::string gpus_text(const AttributionReport& report) {
  std::vector<std::string> names;
  for (const AttributionGpu& gpu : report.gpus) {
    std::string name = gpu.name;
    if (!gpu.device.empty() && gpu.device != gpu.name) {
      name += fmt::format(" (device {} of the trace)", gpu.device);
    }
    if (!gpu.model.empty()) name += ' ' + printable(gpu.model);
    names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string sensor_text(const AttributionReport& report) {
  const std::string period = fmt::format("resolves {:.4g} s", report.sensor_period_s);
  const std::string part = measured_part(report);
  if (part == "nothing") {
    return period +
           ", longer than the whole span: nothing is measured, all is the power then by time";
  }
  if (part == "rows") return period + ": all events are longer";
  std::uint64_t short_calls = 0;
  std::uint64_t calls = 0;
  for (const AttributionRow& row : report.rows) {
    short_calls += row.short_calls;
    calls += row.calls;
  }
  return fmt::format("{}: {} of {} intervals are shorter (*); only the sum of all rows is measured",
                     period, short_calls, calls);
}

// The iterations before the measured ones, or those.
std::string iterations_text(const AttributionReport& report, bool is_warm_up) {
  std::size_t count = 0;
  AttributionIteration sum;
  for (const AttributionIteration& iteration : report.iterations) {
    if (iteration.is_warm_up != is_warm_up) continue;
    ++count;
    sum.time_s += iteration.time_s;
    sum.gpu_time_s += iteration.gpu_time_s;
    sum.energy_j += iteration.energy_j;
  }
  if (count == 0) return {};
  const auto each = static_cast<double>(count);
  const double mean_w = sum.gpu_time_s > 0 ? sum.energy_j / sum.gpu_time_s : 0;
  return fmt::format("{} iteration{}, each {:.6g} s, {:.6g} J, {:.2f} W", count,
                     count == 1 ? "" : "s", sum.time_s / each, sum.energy_j / each, mean_w);
}

std::string half_text(const AttributionRow& row) {
  return row.estimate_j ? fmt::format("{:>11.4f} \u00B1 {:<9.4f}", *row.estimate_j,
                                      (row.high_j - row.low_j) / 2)
                        : fmt::format("{:<23}", "?");
}

std::string row_text(const AttributionReport& report, const AttributionRow& row,
                     std::size_t name_width) {
  const double all_j = report.energy_j;
  std::string_view shown = row.name;
  if (shown.starts_with("void ")) shown.remove_prefix(5);  // of C++ kernels, all alike
  const auto calls = static_cast<double>(row.calls);
  const std::string mean = row.calls > 0 ? fmt::format("{:.4g}", row.time_s / calls * 1e3) : "";
  const std::string power = row.power_w ? fmt::format("{:.2f}", *row.power_w) : "";
  const std::string half = report.has_intervals ? " " + half_text(row) : "";
  return fmt::format("{:>11.4f}{} {:>5.1f} {:>8}{} {:>10.6f} {:>8} {:>9}  {}\n", row.energy_j, half,
                     all_j > 0 ? row.energy_j / all_j * 100 : 0.0, power,
                     row.short_calls > 0 ? '*' : ' ', row.time_s, row.calls, mean,
                     printable(shown, name_width));
}

}  // namespace

std::string attribution_table(const AttributionReport& report, std::optional<std::size_t> most,
                              std::size_t width) {
  const std::size_t numbers = report.has_intervals ? 84 : 60;  // what is before a name
  const std::size_t name_width =
      width > numbers + kLeastName + 3 ? width - numbers - 3 : kLeastName;
  std::string text;
  for (std::size_t i = 0; i < report.traces.size(); ++i) {
    text += labelled(
        "trace", fmt::format("{}, in {}", printable(report.traces[i], 200), report.time_bases[i]),
        width);
  }
  text += labelled("recording",
                   printable(fmt::format("{}", fmt::join(report.telemetry, ", ")), 200), width);
  text += labelled("GPUs", gpus_text(report), width);
  text += labelled(
      "span", fmt::format("{:.6f} s from {}", report.span_s, unix_and_iso(report.start_unix_s)),
      width);
  if (report.events > 0) {
    text += labelled("events",
                     fmt::format("{}, {:.6f} s together; GPUs busy {:.6f} s", report.events,
                                 report.event_sum_s, report.busy_s),
                     width);
  }
  text += labelled("energy",
                   fmt::format("{:.4f} J, {:.2f} W each GPU; highest {:.2f} W", report.energy_j,
                               report.mean_w(), report.peak_w),
                   width);
  if (const auto& facility = report.facility) {
    for (const auto& [name, what] :
         facility_rows(facility->rates, facility->measured, facility->figures, {})) {
      text += labelled(name, what, width);
    }
  }
  text += labelled("sensor", sensor_text(report), width);
  for (const bool is_warm_up : {true, false}) {
    const std::string iterations = iterations_text(report, is_warm_up);
    if (!iterations.empty()) {
      text += labelled(is_warm_up ? "warm-up" : "measured", iterations, width);
    }
  }
  const std::string half =
      report.has_intervals ? fmt::format(" {:>11} \u00B1 {:<9}", "estimate J", "J") : "";
  text += fmt::format("\n{:>11}{} {:>5} {:>8}  {:>10} {:>8} {:>9}  {}\n", "energy J", half, "%",
                      "power W", "time s", "calls", "mean ms", report.by);
  for (const AttributionRow& row : top_rows(report, most)) {
    text += row_text(report, row, name_width);
  }
  return text + row_text(report, report.rest, name_width);
}

}  // namespace aggregate_power
