// The table of reasons: code, meaning, usual causes, remedy.
#include "aggregate_power/reason.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

struct Row {
  Reason reason;
  std::string_view code;
  ReasonGroup group;
  std::string_view meaning;
  std::string_view causes;
  std::string_view remedy;
};

constexpr Row kRows[] = {
#define REASON(name, group, meaning, causes, remedy) \
  {Reason::name, #name, ReasonGroup::group, meaning, causes, remedy},
#include "aggregate_power/reason_rows.h"
#undef REASON
};

const Row& row(Reason reason) { return kRows[static_cast<std::size_t>(reason)]; }

}  // namespace

std::string_view code(Reason reason) { return row(reason).code; }

ReasonGroup group(Reason reason) { return row(reason).group; }

std::string_view meaning(Reason reason) { return row(reason).meaning; }

std::string_view causes(Reason reason) { return row(reason).causes; }

Obstacle obstacle_of(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
      return Obstacle::full_disk;
    case EROFS:
      return Obstacle::read_only;
    case EACCES:
    case EPERM:
      return Obstacle::denied;
    default:
      return Obstacle::none;
  }
}

std::string_view remedy(Reason reason, Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::none:
      return row(reason).remedy;
    case Obstacle::full_disk:
      return "the disk or the quota is full: make room and run again; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::read_only:
      return "the file system is read-only: mount it for writing; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::denied:
      return "the permissions do not allow it: run as the owner of the files; a backfill can write elsewhere with --output FOLDER";
    case Obstacle::recorded_command:
      return "give --start and --end, or accept with --window what the message names";
    case Obstacle::not_searched:
      return "only files near the run were considered: keep them there, or give --runs the run's name instead of its path";
  }
  return {};
}

std::string_view remedy_for(std::string_view generator, Reason reason, Obstacle obstacle) {
  const bool is_general = generator.empty() || obstacle != Obstacle::none;
  switch (is_general ? Reason::invalid_benchmark_result : reason) {
    case Reason::invalid_benchmark_window:
      return "run the load with 'aggregate-power-monitor run -- CMD', or give --start and --end; 'aggregate-power help generators' says which files of the generator state the times";
    case Reason::invalid_successful_query_count:
      return "no request succeeded, or the result does not say how many did: give --request-count N, or another file of the generator";
    case Reason::invalid_input_token_count:
      return "give --input-tokens N, or another file of the generator: 'aggregate-power help generators' says what is read";
    case Reason::invalid_output_token_count:
      return "give --output-tokens N, or another file of the generator: 'aggregate-power help generators' says what is read";
    default:
      return remedy(reason, obstacle);
  }
}

std::span<const Reason> all_reasons() {
  static const auto reasons = [] {
    std::array<Reason, std::size(kRows)> all{};
    std::ranges::transform(kRows, all.begin(), &Row::reason);
    return all;
  }();
  return reasons;
}

std::optional<Reason> reason_of(std::string_view code) {
  const auto found = std::ranges::find(kRows, code, &Row::code);
  return found == std::end(kRows) ? std::nullopt : std::optional(found->reason);
}

bool is_acceptable(Reason reason) {
  using enum Reason;
  constexpr Reason kAcceptable[] = {
      implausible_power,   benchmark_failed,    gpu_identity_conflict,  several_gpus_in_one_series,
      same_sensor,         idle_gpus_counted,   readings_repeat,        stuck_sensor,
      counter_contradicts, load_outside_window, clock_offset_suspected, timezone_contradicts_clocks,
      clock_set_back};
  return std::ranges::find(kAcceptable, reason) != std::end(kAcceptable);
}

std::vector<Reason> parse_accepted(std::string_view codes) {
  std::vector<Reason> accepted;
  for (const std::string_view part : separated(codes, ',')) {
    const std::string_view text = strip(part);
    const auto reason = reason_of(text);
    if (!reason || !is_acceptable(*reason)) {
      throw Error(fmt::format(
          "--accept: '{}' {}; 'aggregate-power help reasons' lists those that can be accepted",
          printable(text, 60), reason ? "cannot be accepted" : "is no reason's code"));
    }
    accepted.push_back(*reason);
  }
  return accepted;
}

void Reasons::add(Reason reason, std::string detail, Obstacle obstacle) {
  if (!contains(reason)) entries_.push_back({reason, std::move(detail), obstacle});
}

void Reasons::add(const Reasons& others) {
  for (const Entry& entry : others.entries_) add(entry.reason, entry.detail, entry.obstacle);
}

void Reasons::explain(Reason reason, std::string detail) {
  const auto entry = std::ranges::find(entries_, reason, &Entry::reason);
  if (entry != entries_.end() && entry->detail.empty()) entry->detail = std::move(detail);
}

void Reasons::remove(Reason reason) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.reason == reason; });
}

void Reasons::accept(std::span<const Reason> reasons, Reasons& accepted) {
  for (const Reason reason : reasons) {
    const auto entry = std::ranges::find(entries_, reason, &Entry::reason);
    if (entry == entries_.end()) continue;
    accepted.add(entry->reason, entry->detail, entry->obstacle);
    entries_.erase(entry);
  }
}

bool Reasons::contains(Reason reason) const {
  return std::ranges::find(entries_, reason, &Entry::reason) != entries_.end();
}

std::vector<std::string> Reasons::codes() const {
  return mapped<std::string>(entries_, [](const Entry& entry) { return code(entry.reason); });
}

std::string Reasons::text() const {
  return joined_text(entries_, ", ", [](const Entry& entry) {
    return entry.detail.empty() ? std::string(code(entry.reason))
                                : fmt::format("{} ({})", code(entry.reason), entry.detail);
  });
}

}  // namespace aggregate_power
