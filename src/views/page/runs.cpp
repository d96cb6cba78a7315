// Groups runs by configuration.
#include "views/page/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/hash.h"
#include "base/text/shown_number.h"
#include "core/model/units.h"
#include "decide/compare/compare.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kHardwareMembers[] = {"hw", "hardware", "gpu", "gpu_model"};
constexpr const char* kUnknownHardware = "unknown hardware";

std::string hardware_of(const PublishedRun& run) {
  for (const std::string_view key : kHardwareMembers) {
    std::string text = run.text_of(key);
    if (!text.empty()) return text;
  }
  return kUnknownHardware;
}

// The length of the folders that all names share, with their slash.
std::size_t shared_folders(const std::vector<ReportRun>& runs) {
  if (runs.size() < 2) return runs.empty() ? 0 : runs[0].run.name.rfind('/') + 1;
  std::string_view shared = runs[0].run.name;
  for (const ReportRun& each : runs) {
    const std::string_view name = each.run.name;
    const auto [end, other] = std::ranges::mismatch(shared, name);
    shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
  }
  return shared.rfind('/') + 1;
}

// What all names end with, with its slash; empty if some have nothing else.
std::string shared_file(const std::vector<ReportRun>& runs) {
  if (runs.size() < 2) return {};
  const std::string_view first = runs[0].name();
  const std::size_t slash = first.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view file = first.substr(slash);
  const bool is_shared = std::ranges::all_of(runs, [&](const ReportRun& run) {
    return run.name().size() > file.size() && run.name().ends_with(file);
  });
  return is_shared ? std::string(file) : std::string();
}

Configuration report_configuration(const ReportRun& run, const std::vector<std::string>& keys) {
  Configuration configuration = configuration_of(run.run, keys);
  if (run.limit_w && member_in(configuration, kLimitKey).empty()) {
    configuration.emplace_back(kLimitKey, fmt::format("{:g}", *run.limit_w));
  }
  return configuration;
}

bool is_hardware_key(std::string_view key) {
  return std::ranges::find(kHardwareMembers, key) != std::end(kHardwareMembers);
}

// Which members all runs share, and which tell them apart.
void split_members(ReportRuns& report) {
  struct Member {
    std::string value;
    std::size_t runs = 0;
    bool is_same = true;
  };
  std::vector<std::string> order;
  std::map<std::string_view, Member> members;
  for (const ReportRun& run : report.runs) {
    for (const auto& [key, value] : run.configuration) {
      const auto [known, is_new] = members.try_emplace(key);
      Member& member = known->second;
      if (is_new) {
        order.push_back(key);
        member.value = value;
      }
      ++member.runs;
      member.is_same = member.is_same && member.value == value;
    }
  }
  for (const std::string& key : order) {
    const Member& member = members[key];
    if (member.is_same && member.runs == report.runs.size()) {
      report.shared.emplace_back(key, member.value);
    } else if (!is_hardware_key(key)) {
      report.varying.push_back(key);
    }
  }
}

std::string boundary_name(const std::string& boundary) {
  if (boundary == "gpu") return "GPU boards";
  if (boundary == "module") return "modules (GPU, CPU and memory)";
  if (boundary == "node") return "nodes";
  return cut_text(boundary, 20);
}

// By the scopes of the sensors of valid runs.
std::string boundary_of_runs(const std::vector<ReportRun>& runs) {
  std::set<std::string> names;
  for (const ReportRun& run : runs) {
    if (run.run.state != PowerState::valid) continue;
    names.insert(boundary_name(measured_boundary(*run.run.scope)));
  }
  constexpr std::size_t kFew = 4;
  if (names.empty()) return "GPU boards";
  return names.size() > kFew ? "several boundaries" : fmt::format("{}", fmt::join(names, ", "));
}

std::string label_of(const Configuration& configuration, const std::vector<std::string>& varying) {
  std::string label;
  for (const std::string& key : varying) {
    const std::string_view value = member_in(configuration, key);
    if (value.empty()) continue;
    label += fmt::format("{}{}={}", label.empty() ? "" : " ", key, value);
  }
  return label;
}

constexpr std::array<EnergyMetric, 4> kEnergyMetrics = {{
    {"joules_per_output_token", "J/output token", "energy / output tokens"},
    {"joules_per_total_token", "J/token in or out", "energy / (input + output tokens)"},
    {"joules_per_successful_query", "J/request", "energy / completed requests"},
    {"total_gpu_energy_j", "J", "energy of all GPUs in the window"},
}};

std::optional<double> positive_member(const PublishedRun& run, std::string_view key) {
  const JsonValue member = run.members.at(key);
  if (!member.is_finite_number() || !(member.as_double() > 0)) return std::nullopt;
  return is_beyond_measure(member.as_double()) ? std::nullopt : std::optional(member.as_double());
}

// Nullptr: it has none, or is not valid.
const PublishedNumber* number_in(const PublishedRun& run, std::string_view key) {
  const auto found = std::ranges::find_if(
      run.numbers, [&](const PublishedNumber& number) { return number.key == key; });
  return found == run.numbers.end() ? nullptr : &*found;
}

std::optional<double> number_of_ours(const PublishedRun& run, std::string_view key) {
  const PublishedNumber* const number = number_in(run, key);
  return number == nullptr ? std::nullopt : std::optional(number->value);
}

struct QuantityRow {
  std::string_view key;
  std::string_view title;
  std::string_view column;
  std::string_view unit;
  std::string_view formula;
  double column_unit = 1;
  bool is_ours = true;  // one of our metrics; else the benchmark itself says it
};

// By ReportQuantity, from the second on.
constexpr QuantityRow kQuantities[kReportQuantities - 1] = {
    {"joules_per_total_token", "energy (J/token in or out)", "J/token in or out",
     "J/token in or out", "energy / (input + output tokens)"},
    {"joules_per_successful_query", "energy (J/request)", "J/request", "J/request",
     "energy / completed requests"},
    {"avg_power_w", "power of a GPU (W)", "mean W/GPU", "W/GPU", "energy / time / GPUs"},
    {"total_gpu_energy_j", "energy (J)", "energy (kJ)", "J", "energy of all GPUs in the window",
     1000},
    {"duration_s", "time (s)", "time (s)", "s", "length of the benchmark's window", 1, false},
    {"output_tput_per_gpu", "throughput (output tokens/s/GPU)", "output tokens/s/GPU",
     "tokens/s/GPU", "output tokens / time / GPUs", 1, false},
    {"input_tput_per_gpu", "prefill throughput (input tokens/s/GPU)", "input tokens/s/GPU",
     "tokens/s/GPU", "input tokens / time / GPUs", 1, false},
    {"median_intvty", "interactivity (tokens/s/user)", "tokens/s/user", "tokens/s/user",
     "1 / time per output token of a median request, as the benchmark reports it", 1, false},
    {"prefill_power_w", "power in prefill (W)", "prefill W", "W",
     "power of all GPUs while a request waits for its first token, by --phases"},
    {"decode_power_w", "power in decode (W)", "decode W", "W",
     "power of all GPUs while one request decodes, by --phases"},
    {"prefill_avg_power_w", "power of a prefill worker's GPU (W)", "prefill worker W/GPU", "W/GPU",
     "energy of the role / time / its GPUs"},
    {"decode_avg_power_w", "power of a decode worker's GPU (W)", "decode worker W/GPU", "W/GPU",
     "energy of the role / time / its GPUs"},
    {"slo_attainment", "good requests (%)", "good requests (%)", "%",
     "requests that kept the objective / requests", 0.01},
    {"joules_per_good_output_token", "energy (J/good output token)", "J/good output token",
     "J/good output token", "energy / output tokens of good requests"},
    {compare::kGoodRoleKeys[0], "energy of prefill (J/good output token)",
     "prefill J/good output token", "J/good output token",
     "energy of the prefill workers / output tokens of good requests"},
    {compare::kGoodRoleKeys[1], "energy of decode (J/good output token)",
     "decode J/good output token", "J/good output token",
     "energy of the decode workers / output tokens of good requests"},
    {compare::kMissedShare, "energy for requests that missed the objective (%)",
     "energy that missed (%)", "%", "energy of requests that are not good / energy", 0.01},
    {"avg_temp_c", "temperature (\u00B0C)", "\u00B0C", "\u00B0C", "mean of the GPUs in the window"},
    {"avg_util_pct", "utilization (%)", "utilization (%)", "%", "mean of the GPUs in the window"},
};

// Nullptr: it is the one that the metric of the report says.
const QuantityRow* row_of(ReportQuantity quantity) {
  const auto number = static_cast<std::size_t>(quantity);
  return number == 0 ? nullptr : &kQuantities[number - 1];
}

// Of our metric; empty for what the benchmark itself says.
std::string_view metric_key(ReportQuantity quantity, const EnergyMetric& metric) {
  const QuantityRow* const row = row_of(quantity);
  if (row == nullptr) return metric.key;
  return row->is_ours ? row->key : std::string_view();
}

// `runs` keep one of each measurement; returns how many were copies.
std::size_t drop_copies(const ReportRuns& report, std::vector<std::size_t>& runs) {
  KnownMeasurements known;
  return std::erase_if(runs, [&](std::size_t i) {
    const PublishedRun& run = report.runs[i].run;
    const auto value = quantity_of(run, ReportQuantity::energy_per_token, *report.metric);
    return known.copied_or_added(run, value.value_or(0)) != nullptr;
  });
}

std::vector<const PublishedRun*> published(const ReportRuns& report,
                                           const std::vector<std::size_t>& runs) {
  std::vector<const PublishedRun*> all;
  for (const std::size_t i : runs) all.push_back(&report.runs[i].run);
  return all;
}

// Of our metrics as `compare` has them. Nullopt if some run lacks the quantity.
std::optional<RepeatStatistics> mean_of_runs(const ReportRuns& report,
                                             const std::vector<std::size_t>& runs,
                                             ReportQuantity quantity) {
  RepeatedValues values;
  for (const std::size_t i : runs) {
    const auto value = quantity_of(report.runs[i].run, quantity, *report.metric);
    if (!value || !std::isfinite(*value)) return std::nullopt;
    values.values.push_back({.value = *value});
  }
  const std::string key(metric_key(quantity, *report.metric));
  if (key.empty()) return repeat_statistics(values);
  return compare_repeats(published(report, runs), {}, {.metric = key}).base.statistics;
}

void make_points(ReportRuns& report) {
  std::map<Shared<Configuration>, std::vector<std::size_t>, ConfigurationLess> groups;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    if (run.run.state != PowerState::valid) continue;
    if (!quantity_of(run.run, ReportQuantity::energy_per_token, *report.metric)) continue;
    groups[run.configuration].push_back(i);
  }
  report.points.reserve(groups.size());
  for (auto& [configuration, runs] : groups) {
    for (const std::size_t i : runs) report.runs[i].point = report.points.size();
    report.copies += drop_copies(report, runs);
    ReportPoint point{configuration, label_of(configuration, report.varying),
                      report.runs[runs[0]].hardware, runs};
    for (std::size_t i = 0; i < kReportQuantities; ++i) {
      point.values[i] = mean_of_runs(report, runs, static_cast<ReportQuantity>(i));
    }
    report.points.push_back(std::move(point));
  }
}

std::vector<std::size_t> shown_runs(const ReportRuns& report) {
  std::vector<std::size_t> shown(report.runs.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= kMostRunRows) return shown;
  const auto hash = [&](std::size_t i) { return text_hash(report.runs[i].name()); };
  std::ranges::stable_sort(shown, {}, hash);
  std::map<Shared<Configuration>, std::size_t> counts;
  std::vector<std::pair<std::size_t, std::size_t>> by_turn;
  for (const std::size_t i : shown) {
    by_turn.emplace_back(counts[report.runs[i].configuration]++, i);
  }
  std::ranges::stable_sort(by_turn, {}, &std::pair<std::size_t, std::size_t>::first);
  shown.clear();
  for (std::size_t i = 0; i < kMostRunRows; ++i) shown.push_back(by_turn[i].second);
  std::ranges::sort(shown);
  return shown;
}

// As many as shared the energy.
std::optional<double> gpus_of(const PublishedRun& run) {
  if (!run.gpu_ids.empty()) return static_cast<double>(run.gpu_ids.size());
  const auto one = run.number("avg_power_w");
  const auto all = run.number("avg_total_gpu_power_w");
  if (!one || !all || !(one->value > 0)) return std::nullopt;
  return std::round(all->value / one->value);
}

// Of a GPU, as the aggregate states it or by the tokens of the window.
std::optional<double> throughput_of(const PublishedRun& run, std::string_view key,
                                    std::int64_t tokens) {
  if (const auto stated = positive_member(run, key)) return stated;
  const auto gpus = gpus_of(run);
  if (!gpus || !(*gpus > 0) || !(run.duration_s > 0) || tokens <= 0) return std::nullopt;
  return static_cast<double>(tokens) / run.duration_s / *gpus;
}

std::optional<double> interactivity_of(const PublishedRun& run) {
  for (const std::string_view key : {"median_intvty", "mean_intvty"}) {
    if (const auto stated = positive_member(run, key)) return stated;
  }
  const auto per_token_ms = positive_member(run, "median_tpot_ms");
  return per_token_ms ? std::optional(1000 / *per_token_ms) : std::nullopt;
}

}  // namespace

std::string_view member_in(const Configuration& configuration, std::string_view key) {
  const auto found = std::ranges::find(configuration, key, &Configuration::value_type::first);
  return found == configuration.end() ? std::string_view() : std::string_view(found->second);
}

std::size_t ReportRuns::count(PowerState state) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const ReportRun& run) { return run.run.state == state; }));
}

std::vector<const PublishedRun*> ReportRuns::runs_of(const ReportPoint& point) const {
  return published(*this, point.runs);
}

ReportRuns arrange_runs(std::vector<ReportRun> runs, const std::vector<std::string>& keys) {
  ReportRuns report{.runs = std::move(runs)};
  report.metric = &energy_metric_of([&](std::string_view key) {
    return std::ranges::any_of(
        report.runs, [&](const ReportRun& run) { return run.run.number(key).has_value(); });
  });
  const std::size_t folders = shared_folders(report.runs);
  std::set<std::string> names;
  std::vector<std::string> hardware;
  for (ReportRun& run : report.runs) {
    run.name_end = run.run.name.size();
    run.name_begin = std::min(folders, run.name_end);
    run.configuration = report_configuration(run, keys);
    hardware.push_back(hardware_of(run.run));
    names.insert(hardware.back());
  }
  const std::size_t file = shared_file(report.runs).size();
  for (ReportRun& run : report.runs) run.name_end -= file;
  report.hardware.assign(names.begin(), names.end());
  for (std::size_t i = 0; i < hardware.size(); ++i) {
    const auto found = std::ranges::lower_bound(report.hardware, hardware[i]);
    report.runs[i].hardware = static_cast<std::size_t>(found - report.hardware.begin());
  }
  report.boundary = boundary_of_runs(report.runs);
  split_members(report);
  make_points(report);
  report.shown = shown_runs(report);
  return report;
}

void keep_shown_points(ReportRuns& report) {
  if (report.points.size() <= kMostRunRows) return;
  std::vector<std::optional<std::size_t>> numbers(report.points.size());
  for (const std::size_t i : report.shown) {
    if (report.runs[i].point) numbers[*report.runs[i].point] = 0;
  }
  std::vector<ReportPoint> points;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i]) continue;
    numbers[i] = points.size();
    points.push_back(std::move(report.points[i]));
  }
  report.points = std::move(points);
  for (ReportRun& run : report.runs) {
    if (run.point) run.point = numbers[*run.point];
  }
}

const EnergyMetric& energy_metric_of(const std::function<bool(std::string_view key)>& has) {
  const auto* const found = std::ranges::find_if(
      kEnergyMetrics, [&](const EnergyMetric& metric) { return has(metric.key); });
  return found == kEnergyMetrics.end() ? kEnergyMetrics[0] : *found;
}

QuantityFacts facts_of(ReportQuantity quantity, const EnergyMetric& metric) {
  const QuantityRow* const found = row_of(quantity);
  const std::string title = fmt::format("energy ({})", metric.unit);
  const QuantityRow row =
      found ? *found : QuantityRow{metric.key, title, metric.unit, metric.unit, metric.formula};
  return {.key = std::string(row.key),
          .title = std::string(row.title),
          .column = std::string(row.column),
          .column_unit = row.column_unit,
          .unit = std::string(row.unit),
          .formula = std::string(row.formula)};
}

std::optional<double> quantity_of(const PublishedRun& run, ReportQuantity quantity,
                                  const EnergyMetric& metric) {
  switch (quantity) {
    case ReportQuantity::duration:
      return run.duration_s > 0 ? std::optional(run.duration_s) : std::nullopt;
    case ReportQuantity::throughput:
      return throughput_of(run, "output_tput_per_gpu", run.output_tokens);
    case ReportQuantity::input_throughput:
      return throughput_of(run, "input_tput_per_gpu", run.input_tokens);
    case ReportQuantity::interactivity:
      return interactivity_of(run);
    default:
      return number_of_ours(run, metric_key(quantity, metric));
  }
}

std::optional<Spread> repeatability_of(const PublishedRun& run, ReportQuantity quantity,
                                       const EnergyMetric& metric) {
  const PublishedNumber* const number = number_in(run, metric_key(quantity, metric));
  return number == nullptr ? std::nullopt : number->repeatability;
}

std::optional<PointValue> point_value(const std::optional<RepeatStatistics>& statistics) {
  if (!statistics) return std::nullopt;
  PointValue value{statistics->mean};
  if (statistics->low && statistics->high) {
    value.interval = ErrorBar{*statistics->low, *statistics->high};
  }
  return value;
}

std::string shown_value(const PointValue& value) {
  if (!value.interval) return shown_number(value.mean);
  return shown_interval(value.mean, value.interval->low, value.interval->high);
}

}  // namespace aggregate_power
