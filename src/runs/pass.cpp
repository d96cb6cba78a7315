// Feeds the analyses of a recording, in the file's order or sorted.
#include "runs/pass.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "base/files/file.h"
#include "base/parallel.h"
#include "energy/mean_power.h"
#include "energy/time_sorter.h"

namespace aggregate_power {
namespace {

using Group = std::vector<Analysis*>;

// Below this size, starting threads takes longer than they save.
constexpr std::uint64_t kManyBytes = 8'000'000;

double by_rounded_time(double unix_s) { return static_cast<double>(rounded_ms(unix_s)); }
double by_time(double unix_s) { return unix_s; }

// Calls `take` with each batch of `telemetry`.
template <typename Take>
void read_batches(Telemetry& telemetry, GpuQuantitySet wanted, const Take& take) {
  if (wanted.any()) {
    telemetry.read_with_states(
        [&](std::span<const Reading> readings, const RowStates& states) {
          take(Batch{readings, states});
        },
        wanted);
  } else {
    telemetry.read([&](std::span<const Reading> readings) { take(Batch{readings, {}}); });
  }
}

// Groups the analyses that one series of sorted passes can serve: those that want the same order.
// Analyses that select their readings need a series each.
std::vector<Group> out_of_order_groups(const Group& analyses) {
  std::vector<Group> groups;
  for (Analysis* const analysis : analyses) {
    if (!analysis->out_of_order()) continue;
    const Analysis::Wants wants = analysis->wants();
    const auto group = std::ranges::find_if(groups, [&](const Group& other) {
      const Analysis::Wants others = other.front()->wants();
      return wants.states.none() && others.states.none() && wants.order == others.order;
    });
    if (group != groups.end()) {
      group->push_back(analysis);
    } else {
      groups.push_back({analysis});
    }
  }
  return groups;
}

// The shortest window that contains every window the analyses want.
Window common_window(const Group& group) {
  Window common = group.front()->wants().window;
  for (const Analysis* const analysis : group) {
    const Window window = analysis->wants().window;
    common.start_unix_s = std::min(common.start_unix_s, window.start_unix_s);
    common.end_unix_s = std::max(common.end_unix_s, window.end_unix_s);
  }
  return common;
}

// Starts `group` again, with sorted readings. `first` is the telemetry as it was read the first
// time. Only one thread reads: sorting makes better use of the memory that others would need.
void read_sorted(const Recording& recording, const Telemetry& first, const Group& group) {
  constexpr std::uint64_t kLeastRoom = 30720;
  // A quarter of the file altogether; the threads of the first reading leave some memory behind.
  constexpr std::uint64_t kLeftByThreads = 1536 * 1024;
  const std::uint64_t quarter = recording.bytes() / 4;
  const std::uint64_t room =
      (quarter - std::min(quarter, kLeftByThreads)) / TimeSorter::kBytesPerReading;
  const Analysis::Wants wants = group.front()->wants();
  const Window window = common_window(group);
  TimeSorter sorter(window.start_unix_s, window.end_unix_s,
                    static_cast<std::size_t>(std::max(room, kLeastRoom)),
                    wants.order == Analysis::Order::by_rounded_time ? by_rounded_time : by_time);
  for (Analysis* const analysis : group) analysis->start_over();
  do {  // The telemetry is destroyed before readings are sorted: that needs its memory.
    Telemetry telemetry = recording.open();
    read_batches(telemetry, wants.states,
                 [&](const Batch& batch) { sorter.take(group.front()->select(batch)); });
    if (telemetry.rows() != first.rows() || telemetry.stamps() != first.stamps() ||
        telemetry.skipped() != first.skipped() || telemetry.devices() != first.devices()) {
      throw FileError(recording.path(), "read it twice: it was changed in between", EBUSY);
    }
  } while (sorter.give([&](std::span<const Reading> readings) {
    for (Analysis* const analysis : group) analysis->take(readings);
  }));
}

}  // namespace

bool gains_by_threads(const Recording& recording) {
  return recording.bytes() > kManyBytes && usable_processors() > 1;
}

void Passes::read(const Recording& recording, Telemetry& telemetry) const {
  Group analyses;
  for (const Planned& planned : planned_) analyses.push_back(planned.analysis.get());
  GpuQuantitySet states;
  for (const Analysis* const analysis : analyses) states |= analysis->wants().states;
  if (may_use_threads_ && gains_by_threads(recording)) telemetry.use_threads();
  read_batches(telemetry, states, [&](const Batch& batch) {
    for (Analysis* const analysis : analyses) analysis->take(analysis->select(batch));
  });
  for (const Group& group : out_of_order_groups(analyses)) {
    read_sorted(recording, telemetry, group);
  }
}

void Passes::conclude(const Telemetry& telemetry) const {
  for (const Planned& planned : planned_) {
    if (planned.conclude) planned.conclude(telemetry);
  }
}

}  // namespace aggregate_power
