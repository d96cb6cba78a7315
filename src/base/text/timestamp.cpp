// Parses stamps, and remembers the minutes they are in.
#include "base/text/timestamp.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/text/characters.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

constexpr std::int64_t kMicrosInSecond = 1'000'000;
constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;  // as are all smaller integers

// -?\d+(\.\d+)?
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  return is_ascii_digits(text.substr(0, point)) &&
         (point == text.size() || is_ascii_digits(text.substr(point + 1)));
}

__extension__ typedef unsigned __int128 Wide;

// Returns nullopt if Python raises.
std::optional<Stamp> stamp_of(const WrittenTime& written, const Zone& zone) {
  if (written.offset_us) {
    const std::int64_t micros = written.clock_s * kMicrosInSecond + written.micros;
    return Stamp{seconds_of(micros - *written.offset_us), false};
  }
  const std::optional<std::int64_t> unix_s = zone.unix_from_local(written.clock_s);
  if (!unix_s) return std::nullopt;
  return Stamp{static_cast<double>(*unix_s) + written.micros / 1e6, true};
}

}  // namespace

// The remainder is kept as a last bit, far below the bits that a double has.
double seconds_of(std::int64_t micros) {
  if (std::abs(micros) < kExactInDouble) return static_cast<double>(micros) / 1e6;
  const Wide shifted = static_cast<Wide>(std::abs(micros)) << 64;
  const Wide quotient = shifted / kMicrosInSecond | (shifted % kMicrosInSecond != 0 ? 1 : 0);
  const double size = std::ldexp(static_cast<double>(quotient), -64);
  return micros < 0 ? -size : size;
}

StampParser::StampParser(Zone zone) : zone_(std::move(zone)) {}

bool StampParser::read_any(std::string_view text, Stamp& stamp) {
  if (other_minute_.read(text, stamp)) {
    std::swap(minute_, other_minute_);
    return true;
  }
  const std::string number = ascii_digits(text);
  if (is_number(number)) {
    const double value = nearest_double(number).value();
    if (!std::isfinite(value)) return false;
    stamp = {epoch_seconds(value), false};
    return true;
  }
  std::optional<WrittenTime> written = read_slashes(text);
  if (!written) written = read_iso(text);
  if (!written && !text.empty() && text[0] >= 'A') {
    if (const std::string iso = iso_of_ctime(text); !iso.empty()) return read_any(iso, stamp);
  }
  if (!written) return false;
  remember_minute(text, *written);
  const std::optional<Stamp> found = stamp_of(*written, zone_);
  if (found) stamp = *found;
  return found.has_value();
}

// `text` was read as `written`. If its colons are where they are in "YYYY-MM-DD HH:MM:SS", they
// separate hours, minutes and seconds: everything before the second one is the minute. What follows
// the seconds and their fraction must be an offset starting with its sign, since characters before
// the sign are read differently with and without a fraction.
void StampParser::remember_minute(std::string_view text, const WrittenTime& written) {
  constexpr std::size_t kSeconds = Minute::kPrefixSize + 1;
  if (text.size() < kSeconds + 2 || !is_ascii_digits(text.substr(kSeconds, 2))) return;
  if (text[13] != ':' || text[Minute::kPrefixSize] != ':') return;
  if (text[4] != '/' && (text[4] != '-' || text[7] != '-')) return;
  std::size_t tail_at = kSeconds + 2;
  if (text.substr(tail_at).starts_with('.')) {
    tail_at = std::min(text.find_first_not_of("0123456789", tail_at + 1), text.size());
  }
  const std::string_view tail = text.substr(tail_at);
  const bool is_offset = tail.starts_with('Z') || tail.starts_with('+') || tail.starts_with('-');
  if (tail.size() > Minute::kMaxTail || !(tail.empty() || is_offset)) return;

  Minute minute;
  const std::int64_t start_s = written.clock_s - two_digits(&text[kSeconds]);
  if (written.offset_us) {
    minute.naive = false;
    minute.start = start_s * kMicrosInSecond - *written.offset_us;
    if (std::abs(minute.start) > kExactInDouble - 60 * kMicrosInSecond) return;
  } else {
    // A zone jumps at most once a minute: if its ends are a minute apart, everything between is in
    // step.
    const std::optional<std::int64_t> first = zone_.unix_from_local(start_s);
    const std::optional<std::int64_t> last = zone_.unix_from_local(start_s + 59);
    if (!first || !last || *last - *first != 59) return;
    minute.start = *first;
  }
  minute.size_without_fraction = kSeconds + 2 + tail.size();
  std::ranges::copy(text.substr(0, Minute::kPrefixSize), minute.prefix.begin());
  std::ranges::copy(tail, minute.tail.end() - tail.size());
  std::fill_n(minute.tail_mask.end() - tail.size(), tail.size(), '\xFF');
  other_minute_ = std::exchange(minute_, minute);
}

// ---- Tells numbers from written times.

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
