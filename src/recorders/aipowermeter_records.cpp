// Walks the JSON texts, each of which is a record or the end of a segment.
#include "recorders/aipowermeter_records.h"

#include <algorithm>
#include <optional>

#include "base/text/decimal.h"
#include "base/text/python_number.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kSegmentEnd = "END OF RECORDING SEGMENT";

// In the order of AipmPath.
constexpr std::array<std::string_view, kAipmPathCount> kAipmPaths = {
    "",
    "date",
    "metrics.cpu.uncore_power[]",
    "metrics.gpu.per_gpu_power_draw.*",
    "metrics.gpu.per_gpu_power.*",
    "metrics.gpu.per_gpu_attributable_power.*",
    "metrics.gpu.per_gpu_per_pid_utilization_absolute.*",
    "metrics.gpu.per_gpu_per_pid_utilization_absolute.*.*",
    "metrics.gpu.nvidia_draw_absolute",
    "metrics.gpu.nvidia_power",
    "metrics.gpu.nvidia_attributable_power",
    "metrics.cpu.intel_power",
    "metrics.cpu.psys_power",
    "metrics.cpu.uncore_power",
    "metrics.cpu.total_cpu_power",
    "metrics.cpu.total_dram_power",
    "metrics.cpu.rel_intel_power",
};

// NaN for what is not a number, and for -1, which stands for a sensor that is not there.
double number_in(JsonKind kind, std::string_view text) {
  if (kind != JsonKind::integer && kind != JsonKind::real) return kNoAipmSensor;
  double plain = 0;
  if (read_whole_decimal(text, plain)) return plain;
  const std::optional<double> number = nearest_double(text);
  return number && std::isfinite(*number) && *number >= 0 ? *number : kNoAipmSensor;
}

}  // namespace

std::string_view aipm_key_of(std::size_t path) {
  std::string_view key = kAipmPaths[path];
  while (key.ends_with(".*")) key.remove_suffix(2);
  return key.substr(key.rfind('.') + 1);
}

std::size_t aipm_path_of(std::string_view sensor) {
  std::size_t path = kFirstAipmSensor;
  while (path < kAipmPathCount && aipm_key_of(path) != sensor) ++path;
  return path;
}

bool AipmRecord::is_above_drawn() const {
  return std::ranges::any_of(attributable, [&](const AipmOfGpu& part) {
    const auto whole = std::ranges::find(drawn, part.gpu, &AipmOfGpu::gpu);
    return whole != drawn.end() && part.watts > whole->watts;
  });
}

void AipmWalk::begin(std::size_t path) {
  if (path == kAipmRecord) record_.clear();
  if (path == kAipmProcesses) record_.processes.push_back({gpu_, {}});
}

void AipmWalk::end(std::size_t path) {
  if (path == kAipmRecord) on_record_(record_);
}

void AipmWalk::key(std::size_t path, std::string_view key) {
  (path == kAipmProcessUse ? process_ : gpu_) = key;
}

void AipmWalk::scalar(std::size_t path, JsonKind kind, std::string_view text) {
  if (path == kAipmRecord) {
    if (text == kSegmentEnd) on_segment_end_();
    return;
  }
  if (path == kAipmDate) {
    record_.date = text;
  } else if (const double number = number_in(kind, text); !std::isnan(number)) {
    add_number(path, number);
  }
}

void AipmWalk::add_number(std::size_t path, double number) {
  switch (path) {
    case kAipmGpuPower:
    case kAipmGpuPowerOf2026:
      record_.drawn.push_back({gpu_, number});
      break;
    case kAipmGpuAttributable:
      record_.attributable.push_back({gpu_, number});
      break;
    case kAipmProcessUse:
      record_.processes.back().uses.push_back({process_, number});
      break;
    case kAipmUncoreItem: {
      double& uncore_w = record_.watts[kAipmUncore];
      uncore_w = std::isnan(uncore_w) ? number : uncore_w + number;
      break;
    }
    default:
      record_.watts[path] = number;
  }
}

void walk_aipm_records(ByteSource& source, AipmWalk& walk) {
  static const JsonPaths paths(kAipmPaths);
  walk_json(source, paths, walk, JsonTexts::several);
}

}  // namespace aggregate_power
