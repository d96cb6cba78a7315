// Assumes a zone, reads the recording, and repeats that in the zone it shows.
#include "base/text/time_zone.h"
#include "runs/measure/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "energy/zones/zone_evidence.h"
#include "runs/window/result_clock.h"

namespace aggregate_power {
namespace {

// With most offsets the window is not in the recording at all; recorders are started shortly before
// the load.
std::int32_t likely_offset_s(double first_wall_s, Window window) {
  const double offset_s =
      std::ceil((first_wall_s - window.start_unix_s) / kZoneStep_s) * kZoneStep_s;
  return std::abs(offset_s) <= 14 * 3600 ? static_cast<std::int32_t>(offset_s) : 0;
}

// The recording as if its zone were known; usually that turns out to be its zone.
struct Supposed {
  Result result;
  std::int32_t offset_s = 0;
  ZoneFinding finding;
};

Supposed assess_supposed(MeasurementRequest request, const LoadReading& reading,
                         Recording& recording, const Assess& assess) {
  const Window window = reading.load->window;
  Supposed supposed;
  recording.suppose_zone([&](double first_wall_s) {
    supposed.offset_s = likely_offset_s(first_wall_s, window);
    return Zone::fixed(supposed.offset_s);
  });
  ZoneEvidence evidence(window);
  request.also = [&](std::span<const Reading> readings) {
    evidence.take(readings, supposed.offset_s);
  };
  request.explains = false;
  supposed.result = assess(request);
  // Later readers get the zone that was assumed; the lambda keeps no reference to local variables.
  recording.suppose_zone([offset_s = supposed.offset_s](double) { return Zone::fixed(offset_s); });
  supposed.finding = evidence.finding();
  supposed.finding.is_relative = reading.is_on_recorders_clock;
  return supposed;
}

std::string why_ambiguous(const std::string& why, const ZoneFinding& finding) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> offsets;
  for (const ZoneCandidate& left : finding.candidates) {
    if (left.covers) offsets.push_back(left.zone().name());
  }
  if (offsets.empty()) return why;
  const std::size_t count = offsets.size();
  offsets.resize(std::min(count, kMostShown));
  return fmt::format("{}; the recording covers the window in {}{}", why, fmt::join(offsets, ", "),
                     count > kMostShown ? ", ..." : "");
}

// A recording that covers the window in no zone, or cannot be read to its end, is not valid in any
// zone. All others wait for more witnesses.
ZonedResult refuse(Supposed supposed, const std::string& why, const MeasurementRequest& request,
                   Recording& recording, const Assess& assess) {
  Result result = std::move(supposed.result);
  const bool is_unreadable = result.reasons.contains(Reason::telemetry_file_unreadable);
  if (is_unreadable || (supposed.finding.none_covers && request.schema_version == 2)) {
    recording.use_zone(Zone::parse("UTC"), "default");
    result = assess(request);
    if (!result.reasons.empty()) return {.result = std::move(result)};
  }
  result.reasons = Reasons();
  result.reasons.add(Reason::timezone_ambiguous, why_ambiguous(why, supposed.finding));
  return {std::move(result), std::move(supposed.finding), std::nullopt, false};
}

ZonedResult assess_by_evidence(const MeasurementRequest& request, const LoadReading& reading,
                               Recording& recording, const Assess& assess,
                               const OtherWitnesses* witnesses) {
  Supposed supposed = assess_supposed(request, reading, recording, assess);
  std::optional<TelemetryFacts>& facts = supposed.result.telemetry;
  if (!facts || facts->series.naive_is_utc || facts->timezone_source == "stamps") {
    return {.result = std::move(supposed.result)};
  }
  if (facts->naive_stamps == 0) {  // nothing to read in any zone
    facts->timezone.clear();
    facts->timezone_source.clear();
    facts->utc_offset.clear();
    return {.result = std::move(supposed.result)};
  }
  if (facts->naive_stamps != facts->stamps) {
    supposed.finding = {.why_no_edges = "some timestamps carry an offset and others do not"};
  }
  const ZoneFinding& finding = supposed.finding;
  const ZoneDecision decision =
      witnesses != nullptr
          ? decide_zone(finding, reading.load->window, *witnesses, request.one_witness)
          : ZoneDecision{.winner = {}, .report = {}, .why_none = finding.why_no_edges};
  if (!decision.winner) {
    return refuse(std::move(supposed), decision.why_none, request, recording, assess);
  }
  const ZoneCandidate& winner = *decision.winner;
  if (winner.step || winner.offset_s != supposed.offset_s) {
    recording.use_zone(winner.zone(), "evidence");
    supposed.result = assess(request);
  } else {
    facts->timezone_source = "evidence";
  }
  return {std::move(supposed.result), std::move(supposed.finding), decision.report};
}

// How the zone is stated, if no evidence is needed.
std::optional<ZoneReport> stated_zone(const Result& result) {
  if (!result.telemetry) return std::nullopt;
  constexpr std::pair<std::string_view, ZoneWitness> kSources[] = {{"stamps", ZoneWitness::stamps},
                                                                   {"file", ZoneWitness::zone_file},
                                                                   {"option", ZoneWitness::option}};
  for (const auto& [source, witness] : kSources) {
    if (result.telemetry->timezone_source == source) {
      return ZoneReport{ZoneLevel::stated, {witness}, {}};
    }
  }
  return std::nullopt;
}

}  // namespace

ZonedResult assess_zoned(const MeasurementRequest& request, const LoadReading& reading,
                         Recording& recording, const Assess& assess,
                         const OtherWitnesses* witnesses) {
  ZonedResult zoned;
  if (recording.lacks_zone() && reading.load) {
    zoned = assess_by_evidence(request, reading, recording, assess, witnesses);
  } else {
    zoned.result = assess(request);
  }
  if (auto stated = stated_zone(zoned.result)) zoned.zone_report = std::move(stated);
  return zoned;
}

ZonedResult assess_in_own_zone(const MeasurementRequest& request, Window window,
                               const Recording& recording, const Assess& assess,
                               const OtherWitnesses& witnesses) {
  if (!recording.lacks_zone()) return {.result = assess(request)};
  runs::OwnZone own(window);
  MeasurementRequest looked = request;
  looked.also = [&](std::span<const Reading> readings) {
    if (request.also) request.also(readings);
    own.take(readings);
  };
  ZonedResult zoned{.result = assess(looked)};
  if (!zoned.result.telemetry) return zoned;
  runs::OwnZoneFinding finding =
      own.finding(recording.path(), *zoned.result.telemetry, witnesses.file_unix_s);
  if (!finding.contradiction.empty()) {
    zoned.result.reasons = Reasons();
    zoned.result.reasons.add(Reason::timezone_ambiguous, std::move(finding.contradiction));
    zoned.has_zone = false;
  } else if (zoned.result.is_valid() && !finding.warning.empty()) {
    zoned.result.warnings.push_back(std::move(finding.warning));
  }
  return zoned;
}

std::optional<std::int64_t> own_time_ns(std::optional<std::int64_t> recording_ns,
                                        std::optional<std::int64_t> result_ns) {
  constexpr std::int64_t kTogether_ns = 1'000'000'000;
  if (!recording_ns || !result_ns) return recording_ns;
  const bool is_together = std::abs(*recording_ns - *result_ns) < kTogether_ns;
  return is_together ? std::nullopt : recording_ns;
}

}  // namespace aggregate_power
