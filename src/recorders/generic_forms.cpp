// Reads what `grep .` prints of powercap and hwmon files: "PATH:VALUE", each time after a line with
// the time.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/pattern.h"
#include "base/text/written_time.h"
#include "core/telemetry/lines.h"
#include "recorders/node_sensors.h"

namespace aggregate_power {
namespace {

struct SensorFile {
  std::string_view folder;
  std::string_view name;
  std::string_view value;
};

std::optional<SensorFile> read_sensor_line(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == line.npos) return std::nullopt;
  const std::string_view path = line.substr(0, colon);
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos || path.find_first_of(" \t") != path.npos) return std::nullopt;
  return SensorFile{path.substr(0, slash), path.substr(slash + 1), strip(line.substr(colon + 1))};
}

bool is_energy_file(std::string_view name) {
  static constexpr Pattern energy = "energy_uj|energy[0-9]+_(input|average)";
  return energy.matches(name);
}

bool is_power_file(std::string_view name) {
  static constexpr Pattern power = "power[0-9]+_(input|average)";
  return power.matches(name);
}

// What else a folder's files say of its sensors.
using SensorTexts = std::map<std::pair<std::string, std::string>, std::string>;

class SensorFiles {
 public:
  SensorFiles(const WitnessText& file, NodeWitnesses& found) : times_(file), found_(found) {}

  void take(std::string_view line) {
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      unix_s_ = times_.unix_s(time);
      return;
    }
    const auto sensor = read_sensor_line(line);
    if (!sensor) return;
    const bool is_energy = is_energy_file(sensor->name);
    if (!is_energy && !is_power_file(sensor->name)) {
      texts_[{std::string(sensor->folder), std::string(sensor->name)}] = sensor->value;
      return;
    }
    const auto number = sensor_number(sensor->value);
    if (!number) return;
    if (!unix_s_) {
      ++without_time_;
      return;
    }
    // The path is its name until all is known.
    const auto kind = is_energy ? NodeWitness::Kind::counter : NodeWitness::Kind::power;
    NodeWitness& witness =
        witness_named(found_, fmt::format("{}/{}", sensor->folder, sensor->name), kind);
    witness.readings.push_back({*unix_s_, *number / 1e6});
  }

  void finish(const std::string& path) {
    for (NodeWitness& witness : found_.witnesses) describe(witness);
    tell_apart();
    if (without_time_ == 0) return;
    found_.warnings.push_back(fmt::format(
        "{}: {} readings are before the first line with a time: write one before each round, as from date '+# %s'",
        printable_path(path), without_time_));
  }

 private:
  // Names that several have get their folder, the whole of it if that of two has the same name, as
  // on two hosts.
  void tell_apart() {
    const auto short_name = [&](const NodeWitness& witness) {
      return fmt::format("{} ({})", witness.name, last_name(folders_[&witness]));
    };
    std::map<std::string, std::size_t> uses;
    std::map<std::string, std::size_t> short_uses;
    for (const NodeWitness& witness : found_.witnesses) {
      ++uses[witness.name];
      ++short_uses[short_name(witness)];
    }
    for (NodeWitness& witness : found_.witnesses) {
      if (uses[witness.name] == 1) continue;
      witness.name = short_uses[short_name(witness)] == 1
                         ? short_name(witness)
                         : fmt::format("{} ({})", witness.name, folders_[&witness]);
    }
  }

  std::string text_of(const std::string& folder, const std::string& name) const {
    const auto text = texts_.find({folder, name});
    return text == texts_.end() ? std::string() : text->second;
  }

  void describe(NodeWitness& witness) {
    const std::size_t slash = witness.name.rfind('/');
    const std::string folder = witness.name.substr(0, slash);
    const std::string file = witness.name.substr(slash + 1);
    const std::string device = text_of(folder, "name");
    folders_[&witness] = folder;
    if (file == "energy_uj") {
      witness.source = "rapl";
      witness.name = device.empty() ? std::string(last_name(folder)) : device;
      witness.scope = scope_of_rapl(witness.name);
      if (const auto range = sensor_number(text_of(folder, "max_energy_range_uj"));
          range && *range > 0) {
        witness.wraps_j = {*range / 1e6};
        witness.states_wrap = true;
      }
      assume_rapl_wraps(witness);
      return;
    }
    const std::string sensor = file.substr(0, file.find('_'));
    std::string label = text_of(folder, sensor + "_oem_info");
    if (label.empty()) label = text_of(folder, sensor + "_label");
    witness.source = "hwmon";
    witness.scope = scope_of_label(label);
    witness.name =
        !label.empty()
            ? label
            : fmt::format("{} {}", device.empty() ? std::string(last_name(folder)) : device,
                          sensor);
  }

  // As Grace's firmware names its sensors; a power meter of ACPI may measure any part.
  static std::string scope_of_label(std::string_view label) {
    const std::string name = lower_ascii(label);
    if (name.starts_with("module")) return "module";
    if (name.starts_with("grace") || name.starts_with("cpu")) return "cpu";
    return name.starts_with("sysio") ? "rail" : "unknown";
  }

  WitnessTimes times_;
  NodeWitnesses& found_;
  SensorTexts texts_;
  std::optional<double> unix_s_;
  std::size_t without_time_ = 0;
  std::map<const NodeWitness*, std::string> folders_;
};

bool fits_sensor_files(std::string_view head) {
  return any_witness_line(head, [](std::string_view line) {
    const auto sensor = read_sensor_line(line);
    return sensor && (is_energy_file(sensor->name) || is_power_file(sensor->name));
  });
}

void read_sensor_files(const WitnessText& file, NodeWitnesses& found) {
  SensorFiles reader(file, found);
  for_each_witness_line(whole_lines(file.text),
                        [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish(file.path);
}

}  // namespace

const WitnessForm kSensorFilesForm = {fits_sensor_files, read_sensor_files, true};

// ---- Reads the power of a node as `ipmitool dcmi power reading` prints it, appended again and
// again.

namespace {

constexpr std::string_view kDcmiPower = "Instantaneous power reading";
constexpr std::string_view kDcmiTime = "IPMI timestamp";
constexpr std::string_view kDcmiState = "Power reading state";
constexpr std::string_view kDcmiLabels[] = {kDcmiPower, "Minimum ",        "Maximum ", "Average ",
                                            kDcmiTime,  "Sampling period", kDcmiState};

std::string_view take_first_word(std::string_view& text) {
  text = strip(text);
  const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, blank);
  text = strip(text.substr(blank));
  return word;
}

// The time of the management controller, as versions of ipmitool write it: the form of ctime,
// "03/06/2025 07:40:35 UTC", "2024-05-05 13:06:44 UTC".
std::string iso_of_dcmi(std::string_view text) {
  static constexpr Pattern american = "\\d\\d/\\d\\d/\\d{4} \\d\\d:\\d\\d:\\d\\d";
  static constexpr Pattern iso = "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d";
  std::string_view clock = text;
  const bool is_utc = clock.ends_with(" UTC") || clock.ends_with(" GMT");
  if (is_utc) clock.remove_suffix(4);
  const char* const offset = is_utc ? "+00:00" : "";
  if (std::string iso_time = iso_of_ctime(clock); !iso_time.empty()) return iso_time + offset;
  if (iso.matches(clock)) return fmt::format("{}{}", clock, offset);
  if (!american.matches(clock)) return {};
  return fmt::format("{}-{}-{}{}{}", clock.substr(6, 4), clock.substr(0, 2), clock.substr(3, 2),
                     clock.substr(10), offset);
}

class DcmiReader {
 public:
  DcmiReader(const WitnessText& file, NodeWitnesses& found) : times_(file), found_(found) {}

  // Some loggers put all lines of an answer into one.
  void take(std::string_view line) {
    while (!line.empty()) {
      std::size_t end = line.size();
      for (const std::string_view label : kDcmiLabels) end = std::min(end, line.find(label, 1));
      take_part(line.substr(0, line.find_last_not_of(" \t,;|", end - 1) + 1));
      line.remove_prefix(end);
    }
  }

  // The time that a script wrote before a reading goes before the clock of the management
  // controller.
  void finish() {
    if (watts_) {
      const auto unix_s = line_unix_s_ ? line_unix_s_ : times_.unix_s(clock_);
      if (unix_s) {
        NodeWitness& witness = witness_named(found_, "DCMI", NodeWitness::Kind::power);
        witness.source = "ipmi-dcmi";
        witness.scope = "node";
        witness.readings.push_back({*unix_s, *watts_});
      } else {
        ++without_time_;
      }
    }
    if (watts_) line_unix_s_.reset();
    watts_.reset();
    clock_.clear();
  }
  std::size_t without_time() const { return without_time_; }

 private:
  void take_part(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (const std::string_view time = time_of_line(line); !time.empty()) {
      finish();
      line_unix_s_ = times_.unix_s(time);
    } else if (line.starts_with(kDcmiPower) && colon != line.npos) {
      finish();
      std::string_view value = line.substr(colon + 1);
      const std::string_view number = take_first_word(value);
      if (value == "Watts") watts_ = sensor_number(number);
    } else if (line.starts_with(kDcmiTime) && colon != line.npos) {
      clock_ = iso_of_dcmi(strip(line.substr(colon + 1)));
    } else if (line.starts_with(kDcmiState) && line.ends_with("deactivated")) {
      watts_.reset();
    }
  }

  WitnessTimes times_;
  NodeWitnesses& found_;
  std::optional<double> line_unix_s_;
  std::optional<double> watts_;
  std::string clock_;
  std::size_t without_time_ = 0;
};

bool fits_dcmi(std::string_view head) { return head.find(kDcmiPower) != head.npos; }

void read_dcmi(const WitnessText& file, NodeWitnesses& found) {
  DcmiReader reader(file, found);
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish();
  if (reader.without_time() == 0) return;
  found.warnings.push_back(fmt::format(
      "{}: {} readings have no time that can be read: write a line with the time before each, as from date '+# %s'",
      printable_path(file.path), reader.without_time()));
}

}  // namespace

const WitnessForm kDcmiForm = {fits_dcmi, read_dcmi, true};

// ---- Reads logs of Cray's /sys/cray/pm_counters: "12345 J 1777118400000000 us", with or without
// the counter's name before it.

namespace {

struct CounterLine {
  std::string_view name;  // all that is before the value; empty: the file has the name
  double value = 0;
  bool is_energy = false;
  double unix_s = 0;
};

// The last word of the text, which becomes shorter.
std::string_view take_word(std::string_view& text) {
  text = strip(text);
  const std::size_t blank = text.find_last_of(" \t");
  const std::string_view word = blank == text.npos ? text : text.substr(blank + 1);
  text = blank == text.npos ? std::string_view() : strip(text.substr(0, blank));
  return word;
}

std::optional<CounterLine> read_counter_line(std::string_view line) {
  if (take_word(line) != "us") return std::nullopt;
  const auto micros = sensor_number(take_word(line));
  const std::string_view unit = take_word(line);
  if (!micros || *micros / 1e6 < kFirstAbsoluteUnixS || (unit != "J" && unit != "W")) {
    return std::nullopt;
  }
  const std::size_t value = line.find_last_not_of("0123456789.") + 1;  // 0 if there is no name
  const auto number = sensor_number(line.substr(value));
  if (!number) return std::nullopt;
  std::string_view name = strip(line.substr(0, value));
  if (name.ends_with(':')) name.remove_suffix(1);
  return CounterLine{strip(name), *number, unit == "J", *micros / 1e6};
}

// "energy", also of "/sys/cray/pm_counters/energy". What stands before another path may be a host
// or a step of the script, and stays: two counters must not become one.
std::string_view counter_name(std::string_view name) {
  constexpr std::string_view kFolder = "/sys/cray/pm_counters/";
  if (name.starts_with(kFolder)) name.remove_prefix(kFolder.size());
  return name;
}

std::string scope_of_counter(std::string_view name) {
  static constexpr Pattern node = "energy|power";
  static constexpr Pattern module = "accel[0-9]*_(energy|power)";
  static constexpr Pattern cpu = "cpu[0-9]*_(energy|power)";
  static constexpr Pattern memory = "memory[0-9]*_(energy|power)";
  if (node.matches(name)) return "node";
  if (module.matches(name)) return "module";
  if (cpu.matches(name)) return "cpu";
  return memory.matches(name) ? "memory" : "unknown";
}

bool fits_counters(std::string_view head) {
  return any_witness_line(
      head, [](std::string_view line) { return read_counter_line(line).has_value(); });
}

void read_counters(const WitnessText& file, NodeWitnesses& found) {
  for_each_witness_line(file.text, [&](std::string_view line, std::size_t) {
    const auto counter = read_counter_line(line);
    if (!counter) return;
    const std::string name =
        counter->name.empty() ? plain_stem(file.path) : std::string(counter_name(counter->name));
    if (name.ends_with("_cap")) return;
    const auto kind = counter->is_energy ? NodeWitness::Kind::counter : NodeWitness::Kind::power;
    NodeWitness& witness = witness_named(found, name, kind);
    witness.source = "pm_counters";
    witness.scope = scope_of_counter(name);
    witness.readings.push_back({counter->unix_s, counter->value});
  });
}

}  // namespace

const WitnessForm kPmCountersForm = {fits_counters, read_counters};

// ---- Reads the energy of Slurm's jobs from `sacct -P`: one total for each job.

namespace {

constexpr const char* kSacctRemedy = "sacct -P -o JobID,NNodes,Start,End,ConsumedEnergyRaw -j JOB";

std::vector<std::string_view> sacct_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t bar = std::min(line.find('|'), line.size());
    cells.push_back(strip(line.substr(0, bar)));
    if (bar == line.size()) return cells;
    line.remove_prefix(bar + 1);
  }
}

// "20543125", "20.54M". Slurm writes 0 or nothing for what it did not measure, and its numbers for
// "no value" and "infinite" in 32 and in 64 bits.
std::optional<double> consumed_j(std::string_view text) {
  double factor = 1;
  constexpr std::string_view kPrefixes = "KMGTP";
  if (!text.empty()) {
    if (const std::size_t prefix = kPrefixes.find(text.back()); prefix != kPrefixes.npos) {
      factor = std::pow(1000.0, static_cast<double>(prefix + 1));
      text.remove_suffix(1);
    }
  }
  const auto number = sensor_number(text);
  if (!number || *number == 0) return std::nullopt;
  const bool is_no_value = *number == 4294967294.0 || *number == 4294967295.0 || *number > 1.8e19;
  return is_no_value ? std::nullopt : std::optional(*number * factor);
}

struct SacctColumns {
  std::size_t job, start, end, energy, nodes;

  std::size_t last_needed() const { return std::max({job, start, end, energy}); }
};

SacctColumns sacct_columns(const WitnessText& file, std::string_view header) {
  const std::vector<std::string_view> names = sacct_cells(header);
  const auto find = [&](std::initializer_list<std::string_view> wanted) {
    for (const std::string_view name : wanted) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (lower_ascii(names[i]) == name) return i;
      }
    }
    return names.size();
  };
  const SacctColumns columns{find({"jobid", "jobidraw"}), find({"start"}), find({"end"}),
                             find({"consumedenergyraw", "consumedenergy"}),
                             find({"nnodes", "allocnodes"})};
  if (columns.last_needed() >= names.size()) {
    throw Error(fmt::format(
        "{}: expected the columns JobID, Start, End and ConsumedEnergyRaw, as from '{}'",
        printable_path(file.path), kSacctRemedy));
  }
  return columns;
}

bool is_same_total(const NodeWitness& a, const NodeWitness& b) {
  return a.span.start_unix_s == b.span.start_unix_s && a.span.end_unix_s == b.span.end_unix_s &&
         a.total_j == b.total_j;
}

// A job that was queued again has a row for each time that it ran (sacct -D); a row that is there
// twice counts once.
void add_job(NodeWitness witness, NodeWitnesses& found) {
  const std::string name = witness.name;
  for (int run = 1;; ++run) {
    if (run > 1) witness.name = fmt::format("{}, run {}", name, run);
    const std::size_t known = found.witnesses.size();
    NodeWitness& of_name = witness_named(found, witness.name, witness.kind);
    if (found.witnesses.size() > known) {
      of_name = std::move(witness);
      return;
    }
    if (is_same_total(of_name, witness)) return;
  }
}

class SacctReader {
 public:
  explicit SacctReader(const WitnessText& file) : file_(file), times_(file) {}

  void take(std::string_view line) {
    if (line.empty() || line.find('|') == line.npos) return;
    if (!columns_) {
      columns_ = sacct_columns(file_, line);
      return;
    }
    const std::vector<std::string_view> cells = sacct_cells(line);
    if (columns_->last_needed() >= cells.size()) return;  // cut off
    const auto joules = consumed_j(cells[columns_->energy]);
    const auto start = times_.unix_s(cells[columns_->start]);
    const auto end = times_.unix_s(cells[columns_->end]);  // "Unknown" while it runs
    if (!joules || !start || !end || *end <= *start) return;
    const std::string_view job = cells[columns_->job];
    NodeWitness witness = {.name = fmt::format("job {}", job),
                           .source = "sacct",
                           .scope = "job",
                           .kind = NodeWitness::Kind::total,
                           .span = {*start, *end},
                           .total_j = *joules};
    const std::string_view nodes = columns_->nodes < cells.size() ? cells[columns_->nodes] : "";
    if (is_ascii_digits(nodes) && nodes != "1") witness.name += fmt::format(", {} nodes", nodes);
    const std::size_t step = job.find('.');
    if (step == job.npos) jobs_.insert(std::string(job));
    rows_.push_back({std::string(job.substr(0, step)), step != job.npos, std::move(witness)});
  }

  // The steps are parts of their job: they count only where the job itself has no energy.
  void finish(NodeWitnesses& found) {
    for (Row& row : rows_) {
      if (row.is_step && jobs_.contains(row.job)) continue;
      add_job(std::move(row.witness), found);
    }
    if (!found.witnesses.empty()) return;
    throw Error(fmt::format(
        "{}: no job in it has ended and has an energy: Slurm writes 0 where the cluster does not measure",
        printable_path(file_.path)));
  }

 private:
  struct Row {
    std::string job;
    bool is_step = false;
    NodeWitness witness;
  };

  const WitnessText& file_;
  WitnessTimes times_;
  std::optional<SacctColumns> columns_;
  std::set<std::string> jobs_;  // with an energy
  std::vector<Row> rows_;
};

bool fits_sacct(std::string_view head) {
  const std::string_view first = head.substr(0, head.find('\n'));
  return first.find('|') != first.npos && lower_ascii(first).find("jobid") != first.npos;
}

void read_sacct(const WitnessText& file, NodeWitnesses& found) {
  SacctReader reader(file);
  for_each_witness_line(whole_lines(file.text),
                        [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish(found);
}

}  // namespace

const WitnessForm kSacctForm = {fits_sacct, read_sacct};

}  // namespace aggregate_power
