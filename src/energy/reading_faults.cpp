// Recognizes faulty readings.
#include "energy/reading_faults.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "energy/quantile.h"

namespace aggregate_power {
namespace {

constexpr double kPoweredW = 15;
constexpr double kAboveLimit = 1.5;
constexpr std::size_t kMostZeros = 3;
constexpr double kShortestStuck_s = 4;
constexpr std::size_t kFewestStuck = 6;

bool is_lone_zero(std::span<const Sample> samples, std::size_t i) {
  if (samples[i].watts != 0) return false;
  std::size_t first = i;
  std::size_t last = i;
  // A few steps are enough: more zeros are no lone ones.
  while (first > 0 && samples[first].watts == 0 && i - first <= kMostZeros) --first;
  while (last + 1 < samples.size() && samples[last].watts == 0 && last - i <= kMostZeros) ++last;
  return last - first <= kMostZeros + 1 && samples[first].watts > kPoweredW &&
         samples[last].watts > kPoweredW;
}

// Higher than twice what is usual among the readings around it.
bool is_lone_peak(std::span<const Sample> samples, std::size_t i) {
  constexpr std::size_t kAround = 3;
  std::array<double, 2 * kAround> around;
  std::size_t count = 0;
  std::size_t lower = 0;
  for (std::size_t k = i - std::min(i, kAround); k <= std::min(i + kAround, samples.size() - 1);
       ++k) {
    if (k == i) continue;
    around[count++] = samples[k].watts;
    if (2 * samples[k].watts < samples[i].watts) ++lower;
  }
  if (2 * lower < count) return false;
  return samples[i].watts > 2 * quantile_of({around.begin(), around.begin() + count}, 0.6);
}

std::vector<Sample> without_implausible(std::span<const Sample> samples,
                                        std::optional<double> limit_w) {
  std::vector<double> others;
  std::vector<bool> is_peak(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    is_peak[i] = is_lone_peak(samples, i);
    if (!is_peak[i]) others.push_back(samples[i].watts);
  }
  // Where lone peaks are common they are the load; below the board's limit they may be.
  const bool peaks_are_faults = others.size() * 10 >= samples.size() * 9 || limit_w;
  const double highest_w =
      limit_w ? kAboveLimit * *limit_w : std::max(1.0, 2 * quantile_of(others, 0.99));
  std::vector<Sample> kept;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool is_spike = peaks_are_faults && samples[i].watts > highest_w && is_peak[i];
    if (!is_spike && !is_lone_zero(samples, i)) kept.push_back(samples[i]);
  }
  return kept;
}

// Consecutive readings of one value.
struct Repeat {
  std::size_t first;
  std::size_t end;
  double seconds;
};

std::vector<Repeat> repeats_of(std::span<const Sample> samples) {
  std::vector<Repeat> repeats;
  for (std::size_t i = 0; i < samples.size();) {
    std::size_t end = i + 1;
    while (end < samples.size() && samples[end].watts == samples[i].watts) ++end;
    repeats.push_back({i, end, samples[end - 1].unix_s - samples[i].unix_s});
    i = end;
  }
  return repeats;
}

std::vector<Repeat> stuck_repeats(std::span<const Sample> samples) {
  std::vector<double> watts;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  const double load_w = 0.4 * quantile_of(watts, 0.95);
  const std::vector<Repeat> repeats = repeats_of(samples);
  std::vector<double> lengths_s;
  std::vector<double> moves;
  double least_move_w = HUGE_VAL;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const double own_w = samples[repeats[i].first].watts;
    if (own_w <= load_w) continue;
    lengths_s.push_back(repeats[i].seconds);
    const double before_w = i > 0 ? samples[repeats[i - 1].first].watts : 0;
    if (before_w <= load_w) continue;
    moves.push_back(std::abs(own_w / before_w - 1));
    least_move_w = std::min(least_move_w, std::abs(own_w - before_w));
  }
  std::vector<Repeat> stuck;
  // Sampled ten times as often as an average changes, the values move by a tenth of what they move
  // in a second; a step of that size is still many digits.
  const double usual_move = quantile_of(moves, 0.5);
  if (usual_move <= 0.0001) return stuck;
  // Power that is as good as constant repeats one value, and moves by its last digit only.
  constexpr double kLastDigit = 1.5;
  const double level_w = load_w / 0.4;
  if (usual_move * level_w <= kLastDigit * least_move_w) return stuck;
  const double usual_s = quantile_of(lengths_s, 0.98);
  for (const Repeat& repeat : repeats) {
    const double others_s = repeat.seconds >= usual_s && usual_s > kShortestStuck_s
                                ? quantile_of(lengths_s, 0.9)
                                : usual_s;
    if (repeat.seconds >= kShortestStuck_s && repeat.end - repeat.first >= kFewestStuck &&
        samples[repeat.first].watts > load_w && repeat.seconds > 5 * others_s) {
      stuck.push_back(repeat);
    }
  }
  return stuck;
}

}  // namespace

SoundReadings sound_readings(std::span<const Sample> samples, std::optional<double> limit_w) {
  SoundReadings sound;
  const std::vector<Sample> plausible = without_implausible(samples, limit_w);
  sound.implausible = samples.size() - plausible.size();
  std::size_t next = 0;
  for (const Repeat& repeat : stuck_repeats(plausible)) {
    for (; next <= repeat.first; ++next) sound.samples.push_back(plausible[next]);
    sound.stuck.push_back({plausible[repeat.first].unix_s, plausible[repeat.end - 1].unix_s});
    next = repeat.end;
  }
  for (; next < plausible.size(); ++next) sound.samples.push_back(plausible[next]);
  return sound;
}

}  // namespace aggregate_power
