// What a recorder notes beside its recording: when a wrapped command ran, and how its clocks stood.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/byte_source.h"
#include "recorders/recording.h"

namespace aggregate_power {

// The Unix clock and the machine's monotonic clock at one instant.
struct ClockPair {
  double epoch_s = 0;
  double monotonic_s = 0;
  std::string boot_id;  // the monotonic clock starts at 0 with each boot
};

struct RecorderContext {
  std::optional<Window> window;    // of the command that the recorder ran
  std::optional<int> exit_status;  // of that command
  std::vector<ClockPair> clock_pairs;
};

// From STEM_context.json beside the recording. What it does not state properly is left out.
RecorderContext recorder_context(const Recording& recording);

// How far the Unix clock was set while a window was recorded, in seconds: positive is forward.
// Returns nullopt if it was less than half a second, or if nothing shows it.
std::optional<double> clock_step_s(Window window, const std::vector<ClockPair>& pairs);

// A window of the monotonic clock on the Unix clock.
struct TiedWindow {
  std::optional<Window> window;
  std::string fault;  // why there is none
};
TiedWindow tied_window(Window monotonic, const std::vector<ClockPair>& pairs);

// A file that may be beside a recording, and its purpose. The second zone file counts only if the
// first is missing.
struct SideFile {
  const char* role;
  const char* end;  // after the recording's stem
  const char* name;
  FileKind kind;
};
inline constexpr SideFile kSideFiles[] = {
    {"timezone_file", "_context.json", "", kContextFile},
    {"timezone_offset_file", "", "agentic_power_timezone_offset.txt", kContextFile},
    {"energy_start", "_energy_start.csv", "", kEnergySnapshotFile},
    {"energy_end", "_energy_end.csv", "", kEnergySnapshotFile},
};

// The file's name beside the recording at `path`.
inline std::string side_name(const SideFile& side, const std::string& path) {
  return *side.end != '\0' ? plain_stem(path) + side.end : side.name;
}

// The recording at `path`, and every file that may be beside it.
inline std::vector<std::string> with_side_files(const std::string& path) {
  std::vector<std::string> files = {path};
  for (const SideFile& side : kSideFiles) files.push_back(beside(path, side_name(side, path)));
  return files;
}

// ---- The hardware's own energy counters, read at the start and the end of a recording.

// Reads what `amd-smi metric -E --csv` wrote, by GPU: columns `gpu` and `total_energy_consumption`,
// in joules. Numbers are those of Python's float(); the last row of a GPU counts; rows without a
// finite number are skipped. Returns nullopt if a column is missing or no row is usable.
// Contract.md B.8. Throws CsvError, and what `source` throws.
std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source);

// The snapshots beside a recording.
struct EnergySnapshots {
  std::string unavailable;      // why they cannot be compared; empty: they can
  bool could_not_read = false;  // the system's fault, not the content's
  std::map<std::string, double> start;
  std::map<std::string, double> end;
};

// Returns nullopt if there is neither. Never throws because of the snapshots.
std::optional<EnergySnapshots> read_energy_snapshots(const Recording& recording);

}  // namespace aggregate_power
