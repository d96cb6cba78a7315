// Looks at what the clock of a recording showed, under each offset in use.
#include "runs/window/own_zone.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/time_zone.h"
#include "energy/zones/zone_sources.h"

namespace aggregate_power::runs {

void OwnZone::take(std::span<const Reading> readings) {
  constexpr double kFarthest_s = 1e11;
  double first_s = kFarthest_s;
  double last_s = -kFarthest_s;
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::bad_timestamp) continue;
    first_s = std::min(first_s, reading.unix_s);
    last_s = std::max(last_s, reading.unix_s);
  }
  if (first_s > last_s) return;
  const std::int32_t offset_s = zone_.offset_at(static_cast<std::int64_t>(first_s));
  const bool is_steady = offset_s == zone_.offset_at(static_cast<std::int64_t>(last_s));
  // Batches are short: a clock changes in one, and not back.
  const std::size_t half = readings.size() / 2;
  if (!is_steady && half > 0) {
    take(readings.first(half));
    take(readings.subspan(half));
    return;
  }
  first_s_ = std::min(first_s_, first_s + offset_s);
  last_s_ = std::max(last_s_, last_s + offset_s);
  evidence_.take(readings, offset_s);
}

// Whether the recording covers the window under no other offset in use.
bool OwnZone::is_only_place(std::int32_t own_s) const {
  return std::ranges::none_of(offsets_in_use(window_.start_unix_s), [&](std::int32_t offset_s) {
    return offset_s != own_s && first_s_ <= window_.start_unix_s + offset_s &&
           last_s_ >= window_.end_unix_s + offset_s;
  });
}

bool OwnZone::is_used(const TelemetryFacts& facts) {
  return facts.naive_stamps > 0 && !facts.series.naive_is_utc && facts.timezone_source == "default";
}

OwnZoneFinding OwnZone::finding(const std::string& path, const TelemetryFacts& facts,
                                const std::optional<double>& file_unix_s) const {
  if (!is_used(facts)) return {};
  const auto offset_s = zone_.offset_at(static_cast<std::int64_t>(window_.start_unix_s));
  const ZoneFinding found = evidence_.finding();
  OwnZoneVerdict verdict = judge_own_zone(found, offset_s, file_unix_s);
  if (!verdict.contradiction.empty()) return {.contradiction = std::move(verdict.contradiction)};
  if (!verdict.doubt.empty()) {
    return {.warning = fmt::format("{}: {}, unless it was copied: give --timezone",
                                   printable_path(path), verdict.doubt)};
  }
  // A window that is too short to look at its power is judged by its place alone.
  const bool is_place_known = !found.candidates.empty() || is_only_place(offset_s);
  if (verdict.is_confirmed && is_place_known) return {};
  return {
      .warning = fmt::format(
          "nothing states the time zone of {}: its times are read in the process's own, {}, and the recording covers the window in others too: give --timezone",
          printable_path(path), offset_text(offset_s))};
}

}  // namespace aggregate_power::runs
