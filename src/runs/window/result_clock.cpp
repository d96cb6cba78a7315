// Looks for the load in the recording under each offset in use.
#include "runs/window/result_clock.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/show_time.h"
#include "core/telemetry/samples.h"
#include "energy/zones/zone_sources.h"
#include "runs/evaluate/explain.h"

namespace aggregate_power::runs {
namespace {

constexpr double kFarthestApart_s = 26 * 3600;  // from one end of the earth's zones to the other
constexpr double kPhaseSlack_s = 3;
constexpr double kAlike = 0.05;  // of an energy

struct TriedShift {
  double shift_s = 0;
  std::optional<Placement> placement = {};  // absent: the recording does not cover it

  bool stands_out() const { return placement && placement->is_by_power; }
  std::string offset() const { return offset_text(static_cast<std::int32_t>(-shift_s)); }
};

bool is_alike(double a_j, double b_j) { return std::abs(a_j - b_j) <= kAlike * std::abs(b_j); }

std::optional<double> shift_in(const Zone& zone, double wall_s) {
  const double whole_s = std::floor(wall_s);
  const auto unix_s = zone.unix_from_local(whole_second(whole_s));
  return unix_s ? std::optional(static_cast<double>(*unix_s) - whole_s) : std::nullopt;
}

bool may_be_covered(PlacementRange range, Span span) {
  return range.earliest_start_s <= span.last_unix_s &&
         range.latest_start_s + range.duration_s >= span.first_unix_s;
}

// The shifts under which range and recording meet, with what the power shows there.
std::vector<TriedShift> tried(PlacementRange range, std::span<const double> shifts, Span extent,
                              const Recording& recording) {
  std::vector<TriedShift> tries;
  std::vector<Samples> samples;
  for (const double shift_s : shifts) {
    if (!may_be_covered(moved(range, shift_s), extent)) continue;
    tries.push_back({shift_s});
    samples.emplace_back(placement_surroundings(moved(range, shift_s)));
  }
  if (tries.empty()) return tries;
  read_whole(recording, {.take = [&](const Batch& batch) {
               for (Samples& each : samples) each.take(batch.readings);
             }});
  for (std::size_t i = 0; i < tries.size(); ++i) {
    samples[i].sort();
    tries[i].placement = find_placement(moved(range, tries[i].shift_s), samples[i]);
  }
  return tries;
}

std::vector<double> shifts_of_result(double wall_s, std::optional<double> own_s) {
  std::vector<double> shifts;
  for (const std::int32_t offset_s : offsets_in_use(wall_s)) shifts.push_back(-offset_s);
  if (own_s && std::ranges::find(shifts, *own_s) == shifts.end()) shifts.push_back(*own_s);
  return shifts;
}

std::string offsets_of(const std::vector<const TriedShift*>& tries) {
  return joined_text(tries, " or ", &TriedShift::offset);
}

// The energy that the generator states leaves one of the loads that stand out, or all.
void choose_by_energy(std::optional<double> generator_j, std::vector<const TriedShift*>& fits) {
  if (!generator_j || fits.size() < 2) return;
  auto near = items_where(fits, [&](const TriedShift* const fit) {
    return is_alike(fit->placement->energy_j, *generator_j);
  });
  if (near.size() == 1) fits = std::move(near);
}

// Whether the energy is about the same wherever the load was.
bool are_all_alike(const TriedShift& own, const std::vector<TriedShift>& tries) {
  return std::ranges::all_of(tries, [&](const TriedShift& each) {
    return !each.placement || is_alike(each.placement->energy_j, own.placement->energy_j);
  });
}

struct ShiftChoice {
  std::vector<TriedShift> tries;
  std::optional<double> own_s;  // in the recording's zone

  const TriedShift* own() const {
    if (!own_s) return nullptr;
    return find_item(tries, *own_s, &TriedShift::shift_s);
  }
  ResultShift of_fits(const std::vector<const TriedShift*>& fits) const;
  ResultShift without_fits() const;
};

ResultShift ShiftChoice::of_fits(const std::vector<const TriedShift*>& fits) const {
  if (fits.size() > 1) {
    return {
        .fault = fmt::format(
            "it is in local time, and by the power its time zone may be {}: give --result-timezone",
            offsets_of(fits))};
  }
  if (fits.front() == own()) return {fits.front()->shift_s, true, {}};
  const std::string offset = fits.front()->offset();
  if (!own_s && tries.size() == 1) return {fits.front()->shift_s, false, {}};
  return {
      .fault = fmt::format(
          "it is in local time, and by the power its time zone is {}{}: give --result-timezone {}",
          offset,
          own_s ? fmt::format(", and not the recording's, {}", TriedShift{*own_s}.offset())
                : std::string(),
          offset)};
}

ResultShift ShiftChoice::without_fits() const {
  const TriedShift* const mine = own();
  const auto covered = std::ranges::count_if(
      tries, [](const TriedShift& each) { return each.placement.has_value(); });
  if (own_s && (mine == nullptr || !mine->placement)) return {*own_s, true, {}};
  if (mine != nullptr && (covered == 1 || are_all_alike(*mine, tries))) return {*own_s, true, {}};
  if (!own_s && tries.size() == 1) return {tries.front().shift_s, false, {}};
  if (tries.empty()) return {.fault = "in no time zone does its time lie in the recording"};
  return {
      .fault =
          "it is in local time, and the recording covers it in more than one time zone: give --result-timezone"};
}

}  // namespace

PlacementRange moved(PlacementRange range, double shift_s) {
  for (double* const at : {&range.earliest_start_s, &range.latest_start_s, &range.likely_start_s}) {
    *at += shift_s;
  }
  return range;
}

Window moved(Window window, double shift_s) {
  return {window.start_unix_s + shift_s, window.end_unix_s + shift_s};
}

PlacementRange range_of_phase(Window phase, double load_s) {
  const bool is_known = load_s > 0 && load_s < phase.duration_s();
  PlacementRange range;
  range.duration_s = is_known ? load_s : phase.duration_s();
  range.earliest_start_s = phase.start_unix_s - kPhaseSlack_s;
  range.latest_start_s = phase.end_unix_s - range.duration_s + kPhaseSlack_s;
  range.likely_start_s = phase.start_unix_s;
  return range;
}

std::optional<double> ResultClock::stated_shift_s(double wall_s) const {
  if (stated) return shift_in(*stated, wall_s);
  const bool is_meant = recording.zone_source() == "option" && !head.first_wall_s();
  return is_meant ? shift_in(head.zone(), wall_s) : std::nullopt;
}

std::optional<double> ResultClock::likely_shift_s(double wall_s) const {
  if (stated) return shift_in(*stated, wall_s);
  const bool is_known = recording.zone_source() != "default" || head.first_wall_s();
  return is_known ? shift_in(head.zone(), wall_s) : std::nullopt;
}

ResultShift ResultClock::shift_by_power(PlacementRange wall) const {
  const double wall_s = wall.likely_start_s;
  if (const auto shift_s = stated_shift_s(wall_s)) return {shift_s, false, {}};
  const auto own_s = likely_shift_s(wall_s);
  const bool is_unknown = finds_zone && recording.lacks_zone() && head.first_wall_s();
  const SeriesFacts& facts = head.facts();
  if (is_unknown || !facts.has_times() || !facts.has_power()) return {own_s, true, {}};
  const auto extent = extent_of(recording);
  if (!extent) return {shift_in(head.zone(), wall_s), true, {}};  // any zone shows that
  ShiftChoice choice{tried(wall, shifts_of_result(wall_s, own_s), *extent, recording), own_s};
  std::vector<const TriedShift*> fits;
  for (const TriedShift& each : choice.tries) {
    if (each.stands_out()) fits.push_back(&each);
  }
  choose_by_energy(generator_j, fits);
  if (!fits.empty()) return choice.of_fits(fits);
  if (!choice.tries.empty() || !own_s) return choice.without_fits();
  // Two clocks that no zone of the result explains: the recording's is another one than it seems.
  std::vector<double> apart;
  for (double s = -kFarthestApart_s; s <= kFarthestApart_s; s += kZoneStep_s) {
    apart.push_back(*own_s + s);
  }
  const std::vector<TriedShift> tries = tried(wall, apart, *extent, recording);
  const auto fit = std::ranges::find_if(tries, &TriedShift::stands_out);
  if (fit == tries.end()) return choice.without_fits();
  return {
      .fault = fmt::format(
          "its clock and the recording's are {} apart: state both time zones, the result's with --result-timezone and the recording's with --timezone",
          difference_in_words(std::abs(fit->shift_s - *own_s)))};
}

std::optional<Placement> ResultClock::placement_in_any_zone(PlacementRange range) const {
  const std::int64_t at = whole_second(range.likely_start_s);
  const auto shifts = mapped<double>(
      offsets_in_use(range.likely_start_s),
      [&](const std::int32_t offset_s) { return offset_s - head.zone().offset_at(at); });
  const auto extent = extent_of(recording);
  if (!extent) return std::nullopt;
  std::vector<TriedShift> tries = tried(range, shifts, *extent, recording);
  std::erase_if(tries, [](const TriedShift& each) { return !each.stands_out(); });
  if (tries.size() != 1) return std::nullopt;
  Placement placement = *tries.front().placement;
  placement.window = moved(placement.window, -tries.front().shift_s);
  return placement;
}

// ---- Whether the zone of this process may be the recording's.

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
  const std::int32_t offset_s = zone_.offset_at(whole_second(first_s));
  const bool is_steady = offset_s == zone_.offset_at(whole_second(last_s));
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
  const auto offset_s = zone_.offset_at(whole_second(window_.start_unix_s));
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
