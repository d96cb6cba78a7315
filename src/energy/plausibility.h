// Whether a power is plausible for a GPU, and which unit was meant if it is not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/power_unit.h"

namespace aggregate_power {

// No GPU board or module draws more.
inline constexpr double kMostBoardWatts = 3000;

// Whether no GPU board or module draws so much, or none that is on draws so little: the unit may be
// off by a factor of a thousand (formats.md section 1 row 9), or the sensor dead.
bool is_doubtful(double mean_w, double max_w);

// Why a mean power per GPU is hardly plausible, for people. Returns nullopt if it is plausible.
std::optional<std::string> doubt_about(double mean_w);

// Which devices were hardly used, for people: those whose mean power is below 40 % of the busiest
// one's. Returns nullopt if there are none.
std::optional<std::string> idle_text(std::span<const std::string> names,
                                     std::span<const double> means_w);
// By device, whether it is one of those.
std::vector<bool> idle_devices(std::span<const double> means_w);
// The share of all devices' energy that those have.
double idle_share(std::span<const double> means_w);
// From here on it is not an oversight of the reader.
inline constexpr double kMostIdleShare = 1.0 / 3;

// Why the mean of a GPU's energy is impossible: readings on their own, or the unit.
std::string impossible_gpu_text(const DeviceEnergy& gpu, double mean_w, PowerUnit::Size read_as);

// What is odd about single samples that count in the energies, for people: `boards` if the sensors
// are of GPU boards or modules, and not of nodes. Empty: nothing.
std::vector<std::string> odd_samples_text(std::span<const std::string> names,
                                          std::span<const DeviceEnergy> gpus, bool are_boards);

// For people: these series of power have no value, so that their GPUs do not count. nullopt: none.
std::optional<std::string> silent_series_text(std::span<const std::string> series);

// No single device draws more on average.
inline constexpr double kMostMeanWatts = 10'000;

// Whether it is more than that.
bool is_impossible(double mean_w);

// The unit in which an impossible mean would be plausible. Returns nullopt if there is none.
// `read_as` is the unit in which bare numbers were read.
std::optional<PowerUnit::Size> likely_unit(double mean_w, PowerUnit::Size read_as);

// "a mean of 32349.6 W; milliwatts? pass --power-unit mW"
std::string impossible_mean_text(double mean_w, PowerUnit::Size read_as);

}  // namespace aggregate_power
