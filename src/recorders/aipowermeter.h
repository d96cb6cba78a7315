// The records of AIPowerMeter's power_metrics.json, one after the other.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/byte_source.h"
#include "base/text/json.h"

namespace aggregate_power {

inline constexpr double kNoAipmSensor = std::numeric_limits<double>::quiet_NaN();

// The places of a record's parts.
enum AipmPath {
  kAipmRecord,
  kAipmDate,
  kAipmUncoreItem,
  kAipmGpuPower,  // by GPU, from here on
  kAipmGpuPowerOf2026,
  kAipmGpuAttributable,
  kAipmProcesses,  // of a GPU
  kAipmProcessUse,
  kFirstAipmSensor,
  kAipmDrawAbsolute = kFirstAipmSensor,
  kAipmNvidiaPower,
  kAipmNvidiaAttributable,
  kAipmIntel,
  kAipmPsys,
  kAipmUncore,
  kAipmTotalCpu,
  kAipmTotalDram,
  kAipmRelativeIntel,
  kAipmPathCount,
};

// The key at the end of a path.
std::string_view aipm_key_of(std::size_t path);
// The path of the sensor with this key; kAipmPathCount: there is none.
std::size_t aipm_path_of(std::string_view sensor);

struct AipmOfGpu {
  std::string gpu;
  double watts;
};

// What part of a GPU's multiprocessors a process used, from 0 to 1.
struct AipmUse {
  std::string process;
  double use = 0;
};

struct AipmProcesses {
  std::string gpu;
  std::vector<AipmUse> uses;  // also of processes that used nothing
};

// What one line says. NaN: nothing.
struct AipmRecord {
  std::string date;
  std::vector<AipmOfGpu> drawn;
  std::vector<AipmOfGpu> attributable;  // to the experiment; "all" is their sum
  std::vector<AipmProcesses> processes;
  std::array<double, kAipmPathCount> watts;

  AipmRecord() { watts.fill(kNoAipmSensor); }
  void clear() {
    date.clear();
    drawn.clear();
    attributable.clear();
    processes.clear();
    watts.fill(kNoAipmSensor);
  }
  // Whether more is attributed to the experiment than some GPU drew.
  bool is_above_drawn() const;
};

// Gives out records and the ends of segments.
class AipmWalk : public JsonVisitor {
 public:
  using OnRecord = std::function<void(const AipmRecord&)>;
  AipmWalk(OnRecord on_record, std::function<void()> on_segment_end)
      : on_record_(std::move(on_record)), on_segment_end_(std::move(on_segment_end)) {}

  void begin(std::size_t path) override;
  void end(std::size_t path) override;
  void key(std::size_t path, std::string_view key) override;
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override;

 private:
  void add_number(std::size_t path, double number);

  OnRecord on_record_;
  std::function<void()> on_segment_end_;
  AipmRecord record_;
  std::string gpu_;
  std::string process_;
};

// Throws JsonError, and what `source` throws.
void walk_aipm_records(ByteSource& source, AipmWalk& walk);

}  // namespace aggregate_power
