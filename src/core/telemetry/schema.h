// Finds the columns of a telemetry CSV that contain the time, the power and the device.
//
// A table, one row per recorder (formats.md section 9): header patterns, tried in order; then a
// strict generic row; then the original's loose rule, except for names that are known not to be a
// power draw or a timestamp (formats.md 5.1, 5.2).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/column_names.h"
#include "aggregate_power/record_facts.h"
#include "aggregate_power/reason.h"
#include "core/telemetry/telemetry_options.h"
#include "core/telemetry/power_cell.h"

namespace aggregate_power {

struct Column {
  std::size_t index = 0;
  std::string name;  // as in the header, trimmed
  std::string why;   // for people: "the schema's own column", "named by --power-column"
};

// How the numbers in the first rows' power cells are written, all of them.
struct PowerForm {
  std::string unit;        // after the number, without blanks; empty: none, or not one for all
  std::size_t places = 0;  // the fewest digits after a point
  std::size_t digits = 0;  // the fewest before it
};

// Whether a cell ends before the unit or the digits that all others have: "6" after "652.17 W".
bool is_cut_off(std::string_view cell, const PowerForm& form);

struct Columns {
  std::string schema;  // "nvidia-smi", ..., "generic", "loose"; empty: not recognized
  std::optional<Column> timestamp;
  std::optional<Column> power;
  std::optional<Column> device;
  std::string device_doubt;    // why a column named as a device's is not `device`
  std::optional<Column> host;  // part of a device's name, if there is one
  // Further columns that say which GPU a row is of.
  struct Key {
    std::vector<std::size_t> places = {};  // hosts, pods, ranks
    std::optional<std::size_t> index = {};
    std::optional<std::size_t> uuid = {};
    std::optional<std::size_t> pci = {};
    bool by_id = false;  // `device` is one of the last two
  };
  std::optional<Key> key;             // absent if `device` and `host` say it all
  std::string identity_doubt;         // rows that seem to be of one GPU, and are not; empty: none
  bool may_take_turns = false;        // more rows would show whether hosts do
  bool shows_places = false;          // in the first rows one index is of several places
  std::optional<Column> metric_name;  // long format: only rows whose metric is `metric` are power
  std::string metric;                 // empty: the first power metric in the file
  std::vector<std::size_t> other_power;  // tried in turn if `power` contains no number
  double counter_unit_j = 0;             // not 0: `power` is a counter of energy, in this unit
  std::vector<SeriesFacts::OtherNames> other_names;  // of the devices
  std::optional<std::size_t> counter_resolution;     // a column whose number multiplies it
  PowerUnit unit;
  bool unit_is_recorders = false;  // it is not stated, but that is what the recorder writes
  bool naive_is_utc = false;       // the recorder writes UTC without saying so
  bool has_nanoseconds = false;    // the last three digits of each stamp count, too
  bool time_of_day = false;        // the timestamp column contains times without a date
  std::string only_device;         // the device of all rows, if the recorder has only one
  std::size_t unnamed_cells = 0;   // at the header's end, as after a trailing comma
  PowerForm power_form;
  Sensor sensor;
  std::vector<std::string> gpu_models;  // that the first rows name, each once
  std::vector<std::pair<std::string, std::string>> settings = {};  // of SeriesFacts
  bool has_average_power = false;  // there is a column power.draw.average
  // Why the file cannot be used; the contract's codes first. With power_column_missing there may be
  // a `power` nevertheless: a part of the GPU draws it, and only schema 1 takes it.
  Reasons reasons;
  std::vector<std::string> warnings;
};

// The cells of a file's first rows, for choices that a header alone does not settle. `cells` are
// data rows; the reader pads short rows with empty cells.
using Rows = std::span<const std::vector<std::string>>;
using IsAbsoluteTime = std::function<bool(std::string_view)>;

// Chooses the columns of `header` (names not yet trimmed). Never throws because of the header:
// `reasons` say what is missing. Duplicate names mean the last column of that name, as in Python.
Columns choose_columns(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time, const ColumnNames& wanted = {});

// The part that other areas see.
SeriesFacts series_facts(const Columns& columns, const ColumnNames& wanted);

// The table as the help page shows it.
std::vector<SchemaRow> csv_schemas();

// Whether this DCGM metric is a GPU's power, averaged or instant.
bool is_power_metric(std::string_view name);

// How a row would do as the header: a schema fits it (a recorder's own or the generic one), or only
// the loose rule does.
enum class HeaderKind { none, loose, of_schema };
HeaderKind header_kind(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time);

}  // namespace aggregate_power
