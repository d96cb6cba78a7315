// The windows of a `dcgm-power` package: what was measured when. Contract.md C.1, C.4, C.9.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "packages/srt_slurm/gap_rules.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {

inline constexpr std::uint64_t kMostWindowBytes = 1 << 20;  // of a file of one window

// Where a package is, and where its results are.
struct PackagePlace {
  std::shared_ptr<const Tree> tree;
  std::string power_dir;
  std::string logs_root;
};

struct PackageWindow {
  std::string file;  // relative to the package: "windows/NAME.json"
  WindowKey key;
  std::string result_path;  // relative to the logs root
  std::string status;
  double start_unix_s = 0;
  // Set if it completed or failed.
  std::optional<double> end_unix_s;
  std::optional<double> duration_s;

  bool is_completed() const { return status == "completed"; }
};

// The span of a window that has an end.
Window span_of(const PackageWindow& window);

struct ArtifactFault {
  std::string path;  // relative to the package
  std::string code;  // one of the producer's reasons
};

struct WindowScan {
  std::map<WindowKey, PackageWindow> windows;
  std::set<WindowKey> duplicates;  // not among the windows
  std::vector<ArtifactFault> faults;
};
// Never throws because of a window. May throw FileError if the folder cannot be listed.
WindowScan scan_windows(const PackagePlace& place, const PackageDialect& dialect);

// The completed windows with this concurrency (compared as in Python). Contract.md C.6.
std::vector<PackageWindow> windows_of(const WindowScan& scan, const JsonValue& concurrency);

// What is wrong with a completed window's result, one of the producer's reasons; empty: nothing.
std::string result_fault(const PackagePlace& place, const PackageWindow& window,
                         const PackageDialect& dialect);

// ---- Checks each expected window of a package against its result and the samples, as the producer
// does. Contract.md C.4.

// What the producer writes about each window that it expected.
struct WindowValidation {
  WindowKey key;
  std::optional<std::string> file;
  std::vector<std::string> codes;             // empty: valid
  std::map<std::string, std::string> firsts;  // by code, for people: the first place where it was
                                              // found
  std::vector<std::pair<std::string, double>> gaps_s;  // by device: the longest
};

// An expected window before its gaps are judged.
struct CheckedWindow {
  // One device's samples around a window that is otherwise sound.
  struct Device {
    DeviceKey key;
    std::string name;                  // "host/UUID"; empty if its UUID is not known
    std::string code;                  // why its gaps are not known; empty: they are
    std::string what;                  // the same for people
    const SampleGaps* gaps = nullptr;  // of the samples
  };

  WindowValidation alone;  // without its samples
  std::vector<Device> devices;
  double window_s = 0;
};

// In the order of the expected windows. They point into `samples`.
std::vector<CheckedWindow> check_windows(const PackagePlace& place, const PackageContent& content,
                                         const WindowScan& scan, const PackageSamples& samples,
                                         const PackageDialect& dialect);

struct GapJudgement {
  const GapRule& rule;
  SamplingPace pace;
  bool omits_gaps_of_faulty_windows = false;
};
std::vector<WindowValidation> judged(const std::vector<CheckedWindow>& windows,
                                     const GapJudgement& judgement);

// In these, `wanted` is the window of the run, if there is exactly one: faults of the other windows
// are elsewhere.
PackageFaults window_faults(const std::vector<WindowValidation>& validations,
                            const std::optional<PackageWindow>& wanted);
PackageFaults artifact_faults(const WindowScan& scan, const std::optional<PackageWindow>& wanted);

// Windows that were not expected.
std::vector<ArtifactFault> unexpected_windows(const WindowScan& scan,
                                              const std::vector<WindowKey>& expected);

bool concerns_others(const ArtifactFault& fault, const std::optional<PackageWindow>& wanted);

}  // namespace aggregate_power
