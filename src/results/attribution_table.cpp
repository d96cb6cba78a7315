// An attribution as a table for people.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/report/document.h"
#include "base/text/shown_time.h"
#include "base/text/unicode.h"
#include "base/text/wrap.h"
#include "results/attribution_report.h"
#include "results/facility_report.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLabel = 11;
constexpr std::size_t kLeastName = 20;

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

std::optional<double> mean_ms(const AttributionRow& row) {
  return row.calls > 0 ? std::optional(row.time_s / static_cast<double>(row.calls) * 1e3)
                       : std::nullopt;
}

std::string half_text(const AttributionRow& row) {
  return row.estimate_j
             ? fmt::format("{:11.4f} \u00B1 {:.4f}", *row.estimate_j, (row.high_j - row.low_j) / 2)
             : "?";
}

void add_row(const AttributionReport& report, const AttributionRow& row, std::size_t name_width,
             const TextTable& table, std::string& text) {
  std::string_view shown = row.name;
  if (shown.starts_with("void ")) shown.remove_prefix(5);  // of C++ kernels, all alike
  std::vector<TextCell> cells = {row.energy_j};
  if (report.has_intervals) cells.emplace_back(half_text(row));
  const double share = report.energy_j > 0 ? row.energy_j / report.energy_j * 100 : 0.0;
  cells.insert(cells.end(), {share,
                             {row.power_w, ""},
                             row.short_calls > 0 ? "*" : "",
                             row.time_s,
                             row.calls,
                             {mean_ms(row), ""},
                             printable(shown, name_width)});
  table.add(cells, text);
}

}  // namespace

std::string attribution_table(const AttributionReport& report, std::optional<std::size_t> most,
                              std::size_t width) {
  const std::size_t numbers = report.has_intervals ? 84 : 60;  // what is before a name
  const std::size_t name_width =
      width > numbers + kLeastName + 3 ? width - numbers - 3 : kLeastName;
  std::string text;
  const auto add = [&](std::string_view label, const std::string& what) {
    text += fact(label, what, kLabel, std::max(width, 2 * kLabel));
  };
  for (std::size_t i = 0; i < report.traces.size(); ++i) {
    add("trace", fmt::format("{}, in {}", printable(report.traces[i], 200), report.time_bases[i]));
  }
  add("recording", printable(fmt::format("{}", fmt::join(report.telemetry, ", ")), 200));
  add("GPUs", gpus_text(report));
  add("span", fmt::format("{:.6f} s from {}", report.span_s, unix_and_iso(report.start_unix_s)));
  if (report.events > 0) {
    add("events", fmt::format("{}, {:.6f} s together; GPUs busy {:.6f} s", report.events,
                              report.event_sum_s, report.busy_s));
  }
  add("energy", fmt::format("{:.4f} J, {:.2f} W each GPU; highest {:.2f} W", report.energy_j,
                            report.mean_w(), report.peak_w));
  if (const auto& facility = report.facility) {
    for (const auto& [name, what] :
         facility_rows(facility->rates, facility->measured, facility->figures, {})) {
      add(name, what);
    }
  }
  add("sensor", sensor_text(report));
  for (const bool is_warm_up : {true, false}) {
    const std::string iterations = iterations_text(report, is_warm_up);
    if (!iterations.empty()) {
      add(is_warm_up ? "warm-up" : "measured", iterations);
    }
  }
  const TextTable table(fmt::format(
      "[energy J >11.4f]{} [% >5.1f] [power W >8.2f][ <1] [time s >10.6f] [calls >8] [mean ms >9.4g]  [{} <]",
      report.has_intervals ? " [ estimate J \u00B1 J <23]" : "", report.by));
  text += "\n" + table.head();
  for (const AttributionRow& row : top_rows(report, most)) {
    add_row(report, row, name_width, table, text);
  }
  add_row(report, report.rest, name_width, table, text);
  return text;
}

}  // namespace aggregate_power
