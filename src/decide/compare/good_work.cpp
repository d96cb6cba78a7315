// Finds the requests of published runs, and holds them against an objective.
#include "decide/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "decide/compare/facility.h"
#include "energy/shares/good_work.h"
#include "generators/request_file.h"
#include "runs/measure/good_work.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power::compare {
namespace {

constexpr std::string_view kGoodKeys[] = {
    "joules_per_good_output_token", "joules_per_good_request", "goodput_requests_per_s",
    "goodput_output_tokens_per_s",  "slo_attainment",          kSloHolds};

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
  if (run.recording) return read_requests(run.name, NeededTimes::latencies);
  throw Error("it has no audit record, which would name its benchmark result");
}

std::vector<PublishedNumber> numbers_of(const PublishedRun& run, const Slo& slo) {
  if (!(run.duration_s > 0)) throw Error("its window is not known");
  RequestFile file = requests_of(run);
  std::vector<shares::RequestOutcome> outcomes;
  const Window window{run.start_unix_s, run.start_unix_s + run.duration_s};
  GoodWork work = runs::good_work_of(file, slo, window, false, run.completed_requests, &outcomes);
  if (!work.refused.empty()) throw Error(work.why);
  const auto energy = run.number("total_gpu_energy_j");
  if (energy) work.energy_j = energy->value;
  std::vector<PublishedNumber> numbers;
  numbers.push_back({kSloHolds, runs::all_hold(work, slo) ? 1.0 : 0.0});
  for (const auto& [key, value] : runs::good_numbers(work)) {
    PublishedNumber& number = numbers.emplace_back(PublishedNumber{key, value});
    if (!energy || !key.starts_with("joules_") || !(energy->value > 0)) continue;
    number.flowed = scaled_spread(energy->flowed, value / energy->value);
    number.repeatability = scaled_spread(energy->repeatability, value / energy->value);
  }
  const std::vector<shares::LatencyQuantile> latencies =
      shares::latency_quantiles(file.requests, outcomes, slo);
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    const shares::LatencyQuantile& at = latencies[i];
    numbers.push_back({latency_key(slo.limits[i]), at.seconds,
                       Spread{at.seconds, 0, at.bounds.low, at.bounds.high}});
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

void add_good_numbers(const Slo& slo, unsigned most_threads, const std::vector<PublishedRun*>& runs,
                      std::vector<std::string>& warnings) {
  std::vector<std::string> lacks(runs.size());
  in_parallel(runs.size(), most_threads, [&](std::size_t i) {
    PublishedRun& run = *runs[i];
    if (run.state != PowerState::valid) return;
    try {
      std::ranges::move(numbers_of(run, slo), std::back_inserter(run.numbers));
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
