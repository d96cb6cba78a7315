// Tells numbers from written times.
#include "base/text/instant.h"

#include <cmath>
#include <string>

#include "base/text/python_number.h"
#include "base/text/characters.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

// Seconds since 1970 reach this in the year 5138; anything larger is a smaller unit.
constexpr double kLargestSeconds = 1e11;

}  // namespace

std::optional<double> instant_of(std::string_view text, const Zone* zone) {
  if (const auto number = python_float(text)) {
    if (!std::isfinite(*number)) return std::nullopt;
    double unix_s = *number;
    while (std::abs(unix_s) > kLargestSeconds) unix_s /= 1e3;
    return unix_s;
  }
  std::string iso = iso_of_ctime(strip(text));
  if (iso.empty()) iso = strip(text);
  if (iso.ends_with('Z') || iso.ends_with('z')) iso.replace(iso.size() - 1, 1, "+00:00");
  auto time = read_iso(iso);
  if (!time) time = read_slashes(iso);
  if (!time) return std::nullopt;
  if (time->offset_us) {
    return static_cast<double>(time->clock_s) +
           static_cast<double>(time->micros - *time->offset_us) / 1e6;
  }
  if (zone == nullptr) return std::nullopt;
  const auto unix_s = zone->unix_from_local(time->clock_s);
  if (!unix_s) return std::nullopt;
  return static_cast<double>(*unix_s) + time->micros / 1e6;
}

}  // namespace aggregate_power
