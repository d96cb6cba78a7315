// Tells the power of a GPU from other quantities with similar names.
#include "core/telemetry/power_names.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"

namespace aggregate_power::columns {
namespace {

// formats.md section 9 rows 11 and 12.
constexpr Pattern kGenericPower =
    "(gpu[ ._-]?)?(power|pwr)([ ._-]?(draw|usage|used|consumption))?"
    "([ ._-]?([umk]?w|(milli|micro|kilo|m|k)?-?watts?))?"
    "|gpu[ ._-]?(milli|micro|kilo)?watts?";
// Names with "power" in them that are not a draw: formats.md 5.1.
constexpr Pattern kLimitWords =
    ".*(limit|cap|default|enforced|requested).*|(max|min)power.*|.*power(max|min)"
    "|(.*[^a-z0-9])?(max|min)([^a-z0-9].*)?";
constexpr Pattern kNotADraw =
    ".*power[._ ]?management.*|.*inforom\\.(pwr|power).*|.*power[._ "
    "]?(state|profile|mode|unit|type).*"
    "|.*pstate.*|.*low[._ ]?power.*|.*clocks_(event|throttle)_reasons.*"
    "|.*(violation|throttle|brake|smoothing|residency).*"
    "|.*(energy|joule|kwh|mwh|totec|accumulator).*|.*_mj"
    "|.*%.*"
    "|.*(nano|deci|centi|hecto|deca|mega|giga)-?watts?.*|(.*[^a-z0-9])?[ncdg]w([^a-z0-9].*)?"
    "|(.*[^a-z0-9])?(pct|percent|percentage|ratio|factor|efficiency|cost|price|saved|savings|target"
    "|temp|temperature|wh|j|kj)([^a-z0-9].*)?";
constexpr Pattern kOtherScope =
    "(.*[^a-z0-9])?(cpu|processor|ram|dram|soc|ia|gt|sys|system|node|total|psu|pcie slot|6-pin|rail"
    "|mvddq|mtbl|ubb|module|board temp|hbm|memory|vram|fans?|rack|chassis|baseboard|sum|all"
    ")([^a-z0-9].*)?|.*(psu|ubb|mvddq|6-pin|pcie slot).*";
// Names of the power of a part of a GPU, or of another part of the machine.
constexpr Pattern kPart =
    "(.*[^a-z0-9])?(cores?|gfx|vddgfx|vddc?|uncore|package|pkg|chip|die|battery|bat|charger|apu"
    "|igpu|pcie|slot|pin|input|aux|display|screen|panel|lcd|backlight|usb|disk|ssd|nic|percent)([^a-z0-9].*)?"
    "|.*(core|package|battery|charger|memory|hbm|vram|dram|cpu|soc|fan)[ ._-]?(power|pwr).*"
    "|.*(power|pwr)[ ._-]?(core|package|battery|charger|memory|hbm|vram|dram|cpu|soc|fan).*";
// AMD's names of a whole GPU's power; the second only where nothing else is called a power.
constexpr Pattern kGraphicsPackage = ".*graphics package power.*";
constexpr Pattern kPackage = "(gpu[ ._-]?)?package[ ._-]?power([^a-z].*)?";
constexpr Pattern kExtremes = ".*(peak|median|q1|q3|_std).*";
constexpr Pattern kMeans = ".*(avg|mean).*";
constexpr Pattern kPower = ".*power.*";
constexpr Pattern kPowerOrShort = ".*(power|pwr).*";

bool is_excluded(const Name& name) {
  return matches(name.full, kLimitWords) || matches(name.full, kNotADraw) ||
         matches(name.full, kOtherScope);
}

Found not_excluded(const std::vector<Name>& names, bool without_means) {
  Found power;
  for (const Name& name : names) {
    if (matches(name.full, kPower) && !is_excluded(name) && !matches(name.full, kExtremes) &&
        !(without_means && matches(name.full, kMeans))) {
      power.push_back(&name);
    }
  }
  return power;
}

// Words that leave a power the power of a whole GPU as it was read.
constexpr std::string_view kPlainWords[] = {
    "power",       "pwr",           "draw",      "drawn",   "usage",    "use",      "used",
    "consumption", "consumed",      "gpu",       "dgpu",    "board",    "card",     "device",
    "dev",         "accelerator",   "asic",      "socket",  "average",  "avg",      "mean",
    "instant",     "instantaneous", "inst",      "current", "curr",     "cur",      "now",
    "latest",      "value",         "val",       "reading", "readings", "measured", "measurement",
    "actual",      "sensor",        "telemetry", "metric",  "process",  "nvidia",   "nvml",
    "dcgm",        "amd",           "rocm",      "intel",   "habana",   "gaudi",    "smi",
    "my",          "your",          "of",        "the"};
// After which a number is a device's.
constexpr std::string_view kNumberedWords[] = {"gpu", "dgpu", "card", "device", "accelerator"};

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_of_word(char c) {
  return is_small(c) || is_capital(c) || static_cast<unsigned char>(c) >= 0x80;
}

// A word, or plain words that are written as one: "gpupowerw".
bool is_plain_word(std::string_view word) {
  constexpr std::size_t kLongest = 64;
  if (word.size() > kLongest) return false;
  if (std::ranges::find(kPlainWords, word) != std::end(kPlainWords) || power_unit(word))
    return true;
  return std::ranges::any_of(kPlainWords, [&](std::string_view plain) {
    return plain.size() > 2 && word.starts_with(plain) && is_plain_word(word.substr(plain.size()));
  });
}

// The first word of `text`, or number, or the character that is neither. "GPUPowerDraw" has three
// words, "mW" is one.
std::string_view first_word(std::string_view text) {
  const auto run = [&](bool (*is_in)(char)) {
    return text.substr(
        0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_in) - text.begin()));
  };
  if (is_ascii_digit(text[0])) return run(is_ascii_digit);
  const std::string_view letters = run(is_of_word);
  if (letters.empty() || power_unit(letters))
    return text.substr(0, std::max<std::size_t>(letters.size(), 1));
  for (std::size_t end = 1; end < letters.size(); ++end) {
    if (!is_capital(letters[end])) continue;
    const bool ends_capitals = end + 1 < letters.size() && is_small(letters[end + 1]);
    if (is_small(letters[end - 1]) || ends_capitals) return letters.substr(0, end);
  }
  return letters;
}

// Whether nothing in the name says that it may be another quantity than the power that a whole GPU
// draws: a budget, a forecast, a percentile, a count, the power of a part, of a host.
bool is_plain(std::string_view name) {
  constexpr std::string_view kBetween = " ._-:()[]";
  std::string last;  // word
  while (!name.empty()) {
    const std::string word = lower_ascii(first_word(name));
    name.remove_prefix(word.size());
    if (kBetween.find(word[0]) != kBetween.npos) continue;
    if (last == "in" && !power_unit(word)) return false;  // the power into something
    const bool is_number = is_ascii_digit(word[0]);
    // hwmon's files have the number 1 for the only sensor.
    const bool is_of_device = std::ranges::find(kNumberedWords, last) != std::end(kNumberedWords) ||
                              (last == "power" && word == "1");
    if (is_number ? !is_of_device : !is_plain_word(word) && word != "in") return false;
    last = word;
  }
  return last != "in";
}

// All that is called a power and is neither a limit nor another quantity, whatever draws it.
Found all_power(const std::vector<Name>& names) {
  Found power;
  for (const Name& name : names) {
    if (columns::is_power_name(name.full)) power.push_back(&name);
  }
  return power;
}

std::string doubt_about(const Name& name, const Found& all) {
  if (all.size() < 2) {
    return fmt::format(
        "'{}' in the header is not known as the power of a whole GPU: if it is, name it with "
        "--power-column",
        printable(name.full));
  }
  return fmt::format(
      "the header has {}; '{}' is not known as the power of a whole GPU: name the column that is "
      "with --power-column",
      quoted_list(all), printable(name.full));
}

bool is_word(char c) { return is_ascii_digit(c) || (c >= 'a' && c <= 'z'); }

// "5m" and "100ms" at the begin of a text, in seconds; 0: there is no such time.
double leading_duration_s(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  constexpr std::size_t kMostDigits = 6;
  if (digits == 0 || digits > kMostDigits) return 0;
  const std::string_view rest = text.substr(digits);
  for (const auto& [unit, seconds] : kUnits) {
    const bool is_unit =
        rest.starts_with(unit) && (rest.size() == unit.size() || !is_word(rest[unit.size()]));
    if (is_unit) return seconds * std::stod(std::string(text.substr(0, digits)));
  }
  return 0;
}

// The longest time that follows one of the marks.
double longest_after_s(std::string_view text, std::span<const std::string_view> marks) {
  double longest_s = 0;
  for (const std::string_view mark : marks) {
    for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
      longest_s = std::max(longest_s, leading_duration_s(text.substr(at + mark.size())));
    }
  }
  return longest_s;
}

}  // namespace

double averaged_over_s(std::string_view name) {
  constexpr std::string_view kFunctions[] = {"avg_over_time",      "sum_over_time", "min_over_time",
                                             "max_over_time",      "rate",          "deriv",
                                             "quantile_over_time", "increase",      "delta"};
  constexpr std::string_view kRange[] = {"["};
  constexpr std::string_view kSuffixes[] = {":avg",  ":avg_", ":mean",         ":mean_",
                                            ":rate", "_avg_", "_mean_",        "_rate_",
                                            "_avg",  "_mean", "avg_over_time_"};
  const std::string lower = lower_ascii(name);
  const bool is_query = std::ranges::any_of(kFunctions, [&](std::string_view function) {
    const std::size_t at = lower.find(function);
    return at != lower.npos && (at == 0 || lower[at - 1] != 'i') &&
           lower.substr(at + function.size()).starts_with('(');
  });
  return longest_after_s(lower, is_query ? std::span<const std::string_view>(kRange)
                                         : std::span<const std::string_view>(kSuffixes));
}

Found generic_power(const std::vector<Name>& names) {
  Found power;
  for (const Name& name : names) {
    if (kGenericPower.matches(name.plain) && !is_excluded(name)) power.push_back(&name);
  }
  return power;
}

LoosePower loose_power(const std::vector<Name>& names) {
  LoosePower power = {not_excluded(names, true), {}};
  if (power.columns.empty()) power.columns = not_excluded(names, false);
  const Found all = all_power(names);
  const auto is_whole_package = [&](const Name& name) {
    return matches(name.full, kGraphicsPackage) ||
           (all.size() == 1 && matches(name.full, kPackage));
  };
  const auto is_part = [&](const Name* name) {
    return matches(name->full, kPart) && !is_whole_package(*name);
  };
  const bool are_parts = std::ranges::all_of(power.columns, is_part);
  if (!are_parts) std::erase_if(power.columns, is_part);
  if (power.columns.empty()) return power;
  const Name& first = *power.columns.front();
  const bool is_known = !are_parts && (is_plain(first.full) || is_whole_package(first));
  if (!is_known) power.doubt = doubt_about(first, all);
  return power;
}

bool is_power_name(const std::string& name) {
  return matches(name, kPowerOrShort) && !matches(name, kLimitWords) && !matches(name, kNotADraw);
}

bool may_be_other_gpu(const std::string& name) {
  static constexpr Pattern gpu = "(.*[^a-z])?(d?gpu|card|accelerator)([^a-z].*)?";
  static constexpr Pattern part =
      "(.*[^a-z])?(cpu|soc|hbm|d?ram|vram|mem|memory|total|sum|all|std|process|rail|psu)([^a-z].*)?";
  return matches(name, gpu) && is_power_name(name) && !is_plain(name) && !matches(name, part) &&
         !matches(name, kPart) && !matches(name, kExtremes);
}

std::optional<NumberedPower> numbered_power(std::string_view name) {
  constexpr std::string_view kBetween = " ._-:()[]/#";
  constexpr std::string_view kLabel = "/l:";
  NumberedPower found;
  if (const std::size_t label = name.find(kLabel); label != name.npos) {
    found.host = name.substr(label + kLabel.size());
    name = name.substr(0, label);
  }
  const std::string own(name);
  found.unit = read_names({&own, 1})[0].unit;
  for (const std::string_view host : {"system.", "system/"}) {
    if (name.starts_with(host)) name.remove_prefix(host.size());
  }
  bool is_power = false;
  std::size_t words = 0;
  std::string last;
  while (!name.empty()) {
    const std::string word = lower_ascii(first_word(name));
    name.remove_prefix(word.size());
    if (kBetween.find(word[0]) != kBetween.npos) continue;
    ++words;
    if (is_ascii_digit(word[0])) {
      const bool is_of_gpu = std::ranges::find(kNumberedWords, last) != std::end(kNumberedWords);
      if (!is_of_gpu || !found.gpu.empty()) return std::nullopt;
      found.gpu = word;
    } else if (!is_plain_word(word)) {
      return std::nullopt;
    }
    is_power = is_power || power_unit(word) || word.find("power") != word.npos ||
               word.find("pwr") != word.npos || word.find("watt") != word.npos;
    last = word;
  }
  found.is_bare = !is_power && words == 2;
  if (found.gpu.empty() || !(is_power || found.is_bare)) return std::nullopt;
  return found;
}

std::optional<NumberedPower> numbered_limit(std::string_view name) {
  std::string power(name);
  const auto remove = [&](std::string_view word) {
    const std::size_t at = lower_ascii(power).find(word);
    if (at != std::string::npos) power.erase(at, word.size());
    return at != std::string::npos;
  };
  if (!remove("limit")) return std::nullopt;
  remove("enforced");
  auto limit = numbered_power(power);
  return limit && !limit->is_bare ? std::move(limit) : std::nullopt;
}

std::optional<NumberedPower> numbered_utilization(std::string_view name) {
  constexpr std::string_view kOfTracker = ".gpu";
  const std::string lower = lower_ascii(name);
  for (const std::string_view part : {"mem", "enc", "dec", "jpg", "ofa", "tensor", "pcie"}) {
    if (lower.find(part) != lower.npos) return std::nullopt;
  }
  const bool is_of_tracker = lower.starts_with("system") && lower.ends_with(kOfTracker);
  const std::size_t at = is_of_tracker ? lower.size() - kOfTracker.size() + 1 : lower.find("util");
  if (at == lower.npos) return std::nullopt;
  auto used = numbered_power(std::string(name.substr(0, at)) + "power_w");
  return used && !used->is_bare ? std::move(used) : std::nullopt;
}

NvitopName nvitop_name(std::string_view name) {
  static constexpr Pattern device = "gpu:[0-9]+|cuda:[0-9:]+ \\(gpu:[0-9]+\\)";
  NvitopName found;
  const auto take_last = [&] {
    const std::size_t slash = name.rfind('/');
    const std::string_view part = slash == name.npos ? name : name.substr(slash + 1);
    name = slash == name.npos ? std::string_view() : name.substr(0, slash);
    return part;
  };
  const std::string_view last = take_last();
  found.is_time = last == "timestamp";
  found.is_time_of_last = last == "last_timestamp";
  found.is_duration = last == "duration (s)";
  if ((last != "last" && last != "mean") || take_last() != "power_usage (W)") return found;
  std::string_view gpu = take_last();
  if (!device.matches(gpu)) return found;
  if (gpu.ends_with(')')) gpu.remove_suffix(1);
  found.gpu = gpu.substr(gpu.rfind(':') + 1);
  found.is_last = last == "last";
  found.is_mean = last == "mean";
  return found;
}

Found power_limits(const std::vector<Name>& names) {
  Found limits;
  for (const Name& name : names) {
    if (matches(name.full, kPowerOrShort) && matches(name.full, kLimitWords)) {
      limits.push_back(&name);
    }
  }
  return limits;
}

}  // namespace aggregate_power::columns
