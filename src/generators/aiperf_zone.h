// The zone of a profile's times without an offset: the requests' own times show it; contract.md D.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "base/text/time_zone.h"
#include "core/load/load_files.h"

namespace aggregate_power {

// The zone that the user or a file states; without a zone, the fault says why there is none.
struct ProfileZone {
  std::optional<Zone> zone;
  Reasons fault;
  std::string source = {};  // what states the zone, for messages: the option or the file
};

inline constexpr std::size_t kMostZoneBytes = 4096;  // far more than an offset and blanks around it

// Parses "+0900", "-08:00": what `date +%z` wrote when the run began. Returns nullopt for any other
// text.
std::optional<Zone> captured_zone(std::string_view text);
ProfileZone captured_zone_in(const LoadFile& file);

struct ZoneOfRequests {
  std::optional<Zone> zone = {};  // nullopt: the fault says why there is none
  Reasons fault = {};
};

// The window under a zone; nullopt if it has none there.
using WindowIn = std::function<std::optional<Window>(const Zone& zone)>;

// The zone in which the window contains the requests, from the start of the first to the end of the
// last. Where it does so under several offsets, `stated` chooses; it may never contradict them.
ZoneOfRequests zone_of_requests(const ProfileZone& stated, Window requests,
                                const WindowIn& window_in);

}  // namespace aggregate_power
