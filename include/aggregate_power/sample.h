// Samples, readings, windows and GPU states: the nouns of a recording.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aggregate_power {

// Stamps before this, in 1973, are seconds from the start of something.
inline constexpr double kFirstAbsoluteUnixS = 1e8;

// Power of one device at one instant.
struct Sample {
  double unix_s = 0;
  double watts = 0;
};

// An energy counter of one device at one instant.
struct CounterSample {
  double unix_s = 0;
  double joules = 0;
};

// What the power was between two samples.
enum class Interpolation {
  linear,  // on the straight line between them
  hold,    // that of the first: the recorder writes only changes
};

// The measured stretch of time, both ends included. start_unix_s < end_unix_s.
struct Window {
  double start_unix_s = 0;
  double end_unix_s = 0;

  double duration_s() const { return end_unix_s - start_unix_s; }
  bool contains(double unix_s) const { return start_unix_s <= unix_s && unix_s <= end_unix_s; }
};

// Any time.
inline constexpr Window kAlways = {-std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::infinity()};

inline constexpr Window kNever = {0, -1};

// Stands for a device's number in a row that names no device.
inline constexpr std::uint32_t kNoDevice = 0xFFFFFFFF;

// The content of one telemetry row.
struct Reading {
  enum class Kind : std::uint8_t {
    power,           // all three are known; watts >= 0
    negative_power,  // watts < 0: never counted as energy, but used by the counter check
    no_power,        // the stamp is good, the power is not: watts is meaningless
    no_device,       // stamp and power are good (watts >= 0), the device is not named
    bad_timestamp,   // the row cannot be placed in time
  };

  double unix_s = 0;
  double watts = 0;
  // Index into the reader's device names; kNoDevice if the row names none. Also known for rows
  // without power.
  std::uint32_t device = 0;
  Kind kind = Kind::power;
};

// Whether a row states a power that was drawn. 0 W inside the window is a reading. Outside it is
// not: a GPU that is being set up or torn down reports 0 W, and interpolating to it would lower the
// power at the window's edge.
inline bool states_power(const Reading& reading, const Window& window) {
  const bool has_watts =
      reading.kind == Reading::Kind::power || reading.kind == Reading::Kind::no_device;
  return has_watts && (reading.watts > 0 || window.contains(reading.unix_s));
}

// What a recorder may report about a GPU besides its power.
enum class GpuQuantity {
  temperature_c,
  utilization_pct,
  memory_used_mb,
  // The others say what held the GPU back, and whether it worked; results do not report them.
  power_limit_w,
  clock_reasons,  // NVML's bit mask of clocks event reasons
  clock_mhz,      // of the multiprocessors
};
inline constexpr std::size_t kReportedQuantities = 3;  // the first ones
inline constexpr std::size_t kGpuQuantities = 6;
using GpuQuantitySet = std::bitset<kGpuQuantities>;
inline constexpr GpuQuantitySet kAllGpuQuantities = (1U << kGpuQuantities) - 1;

constexpr GpuQuantitySet quantity_set(std::initializer_list<GpuQuantity> quantities) {
  unsigned bits = 0;
  for (const GpuQuantity quantity : quantities) bits |= 1U << static_cast<unsigned>(quantity);
  return bits;
}

// What one row says about these quantities; NaN where it says nothing.
struct GpuState {
  std::array<double, kGpuQuantities> values = unknown();

  double operator[](GpuQuantity quantity) const {
    return values[static_cast<std::size_t>(quantity)];
  }

  static constexpr std::array<double, kGpuQuantities> unknown() {
    std::array<double, kGpuQuantities> values = {};
    values.fill(std::numeric_limits<double>::quiet_NaN());
    return values;
  }
};

// The states of consecutive rows. Most rows repeat what the row before says: they share its state.
struct RowStates {
  std::span<const GpuState> states = {};
  std::span<const std::uint32_t> of_rows = {};  // the place in `states`, of each row

  bool empty() const { return of_rows.empty(); }
  std::size_t size() const { return of_rows.size(); }
  const GpuState& operator[](std::size_t row) const { return states[of_rows[row]]; }
};

// Consecutive rows of a recording. `states` is empty unless states are wanted; then states[i]
// belongs to readings[i].
struct Batch {
  std::span<const Reading> readings;
  RowStates states = {};
};

// ---- One row of a recording of CPU power.

struct CpuSample {
  double unix_s = 0;
  std::string hostname;
  std::string source;  // "acpi", "dcgm", ...
  std::string sensor;
  std::int64_t socket_id = 0;
  double power_w = 0;
  std::optional<double> cpu_rail_w;
  std::optional<double> soc_w;
  std::optional<double> module_w;
  bool has_module_column = false;  // the recording has one for module_w, which may be blank
};

// ---- The unit in which power is written.

// The unit of a bare number in the power column.
struct PowerUnit {
  enum class Size { watt, milliwatt, kilowatt, microwatt };
  Size size = Size::watt;
  bool stated = false;  // by the header; a cell's own unit must then agree
};

inline constexpr PowerUnit::Size kPowerUnits[] = {PowerUnit::Size::microwatt,
                                                  PowerUnit::Size::milliwatt, PowerUnit::Size::watt,
                                                  PowerUnit::Size::kilowatt};

// Parses a unit as people write it ("W", "mW", "Watts", "milliwatts"), in any case. "MW" is read as
// milliwatts: no GPU recorder means megawatts.
std::optional<PowerUnit::Size> power_unit(std::string_view text);
// The unit in a column's name: in brackets, or one of its words, the last one that is a unit:
// "power [mW]", "power_milliwatts", "powerMilliwatts", "power_mw_gpu0".
std::optional<PowerUnit::Size> power_unit_in_name(std::string_view name);
// That such a column is not read, for people; nullopt: it may be.
std::optional<std::string> other_unit_text(std::string_view name);
// "uW", "mW", "W", "kW"; and "microwatts", "milliwatts", "watts", "kilowatts".
std::string_view unit_symbol(PowerUnit::Size size);
std::string_view unit_word(PowerUnit::Size size);
inline double in_watts(double number, PowerUnit::Size size) {
  switch (size) {
    case PowerUnit::Size::watt:
      return number;
    case PowerUnit::Size::milliwatt:
      return number / 1000;
    case PowerUnit::Size::kilowatt:
      return number * 1000;
    case PowerUnit::Size::microwatt:
      return number / 1e6;
  }
  return number;
}

}  // namespace aggregate_power
