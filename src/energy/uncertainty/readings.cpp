// Recognizes faulty readings.
#include "energy/uncertainty/readings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/lists.h"
#include "core/energy/plausibility.h"
#include "core/energy/recording_summary.h"
#include "core/telemetry/power_limits.h"

namespace aggregate_power {
namespace {

constexpr double kPoweredW = 15;
constexpr double kAboveLimit = 1.5;
constexpr std::size_t kMostZeros = 3;
constexpr std::size_t kMostSpikes = 3;  // without a limit; in a long recording 1 %
constexpr int kMostRounds = 4;
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

constexpr std::size_t kAround = 3;  // neighbours on each side

// Whether at least half of the neighbours are below half of a reading.
bool exceeds_neighbours(std::span<const Sample> samples, std::size_t i) {
  const auto is_lower = [&](std::size_t k) { return 2 * samples[k].watts < samples[i].watts; };
  // Three of six are at least one of the nearest four; for most readings none is.
  const bool has_all = i >= kAround && i + kAround < samples.size();
  if (has_all && !is_lower(i - 1) && !is_lower(i + 1) && !is_lower(i - 2) && !is_lower(i + 2)) {
    return false;
  }
  const std::size_t first = i - std::min(i, kAround);
  const std::size_t last = std::min(i + kAround, samples.size() - 1);
  std::size_t lower = 0;
  for (std::size_t k = first; k <= last; ++k) lower += is_lower(k) ? 1 : 0;
  return 2 * lower >= last - first;
}

// Higher than twice what is usual among the readings around it.
bool is_lone_peak(std::span<const Sample> samples, std::size_t i) {
  if (!exceeds_neighbours(samples, i)) return false;
  std::vector<double> around;
  for (std::size_t k = i - std::min(i, kAround); k <= std::min(i + kAround, samples.size() - 1);
       ++k) {
    if (k != i) around.push_back(samples[k].watts);
  }
  return samples[i].watts > 2 * quantile_of(std::move(around), 0.6);
}

// The places of readings in blocks whose readings differ by more than half: all lone zeros and
// peaks are among them.
std::vector<std::size_t> suspects_in(std::span<const Sample> samples) {
  constexpr std::size_t kPlainBlock = 64;
  std::vector<std::size_t> suspects;
  for (std::size_t first = 0; first < samples.size(); first += kPlainBlock) {
    const std::size_t end = std::min(first + kPlainBlock, samples.size());
    double least_w = samples[first].watts;
    double most_w = least_w;
    for (std::size_t i = first - std::min(first, kAround);
         i < std::min(end + kAround, samples.size()); ++i) {
      least_w = std::min(least_w, samples[i].watts);
      most_w = std::max(most_w, samples[i].watts);
    }
    if (least_w > 0 && 2 * least_w >= most_w) continue;
    for (std::size_t i = first; i < end; ++i) suspects.push_back(i);
  }
  return suspects;
}

// The watts above which a lone peak is out of the ordinary; infinite where readings above them are
// the load: where they are common. A limit makes them less credible.
double odd_level_w(std::span<const Sample> samples, std::span<const std::size_t> peaks,
                   std::optional<double> limit_w) {
  std::vector<double> others_w;
  for (std::size_t i = 0, next = 0; i < samples.size(); ++i) {
    const bool is_peak = next < peaks.size() && peaks[next] == i;
    is_peak ? static_cast<void>(++next) : others_w.push_back(samples[i].watts);
  }
  const double usual_w = quantile_of(std::move(others_w), 0.99);
  const double level_w = limit_w ? kAboveLimit * *limit_w : std::max(1.0, 2 * usual_w);
  const double load_w = std::min(usual_w, limit_w.value_or(usual_w)) / 2;
  std::size_t above = 0;
  std::size_t loaded = 0;
  for (const Sample& sample : samples) {
    above += sample.watts > level_w ? 1 : 0;
    loaded += sample.watts > load_w ? 1 : 0;
  }
  const bool is_common =
      limit_w ? 3 * above > loaded
              : 10 * above > loaded || above > std::max(kMostSpikes, samples.size() / 100);
  return is_common ? HUGE_VAL : level_w;
}

std::vector<std::size_t> lone_peaks_in(std::span<const Sample> samples) {
  return items_where(suspects_in(samples),
                     [&](const std::size_t i) { return is_lone_peak(samples, i); });
}

// Leaves readings out, by their places in order.
void leave_out(SoundReadings& sound, std::span<const std::size_t> places) {
  if (places.empty()) return;
  sound.implausible += places.size();
  std::vector<Sample> kept;
  kept.reserve(sound.samples.size() - places.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < sound.samples.size(); ++i) {
    const bool is_left_out = next < places.size() && places[next] == i;
    (is_left_out ? sound.left_out : kept).push_back(sound.samples[i]);
    next += is_left_out ? 1 : 0;
  }
  sound.kept = std::move(kept);
  sound.samples = sound.kept;
}

void leave_out_zeros_and_absurd(SoundReadings& sound) {
  leave_out(sound, items_where(suspects_in(sound.samples), [&](const std::size_t i) {
              return is_lone_zero(sound.samples, i) || sound.samples[i].watts > kMostBoardWatts;
            }));
}

// A reading on the way up or down proves a load: nothing is doubtful about its top. Two equal ones
// are one that was shown twice.
void note_doubtful(SoundReadings& sound, double odd_w) {
  const std::span<const Sample> samples = sound.samples;
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const Sample& before = samples[i - 1];
    const Sample first = samples[i];
    if (samples[i + 1].watts == first.watts && i + 2 < samples.size()) ++i;
    const Sample& after = samples[i + 1];
    const bool is_alone = 2 * std::max(before.watts, after.watts) < first.watts;
    if (first.watts <= odd_w || !is_alone) continue;
    const double above_w = first.watts - (before.watts + after.watts) / 2;
    const double seconds = (after.unix_s - before.unix_s + samples[i].unix_s - first.unix_s) / 2;
    sound.doubtful.push_back({first.unix_s, above_w * seconds});
  }
}

// Among several spikes each may hide the others, so those that are left are looked at again.
void leave_out_spikes(SoundReadings& sound, std::optional<double> limit_w, double most_w) {
  std::vector<std::size_t> peaks = lone_peaks_in(sound.samples);
  if (peaks.empty()) return;
  const double odd_w = odd_level_w(sound.samples, peaks, limit_w);
  const double level_w = limit_w ? odd_w : std::max(odd_w, most_w);
  for (int round = 0; round < kMostRounds && !peaks.empty(); ++round) {
    std::erase_if(peaks, [&](std::size_t i) { return sound.samples[i].watts <= level_w; });
    leave_out(sound, peaks);
    if (!peaks.empty()) peaks = lone_peaks_in(sound.samples);
  }
  if (odd_w < level_w) note_doubtful(sound, odd_w);
}

// Consecutive readings of one value.
struct Repeat {
  std::size_t first;
  std::size_t end;
  double seconds;
};

Repeat repeat_at(std::span<const Sample> samples, std::size_t first) {
  std::size_t end = first + 1;
  while (end < samples.size() && samples[end].watts == samples[first].watts) ++end;
  return {first, end, samples[end - 1].unix_s - samples[first].unix_s};
}

std::vector<Repeat> repeats_of(std::span<const Sample> samples) {
  std::vector<Repeat> repeats;
  for (std::size_t i = 0; i < samples.size(); i = repeats.back().end) {
    repeats.push_back(repeat_at(samples, i));
  }
  return repeats;
}

bool may_be_stuck(const Repeat& repeat) {
  return repeat.seconds >= kShortestStuck_s && repeat.end - repeat.first >= kFewestStuck;
}

bool has_none_stuck(std::span<const Sample> samples) {
  // Of six readings with one value there are five pairs of neighbours: each fifth pair is looked
  // at.
  constexpr std::size_t kStep = kFewestStuck - 1;
  for (std::size_t i = 0; i + 1 < samples.size(); i += kStep) {
    if (samples[i].watts != samples[i + 1].watts) continue;
    std::size_t first = i;
    while (first > 0 && samples[first - 1].watts == samples[i].watts) --first;
    const Repeat repeat = repeat_at(samples, first);
    if (may_be_stuck(repeat)) return false;
    i += (repeat.end - 1 - i) / kStep * kStep;
  }
  return true;
}

std::vector<Repeat> stuck_repeats(std::span<const Sample> samples) {
  if (has_none_stuck(samples)) return {};
  std::vector<double> watts;
  for (const Sample& sample : samples) watts.push_back(sample.watts);
  const double load_w = 0.4 * quantile_of(std::move(watts), 0.95);
  const std::vector<Repeat> repeats = repeats_of(samples);
  std::vector<double> lengths_s;
  std::vector<double> moves;
  double least_move_w = HUGE_VAL;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const double own_w = samples[repeats[i].first].watts;
    const double before_w = i > 0 ? samples[repeats[i - 1].first].watts : own_w;
    // At idle, too: the last digit is the same there.
    if (i > 0) least_move_w = std::min(least_move_w, std::abs(own_w - before_w));
    if (own_w <= load_w) continue;
    lengths_s.push_back(repeats[i].seconds);
    if (i > 0 && before_w > load_w) moves.push_back(std::abs(own_w / before_w - 1));
  }
  std::vector<Repeat> stuck;
  // Sampled ten times as often as an average changes, the values move by a tenth of what they move
  // in a second; a step of that size is still many digits.
  const double usual_move = quantile_of(std::move(moves), 0.5);
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
    if (may_be_stuck(repeat) && samples[repeat.first].watts > load_w &&
        repeat.seconds > 5 * others_s) {
      stuck.push_back(repeat);
    }
  }
  return stuck;
}

}  // namespace

double most_board_w(std::string_view model) {
  const auto board = power_limit_of(model);
  return board ? board->watts : std::ranges::max(power_limits(), {}, &PowerLimit::watts).watts;
}

SoundReadings sound_readings(std::span<const Sample> samples, std::optional<double> limit_w,
                             std::string_view model) {
  SoundReadings sound;
  sound.samples = samples;
  leave_out_zeros_and_absurd(sound);
  leave_out_spikes(sound, limit_w, most_board_w(model));
  std::ranges::stable_sort(sound.left_out, {}, &Sample::unix_s);
  const std::vector<Repeat> stuck = stuck_repeats(sound.samples);
  if (stuck.empty()) return sound;
  std::vector<Sample> moving;
  std::size_t next = 0;
  for (const Repeat& repeat : stuck) {
    for (; next <= repeat.first; ++next) moving.push_back(sound.samples[next]);
    sound.stuck.push_back(
        {sound.samples[repeat.first].unix_s, sound.samples[repeat.end - 1].unix_s});
    next = repeat.end;
  }
  for (; next < sound.samples.size(); ++next) moving.push_back(sound.samples[next]);
  sound.kept = std::move(moving);
  sound.samples = sound.kept;
  return sound;
}

// ---- Keeps what was found.

ReadingSeries::ReadingSeries(std::span<const Sample> samples)
    : samples_(samples), moments_(samples), period_s_(median_period_s(samples)) {
  if (share_stamps(samples)) moments_ = merged_ = merged(samples);
  blocks_j_ = line_blocks_j(moments_);
}

double ReadingSeries::moment_period_s() const {
  if (!moment_period_s_) {
    moment_period_s_ = merged_.empty() ? period_s_ : median_period_s(moments_);
  }
  return *moment_period_s_;
}

const PaceFinding& ReadingSeries::moment_pace() const {
  if (!moment_pace_) moment_pace_ = find_moment_pace(moments_, moment_period_s());
  return *moment_pace_;
}

// Sensors of different ages mostly see the same moments in a window.
Scatter ReadingSeries::kept(FindScatter find, std::size_t first, std::size_t end,
                            std::optional<KeptScatter>& kept) const {
  const bool is_kept = kept && kept->first == first && kept->end == end;
  if (!is_kept) kept = {first, end, find(moments_.subspan(first, end - first))};
  return kept->scatter;
}

Scatter ReadingSeries::scatter(std::size_t first, std::size_t end) const {
  return kept(scatter_of, first, end, kept_scatter_);
}

Scatter ReadingSeries::scatter_around_trend(std::size_t first, std::size_t end) const {
  return kept(aggregate_power::scatter_around_trend, first, end, kept_around_trend_);
}

}  // namespace aggregate_power
