// Decides whether enough independent witnesses support one UTC offset of a recording.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "aggregate_power/zone_report.h"
#include "energy/zones/zone_consensus.h"
#include "energy/zones/zone_evidence.h"

namespace aggregate_power {

// Evidence for an offset besides the recording itself.
struct OtherWitnesses {
  ZoneAgreement consensus;
  std::optional<double> file_unix_s;  // when the file was last written; nullopt: unknown
};

struct ZoneDecision {
  std::optional<ZoneCandidate> winner;
  ZoneReport report;     // the winner's
  std::string why_none;  // for people; empty if there is a winner
};

// Needs two witnesses that do not contradict each other, or one with `one_is_enough`; otherwise
// there is no winner. The witnesses are the edges of the load, the consensus of the recorder's
// other runs, and the file's own time within a minute after its last reading. If the edges fit
// several offsets, or the whole recording has no edges, the consensus settles the offset.
ZoneDecision decide_zone(const ZoneFinding& finding, Window window, const OtherWitnesses& others,
                         bool one_is_enough);

// Whether the zone of the process, which nothing states, may be the recording's.
struct OwnZoneVerdict {
  bool is_confirmed = false;  // by the edges, by the file's time, or since no other zone covers
  std::string contradiction = {};  // for people; empty: nothing speaks against it
  std::string doubt = {};          // the same, of what may be an accident
};
// `offset_s` is the zone's. The file's time counts where the edges do not fit, and where they fit
// loads of other power in other zones as well. A copy has any later
// time: another zone's is a contradiction only within 10 s after its last reading, a doubt within a
// minute, and only if the recording covers the window in that zone.
OwnZoneVerdict judge_own_zone(const ZoneFinding& finding, std::int32_t offset_s,
                              const std::optional<double>& file_unix_s);

}  // namespace aggregate_power
