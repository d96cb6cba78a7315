// Converts zone cases to bytes and back.
#include "store/zone_case.h"

#include <nlohmann/json.hpp>

namespace aggregate_power {
namespace {

using Json = nlohmann::ordered_json;

// Names may contain any bytes; JSON strings may not.
Json bytes(const std::string& text) { return Json::binary({text.begin(), text.end()}); }
std::string text_of(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string zone_case_text(const ZoneCase& zone_case) {
  Json json = {bytes(zone_case.recorder),
               bytes(zone_case.aggregate),
               zone_case.start_unix_s,
               zone_case.has_load_elsewhere,
               bytes(zone_case.telemetry),
               nullptr,
               bytes(zone_case.waiting_telemetry),
               bytes(zone_case.waiting_benchmark),
               zone_case.are_own,
               nullptr,
               zone_case.is_hardware};
  if (zone_case.written_ns) json[5] = *zone_case.written_ns;
  if (const auto& vote = zone_case.vote) {
    json[9] = {vote->start_unix_s, vote->offset_s, vote->is_stated, vote->idle_w, vote->load_w};
  }
  const std::vector<std::uint8_t> packed = Json::to_cbor(json);
  return {packed.begin(), packed.end()};
}

ZoneCase zone_case_of(std::string_view text) {
  const Json json = Json::from_cbor(text.begin(), text.end());
  ZoneCase zone_case;
  zone_case.recorder = text_of(json[0]);
  zone_case.aggregate = text_of(json[1]);
  zone_case.start_unix_s = json[2];
  zone_case.has_load_elsewhere = json[3];
  zone_case.telemetry = text_of(json[4]);
  if (!json[5].is_null()) zone_case.written_ns = json[5].get<std::int64_t>();
  zone_case.waiting_telemetry = text_of(json[6]);
  zone_case.waiting_benchmark = text_of(json[7]);
  zone_case.are_own = json[8];
  if (const Json& vote = json[9]; !vote.is_null()) {
    zone_case.vote = ZoneVote{vote[0], vote[1], vote[2], vote[3], vote[4]};
  }
  zone_case.is_hardware = json[10];
  return zone_case;
}

}  // namespace aggregate_power
