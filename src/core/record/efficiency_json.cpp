// Divides tokens by energies: tokens per second and watt are tokens per joule.
#include "core/record/efficiency_json.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text/json.h"
#include "base/text/shown_number.h"

namespace aggregate_power::results {
namespace {

constexpr std::string_view kEfficiencyKeys[] = {
    "output_tokens_per_second_per_gpu_watt", "total_tokens_per_second_per_gpu_watt",
    "output_tokens_per_second_per_combined_watt", "total_tokens_per_second_per_combined_watt",
    "total_gpu_and_cpu_energy_j"};

struct Efficiency {
  double output = 0;  // tokens per joule
  double total = 0;
};

std::optional<Efficiency> efficiency(const Result& result, double joules) {
  if (!result.load || !(joules > 0)) return std::nullopt;
  const auto output = static_cast<double>(result.load->total_output_tokens);
  const auto input = static_cast<double>(result.load->total_input_tokens);
  if (!(output > 0)) return std::nullopt;
  return Efficiency{output / joules, (input + output) / joules};
}

double per_watt(double value) { return rounded(value, 9); }

Json leg_json(const Result& result, const EnergyLeg& leg) {
  Json json = {
      {"boundary", leg.boundary},
      {"energy_j", rounded(leg.joules, kAuditDecimals)},
      {"avg_power_w", rounded(leg.joules / result.load->window.duration_s(), kAuditDecimals)}};
  if (const auto per_joule = efficiency(result, leg.joules)) {
    json["output_tokens_per_second_per_watt"] = per_watt(per_joule->output);
    json["total_tokens_per_second_per_watt"] = per_watt(per_joule->total);
  }
  return json;
}

std::optional<EnergyLeg> both_legs(const std::optional<EnergyLeg>& gpus,
                                   const std::optional<EnergyLeg>& cpus) {
  if (!gpus || !cpus) return std::nullopt;
  return EnergyLeg{gpus->joules + cpus->joules,
                   fmt::format("{} and {}", gpus->boundary, cpus->boundary)};
}

// The boundary that all hosts share; "gpu" if they differ.
std::string boundary_of_hosts(const Result& result) {
  std::string boundary;
  for (const HostResult& host : result.hosts) {
    const std::string scope = host.telemetry ? host.telemetry->series.sensor.scope : "gpu";
    if (!boundary.empty() && boundary != scope) return "gpu";
    boundary = scope;
  }
  return boundary.empty() ? "gpu" : boundary;
}

std::string gpu_boundary(const Result& result) {
  if (result.package) return result.package->power_scope.value_or("unknown");
  return result.telemetry ? result.telemetry->series.sensor.scope : boundary_of_hosts(result);
}

}  // namespace

std::optional<EnergyLeg> gpu_leg(const Result& result) {
  const auto joules = value_of(result.metrics, "total_gpu_energy_j");
  if (!result.is_valid() || !joules || !result.load) return std::nullopt;
  return EnergyLeg{*joules, gpu_boundary(result)};
}

std::optional<EnergyLeg> cpu_leg(const Result& result) {
  if (!result.cpu || !result.cpu->reasons.empty() || !result.load) return std::nullopt;
  const auto joules = value_of(result.cpu->metrics, "total_cpu_energy_j");
  if (!joules) return std::nullopt;
  const bool is_rail = result.cpu->sensor == CpuSensor::dcgm_cpu_rail;
  return EnergyLeg{*joules, is_rail ? "cpu_rails" : "cpu_sockets"};
}

Json efficiency_json(const Result& result) {
  const auto gpus = gpu_leg(result);
  if (!gpus) return nullptr;
  Json json = {{"gpu", leg_json(result, *gpus)}};
  if (const auto cpus = cpu_leg(result)) {
    json["cpu"] = leg_json(result, *cpus);
    json["gpu_and_cpu"] = leg_json(result, *both_legs(gpus, cpus));
  }
  return json;
}

std::vector<std::string> efficiency_texts(const Result& result, double gpu_energy_j) {
  std::optional<EnergyLeg> gpus = gpu_leg(result);
  if (gpus) gpus->joules = gpu_energy_j;
  std::vector<std::string> texts;
  const auto add = [&](const std::optional<EnergyLeg>& leg, const char* whose) {
    const auto per_joule = leg ? efficiency(result, leg->joules) : std::nullopt;
    if (!per_joule) return;
    texts.push_back(
        fmt::format("{} output tokens/s per W of {}", shown_number(per_joule->output), whose));
  };
  add(gpus, "GPU");
  add(both_legs(gpus, cpu_leg(result)), "GPU and CPU");
  return texts;
}

std::vector<JsonEdit> efficiency_edits(const Result& result) {
  std::vector<JsonEdit> edits;
  if (result.contract != Contract::october) return edits;
  const auto set = [&](std::string_view key, double value, int decimals) {
    if (std::isfinite(value)) {
      edits.push_back({std::string(key), json_number(rounded(value, decimals))});
    }
  };
  const auto both = both_legs(gpu_leg(result), cpu_leg(result));
  const auto of_gpus = gpu_leg(result) ? efficiency(result, gpu_leg(result)->joules) : std::nullopt;
  const auto of_both = both ? efficiency(result, both->joules) : std::nullopt;
  if (of_gpus) {
    set(kEfficiencyKeys[0], of_gpus->output, 6);
    set(kEfficiencyKeys[1], of_gpus->total, 6);
  }
  if (of_both) {
    set(kEfficiencyKeys[2], of_both->output, 6);
    set(kEfficiencyKeys[3], of_both->total, 6);
  }
  if (both) set(kEfficiencyKeys[4], both->joules, 2);
  return edits;
}

std::vector<std::string_view> efficiency_keys() {
  return {std::begin(kEfficiencyKeys), std::end(kEfficiencyKeys)};
}

Json energy_reports_json(const std::vector<ReportedEnergy>& reports) {
  Json list = Json::array();
  for (const ReportedEnergy& report : reports) {
    Json json = {{"file", report.file},
                 {"leg", report.leg},
                 {"start_unix", report.window.start_unix_s},
                 {"end_unix", report.window.end_unix_s},
                 {"reported_j", number_or_null(report.reported_j)}};
    if (report.measured_j) {
      json["measured_j"] = rounded(*report.measured_j, kAuditDecimals);
      json["tolerance_j"] = rounded(report.tolerance_j, kAuditDecimals);
      json["agrees"] = std::abs(*report.measured_j - report.reported_j) <= report.tolerance_j;
    } else {
      json["fault"] = report.fault;
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace aggregate_power::results
