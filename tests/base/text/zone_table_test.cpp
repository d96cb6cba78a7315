// The compiled-in table against the tz database of this machine.
#include "base/text/time_zone.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace zone_table_test {

constexpr std::int64_t k2015 = 1'420'070'400;
// What is to come may be changed by any government: the machine's database may know better.
constexpr std::int64_t k2026 = 1'767'225'600;

const ClockHistory& history_of(std::string_view zone) {
  return *std::ranges::find(clock_histories(), zone, &ClockHistory::zone);
}

std::vector<std::string> zones_of_this_machine() {
  std::ifstream table("/usr/share/zoneinfo/zone.tab");
  std::vector<std::string> zones;
  for (std::string line; std::getline(table, line);) {
    std::istringstream cells(line);
    std::string country, place, zone;
    if (line[0] != '#' && cells >> country >> place >> zone) zones.push_back(zone);
  }
  return zones;
}

// Both sides of every change that the table knows, and each week.
std::vector<std::int64_t> instants() {
  std::set<std::int64_t> instants;
  for (std::int64_t at = k2015; at < k2026; at += 7 * 86400) instants.insert(at);
  for (const ClockHistory& history : clock_histories()) {
    for (const ClockChange& change : history.changes) {
      if (change.unix_s >= k2026) continue;
      instants.insert({change.unix_s - 1, change.unix_s});
    }
  }
  instants.erase(k2015 - 1);
  return {instants.begin(), instants.end()};
}

std::vector<std::int32_t> offsets_of(const ClockHistory& clock,
                                     const std::vector<std::int64_t>& instants) {
  std::vector<std::int32_t> offsets;
  for (const std::int64_t at : instants) {
    offsets.push_back(clock.offset_at(static_cast<double>(at)));
  }
  return offsets;
}

std::vector<std::int32_t> offsets_of(const Zone& zone, const std::vector<std::int64_t>& instants) {
  std::vector<std::int32_t> offsets;
  for (const std::int64_t at : instants) offsets.push_back(zone.offset_at(at));
  return offsets;
}

TEST(ZoneTable, SaysWhatTheTzDatabaseOfThisMachineSays) {
  const std::vector<std::int64_t> all = instants();
  std::set<std::vector<std::int32_t>> known;
  for (const ClockHistory& history : clock_histories()) {
    known.insert(offsets_of(history, all));
    EXPECT_EQ(offsets_of(history, all), offsets_of(Zone::parse(history.zone), all)) << history.zone;
  }
  const std::vector<std::string> zones = zones_of_this_machine();
  ASSERT_GT(zones.size(), 300u);
  for (const std::string& zone : zones) {
    EXPECT_TRUE(known.contains(offsets_of(Zone::parse(zone), all))) << zone;
  }
}

TEST(ZoneTable, KnowsTheDayAndTheSecondOfAChange) {
  // Germany, 2026-03-29T01:00:00Z.
  const ClockHistory& berlin = history_of("Europe/Berlin");
  EXPECT_EQ(berlin.offset_at(1'774'745'999.9), 3600);
  EXPECT_EQ(berlin.offset_at(1'774'746'000), 7200);
  const auto changes = berlin.changes_between(1'774'745'999, 1'774'746'000);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].unix_s, 1'774'746'000);
  EXPECT_TRUE(berlin.changes_between(1'774'746'000, 1'774'746'001).empty());
}

TEST(ZoneTable, HoldsItsFirstAndLastOffsetsForAllTime) {
  const ClockHistory& berlin = history_of("Europe/Berlin");
  EXPECT_EQ(berlin.offset_at(0), 3600);
  EXPECT_EQ(berlin.offset_at(4e9), 3600);
}

// New Year of 2026 in UTC: quarter hours that no one lives by are not among them.
TEST(ZoneTable, HasTheOffsetsInUseOnly) {
  std::set<std::int32_t> offsets;
  for (const ClockHistory& history : clock_histories()) offsets.insert(history.offset_at(k2026));
  EXPECT_TRUE(offsets.contains(20700));    // Nepal
  EXPECT_TRUE(offsets.contains(-12600));   // Newfoundland
  EXPECT_TRUE(offsets.contains(49500));    // Chatham in summer
  EXPECT_FALSE(offsets.contains(1800));    // +00:30
  EXPECT_FALSE(offsets.contains(900));     // +00:15
  EXPECT_FALSE(offsets.contains(-43200));  // -12:00, of ships alone
  EXPECT_EQ(offsets.size(), 37u);
}

}  // namespace zone_table_test
}  // namespace aggregate_power
