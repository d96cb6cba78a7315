// Converts between Unix seconds and local time by Python's rules.
#include "base/text/time_zone.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <absl/time/time.h>
#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// The range of times in Python: 0001-01-01T00:00:00 to 9999-12-31T23:59:59.
constexpr std::int64_t kFirstShown = -62'135'596'800;
constexpr std::int64_t kLastShown = 253'402'300'799;

constexpr std::int64_t kDay_s = 86'400;

bool can_be_shown(std::int64_t local_s) { return local_s >= kFirstShown && local_s <= kLastShown; }

// Read from the clock's face as in Python, not from tm_gmtoff: under TZ=right/... the two differ by
// the leap seconds. Far from any stamp the offset is that of the nearest year.
std::int32_t local_offset_at(std::int64_t unix_s) {
  const std::time_t instant = std::clamp(unix_s, kFirstShown - kDay_s, kLastShown + kDay_s);
  std::tm face{};
  localtime_r(&instant, &face);
  const std::chrono::sys_days day =
      std::chrono::year{face.tm_year + 1900} / (face.tm_mon + 1) / face.tm_mday;
  const std::int64_t shown = day.time_since_epoch().count() * kDay_s + face.tm_hour * 3600 +
                             face.tm_min * 60 + face.tm_sec;
  return static_cast<std::int32_t>(shown - instant);
}

// "+HH:MM" or "+HHMM", either sign.
std::optional<std::int32_t> parse_offset(std::string_view text) {
  if (text.size() == 6 && text[3] == ':') {
    return parse_offset(fmt::format("{}{}", text.substr(0, 3), text.substr(4)));
  }
  if (text.size() != 5 || (text[0] != '+' && text[0] != '-') ||
      !std::all_of(text.begin() + 1, text.end(), is_ascii_digit)) {
    return std::nullopt;
  }
  const int hours = two_digits(&text[1]);
  const int minutes = two_digits(&text[3]);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

// Whether the text could be a name in the tz database. Nothing else is passed to Abseil, for which
// a name is also a path and may have special prefixes ("file:", "libc:").
bool is_zone_name(std::string_view text) {
  const auto is_name_character = [](char c) {
    return is_ascii_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  };
  return !text.empty() && text.front() != '/' && std::ranges::all_of(text, is_name_character);
}

// Searches where Abseil searches.
bool has_tz_database() {
  const char* folder = std::getenv("TZDIR");
  if (folder == nullptr || *folder == '\0') folder = "/usr/share/zoneinfo";
  std::error_code ec;
  return std::filesystem::is_directory(folder, ec);
}

// What abbreviations and shortened offsets probably mean, quoted; empty: unknown.
std::string meant_zone(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kAbbreviations[] = {
      {"PDT", "'America/Los_Angeles' or '-07:00'"},
      {"PST", "'America/Los_Angeles' or '-08:00'"},
      {"MDT", "'America/Denver' or '-06:00'"},
      {"CDT", "'America/Chicago' or '-05:00'"},
      {"CST", "'America/Chicago', '-06:00' or 'Asia/Shanghai'"},
      {"EDT", "'America/New_York' or '-04:00'"},
      {"BST", "'Europe/London' or '+01:00'"},
      {"CEST", "'Europe/Berlin' or '+02:00'"},
      {"EEST", "'Europe/Helsinki' or '+03:00'"},
      {"IST", "'Asia/Kolkata' or '+05:30'"},
      {"SGT", "'Asia/Singapore' or '+08:00'"},
      {"JST", "'Asia/Tokyo' or '+09:00'"},
      {"KST", "'Asia/Seoul' or '+09:00'"},
      {"AEST", "'Australia/Sydney' or '+10:00'"},
      {"UTC", "'UTC'"},
      {"GMT", "'UTC'"},
      {"Z", "'UTC'"},
  };
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  for (const auto& [abbreviation, meaning] : kAbbreviations) {
    if (upper == abbreviation) return std::string(meaning);
  }
  std::string_view offset = upper;  // "UTC+2", "+2", "-7:30"
  if (offset.starts_with("UTC") || offset.starts_with("GMT")) offset.remove_prefix(3);
  if (offset.size() < 2 || (offset[0] != '+' && offset[0] != '-')) return {};
  const std::size_t colon = std::min(offset.find(':'), offset.size());
  const std::string_view hours = offset.substr(1, colon - 1);
  const std::string_view minutes = colon < offset.size() ? offset.substr(colon + 1) : "00";
  if (hours.empty() || hours.size() > 2 || minutes.size() != 2) return {};
  const std::string whole = fmt::format("{}{:0>2}:{}", offset[0], hours, minutes);
  return parse_offset(whole) ? fmt::format("'{}'", whole) : std::string();
}

// "2026-03-29T01:00:00Z"
std::string utc_text(std::int64_t unix_s) {
  const std::chrono::sys_seconds instant{std::chrono::seconds{unix_s}};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(instant - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace

std::int64_t whole_second(double unix_s) {
  constexpr auto kFirst = static_cast<double>(kFirstShown);
  constexpr auto kLast = static_cast<double>(kLastShown);
  return unix_s > kFirst ? static_cast<std::int64_t>(std::floor(std::min(unix_s, kLast)))
                         : kFirstShown;
}

Zone::Zone(std::string name, OffsetAt offset_at)
    : name_(std::move(name)), offset_at_(std::move(offset_at)) {}

Zone Zone::local() { return {"local", local_offset_at}; }

Zone Zone::fixed(std::int32_t offset_s) {
  return {offset_text(offset_s), [offset_s](std::int64_t) { return offset_s; }};
}

Zone Zone::stepping(std::int32_t offset_before_s, std::int64_t step_unix_s,
                    std::int32_t offset_after_s) {
  return {
      fmt::format("{}, from {} {}", offset_text(offset_before_s), utc_text(step_unix_s),
                  offset_text(offset_after_s)),
      [=](std::int64_t unix_s) { return unix_s < step_unix_s ? offset_before_s : offset_after_s; }};
}

Zone Zone::parse(std::string_view text) {
  if (text == "local") return local();
  const std::optional<std::int32_t> offset_s = text == "UTC" ? 0 : parse_offset(text);
  if (offset_s) return {std::string(text), fixed(*offset_s).offset_at_};

  if (is_zone_name(text)) {
    absl::TimeZone zone;
    if (absl::LoadTimeZone(std::string(text), &zone)) {
      return {std::string(text), [zone](std::int64_t unix_s) -> std::int32_t {
                return zone.At(absl::FromUnixSeconds(unix_s)).offset;
              }};
    }
    if (!has_tz_database() && meant_zone(text).empty()) {
      throw Error(fmt::format(
          "unknown time zone '{}'; this machine has no tz database: install tzdata or give an offset such as '-07:00'",
          text));
    }
  }
  if (const std::string meant = meant_zone(text); !meant.empty()) {
    throw Error(fmt::format("unknown time zone '{}'; give {}", text, meant));
  }
  throw Error(fmt::format(
      "unknown time zone '{}'; give 'UTC', a name such as 'America/Los_Angeles' or an offset such as '-07:00'",
      text));
}

// CPython's local_to_seconds() in _datetimemodule.c, probe for probe: it raises if it reaches a
// face that it cannot show.
std::optional<std::int64_t> Zone::unix_from_local(std::int64_t local_s) const {
  if (!can_be_shown(local_s)) return std::nullopt;
  bool raises = false;
  const auto shown_at = [&](std::int64_t unix_s) {
    const std::int64_t shown = unix_s + offset_at(unix_s);
    raises = raises || !can_be_shown(shown);
    return shown;
  };
  const auto solve = [&] {
    const std::int64_t offset = shown_at(local_s) - local_s;
    const std::int64_t first = local_s - offset;
    const bool first_fits = shown_at(first) == local_s;
    // If the first fits, an hour shown twice may have an earlier solution, with yesterday's offset.
    const std::int64_t probe = first_fits ? first - kDay_s : first;
    const std::int64_t other_offset = shown_at(probe) - probe;
    if (first_fits && other_offset == offset) return first;

    const std::int64_t second = local_s - other_offset;
    if (shown_at(second) == local_s) return second;
    return first_fits ? first : std::max(first, second);  // the latter in a skipped hour
  };
  const std::int64_t unix_s = solve();
  return raises ? std::nullopt : std::optional(unix_s);
}

std::optional<RepeatedHour> Zone::repeated_hour(std::int64_t begin_unix_s,
                                                std::int64_t end_unix_s) const {
  const std::int32_t before_s = offset_at(begin_unix_s);
  const std::int32_t after_s = offset_at(end_unix_s);
  if (after_s >= before_s) return std::nullopt;
  std::int64_t not_yet = begin_unix_s;
  std::int64_t already = end_unix_s;
  while (already - not_yet > 1) {
    const std::int64_t middle = not_yet + (already - not_yet) / 2;
    (offset_at(middle) == before_s ? not_yet : already) = middle;
  }
  const std::int32_t size_s = before_s - after_s;
  return RepeatedHour{already - size_s, already, size_s, before_s};
}

std::string offset_text(std::int32_t offset_s) {
  const std::int64_t size_s = std::abs(std::int64_t{offset_s});
  std::string text =
      fmt::format("{}{:02}:{:02}", offset_s < 0 ? '-' : '+', size_s / 3600, size_s / 60 % 60);
  if (size_s % 60 != 0) text += fmt::format(":{:02}", size_s % 60);
  return text;
}

// ---- Unpacks the compiled-in tz database.

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
  auto offsets = mapped<std::int32_t>(
      clock_histories(), [&](const ClockHistory& history) { return history.offset_at(unix_s); });
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

std::span<const ClockHistory> clock_histories() {
  static const std::vector<ClockHistory> histories = unpacked();
  return histories;
}

}  // namespace aggregate_power
