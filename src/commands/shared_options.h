// Options that several commands share.
#pragma once

#include <optional>
#include <string>

#include "base/files/path.h"
#include "base/text/zone.h"
#include "commands/options.h"
#include "recorders/schema.h"

namespace aggregate_power {

// Whether $REQUIRE_POWER is 1, true or yes.
bool required_by_environment();

// What they set is plain text; zone_of() and such come after.
struct TelemetryOptionTexts {
  ColumnNames columns;
  std::string power_unit;
  std::string timezone;
};
void add_telemetry_options(Options& options, TelemetryOptionTexts& texts);
void add_power_unit(Options& options, std::string& text);

// Of the commands that measure one run.
struct RunOptionTexts {
  std::string agg_result;
  std::string max_sample_gap = "3";
  bool extended = false;
  bool require_power = false;
  bool dry_run = false;
};
void add_agg_result(Options& options, RunOptionTexts& texts);
void add_max_sample_gap(Options& options, RunOptionTexts& texts);
// --extended, which differs, --require-power and --dry-run.
void add_outcome_options(Options& options, RunOptionTexts& texts, const std::string& extended);

// What every such request has.
template <typename Request>
void set_run_options(Request& request, const RunOptionTexts& texts) {
  request.agg_result = normal_path(texts.agg_result);
  request.extended = texts.extended;
  request.require_power = texts.require_power || required_by_environment();
  request.dry_run = texts.dry_run;
}

// The raw benchmark result, which must be given.
void add_bench_result(Options& options, std::string& path);

ColumnNames columns_of(const TelemetryOptionTexts& texts);

// An option that was not given gives no zone, and an empty path.
std::optional<Zone> zone_of(const std::string& text);
std::string path_of(const std::string& text);

}  // namespace aggregate_power
