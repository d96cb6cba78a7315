// In which time zone the local times of a result are: nothing states it, unless the caller does.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "energy/shares/window_placement.h"
#include "energy/zones/zone_evidence.h"
#include "recorders/recording.h"

namespace aggregate_power::runs {

// To be added to local times, as if they were UTC, to get Unix times.
struct ResultShift {
  std::optional<double> shift_s = {};
  bool is_recorders = false;  // the shift of the recording's own clock, or of the process's zone
  std::string fault = {};     // why there is none
};

PlacementRange moved(PlacementRange range, double shift_s);
Window moved(Window window, double shift_s);
// Where the load of a phase may be: some seconds of a phase may be longer than the load.
PlacementRange range_of_phase(Window phase, double load_s);

struct ResultClock {
  const Recording& recording;
  const Telemetry& head;              // of the recording, not yet read
  std::optional<Zone> stated;         // by the caller
  bool finds_zone;                    // the recording's own zone is not known yet
  std::optional<double> generator_j;  // what the generator says that its GPUs used

  // As the caller says; of a recording of instants, the caller's --timezone is meant for the
  // result.
  std::optional<double> stated_shift_s(double wall_s) const;
  // The same, else the recording's own zone, if it has one.
  std::optional<double> likely_shift_s(double wall_s) const;
  // The same where the power agrees: the load stands out there, and under no other offset in use,
  // or the recording covers it under no other one. The energy that the generator states
  // chooses between loads that stand out. Throws what reading throws.
  ResultShift shift_by_power(PlacementRange wall) const;
  // Of a recording whose own zone is not known: where the load stands out under one offset in use
  // and under no other one; on the clock of `range`.
  std::optional<Placement> placement_in_any_zone(PlacementRange range) const;
};

// ---- Whether the zone of this process, where nothing states one, may be the recording's.

// For people; both are empty if something confirms it, or if the recording has another zone.
struct OwnZoneFinding {
  std::string contradiction = {};
  std::string warning = {};  // neither the power nor the file's time says anything
};

class OwnZone {
 public:
  explicit OwnZone(Window window) : window_(window), evidence_(window) {}

  // The readings of a recording, in the file's order or of one device after another, read in this
  // zone.
  void take(std::span<const Reading> readings);
  // Whether this zone is used for stamps of the recording.
  static bool is_used(const TelemetryFacts& facts);
  // `facts` are of the recording that was read; `file_unix_s` is when it was written, if that is
  // known and not the time of a copy.
  OwnZoneFinding finding(const std::string& path, const TelemetryFacts& facts,
                         const std::optional<double>& file_unix_s) const;

 private:
  bool is_only_place(std::int32_t own_s) const;

  Zone zone_ = Zone::local();
  Window window_;
  ZoneEvidence evidence_;
  double first_s_ = std::numeric_limits<double>::infinity();  // as the clock showed it
  double last_s_ = -std::numeric_limits<double>::infinity();
};

}  // namespace aggregate_power::runs
