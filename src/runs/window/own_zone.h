// Whether the zone of this process, which is used where nothing states one, may be the recording's.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "energy/zones/zone_evidence.h"

namespace aggregate_power::runs {

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
