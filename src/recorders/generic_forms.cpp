// Reads what `grep .` prints of powercap and hwmon files: "PATH:VALUE", each time after a line with
// the time.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/text/pattern.h"
#include "base/text/characters.h"
#include "core/telemetry/time_line.h"
#include "recorders/witness_form.h"

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
  bool fits = false;
  for_each_witness_line(head, [&](std::string_view line, std::size_t) {
    const auto sensor = fits ? std::nullopt : read_sensor_line(line);
    fits = fits || (sensor && (is_energy_file(sensor->name) || is_power_file(sensor->name)));
  });
  return fits;
}

void read_sensor_files(const WitnessText& file, NodeWitnesses& found) {
  SensorFiles reader(file, found);
  // A number without a line break after it may be cut off.
  const std::size_t whole = file.text.rfind('\n');
  for_each_witness_line(file.text.substr(0, whole == file.text.npos ? 0 : whole + 1),
                        [&](std::string_view line, std::size_t) { reader.take(line); });
  reader.finish(file.path);
}

}  // namespace

const WitnessForm kSensorFilesForm = {fits_sensor_files, read_sensor_files};

}  // namespace aggregate_power
