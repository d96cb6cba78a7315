// Converts written times to Unix seconds: the forms that CPython 3.11's datetime reads, in a given
// zone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text/decimal.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

struct WrittenTime;

struct Stamp {
  double unix_s;  // bit for bit what Python's datetime.timestamp() gives; finite
  bool naive;     // the text had no offset and is not an epoch, so the zone decided
};

// An epoch in s, ms, us or ns, recognized by its size, as seconds.
inline double epoch_seconds(double value) {
  if (value > 1e17) return value / 1e9;
  if (value > 1e14) return value / 1e6;
  if (value > 1e12) return value / 1e3;
  return value;
}

// Microseconds as seconds, rounded once, like Python's timedelta.total_seconds().
double seconds_of(std::int64_t micros);

// Reads stamps one after another. It remembers the last two minutes it saw, since the next stamp is
// usually in the same minute, and devices do not all cross into the next one together.
class StampParser {
 public:
  explicit StampParser(Zone zone);
  // `text` is UTF-8, already stripped. Returns nullopt if it is not a time. Forms, in this order:
  //   epoch      -?digits[.digits]: seconds; above 1e12 ms, above 1e14 us, above 1e17 ns
  //   slashes    YYYY/M/D H:M:S[.f], as strptime reads it
  //   ISO 8601   as CPython 3.11's datetime.fromisoformat, after the first blank became T
  //              (if there is a blank and no T); in YYYY-MM-DD H:M:S[.f] numbers of one digit too
  std::optional<Stamp> parse(std::string_view text) {
    Stamp stamp{};
    return read(text, stamp) ? std::optional(stamp) : std::nullopt;
  }
  // The same for a loop over rows, in which an optional costs more than the reading. `stamp` is
  // only changed if the text is a time.
  [[gnu::always_inline]] bool read(std::string_view text, Stamp& stamp) {
    return minute_.read(text, stamp) || read_short_epoch(text, stamp) || read_any(text, stamp);
  }

 private:
  // What all stamps of one minute share, and the time they stand for. A stamp is kPrefixSize
  // characters up to its minute, ":SS", possibly ".f", and a tail: "", "Z", "+05:30". stamp.cpp
  // fills it in, and says there when it may.
  struct Minute {
    static constexpr std::size_t kPrefixSize = 16;  // "YYYY-MM-DD HH:MM"
    static constexpr std::size_t kMaxTail = 8;
    using Tail = std::array<char, kMaxTail>;

    bool read(std::string_view text, Stamp& stamp);

    std::size_t size_without_fraction = std::string_view::npos;  // npos: no minute seen yet
    std::array<char, kPrefixSize> prefix{};
    Tail tail{};  // the last characters of a text, where tail_mask has a bit
    Tail tail_mask{};
    bool naive = true;
    std::int64_t start = 0;  // Unix time: whole seconds of a naive stamp, else microseconds
    // The stamp read last: the rows of one tick usually share it. Its prefix and its last eight
    // characters are its whole text.
    std::size_t last_size = 0;
    std::uint64_t last_end = 0;
    double last_unix_s = 0;
  };

  static bool read_short_epoch(std::string_view text, Stamp& stamp);
  bool read_any(std::string_view text, Stamp& stamp);
  void remember_minute(std::string_view text, const WrittenTime& written);

  Zone zone_;
  Minute minute_;
  Minute other_minute_;
};

[[gnu::always_inline]] inline bool StampParser::Minute::read(std::string_view text, Stamp& stamp) {
  if (text.size() < size_without_fraction ||
      std::memcmp(text.data(), prefix.data(), kPrefixSize) != 0) {
    return false;
  }
  std::uint64_t end, wanted, mask;
  std::memcpy(&end, text.data() + text.size() - kMaxTail, kMaxTail);
  if (end == last_end && text.size() == last_size) {
    stamp.unix_s = last_unix_s;
    stamp.naive = naive;
    return true;
  }
  std::memcpy(&wanted, tail.data(), kMaxTail);
  std::memcpy(&mask, tail_mask.data(), kMaxTail);
  const std::size_t fraction_size = text.size() - size_without_fraction;  // including its point
  if ((end & mask) != wanted || fraction_size == 1 || fraction_size > 7) return false;

  const char* at = text.data() + kPrefixSize;
  const auto digit = [&](std::size_t i) { return static_cast<unsigned>(at[i] - '0'); };
  bool is_fault = at[0] != ':' || digit(1) > 5 || digit(2) > 9;
  std::int64_t micros = 0;
  if (fraction_size > 0) {
    static constexpr std::int64_t kMicros[] = {0, 0, 100'000, 10'000, 1'000, 100, 10, 1};
    // The eight characters that end with the fraction; those before it become zeros.
    std::uint64_t fraction = 0;
    std::memcpy(&fraction, at + 3 + fraction_size - sizeof(fraction), sizeof(fraction));
    const std::size_t others = 8 * (sizeof(fraction) + 1 - fraction_size);  // bits
    fraction = (fraction ^ 0x3030303030303030U) >> others << others;
    is_fault |= at[3] != '.' || no_digits(fraction) != 0;
    micros = eight_digits(fraction) * kMicros[fraction_size];
  }
  if (is_fault) return false;
  const std::int64_t seconds = digit(1) * 10 + digit(2);
  // Python adds the fraction of a naive stamp as a double; for others it divides the whole, which
  // is exact.
  const double unix_s =
      naive ? static_cast<double>(start + seconds) + static_cast<double>(micros) / 1e6
            : static_cast<double>(start + seconds * 1'000'000 + micros) / 1e6;
  stamp.unix_s = unix_s;
  stamp.naive = naive;
  if (text.size() <= kPrefixSize + kMaxTail) {
    last_size = text.size();
    last_end = end;
    last_unix_s = unix_s;
  }
  return true;
}

// Whole seconds or smaller units of up to 19 digits, or up to 15 with a point: the number is
// rounded once, as if the text had been read as a whole.
inline bool StampParser::read_short_epoch(std::string_view text, Stamp& stamp) {
  double value = 0;
  if (!read_whole_decimal(text, value) && !read_nineteen_digits(text, value)) return false;
  stamp = {epoch_seconds(value), false};
  return true;
}

// ---- Reads an instant as people and scripts write it.

// "2026-09-08T07:20:30Z" or with an offset, "2026/09/08 07:20:30.123" as nvidia-smi writes it, "Tue
// Sep  8 07:20:30 UTC 2026" as `date` does, or a number since 1970: seconds, or by its size milli-,
// micro- or nanoseconds. A time without an offset is read in `zone`. Returns nullopt for anything
// else, and for a time without an offset if there is no zone.
std::optional<double> instant_of(std::string_view text, const Zone* zone = nullptr);

}  // namespace aggregate_power
