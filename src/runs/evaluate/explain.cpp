// Explains failures of a recording by what was seen while it was read.
#include "runs/evaluate/explain.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/show_time.h"
#include "energy/zones/zone_evidence.h"

namespace aggregate_power {
namespace {

// "the recording goes from A to B, the window from C to D, 9 h later".
std::string apart_text(Span span, Window window) {
  const std::string text =
      fmt::format("the recording goes from {} to {}, the window from {} to {}",
                  unix_and_iso(span.first_unix_s), unix_and_iso(span.last_unix_s),
                  unix_and_iso(window.start_unix_s), unix_and_iso(window.end_unix_s));
  const std::string unit = wrong_unit_text(window.start_unix_s);
  if (!unit.empty()) return fmt::format("{}: the window's times are {}", text, unit);
  const double later_s = window.start_unix_s - span.last_unix_s;
  return later_s > 0 ? fmt::format("{}, {} later", text, difference_in_words(later_s))
                     : fmt::format("{}, {} earlier", text,
                                   difference_in_words(span.first_unix_s - window.end_unix_s));
}

// Leaves those in which the power may be the load's.
void try_offsets(const Recording& recording, const Zone& zone, Window window,
                 std::vector<std::int32_t>& offsets) {
  ZoneEvidence evidence(window);
  const std::int32_t own_s = zone.offset_at(static_cast<std::int64_t>(window.start_unix_s));
  read_whole(recording,
             {.take = [&](const Batch& batch) { evidence.take(batch.readings, own_s); }});
  const ZoneFinding finding = evidence.finding();
  std::erase_if(offsets, [&](std::int32_t offset_s) {
    const auto tried = std::ranges::find(finding.candidates, offset_s, &ZoneCandidate::offset_s);
    return tried != finding.candidates.end() &&
           tried->standing == ZoneCandidate::Standing::excluded;
  });
}

std::optional<std::string> tried_hint(const Recording& recording, const Telemetry& telemetry,
                                      Span span, Window window) {
  if (telemetry.naive_stamps() == 0) return std::nullopt;
  std::vector<std::int32_t> offsets = covering_offsets(telemetry.zone(), span, window);
  if (!offsets.empty()) try_offsets(recording, telemetry.zone(), window, offsets);
  return zone_hint(offsets);
}

NoSamples why_none(const Recording& recording, const RowExtent& extent, const Telemetry& telemetry,
                   Window window) {
  const Span span = extent.span();
  if (span.last_unix_s < span.first_unix_s) return {};
  if (span.last_unix_s < kFirstAbsoluteUnixS) {
    return {"its times are seconds from some start, not absolute", {}};
  }
  if (span.last_unix_s < window.start_unix_s || span.first_unix_s > window.end_unix_s) {
    return {apart_text(span, window), tried_hint(recording, telemetry, span, window)};
  }
  if (!extent.has_power()) return {"no row has a usable power reading", {}};
  return {"the file has rows, but none contains a power reading", {}};
}

}  // namespace

std::string bad_stamps_text(const Telemetry& telemetry) {
  if (telemetry.skipped().bad_timestamp == 0) return {};
  return fmt::format("{} of {} rows, the first {}", telemetry.skipped().bad_timestamp,
                     telemetry.rows(), telemetry.first_bad_stamp());
}

void RowExtent::take(std::span<const Reading> readings) {
  Span span = span_;  // in registers
  bool has_power = has_power_;
  for (const Reading& reading : readings) {
    if (reading.kind == Reading::Kind::bad_timestamp) continue;
    if (reading.kind == Reading::Kind::power) {
      has_power = true;
      if (reading.device >= readings_.size()) readings_.resize(reading.device + 1);
      ++readings_[reading.device];
    }
    span.first_unix_s = std::min(span.first_unix_s, reading.unix_s);
    span.last_unix_s = std::max(span.last_unix_s, reading.unix_s);
  }
  span_ = span;
  has_power_ = has_power;
}

std::optional<Span> extent_of(const Recording& recording) {
  RowExtent extent;
  read_whole(recording, {.take = [&](const Batch& batch) { extent.take(batch.readings); }});
  const Span span = extent.span();
  return span.last_unix_s < span.first_unix_s ? std::nullopt : std::optional(span);
}

NoSamples explain_no_samples(const Recording& recording, const RowExtent& extent,
                             const Telemetry& telemetry, Window window) {
  if (telemetry.rows() == 0) return {"the file has no rows after the header", {}};
  if (telemetry.facts().time_of_day) return {"its times have no date", {}};
  if (telemetry.stamps() == 0) {
    return {telemetry.first_bad_stamp().empty()
                ? "no row of the power has a time"
                : "no row has a readable time: " + telemetry.first_bad_stamp(),
            {}};
  }
  return why_none(recording, extent, telemetry, window);
}

}  // namespace aggregate_power
