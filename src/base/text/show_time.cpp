// Formats times and durations.
#include "base/text/show_time.h"

#include <chrono>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/text/timestamp.h"

namespace aggregate_power {
namespace {

constexpr double kYear1UnixS = -62135596800;
constexpr double kYear10000UnixS = 253402300800;

bool has_date(double unix_s) { return unix_s >= kYear1UnixS && unix_s < kYear10000UnixS - 0.001; }

std::string iso_of(double unix_s) {
  using Milliseconds = std::chrono::milliseconds;
  const std::chrono::sys_time<Milliseconds> time(Milliseconds(std::llround(unix_s * 1000)));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

// "9 h 5 min"; "9 h" if nothing is left of the smaller unit.
std::string two_units(std::int64_t count, std::int64_t per_larger, const char* larger,
                      const char* smaller) {
  const std::int64_t rest = count % per_larger;
  const std::string text = fmt::format("{} {}", count / per_larger, larger);
  return rest == 0 ? text : fmt::format("{} {} {}", text, rest, smaller);
}

}  // namespace

std::string wall_time(double unix_s, const Zone& zone) {
  if (!has_date(unix_s)) return fmt::format("{:.3f}", unix_s);
  const double millis = std::round(unix_s * 1e3);
  const std::int64_t whole_s = whole_second(millis / 1e3);
  const std::int32_t offset_s = zone.offset_at(whole_s);
  const std::int64_t wall_s = whole_s + offset_s;
  const std::chrono::sys_seconds wall{std::chrono::seconds(wall_s)};
  const auto day = std::chrono::floor<std::chrono::days>(wall);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(wall - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} {}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     static_cast<int>(millis - static_cast<double>(whole_s) * 1e3),
                     offset_text(offset_s));
}

std::string unix_and_iso(double unix_s) {
  return has_date(unix_s) ? fmt::format("{:.3f} ({})", unix_s, iso_of(unix_s))
                          : fmt::format("{:.3f}", unix_s);
}

std::string difference_in_words(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 86400;
  const double size_s = std::abs(seconds);
  if (!(size_s < 1e15)) return fmt::format("{:.0f} s", size_s);
  // Each bound is half of the smaller unit below a whole larger one, where rounding reaches it.
  if (size_s >= kDay - kMinute / 2) return two_units(std::llround(size_s / kHour), 24, "d", "h");
  if (size_s >= kHour - 0.5) return two_units(std::llround(size_s / kMinute), 60, "h", "min");
  if (size_s >= kMinute - 0.0005) return two_units(std::llround(size_s), 60, "min", "s");
  std::string text = fmt::format("{:.3f}", size_s);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

std::string seconds_and_words(double seconds) {
  const std::string exact = fmt::format("{:.3f} s", seconds);
  if (std::abs(seconds) < 60) return exact;
  return fmt::format("{} ({})", exact, difference_in_words(seconds));
}

std::string unit_text(double factor) {
  const char* unit = nullptr;
  if (factor == 1e3) unit = "milliseconds";
  if (factor == 1e6) unit = "microseconds";
  if (factor == 1e9) unit = "nanoseconds";
  return unit == nullptr ? std::string() : fmt::format("in {}: divide by {:.0f}", unit, factor);
}

std::string wrong_unit_text(double unix_s) {
  const double in_seconds = epoch_seconds(unix_s);
  if (in_seconds == unix_s || !std::isfinite(unix_s)) return {};
  return unit_text(std::round(unix_s / in_seconds));
}

}  // namespace aggregate_power
