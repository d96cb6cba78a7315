// The windows of a `dcgm-power` package: what was measured when. Contract.md C.1, C.4, C.9.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/sample.h"
#include "base/files/tree.h"
#include "packages/srt_slurm/dialect.h"
#include "packages/srt_slurm/manifest.h"

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
}  // namespace aggregate_power
