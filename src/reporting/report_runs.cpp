// Groups runs by configuration.
#include "reporting/report_runs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "decisions/compared_configurations.h"
#include "reporting/html_text.h"
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
    names.insert(boundary_name(measured_boundary(run.run.scope)));
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

// `runs` keep one of each measurement; returns how many were copies.
std::size_t drop_copies(const ReportRuns& report, std::vector<std::size_t>& runs) {
  std::set<MeasurementIdentity> known;
  return std::erase_if(runs, [&](std::size_t i) {
    const PublishedRun& run = report.runs[i].run;
    const auto value = quantity_of(run, ReportQuantity::energy_per_token, *report.metric);
    const auto measurement = measurement_identity(run, value.value_or(0));
    return measurement && !known.insert(*measurement).second;
  });
}

std::optional<RepeatStatistics> mean_of_runs(const ReportRuns& report,
                                             const std::vector<std::size_t>& runs,
                                             ReportQuantity quantity) {
  RepeatedValues values;
  values.half_last_digit = half_digit_of(quantity);
  for (const std::size_t i : runs) {
    const auto measured = measured_quantity(report.runs[i].run, quantity, *report.metric);
    if (!measured) return std::nullopt;  // a mean of some would be called that of all
    values.values.push_back(*measured);
  }
  RepeatStatistics statistics = repeat_statistics(values);
  if (!(statistics.mean > 0)) statistics.low = statistics.high = std::nullopt;
  return statistics;
}

void make_points(ReportRuns& report) {
  std::map<Configuration, std::vector<std::size_t>, ConfigurationLess> groups;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    if (run.run.state != PowerState::valid) continue;
    if (!quantity_of(run.run, ReportQuantity::energy_per_token, *report.metric)) continue;
    groups[run.configuration].push_back(i);
  }
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

}  // namespace

std::string_view member_in(const Configuration& configuration, std::string_view key) {
  const auto found = std::ranges::find(configuration, key, &Configuration::value_type::first);
  return found == configuration.end() ? std::string_view() : std::string_view(found->second);
}

std::size_t ReportRuns::count(PowerState state) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const ReportRun& run) { return run.run.state == state; }));
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
    run.name = run.run.name.substr(std::min(folders, run.run.name.size()));
    run.configuration = report_configuration(run, keys);
    hardware.push_back(hardware_of(run.run));
    names.insert(hardware.back());
  }
  report.hardware.assign(names.begin(), names.end());
  for (std::size_t i = 0; i < hardware.size(); ++i) {
    const auto found = std::ranges::lower_bound(report.hardware, hardware[i]);
    report.runs[i].hardware = static_cast<std::size_t>(found - report.hardware.begin());
  }
  report.boundary = boundary_of_runs(report.runs);
  split_members(report);
  make_points(report);
  return report;
}

}  // namespace aggregate_power
