// Synthetic telemetry: what a recorder would have written of known power, with faults on request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/zone.h"

namespace aggregate_power {

// Power in a straight line for so long.
struct Phase {
  double duration_s = 0;
  double watts = 0;
};

enum class FaultKind {
  gap,           // 5 s without samples
  na,            // a tick of which the first GPU's power cell says that there is none
  garbage_time,  // a row whose stamp is no time
  torn_tail,     // the last row is cut off in its middle
  repeated_header,
  dropped_gpu,       // the last GPU is missing from here on
  duplicate_stamps,  // a tick written twice
  bom,               // UTF-8 byte-order mark
  crlf,
  utf16,  // UTF-16LE with its mark, as PowerShell redirects
};

// "gap", "torn-tail" ...; nothing for any other text.
std::optional<FaultKind> parse_fault(std::string_view name);
std::vector<std::string> fault_names();

struct Fault {
  FaultKind kind{};
  std::optional<double> at_s;  // from the start; default: the middle of the benchmark's phase
};

enum class SyntheticSchema { nvidia_smi, amd_smi, generic };

struct SyntheticOptions {
  SyntheticSchema schema = SyntheticSchema::nvidia_smi;
  int gpus = 8;
  double interval_s = 1;
  std::vector<Phase> phases;
  std::size_t benchmark_phase = 0;
  double noise_w = 0;       // each reading is off by up to so much
  double jitter_s = 0;      // each stamp is off by up to so much; less than half the interval
  double gpu_offset_w = 0;  // GPU i draws i times this more
  double start_unix_s = 0;
  Zone zone = Zone::fixed(0);  // in which stamps without an offset are written
  std::uint64_t seed = 1;
  std::vector<Fault> faults;
};

// The benchmark phase: its first and last instant. A sample on either edge has that phase's watts,
// so that without noise and jitter the window's energy is watts x seconds.
Window benchmark_window(const SyntheticOptions& options);

// Gives the file to `write`, piece by piece. The same options give the same bytes on every machine.
void write_synthetic(const SyntheticOptions& options,
                     const std::function<void(std::string_view)>& write);

}  // namespace aggregate_power
