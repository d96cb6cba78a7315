// Recognizes the form of a file, and makes names unique.
#include "recorders/node_sensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostWitnessBytes = std::size_t{512} << 20;

// More special forms first.
constexpr std::array<const WitnessForm*, 10> kWitnessForms = {
    &kPtdForm,  &kMllogForm,      &kJsonMeterForm,   &kPduForm,        &kSacctForm,
    &kDcmiForm, &kPmCountersForm, &kSensorFilesForm, &kMeterTableForm, &kSensorTableForm};

std::string witness_text(const std::string& path) {
  const auto source = as_utf8(decompressed(open_source(path), path));
  std::string text = read_up_to(*source, kMostWitnessBytes + 1);
  if (text.size() > kMostWitnessBytes) {
    throw Error(fmt::format("{}: more than 512 MiB: divide the file", printable_path(path)));
  }
  return text;
}

// Each file is the log of one counter.
NodeWitnesses read_counter_folder(const std::string& folder, const std::optional<Zone>& zone) {
  NodeWitnesses found;
  for (const TreeEntry& entry : sorted_entries(*disk_tree(), folder)) {
    if (entry.kind != TreeEntry::Kind::file) continue;
    const std::string path = join_path(folder, entry.name);
    const std::string text = witness_text(path);
    if (kPmCountersForm.fits(std::string_view(text).substr(0, kHeadBytes))) {
      kPmCountersForm.read({text, path, zone}, found);
    }
  }
  if (found.witnesses.empty()) {
    throw Error(fmt::format(
        "{}: no file in it has readings of /sys/cray/pm_counters, as in '12345 J 1777118400000000 us'",
        printable_path(folder)));
  }
  return found;
}

}  // namespace

NodeWitnesses read_node_witnesses(std::string_view text, const std::string& path,
                                  const std::optional<Zone>& zone) {
  const std::string_view head = text.substr(0, kHeadBytes);
  const auto* const form = std::ranges::find_if(
      kWitnessForms, [&](const WitnessForm* candidate) { return candidate->fits(head); });
  if (form == kWitnessForms.end()) {
    throw Error(fmt::format(
        "{}: it has no form of a node's sensors that is known: see 'aggregate-power help windows'{}",
        printable_path(path), what_a_table_needs(head)));
  }
  NodeWitnesses found;
  (*form)->read({text, path, zone}, found);
  found.places = {};  // witnesses may have other names now
  std::erase_if(found.witnesses, [](const NodeWitness& witness) {
    return witness.kind != NodeWitness::Kind::total && witness.readings.empty();
  });
  if (found.witnesses.empty()) {
    throw Error(fmt::format("{}: it has no reading with a time", printable_path(path)));
  }
  return found;
}

NodeWitnesses read_node_witnesses(const std::string& path, const std::optional<Zone>& zone) {
  if (disk_tree()->has_folder(path)) return read_counter_folder(path, zone);
  return read_node_witnesses(witness_text(path), path, zone);
}

bool is_sensor_log(std::string_view head) {
  return std::ranges::any_of(kWitnessForms, [&](const WitnessForm* form) {
    return form != &kSensorTableForm && form != &kMeterTableForm && form->fits(head);
  });
}

// ---- What the forms share

WitnessTimes::WitnessTimes(const WitnessText& file)
    : path_(file.path), has_zone_(file.zone), stamps_(file.zone ? *file.zone : Zone::fixed(0)) {}

std::optional<double> WitnessTimes::unix_s(std::string_view text) {
  const auto stamp = stamps_.parse(strip(text));
  if (!stamp || stamp->unix_s < kFirstAbsoluteUnixS) return std::nullopt;
  if (stamp->naive && !has_zone_) {
    throw Error(fmt::format("{}: '{}' has no offset from UTC: name the zone with --timezone",
                            printable_path(path_), printable(strip(text))));
  }
  return stamp->unix_s;
}

std::optional<double> sensor_number(std::string_view text) {
  const auto number = nearest_double(strip(text));
  return number && std::isfinite(*number) && *number >= 0 ? number : std::nullopt;
}

void for_each_witness_line(
    std::string_view text,
    const std::function<void(std::string_view line, std::size_t number)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(strip(text.substr(0, end)), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

NodeWitness& witness_named(NodeWitnesses& found, std::string_view name, NodeWitness::Kind kind) {
  constexpr std::size_t kMostWitnesses = 4096;
  auto& places = found.places[static_cast<std::size_t>(kind)];
  if (const auto known = places.find(name); known != places.end()) {
    return found.witnesses[known->second];
  }
  if (found.witnesses.size() == kMostWitnesses) {
    throw Error(fmt::format("more than {} sensors in one file", kMostWitnesses));
  }
  places.emplace(name, found.witnesses.size());
  found.witnesses.push_back({.name = std::string(name), .kind = kind});
  return found.witnesses.back();
}

std::string scope_of_rapl(std::string_view domain) {
  const std::string name = lower_ascii(domain);
  if (name.find("package") != name.npos) return "cpu";
  if (name.find("dram") != name.npos) return "memory";
  return name.find("core") != name.npos ? "rail" : "unknown";
}

void assume_rapl_wraps(NodeWitness& witness) {
  if (witness.states_wrap) return;
  // 2^32 units of energy: of Zen, of the memory of servers, and of other processors.
  witness.wraps_j = {65532.610987, 65712.999613, 262143.32885};
}

}  // namespace aggregate_power
