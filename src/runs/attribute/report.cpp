// Rows of an attribution, for people and for programs.
#include "runs/attribute/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/report/document.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/show_time.h"
#include "energy/shares/facility.h"
#include "runs/measure/facility.h"

namespace aggregate_power {
namespace {

std::optional<double> quotient(double value, double by) {
  return by > 0 ? std::optional(value / by) : std::nullopt;
}

// Rows have no times of their own: where rates change within the span, each has its share.
bool shares_cost(const AttributionReport& report) {
  return report.facility && report.facility->figures.stretches.size() > 1;
}

Json::object_t row_members(const AttributionReport& report, const AttributionRow& row,
                           bool is_csv) {
  Json::object_t json = {
      {"name", row.name},
      {"calls", row.calls},
      {"time_s", row.time_s},
      {"mean_time_s", number_or_null(quotient(row.time_s, static_cast<double>(row.calls)))},
      {"energy_j", row.energy_j},
      {"power_w", number_or_null(row.power_w)},
      {"unresolved_calls", row.short_calls}};
  auto facility = facility_of(report, row);
  if (facility && shares_cost(report)) facility->reasons.push_back("shared_by_energy");
  if (facility || (report.facility && is_csv)) add_facility_members(facility, is_csv, json);
  if (report.has_intervals) {
    json["energy_j_estimate"] = number_or_null(row.estimate_j);
    json["energy_j_low"] = row.estimate_j ? Json(row.low_j) : Json();
    json["energy_j_high"] = row.estimate_j ? Json(row.high_j) : Json();
    json["no_interval"] = text_or_null(row.no_interval);
  }
  return json;
}

Json row_json(const AttributionReport& report, const AttributionRow& row) {
  return row_members(report, row, false);
}

// The names of the first row, and all rows.
std::string csv_of(const std::vector<Json::object_t>& rows) {
  std::string text = csv_names(rows.front());
  for (const Json::object_t& row : rows) {
    text += '\n';
    add_csv_cells(row, text, CsvNumbers::shortest);
  }
  return text + '\n';
}

Json gpu_json(const AttributionGpu& gpu) {
  return {{"gpu", gpu.name},
          {"trace", gpu.trace},
          {"device", text_or_null(gpu.device)},
          {"model", text_or_null(gpu.model)},
          {"event_count", gpu.events},
          {"busy_s", gpu.busy_s},
          {"energy_j", gpu.energy_j},
          {"sensor_period_s", gpu.sensor_period_s}};
}

Json iteration_json(const AttributionIteration& iteration) {
  return {{"iteration", iteration.number},
          {"is_warm_up", iteration.is_warm_up},
          {"time_s", iteration.time_s},
          {"energy_j", iteration.energy_j},
          {"mean_power_w", number_or_null(quotient(iteration.energy_j, iteration.gpu_time_s))}};
}

std::string csv_number(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : std::string();
}

// Rounding must not lift a mean above all samples.
double call_w(const AttributionReport& report, const AttributionCall& call) {
  return std::min(quotient(call.energy_j, call.duration_s).value_or(call.start_w), report.peak_w);
}

std::string kernel_calls(const AttributionReport& report) {
  std::string text = "kernel_name,exec_id,duration_ms,avg_power_w,energy_j\n";
  for (std::size_t i = 0; i < report.calls.size(); ++i) {
    const AttributionCall& call = report.calls[i];
    text += fmt::format("{},{},{},{},{}\n", csv_cell(report.call_names[call.name]), i,
                        call.duration_s * 1e3, call_w(report, call), call.energy_j);
  }
  return text;
}

// Sums of the same addends in another order differ in their last bits: values that are alike up to
// 1e-9 are a tie, and keep their order.
template <typename Item, typename Key>
void sort_largest_first(std::vector<Item>& items, Key key) {
  const auto order = std::vector(items);
  std::vector<std::size_t> by_key(items.size());
  std::iota(by_key.begin(), by_key.end(), 0);
  std::ranges::stable_sort(by_key, std::greater(), [&](std::size_t i) { return key(order[i]); });
  for (auto first = by_key.begin(); first != by_key.end();) {
    const double least = key(order[*first]) - 1e-9 * std::abs(key(order[*first]));
    const auto end =
        std::find_if(first, by_key.end(), [&](std::size_t i) { return key(order[i]) < least; });
    std::sort(first, end);
    first = end;
  }
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = order[by_key[i]];
}

std::string layer_calls(const AttributionReport& report) {
  std::string text =
      "layer_name,exec_id,start_time,end_time,duration_ms,start_power_w,end_power_w,avg_power_w,energy_j\n";
  for (std::size_t i = 0; i < report.calls.size(); ++i) {
    const AttributionCall& call = report.calls[i];
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(report.call_names[call.name]), i,
                        call.start_unix_s, call.end_unix_s, call.duration_s * 1e3, call.start_w,
                        call.end_w, call_w(report, call), call.energy_j);
  }
  return text;
}

std::string top_kernels(const AttributionReport& report, std::size_t most) {
  std::vector<AttributionRow> rows = report.rows;
  sort_rows(rows, AttributionOrder::energy);
  rows.resize(std::min(rows.size(), most));
  std::string text = "kernel_name,total_duration_ms,avg_power_w,total_energy_j\n";
  for (const AttributionRow& row : rows) {
    text += fmt::format("{},{},{},{}\n", csv_cell(row.name), row.time_s * 1e3,
                        csv_number(row.power_w), row.energy_j);
  }
  return text;
}

std::string top_layers(const AttributionReport& report, std::size_t most) {
  std::vector<std::size_t> order(report.calls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  sort_largest_first(order, [&](std::size_t i) { return report.calls[i].energy_j; });
  order.resize(std::min(order.size(), most));
  std::string text = "layer_name,exec_id,avg_power_w,duration_ms,energy_j\n";
  for (const std::size_t i : order) {
    const AttributionCall& call = report.calls[i];
    text += fmt::format("{},{},{},{},{}\n", csv_cell(report.call_names[call.name]), i,
                        call_w(report, call), call.duration_s * 1e3, call.energy_j);
  }
  return text;
}

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
  return joined_text(names, ", ");
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

// The first rows, and one "(others)" with the sum of the rest if there is more than one of them or
// `most` is reached; nullopt: all.
std::vector<AttributionRow> top_rows(const AttributionReport& report,
                                     std::optional<std::size_t> most) {
  if (!most || report.rows.size() <= *most) return report.rows;
  const auto shown = static_cast<std::ptrdiff_t>(*most);
  std::vector<AttributionRow> rows(report.rows.begin(), report.rows.begin() + shown);
  AttributionRow others{.name = "(others)"};
  for (auto row = report.rows.begin() + shown; row != report.rows.end(); ++row) {
    others.calls += row->calls;
    others.short_calls += row->short_calls;
    others.time_s += row->time_s;
    others.energy_j += row->energy_j;
  }
  if (report.has_intervals) others.no_interval = "sum_of_rows";
  others.power_w = quotient(others.energy_j, others.time_s);
  if (others.power_w) others.power_w = std::min(*others.power_w, report.peak_w);
  rows.push_back(std::move(others));
  return rows;
}

}  // namespace

std::string measured_part(const AttributionReport& report) {
  if (report.span_s < report.sensor_period_s) return "nothing";
  const auto is_short = [](const AttributionRow& row) { return row.short_calls > 0; };
  return std::ranges::any_of(report.rows, is_short) ? "sum" : "rows";
}

std::optional<FacilityFigures> facility_of(const AttributionReport& report,
                                           const AttributionRow& row) {
  if (!report.facility || !(report.energy_j > 0)) return std::nullopt;
  return share_of(report.facility->figures, row.energy_j / report.energy_j);
}

void sort_rows(std::vector<AttributionRow>& rows, AttributionOrder order) {
  std::ranges::sort(rows, {}, &AttributionRow::name);
  sort_largest_first(rows, [&](const AttributionRow& row) {
    if (order == AttributionOrder::time) return row.time_s;
    return order == AttributionOrder::power ? row.power_w.value_or(0) : row.energy_j;
  });
}

std::string attribution_json(const AttributionReport& report, std::optional<std::size_t> most) {
  Json json = {{"schema", "aggregate-power/attribution-1"},
               {"telemetry", report.telemetry},
               {"traces", report.traces},
               {"time_bases", report.time_bases},
               {"by", report.by},
               {"span", report.span},
               {"start_unix", report.start_unix_s},
               {"end_unix", report.end_unix_s},
               {"span_s", report.span_s},
               {"gpu_time_s", report.gpu_time_s},
               {"event_count", report.events},
               {"event_sum_s", report.event_sum_s},
               {"busy_s", report.busy_s},
               {"energy_j", report.energy_j},
               {"mean_power_w", report.mean_w()},
               {"highest_power_w", report.peak_w},
               {"sensor_period_s", report.sensor_period_s},
               {"unresolved_events", report.short_events},
               {"measured", measured_part(report)},
               {"gpus", list_of(report.gpus, gpu_json)},
               {"iterations", list_of(report.iterations, iteration_json)},
               {"rows", list_of(top_rows(report, most),
                                [&](const AttributionRow& row) { return row_json(report, row); })},
               {"idle", row_json(report, report.rest)},
               {"warnings", report.warnings}};
  if (const auto& facility = report.facility) {
    json["facility"] = facility_json(facility->rates, facility->measured, facility->figures, {});
    json["facility"]["rows"] =
        shares_cost(report) ? "share cost and carbon by their energy" : "exact";
  }
  return indented_lines(json);
}

std::string attribution_csv(const AttributionReport& report, std::optional<std::size_t> most) {
  auto rows = mapped<Json::object_t>(top_rows(report, most), [&](const AttributionRow& row) {
    return row_members(report, row, true);
  });
  rows.push_back(row_members(report, report.rest, true));
  return csv_of(rows);
}

std::string attribution_gpupp(const AttributionReport& report, std::optional<std::size_t> most) {
  const bool is_kernels = report.by == "kernel";
  if (!most) return is_kernels ? kernel_calls(report) : layer_calls(report);
  return is_kernels ? top_kernels(report, *most) : top_layers(report, *most);
}

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
  add("recording", printable(joined_text(report.telemetry, ", "), 200));
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

// ---- Joins two attributions by name.

namespace {

Json read_attribution(const std::string& text, const std::string& path, const std::string& by) {
  Json json = parsed_json(text);
  const auto has = [&](const char* key, Json::value_t type) {
    const Json* const found = find_member(json, key);
    return found && found->type() == type;
  };
  const bool is_attribution =
      has("schema", Json::value_t::string) && json["schema"] == "aggregate-power/attribution-1" &&
      has("rows", Json::value_t::array) && has("idle", Json::value_t::object) &&
      has("by", Json::value_t::string);
  if (!is_attribution) {
    throw Error(fmt::format("{}: it is not what 'attribute --format json' writes", path));
  }
  if (json["by"] != by) {
    throw Error(fmt::format("{}: it is an attribution by {}, and this one is by {}", path,
                            json["by"].get<std::string>(), by));
  }
  return json;
}

double number_in(const Json& row, const char* key, const std::string& path) {
  if (row.is_object() && row.contains(key) && row.at(key).is_number()) return row.at(key);
  throw Error(fmt::format("{}: a row lacks '{}'", path, key));
}

AttributionChange sum_of_changes(const std::vector<AttributionChange>& changes, std::size_t from) {
  AttributionChange others{.name = "(others)", .is_here = true, .is_there = true};
  for (std::size_t i = from; i < changes.size(); ++i) {
    others.time_s += changes[i].time_s;
    others.energy_j += changes[i].energy_j;
    others.other_time_s += changes[i].other_time_s;
    others.other_energy_j += changes[i].other_energy_j;
  }
  return others;
}

std::vector<AttributionChange> top_changes(const std::vector<AttributionChange>& changes,
                                           std::optional<std::size_t> most) {
  if (!most || changes.size() <= *most) return changes;
  std::vector<AttributionChange> top(changes.begin(),
                                     changes.begin() + static_cast<std::ptrdiff_t>(*most));
  top.push_back(sum_of_changes(changes, *most));
  return top;
}

Json::object_t change_members(const AttributionChange& change) {
  return {{"name", change.name},
          {"change_j", change.change_j()},
          {"other_energy_j", change.other_energy_j},
          {"energy_j", change.energy_j},
          {"other_time_s", change.other_time_s},
          {"time_s", change.time_s}};
}

}  // namespace

std::vector<AttributionChange> attribution_changes(const AttributionReport& report,
                                                   const std::string& other,
                                                   const std::string& path) {
  const Json json = read_attribution(other, path, report.by);
  std::map<std::string, AttributionChange> by_name;
  const auto add_here = [&](const AttributionRow& row) {
    AttributionChange& change = by_name[row.name];
    change.time_s += row.time_s;
    change.energy_j += row.energy_j;
    change.is_here = true;
  };
  for (const AttributionRow& row : report.rows) add_here(row);
  add_here(report.rest);
  const auto add_there = [&](const Json& row) {
    const std::string name = row.is_object() ? row.value("name", std::string()) : std::string();
    if (name == "(others)") {
      throw Error(fmt::format("{}: it has only the first rows: write it without --top", path));
    }
    AttributionChange& change = by_name[name];
    change.other_time_s += number_in(row, "time_s", path);
    change.other_energy_j += number_in(row, "energy_j", path);
    change.is_there = true;
  };
  for (const Json& row : json["rows"]) add_there(row);
  add_there(json["idle"]);
  std::vector<AttributionChange> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    changes.push_back(std::move(change));
  }
  std::ranges::stable_sort(changes, std::ranges::greater(), [](const AttributionChange& change) {
    return std::abs(change.change_j());
  });
  return changes;
}

std::string changes_table(const std::vector<AttributionChange>& changes,
                          std::optional<std::size_t> most, std::size_t width) {
  constexpr std::size_t kNumbers = 62;
  const std::size_t name_width = width > kNumbers + 23 ? width - kNumbers - 3 : 20;
  const TextTable table(
      "[change J >+12.4f] [other J >12.4f] [this J >12.4f] [other s >10.6f] [this s >10.6f]  [name <]");
  std::vector<AttributionChange> rows = top_changes(changes, most);
  rows.push_back(sum_of_changes(changes, 0));
  rows.back().name = "(all)";
  std::string text = table.head();
  for (const AttributionChange& row : rows) {
    table.add({row.change_j(), row.other_energy_j, row.energy_j, row.other_time_s, row.time_s,
               printable(row.name, name_width)},
              text);
  }
  return text;
}

std::string changes_csv(const std::vector<AttributionChange>& changes,
                        std::optional<std::size_t> most) {
  return csv_of(mapped<Json::object_t>(top_changes(changes, most), change_members));
}

std::string changes_json(const AttributionReport& report,
                         const std::vector<AttributionChange>& changes, const std::string& path,
                         std::optional<std::size_t> most) {
  const Json json = {{"schema", "aggregate-power/attribution-change-1"},
                     {"by", report.by},
                     {"traces", report.traces},
                     {"other", path},
                     {"changes", list_of(top_changes(changes, most), [](const auto& change) {
                        Json row = change_members(change);
                        row["in_other"] = change.is_there;
                        row["in_this"] = change.is_here;
                        return row;
                      })}};
  return indented_lines(json);
}

}  // namespace aggregate_power
