// Recordings and logs that end anywhere: what is read of one is a part of what is read of the whole
// file, and what is scribbled on never breaks a reader.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "aggregate_power/error.h"
#include "base/text/json.h"
#include "base/text/time_zone.h"
#include "energy/shares/node_meter.h"
#include "recorders/node_sensors.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace cut_files_test {

namespace fs = std::filesystem;
using test::bytes_of;

const fs::path kData = TESTDATA;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Every place in a short file; of a long one some, and all near its end.
std::vector<std::size_t> places_to_cut(std::size_t bytes) {
  const auto all_of = static_cast<std::size_t>(test::rounds(1000));
  const auto parts = static_cast<std::size_t>(test::rounds(97));
  constexpr std::size_t kEnd = 60;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < bytes; i += bytes < all_of || i + kEnd > bytes ? 1 : bytes / parts) {
    places.push_back(i);
  }
  return places;
}

// Device, time, watts. Devices are numbered as they appear.
using PowerReading = std::tuple<std::uint32_t, double, double>;

std::vector<PowerReading> readings_of(const std::string& text, const std::string& path) {
  std::vector<PowerReading> found;
  Telemetry telemetry =
      open_telemetry(std::make_unique<MemorySource>(text), {.zone = Zone::fixed(0), .path = path});
  if (!telemetry.facts().has_times() || !telemetry.facts().has_power()) return found;
  try {
    telemetry.read([&](std::span<const Reading> readings) {
      for (const Reading& reading : readings) {
        if (reading.kind != Reading::Kind::power) continue;
        found.emplace_back(reading.device, reading.unix_s, reading.watts);
      }
    });
  } catch (const TelemetryError&) {
  } catch (const JsonError&) {
  }
  return found;
}

// The last row of a CSV may end in a number that was cut: the contract has it so. All its readings
// have the last time. Other formats show where a record ends.
std::size_t strangers(const std::vector<PowerReading>& part, const std::vector<PowerReading>& whole,
                      bool is_csv) {
  const std::set<PowerReading> known(whole.begin(), whole.end());
  return static_cast<std::size_t>(std::ranges::count_if(part, [&](const PowerReading& reading) {
    const bool is_of_last_row = std::get<1>(reading) == std::get<1>(part.back());
    return !known.contains(reading) && !(is_csv && is_of_last_row);
  }));
}

TEST(CutRecordings, HaveReadingsOfTheWholeFileAlone) {
  std::size_t with_readings = 0;
  for (const char* const folder : {"telemetry", "telemetry-written"}) {
    for (const fs::path& file : files_below(kData / folder)) {
      const std::string text = bytes_of(file);
      const std::vector<PowerReading> whole = readings_of(text, file);
      if (whole.empty()) continue;
      ++with_readings;
      const bool is_csv = file.extension() == ".csv";
      for (const std::size_t place : places_to_cut(text.size())) {
        const std::vector<PowerReading> part = readings_of(text.substr(0, place), file);
        ASSERT_LE(part.size(), whole.size()) << file << " cut at " << place;
        ASSERT_EQ(strangers(part, whole, is_csv), 0U) << file << " cut at " << place;
      }
    }
  }
  EXPECT_GT(with_readings, 30U);
}

// ---- Logs of a node's sensors

constexpr double kNoon = 1777118400;  // 2026-04-25T12:00:00Z
constexpr Window kLoad{kNoon + 10, kNoon + 40};

// The energies that are known in the window, by the names of the sensors.
std::map<std::string, double> energies_of(const std::string& text) {
  std::map<std::string, double> energies;
  try {
    const NodeWitnesses found = read_node_witnesses(text, "x.log", Zone::fixed(0));
    for (const NodeWitness& witness : found.witnesses) {
      const WitnessEnergy seen = WitnessMeter(witness).measure(kLoad);
      if (seen.fault.empty()) energies[witness.name] = seen.energy_j;
    }
  } catch (const Error&) {
  }
  return energies;
}

std::vector<fs::path> witness_files() {
  return files_below(kData / "telemetry-written" / "node-witnesses");
}

TEST(CutWitnesses, HaveTheEnergyOfTheWholeFileOrNone) {
  std::size_t known = 0;
  for (const fs::path& file : witness_files()) {
    const std::string text = bytes_of(file);
    const auto whole = energies_of(text);
    for (std::size_t place = 0; place<text.size(); place += text.size()> 3000 ? 3 : 1) {
      for (const auto& [name, energy_j] : energies_of(text.substr(0, place))) {
        ASSERT_TRUE(whole.contains(name)) << file << " cut at " << place << ": " << name;
        ASSERT_NEAR(energy_j, whole.at(name), 1e-6) << file << " cut at " << place << ": " << name;
        ++known;
      }
    }
  }
  EXPECT_GT(known, 1000U);
}

TEST(ScribbledWitnesses, AreReadOrRefused) {
  std::mt19937 random(20260425);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (const fs::path& file : witness_files()) {
    const std::string text = bytes_of(file);
    for (int i = 0; i < 100; ++i) {
      std::string scribbled = text;
      for (std::size_t changes = 1 + below(20); changes > 0; --changes) {
        const std::size_t place = below(scribbled.size());
        const std::string_view stray[] = {
            "|",    ":", "\n", " ", "J", "us",   "9999999999999999999", "-", "nan", "1e308",
            "\xff", ",", "\"", "#", "/", "Watts"};
        if (below(2) == 0) {
          scribbled[place] = static_cast<char>(below(256));
        } else {
          scribbled.insert(place, stray[below(std::size(stray))]);
        }
      }
      for (const auto& [name, energy_j] : energies_of(scribbled)) {
        EXPECT_TRUE(std::isfinite(energy_j) && energy_j >= 0) << file << ": " << name;
      }
    }
  }
}

}  // namespace cut_files_test
}  // namespace aggregate_power
