// Reads instants and durations from the command line.
#include "commands/options/given_load.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/instant.h"
#include "base/text/python_number.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// A time without an offset, too: settle_given_load() knows its zone.
std::optional<double> any_instant(std::string_view text) {
  const Zone utc = Zone::parse("UTC");
  return instant_of(text, &utc);
}

Take into_instant(std::optional<double>& instant) {
  return [&instant](const std::string& text) {
    instant = any_instant(text);
    return instant.has_value();
  };
}

std::optional<Zone> zone_given(const Options& options) {
  const std::string text = options.text("--timezone");
  const bool is_named = !text.empty() && text != "auto" && text != "evidence";
  return is_named ? std::optional(Zone::parse(text)) : std::nullopt;
}

void settle_instant(const Options& options, const char* name, const std::optional<Zone>& zone,
                    std::optional<double>& instant) {
  const std::string text = options.text(name);
  if (!instant || instant_of(text)) return;
  if (!zone) {
    throw Error(
        fmt::format("{}: '{}' has no offset: append Z or +HH:MM, or name the zone with --timezone",
                    name, printable(text)));
  }
  instant = instant_of(text, &*zone);
  if (!instant) {
    throw Error(fmt::format("{}: '{}' is no time that the zone {} has", name, printable(text),
                            zone->name()));
  }
}

// An instant, or "+60s" after the start.
Take into_end(GivenLoad& given) {
  return [&given](const std::string& text) {
    if (!text.starts_with('+')) return into_instant(given.end_unix_s)(text);
    given.duration_s = duration_in(std::string_view(text).substr(1));
    return given.duration_s.has_value();
  };
}

Take into_count(std::optional<std::int64_t>& count) {
  return [&count](const std::string& text) {
    count = python_int(text);
    return count && *count > 0;
  };
}

Check good(const std::string& what,
           const std::function<std::optional<double>(std::string_view)>& read) {
  return expecting(what, [read](const std::string& text) { return read(text).has_value(); });
}

std::optional<double> end_of(std::string_view text) {
  return text.starts_with('+') ? duration_in(text.substr(1)) : any_instant(text);
}

}  // namespace

std::optional<double> duration_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
  double unit_s = 1;
  const std::size_t digits = text.find_last_of("0123456789.") + 1;
  const std::string_view unit = text.substr(digits);
  if (!unit.empty()) {
    unit_s = 0;
    for (const auto& [name, value] : kUnits) {
      if (unit == name) unit_s = value;
    }
  }
  const auto number = python_float(text.substr(0, digits));
  const double seconds = number.value_or(0) * unit_s;
  return std::isfinite(seconds) && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

void settle_given_load(const Options& options, GivenLoad& given) {
  const std::optional<Zone> zone = zone_given(options);
  settle_instant(options, "--start", zone, given.start_unix_s);
  settle_instant(options, "--end", zone, given.end_unix_s);
  const bool ends_after = options.text("--end").starts_with('+');
  if (ends_after && options.is_given("--duration")) {
    throw Error("--end and --duration: both say how long the load took; give one of them");
  }
  if (given.start_unix_s && given.end_unix_s && given.duration_s) {
    throw Error("--start, --end and --duration: two of them are enough; leave one out");
  }
  if (given.duration_s && !given.has_window()) {
    throw Error(fmt::format("{}: expected --start beside it{}", ends_after ? "--end" : "--duration",
                            ends_after ? "" : ", or --end"));
  }
}

void add_given_load(Options& options, GivenLoad& given) {
  constexpr const char* kInstant = "a time such as 2026-09-08T07:20:30Z, or seconds since 1970";
  options
      .value(
          "--start", "TIME", into_instant(given.start_unix_s),
          "When the load began: ISO 8601, what 'date' or nvidia-smi prints, or seconds since 1970; a time without an offset needs --timezone (default: what the result says)")
      .check(good(kInstant, any_instant));
  options
      .value("--end", "TIME", into_end(given),
             "When it ended: a time, or +60s after the start (default: what the result says)")
      .check(good(fmt::format("{}, or +60s", kInstant), end_of));
  const auto into_duration = [&given](const std::string& text) {
    given.duration_s = duration_in(text);
    return given.duration_s.has_value();
  };
  options.value("--duration", "TIME", into_duration, "How long it took: 60, 60s, 1.5m, 2h")
      .check(good("a time such as 60s", duration_in));
  const auto count = [&](const char* name, std::optional<std::int64_t>& into,
                         const char* help) -> Option& {
    return options.value(name, "N", into_count(into), help)
        .check(expecting("a whole number above 0", [](const std::string& text) {
          const auto number = python_int(text);
          return number && *number > 0;
        }));
  };
  count("--output-tokens", given.output_tokens, "Output tokens, in place of the result's");
  count("--input-tokens", given.input_tokens, "Input tokens, in place of the result's");
  count("--request-count", given.requests, "Successful requests, in place of the result's")
      .formerly("--requests");
}

}  // namespace aggregate_power
