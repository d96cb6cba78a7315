// Rounds for the eye.
#include "base/text/shown_number.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-12));
}

bool needs_exponent(double value) {
  return value != 0 && (std::abs(value) >= 1e9 || std::abs(value) < 1e-6);
}

std::string with_decimals(double value, int decimals) {
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 0, 12));
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string shown_number(double value) {
  if (value == 0) return "0";
  if (!std::isfinite(value) || needs_exponent(value)) return fmt::format("{:.3e}", value);
  // 999.96 has the digits of 1000.
  const double shown = nearest_double(fmt::format("{:.3e}", value)).value_or(value);
  return with_decimals(value, 3 - exponent_of(shown));
}

std::string shown_range(double value, double low, double high) {
  const double half = (high - low) / 2;
  if (!(half > 0) || needs_exponent(value) || needs_exponent(half)) return shown_number(value);
  const int decimals = 1 - exponent_of(half);
  return fmt::format("{} ({} to {})", with_decimals(value, decimals), with_decimals(low, decimals),
                     with_decimals(high, decimals));
}

std::string shown_interval(double value, double low, double high) {
  const double half = (high - low) / 2;
  if (!(half > 0) || needs_exponent(value) || needs_exponent(half)) return shown_number(value);
  const int decimals = 1 - exponent_of(half);
  constexpr double kFarFromSymmetric = 0.1;
  if (std::abs(low / 2 + high / 2 - value) > kFarFromSymmetric * half) {
    return shown_range(value, low, high);
  }
  return fmt::format("{} \u00B1 {}", with_decimals(value, decimals), with_decimals(half, decimals));
}

std::string shown_minute(double unix_s) {
  constexpr double kYear1 = -62135596800.0;
  constexpr double kYear10000 = 253402300800.0;
  if (!(unix_s >= kYear1 && unix_s < kYear10000)) return {};
  const auto minute = static_cast<std::int64_t>(std::floor(unix_s / 60));
  const std::int64_t day = minute >= 0 ? minute / 1440 : -((1439 - minute) / 1440);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  const std::int64_t of_day = minute - day * 1440;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     of_day / 60, of_day % 60);
}

}  // namespace aggregate_power
