// Writes what recorders and benchmarks write.
#include "truth/run_files.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <fstream>

namespace truth {
namespace {

using aggregate_power::GpuReadings;

// "2026/09/08 07:20:30.529", cut to milliseconds.
std::string nvidia_stamp(double unix_s) {
  const double whole_s = std::floor(unix_s);
  const auto seconds = static_cast<std::time_t>(whole_s);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &utc);
  return fmt::format("{}.{:03}", text, static_cast<int>((unix_s - whole_s) * 1000));
}

struct Board {
  const char* name;
  const char* column;
};

Board board_of(Sensor sensor) {
  switch (sensor) {
    case Sensor::average_1s:
      return {"NVIDIA H100 80GB HBM3", "power.draw.average [W]"};
    case Sensor::full_100ms:
      return {"NVIDIA GeForce RTX 3090", "power.draw.instant [W]"};
    case Sensor::a100:
      return {"NVIDIA A100-SXM4-80GB", "power.draw [W]"};
    case Sensor::v100:
      return {"Tesla V100-SXM2-16GB", "power.draw [W]"};
    default:
      return {"", "power.draw [W]"};
  }
}

std::string nvidia_csv(const SimulatedRun& run) {
  const Board board = board_of(run.sensor);
  const bool named = *board.name != 0;
  const bool counted = !run.question.gpus[0].counter.empty();
  const bool limited = run.question.gpus[0].conditions.limit_w.has_value();
  std::string csv = fmt::format("timestamp, index, {}{}{}{}\n", named ? "name, " : "", board.column,
                                limited ? ", power.limit [W]" : "", counted ? ", energy_mj" : "");
  // In time order: a recorder asks all GPUs in one round. Some rows may be missing.
  std::vector<std::size_t> next(run.question.gpus.size());
  for (;;) {
    std::size_t first = next.size();
    for (std::size_t i = 0; i < next.size(); ++i) {
      const auto& samples = run.question.gpus[i].samples;
      if (next[i] == samples.size()) continue;
      if (first == next.size() ||
          samples[next[i]].unix_s < run.question.gpus[first].samples[next[first]].unix_s) {
        first = i;
      }
    }
    if (first == next.size()) return csv;
    const GpuReadings& gpu = run.question.gpus[first];
    const std::size_t row = next[first]++;
    csv += fmt::format("{}, {}, {}{}{:.2f} W", nvidia_stamp(gpu.samples[row].unix_s), gpu.name,
                       board.name, named ? ", " : "", gpu.samples[row].watts);
    if (limited) csv += fmt::format(", {:.2f} W", *gpu.conditions.limit_w);
    if (row < gpu.counter.size()) csv += fmt::format(", {:.0f}", 1000 * gpu.counter[row].joules);
    csv += '\n';
  }
}

std::string amd_csv(const SimulatedRun& run) {
  const auto& gpus = run.question.gpus;
  const bool counted = !gpus[0].counter.empty();
  std::string csv = fmt::format("timestamp,gpu,socket_power{}\n", counted ? ",energy_j" : "");
  for (std::size_t row = 0; row < gpus[0].samples.size(); ++row) {
    for (const GpuReadings& gpu : gpus) {
      csv += fmt::format("{:.0f},{},{:.0f}", gpu.samples[row].unix_s, gpu.name,
                         gpu.samples[row].watts);
      if (counted) csv += fmt::format(",{:.6f}", gpu.counter[row].joules);
      csv += '\n';
    }
  }
  return csv;
}

std::string list_of(const std::vector<double>& values) {
  return fmt::format("[{:.6f}]", fmt::join(values, ", "));
}

}  // namespace

std::string as_csv(const SimulatedRun& run) {
  return run.sensor == Sensor::amd ? amd_csv(run) : nvidia_csv(run);
}

void write_files(const SimulatedRun& run, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto& window = run.question.window;
  std::ofstream(folder / "gpu_metrics.csv") << as_csv(run);
  std::ofstream(folder / "run.json") << fmt::format(
      "{{\"benchmark_start_time_unix\": {:.6f}, \"benchmark_end_time_unix\": {:.6f}, "
      "\"duration\": {:.6f}, \"completed\": 10, \"total_input_tokens\": 1000, "
      "\"total_output_tokens\": 1000}}\n",
      window.start_unix_s, window.end_unix_s, window.duration_s());
  std::ofstream(folder / "agg_run.json") << "{}\n";
  std::ofstream(folder / "truth.json") << fmt::format(
      "{{\"true_j\": {}, \"sensor_j\": {}, \"stuck_sensor\": {}, \"power_capped\": {}, "
      "\"clock_offset_suspected\": {}, \"under_sampled_window\": {}}}\n",
      list_of(run.true_j), list_of(run.sensor_j), run.is_stuck, run.is_capped, run.is_clock_off,
      run.is_under_sampled);
}

}  // namespace truth
