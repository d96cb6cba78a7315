// Reads the reports, and the samples over their windows.
#include "packages/srt_slurm/energy.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "energy/uncertainty/uncertainty.h"

namespace aggregate_power::packages {
namespace {

constexpr std::uint64_t kMostReportBytes = 64 << 20;
constexpr double kCpuInterval_s = 1;  // of the recorder of the CPUs, which states none

struct FoundReport {
  std::string file;  // relative to the log directory
  JsonValue report;
};

std::string text_in(const PackagePlace& place, const std::string& path) {
  const OpenedFile file = place.tree->open(path);
  if (file.size() > kMostReportBytes) throw FileError(path, "is too large for a report of energy");
  return read_whole(file, kPackageFile);
}

bool is_of(const JsonValue& report, std::int64_t concurrency) {
  return report.is_object() && report.at("concurrency").as_integer() == concurrency;
}

// Leaves out a line that was not written to its end: the log is only appended to. Throws JsonError.
std::optional<JsonValue> report_of(std::string_view line, bool is_whole) {
  if (line.find_first_not_of(" \r\t") == line.npos) return std::nullopt;
  try {
    return parse_json(line);
  } catch (const JsonError&) {
    if (is_whole) throw;
    return std::nullopt;
  }
}

// Of the lines of one load the latest counts.
std::optional<JsonValue> latest_line(std::string_view text, std::int64_t concurrency) {
  std::optional<JsonValue> latest;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto report = report_of(text.substr(0, end), end < text.size());
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!report || !is_of(*report, concurrency)) continue;
    const auto emitted = [](const JsonValue& one) {
      const JsonValue& at = one.at("emitted_at_unix");
      return at.is_finite_number() ? at.as_double() : 0;
    };
    if (!latest || emitted(*report) >= emitted(*latest)) latest = std::move(report);
  }
  return latest;
}

std::optional<JsonValue> report_in(const std::string& text, bool has_lines,
                                   std::int64_t concurrency) {
  if (has_lines) return latest_line(text, concurrency);
  JsonValue all = parse_json(text);
  if (is_of(all, concurrency)) return all;
  for (JsonValue& one : all.items) {
    if (is_of(one, concurrency)) return std::move(one);
  }
  return std::nullopt;
}

std::vector<FoundReport> reports_of(const PackagePlace& place, const SelectedWindow& selected,
                                    std::vector<std::string>& warnings) {
  const std::string own = fmt::format("power_energy_c{}.json", selected.concurrency);
  const std::string& result = selected.result_path;
  const std::size_t slash = result.rfind('/');
  std::vector<std::string> names = {"power_energy_report.json", "power_energy_report.jsonl", own};
  if (slash != result.npos) names.push_back(result.substr(0, slash + 1) + own);
  std::vector<FoundReport> found;
  for (const std::string& name : names) {
    const std::string path = path_below(place.logs_root, name);
    try {
      if (!place.tree->find_file(path)) continue;
      auto report = report_in(text_in(place, path), name.ends_with("l"), selected.concurrency);
      if (report) found.push_back({name, std::move(*report)});
    } catch (const FileError& error) {
      warnings.emplace_back(error.what());
    } catch (const JsonError& error) {
      warnings.push_back(fmt::format("{}: not compared: {}", path, error.what()));
    }
  }
  return found;
}

// ---- Our own energy over a window

struct GpuEnergyOver {
  std::optional<double> joules;
  double edges_j = 0;  // half an interval at each edge, of every GPU
  std::string fault;
};

GpuEnergyOver gpu_energy_over(const PackagePlace& place, const PackageContent& content,
                              Window window) {
  GpuEnergyOver energy;
  std::vector<std::vector<Sample>> samples;
  PackageSamplesRequest request;
  request.take = [&](std::span<const PackageSample> some) {
    for (const PackageSample& sample : some) {
      if (std::abs(sample.unix_s - window.start_unix_s) > kPackageMaxSampleGapS &&
          std::abs(sample.unix_s - window.end_unix_s) > kPackageMaxSampleGapS &&
          !window.contains(sample.unix_s)) {
        continue;
      }
      if (sample.device >= samples.size()) samples.resize(sample.device + std::size_t{1});
      samples[sample.device].push_back({sample.unix_s, sample.watts});
    }
  };
  request.start_over = [&] { samples.clear(); };
  const PackageSamples read =
      read_package_samples(place.tree->open(path_below(place.power_dir, "samples.csv")), request);
  const std::set<DeviceKey> expected = keys_of(content.devices);
  const JsonValue& interval = content.manifest.at("sample_interval_seconds");
  const double interval_s = interval.is_finite_number() ? interval.as_double() : 1;
  std::size_t covered = 0;
  double sum_j = 0;
  for (std::size_t i = 0; i < std::min(samples.size(), read.devices.size()); ++i) {
    if (!expected.contains(read.devices[i].key) || samples[i].empty()) continue;
    const std::vector<Sample>& of = samples[i];
    if (of.front().unix_s > window.start_unix_s || of.back().unix_s < window.end_unix_s) continue;
    ++covered;
    sum_j += line_energy_j(of, window);
    const auto at_start = std::ranges::lower_bound(of, window.start_unix_s, {}, &Sample::unix_s);
    const auto at_end = std::ranges::lower_bound(of, window.end_unix_s, {}, &Sample::unix_s);
    energy.edges_j += interval_s / 2 * (at_start->watts + at_end->watts);
  }
  if (covered == expected.size() && covered > 0) {
    energy.joules = sum_j;
  } else {
    energy.fault = "the samples do not cover the report's window";
  }
  return energy;
}

std::optional<Window> window_of(const JsonValue& report) {
  const JsonValue& start = report.at("start_unix");
  const JsonValue& end = report.at("end_unix");
  if (!start.is_finite_number() || !end.is_finite_number()) return std::nullopt;
  const Window window{start.as_double(), end.as_double()};
  return window.start_unix_s < window.end_unix_s ? std::optional(window) : std::nullopt;
}

// A leg that the report lacks is 0 there.
std::optional<double> leg_of(const JsonValue& report, const char* key) {
  const JsonValue& joules = report.at(key);
  if (!joules.is_finite_number() || joules.as_double() == 0) return std::nullopt;
  return joules.as_double();
}

std::string difference_text(const ReportedEnergy& leg) {
  return fmt::format(
      "{}: the recorder's own report gives {:.6g} J of the {}s, and the samples over its window give {:.6g} J",
      leg.file, leg.reported_j, leg.leg, *leg.measured_j);
}

}  // namespace

std::vector<ReportedEnergy> compare_energy_reports(const PackagePlace& place,
                                                   const PackageContent& content,
                                                   const SelectedWindow& selected,
                                                   const MeasureCpus& measure_cpus,
                                                   std::vector<std::string>& warnings) {
  std::vector<ReportedEnergy> compared;
  for (const FoundReport& found : reports_of(place, selected, warnings)) {
    const auto window = window_of(found.report);
    if (!window) {
      warnings.push_back(fmt::format("{}: not compared: it states no window", found.file));
      continue;
    }
    if (const auto reported_j = leg_of(found.report, "gpu_total_joules")) {
      const GpuEnergyOver ours = gpu_energy_over(place, content, *window);
      compared.push_back(
          {found.file, "gpu", *window, *reported_j, ours.joules, ours.edges_j, ours.fault});
    }
    if (const auto reported_j = leg_of(found.report, "cpu_total_joules")) {
      const auto cpus = measure_cpus(*window);
      ReportedEnergy leg{found.file, "cpu", *window, *reported_j};
      if (cpus && cpus->reasons.empty()) {
        leg.measured_j = value_of(cpus->metrics, "total_cpu_energy_j");
      }
      if (leg.measured_j) {
        leg.tolerance_j = kCpuInterval_s * *leg.measured_j / window->duration_s();
      } else {
        leg.fault = "the power of the CPUs is not valid over the report's window";
      }
      compared.push_back(std::move(leg));
    }
  }
  for (ReportedEnergy& leg : compared) {
    if (!leg.measured_j) {
      warnings.push_back(fmt::format("{}: not compared: {}", leg.file, leg.fault));
      continue;
    }
    leg.tolerance_j += 1e-6 * std::abs(leg.reported_j);  // of rounding
    if (std::abs(*leg.measured_j - leg.reported_j) > leg.tolerance_j) {
      warnings.push_back(difference_text(leg));
    }
  }
  return compared;
}

}  // namespace aggregate_power::packages
