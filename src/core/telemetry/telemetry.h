// A recording while it is read, in any format: facts from its beginning, then its readings.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aggregate_power/gpu_key.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "core/telemetry/parallel_read.h"
#include "core/telemetry/repeated_hours.h"

namespace aggregate_power {

// The content of a recording cannot be read to its end. `what()` says why, without the file's name.
struct TelemetryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Rows that gave no reading, by cause. `preamble` and `comment` are rows before the header. A
// format without rows counts what corresponds best.
struct Skipped {
  std::uint64_t blank = 0;
  std::uint64_t repeated_header = 0;
  std::uint64_t preamble = 0;
  std::uint64_t comment = 0;
  std::uint64_t bad_timestamp = 0;
  std::uint64_t no_reading = 0;
  std::uint64_t too_many_cells = 0;
  std::uint64_t torn_tail = 0;

  bool operator==(const Skipped&) const = default;
  Skipped& operator+=(const Skipped& more);
};

// The causes by name, in the order above.
std::vector<std::pair<std::string_view, std::uint64_t>> by_cause(const Skipped& skipped);

// A stamp that states how far its clock is east of UTC.
struct OffsetStamp {
  double unix_s = 0;
  std::int32_t offset_s = 0;
};

// One of a recording's sensors, from its first to its last reading within each segment.
struct SensorEnergy {
  std::string name;
  double total_j = 0;  // by the trapezoid
  // The same of each segment; empty if the sensors have too many segments to tell.
  std::vector<double> segments_j = {};
  // With each reading held back over the period before it, of which it is the mean. The first
  // reading of a segment has no such period.
  double held_back_j = 0;
  double first_unix_s = 0;
  double last_unix_s = 0;
  double duration_s = 0;  // of the segments together
  double max_w = 0;
};

// A sum that a recorder's documentation states of its sensors.
struct SensorSum {
  std::string text;  // "intel = psys + uncore + cpu"
  bool holds = false;
  std::string detail;  // "317.574 J and 782.220 J"
};

// Counts and names seen in a recording.
struct TelemetryCounts {
  std::vector<std::string> devices;  // indexed by Reading::device
  std::vector<GpuKey> keys = {};     // of these; those that are missing are as their names say
  std::vector<std::string> identity_conflicts = {};  // GpuNames'
  std::vector<std::string> identity_notes = {};
  Skipped skipped;
  std::uint64_t rows = 0;  // including blank ones
  std::uint64_t stamps = 0;
  std::uint64_t naive_stamps = 0;  // read in the zone
  std::uint64_t dropped_nuls = 0;
  std::string first_bad_stamp;      // "'yesterday' in row 3 after the header"; empty: none was bad
  std::uint64_t first_bad_row = 0;  // if the text does not say it yet
  std::string first_misfit = {};    // what the first row has that does not fit; empty: each fits
  // Between the last stamp of one segment and the first of the next one the recorder was stopped,
  // and says so: nothing may be interpolated there.
  std::vector<Window> pauses = {};
  // Of a format whose recordings have more sensors than those whose power is read.
  std::vector<SensorEnergy> sensors = {};
  std::vector<SensorSum> sums = {};
  std::vector<std::string> silent_series = {};  // of power, without a single value
  std::optional<EnergyCounter> counter = {};    // if it was seen after the beginning
  std::vector<AmbiguousHour> ambiguous_hours = {};

  // Adds the counts of the rows that follow these, but not their devices.
  void add_rows(TelemetryCounts later);
};

// What the beginning of a recording says.
struct TelemetryHead {
  SeriesFacts facts;
  // The time that the clock showed in the first row, if its stamp has no offset.
  std::optional<double> first_wall_s = {};
  // The stamp in the first row, if it has an offset.
  std::optional<OffsetStamp> first_offset = {};
  TelemetryCounts counts = {};  // up to the first reading
  bool has_sensors = false;     // reading it tells of sensors, even if it has no power
};

// The energy counters of a recording, read along with its power.
struct CounterStream {
  std::function<void(std::span<const Reading>)> take;  // joules, as Recording::open_counters() has
  // Of the rows with a counter. Without `counter` the format cannot read both at once.
  TelemetryCounts counts = {};
};

// One recording, read once from front to back.
class Telemetry {
 public:
  using Take = std::function<void(std::span<const Reading>)>;
  using TakeStates = std::function<void(std::span<const Reading>, const RowStates&)>;
  struct Wants {
    Zone zone;  // for stamps without an offset
    GpuQuantitySet states = {};
    Workers workers = {};  // that may read at the same time; take() is called by one at a time
    CounterStream* counters = nullptr;  // to be read too, if the format can
  };
  // What a format implements: passes all readings to `take` in batches, in the file's order, with
  // as many states or with none, and updates `counts` up to the end or to the exception it throws:
  // TelemetryError, or what the bytes' source throws.
  using Read =
      std::function<void(const Wants& wants, const TakeStates& take, TelemetryCounts& counts)>;

  Telemetry(TelemetryHead head, Zone zone, Read read);

  const SeriesFacts& facts() const { return head_.facts; }
  const Zone& zone() const { return zone_; }
  const std::optional<double>& first_wall_s() const { return head_.first_wall_s; }
  const std::optional<OffsetStamp>& first_offset() const { return head_.first_offset; }
  // Before read(): sets another zone for stamps without an offset.
  void use_zone(const Zone& zone) { zone_ = zone; }
  // Before read(): adds seconds to the times of all readings, also of counters.
  void add_clock_offset(double seconds) { clock_offset_s_ += seconds; }
  // Before read(): lets several workers read the rows, each on a thread if one can be started. They
  // give out the same readings in the same order, one worker at a time, in other batches.
  void use_workers(const Workers& workers) { workers_ = workers; }
  // Before read(): reads the energy counters too, if the format can. `counters` must outlive
  // read().
  void read_counters_too(CounterStream& counters) { counters_ = &counters; }

  // Passes all meaningful rows to `take`, in the file's order, in batches. Call it once, and only
  // if facts() has times and power; without devices every row is of device 0, named "0". Throws
  // TelemetryError, or what the bytes' source throws, after giving out the readings before the
  // fault.
  void read(const Take& take);
  // The same, with the states of the rows' GPUs if the recorder is known.
  void read_with_states(const TakeStates& take, GpuQuantitySet states = kAllGpuQuantities);

  // Seen so far; complete after read().
  const std::vector<std::string>& devices() const { return head_.counts.devices; }
  // Of the same: all that the recording says about who they are.
  std::vector<GpuKey> keys() const;
  // For people: what cannot be true of any GPUs, and GPUs in two spellings.
  std::vector<std::string> identity_conflicts() const;
  const std::vector<std::string>& identity_notes() const { return head_.counts.identity_notes; }
  const Skipped& skipped() const { return head_.counts.skipped; }
  std::uint64_t rows() const { return head_.counts.rows; }
  std::uint64_t stamps() const { return head_.counts.stamps; }
  std::uint64_t naive_stamps() const { return head_.counts.naive_stamps; }
  const std::string& first_bad_stamp() const { return head_.counts.first_bad_stamp; }
  const std::string& first_misfit() const { return head_.counts.first_misfit; }
  std::uint64_t dropped_nuls() const { return head_.counts.dropped_nuls; }
  // Complete after read().
  const std::optional<EnergyCounter>& counter() const {
    return head_.counts.counter ? head_.counts.counter : head_.facts.counter;
  }
  bool has_sensors() const { return head_.has_sensors; }
  const std::vector<std::string>& silent_series() const { return head_.counts.silent_series; }
  const std::vector<SensorEnergy>& sensors() const { return head_.counts.sensors; }
  const std::vector<SensorSum>& sums() const { return head_.counts.sums; }
  const std::vector<Window>& pauses() const { return head_.counts.pauses; }
  const std::vector<AmbiguousHour>& ambiguous_hours() const { return head_.counts.ambiguous_hours; }

 private:
  void read_rows(const TakeStates& take, GpuQuantitySet states);
  void read_sorted_out(const Wants& wants, const TakeStates& take);

  TelemetryHead head_;
  Zone zone_;
  Read read_;
  double clock_offset_s_ = 0;
  Workers workers_;
  CounterStream* counters_ = nullptr;
};

}  // namespace aggregate_power
