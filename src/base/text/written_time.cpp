// Reads written times as CPython 3.11 does.
#include "base/text/written_time.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"

namespace aggregate_power {
namespace {

constexpr std::int64_t kSecondsInDay = 86'400;

// The digits of a fraction, at most six, as microseconds.
int micros_of(std::string_view digits) {
  int micros = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    micros = micros * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  return micros;
}

std::optional<std::chrono::sys_days> calendar_day(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return date;
}

// ISO 8601: a week belongs to the year of its Thursday, and starts on Monday, its day 1.
std::optional<std::chrono::sys_days> week_day(int year, int week, int day) {
  using namespace std::chrono;
  const sys_days in_week_1 = std::chrono::year(year) / January / 4;
  const sys_days monday = in_week_1 - (weekday(in_week_1) - Monday) + weeks(week - 1);
  const bool has_week = year_month_day(monday + days(3)).year() == std::chrono::year(year);
  if (!has_week || day < 1 || day > 7) return std::nullopt;
  return monday + days(day - 1);
}

struct TimeOfDay {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int micros = 0;
  bool to_the_end = false;  // for an ISO text: nothing follows the time
};

std::optional<WrittenTime> written_time(std::chrono::sys_days day, const TimeOfDay& time,
                                        std::optional<std::int64_t> offset_us) {
  const int year = static_cast<int>(std::chrono::year_month_day(day).year());
  if (year < 1 || year > 9999) return std::nullopt;
  if (time.hour > 23 || time.minute > 59 || time.second > 59) return std::nullopt;
  const std::int64_t day_s = day.time_since_epoch().count() * kSecondsInDay;
  return WrittenTime{day_s + time.hour * 3600 + time.minute * 60 + time.second, time.micros,
                     offset_us};
}

// ---- YYYY/M/D H:M:S[.f], as in the regular expressions of Python's _strptime.py

// One byte per character: digits of other scripts as 0x80 to 0x89, other white space as a tab.
std::string one_byte_each(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto next = std::find_if_not(text.begin() + 1, text.end(), is_utf8_continuation);
    const std::string_view character(text.begin(), next);
    const std::string digit = ascii_digits(character);
    if (is_ascii(character)) {
      bytes += character;
    } else if (is_ascii(digit)) {
      bytes += static_cast<char>(digit[0] - '0' + 0x80);
    } else {
      bytes += strip(character).empty() ? '\t' : '\xFF';
    }
    text.remove_prefix(character.size());
  }
  return bytes;
}

int digit_of(char c) {  // of any script; -1: not a digit
  if (is_ascii_digit(c)) return c - '0';
  const int other = static_cast<unsigned char>(c) - 0x80;
  return other >= 0 && other <= 9 ? other : -1;
}

// One or two digits. The last one may be of another script where the expression says \d instead of
// listing digits: after the leads in `any_script_after`, in which a blank means no lead.
struct Field {
  int least;
  int most;
  std::string_view any_script_after;
  char pad = '0';  // a lead besides the digits: ctime pads a day with a blank
};
constexpr Field kMonth{1, 12, ""};
constexpr Field kDay{1, 31, "12", ' '};
constexpr Field kHour{0, 23, " 01"};
constexpr Field kSixtieth{0, 59, " 012345"};

// Takes a text apart from the front. After a failure its results are meaningless.
class SlashReader {
 public:
  explicit SlashReader(std::string_view text) : rest_(text) {}
  bool succeeded() const { return !failed_ && rest_.empty(); }

  void literal(char c) {
    if (!next_is(c)) return fail();
    rest_.remove_prefix(1);
  }

  void spaces() {
    const auto is_space = [](char c) {
      return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
    };
    const auto end = std::ranges::find_if_not(rest_, is_space);
    if (end == rest_.begin()) return fail();
    rest_ = {end, rest_.end()};
  }

  int year() {
    int year = 0;
    for (int i = 0; i < 4; ++i) year = year * 10 + digit();
    return year;
  }

  int field(const Field& field) {
    char lead = ' ';
    const bool has_two = rest_.size() > 1 && digit_of(rest_[1]) >= 0;
    if (has_two && (is_ascii_digit(rest_[0]) || rest_[0] == field.pad)) {
      lead = rest_[0];
      rest_.remove_prefix(1);
    }
    const bool any_script = field.any_script_after.find(lead) != std::string_view::npos;
    if (rest_.empty() || !(is_ascii_digit(rest_[0]) || any_script)) fail();
    const int value = (lead == ' ' ? 0 : lead - '0') * 10 + digit();
    if (value < field.least || value > field.most) fail();
    return value;
  }

  int micros() {
    if (!next_is('.')) return 0;
    rest_.remove_prefix(1);
    const auto end = std::ranges::find_if_not(rest_, is_ascii_digit);
    const std::string_view digits(rest_.begin(), end);
    if (digits.empty() || digits.size() > 6) fail();
    rest_.remove_prefix(digits.size());
    return micros_of(digits);
  }

 private:
  void fail() { failed_ = true; }

  bool next_is(char c) const { return rest_.starts_with(c); }

  int digit() {
    const int digit = rest_.empty() ? -1 : digit_of(rest_[0]);
    if (digit < 0) {
      fail();
      return 0;
    }
    rest_.remove_prefix(1);
    return digit;
  }

  std::string_view rest_;
  bool failed_ = false;
};

// ---- ISO 8601, like the C code of CPython 3.11. That code reads a text with a NUL after it, and
// its decisions depend on single characters at fixed positions; so do these.

char char_at(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    if (!is_ascii_digit(char_at(text, i))) return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

// The number of characters in the date; the next one separates it from the time. Any character may
// separate them, so some texts could be split in two ways.
std::size_t iso_date_size(std::string_view text) {
  if (text.size() == 7) return 7;
  const bool dashes = char_at(text, 4) == '-';
  if (char_at(text, dashes ? 5 : 4) != 'W') return dashes ? 10 : 8;
  if (dashes) {  // YYYY-Www-D, unless that dash is the separator: YYYY-Www-HH
    return char_at(text, 8) == '-' && !is_ascii_digit(char_at(text, 10)) ? 10 : 8;
  }
  // YYYYWww or YYYYWwwD: the digits of a time come in pairs.
  std::size_t digits_end = 7;
  while (is_ascii_digit(char_at(text, digits_end))) ++digits_end;
  if (digits_end < 9) return digits_end;
  return digits_end % 2 == 0 ? 7 : 8;
}

std::optional<std::chrono::sys_days> read_iso_date(std::string_view text, std::size_t size) {
  const bool dashes = char_at(text, 4) == '-';
  const std::size_t at = dashes ? 5 : 4;
  const bool is_week = char_at(text, at) == 'W';
  const std::optional<int> year = number_at(text, 0, 4);
  const std::optional<int> part = number_at(text, is_week ? at + 1 : at, 2);  // month or week
  const std::size_t end = is_week ? at + 3 : at + 2;
  if (!year || !part) return std::nullopt;
  if (is_week && end >= size) return week_day(*year, *part, 1);

  if (dashes && char_at(text, end) != '-') return std::nullopt;
  const std::optional<int> day = number_at(text, dashes ? end + 1 : end, is_week ? 1 : 2);
  if (!day) return std::nullopt;
  return is_week ? week_day(*year, *part, *day) : calendar_day(*year, *part, *day);
}

// HH[:MM[:SS]] or HH[MM[SS]] from `at`, with a fraction after any of them. `end` is the text's end,
// or the sign of the offset, before which all sorts of characters may occur; the caller checks
// them.
std::optional<TimeOfDay> read_iso_time(std::string_view text, std::size_t at, std::size_t end) {
  TimeOfDay time;
  bool colons = false;
  for (int* part : {&time.hour, &time.minute, &time.second}) {
    const std::optional<int> number = number_at(text, at, 2);
    if (!number) return std::nullopt;
    *part = *number;
    at += 2;

    const char next = char_at(text, at++);
    if (part == &time.hour) colons = next == ':';
    if (at >= end) {
      time.to_the_end = next == '\0';
      return time;
    }
    if (colons && next == ':') continue;
    if (next == '.' || next == ',') break;
    if (colons) return std::nullopt;
    --at;
  }
  const std::size_t digits = std::min<std::size_t>(end - at, 6);
  if (!number_at(text, at, digits)) return std::nullopt;
  time.micros = micros_of(text.substr(at, digits));
  at += digits;
  while (is_ascii_digit(char_at(text, at))) ++at;  // more than Python keeps
  time.to_the_end = char_at(text, at) == '\0';
  return time;
}

// "Z", "+HH", "+HH:MM", "-HHMMSS.ffffff" and so on, starting at its sign.
std::optional<std::int64_t> read_iso_offset_us(std::string_view text, std::size_t sign) {
  if (text[sign] == 'Z') {
    return char_at(text, sign + 1) == '\0' ? std::optional<std::int64_t>(0) : std::nullopt;
  }
  const std::optional<TimeOfDay> size = read_iso_time(text, sign + 1, text.size());
  if (!size || !size->to_the_end) return std::nullopt;
  const std::int64_t seconds = size->hour * 3600 + size->minute * 60 + size->second;
  if (seconds == 0) return 0;  // regardless of its fraction
  if (seconds >= kSecondsInDay) return std::nullopt;
  return (text[sign] == '-' ? -1 : 1) * (seconds * 1'000'000 + size->micros);
}

struct TimeAndOffset {
  TimeOfDay time;
  std::optional<std::int64_t> offset_us;
};

std::optional<TimeAndOffset> read_time_and_offset(std::string_view text, std::size_t at) {
  const std::size_t sign = std::min(text.find_first_of("Z+-", at), text.size());
  const std::optional<TimeOfDay> time = read_iso_time(text, at, sign);
  if (!time) return std::nullopt;
  if (sign < text.size()) {
    const std::optional<std::int64_t> offset_us = read_iso_offset_us(text, sign);
    return offset_us ? std::optional(TimeAndOffset{*time, offset_us}) : std::nullopt;
  }
  return time->to_the_end ? std::optional(TimeAndOffset{*time, std::nullopt}) : std::nullopt;
}

// In bytes, according to its lead byte; a separator is one character, of any size.
std::size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::optional<WrittenTime> read_from_iso_format(std::string_view text) {
  const std::size_t date_size = iso_date_size(text);
  const std::optional<std::chrono::sys_days> day = read_iso_date(text, date_size);
  std::optional<TimeAndOffset> rest = TimeAndOffset{};
  if (text.size() > date_size) {
    rest = read_time_and_offset(text, date_size + character_size(text[date_size]));
  }
  if (!day || !rest) return std::nullopt;
  return written_time(*day, rest->time, rest->offset_us);
}

// YYYY-MM-DD H:M:S[.f] with one or two digits each, which Python does not read but PowerJoular
// writes.
std::optional<WrittenTime> read_short_numbers(std::string_view text) {
  constexpr std::size_t kTimeAt = 11;
  if (text.size() < kTimeAt || text[4] != '-' || text[7] != '-' || text[10] != ' ') {
    return std::nullopt;
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(point);
  if (point <= kTimeAt || (!fraction.empty() && !is_ascii_digits(fraction.substr(1)))) {
    return std::nullopt;
  }
  std::string padded(text.substr(0, 10));
  padded += 'T';
  std::string_view rest = text.substr(kTimeAt, point - kTimeAt);
  for (const bool is_last : {false, false, true}) {
    const std::size_t end = is_last ? rest.size() : rest.find(':');
    if (end == rest.npos) return std::nullopt;
    const std::string_view number = rest.substr(0, end);
    if (number.empty() || number.size() > 2 || !is_ascii_digits(number)) return std::nullopt;
    if (number.size() == 1) padded += '0';
    padded += number;
    if (is_last) break;
    padded += ':';
    rest.remove_prefix(end + 1);
  }
  return read_from_iso_format(padded.append(fraction));
}

}  // namespace

std::optional<WrittenTime> read_slashes(std::string_view text) {
  const std::string folded = is_ascii(text) ? std::string() : one_byte_each(text);
  SlashReader reader(folded.empty() ? text : folded);
  const int year = reader.year();
  reader.literal('/');
  const int month = reader.field(kMonth);
  reader.literal('/');
  const int day = reader.field(kDay);
  reader.spaces();
  TimeOfDay time;
  time.hour = reader.field(kHour);
  reader.literal(':');
  time.minute = reader.field(kSixtieth);
  reader.literal(':');
  time.second = reader.field(kSixtieth);
  time.micros = reader.micros();
  if (!reader.succeeded()) return std::nullopt;

  const std::optional<std::chrono::sys_days> date = calendar_day(year, month, day);
  return date ? written_time(*date, time, std::nullopt) : std::nullopt;
}

std::optional<WrittenTime> read_iso(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == text.npos || text.find('T') != text.npos) return read_from_iso_format(text);
  std::string joined(text);
  joined[blank] = 'T';
  const std::optional<WrittenTime> written = read_from_iso_format(joined);
  return written ? written : read_short_numbers(text);
}

std::string iso_of_ctime(std::string_view text) {
  static constexpr Pattern form =
      "[A-Z][a-z]{2} +[A-Z][a-z]{2} +\\d{1,2} +\\d{1,2}:\\d\\d:\\d\\d(?: [AP]M)?(?: UTC| GMT)? \\d{4}";
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (!form.matches(text)) return {};
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != text.npos;) {
    words.push_back(text.substr(at, text.find(' ', at) - at));
    at += words.back().size();
  }
  const std::size_t month = kMonths.find(words[1]);
  if (month == kMonths.npos || month % 3 != 0) return {};
  const std::string_view clock = words[3];
  const std::size_t colon = clock.find(':');
  int hour = 0;
  for (const char digit : clock.substr(0, colon)) hour = 10 * hour + (digit - '0');
  if (words[4].ends_with('M')) {
    if (hour < 1 || hour > 12) return {};
    hour = hour % 12 + (words[4] == "PM" ? 12 : 0);
  }
  const std::string_view before_year = words[words.size() - 2];
  const bool is_utc = before_year == "UTC" || before_year == "GMT";
  return fmt::format("{}-{:02}-{:0>2} {:02}{}{}", words.back(), month / 3 + 1, words[2], hour,
                     clock.substr(colon), is_utc ? "+00:00" : "");
}

}  // namespace aggregate_power
