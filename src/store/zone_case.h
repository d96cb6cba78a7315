// A run as other runs of its recorder see it when their zones are decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "energy/zone_consensus.h"

namespace aggregate_power {

struct ZoneCase {
  // The runner's label in the name of the run or of its artifact; else the host that the recording
  // names; else `hw` of the aggregate. Empty: unknown, and the run has no others.
  std::string recorder;
  bool is_hardware = false;  // the recorder is `hw`
  std::string aggregate;     // its displayed path
  double start_unix_s = 0;
  std::optional<ZoneVote> vote;
  bool has_load_elsewhere = false;         // ZoneFinding's
  std::string telemetry;                   // its displayed path
  std::optional<std::int64_t> written_ns;  // when the telemetry was written
  // If the run waits for the others, its pieces, as store_path_text(). Empty: it does not wait.
  std::string waiting_telemetry;
  std::string waiting_benchmark;
  bool are_own = true;  // Candidates::are_own of both

  bool waits() const { return !waiting_telemetry.empty(); }
};

// Converts to bytes that can be kept outside memory, and back.
std::string zone_case_text(const ZoneCase& zone_case);
ZoneCase zone_case_of(std::string_view text);

}  // namespace aggregate_power
