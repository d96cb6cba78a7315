// Finds the zone of a profile's times by its requests.
#include "generators/aiperf_zone.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/python_number.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// How far a request may reach beyond the window. Requests are timed by the workers, start_time and
// end_time by the manager, whose clock may differ by seconds if they are on several machines, and
// the last responses come after the phase has ended. Offsets are 900 s apart, so with less than
// half of that no request fits two offsets because of the tolerance alone.
constexpr double kTolerance_s = 60;

constexpr std::int32_t kQuarterHour_s = 900;
constexpr std::int32_t kFarthestWest_s = -12 * 3600;
constexpr std::int32_t kFarthestEast_s = 14 * 3600;

// Requests whose times are missing would only reach further: the zone that was is never excluded.
bool contains(const std::optional<Window>& window, Window requests) {
  return window && window->duration_s() > 0 &&
         window->start_unix_s <= requests.start_unix_s + kTolerance_s &&
         window->end_unix_s >= requests.end_unix_s - kTolerance_s;
}

std::vector<Zone> zones_of(Window requests, const WindowIn& window_in) {
  std::vector<Zone> zones;
  for (std::int32_t offset_s = kFarthestWest_s; offset_s <= kFarthestEast_s;
       offset_s += kQuarterHour_s) {
    const Zone zone = Zone::fixed(offset_s);
    if (contains(window_in(zone), requests)) zones.push_back(zone);
  }
  return zones;
}

std::string names_of(const std::vector<Zone>& zones) {
  constexpr std::size_t kMostShown = 3;
  std::vector<std::string> names;
  for (const Zone& zone : zones) {
    if (names.size() < kMostShown) names.push_back(zone.name());
  }
  return fmt::format("{}{}", fmt::join(names, ", "), zones.size() > kMostShown ? ", ..." : "");
}

std::string contradiction_text(Window requests, const std::vector<Zone>& zones) {
  const std::string when = fmt::format("the requests, from {:.3f} to {:.3f},",
                                       requests.start_unix_s, requests.end_unix_s);
  return zones.empty() ? fmt::format("{} are between start_time and end_time under no offset", when)
                       : fmt::format("{} are between start_time and end_time under {}", when,
                                     names_of(zones));
}

ZoneOfRequests none(Reason reason, std::string detail) {
  ZoneOfRequests found;
  found.fault.add(reason, std::move(detail));
  return found;
}

}  // namespace

std::optional<Zone> captured_zone(std::string_view text) {
  std::string offset = ascii_digits(strip(text));
  if (offset.size() == 6 && offset[3] == ':') offset.erase(3, 1);
  const bool is_offset = offset.size() == 5 && (offset[0] == '+' || offset[0] == '-') &&
                         offset.find_first_not_of("0123456789", 1) == offset.npos;
  if (!is_offset) return std::nullopt;
  const auto two_digits = [&](std::size_t at) {
    return (offset[at] - '0') * 10 + (offset[at + 1] - '0');
  };
  const int hours = two_digits(1);
  const int minutes = two_digits(3);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return Zone::fixed((offset[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60));
}

ProfileZone captured_zone_in(const LoadFile& file) {
  ProfileZone zone;
  zone.source = file.name;
  if (file.source) zone.zone = captured_zone(read_up_to(*file.source, kMostZoneBytes));
  if (!zone.zone) {
    zone.fault.add(file.source || file.is_unreadable ? Reason::profile_timezone_offset_invalid
                                                     : Reason::profile_timezone_offset_missing,
                   file.name);
  }
  return zone;
}

ZoneOfRequests zone_of_requests(const ProfileZone& stated, Window requests,
                                const WindowIn& window_in) {
  if (stated.zone && contains(window_in(*stated.zone), requests)) return {.zone = stated.zone};
  const std::vector<Zone> zones = zones_of(requests, window_in);
  const std::string requests_text = contradiction_text(requests, zones);
  if (stated.zone) {
    return none(
        Reason::profile_timezone_offset_invalid,
        fmt::format("{} says {}, but {}", stated.source, stated.zone->name(), requests_text));
  }
  if (zones.empty()) return none(Reason::profile_window_invalid, requests_text);
  const Reasons::Entry& fault = stated.fault.entries().front();
  if (zones.size() > 1) {
    return none(fault.reason, fmt::format("{}; {}", fault.detail, requests_text));
  }
  return {.zone = zones.front()};
}

}  // namespace aggregate_power
