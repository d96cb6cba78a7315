// Turns a pairing, or an earlier record, into a zone case.
#include "store/backfill/run_zone.h"

#include <string>
#include <vector>

#include "core/record/aggregate.h"
#include "store/catalogue/artifact_names.h"

namespace aggregate_power {
namespace {

std::optional<ZoneVote> vote_of(const Pairing& pairing, Window window) {
  if (const auto& finding = pairing.zone_finding; finding && finding->by_edges) {
    return ZoneVote{window.start_unix_s, finding->by_edges->offset_s, false,
                    finding->by_edges->idle_w, finding->by_edges->load_w};
  }
  // A zone in which the recording does not contain the window is no evidence.
  const bool is_stated = pairing.zone_report && pairing.result.is_valid() &&
                         pairing.zone_report->witnesses == std::vector{ZoneWitness::zone_file};
  if (!is_stated) return std::nullopt;
  const std::string& offset = pairing.result.telemetry->utc_offset;
  return ZoneVote{window.start_unix_s, Zone::parse(offset).offset_at(0), true};
}

// The artifact's label comes first, because shards use it.
void name_recorder(const StoredRun& run, std::string_view aggregate, const std::string& host,
                   ZoneCase& zone_case) {
  for (const std::string& name : {run.artifact, run.name}) {
    zone_case.recorder = recorder_label(name);
    if (!zone_case.recorder.empty()) return;
  }
  zone_case.recorder = host.empty() ? hardware_of(aggregate) : host;
  zone_case.is_hardware = host.empty();
}

}  // namespace

std::optional<ZoneCase> zone_case_of(const StoredRun& run, std::string_view aggregate,
                                     const Pairing& pairing) {
  const auto& load = pairing.result.load;
  if (!load) return std::nullopt;
  ZoneCase zone_case;
  name_recorder(run, aggregate, pairing.host, zone_case);
  zone_case.aggregate = run.aggregate.display;
  zone_case.start_unix_s = load->window.start_unix_s;
  zone_case.telemetry = pairing.telemetry.display;
  zone_case.written_ns = pairing.written_ns;
  zone_case.vote = vote_of(pairing, load->window);
  if (pairing.zone_finding) {
    zone_case.has_load_elsewhere = pairing.zone_finding->has_load_elsewhere;
  }
  return zone_case;
}

ZoneCase past_zone_case(const StoredRun& run, const ZoneEvidenceRecord& evidence) {
  ZoneCase zone_case;
  zone_case.recorder = evidence.recorder;
  zone_case.aggregate = run.aggregate.display;
  if (evidence.vote) zone_case.start_unix_s = evidence.vote->start_unix_s;
  zone_case.vote = evidence.vote;
  return zone_case;
}

}  // namespace aggregate_power
