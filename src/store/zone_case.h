// A run as the other runs of its recorder see it when their zones are decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "energy/zone_consensus.h"

namespace aggregate_power {

struct ZoneCase {
  // The runner's label in the run's name or in its artifact's; else the host that the recording
  // names; else `hw` of the aggregate. Empty: not known, and the run has no others.
  std::string recorder;
  bool is_hardware = false;  // it is `hw`
  std::string aggregate;     // as shown
  double start_unix_s = 0;
  std::optional<ZoneVote> vote;
  bool has_load_elsewhere = false;         // ZoneFinding's
  std::string telemetry;                   // as shown
  std::optional<std::int64_t> written_ns;  // of the telemetry
  // The run waits for the others; these are its pieces, as store_path_text(). Empty: it does not.
  std::string waiting_telemetry;
  std::string waiting_benchmark;
  bool are_own = true;  // Candidates::are_own of both

  bool waits() const { return !waiting_telemetry.empty(); }
};

// As bytes, to be kept outside memory, and back.
std::string zone_case_text(const ZoneCase& zone_case);
ZoneCase zone_case_of(std::string_view text);

}  // namespace aggregate_power
