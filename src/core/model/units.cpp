// Names and symbols of power units, and names of what an energy is of.
#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/column_names.h"
#include "aggregate_power/error.h"
#include "aggregate_power/facility.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/sample.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kLongestUnit = std::string_view("micro-watts").size();

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// "powermw", "drawmilliwatts": a word that ends in a unit, after one that power columns have.
std::optional<PowerUnit::Size> unit_at_end(std::string_view word) {
  constexpr std::string_view kBefore[] = {"power", "pwr", "draw", "usage", "consumption", "gpu"};
  const std::string lower = lower_ascii(word);
  const std::size_t first = lower.size() - std::min(lower.size(), kLongestUnit);
  for (std::size_t begin = std::max<std::size_t>(first, 1); begin < lower.size(); ++begin) {
    const std::string_view before = std::string_view(lower).substr(0, begin);
    const auto size = power_unit(std::string_view(lower).substr(begin));
    if (size && std::ranges::any_of(kBefore, [&](auto end) { return before.ends_with(end); })) {
      return size;
    }
  }
  return std::nullopt;
}

// ---- Other units

// A number, a word or another character of a name, in lower case.
struct Token {
  std::string text;
  bool is_joined = false;  // nothing is between it and the one before

  bool is_number() const { return is_ascii_digit(text[0]); }
  bool is_word() const { return is_letter(text[0]); }
};

std::vector<Token> tokens_of(std::string_view name) {
  constexpr std::string_view kBetween = " \t._,:;-/|[]()";
  std::vector<Token> tokens;
  bool is_joined = false;
  while (!name.empty()) {
    const auto run = [&](auto is_in) {
      return static_cast<std::size_t>(std::ranges::find_if_not(name, is_in) - name.begin());
    };
    const std::size_t digits = run([](char c) { return is_ascii_digit(c) || c == '.'; });
    const std::size_t size = is_ascii_digit(name[0]) ? digits
                             : is_letter(name[0])    ? run(is_letter)
                                                     : std::size_t{1};
    const std::string_view text = name.substr(0, size);
    name.remove_prefix(size);
    if (kBetween.find(text[0]) != kBetween.npos) {
      is_joined = false;
      continue;
    }
    tokens.push_back({lower_ascii(text), is_joined});
    is_joined = true;
  }
  return tokens;
}

template <std::size_t N>
bool is_one_of(const std::string& word, const std::string_view (&words)[N]) {
  return std::ranges::find(words, word) != std::end(words);
}

constexpr std::string_view kPrefixes[] = {"deci", "centi", "nano", "pico",  "hecto",  "deca",
                                          "mega", "giga",  "tera", "tenth", "tenths", "hundredths"};
constexpr std::string_view kUnitWords[] = {
    "dw",  "cw",      "nw", "pw",         "gw",         "daw",         "dbm",        "dbw", "db",
    "j",   "mj",      "uj", "kj",         "joule",      "joules",      "wh",         "mwh", "kwh",
    "pct", "percent", "ws", "percentage", "millijoule", "millijoules", "kilojoules", "btu"};
// In brackets.
constexpr std::string_view kBracketUnits[] = {
    "a",     "ma",  "amp", "amps",  "v",      "mv",   "volt",     "volts",     "va",
    "mva",   "kva", "hp",  "count", "counts", "lsb",  "raw",      "adc",       "ticks",
    "units", "mhz", "ghz", "hz",    "c",      "degc", "fraction", "normalized"};
constexpr std::string_view kTimeUnits[] = {"us",     "ms",      "s",   "sec",    "secs",
                                           "second", "seconds", "min", "minute", "minutes"};
// Before the number of a device.
constexpr std::string_view kNumbered[] = {"gpu",    "card", "device", "dev",  "socket", "board",
                                          "module", "gcd",  "die",    "node", "index",  "nvidia"};
// Short words in square brackets that are no units.
constexpr std::string_view kShortWords[] = {
    "avg", "mean", "inst", "gpu", "card", "gcd", "die",  "xcd",  "tbp",  "tgp", "now",
    "min", "max",  "dev",  "all", "in",   "per", "of",   "the",  "nvml", "smi", "dcgm",
    "amd", "peak", "rms",  "ema", "each", "cur", "last", "node", "sum"};

bool is_other_unit(const std::string& word) {
  if (is_one_of(word, kPrefixes) || is_one_of(word, kUnitWords)) return true;
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return word.starts_with(prefix) && power_unit(std::string_view(word).substr(prefix.size()));
  });
}

bool is_factor(const Token& token) { return token.text == "x" || token.text == "times"; }

// Whether a number belongs to a device or to a time.
bool counts_something(const std::vector<Token>& tokens, std::size_t i) {
  const bool is_device = i > 0 && is_one_of(tokens[i - 1].text, kNumbered);
  return is_device || (i + 1 < tokens.size() && is_one_of(tokens[i + 1].text, kTimeUnits));
}

bool is_other_unit_in_brackets(std::string_view inside, bool are_square) {
  if (power_unit(inside)) return false;
  const std::vector<Token> tokens = tokens_of(inside);
  bool has_unit = false;
  bool has_number = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    const bool is_time = is_one_of(text, kTimeUnits) && i > 0 && tokens[i - 1].is_number();
    const bool is_plain = std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; });
    const bool is_model =
        is_plain && i + 1 < tokens.size() && tokens[i + 1].is_number() && tokens[i + 1].is_joined;
    if (tokens[i].is_number()) {
      if (i > 0 && is_factor(tokens[i - 1])) return true;
      has_number = has_number || !counts_something(tokens, i);
    } else if (!tokens[i].is_word()) {
      if (text == "%" || text == "*" || text == "^") return true;
    } else if (power_unit(text)) {
      has_unit = true;
    } else if (is_model || is_time) {
      continue;  // "H100", "1 s"
    } else if (is_other_unit(text) || is_one_of(text, kBracketUnits)) {
      return true;
    } else if (are_square && text.size() < 5 && !is_one_of(text, kShortWords)) {
      return true;
    }
  }
  const bool is_fraction = are_square && inside.find('.') != inside.npos && has_number;
  return is_fraction || (has_number && has_unit);
}

// A name without what is in brackets.
std::optional<std::string> other_unit_in_words(std::string_view name) {
  const std::vector<Token> tokens = tokens_of(name);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    const bool is_last = i + 1 == tokens.size();
    if (text == "%" || is_one_of(text, kPrefixes)) return text;
    if (tokens[i].is_word() && is_other_unit(text) && (is_last || text.size() > 2)) return text;
    if (is_last) break;
    const Token& next = tokens[i + 1];
    const bool is_scaled_unit = tokens[i].is_number() && !tokens[i].is_joined && next.is_joined &&
                                (power_unit(next.text) || is_other_unit(next.text));
    const bool is_factor_of =
        text == "x" && !tokens[i].is_joined && next.is_joined && next.is_number();
    if (is_scaled_unit || is_factor_of) return text + next.text;
  }
  return std::nullopt;
}

// Another unit that a column's name states: "10mW" in "power [10mW]", "x10 mW", "dW", "dBm", "%",
// "mJ". Words that say how, where or how long was measured are no unit:
// "power (GPU 0)", "power [1 s avg]". Returns nullopt if there is none.
std::optional<std::string> other_unit_in_name(std::string_view name) {
  std::string words;
  while (!name.empty()) {
    const std::size_t open = std::min(name.find_first_of("[("), name.size());
    words += name.substr(0, open);
    name.remove_prefix(open);
    if (name.empty()) break;
    const bool are_square = name[0] == '[';
    const std::size_t end = std::min(name.find(are_square ? ']' : ')'), name.size());
    const std::string_view inside = strip(name.substr(1, end - 1));
    if (is_other_unit_in_brackets(inside, are_square)) return std::string(inside);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return other_unit_in_words(words);
}

}  // namespace

std::optional<std::string> other_unit_text(std::string_view name) {
  const auto unit = other_unit_in_name(name);
  if (!unit) return std::nullopt;
  return fmt::format(
      "'{}' states the unit '{}', in which power is not read: record it in W, mW, uW or kW",
      printable(name), printable(*unit));
}

std::optional<PowerUnit::Size> power_unit(std::string_view text) {
  if (text.size() > kLongestUnit) return std::nullopt;
  const std::string lower = lower_ascii(text);
  std::string_view unit = lower;
  for (const std::string_view end : {"watts", "watt", "w"}) {
    if (!unit.ends_with(end)) continue;
    unit.remove_suffix(end.size());
    if (unit.ends_with('-')) unit.remove_suffix(1);
    if (unit.empty()) return PowerUnit::Size::watt;
    if (unit == "m" || unit == "milli") return PowerUnit::Size::milliwatt;
    if (unit == "k" || unit == "kilo") return PowerUnit::Size::kilowatt;
    if (unit == "u" || unit == "micro" || unit == "\u00B5" || unit == "\u03BC") {
      return PowerUnit::Size::microwatt;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<PowerUnit::Size> power_unit_in_name(std::string_view name) {
  std::optional<PowerUnit::Size> found;
  while (!name.empty()) {
    const auto end = std::ranges::find_if_not(name, is_letter);
    const std::string_view word(name.begin(), end);
    auto size = power_unit(word);
    if (!size) size = unit_at_end(word);
    if (size) found = size;
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return found;
}

// In the order of PowerUnit::Size.
constexpr std::string_view kSizeSymbols[] = {"W", "mW", "kW", "uW"};
constexpr std::string_view kSizeWords[] = {"watts", "milliwatts", "kilowatts", "microwatts"};

std::string_view unit_symbol(PowerUnit::Size size) {
  return kSizeSymbols[static_cast<std::size_t>(size)];
}
std::string_view unit_word(PowerUnit::Size size) {
  return kSizeWords[static_cast<std::size_t>(size)];
}

// ---- Boundaries of what is measured

std::string measured_boundary(std::string_view sensor_scope) {
  // A package is that of a GPU here; a plain table that names no sensor is taken for GPUs.
  if (sensor_scope == "unknown" || sensor_scope == "package" || sensor_scope.empty()) return "gpu";
  return std::string(sensor_scope);
}

std::string boundary_of_figures(const FacilityRates& rates, const std::string& measured) {
  return rates.pue ? "facility" : measured;
}

// ---- Parses names of columns.

std::vector<std::string> parse_column_names(std::string_view text) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const std::string_view part : separated(text, ',')) {
    const std::string_view name = strip(part);
    if (!name.empty() && !seen.insert(name).second) {
      throw Error(fmt::format("--columns: '{}' is there twice", printable(name)));
    }
    names.emplace_back(name);
  }
  if (std::ranges::all_of(names, &std::string::empty)) {
    throw Error(fmt::format(
        "--columns: expected names such as timestamp,index,power.draw, got '{}'", printable(text)));
  }
  return names;
}

// ---- Names of zone witnesses and levels.

namespace {

constexpr std::string_view kWitnesses[] = {"stamps",    "zone_file", "option",      "edges",
                                           "consensus", "file_time", "process_zone"};
constexpr std::string_view kLevels[] = {"stated", "two_witnesses", "one_witness"};

std::size_t index_of(std::string_view name, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw Error(fmt::format("unknown word '{}'", name));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string_view name_of(ZoneWitness witness) {
  return kWitnesses[static_cast<std::size_t>(witness)];
}
std::string_view name_of(ZoneLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

ZoneWitness witness_of(std::string_view name) {
  return static_cast<ZoneWitness>(index_of(name, kWitnesses));
}
ZoneLevel level_of(std::string_view name) {
  return static_cast<ZoneLevel>(index_of(name, kLevels));
}

}  // namespace aggregate_power
