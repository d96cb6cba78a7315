// How the time zone of a recording was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aggregate_power {

enum class ZoneWitness { stamps, zone_file, option, edges, consensus, file_time };
enum class ZoneLevel { stated, two_witnesses, one_witness };
std::string_view name_of(ZoneWitness witness);
std::string_view name_of(ZoneLevel level);
// The inverse of name_of(). These throw Error for unknown names.
ZoneWitness witness_of(std::string_view name);
ZoneLevel level_of(std::string_view name);

// How a zone was found, for the record.
struct ZoneReport {
  ZoneLevel level = ZoneLevel::stated;
  std::vector<ZoneWitness> witnesses;
  // What the witnesses do not rule out: other offsets, and kNotInRecording.
  std::vector<std::string> rivals;
};
// The recording belongs to another run: it is late, stale, foreign, or stopped.
inline constexpr const char* kNotInRecording = "not_in_recording";

// One run whose recording shows its offset, either by edges that fit only one candidate or by a
// zone file.
struct ZoneVote {
  double start_unix_s = 0;  // of its window
  std::int32_t offset_s = 0;
  bool is_stated = false;  // by a zone file
  double idle_w = 0;       // ZoneFinding's; 0 if unknown
  double load_w = 0;
};

}  // namespace aggregate_power
