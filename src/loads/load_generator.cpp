// The table of load generators.
#include "loads/load_generator.h"

#include <utility>

#include "base/files/archive.h"
#include "base/files/file.h"
#include "loads/aiperf.h"
#include "loads/aiperf_folder.h"
#include "loads/benchmark.h"

namespace aggregate_power {
namespace {

constexpr LoadGenerator kLoadGenerators[] = {
    // It also takes files that fit nothing else, and says what is wrong with them.
    {.name = "benchmark result",
     .is_named = nullptr,
     .fits = fits_benchmark,
     .read = read_benchmark_files},
    {.name = "AIPerf profile",
     .is_named = is_records_name,
     .fits = nullptr,
     .read = read_profile_files},
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

LoadReading read_one_file(const LoadFiles& files, std::span<const LoadGenerator> generators) {
  std::unique_ptr<ByteSource> source = files.open();
  std::string head = read_up_to(*source, kHeadBytes);
  const LoadGenerator* best = nullptr;
  double how_surely = 0;
  for (const LoadGenerator& generator : generators) {
    const double fit = generator.fits != nullptr ? generator.fits(head) : 0;
    if (fit > how_surely) {
      best = &generator;
      how_surely = fit;
    }
  }
  if (best == nullptr) {
    LoadReading none;
    none.reasons.add(Reason::invalid_benchmark_result,
                     files.name + ": not the result of a known load generator");
    return none;
  }
  LoadFiles resumed = files;
  resumed.open = [&] {
    return std::make_unique<ResumedSource>(std::move(head), std::move(source));
  };
  return best->read(resumed);
}

}  // namespace

std::span<const LoadGenerator> load_generators() { return kLoadGenerators; }

LoadReading read_load(const LoadFiles& files, std::span<const LoadGenerator> generators) {
  if (files.other) {
    for (const LoadGenerator& generator : generators) {
      if (generator.is_named != nullptr && generator.is_named(file_name(files.name))) {
        return generator.read(files);
      }
    }
  }
  return read_one_file(files, generators);
}

LoadReading read_load_of_one_file(const std::string& path, LoadRules rules) {
  return read_load({.name = path,
                    .open = [&] { return decompressed(open_source(path), path); },
                    .rules = rules});
}

LoadReading read_load_file(const std::string& path, LoadRules rules) {
  try {
    return read_load_of_one_file(path, rules);
  } catch (const FileError& error) {
    LoadReading reading;
    reading.reasons.add(Reason::invalid_benchmark_result, error.what());
    return reading;
  }
}

}  // namespace aggregate_power
