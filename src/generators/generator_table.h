// Load generators: one row for each, with how its files are recognized and read. A new one is a
// file with its format, and a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/load/load_files.h"
#include "generators/generators.h"
#include "generators/windows_file.h"

namespace aggregate_power {

struct LoadGenerator {
  const char* name;
  // For the help: the files, and where their window comes from.
  const char* files = "";
  const char* window = "wrapped: it writes no times";
  const char* latencies = "";  // that its list of requests has, for --slo; empty: it has no list
  // A load of several files is recognized by the name of the file that identifies it. Null: the
  // load is one file.
  bool (*is_named)(std::string_view file_name) = nullptr;
  // A load of one file is recognized by the file's beginning. Returns how certain that is, from 0
  // (not at all) to 1. Null: by the format, or the load is several files.
  double (*fits)(const ResultHead& head) = nullptr;
  // The benchmarks in it. Faults are reasons, never exceptions, except what the files throw.
  std::vector<LoadReading> (*read)(const LoadFiles& files) =
      nullptr;  // null: by the format, or `no_window`
  const ResultFormat* format = nullptr;
  // Of a form that is recognized and states neither times nor counts: why, and what to do.
  const char* no_window = nullptr;
  bool is_recording = false;  // it is named here for people who take it for a result
};

std::span<const LoadGenerator> load_generators();

// Reads all benchmarks of a load with the row that its files fit best; at least one. One whose
// window the result does not state exactly has no load, but clues. Throws what the files throw.
std::vector<LoadReading> read_loads(const LoadFiles& files,
                                    std::span<const LoadGenerator> generators = load_generators());

// The generator whose result a file is, by its content; null: none is certain. Opens it. Throws
// what the file throws.
const LoadGenerator* recognized(const LoadFiles& files);

// The one benchmark of a load, for callers that need a window which its files state. If there are
// several, or there is no such window, that is a reason.
LoadReading read_load(const LoadFiles& files,
                      std::span<const LoadGenerator> generators = load_generators());
// Says in the generator's terms that there is no window, unless there is one.
void require_window(LoadReading& reading);

// A file that may be compressed. Opening it throws FileError.
LoadFiles load_file(const std::string& path, LoadRules rules = LoadRules::schema_2);

// The selected benchmark of a load (benchmark_choice.h), whether or not its window is known. If
// none or several are, that is a reason. Throws what the files throw.
LoadReading read_selected_load(const LoadFiles& files, const std::string& selection);

// The same as read_load() for a file, but errors of the system become reasons too.
LoadReading read_load_file(const std::string& path, LoadRules rules = LoadRules::schema_2);

// ---- The windows of a benchmark result, for the energy of each.

struct BenchmarkWindows {
  std::vector<NamedWindow> windows;
  std::vector<std::string> missing;  // of each benchmark without an exact window, why
};

// Throws FileError if the result cannot be opened.
BenchmarkWindows read_benchmark_windows(const std::string& path);

}  // namespace aggregate_power
