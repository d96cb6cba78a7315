// Weighs a recording's edges, the recorder's other runs and the file's time.
#include "energy/zones/zone_sources.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/lists.h"

namespace aggregate_power {
namespace {

// The recorder writes its last reading, and the file is not written again.
constexpr double kLatestWrite_s = 60;
constexpr double kSurelyThen_s = 10;     // one copy in ninety is written so soon after some zone's
constexpr double kEarliestWrite_s = -1;  // clocks of file systems tick coarsely

bool is_same(const ZoneCandidate& a, const ZoneCandidate& b) {
  return a.offset_s == b.offset_s && a.step == b.step;
}

bool is_written_then(const ZoneCandidate& candidate, double file_unix_s,
                     double latest_s = kLatestWrite_s) {
  const double late_s = file_unix_s - candidate.last_unix_s;
  return late_s >= kEarliestWrite_s && late_s <= latest_s;
}

// What a witness is, for people.
std::string_view sign(ZoneWitness witness) {
  switch (witness) {
    case ZoneWitness::edges:
      return "by the rise and fall of the power";
    case ZoneWitness::consensus:
      return "by the recorder's other runs";
    case ZoneWitness::file_time:
      return "by the time when the recording was last written";
    case ZoneWitness::process_zone:
      return "by the process's own zone, in which the result's local times were read";
    default:
      return name_of(witness);
  }
}

// What the other runs' clocks say: the candidate that agrees with all of them.
struct Consensus {
  const ZoneCandidate* candidate = nullptr;
  std::string offset;  // the common offset; empty: there is no consensus
};

Consensus consensus_of(const ZoneFinding& finding, Window window, const ZoneAgreement& agreement) {
  Consensus consensus;
  if (agreement.clocks.empty()) return consensus;
  const auto offsets_of = [&](const ClockHistory* clock) {
    return std::pair(clock->offset_at(window.start_unix_s), clock->offset_at(window.end_unix_s));
  };
  const auto offsets = offsets_of(agreement.clocks.front());
  const auto agrees = [&](const ClockHistory* clock) { return offsets_of(clock) == offsets; };
  if (!std::ranges::all_of(agreement.clocks, agrees)) return consensus;
  consensus.offset = offset_text(offsets.first);
  for (const ZoneCandidate& candidate : finding.candidates) {
    const auto is_of = [&](const ClockHistory* clock) { return candidate.is_of(*clock, window); };
    if (candidate.covers && std::ranges::all_of(agreement.clocks, is_of)) {
      consensus.candidate = &candidate;
      return consensus;
    }
  }
  return consensus;
}

// An offset in use, other than the candidate's, that the file's own time supports; empty: none.
std::string other_offset_of_file(const ZoneFinding& finding, const ZoneCandidate& candidate,
                                 double file_unix_s) {
  if (is_written_then(candidate, file_unix_s)) return {};
  for (const ClockHistory& clock : clock_histories()) {
    const std::int32_t offset_s = clock.offset_at(file_unix_s);
    ZoneCandidate other;
    other.last_unix_s = finding.last_shown_s - offset_s;
    if (is_written_then(other, file_unix_s)) return offset_text(offset_s);
  }
  return {};
}

const ZoneCandidate* candidate_of_file(const ZoneFinding& finding,
                                       const std::optional<double>& file_unix_s) {
  if (!file_unix_s) return nullptr;
  const auto found = std::ranges::find_if(finding.candidates, [&](const ZoneCandidate& each) {
    return each.covers && is_written_then(each, *file_unix_s);
  });
  return found == finding.candidates.end() ? nullptr : &*found;
}

// Why the witnesses contradict the candidate; empty: none does.
std::string contradiction_of(const ZoneCandidate& best, const ZoneFinding& finding,
                             const Consensus& consensus, const OtherWitnesses& others) {
  const std::string offset = offset_text(best.offset_s);
  const bool is_by_consensus =
      consensus.candidate != nullptr && is_same(*consensus.candidate, best);
  const ZoneWitness edges = finding.is_relative ? ZoneWitness::process_zone : ZoneWitness::edges;
  const std::string_view who = sign(finding.by_edges  ? edges
                                    : is_by_consensus ? ZoneWitness::consensus
                                                      : ZoneWitness::file_time);
  const auto contradiction = [&](ZoneWitness other, const std::string& other_offset) {
    return fmt::format("{}, the time zone is {}; {}, it is {}", who, offset, sign(other),
                       other_offset);
  };
  if (!consensus.offset.empty() && !is_by_consensus) {
    return contradiction(ZoneWitness::consensus, consensus.offset);
  }
  if (!others.file_unix_s) return {};
  const std::string other = other_offset_of_file(finding, best, *others.file_unix_s);
  if (other.empty()) return {};
  return contradiction(ZoneWitness::file_time, other);
}

// The witnesses for `best`. Edges that fit several offsets count if the consensus has chosen one of
// them.
std::vector<ZoneWitness> witnesses_for(const ZoneCandidate& best, const ZoneFinding& finding,
                                       const Consensus& consensus, const ZoneCandidate* file) {
  std::vector<ZoneWitness> witnesses;
  const bool has_consensus = consensus.candidate != nullptr;
  if (finding.by_edges || (has_consensus && best.standing == ZoneCandidate::Standing::fits)) {
    witnesses.push_back(ZoneWitness::edges);
  }
  if (has_consensus) witnesses.push_back(ZoneWitness::consensus);
  if (file != nullptr && is_same(*file, best)) witnesses.push_back(ZoneWitness::file_time);
  if (finding.is_relative && witnesses == std::vector{ZoneWitness::edges}) {
    return {ZoneWitness::process_zone};
  }
  return witnesses;
}

std::vector<std::string> rivals_of(const ZoneCandidate& best, const ZoneFinding& finding,
                                   const Consensus& consensus) {
  std::vector<std::string> rivals;
  for (const ZoneCandidate& each : finding.candidates) {
    const bool is_open = each.standing != ZoneCandidate::Standing::excluded && !is_same(each, best);
    if (is_open && consensus.candidate == nullptr) rivals.push_back(each.zone().name());
  }
  if (finding.is_relative && consensus.candidate == nullptr) rivals.emplace_back(kAnyZone);
  rivals.emplace_back(kNotInRecording);
  return rivals;
}

std::string one_witness_text(const ZoneCandidate& best, const ZoneReport& report) {
  if (report.witnesses.front() == ZoneWitness::process_zone) {
    return fmt::format(
        "{}, the recording's time zone is {}, but nothing states that zone: give --result-timezone, or --timezone",
        sign(ZoneWitness::process_zone), best.zone().name());
  }
  std::vector<std::string> offsets = report.rivals;
  std::erase(offsets, kNotInRecording);
  return fmt::format(
      "{}, the time zone is {}, but nothing else confirms it: {}this recording may belong to another run",
      sign(report.witnesses.front()), best.zone().name(),
      offsets.empty() ? "" : fmt::format("{} is possible too, and ", fmt::join(offsets, ", ")));
}

ZoneDecision none(std::string why) {
  return {.winner = {}, .report = {}, .why_none = std::move(why)};
}

}  // namespace

ZoneDecision decide_zone(const ZoneFinding& finding, Window window, const OtherWitnesses& others,
                         bool one_is_enough) {
  const Consensus consensus = consensus_of(finding, window, others.consensus);
  const ZoneCandidate* const file = candidate_of_file(finding, others.file_unix_s);
  const bool is_settling = consensus.candidate && others.consensus.may_settle;
  const ZoneCandidate* const best = finding.by_edges ? &*finding.by_edges
                                    : is_settling    ? consensus.candidate
                                                     : file;
  if (best == nullptr) {
    if (consensus.offset.empty() || consensus.candidate) return none(finding.why_no_edges);
    return none(fmt::format(
        "by the recorder's other runs, the time zone is {}, in which the recording does not cover the window",
        consensus.offset));
  }
  if (std::string why = contradiction_of(*best, finding, consensus, others); !why.empty()) {
    return none(std::move(why));
  }
  if (!best->doubt.empty()) return none(best->doubt);
  if (finding.has_load_elsewhere) {
    return none(
        "the recording shows a load as long as the window, but at a time that no time zone makes the window's: it may belong to another run");
  }
  if (best->standing == ZoneCandidate::Standing::excluded) {
    return none(fmt::format("in {} the GPUs are idle during the window", best->zone().name()));
  }
  ZoneDecision decision;
  decision.report.witnesses = witnesses_for(*best, finding, consensus, file);
  const bool is_settled = consensus.candidate != nullptr && finding.is_flat &&
                          best->load_w >= others.consensus.least_load_w;
  if (decision.report.witnesses.size() >= 2) {
    decision.report.level = ZoneLevel::two_witnesses;
  } else {
    decision.report.level = is_settled ? ZoneLevel::two_witnesses : ZoneLevel::one_witness;
    decision.report.rivals = rivals_of(*best, finding, consensus);
    if (!is_settled && !one_is_enough) return none(one_witness_text(*best, decision.report));
  }
  decision.winner = *best;
  return decision;
}

namespace {

std::string names_of(std::span<const ZoneCandidate* const> candidates) {
  return joined_text(candidates, " or ",
                     [](const ZoneCandidate* each) { return each->zone().name(); });
}

// Whether another load with other power fits the window's ends as closely as the own zone's load.
bool is_rival(const ZoneCandidate& other, const ZoneCandidate& own, double within_s) {
  constexpr double kAlike = 0.05;  // of a power
  return other.edges_off_s <= own.edges_off_s + within_s &&
         std::abs(other.load_w - own.load_w) > kAlike * own.load_w;
}

}  // namespace

OwnZoneVerdict judge_own_zone(const ZoneFinding& finding, std::int32_t offset_s,
                              const std::optional<double>& file_unix_s) {
  using Standing = ZoneCandidate::Standing;
  const ZoneCandidate* own = nullptr;
  std::vector<const ZoneCandidate*> fitting;
  std::size_t covering = 0;
  for (const ZoneCandidate& each : finding.candidates) {
    covering += each.covers ? 1 : 0;
    const bool is_own = each.covers && each.offset_s == offset_s;
    if (is_own && (own == nullptr || each.standing > own->standing)) own = &each;
    const bool fits_too = each.covers && each.standing == Standing::fits;
    if (fits_too && each.offset_s != offset_s) fitting.push_back(&each);
  }
  if (own == nullptr) return {.is_confirmed = finding.candidates.empty()};
  if (own->standing == Standing::fits) {
    std::erase_if(fitting, [&](const ZoneCandidate* other) {
      return !is_rival(*other, *own, finding.edges_within_s);
    });
    if (fitting.empty() || (file_unix_s && is_written_then(*own, *file_unix_s)))
      return {true, {}, {}};
    return {false, fmt::format(
                       "nothing states the time zone; power rises and falls with the window in {}, "
                       "the process's own zone, and with other power in {}",
                       own->zone().name(), names_of(fitting))};
  }
  if (own->standing == Standing::excluded && !fitting.empty()) {
    return {false,
            fmt::format("in {}, the process's own zone, the GPUs are idle at an end of the window; "
                        "by the rise and fall of the power, the time zone is {}",
                        own->zone().name(), names_of(fitting))};
  }
  if (file_unix_s && is_written_then(*own, *file_unix_s)) return {.is_confirmed = true};
  if (const ZoneCandidate* const other = candidate_of_file(finding, file_unix_s)) {
    std::string text =
        fmt::format("{}, the time zone is {}, and not {}, the process's own",
                    sign(ZoneWitness::file_time), offset_text(other->offset_s), own->zone().name());
    const bool is_sure = is_written_then(*other, *file_unix_s, kSurelyThen_s);
    return is_sure ? OwnZoneVerdict{.contradiction = std::move(text)}
                   : OwnZoneVerdict{.doubt = std::move(text)};
  }
  return {.is_confirmed = covering == 1 && own->standing != Standing::excluded};
}

// ---- Counts the votes of a recorder's runs for each clock of the world.

namespace {

constexpr std::size_t kLeastVotes = 2;
constexpr std::size_t kMostElsewhere = 4;  // votes for each run whose load is elsewhere

constexpr int kMinute_s = 60;
constexpr int kFiveMinutes_s = 300;
// A timer starts jobs at most this late; jobs started every minute are recognized by less.
constexpr int kLateOfMinute_s = 3;
constexpr int kLateOfFiveMinutes_s = 20;

bool is_for(const ZoneVote& vote, const ClockHistory& clock) {
  return clock.offset_at(vote.start_unix_s) == vote.offset_s;
}

int phase_of(double unix_s) {
  const double phase_s = std::fmod(std::floor(unix_s), kFiveMinutes_s);
  return static_cast<int>(phase_s < 0 ? phase_s + kFiveMinutes_s : phase_s);
}

int distance(int a_s, int b_s, int period_s) {
  const int apart_s = std::abs(a_s - b_s) % period_s;
  return std::min(apart_s, period_s - apart_s);
}

bool share_a_timer(int a_s, int b_s) {
  return distance(a_s, b_s, kFiveMinutes_s) <= kLateOfFiveMinutes_s ||
         distance(a_s, b_s, kMinute_s) <= kLateOfMinute_s;
}

}  // namespace

ZoneConsensus::ZoneConsensus()
    : votes_for_(clock_histories().size()),
      lowest_load_w_(std::numeric_limits<double>::infinity()) {}

void ZoneConsensus::add(const ZoneVote& vote) {
  ++votes_;
  for (std::size_t i = 0; i < votes_for_.size(); ++i) {
    if (is_for(vote, clock_histories()[i])) ++votes_for_[i];
  }
  if (vote.is_stated) {
    if (stated_starts_unix_s_.size() <= kLeastVotes)
      stated_starts_unix_s_.insert(vote.start_unix_s);
    return;
  }
  phases_s_.insert(phase_of(vote.start_unix_s));
  highest_idle_w_ = std::max(highest_idle_w_, vote.idle_w);
  lowest_load_w_ = std::min(lowest_load_w_, vote.load_w);
}

// Whether two of the votes come from runs that are evidence for this one: stated ones always are.
bool ZoneConsensus::has_independent(double start_unix_s) const {
  const int own_s = phase_of(start_unix_s);
  std::set<double> stated = stated_starts_unix_s_;
  stated.erase(start_unix_s);
  if (stated.size() >= kLeastVotes) return true;
  for (const int a_s : phases_s_) {
    if (share_a_timer(a_s, own_s)) continue;
    if (!stated.empty() && phase_of(*stated.begin()) != a_s) return true;
    const auto is_third = [&](int b_s) {
      return !share_a_timer(b_s, own_s) && !share_a_timer(a_s, b_s);
    };
    if (std::ranges::any_of(phases_s_, is_third)) return true;
  }
  return false;
}

ZoneAgreement ZoneConsensus::for_run(double start_unix_s,
                                     const std::optional<ZoneVote>& own) const {
  ZoneAgreement agreement;
  const std::size_t others = votes_ - (own ? 1 : 0);
  if (kMostElsewhere * loads_elsewhere_ > votes_ || !has_independent(start_unix_s)) {
    return agreement;
  }
  for (std::size_t i = 0; i < votes_for_.size(); ++i) {
    const ClockHistory& clock = clock_histories()[i];
    if (votes_for_[i] - (own && is_for(*own, clock) ? 1 : 0) == others) {
      agreement.clocks.push_back(&clock);
    }
  }
  agreement.least_load_w = (highest_idle_w_ + lowest_load_w_) / 2;
  return agreement;
}

const ClockHistory* ZoneConsensus::favourite() const {
  const auto most = std::ranges::max_element(votes_for_);
  if (*most < kLeastVotes) return nullptr;
  return &clock_histories()[static_cast<std::size_t>(most - votes_for_.begin())];
}

std::size_t ZoneConsensus::contradictions() const {
  const std::size_t most = std::ranges::max(votes_for_);
  return loads_elsewhere_ + (most < kLeastVotes ? 0 : votes_ - most);
}

bool ZoneConsensus::contradicts(const ZoneVote& vote) const {
  const ClockHistory* const clock = favourite();
  return clock != nullptr && !is_for(vote, *clock);
}

}  // namespace aggregate_power
