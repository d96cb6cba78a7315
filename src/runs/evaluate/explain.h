// Explains why a recording gave no result, if the reason's code does not say enough.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"
#include "core/energy/curve.h"
#include "core/telemetry/telemetry.h"
#include "recorders/recording.h"

namespace aggregate_power {

// "3 of 9 rows, the first 'yesterday' in row 2 after the header"; empty if no stamp was bad.
std::string bad_stamps_text(const Telemetry& telemetry);

// The first and the last stamp of a recording; nullopt if it has none. Reads it once. Throws what
// reading throws.
std::optional<Span> extent_of(const Recording& recording);

// The first and the last stamp of the rows of a recording.
class RowExtent {
 public:
  void take(std::span<const Reading> readings);
  // The last is before the first if no row has a stamp.
  Span span() const { return span_; }
  bool has_power() const { return has_power_; }
  // Readings of power of a device.
  std::uint64_t readings(std::size_t device) const {
    return device < readings_.size() ? readings_[device] : 0;
  }

 private:
  Span span_{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  bool has_power_ = false;
  std::vector<std::uint64_t> readings_;  // by device
};

// Why a recording has no usable power samples in a window.
struct NoSamples {
  std::string detail;                    // empty: nothing more can be said
  std::optional<std::string> zone_hint;  // zone_hint()'s
};

// `telemetry` was read to its end, and `extent` took all its rows. Zones that are named were tried
// on the recording, which is read once more.
NoSamples explain_no_samples(const Recording& recording, const RowExtent& extent,
                             const Telemetry& telemetry, Window window);

// ---- Recordings that are given twice would count twice.

// Throws Error if two of the paths lead to one file.
void refuse_repeated_recordings(std::span<const std::string> paths);

// A GPU that counts of one recording.
struct GpuOfFile {
  std::string name;
  GpuKey key;
  std::optional<double> mean_w = {};     // in the window
  std::span<const Sample> samples = {};  // or its readings
};

// The GPUs of one recording, and what is known of where it was recorded.
struct GpusOfFile {
  std::string path;
  std::string schema;
  std::vector<GpuOfFile> gpus;
  std::string boot = {};                 // of the host, by the recorder's clocks
  std::vector<std::string> models = {};  // of its GPUs
  std::optional<Window> recorded = {};   // where readings of them are
};

// Adds what files beside the recording say: the boot, and the UUIDs of its GPUs.
void add_files_beside(const Recording& recording, GpusOfFile& file);

// GPUs that are in two recordings, for people. GPUs of two hosts may have equal indices and PCI
// addresses. They are not one if their hosts have different names or boots, if their paths do
// ("node-1.csv", "host-b/gpu.csv"), if they are of different models or vendors, or if their power
// differs by more than a tenth.
struct RepeatedGpus {
  std::vector<std::string> sure;
  // Nothing tells whether it is one, and the recordings are of two kinds, as of one host: one has
  // indices, the other UUIDs.
  std::vector<std::string> unclear;
  std::vector<std::string> possible;  // recorded in one way, as two hosts are
};
RepeatedGpus repeated_gpus(std::span<const GpusOfFile> files);
// Whether two paths name two hosts or two GPUs: "node-1.csv" and "node-2.csv". Ranks, workers and
// pods do not: several of one host may record the same GPUs.
bool name_two_hosts(const std::string& path, const std::string& other);

// A device with its readings, and the recording that they are from.
struct RecordedDevice {
  std::string_view path;
  const PowerTrace* trace = nullptr;
};

// Throws Error if one device has the same readings as a device of another recording, to the last
// digit and at the same times, unless its power never changes.
void refuse_repeated_devices(std::span<const RecordedDevice> devices);

}  // namespace aggregate_power
