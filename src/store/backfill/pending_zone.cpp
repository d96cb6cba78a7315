// Collects zone cases by recorder, and decides those that wait.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files/hash.h"
#include "base/report/json_parts.h"
#include "base/system/interruption.h"
#include "core/record/aggregate.h"
#include "store/backfill/backfill.h"
#include "store/backfill/recompute.h"
#include "store/catalogue/layouts.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostNames = 3;

// Keeps the first ones by name, in whatever order they come.
void add_name(std::map<std::string, ZoneVote>& first, const std::string& name,
              const ZoneVote& vote) {
  first.emplace(name, vote);
  if (first.size() > kMostNames) first.erase(std::prev(first.end()));
}

// Names may contain any bytes; JSON strings may not.
Json bytes(const std::string& text) { return Json::binary({text.begin(), text.end()}); }
std::string text_of(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

// Converts to bytes that can be kept outside memory, and back.
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

// Names contain no NUL.
std::string waiting_text(const StoredRun& run, const ZoneCase& zone_case) {
  return fmt::format("{}{}{}{}{}{}", static_cast<char>(run.layout), run.name, '\0', run.artifact,
                     '\0', zone_case_text(zone_case));
}

std::string taken_field(std::string_view& text) {
  const std::size_t end = text.find('\0');
  std::string field(text.substr(0, end));
  text.remove_prefix(end + 1);
  return field;
}

}  // namespace

void ZoneCases::add_written(std::int64_t written_ns, const std::string& telemetry) {
  const std::lock_guard guard(mutex_);
  written_.emplace_back(written_ns, text_hash(telemetry));
}

void ZoneCases::add(const ZoneCase& zone_case, const StoredRun& run,
                    const std::string& aggregate_text) {
  const std::lock_guard guard(mutex_);
  if (zone_case.waits()) {
    waiting_.add(scattered_key(aggregate_text), waiting_text(run, zone_case));
  }
  if (zone_case.recorder.empty() || !(zone_case.vote || zone_case.has_load_elsewhere)) return;
  Recorder& recorder = recorders_[zone_case.recorder];
  if (zone_case.vote) {
    const ZoneVote& vote = *zone_case.vote;
    recorder.consensus.add(vote);
    recorder.first_start_unix_s = std::min(recorder.first_start_unix_s, vote.start_unix_s);
    recorder.last_start_unix_s = std::max(recorder.last_start_unix_s, vote.start_unix_s);
    add_name(recorder.votes[vote.offset_s], zone_case.aggregate, vote);
  }
  if (zone_case.has_load_elsewhere) {
    recorder.consensus.add_load_elsewhere();
    add_name(recorder.elsewhere, zone_case.aggregate, {});
  }
}

// An offset if the recorder's clock did not change from its first run to its last.
std::string ZoneCases::timezone_of(const Recorder& recorder) {
  const ClockHistory* const clock = recorder.consensus.favourite();
  if (clock == nullptr) return {};
  const std::int32_t offset_s = clock->offset_at(recorder.first_start_unix_s);
  const bool is_steady =
      clock->changes_between(recorder.first_start_unix_s, recorder.last_start_unix_s).empty();
  return is_steady ? offset_text(offset_s) : std::string(clock->zone);
}

std::string ZoneCases::contradictions_of(const std::string& label, const Recorder& recorder) {
  const std::size_t count = recorder.consensus.contradictions();
  if (count == 0 || recorder.consensus.votes() < 2) return {};
  std::map<std::string, std::string> names;
  for (const auto& [offset_s, votes] : recorder.votes) {
    for (const auto& [name, vote] : votes) {
      if (recorder.consensus.contradicts(vote)) names[name] = offset_text(offset_s);
    }
  }
  for (const auto& [name, vote] : recorder.elsewhere) names[name] = "its load is elsewhere";
  std::vector<std::string> display;
  for (const auto& [name, why] : names) {
    if (display.size() < kMostNames) display.push_back(fmt::format("{} ({})", name, why));
  }
  return fmt::format("{} of the runs of '{}' contradict the others: {}{}", count, label,
                     fmt::join(display, ", "), count > display.size() ? ", ..." : "");
}

// Whether another recording was written at the same moment.
bool ZoneCases::is_copied(const ZoneCase& zone_case) const {
  constexpr std::int64_t kTogether_ns = 1'000'000'000;
  const std::int64_t own_ns = *zone_case.written_ns;
  const std::uint64_t own = text_hash(zone_case.telemetry);
  const auto first =
      std::ranges::lower_bound(written_, std::pair(own_ns - kTogether_ns, std::uint64_t{0}));
  for (auto at = first; at != written_.end() && at->first <= own_ns + kTogether_ns; ++at) {
    if (at->second != own) return true;
  }
  return false;
}

const ZoneStanding& ZoneCases::standing_of(const std::string& label, Recorder& recorder) {
  if (!recorder.standing) {
    recorder.standing = ZoneStanding{.recorder_timezone = timezone_of(recorder),
                                     .contradicts = false,
                                     .contradictions = contradictions_of(label, recorder)};
  }
  return *recorder.standing;
}

DecidableRun ZoneCases::decidable(const std::string& aggregate_text, std::string_view text,
                                  const Seen& seen) {
  DecidableRun run;
  run.run.layout = static_cast<Layout>(text[0]);
  text.remove_prefix(1);
  run.run.name = taken_field(text);
  run.run.artifact = taken_field(text);
  run.aggregate_text = aggregate_text;
  run.zone_case = zone_case_of(text);
  const ZoneCase& zone_case = run.zone_case;
  if (seen.files && zone_case.written_ns && !is_copied(zone_case)) {
    run.witnesses.file_unix_s = static_cast<double>(*zone_case.written_ns) / 1e9;
  }
  const auto found = recorders_.find(zone_case.recorder);
  if (found == recorders_.end()) return run;
  const ZoneConsensus& consensus = found->second.consensus;
  run.standing = standing_of(found->first, found->second);
  run.standing.contradicts =
      (zone_case.vote && consensus.contradicts(*zone_case.vote)) || zone_case.has_load_elsewhere;
  const bool has_label = !recorder_label(run.run.artifact).empty();
  if (has_label ? !seen.labelled_runs : !seen.other_runs) return run;
  run.witnesses.consensus = consensus.for_run(zone_case.start_unix_s, zone_case.vote);
  run.witnesses.consensus.may_settle = !zone_case.is_hardware;
  return run;
}

void ZoneCases::for_each_that_waits(const Seen& seen,
                                    const std::function<void(DecidableRun)>& take) {
  std::ranges::sort(written_);
  waiting_.for_each_key([&](const std::string& key, const std::vector<std::string>& texts) {
    throw_if_interrupted();
    for (const std::string& text : texts) take(decidable(name_of_key(key), text, seen));
  });
}

// ---- Turns a pairing, or an earlier record, into a zone case.

namespace {

std::optional<ZoneVote> vote_of(const Pairing& pairing, Window window) {
  const auto& finding = pairing.zone_finding;
  if (finding && finding->by_edges && !finding->is_relative) {
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
