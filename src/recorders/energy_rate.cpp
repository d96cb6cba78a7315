// Reads hourly series, and refuses what would have to be guessed.
#include "recorders/energy_rate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/csv_dialect.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/json_value.h"
#include "base/text/pattern.h"
#include "base/text/show_time.h"
#include "base/text/time_zone.h"
#include "base/text/timestamp.h"
#include "core/model/units.h"

namespace aggregate_power {
namespace {

constexpr double kKwhInMwh = 1000;
constexpr std::size_t kMostRateBytes = std::size_t{64} << 20;

struct HourValue {
  double unix_s = 0;
  double value = 0;
};

// A series as its file lists it.
struct HourList {
  std::string zone = {};
  std::vector<HourValue> hours = {};
  bool are_digits = true;  // each value is one digit, and so many are in the column after it
};

double hour_beginning(std::string_view text) {
  const auto unix_s = instant_of(text);
  if (!unix_s) {
    const Zone utc = Zone::fixed(0);
    throw Error(
        fmt::format("'{}' {}", printable(text),
                    instant_of(text, &utc)
                        ? "has no offset from UTC: write one, as in 2024-11-30T06:00:00+01:00, or Z"
                        : "is not a time: expected ISO 8601 with an offset or Z, or Unix seconds"));
  }
  if (*unix_s < kFirstAbsoluteUnixS) {
    throw Error(fmt::format("{} is not Unix time, which is above 1e8", printable(text)));
  }
  return *unix_s;
}

double rate_value(std::string_view text, RateKind kind) {
  const auto value = python_float(text);
  if (!value || !std::isfinite(*value)) {
    throw Error(fmt::format("'{}' is not a number", printable(text)));
  }
  if (kind == RateKind::carbon && *value < 0) {
    throw Error(fmt::format("{} g of CO2e per kWh is below 0", printable(text)));
  }
  if (is_beyond_measure(*value)) {
    throw Error(fmt::format("{} per kWh is no rate that there can be", printable(text)));
  }
  return *value;
}

// ---- CSV

struct RateColumns {
  std::size_t time = 0;
  std::size_t value = 0;
  std::size_t unit = 0;   // past the last one: there is none
  bool has_unit = false;  // in the header
  std::size_t cells = 0;  // of the header, up to the last one with a name
  double per_kwh = 1;     // what a value of 1 is per kWh
};

// What a number of this unit is per kWh, in the currency or in g: 1 for "EUR/kWh" and "gCO2/kWh",
// 0.001 for "EUR/MWh", 1000 for "kg/kWh". Returns nullopt for a unit that is not known, such as
// "ct/kWh".
std::optional<double> per_kwh_of(std::string_view unit, RateKind kind) {
  static const Pattern energy = "(.*[^a-z])?(kwh|mwh)";
  static const Pattern parts =
      "(.*[^a-z])?(ct|cts|cents?|c|p|pence|rp|mills?|ore|sen|kr?.?ore)([^a-z].*)?";
  static const Pattern grams = "(g|grams?)([^a-z].*|co2.*)?";
  static const Pattern kilograms = "(kg|kilograms?)([^a-z].*|co2.*)?";
  static const Pattern tonnes = "(t|tons?|tonnes?)([^a-z].*|co2.*)?";
  const std::string lower = lower_ascii(strip(unit));
  if (!energy.matches(lower)) return std::nullopt;
  const double kwh = lower.ends_with("mwh") ? kKwhInMwh : 1;
  const std::string_view amount = std::string_view(lower).substr(0, lower.size() - 3);
  if (kind == RateKind::price) {
    return parts.matches(amount) ? std::nullopt : std::optional(1 / kwh);
  }
  if (grams.matches(amount)) return 1 / kwh;
  if (kilograms.matches(amount)) return 1000 / kwh;
  if (tonnes.matches(amount)) return 1e6 / kwh;
  return std::nullopt;
}

// The unit in the name of a column of values: "EUR/MWh" in "value [EUR/MWh]", "eur_per_kwh" in
// "value_eur_per_kwh", "" in "value". Returns nullopt for another column.
std::optional<std::string> unit_of_value(std::string_view name) {
  constexpr std::string_view kName = "value";
  constexpr std::string_view kBefore = " ._([-";
  std::string_view text = strip(name);
  if (!lower_ascii(text).starts_with(kName)) return std::nullopt;
  text.remove_prefix(kName.size());
  if (!text.empty() && kBefore.find(text[0]) == kBefore.npos) return std::nullopt;
  while (!text.empty() && kBefore.find(text[0]) != kBefore.npos) text.remove_prefix(1);
  if (text.ends_with(']') || text.ends_with(')')) text.remove_suffix(1);
  return std::string(strip(text));
}

std::string unknown_unit_text(std::string_view text, RateKind kind, std::string_view verb) {
  return fmt::format("'{}' {} a unit that is not known: expected {}", printable(text), verb,
                     kind == RateKind::price ? "a whole currency per kWh or MWh, as in EUR/MWh"
                                             : "g, kg or t of CO2 per kWh or MWh, as in g/kWh");
}

// What a number is per kWh in the unit that its own row or file states; empty: in `otherwise`.
double stated_per_kwh(std::string_view unit, RateKind kind, double otherwise) {
  if (strip(unit).empty()) return otherwise;
  const auto per_kwh = per_kwh_of(unit, kind);
  if (!per_kwh) throw Error(unknown_unit_text(strip(unit), kind, "is"));
  return *per_kwh;
}

std::optional<RateColumns> rate_columns(const std::vector<std::string>& header, RateKind kind) {
  const auto place_of = [&](const auto& is_wanted) {
    return static_cast<std::size_t>(std::ranges::find_if(header, is_wanted) - header.begin());
  };
  RateColumns columns;
  columns.time =
      place_of([](const std::string& name) { return lower_ascii(strip(name)) == "time"; });
  columns.unit = place_of([](const std::string& name) {
    static const Pattern pattern = "(value[ ._-]*)?units?";
    return pattern.matches(lower_ascii(strip(name)));
  });
  columns.value = place_of([](const std::string& name) {
    static const Pattern is_of_unit = ".*[ ._-]units?";
    return unit_of_value(name).has_value() && !is_of_unit.matches(lower_ascii(strip(name)));
  });
  columns.cells = header.size();
  while (columns.cells > 0 && strip(header[columns.cells - 1]).empty()) --columns.cells;
  if (columns.time == header.size() || columns.value == header.size()) return std::nullopt;
  const std::string unit = *unit_of_value(header[columns.value]);
  const auto per_kwh = unit.empty() ? std::optional(1.0) : per_kwh_of(unit, kind);
  if (!per_kwh) throw Error(unknown_unit_text(header[columns.value], kind, "has"));
  columns.per_kwh = *per_kwh;
  columns.has_unit = !unit.empty();
  return columns;
}

void add_rate_row(const std::vector<std::string>& cells, const RateColumns& columns, RateKind kind,
                  HourList& list) {
  if (cells.size() <= std::max(columns.time, columns.value)) {
    throw Error(fmt::format("the row has {} cells, too few for its columns", cells.size()));
  }
  for (std::size_t i = columns.cells; i < cells.size(); ++i) {
    if (strip(cells[i]).empty()) continue;
    throw Error(fmt::format(
        "the row has {} cells, and the header {}: write numbers with a point, as in 0.2, or separate cells with semicolons",
        cells.size(), columns.cells));
  }
  const std::string_view value = strip(cells[columns.value]);
  const std::string_view next =
      columns.value + 1 < cells.size() ? strip(cells[columns.value + 1]) : std::string_view();
  list.are_digits =
      list.are_digits && value.size() == 1 && is_ascii_digits(value) && is_ascii_digits(next);
  const double per_kwh =
      stated_per_kwh(columns.unit < cells.size() ? cells[columns.unit] : "", kind, columns.per_kwh);
  if (columns.has_unit && per_kwh != columns.per_kwh) {
    throw Error(fmt::format("'{}' is not the unit in the header", printable(cells[columns.unit])));
  }
  list.hours.push_back({hour_beginning(strip(cells[columns.time])),
                        rate_value(strip(cells[columns.value]), kind) * per_kwh});
}

// In the usual dialect; the rows stay in their lines.
std::string usual_table(std::string_view text) {
  const CsvDialect dialect = csv_dialect(text, true);
  if (dialect.is_usual()) return std::string(text);
  return read_up_to(*as_usual_csv(std::make_unique<MemorySource>(text), dialect),
                    std::string::npos);
}

HourList read_rate_table(std::string_view written, const std::string& name, RateKind kind) {
  HourList list;
  std::string text;
  std::optional<RateColumns> columns;
  std::uint64_t line = 1;
  std::vector<CsvTextRow> rows;
  try {
    text = usual_table(written);
    split_csv(text, text.size() + 1, true, rows);
  } catch (const CsvError& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
  for (const CsvTextRow& row : rows) {
    const std::string_view bytes = std::string_view(text).substr(row.begin, row.end - row.begin);
    try {
      if (row.blank || bytes.starts_with('#') || bytes.starts_with("sep=")) {
        // Nothing is said there.
      } else if (columns) {
        add_rate_row(row.cells, *columns, kind, list);
      } else if (columns = rate_columns(row.cells, kind); !columns) {
        throw Error(kind == RateKind::carbon
                        ? "expected a CSV with the columns time and value, or a history of "
                          "Electricity Maps in JSON"
                        : "expected a CSV with the columns time and value");
      }
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", name, line, error.what()));
    }
    line += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  }
  if (list.are_digits && !list.hours.empty()) {
    throw Error(fmt::format(
        "{}: each value is one digit with digits in the next column, which may be a number with a decimal comma: write numbers with a point, as in 0.2, or separate cells with semicolons",
        name));
  }
  return list;
}

// ---- JSON of Electricity Maps

HourList read_rate_history(std::string_view text, const std::string& name, RateKind kind) {
  JsonValue json;
  try {
    json = parse_json(text);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", name, error.what()));
  }
  const char* const key = json.find("history") != nullptr ? "history" : "data";
  if (!json.at(key).is_array()) {
    throw Error(fmt::format(
        "{}: expected a history of Electricity Maps, an object with a list 'history', or a CSV with the columns time and value",
        name));
  }
  if (kind == RateKind::price) {
    throw Error(fmt::format(
        "{}: a history of Electricity Maps is one of carbon: a price is a number or a CSV with the columns time and value",
        name));
  }
  HourList list{.zone = json.at("zone").text};
  const std::vector<JsonValue>& entries = json.at(key).items;
  const auto unit_of = [](const JsonValue& object) -> std::string_view {
    for (const char* const key_of_unit : {"unit", "units"}) {
      if (object.at(key_of_unit).is_string()) return object.at(key_of_unit).text;
    }
    return {};
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const JsonValue& intensity = entries[i].at("carbonIntensity");
    try {
      if (!entries[i].at("datetime").is_string()) throw Error("expected a text 'datetime'");
      const double unix_s = hour_beginning(entries[i].at("datetime").text);
      if (entries[i].find("carbonIntensity") == nullptr ||
          !(intensity.is_null() || intensity.is_number())) {
        throw Error("expected a number 'carbonIntensity'");
      }
      if (intensity.is_null()) continue;
      const double per_kwh =
          stated_per_kwh(unit_of(entries[i]), kind, stated_per_kwh(unit_of(json), kind, 1));
      list.hours.push_back({unix_s, rate_value(intensity.text, kind) * per_kwh});
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}[{}]: {}", name, key, i, error.what()));
    }
  }
  return list;
}

// ---- Both

std::string hour_text(double unix_s) {
  const std::string text = unix_and_iso(unix_s);
  const std::size_t iso = text.find('(');
  return iso == text.npos ? text : text.substr(iso + 1, text.size() - iso - 2);
}

constexpr double kOff = 1e-3;  // seconds by which times may be off

// The shortest time from one value to the next, up to an hour.
double step_of(const std::vector<HourValue>& hours, const std::string& name) {
  constexpr double kShortestS = 60;
  double step_s = kSecondsInHour;
  for (std::size_t i = 1; i < hours.size(); ++i) {
    const double apart_s = hours[i].unix_s - hours[i - 1].unix_s;
    if (apart_s <= kOff || apart_s >= step_s - kOff) continue;
    step_s = apart_s;
    const double off_s = std::remainder(kSecondsInHour, step_s);
    if (step_s >= kShortestS && std::abs(off_s) <= kOff) continue;
    throw Error(fmt::format(
        "{}: expected one value an hour, or for each part of it, such as 15 min, and {} follows {} by {}",
        name, hour_text(hours[i].unix_s), hour_text(hours[i - 1].unix_s),
        difference_in_words(step_s)));
  }
  return step_s;
}

// Each step once, without a gap.
EnergyRate series_of(HourList list, const std::string& name) {
  if (list.hours.empty()) throw Error(fmt::format("{}: it has no hour", name));
  std::ranges::stable_sort(list.hours, {}, &HourValue::unix_s);
  EnergyRate rate{.source = name, .zone = std::move(list.zone)};
  rate.first_unix_s = list.hours.front().unix_s;
  rate.step_s = step_of(list.hours, name);
  for (const HourValue& hour : list.hours) {
    const double before_s = rate.end_unix_s() - rate.step_s;
    const double step_s = hour.unix_s - before_s;
    if (std::abs(step_s - rate.step_s) <= kOff) {
      rate.per_kwh.push_back(hour.value);
    } else if (step_s > kOff) {
      throw Error(
          fmt::format("{}: {} are missing: {} follows {}; add them, since values are never guessed",
                      name, rate.step_s < kSecondsInHour ? "values" : "hours",
                      hour_text(hour.unix_s), hour_text(before_s)));
    } else if (hour.value != rate.per_kwh.back()) {
      throw Error(fmt::format("{}: {} has two values, {} and {}", name, hour_text(hour.unix_s),
                              rate.per_kwh.back(), hour.value));
    }
  }
  return rate;
}

}  // namespace

EnergyRate energy_rate_in(std::string_view text, const std::string& name, RateKind kind) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != text.npos && (text[first] == '{' || text[first] == '[');
  return series_of(
      is_json ? read_rate_history(text, name, kind) : read_rate_table(text, name, kind), name);
}

EnergyRate read_energy_rate(const std::string& text, RateKind kind) {
  if (python_float(text)) return {.per_kwh = {rate_value(text, kind)}};
  constexpr std::string_view kPerMwh = "/MWh";
  const std::string_view number = std::string_view(text).substr(0, text.rfind('/'));
  if (text.ends_with(kPerMwh) && python_float(number)) {
    return {.per_kwh = {rate_value(number, kind) / kKwhInMwh}};
  }
  static const Pattern decimal_comma = "-?[0-9]+,[0-9]+";
  if (decimal_comma.matches(text)) {
    throw Error(fmt::format("'{}' has a decimal comma: write a point", printable(text)));
  }
  static const Pattern with_unit = "-?[0-9]+([.,][0-9]+)?[^0-9]*[kmgt]?wh.*";
  if (with_unit.matches(lower_ascii(text))) {
    throw Error(fmt::format("'{}': write the number alone, {}per kWh, or as in 200/MWh",
                            printable(text), kind == RateKind::carbon ? "in g " : ""));
  }
  const std::string path = normal_path(text);
  const auto source = as_utf8(decompressed(open_source(path), path));
  const std::string content = read_up_to(*source, kMostRateBytes);
  if (content.size() == kMostRateBytes) {
    throw Error(fmt::format("{}: more than 64 MiB: divide the file", printable_path(path)));
  }
  return energy_rate_in(content, printable_path(path), kind);
}

// A price of a MWh, taken for one of a kWh, would be a thousand times too high. In these
// currencies no kWh costs so much.
void refuse_price_per_mwh(const EnergyRate& price, const std::string& currency) {
  constexpr double kMostPerKwh = 5;
  constexpr std::string_view kCurrencies[] = {"", "EUR", "USD", "GBP", "CHF"};
  const double highest = std::ranges::max(price.per_kwh);
  if (highest <= kMostPerKwh || std::ranges::find(kCurrencies, currency) == std::end(kCurrencies)) {
    return;
  }
  throw Error(fmt::format(
      "--price: {0} {1}{2}per kWh is more than any kWh costs: is it per MWh? then write {0}/MWh, or a column 'value [{3}/MWh]' in a file; or name its currency with --currency",
      highest, currency, currency.empty() ? "" : " ", currency.empty() ? "EUR" : currency));
}

// Kilograms and milligrams, and g per MWh, would be a thousand times off.
void refuse_impossible_carbon(const EnergyRate& carbon) {
  constexpr double kLowestGrid = 1;      // g: of wind, the lowest, it is about 10
  constexpr double kHighestGrid = 2000;  // of lignite, the highest, it is about 1200
  const double highest = std::ranges::max(carbon.per_kwh);
  if (highest == 0 || (highest >= kLowestGrid && highest <= kHighestGrid)) return;
  const bool is_less = highest < kLowestGrid;
  throw Error(fmt::format(
      "--carbon: {} g of CO2e per kWh is {} than any grid has: {}", highest,
      is_less ? "less" : "more",
      is_less ? "are these kilograms? expected grams, or a column 'value [kg/kWh]' in a file"
              : "is it per MWh? then write it as in 400000/MWh; expected grams per kWh"));
}

FacilityRates read_facility_rates(const FacilityOptions& options) {
  FacilityRates rates{.pue = options.pue, .currency = options.currency};
  if (!options.carbon.empty()) rates.carbon = read_energy_rate(options.carbon, RateKind::carbon);
  if (!options.price.empty()) rates.price = read_energy_rate(options.price, RateKind::price);
  if (rates.price) refuse_price_per_mwh(*rates.price, options.currency);
  if (rates.carbon) refuse_impossible_carbon(*rates.carbon);
  return rates;
}

std::vector<std::string> facility_doubts(const FacilityRates& rates) {
  constexpr double kHighestUsualPue = 3;
  std::vector<std::string> doubts;
  if (rates.pue && *rates.pue > kHighestUsualPue) {
    doubts.push_back(fmt::format(
        "--pue {}: facilities have 1.1 to 2: expected the energy of the facility over that of its computers",
        *rates.pue));
  }
  return doubts;
}

std::string hours_text(const EnergyRate& rate) {
  return fmt::format("{} to {}", hour_text(rate.first_unix_s), hour_text(rate.end_unix_s()));
}

}  // namespace aggregate_power
