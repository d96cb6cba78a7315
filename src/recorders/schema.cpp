// Which columns hold the time, the power and the device: one table row per recorder.
#include "recorders/schema.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/pattern.h"
#include "base/text/unicode.h"

namespace aggregate_power {
namespace {

// A way to name a device. An index repeats on every host, so it is told together with the
// host's name where there is such a column; a UUID stands alone.
struct DevicePattern {
  Pattern pattern;
  bool with_host;
};

struct Schema {
  const char* name;
  const char* power_words;  // what the two lists below say, for the help page
  const char* device_words;
  std::vector<Pattern> required;           // all must be there, so must one of `power`
  std::vector<Pattern> power;              // the first that is there wins
  std::vector<DevicePattern> device = {};  // likewise; empty: contract.md part 0 row 14
  bool has_device = true;
  bool naive_is_utc = false;
  bool power_may_move = false;  // another of `power` may hold the number in some rows
};

// Patterns match a whole name, whatever its case, trimmed and without its unit.
const std::vector<Schema>& schemas() {
  static const std::vector<Schema> table = {
      {.name = "srt-slurm",
       .power_words = "`power_w`",
       .device_words = "`gpu_uuid`, else host and `gpu_index`",
       .required = {"timestamp_unix", "gpu_index"},
       .power = {"power_w"},
       .device = {{"gpu_uuid", false}, {"gpu_index", true}}},
      {.name = "dcgm-long",
       .power_words =
           "`value` in the rows whose `metric_name` is a power field, averaged before instant",
       .device_words = "`uuid`, else host and `gpu` or `gpu_id`",
       .required = {"metric_name", "timestamp"},
       .power = {"value"},
       .device = {{"uuid", false}, {"gpu(_id)?", true}}},
      {.name = "dcgm-wide",
       .power_words = "`DCGM_FI_DEV_POWER_USAGE` or `..._BOARD_POWER_WATTS`, else the instant one",
       .device_words = "`uuid`, else host and `gpu`, `gpu_id`",
       .required = {},
       .power =
           {"dcgm_fi_dev_(power_usage|board_power_watts)",
            "dcgm_fi_dev_(power_usage_instant|board_power_watts_instant|board_power_raw_watts)"},
       .device = {{"uuid", false}, {"gpu|gpu_?id", true}}},
      {.name = "amd-smi",
       .power_words =
           "`socket_power`, `current_socket_power`, `average_socket_power`, `current_power`",
       .device_words = "`gpu`",
       .required = {"gpu"},
       .power = {"socket_power", "current_socket_power", "average_socket_power", "current_power"},
       .device = {{"gpu", true}}},
      {.name = "amd-smi-monitor",
       .power_words = "`power_usage`",
       .device_words = "`gpu`",
       .required = {"gpu"},
       .power = {"power_usage"},
       .device = {{"gpu", true}}},
      {.name = "rocm-smi",
       .power_words = "`Current Socket Graphics Package Power (W)`, `Average Graphics Package "
                      "Power (W)`, whichever holds a number",
       .device_words = "`device`",
       .required = {"device"},
       .power = {"current socket graphics package power", "average graphics package power"},
       .device = {{"device", true}},
       .power_may_move = true},
      {.name = "xpu-smi",
       .power_words = "`GPU Power (W)` (xpu-smi 1.x)",
       .device_words = "`DeviceId`",
       .required = {"timestamp", "deviceid"},
       .power = {"gpu power"},
       .device = {{"deviceid", true}}},
      {.name = "xpu-smi-2",
       .power_words = "`power.draw`, `power.draw.gpu`; stamps are UTC",
       .device_words = "`DeviceId`",
       .required = {"timestamp", "deviceid"},
       .power = {"power\\.draw", "power\\.draw\\.gpu"},
       .device = {{"deviceid", true}},
       .naive_is_utc = true},
      {.name = "nvidia-smi",
       .power_words = "`power.draw`, `power.draw.average`, `power.draw.instant`; Habana's `hl-smi` "
                      "writes the same",
       .device_words = "an index or another id, see below",
       .required = {},
       .power = {"power\\.draw", "power\\.draw\\.average", "power\\.draw\\.instant"}},
      {.name = "gpu-z",
       .power_words = "`Board Power Draw`, `GPU Power Draw`, `GPU Power`, `GPU Chip Power Draw`",
       .device_words = "one device",
       .required = {"date", "gpu temperature.*"},
       .power = {"board power draw", "gpu power draw", "gpu power", "gpu chip power draw"},
       .has_device = false},
  };
  return table;
}

// The averaged power is preferred to the instant one.
constexpr const char* kPowerMetrics[] = {"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS",
                                         "DCGM_FI_DEV_POWER_USAGE_INSTANT",
                                         "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS"};

// formats.md section 9 rows 11 and 12.
const Pattern kGenericPower =
    "(gpu[ ._-]?)?(power|pwr)([ ._-]?(draw|usage|used|consumption))?([ ._-]?(w|watts?|mw))?"
    "|gpu[ ._-]?watts?";
const Pattern kGenericTimes[] = {"timestamp([ ._-]?(unix|utc|s|ms|ns))?", "date[ ._-]?time", "time",
                                 "ts", "date"};

// The six names of the original, then what else tells devices apart.
const Pattern kIndexNames = "index|gpu|gpu.?id|gpu.?index|card|device";
const Pattern kOtherIdentities[] = {"(gpu[ ._-]?)?uuid", "(pci\\.|gpu_)bus_id", "serial",
                                    "pci\\.bus", "module_id"};
const Pattern kHostNames = "hostname|host|node|instance";

// A name with "power" in it that is no draw: formats.md 5.1.
const Pattern kLimitWords =
    ".*(limit|cap|default|enforced|requested).*|(max|min)power.*|.*power(max|min)"
    "|(.*[^a-z0-9])?(max|min)([^a-z0-9].*)?";
const Pattern kNotADraw =
    ".*power[._ ]?management.*|.*inforom\\.(pwr|power).*|.*power[._ "
    "]?(state|profile|mode|unit|type).*"
    "|.*pstate.*|.*low[._ ]?power.*|.*clocks_(event|throttle)_reasons.*"
    "|.*(violation|throttle|brake|smoothing|residency).*"
    "|.*(energy|joule|kwh|mwh|totec|accumulator).*|.*_mj"
    "|.*% ?tdp.*|.*\\(%\\).*";
const Pattern kOtherScope =
    "(.*[^a-z0-9])?(cpu|processor|ram|dram|soc|ia|gt|sys|system|node|total|psu|pcie slot|6-pin|rail"
    "|mvddq|mtbl|ubb|module|board temp)([^a-z0-9].*)?|.*(psu|ubb|mvddq|6-pin|pcie slot).*";
const Pattern kExtremes = ".*(peak|median|q1|q3|_std).*";
const Pattern kMeans = ".*(avg|mean).*";
// A name with "time" in it that is no timestamp: formats.md 5.2.
const Pattern kNotAStamp =
    "time[ ._-]?(ms|s|us|secs?|seconds?)|.*relative.*|.*elapsed.*|.*duration.*|.*run_?time.*"
    "|.*up_?time.*|.*(start|end)_?time.*|.*gpu_time.*|.*evicted_time.*"
    "|.*clocks_(event|throttle)_reasons.*|total_?time.*|.*lifetime.*|.*time_?out.*";

// Names that settle a detail.
const Pattern kOwnTime = "timestamp(_unix)?";
const Pattern kOwnDate = "date";
const Pattern kMetricName = "metric_name";
const Pattern kTime = ".*time.*";
const Pattern kPower = ".*power.*";
const Pattern kPowerOrShort = ".*(power|pwr).*";
const Pattern kNumberedGpu = ".*gpu[ ._-]?[0-9]+.*";
const Pattern kPowerOfNumberedGpu = "gpu[ ._-]?[0-9]+([ ._-]?(power|pwr|watts?|w|mw)([ ._-].*)?)?";
const Pattern kSummary = "duration|emissions";
const Pattern kTableOfLimits = "(max|min)_power";

// Patterns are in lower case.
bool matches(std::string_view name, const Pattern& pattern) {
  std::string lower = lower_ascii(name);
  std::ranges::replace(lower, '\r', '\n');  // "." is neither
  return pattern.matches(lower);
}

struct Name {
  std::size_t index;        // of the last column of this name: the one whose cells count
  std::string full;         // trimmed
  std::string plain;        // without a unit in brackets
  std::string no_brackets;  // without anything in brackets at its end
  PowerUnit unit;
  bool repeated = false;
};

Name read_name(std::size_t index, std::string_view text) {
  Name name{index, std::string(strip(text)), {}, {}, {}, false};
  name.plain = name.no_brackets = name.full;
  const char last = name.full.empty() ? ' ' : name.full.back();
  const std::size_t open = last == ']'   ? name.full.rfind('[')
                           : last == ')' ? name.full.rfind('(')
                                         : std::string::npos;
  if (open != std::string::npos) {
    const std::string_view inside =
        strip(std::string_view(name.full).substr(open + 1, name.full.size() - open - 2));
    name.no_brackets = std::string(strip(std::string_view(name.full).substr(0, open)));
    if (const auto size = power_unit(inside)) {
      name.plain = name.no_brackets;
      name.unit = {*size, true};
    }
  }
  const std::size_t separator = name.plain.find_last_of(" ._-");
  if (!name.unit.stated && separator != std::string::npos) {
    if (const auto size = power_unit(std::string_view(name.plain).substr(separator + 1))) {
      name.unit = {*size, true};
    }
  }
  return name;
}

// The header's names in order, each once.
std::vector<Name> read_names(std::span<const std::string> header) {
  std::vector<Name> names;
  for (std::size_t i = 0; i < header.size(); ++i) {
    Name name = read_name(i, replace_invalid_utf8(header[i]));
    const auto same = std::ranges::find(names, name.full, &Name::full);
    if (same != names.end()) {
      same->index = i;
      same->repeated = true;
    } else {
      names.push_back(std::move(name));
    }
  }
  return names;
}

using Found = std::vector<const Name*>;

Found find(const std::vector<Name>& names, const Pattern& pattern) {
  Found found;
  for (const Name& name : names) {
    if (matches(name.plain, pattern)) found.push_back(&name);
  }
  return found;
}

const Name* find_named(const std::vector<Name>& names, std::string_view wanted) {
  wanted = strip(wanted);
  for (const Name& name : names) {
    if (name.full == wanted) return &name;
  }
  for (const Name& name : names) {
    if (lower_ascii(name.full) == lower_ascii(wanted)) return &name;
  }
  for (const Name& name : names) {
    if (lower_ascii(name.plain) == lower_ascii(wanted)) return &name;
  }
  return nullptr;
}

Column column(const Name& name, std::string why) { return {name.index, name.full, std::move(why)}; }

// Enough of the names to see what is there.
std::string quoted_list(const Found& found) {
  constexpr std::size_t kMost = 12;
  std::vector<std::string> texts;
  for (const Name* name : found) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("{} more", found.size() - kMost));
      break;
    }
    texts.push_back(fmt::format("'{}'", printable(name->full)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string_view cell(const std::vector<std::string>& row, std::size_t index) {
  return index < row.size() ? strip(row[index]) : std::string_view();
}

// Of the first five values (a header repeated among the rows is none), more are absolute times than
// not.
bool holds_times(Rows rows, const Name& name, const IsAbsoluteTime& is_absolute_time) {
  int times = 0;
  int others = 0;
  for (const auto& row : rows) {
    const std::string_view text = cell(row, name.index);
    if (text.empty() || text == name.full) continue;
    ++(is_absolute_time(text) ? times : others);
    if (times + others == 5) break;
  }
  return times > others;
}

bool holds_times_of_day(Rows rows, std::size_t index) {
  static const Pattern time_of_day = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?";
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (!text.empty()) return matches(text, time_of_day);
  }
  return false;
}

bool varies(Rows rows, std::size_t index) {
  std::string_view first;
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (text.empty()) continue;
    if (first.empty()) first = text;
    if (text != first) return true;
  }
  return false;
}

// "NVIDIA H100 80GB HBM3", "MI300X": what a GPU is, not which.
bool holds_model_names(Rows rows, std::size_t index) {
  static const Pattern model =
      "(nvidia|amd|intel|tesla|geforce|quadro|radeon|instinct|titan|rtx|gtx) .*"
      "|(a|h|b|l|v|p|t|k|gh|gb|mi|rtx|gtx)[0-9]{2,4}[a-z]{0,2}([ -].*)?|(t4|l4|a2)";
  for (const auto& row : rows) {
    const std::string_view text = cell(row, index);
    if (text.empty()) continue;
    if (text.find_first_not_of("0123456789") == std::string_view::npos) return false;
    return matches(text, model);
  }
  return false;
}

class Chooser {
 public:
  Chooser(std::vector<Name> names, Rows rows, const IsAbsoluteTime& is_absolute_time)
      : names_(std::move(names)), rows_(rows), is_absolute_time_(is_absolute_time) {}

  Columns choose(const ColumnNames& wanted) {
    for (const Schema& schema : schemas()) {
      if (fits(schema)) {
        use(schema);
        break;
      }
    }
    if (columns_.schema.empty()) use_generic();
    if (columns_.schema.empty()) use_loose();
    take_named(wanted);
    if (wanted.power_unit) columns_.unit = {*wanted.power_unit, false};
    add_reasons();
    warn_of_the_header();
    return std::move(columns_);
  }

 private:
  bool fits(const Schema& schema) const {
    for (const Pattern& pattern : schema.required) {
      if (find(names_, pattern).empty()) return false;
    }
    return std::ranges::any_of(
        schema.power, [&](const Pattern& pattern) { return !find(names_, pattern).empty(); });
  }

  void use(const Schema& schema) {
    columns_.schema = schema.name;
    columns_.naive_is_utc = schema.naive_is_utc;
    for (const Pattern& pattern : schema.power) {
      const Found found = find(names_, pattern);
      if (found.empty()) continue;
      if (columns_.power) {
        if (schema.power_may_move) columns_.other_power.push_back(found[0]->index);
        continue;
      }
      if (found.size() > 1) ambiguous_ = quoted_list(found);
      set_power(*found[0], "the schema's own column");
    }
    if (columns_.schema == "dcgm-long") choose_metric();
    choose_timestamp();
    if (schema.has_device) choose_device(schema.device);
  }

  void set_power(const Name& name, std::string why) {
    columns_.power = column(name, std::move(why));
    columns_.unit = name.unit;
  }

  // A long table holds many metrics in one column; the averaged power is preferred to the instant
  // one.
  void choose_metric() {
    const Name& metric = *find(names_, kMetricName)[0];
    columns_.metric_name = column(metric, "says which rows are power");
    for (const char* name : kPowerMetrics) {
      for (const auto& row : rows_) {
        if (cell(row, metric.index) == name) {
          columns_.metric = name;
          return;
        }
      }
    }
  }

  // A recorder's own `timestamp` is taken as it is, so that its bad stamps are told as such; other
  // names must hold absolute times.
  void choose_timestamp() {
    const Found own = find(names_, columns_.schema == "gpu-z" ? kOwnDate : kOwnTime);
    if (!own.empty()) {
      columns_.timestamp = column(*own[0], "the schema's own column");
      return;
    }
    choose_generic_timestamp();
    if (!columns_.timestamp) choose_loose_timestamp();
  }

  void choose_generic_timestamp() {
    for (const Pattern& pattern : kGenericTimes) {
      for (const Name& name : names_) {
        if (matches(name.no_brackets, pattern) && holds_times(rows_, name, is_absolute_time_)) {
          columns_.timestamp = column(name, "named as a time, and its values are absolute times");
          return;
        }
      }
    }
  }

  void use_generic() {
    Found power;
    for (const Name& name : names_) {
      if (matches(name.plain, kGenericPower) && !is_excluded(name)) power.push_back(&name);
    }
    if (power.size() != 1) return;
    choose_generic_timestamp();
    if (!columns_.timestamp) return;
    columns_.schema = "generic";
    set_power(*power[0], "the only column named as a power draw");
    choose_device({});
  }

  static bool is_excluded(const Name& name) {
    return matches(name.full, kLimitWords) || matches(name.full, kNotADraw) ||
           matches(name.full, kOtherScope);
  }

  void use_loose() {
    Found power = loose_power(true);
    if (power.empty()) power = loose_power(false);
    const Found times = loose_times();
    if (!power.empty())
      set_power(*power[0], "the first name with 'power' that is not known as another quantity");
    warn_of_second("power", power, "--power-column");
    if (!times.empty()) {
      choose_loose_timestamp();
    } else {
      choose_generic_timestamp();
    }
    choose_device({});
    if (power.empty() && times.empty()) return;
    columns_.schema = "loose";
    wide_ = std::ranges::count_if(
                power, [](const Name* name) { return matches(name->full, kNumberedGpu); }) > 1;
  }

  Found loose_times() const {
    Found times;
    for (const Name& name : names_) {
      if (matches(name.full, kTime) && !matches(name.full, kNotAStamp) &&
          !matches(name.no_brackets, kNotAStamp)) {
        times.push_back(&name);
      }
    }
    return times;
  }

  void choose_loose_timestamp() {
    const Found times = loose_times();
    if (times.empty()) return;
    columns_.timestamp =
        column(*times[0], "the first name with 'time' that is not known as another quantity");
    warn_of_second("timestamp", times, "--timestamp-column");
  }

  Found loose_power(bool without_means) const {
    Found power;
    for (const Name& name : names_) {
      if (matches(name.full, kPower) && !is_excluded(name) && !matches(name.full, kExtremes) &&
          !(without_means && matches(name.full, kMeans))) {
        power.push_back(&name);
      }
    }
    return power;
  }

  void warn_of_second(const char* what, const Found& found, const char* option) {
    if (found.size() < 2) return;
    columns_.warnings.push_back(fmt::format(
        "several_{}_columns: '{}' is read; {} would fit too; choose with {}", what,
        printable(found[0]->full), quoted_list({found.begin() + 1, found.end()}), option));
  }

  void warn_of_the_header() {
    for (const auto& chosen : {columns_.timestamp, columns_.power, columns_.device}) {
      const auto name = std::ranges::find_if(names_, [&](const Name& candidate) {
        return chosen && candidate.repeated && candidate.index == chosen->index;
      });
      if (name == names_.end()) continue;
      columns_.warnings.push_back(fmt::format(
          "duplicate_column: '{}' stands in the header more than once; the last one is read",
          printable(name->full)));
    }
    for (const char separator : {';', '\t', '|'}) {
      if (names_.size() > 2 || names_.empty() ||
          std::ranges::count(names_[0].full, separator) < 2) {
        continue;
      }
      columns_.warnings.push_back(fmt::format(
          "not_comma_separated: the header looks separated by '{}'; write the file with commas",
          separator == '\t' ? "\\t" : std::string(1, separator)));
    }
  }

  void choose_device(const std::vector<DevicePattern>& patterns) {
    for (const DevicePattern& device : patterns) {
      const Found found = find(names_, device.pattern);
      if (found.empty()) continue;
      columns_.device = column(*found[0], "the schema's own column");
      if (device.with_host) choose_host();
      return;
    }
    if (!patterns.empty()) return;

    Found candidates = find(names_, kIndexNames);
    const std::size_t indices = candidates.size();
    if (indices == 0 || !varies(rows_, candidates[0]->index)) {
      for (const Pattern& pattern : kOtherIdentities) {
        const Found found = find(names_, pattern);
        candidates.insert(candidates.end(), found.begin(), found.end());
      }
    }
    model_names_ = std::erase_if(candidates, [&](const Name* name) {
                     return holds_model_names(rows_, name->index);
                   }) > 0;
    if (candidates.empty()) return;
    const auto varying = std::ranges::find_if(
        candidates, [&](const Name* name) { return varies(rows_, name->index); });
    const bool first_is_constant = varying != candidates.begin() && varying != candidates.end();
    const Name& chosen = first_is_constant ? **varying : *candidates[0];
    columns_.device = column(
        chosen, first_is_constant ? fmt::format("'{}' never varies", printable(candidates[0]->full))
                                  : "named as a device");
    model_names_ = false;
    if (indices > 0) choose_host();
  }

  void choose_host() {
    const Found hosts = find(names_, kHostNames);
    if (!hosts.empty()) columns_.host = column(*hosts[0], "part of the device's name");
  }

  void take_named(const ColumnNames& wanted) {
    const auto take = [&](const std::string& text, const char* option) -> const Name* {
      const Name* name = find_named(names_, text);
      if (name == nullptr) {
        missing_.push_back(fmt::format("{}: no column '{}'; the header has {}", option,
                                       printable(text), quoted_list(all_names())));
      }
      return name;
    };
    if (!wanted.timestamp.empty()) {
      const Name* name = take(wanted.timestamp, "--timestamp-column");
      columns_.timestamp.reset();
      if (name) columns_.timestamp = column(*name, "named by --timestamp-column");
      std::erase_if(columns_.warnings, [](const std::string& warning) {
        return warning.starts_with("several_timestamp_columns");
      });
    }
    if (!wanted.power.empty()) {
      const Name* name = take(wanted.power, "--power-column");
      columns_.power.reset();
      columns_.other_power.clear();
      columns_.metric_name.reset();
      ambiguous_.clear();
      named_power_ = true;
      if (name) set_power(*name, "named by --power-column");
      std::erase_if(columns_.warnings, [](const std::string& warning) {
        return warning.starts_with("several_power_columns");
      });
      if (columns_.schema.empty() || columns_.schema == "loose") columns_.schema = "named";
      if (!columns_.timestamp) choose_generic_timestamp();
      if (!columns_.device && wanted.device.empty()) choose_device({});
    }
    if (!wanted.device.empty()) {
      const Name* name = take(wanted.device, "--device-column");
      columns_.device.reset();
      columns_.host.reset();
      model_names_ = false;
      if (name) columns_.device = column(*name, "named by --device-column");
    }
  }

  Found all_names() const {
    Found all;
    for (const Name& name : names_) all.push_back(&name);
    return all;
  }

  bool has_column(const Pattern& pattern) const { return !find(names_, pattern).empty(); }

  void add_reasons() {
    Reasons& reasons = columns_.reasons;
    const bool by_name = columns_.schema == "generic" || columns_.schema == "loose";
    const bool summary = by_name && !named_power_ && has_column(kSummary);
    if (named_power_) wide_ = false;
    if (summary || wide_ || !ambiguous_.empty()) columns_.power.reset();

    std::string header;  // where nothing below says more
    if (!names_.empty() && missing_.empty() && ambiguous_.empty())
      header = "the header has " + quoted_list(all_names());
    if (!columns_.timestamp) {
      reasons.add(Reason::timestamp_column_missing, std::exchange(header, {}));
    }
    columns_.time_of_day =
        columns_.timestamp && holds_times_of_day(rows_, columns_.timestamp->index);
    if (!columns_.power) reasons.add(Reason::power_column_missing, std::exchange(header, {}));
    if (!columns_.device) reasons.add(Reason::gpu_identity_column_missing, header);
    for (const std::string& text : missing_) reasons.add(Reason::named_column_missing, text);
    if (summary) reasons.add(Reason::run_summary);
    if (!ambiguous_.empty()) {
      reasons.add(Reason::ambiguous_power_column, ambiguous_ + "; choose with --power-column");
    }
    if (wide_ || (!columns_.power && has_column(kPowerOfNumberedGpu))) {
      reasons.add(Reason::wide_power_columns);
    }
    if (!columns_.power && ambiguous_.empty()) {
      Found limits;
      for (const Name& name : names_) {
        if (matches(name.full, kPowerOrShort) && matches(name.full, kLimitWords)) {
          limits.push_back(&name);
        }
      }
      if (!limits.empty()) reasons.add(Reason::only_power_limits, quoted_list(limits));
    }
    if (columns_.schema == "amd-smi" && !columns_.timestamp && has_column(kTableOfLimits)) {
      reasons.add(Reason::only_power_limits, "this is a table of limits");
    }
    if (model_names_) reasons.add(Reason::model_name_as_device);
  }

  const std::vector<Name> names_;
  const Rows rows_;
  const IsAbsoluteTime& is_absolute_time_;
  Columns columns_;
  std::string ambiguous_;
  std::vector<std::string> missing_;
  bool wide_ = false;
  bool model_names_ = false;
  bool named_power_ = false;
};

}  // namespace

Columns choose_columns(std::span<const std::string> header, Rows rows,
                       const IsAbsoluteTime& is_absolute_time, const ColumnNames& wanted) {
  return Chooser(read_names(header), rows, is_absolute_time).choose(wanted);
}

SeriesFacts series_facts(const Columns& columns) {
  const auto name = [](const std::optional<Column>& column) {
    return column ? std::optional(column->name) : std::nullopt;
  };
  return {.schema = columns.schema,
          .timestamp_column = name(columns.timestamp),
          .power_column = name(columns.power),
          .device_column = name(columns.device),
          .unit = columns.unit.size,
          .names_hosts = columns.host.has_value(),
          .naive_is_utc = columns.naive_is_utc,
          .warnings = columns.warnings};
}

std::vector<SchemaRow> schema_rows() {
  std::vector<SchemaRow> rows;
  for (const Schema& schema : schemas()) {
    rows.push_back({schema.name, schema.power_words, schema.device_words});
  }
  rows.push_back({"generic", "the only column named as a power draw, see below",
                  "an index or another id, see below"});
  rows.push_back({"loose",
                  "the first name with `power` in it that is not known as a limit, a cap, a state, "
                  "another part's power, a statistic or an energy; a second one is a warning",
                  "an index or another id, see below"});
  return rows;
}

bool is_power_metric(std::string_view name) {
  return std::ranges::find(kPowerMetrics, name) != std::end(kPowerMetrics);
}

bool is_header(std::span<const std::string> header, Rows rows,
               const IsAbsoluteTime& is_absolute_time, bool strict) {
  const Columns columns = choose_columns(header, rows, is_absolute_time);
  if (columns.schema.empty()) return false;
  if (columns.schema != "loose") return true;
  return !strict && columns.power && columns.timestamp &&
         columns.power->index != columns.timestamp->index;
}

}  // namespace aggregate_power
