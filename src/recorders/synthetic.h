// Synthetic telemetry: what a recorder would have written for known power, with faults on request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

// Linear power for a duration.
struct Phase {
  double duration_s = 0;
  double watts = 0;
};

enum class FaultKind {
  gap,           // 5 s without samples
  na,            // a tick in which the first GPU's power cell says that there is no value
  garbage_time,  // a row whose stamp is not a time
  torn_tail,     // the last row ends in its middle
  repeated_header,
  dropped_gpu,       // the last GPU is missing from here on
  duplicate_stamps,  // a tick written twice
  bom,               // UTF-8 byte-order mark
  crlf,
  utf16,  // UTF-16LE with its mark, as PowerShell redirects
};

// "gap", "torn-tail" ...; nullopt for any other text.
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
  int first_gpu = 0;  // on all nodes together, the number of this one's GPU 0
  double interval_s = 1;
  std::vector<Phase> phases;
  std::size_t benchmark_phase = 0;
  double noise_w = 0;       // largest error of a reading
  double jitter_s = 0;      // largest error of a stamp; less than half the interval
  double gpu_offset_w = 0;  // GPU i of all nodes draws i times this much more
  double start_unix_s = 0;
  Zone zone = Zone::fixed(0);  // for stamps without an offset
  std::uint64_t seed = 1;
  std::vector<Fault> faults;
};

// The benchmark phase: its first and last instant. A sample on either edge has that phase's watts,
// so that without noise and jitter the window's energy is watts x seconds.
Window benchmark_window(const SyntheticOptions& options);

// Passes the file to `write`, piece by piece. The same options give the same bytes on every
// machine.
void write_synthetic(const SyntheticOptions& options,
                     const std::function<void(std::string_view)>& write);

// ---- The power that synthetic telemetry reports, whatever its form.

// SplitMix64: a few lines that give the same numbers everywhere; the standard library's
// distributions do not.
class SyntheticRandom {
 public:
  explicit SyntheticRandom(std::uint64_t seed) : state_(seed) {}
  // Uniform from -1 to 1.
  double symmetric() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    bits ^= bits >> 31;
    return static_cast<double>(bits >> 11) / static_cast<double>(std::uint64_t{1} << 52) - 1;
  }

 private:
  std::uint64_t state_;
};

// The number of the last tick, counted from 0: ticks are an interval apart, and the last one is at
// or before the end of the last phase.
std::int64_t last_tick(const SyntheticOptions& options);

// Watts of a GPU, with noise, `elapsed_s` after the start. `gpu` counts over all nodes.
double synthetic_watts(const SyntheticOptions& options, int gpu, double elapsed_s,
                       SyntheticRandom& random);

}  // namespace aggregate_power
