// Rows of a power-limit sweep: a rate of tokens and the power at one moment, under one limit.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/time_zone.h"

namespace aggregate_power {

// The columns of the sweep tool (gpu-tune), in its order. The last two need not be there.
inline constexpr std::string_view kSweepColumns[] = {
    "timestamp",   "tokens_per_sec", "temperature",      "fan_speed",
    "memory_used", "power_draw",     "gpu_utilization",  "memory_utilization",
    "power_limit", "max_watt",       "total_power_draw", "loss"};
inline constexpr std::size_t kLeastSweepColumns = 10;

// A CSV in memory. Names are trimmed and in lower case.
struct SweepTable {
  std::string path;
  std::shared_ptr<const std::vector<std::string>> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // each with as many cells as there are columns

  std::optional<std::size_t> column(std::string_view name) const;
  // The cell, trimmed; empty if the table has no such column.
  std::string_view cell(std::size_t row, std::string_view name) const;
};

// May be compressed. Throws FileError, and Error for a file that is not a CSV.
SweepTable read_sweep_table(const std::string& path);
// Whether all `names` are columns.
bool has_columns(const SweepTable& table, std::initializer_list<std::string_view> names);

// The number in a cell, with or without the unit W; NaN for anything else, and for what no run can
// have.
double sweep_number(std::string_view cell);

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// NaN where it is not known.
struct SweepRow {
  double unix_s = 0;
  double limit_w = kNoNumber;     // as asked for; else the one in force
  double in_force_w = kNoNumber;  // as a GPU reported it
  double tokens_per_s = kNoNumber;
  double gpu_power_w = kNoNumber;    // of one GPU
  double total_power_w = kNoNumber;  // of all GPUs
  std::shared_ptr<const std::vector<std::string>> columns = {};
  std::vector<std::string> cells = {};  // as they were
};

// The rows of one load: training or inference.
struct SweepRows {
  std::string scenario;
  std::vector<SweepRow> rows = {};
  std::size_t unusable = 0;  // without a time, a rate, a power or a limit
  std::size_t repeated = 0;  // exactly like another one
};

inline constexpr const char* kTraining = "training";
inline constexpr const char* kInference = "inference";

// Adds the rows of `table` to those of their scenario: the one given, else what a column that is
// named after it, the file's name or a column `loss` says, else inference. Stamps without an offset
// are read in `zone`.
void add_sweep_rows(const SweepTable& table, const std::string& scenario, const Zone& zone,
                    std::vector<SweepRows>& all);

// Whether the energy is that of all GPUs: each row has a total.
bool have_total_power(const SweepRows& rows);

// In an order that does not depend on that of the files and rows, each once, all with the same kind
// of power.
void settle_rows(SweepRows& rows);

}  // namespace aggregate_power
