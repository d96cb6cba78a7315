// Reads the rows of `samples.csv` by the columns of its version.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {
namespace {

// Names of columns in the order of a header.
template <std::size_t kNames>
using Header = std::array<std::string_view, kNames>;

template <std::size_t kFirst, std::size_t kSecond>
constexpr Header<kFirst + kSecond> joined(const Header<kFirst>& first,
                                          const Header<kSecond>& second) {
  Header<kFirst + kSecond> all;
  std::ranges::copy(first, all.begin());
  std::ranges::copy(second, all.begin() + kFirst);
  return all;
}

constexpr Header<2> kStamp = {"schema_version", "timestamp_unix"};
constexpr Header<3> kStamps = {"schema_version", "timestamp_unix", "timestamp_local"};
constexpr Header<5> kSensor = {"hostname", "source", "sensor", "socket_id", "power_w"};
constexpr Header<3> kRails = {"cpu_rail_w", "soc_w", "dram_w"};
constexpr Header<1> kModule = {"module_w"};
constexpr Header<1> kTotal = {"total_power_w"};
constexpr Header<5> kUtilization = {"cpu_util_total", "cpu_util_user", "cpu_util_nice",
                                    "cpu_util_sys", "cpu_util_irq"};

constexpr auto kHead1 = joined(joined(kStamp, kSensor), kTotal);
constexpr auto kHead2 = joined(joined(joined(kStamp, kSensor), kRails), kTotal);
constexpr auto kHead3 = joined(joined(joined(joined(kStamp, kSensor), kRails), kModule), kTotal);
constexpr TableVersion kHeadNodeVersions[] = {{3, kHead3}, {2, kHead2}, {1, kHead1}};

constexpr auto kHosts2 = joined(joined(kStamps, kSensor), kTotal);
constexpr auto kHosts3 = joined(kHosts2, kUtilization);
constexpr auto kHosts4 =
    joined(joined(joined(joined(kStamps, kSensor), kRails), kTotal), kUtilization);
constexpr auto kHosts5 =
    joined(joined(joined(joined(joined(kStamps, kSensor), kRails), kModule), kTotal), kUtilization);
static_assert(kHosts5.size() <= kMaxWantedColumns);
constexpr TableVersion kHostVersions[] = {
    {5, kHosts5}, {4, kHosts4}, {3, kHosts3}, {2, kHosts2}, {1, kHead1}};

std::span<const TableVersion> versions_of(CpuRecorder recorder) {
  return recorder == CpuRecorder::hosts ? std::span<const TableVersion>(kHostVersions)
                                        : kHeadNodeVersions;
}

// Where the cells of a row are. Those from the host on follow each other.
struct Places {
  explicit Places(const StrictTable& table)
      : host(table.column("hostname").value_or(0)),
        cpu_rail_w(table.column("cpu_rail_w")),
        soc_w(table.column("soc_w")),
        module_w(table.column("module_w")) {}

  std::size_t host;
  std::optional<std::size_t> cpu_rail_w;
  std::optional<std::size_t> soc_w;
  std::optional<std::size_t> module_w;
};

// A finite number from zero on; a time may also be negative.
std::optional<double> finite_number(std::string_view cell, bool may_be_negative) {
  const std::optional<double> value = python_float(cell);
  if (!value || !std::isfinite(*value) || (*value < 0 && !may_be_negative)) return std::nullopt;
  return value;
}

// Watts that may be blank, or have no column.
bool read_optional(const CsvRow& row, std::optional<std::size_t> place,
                   std::optional<double>& watts) {
  watts.reset();
  if (!place || row.cells[*place].empty()) return true;
  watts = finite_number(row.cells[*place], false);
  return watts.has_value();
}

// Returns false if the row is malformed.
bool read_row(const StrictTable& table, const Places& places, const CsvRow& row,
              CpuSample& sample) {
  if (table.shape_fault(row) != nullptr) return false;
  const auto cells = std::span(row.cells).subspan(places.host, kSensor.size());
  const auto unix_s = finite_number(row.cells[1], true);
  const auto socket_id = python_int(cells[3]);
  const auto power_w = finite_number(cells[4], false);
  const bool has_names = !cells[0].empty() && !cells[1].empty() && !cells[2].empty();
  if (!unix_s || !has_names || !socket_id || *socket_id < 0 || !power_w) return false;
  sample.unix_s = *unix_s;
  sample.hostname = cells[0];
  sample.source = cells[1];
  sample.sensor = cells[2];
  sample.socket_id = *socket_id;
  sample.power_w = *power_w;
  sample.has_module_column = places.module_w.has_value();
  return read_optional(row, places.cpu_rail_w, sample.cpu_rail_w) &&
         read_optional(row, places.soc_w, sample.soc_w) &&
         read_optional(row, places.module_w, sample.module_w);
}

}  // namespace

Reasons read_cpu_samples(ByteSource& source, CpuRecorder recorder,
                         const std::function<void(const CpuSample&)>& take) {
  Reasons reasons;
  StrictTable table(source, versions_of(recorder));
  if (table.version() == 0) {
    const std::string_view line = table.first_line();
    reasons.add(Reason::cpu_samples_header_mismatch,
                line.empty() ? "it is missing" : fmt::format("it is '{}'", printable(line)));
    return reasons;
  }
  const Places places(table);
  std::uint64_t number = 0;
  const auto malformed = [&](std::string_view what) {
    reasons.add(Reason::cpu_samples_malformed, row_fault(number, what));
  };
  CpuSample sample;
  try {
    for (auto rows = table.next_batch(); !rows.empty(); rows = table.next_batch()) {
      for (const CsvRow& row : rows) {
        ++number;
        if (!table.is_text(row)) {
          malformed("bytes that are not UTF-8");
          return reasons;
        }
        if (read_row(table, places, row, sample)) {
          take(sample);
        } else {
          malformed("");
        }
      }
    }
  } catch (const CsvError& error) {
    ++number;
    malformed(error.what());
    return reasons;
  }
  if (table.had_nul()) reasons.add(Reason::cpu_samples_malformed, "it contains a NUL byte");
  return reasons;
}

// ---- Chooses the recording of CPU power, and reads its files.

namespace {

// The manifest is the recorder's own account of its run; it only has to exist as an object.
void check_manifest(const Tree& tree, const std::string& path, Reasons& reasons) {
  try {
    const auto source = tree.open(path).source();
    const JsonDocument document = scan_json(*source, [](const JsonMember&) {});
    if (document.kind != JsonKind::object) {
      reasons.add(Reason::cpu_manifest_invalid, path + ": expected an object");
    }
  } catch (const JsonError& error) {
    reasons.add(Reason::cpu_manifest_invalid, path + ':' + error.what());
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_manifest_invalid, error.what());
  }
}

// One recording of CPU power.
struct CpuRecording {
  CpuRecorder recorder;
  std::string folder;
  const char* manifest;

  std::string samples() const { return folder + "/samples.csv"; }
};

CpuRecording of_head_node(const CpuFolders& folders) {
  return {CpuRecorder::head_node, folders.of_package, "cpu_manifest.json"};
}
CpuRecording of_hosts(const CpuFolders& folders) {
  return {CpuRecorder::hosts, folders.of_hosts, "manifest.json"};
}

bool has_samples(const Tree& tree, const CpuRecording& recording) {
  return !recording.folder.empty() && tree.find_file(recording.samples()).has_value();
}

// Returns nullopt if there is none.
std::optional<CpuRecording> choose_recording(const Tree& tree, const CpuFolders& folders) {
  const CpuRecording recordings[] = {of_head_node(folders), of_hosts(folders)};
  for (const CpuRecording& recording : recordings) {
    if (has_samples(tree, recording)) return recording;
  }
  return tree.has_folder(folders.of_package) ? std::optional(recordings[0]) : std::nullopt;
}

void gather_cpu_samples(const Tree& tree, const CpuRecording& recording, CpuPowerGatherer& gatherer,
                        Reasons& reasons) {
  const std::string path = recording.samples();
  if (!has_samples(tree, recording)) {
    reasons.add(Reason::cpu_samples_missing, path);
    return;
  }
  try {
    const auto source = tree.open(path).source();
    const auto take = [&](const CpuSample& sample) { gatherer.take(sample); };
    const Reasons found = read_cpu_samples(*source, recording.recorder, take);
    for (const Reasons::Entry& entry : found.entries()) {
      reasons.add(entry.reason, path + ": " + entry.detail);
    }
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_samples_malformed, error.what());
  }
}

}  // namespace

std::vector<std::string> cpu_files_of_hosts(const CpuFolders& folders) {
  const CpuRecording recording = of_hosts(folders);
  return {recording.samples(), path_below(recording.folder, recording.manifest)};
}

std::optional<CpuPower> measure_cpu_power(const Tree& tree, const CpuFolders& folders,
                                          const CpuPowerRequest& request) {
  const std::optional<CpuRecording> recording = choose_recording(tree, folders);
  if (!recording) {
    if (!request.expected_source) return std::nullopt;
    CpuPower nothing;
    nothing.reasons.add(Reason::cpu_artifacts_missing, folders.of_package);
    return nothing;
  }
  const bool is_of_hosts = recording->recorder == CpuRecorder::hosts;
  Reasons faults;
  CpuPowerGatherer gatherer(is_of_hosts);
  check_manifest(tree, path_below(recording->folder, recording->manifest), faults);
  gather_cpu_samples(tree, *recording, gatherer, faults);
  CpuPower power = gatherer.finish(request, faults);
  if (has_samples(tree, of_hosts(folders))) {
    const std::string folder(last_name(recording->folder));
    power.samples_file = (is_of_hosts ? "" : "power/") + folder + "/samples.csv";
  }
  return power;
}

}  // namespace aggregate_power
