// Writes and reads the zone evidence of an audit record.
#include "results/zone_evidence_json.h"

#include <algorithm>

#include "base/files/path.h"
#include "base/text/zone.h"
#include "results/json_parts.h"

namespace aggregate_power {

nlohmann::ordered_json zone_evidence_json(const ZoneEvidenceRecord& evidence) {
  Json witnesses = Json::array();
  for (const ZoneWitness witness : evidence.report.witnesses) {
    witnesses.push_back(name_of(witness));
  }
  Json json = {{"level", name_of(evidence.report.level)},
               {"witnesses", std::move(witnesses)},
               {"rivals", evidence.report.rivals},
               {"recorder", text_or_null(printable_path(evidence.recorder))}};
  if (evidence.vote && !evidence.vote->is_stated) {
    json["idle_power_w"] = number_or_null(evidence.vote->idle_w);
    json["load_power_w"] = number_or_null(evidence.vote->load_w);
  }
  return json;
}

std::optional<ZoneEvidenceRecord> zone_evidence_in(const Json& window, const Json& from,
                                                   bool is_valid) {
  if (!from.contains("timezone_evidence")) return std::nullopt;
  const Json& json = from.at("timezone_evidence");
  ZoneEvidenceRecord evidence;
  evidence.report.level = level_of(json.at("level").get<std::string>());
  for (const auto& witness : json.at("witnesses")) {
    evidence.report.witnesses.push_back(witness_of(witness.get<std::string>()));
  }
  evidence.report.rivals = json.at("rivals").get<std::vector<std::string>>();
  if (json.at("recorder").is_string()) evidence.recorder = json.at("recorder");
  const auto& witnesses = evidence.report.witnesses;
  const bool is_stated =
      is_valid && std::ranges::find(witnesses, ZoneWitness::zone_file) != witnesses.end();
  if (!is_stated && !json.contains("load_power_w")) return evidence;
  ZoneVote vote;
  vote.start_unix_s = window.at("start_time_unix");
  vote.offset_s = Zone::parse(from.at("utc_offset").get<std::string>()).offset_at(0);
  vote.is_stated = is_stated;
  if (!is_stated) {
    vote.idle_w = json.at("idle_power_w");
    vote.load_w = json.at("load_power_w");
  }
  evidence.vote = vote;
  return evidence;
}

}  // namespace aggregate_power
