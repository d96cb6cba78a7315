// The table of GPUs' power sensors: what a reading of each is a mean of, as far as it is public.
//
// Sources: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention"
// (arXiv 2312.02741); NVML's reference for nvmlDeviceGetPowerUsage; McDaniel and others, arXiv
// 2604.06056, for AMD; AMD's documentation of amdsmi_gpu_metrics_t.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/record_facts.h"
#include "energy/uncertainty/sensor_model.h"

namespace aggregate_power {

struct SensorQuestion {
  Sensor sensor;                    // what the recording shows of it
  std::string model = {};           // of the GPU, as a tool or a person names it; empty: unknown
  bool has_average_beside = false;  // the recording has a column power.draw.average, too
  double period_s = 1;              // of the recorder
};

struct KnownSensor {
  std::string name = "unknown";          // of the boards in the table: "A100"
  std::vector<SensorModel> models = {};  // each that is possible; empty: nobody knows
  std::string unresolved = {};           // why there is none, and what to do; for people
  // Its energy counter counts more than the GPU.
  bool counts_module = false;
  // Two dies share one sensor, which the even ids report.
  bool has_second_dies = false;
  std::optional<SensorAccuracy> accuracy = {};  // else as of boards in general
  std::vector<std::string> assumptions = {};    // codes of the audit record
};

KnownSensor known_sensor(const SensorQuestion& question);

// Whether two names can mean one GPU: "H100" and "NVIDIA H100 80GB HBM3".
bool can_be_one_model(std::string_view a, std::string_view b);

// Whether a recorder can be one of that maker's boards; true if either maker is unknown.
bool can_measure(const Sensor& sensor, std::string_view model);

// A row of the table, for people.
struct GpuSensorRow {
  std::string boards;
  std::string usage;    // of power.draw, or the only power field
  std::string average;  // of power.draw.average
  std::string instant;  // of power.draw.instant
};
std::vector<GpuSensorRow> gpu_sensor_rows();

}  // namespace aggregate_power
