// Finds the requests of published runs, and holds them against an objective.
#include "decide/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/shown_number.h"
#include "core/record/request_json.h"
#include "decide/compare/facility.h"
#include "energy/shares/good_work.h"
#include "energy/uncertainty/placed_interval.h"
#include "generators/request_file.h"
#include "recorders/recording.h"
#include "runs/measure/good_work.h"
#include "runs/measure/requests.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power::compare {
namespace {

constexpr std::string_view kGoodKeys[] = {"joules_per_good_output_token",
                                          "joules_per_good_request",
                                          "goodput_requests_per_s",
                                          "goodput_output_tokens_per_s",
                                          "slo_attainment",
                                          kSloHolds,
                                          kMissedShare,
                                          kGoodRoleKeys[0],
                                          kGoodRoleKeys[1]};

// The result that the run's record names, where it is now.
RequestFile requests_of_record(const PublishedRun& run) {
  const auto record = read_run_record(run.record.place());
  auto result = record ? record->find(record->benchmark()) : std::nullopt;
  if (!result || !result->facts) throw Error("its benchmark result is not found");
  if (auto list = find_beside(*result, std::string(last_name(requests_name(result->path))))) {
    result = std::move(list);
  }
  LoadFiles files;
  files.name = result->display;
  files.open = [&] { return decompressed(result->tree->open(result->path).source(), files.name); };
  return read_requests(std::move(files), NeededTimes::latencies);
}

RequestFile requests_of(const PublishedRun& run) {
  if (run.record) return requests_of_record(run);
  const bool is_measured_here = !run.read_as.empty() && !run.has_aggregate;
  if (is_measured_here && !run.telemetry.empty()) {
    return read_requests(run.name, NeededTimes::latencies);
  }
  throw Error("it has no audit record, which would name its benchmark result");
}

// In joules, a part of the GPUs is known at least as well as all: errors are mostly of one sign.
Boxed<Spread> part_spread(const Boxed<Spread>& whole, double part_j) {
  if (!whole) return {};
  return Spread{part_j, whole->standard_uncertainty,
                std::max(0.0, part_j - (whole->estimate - whole->low)),
                part_j + (whole->high - whole->estimate)};
}

// The energy of the workers of each role over the good output tokens. Together they are the whole.
// A role without an interval of its own has the interval of the whole, in joules.
void add_role_numbers(const PublishedRun& run, const GoodWork& work,
                      std::vector<PublishedNumber>& numbers) {
  constexpr std::string_view kRoleEnergies[] = {"prefill_gpu_energy_j", "decode_gpu_energy_j"};
  const auto whole = run.number("total_gpu_energy_j");
  for (std::size_t i = 0; i < std::size(kRoleEnergies); ++i) {
    const auto energy = run.number(kRoleEnergies[i]);
    if (!energy || !work.output_tokens) continue;
    const double per_j = 1 / *work.output_tokens;
    PublishedNumber& number =
        numbers.emplace_back(PublishedNumber{kGoodRoleKeys[i], energy->value * per_j});
    if (!std::isfinite(per_j)) continue;
    const auto spread = [&](Boxed<Spread> PublishedNumber::*of) {
      const Boxed<Spread>& own = (*energy).*of;
      if (own) return scaled_spread(own, per_j);
      return scaled_spread(whole ? part_spread((*whole).*of, energy->value) : own, per_j);
    };
    number.flowed = spread(&PublishedNumber::flowed);
    number.repeatability = spread(&PublishedNumber::repeatability);
  }
}

// What is known of the energy, as far as the run states it; else its parts have no interval.
std::optional<WholeEnergy> whole_of(const PublishedRun& run) {
  const auto energy = run.number("total_gpu_energy_j");
  if (!energy || !energy->flowed) return std::nullopt;
  const double all_j = energy->flowed->standard_uncertainty;
  const double own_j = energy->repeatability ? energy->repeatability->standard_uncertainty : all_j;
  return WholeEnergy{.joules = energy->flowed->estimate,
                     .seconds = run.duration_s,
                     .gain_j = std::sqrt(std::max(0.0, all_j * all_j - own_j * own_j)),
                     .other_j = own_j};
}

// The share of the energy for requests that count and are not good; nullopt: they have no times, or
// the recording is not there, or is of other GPUs, too.
std::optional<PublishedNumber> missed_share_of(
    const PublishedRun& run, std::vector<RequestTimes> requests,
    const std::vector<shares::RequestOutcome>& outcomes) {
  constexpr double kMostDifference = 0.01;
  const auto energy = run.number("total_gpu_energy_j");
  const auto place = telemetry_of(run);
  if (!energy || !(energy->value > 0) || !place || !place->facts) return std::nullopt;
  const auto recording = recording_of_run(*place, record_of(run));
  if (!recording->faults().empty()) return std::nullopt;
  const auto group = energy_of_published_requests(
      *recording, {run.start_unix_s, run.start_unix_s + run.duration_s}, run.text_of("hw"),
      std::move(requests), runs::missed_requests(outcomes), whole_of(run));
  if (!group || std::abs(group->whole_j / energy->value - 1) > kMostDifference) return std::nullopt;
  PublishedNumber share{kMissedShare, group->joules / group->whole_j};
  if (const auto& bounds = group->bounds) {
    const Interval part{bounds->low / group->whole_j, std::min(1.0, bounds->high / group->whole_j)};
    share.flowed =
        Spread{share.value, (part.high - part.low) / (2 * kCoverageFactor), part.low, part.high};
  }
  return share;
}

std::vector<PublishedNumber> numbers_of(const PublishedRun& run, const Slo& slo,
                                        bool reads_recording) {
  if (!(run.duration_s > 0)) throw Error("its window is not known");
  RequestFile file = requests_of(run);
  std::vector<shares::RequestOutcome> outcomes;
  const Window window{run.start_unix_s, run.start_unix_s + run.duration_s};
  GoodWork work = runs::good_work_of(file, slo, window, false, run.completed_requests, &outcomes);
  if (!work.refused.empty()) throw Error(work.why);
  const auto energy = run.number("total_gpu_energy_j");
  if (energy) work.energy_j = energy->value;
  std::vector<PublishedNumber> numbers;
  numbers.push_back({kSloHolds, work.holds() ? 1.0 : 0.0});
  for (const auto& [key, value] : good_numbers(work)) {
    PublishedNumber& number = numbers.emplace_back(PublishedNumber{key, value});
    if (!energy || !key.starts_with("joules_") || !(energy->value > 0)) continue;
    if (!std::isfinite(value)) continue;
    number.flowed = scaled_spread(energy->flowed, value / energy->value);
    number.repeatability = scaled_spread(energy->repeatability, value / energy->value);
  }
  add_role_numbers(run, work, numbers);
  const std::vector<shares::LatencyQuantile> latencies =
      shares::latency_quantiles(file.requests, outcomes, slo);
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    const shares::LatencyQuantile& at = latencies[i];
    numbers.push_back({latency_key(slo.limits[i]), at.seconds,
                       Spread{at.seconds, 0, at.bounds.low, at.bounds.high}});
  }
  if (!reads_recording || !file.has_instants) return numbers;
  try {
    if (auto share = missed_share_of(run, std::move(file.requests), outcomes)) {
      numbers.push_back(std::move(*share));
    }
  } catch (const std::runtime_error&) {  // the recording is gone, or damaged: there is no share
  }
  return numbers;
}

}  // namespace

bool is_good_key(std::string_view key) {
  return std::ranges::find(kGoodKeys, key) != std::end(kGoodKeys);
}

std::string latency_key(const SloLimit& limit) {
  return fmt::format("p{:.6g}_{}_s", 100 * shares::quantile_share(limit), name(limit.kind));
}

NumberOfRuns number_of_runs(const std::vector<const PublishedRun*>& runs, std::string_view key) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  NumberOfRuns number{0, kInfinite, 0};
  for (const PublishedRun* const run : runs) {
    const auto one = run->number(key);
    const double value = one ? one->value : kInfinite;
    number.value += value / static_cast<double>(runs.size());
    number.low = std::min(number.low, one && one->flowed ? one->flowed->low : value);
    number.high = std::max(number.high, one && one->flowed ? one->flowed->high : value);
  }
  return number;
}

std::string missed_share_text(const NumberOfRuns& share) {
  std::string text = fmt::format("{} %", shown_number(100 * share.value));
  if (share.low < share.value || share.high > share.value) {
    text +=
        fmt::format(" ({} to {})", shown_number(100 * share.low), shown_number(100 * share.high));
  }
  return text + " of the energy for requests that missed it";
}

void add_good_numbers(const Slo& slo, unsigned most_threads, const std::vector<PublishedRun*>& runs,
                      std::vector<std::string>& warnings) {
  constexpr std::size_t kMostRecordings = 200;
  std::vector<std::string> lacks(runs.size());
  in_parallel(runs.size(), most_threads, [&](std::size_t i) {
    PublishedRun& run = *runs[i];
    if (run.state != PowerState::valid) return;
    try {
      append(run.numbers, numbers_of(run, slo, runs.size() <= kMostRecordings));
    } catch (const std::runtime_error& error) {
      lacks[i] = error.what();
    }
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (lacks[i].empty()) continue;
    warnings.push_back(
        fmt::format("--slo: {}: {}: it has no good work", printable(runs[i]->name, 200), lacks[i]));
  }
}

}  // namespace aggregate_power::compare
