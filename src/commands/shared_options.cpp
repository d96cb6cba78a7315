// Options that several commands share.
#include "commands/shared_options.h"

#include <cstdlib>

#include "base/text/unicode.h"

namespace aggregate_power {

bool required_by_environment() {
  const char* const value = std::getenv("REQUIRE_POWER");
  const std::string lower = lower_ascii(value == nullptr ? "" : value);
  return lower == "1" || lower == "true" || lower == "yes";
}

void add_telemetry_options(Options& options, TelemetryOptionTexts& texts) {
  options.value("--timestamp-column", "TEXT", into(texts.columns.timestamp),
                "The column of times, by name (default: chosen by the header)");
  options.value(
      "--power-column", "TEXT", into(texts.columns.power),
      "The column of power draw, by name; 'power.draw' finds 'power.draw [W]' too (default: "
      "chosen by the header)");
  options.value("--device-column", "TEXT", into(texts.columns.device),
                "The column that tells GPUs apart, by name (default: chosen by the header)");
  add_power_unit(options, texts.power_unit);
  options
      .value("--timezone", "TEXT", into(texts.timezone),
             "What stamps without an offset mean: local, UTC, +HH:MM, -HH:MM or Area/City "
             "(default: timestamp_timezone of STEM_context.json beside the file, else local)")
      .offer({"local", "UTC"});
}

void add_power_unit(Options& options, std::string& text) {
  options
      .value("--power-unit", "mW|W|kW", into(text),
             "What a bare number in the power column counts: mW, W or kW; a cell that states a "
             "unit keeps it (default: as the column's name says, else W)")
      .one_of({"mW", "W", "kW"});
}

ColumnNames columns_of(const TelemetryOptionTexts& texts) {
  ColumnNames columns = texts.columns;
  columns.power_unit = power_unit(texts.power_unit);
  return columns;
}

void add_agg_result(Options& options, RunOptionTexts& texts) {
  options
      .value("--agg-result", "FILE", into(texts.agg_result), "Aggregate result, patched in place")
      .required();
}

void add_max_sample_gap(Options& options, RunOptionTexts& texts) {
  options
      .value(
          "--max-sample-gap", "SECONDS", into(texts.max_sample_gap),
          "Longest gap between two samples of a GPU; rows so near the window count too (default: "
          "3)")
      .check(seconds());
}

void add_outcome_options(Options& options, RunOptionTexts& texts, const std::string& extended) {
  options.flag("--extended", texts.extended, extended);
  options.flag("--require-power", texts.require_power,
               "End with status 1 when power is not valid (also: REQUIRE_POWER=1, true or yes)");
  options.flag("--dry-run", texts.dry_run, "Print what would change; write nothing");
}

void add_bench_result(Options& options, std::string& path) {
  options
      .value("--bench-result", "FILE", into(path),
             "Raw benchmark result: the window and the token counts")
      .required();
}

std::optional<Zone> zone_of(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(Zone::parse(text));
}

std::string path_of(const std::string& text) { return text.empty() ? "" : normal_path(text); }

}  // namespace aggregate_power
