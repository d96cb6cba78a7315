// Unpacks the compiled-in tz database.
#include "base/text/zone_table.h"

#include <algorithm>

namespace aggregate_power {
namespace {

struct Minutes {
  std::int32_t since_1970;
  std::int16_t east_of_utc;
};

struct Row {
  std::string_view zone;
  std::vector<Minutes> changes;
};

std::vector<ClockHistory> unpacked() {
  const std::vector<Row> rows = {
#include "zone_table_data.inc"
  };
  std::vector<ClockHistory> histories;
  for (const Row& row : rows) {
    ClockHistory history{row.zone, {}};
    for (const Minutes& change : row.changes) {
      history.changes.push_back({std::int64_t{change.since_1970} * 60, change.east_of_utc * 60});
    }
    histories.push_back(std::move(history));
  }
  return histories;
}

}  // namespace

std::int32_t ClockHistory::offset_at(double unix_s) const {
  const auto next = std::upper_bound(changes.begin() + 1, changes.end(), unix_s,
                                     [](double at_s, const ClockChange& change) {
                                       return at_s < static_cast<double>(change.unix_s);
                                     });
  return std::prev(next)->offset_s;
}

std::span<const ClockChange> ClockHistory::changes_between(double begin_unix_s,
                                                           double end_unix_s) const {
  const auto at_s = [](const ClockChange& change) { return static_cast<double>(change.unix_s); };
  const auto first =
      std::ranges::upper_bound(changes.begin() + 1, changes.end(), begin_unix_s, {}, at_s);
  const auto last = std::ranges::upper_bound(first, changes.end(), end_unix_s, {}, at_s);
  return {first, last};
}

std::vector<std::int32_t> offsets_in_use(double unix_s) {
  std::vector<std::int32_t> offsets;
  for (const ClockHistory& history : clock_histories()) {
    offsets.push_back(history.offset_at(unix_s));
  }
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

std::span<const ClockHistory> clock_histories() {
  static const std::vector<ClockHistory> histories = unpacked();
  return histories;
}

}  // namespace aggregate_power
