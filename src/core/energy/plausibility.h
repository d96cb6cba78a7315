// Whether a power is plausible for a GPU, and which unit was meant if it is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/sample.h"
#include "core/energy/stated_limits.h"

namespace aggregate_power {

// No GPU board draws more; contract.md part 0 row 31.
inline constexpr double kMostBoardWatts = 3000;
// Few draw more, and only a limit beside the readings shows that one may.
inline constexpr double kMostUsualWatts = 2000;
// No single device draws more on average, whatever it is: a node, or a rack's row.
inline constexpr double kMostMeanWatts = 10'000;

// Above `most_w` no device of a kind draws, above `usual_w` hardly any.
struct PlausibleWatts {
  double most_w = kMostBoardWatts;
  double usual_w = kMostUsualWatts;

  bool is_of_gpus() const { return most_w < kMostMeanWatts; }
};
// What a sensor of this scope (Sensor::scope) can read: of GPUs, of modules with several chips, or
// of anything else. `has_limit`: the rows may state their GPU's power limit.
PlausibleWatts plausible_watts(std::string_view scope, bool has_limit);

// Whether hardly any GPU draws so much, or none that is on draws so little: the unit may be off by
// a factor of a thousand (formats.md section 1 row 9), or the sensor dead.
bool is_doubtful(double mean_w, double max_w, double usual_w = kMostUsualWatts);

// Why a mean power per GPU is hardly plausible, for people. Returns nullopt if it is plausible.
std::optional<std::string> doubt_about(double mean_w, double usual_w = kMostUsualWatts);

// By device, whether it was hardly used: its mean power is below 40 % of the busiest one's.
std::vector<bool> idle_devices(std::span<const double> means_w);
// Which devices are idle, for people. Returns nullopt if none is.
std::optional<std::string> idle_text(std::span<const std::string> names,
                                     std::span<const double> means_w,
                                     const std::vector<bool>& is_idle);
// The share of all devices' energy that those have.
double idle_share(std::span<const double> means_w, const std::vector<bool>& is_idle);
// A GPU with this utilization works, however little it draws.
inline constexpr double kWorkingPct = 20;
// From here on it is not an oversight of the reader.
inline constexpr double kMostIdleShare = 1.0 / 3;

// What is odd about single samples that count in the energies, for people. Empty: nothing.
std::vector<std::string> odd_samples_text(std::span<const std::string> names,
                                          std::span<const DeviceEnergy> gpus, double usual_w);

// For people: these series of power have no value, so that their GPUs do not count. nullopt: none.
std::optional<std::string> silent_series_text(std::span<const std::string> series);

// Whether it is more than any device draws.
bool is_impossible(double mean_w, double most_w = kMostMeanWatts);

// The unit in which an impossible mean would be plausible. Returns nullopt if there is none.
// `read_as` is the unit in which bare numbers were read.
std::optional<PowerUnit::Size> likely_unit(double mean_w, PowerUnit::Size read_as,
                                           double most_w = kMostMeanWatts);

// "a mean of 32349.6 W; milliwatts? pass --power-unit mW"
std::string impossible_mean_text(double mean_w, PowerUnit::Size read_as,
                                 double most_w = kMostMeanWatts);

// "a reading of 500000 W, which no GPU draws: ..."
std::string impossible_reading_text(double watts, PowerUnit::Size read_as);

// Which of the two a window's mean and highest reading are; empty: both are possible.
std::string impossible_window_text(double mean_w, double peak_w, PowerUnit::Size read_as,
                                   double most_w);

// What is known of a GPU's power in a window.
struct DrawnPower {
  double mean_w = 0;
  std::uint64_t samples = 0;
  std::uint64_t absurd_samples = 0;  // above kMostBoardWatts
  Sample highest = {};
  StatedLimits::Device stated = {};
  std::string_view board = {};                 // by its name, and what its maker states that it
  double board_limit_w = 0;                    // may draw; 0: unknown
  std::optional<double> utilization_pct = {};  // mean
  bool is_large = false;                       // by its name, a board that never draws 5 W
};

// Why no GPU drew that, with the unit that is likely meant, for people; empty: one may have. A card
// that worked draws at least kLeastWorkingWatts.
inline constexpr double kLeastWorkingWatts = 5;
inline constexpr double kSurelyWorkingPct = 50;  // of utilization
std::string impossible_power_text(const DrawnPower& drawn, PowerUnit::Size read_as,
                                  const PlausibleWatts& plausible);

// ---- Readings of one GPU that no sensor can be right about, and that count in the energy of
// windows. Pure arithmetic.

// Above what usual boards draw, and up to three zeros in a row between readings above 15 W.
class OddReadings {
 public:
  // `samples` in time order.
  explicit OddReadings(std::span<const Sample> samples);

  // The energy of `window` is published. Windows may overlap; time grows with the logarithm of the
  // odd readings, and with those that were not met before.
  void count_in(Window window);
  // Those that were met: the members that odd_samples_text() reads.
  DeviceEnergy found() const;

 private:
  struct Odd {
    Sample sample;
    Window reach;      // where the power depends on it
    std::size_t next;  // itself, or, once it was met, one that is not before the next unmet one
  };
  std::size_t next_unmet(std::size_t i);

  std::vector<Odd> odd_;
};

}  // namespace aggregate_power
