// Whether enough independent witnesses speak for one UTC offset of a recording.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "aggregate_power/zone_report.h"
#include "energy/zone_consensus.h"
#include "energy/zone_evidence.h"

namespace aggregate_power {

// What speaks for an offset besides the recording itself.
struct OtherWitnesses {
  ZoneAgreement consensus;
  std::optional<double> file_unix_s;  // when the file was last written; nothing: not known
};

struct ZoneDecision {
  std::optional<ZoneCandidate> winner;
  ZoneReport report;     // of a winner
  std::string why_none;  // for people; empty with a winner
};

// Two witnesses that do not contradict each other, or nothing; with `one_is_enough`, one. The
// witnesses are the edges of the load, the consensus of the recorder's other runs, and the file's
// own time within a minute after its last reading. Where the edges fit several offsets, or there
// are no edges in the whole recording, the consensus settles which offset it is.
ZoneDecision decide_zone(const ZoneFinding& finding, Window window, const OtherWitnesses& others,
                         bool one_is_enough);

}  // namespace aggregate_power
