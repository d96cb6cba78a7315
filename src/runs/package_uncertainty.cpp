// Says of a package's samples what a recording says of its own.
#include "runs/package_uncertainty.h"

#include <set>
#include <utility>
#include <vector>

#include "recorders/metric_labels.h"
#include "runs/extras.h"
#include "runs/sensor_readings.h"

namespace aggregate_power {
namespace {

// Each GPU's name begins with its host.
std::size_t hosts_of(const std::vector<GatheredReadings>& gpus) {
  std::set<std::string> hosts;
  for (const GatheredReadings& gpu : gpus) hosts.insert(gpu.gpu.substr(0, gpu.gpu.find('/')));
  return hosts.size();
}

// DCGM's unless the manifest names another exporter's metric.
Sensor sensor_of(const PackageFacts& package) {
  Sensor sensor = sensor_of_metric(package.source_metric.value_or("DCGM_FI_DEV_POWER_USAGE"));
  const std::string scope = package.power_scope.value_or("");
  for (const char* const larger : {"module", "node", "wall", "rail"}) {
    if (scope.find(larger) != std::string::npos) sensor.scope = larger;
  }
  return sensor;
}

}  // namespace

Result evaluate_package(const RunOptions& run, const std::string& hardware,
                        PackageQuestion question) {
  SensorReadings readings;
  if (run.uncertainty.is_wanted) question.readings = &readings.gpus;
  Result result = check_package(question);
  for (const GpuResult& gpu : result.gpus) readings.published_j[gpu.name] = gpu.energy.energy_j;
  readings.series.schema = "srt-slurm samples";
  readings.series.sensor = sensor_of(*result.package);
  readings.hosts = hosts_of(readings.gpus);
  std::vector<SensorReadings> recordings;
  recordings.push_back(std::move(readings));
  RunOptions without_idle = run;
  without_idle.idle.clear();
  add_extras({without_idle, std::move(recordings), hardware}, result);
  refuse_idle_of_package(run, result);
  return result;
}

}  // namespace aggregate_power
