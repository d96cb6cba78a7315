// The energy counters that a recording has beside the power.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/result.h"
#include "aggregate_power/sample.h"
#include "core/energy/counter_trace.h"
#include "core/energy/integrate.h"
#include "recorders/recording.h"

namespace aggregate_power {

struct Measurement;
struct MeasurementRequest;

// Of one device, sorted by time.
struct DeviceCounter {
  std::string device;
  double unit_j = 1;                   // of one count
  bool is_unit_stated = true;          // else the samples are counts
  std::vector<CounterSample> samples;  // at least one
};

// Reads the recording once more. Only readings in `within` are kept. Returns nothing if it has no
// counter. Throws TelemetryError, and what the source throws.
std::vector<DeviceCounter> read_counters(const Recording& recording, Window within = kAlways);

// Counts become joules.
void set_unit(const CounterUnit& unit, DeviceCounter& device);

// All counters of a recording.
struct CountersRead {
  std::optional<EnergyCounter> counter;
  std::vector<DeviceCounter> devices;
};

// What was read of one device so far.
struct GatheredCounter {
  std::vector<CounterSample> samples;
  bool is_sorted = true;
  double last_unix_s = -std::numeric_limits<double>::infinity();
};

// Gathers the counters of a load while the power is read, if the format can read both at once.
class CounterGatherer {
 public:
  explicit CounterGatherer(Window window);
  CounterGatherer(const CounterGatherer&) = delete;  // telemetry has its address
  CounterGatherer& operator=(const CounterGatherer&) = delete;

  // For Telemetry::read_counters_too().
  CounterStream& stream() { return stream_; }
  // After all was read without a fault. nullopt: the recording must be read once more.
  std::optional<CountersRead> finish();

 private:
  Window within_;
  std::vector<GatheredCounter> gathered_;  // by Reading::device
  CounterStream stream_;
};

// The counters of the GPUs of `integration` inside the window: those in `read`, or else those of
// the recording. Returns nullopt if there are none; never throws because of the recording.
// `may_use_threads` as for read_rows().
std::optional<RecordedCounters> counters_in(const Recording& recording, Window window,
                                            const Integration& integration, double max_sample_gap_s,
                                            bool may_use_threads,
                                            std::optional<CountersRead> read = {});

// Whether its GPUs' names are of modules whose counter includes the processor.
bool is_of_module(const SeriesFacts& series);

// The places in `counters.gpus` whose counter refutes the power: contract.md part 0 row 30. Not
// those whose counter may be of more than the GPU, and says more: of its module, or of all GPUs.
std::vector<std::size_t> contradictions(const RecordedCounters& counters, const SeriesFacts& series,
                                        Window window);

// counters_in() of what was measured, if the recording has counters. Adds a reason to the
// measurement for each GPU whose counter refutes its power; under schema 1 a doubt, if
// they do all together.
std::optional<RecordedCounters> compare_with_counters(const MeasurementRequest& request,
                                                      const Recording& recording, Window window,
                                                      Measurement& measurement);

// What speaks against the power, or against the counters, for people.
std::vector<std::string> doubts_about(const RecordedCounters& counters);

}  // namespace aggregate_power
