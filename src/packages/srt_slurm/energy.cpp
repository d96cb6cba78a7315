// Adds up the energies of a package's GPUs.
#include "packages/srt_slurm/energy.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/show_time.h"
#include "core/energy/plausibility.h"

namespace aggregate_power {
namespace {

// Gathers the workers' energies.
class Workers {
 public:
  explicit Workers(Contract contract) : by_host_(rules_of(contract).groups_workers_by_host) {}

  void add(const ExpectedDevice& device, const std::string& role, double energy_j) {
    const std::string& host = device.key.hostname;
    const std::int64_t index = device.assignments.front().worker_index;
    are_shared_ |= std::ranges::any_of(device.assignments, [&](const Assignment& assignment) {
      return assignment.worker_index != index;
    });
    // Since October the GPUs of a role on one host count as one worker.
    Worker& worker = by_host_ ? workers_[{role, host, 0}] : workers_[{role, "", index}];
    worker.role = role;
    worker.worker_idx = index;
    ++worker.num_gpus;
    worker.avg_power_w += energy_j;  // holds energy until all GPUs are counted
    if (std::ranges::find(worker.hosts, host) == worker.hosts.end()) worker.hosts.push_back(host);
  }

  // Turns the energies into powers; returns none if it is unknown which worker drew what.
  std::vector<Worker> finish(double window_s) && {
    std::vector<Worker> all;
    if (!by_host_ && are_shared_) return all;
    for (auto& [key, worker] : workers_) {
      worker.avg_power_w /= window_s * static_cast<double>(worker.num_gpus);
      if (by_host_) {
        const bool is_same_role = !all.empty() && all.back().role == worker.role;
        worker.worker_idx = is_same_role ? all.back().worker_idx + 1 : 0;
      }
      all.push_back(std::move(worker));
    }
    return all;
  }

 private:
  bool by_host_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Worker> workers_;
  bool are_shared_ = false;  // several workers share a GPU
};

using DeviceNumbers = std::map<DeviceKey, std::uint32_t>;

DeviceNumbers numbers_of(const PackageSamples& samples) {
  DeviceNumbers numbers;
  for (std::uint32_t i = 0; i < samples.devices.size(); ++i) numbers[samples.devices[i].key] = i;
  return numbers;
}

std::vector<Worker> workers_of(const PackageContent& content, const PackageEnergy& energy,
                               double window_s, Contract contract) {
  Workers workers(contract);
  for (std::size_t i = 0; i < content.devices.size(); ++i) {
    workers.add(content.devices[i], energy.roles[i], energy.gpus[i].energy.energy_j);
  }
  return std::move(workers).finish(window_s);
}

GapEnergyBound bound_of(const PackageContent& content, const Package& package, const Labels& labels,
                        const GapBound& gaps) {
  const DeviceNumbers numbers = numbers_of(package.samples);
  GapEnergyBound bound;
  for (const ExpectedDevice& device : content.devices) {
    const double bound_j = gaps.bound_j(numbers.at(device.key));
    bound.total_j += bound_j;
    bound.per_gpu_j.emplace_back(label_of(device.key, labels), bound_j);
  }
  return bound;
}

// Empty: the GPU may have drawn that. A package states its unit: watts.
std::string impossible_gpu(const GpuResult& gpu, double window_s) {
  const double mean_w = gpu.energy.energy_j / window_s;
  if (is_impossible(mean_w, kMostBoardWatts)) {
    const auto unit = likely_unit(mean_w, PowerUnit::Size::watt, kMostBoardWatts);
    return fmt::format("{}: a mean of {:.6g} W{}", gpu.name, mean_w,
                       unit ? fmt::format("; {}?", unit_word(*unit)) : "");
  }
  if (gpu.energy.absurd_samples == 0) return {};
  return fmt::format("{}: {:.6g} W at {}, which no GPU draws", gpu.name, gpu.energy.highest_w,
                     unix_and_iso(gpu.energy.highest_unix_s));
}

Findings check_metrics(const Metrics& metrics, std::span<const GpuResult> gpus, double window_s) {
  Findings findings;
  if (const auto infinite = not_finite(metrics); !infinite.empty()) {
    findings.add(Reason::non_finite_power_metric,
                 fmt::format("too large for a number: {}", fmt::join(infinite, ", ")));
    return findings;
  }
  for (const Reasons::Entry& zero : zero_metrics(metrics).entries()) {
    findings.add(zero.reason, zero.detail);
  }
  for (const GpuResult& gpu : gpus) {
    std::string why = impossible_gpu(gpu, window_s);
    if (why.empty()) continue;
    findings.add(Reason::implausible_power, std::move(why));
    break;
  }
  return findings;
}

// Gaps that the original's reader refuses, for people.
std::optional<std::string> gap_warning(const Package& package, const GapEnergyBound& bound) {
  const double longest_s =
      largest_of<double>(0, package.max_sample_gap_s, [](const auto& each) { return each.second; });
  if (longest_s <= kPackageMaxSampleGapS) return std::nullopt;
  return fmt::format(
      "samples.csv: gaps of up to {:.3f} s count by the recorder's own rule '{}'; the energy may be off by {:.6g} J; --gap-policy consumer refuses them",
      longest_s, package.gap_rule, bound.total_j);
}

}  // namespace

Labels labels_of(std::span<const SeenDevice> observed) {
  Labels labels;
  for (const SeenDevice& device : observed) {
    if (device.uuids.size() != 1) continue;
    labels[device.key] = fmt::format("{}/{}", device.key.hostname, device.uuids[0]);
  }
  return labels;
}

std::string label_of(const DeviceKey& key, const Labels& labels) {
  const auto label = labels.find(key);
  return label == labels.end() ? key.text() : label->second;
}

void PackageMeter::begin(Window window) {
  power_.begin(window);
  gaps_ = GapBound(window);
  window_ = window;
  compared_.clear();
  stale_.begin(window);
  kept_.clear(kAlways);
  if (wants_.readings) {
    around_.emplace(Around{window, Samples(gathered_around(window)), StateNotes(window)});
  }
}

void PackageMeter::take(std::span<const PackageSample> samples) {
  power_.take(samples);
  for (const PackageSample& sample : samples) {
    gaps_.add(sample.device, {sample.unix_s, sample.watts});
  }
  stale_.take(samples);
  if (!watched_w_.empty()) compare_with_limits(samples);
  constexpr std::size_t kAtOnce = 1024;  // one call may bring a whole file
  for (; !samples.empty(); samples = samples.subspan(std::min(kAtOnce, samples.size()))) {
    gather(samples.first(std::min(kAtOnce, samples.size())));
  }
}

void PackageMeter::compare_with_limits(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    if (!window_.contains(sample.unix_s)) continue;
    if (sample.device >= compared_.size()) compared_.resize(sample.device + std::size_t{1});
    Compared& of = compared_[sample.device];
    of.at_limit.resize(watched_w_.size());
    ++of.samples;
    for (std::size_t i = 0; i < watched_w_.size(); ++i) {
      if (sample.watts > kAtLimitShare * watched_w_[i]) ++of.at_limit[i];
    }
  }
}

std::optional<double> PackageMeter::share_at(std::uint32_t device, double limit_w) const {
  const auto watched = std::ranges::find(watched_w_, limit_w);
  if (watched == watched_w_.end() || device >= compared_.size()) return std::nullopt;
  const Compared& of = compared_[device];
  if (of.samples == 0) return std::nullopt;
  return static_cast<double>(of.at_limit[watched - watched_w_.begin()]) /
         static_cast<double>(of.samples);
}

void PackageMeter::gather(std::span<const PackageSample> samples) {
  std::vector<Reading> readings;
  std::vector<GpuState> states;
  std::vector<std::uint32_t> states_of_rows;
  for (const PackageSample& sample : samples) {
    readings.push_back({sample.unix_s, sample.watts, sample.device});
    if (!around_) continue;
    states_of_rows.push_back(static_cast<std::uint32_t>(states.size()));
    states.emplace_back().values[static_cast<std::size_t>(GpuQuantity::utilization_pct)] =
        sample.gpu_util_pct;
  }
  keep(readings);
  if (!around_) return;
  around_->samples.take(readings);
  around_->notes.take({readings, {states, states_of_rows}});
}

// All samples, or those near the window; of a package with many more, none.
void PackageMeter::keep(std::span<const Reading> readings) {
  constexpr std::size_t kMost = 1 << 19;  // 8 MiB
  constexpr double kNear_s = 300;
  if (kept_.size() > kMost) {
    kept_.narrow({window_.start_unix_s - kNear_s, window_.end_unix_s + kNear_s});
    if (kept_.size() > kMost) kept_.clear(kNever);
  }
  kept_.take(readings);
}

energy::WindowDoubts PackageMeter::place_doubts(const PackageContent& content,
                                                const Package& package) {
  const DeviceNumbers numbers = numbers_of(package.samples);
  kept_.sort();
  std::vector<std::span<const Sample>> gpus;
  for (const ExpectedDevice& device : content.devices) {
    const auto number = numbers.find(device.key);
    if (number == numbers.end() || number->second >= kept_.devices().size()) continue;
    const std::vector<Sample>& samples = kept_.devices()[number->second];
    if (!samples.empty()) gpus.emplace_back(samples);
  }
  return energy::window_doubts(gpus, window_, {.is_possible = false});
}

std::vector<GatheredReadings> PackageMeter::readings(const PackageContent& content,
                                                     const Package& package) {
  if (!around_) return {};
  const Labels labels = labels_of(package.observed);
  std::map<std::string, std::string> names;  // of the GPUs that count
  for (const ExpectedDevice& device : content.devices) {
    names[device.key.text()] = label_of(device.key, labels);
  }
  std::vector<std::string> devices;
  for (const SeenDevice& device : package.samples.devices) devices.push_back(device.key.text());
  around_->samples.sort();
  std::vector<GatheredReadings> gathered = aggregate_power::gather(
      around_->window, std::move(around_->samples), around_->notes, devices);
  around_.reset();
  std::erase_if(gathered, [&](const GatheredReadings& gpu) { return !names.contains(gpu.gpu); });
  for (const auto& [device, unix_s] : package.samples.without_power) {
    const auto gpu = std::ranges::find(gathered, devices[device], &GatheredReadings::gpu);
    if (gpu != gathered.end()) gpu->blanks_unix_s.push_back(unix_s);
  }
  for (GatheredReadings& gpu : gathered) {
    gpu.gpu = names.at(gpu.gpu);
    std::ranges::sort(gpu.blanks_unix_s);
  }
  return gathered;
}

void PackageMeter::use(WindowPower measured) {
  power_ = std::move(measured);
  has_samples_ = false;
}

FleetMeasurement PackageMeter::fleet(const Package& package) {
  FleetMeasurement measured = power_.fleet(mapped<std::string>(
      package.samples.devices, [](const SeenDevice& device) { return device.key.text(); }));
  if (!wants_.states) measured.states = {};  // of shared samples
  return measured;
}

PackageEnergy PackageMeter::energy(const PackageContent& content, const Package& package) {
  const DeviceNumbers numbers = numbers_of(package.samples);
  const Labels labels = labels_of(package.observed);
  PackageEnergy energy;
  for (const ExpectedDevice& device : content.devices) {
    const std::string& role = energy.roles.emplace_back(package.topology.roles.at(device.key));
    GpuResult& gpu = energy.gpus.emplace_back(GpuResult{label_of(device.key, labels), {}});
    const auto gap = package.max_sample_gap_s.find(device.key);
    gpu.energy = power_.energy(numbers.at(device.key));
    gpu.energy.bracketed = true;
    if (gap != package.max_sample_gap_s.end()) gpu.energy.max_sample_gap_s = gap->second;
    energy.sums.energy_j += gpu.energy.energy_j;
    if (role != "prefill" && role != "decode") continue;
    RoleEnergy& of_role = role == "prefill" ? energy.sums.prefill : energy.sums.decode;
    ++of_role.gpus;
    of_role.energy_j += gpu.energy.energy_j;
  }
  energy.sums.gpus = energy.gpus.size();
  return energy;
}

Findings PackageMeter::integrate(const PackageContent& content, const Package& package,
                                 const RoleCounts& asked, const FleetMeasurement& fleet,
                                 Result& result) {
  const double window_s = result.load->window.duration_s();
  const Labels labels = labels_of(package.observed);
  PackageEnergy measured = energy(content, package);
  MeasuredEnergy& sums = measured.sums;
  sums.load = *result.load;
  sums.prefill.gpus = static_cast<std::size_t>(std::max<std::int64_t>(asked.prefill, 0));
  sums.decode.gpus = static_cast<std::size_t>(std::max<std::int64_t>(asked.decode, 0));
  sums.fleet = fleet;
  sums.contract = result.contract;
  Metrics metrics = energy_metrics(sums);
  const Findings findings = check_metrics(metrics, measured.gpus, window_s);
  if (is_accepted(findings, result.accepts)) result.metrics = std::move(metrics);
  if (findings.reasons.contains(Reason::non_finite_power_metric) &&
      result.contract == Contract::october) {
    for (GpuResult& gpu : measured.gpus) gpu.energy.energy_j = std::nan("");
  }
  for (const GpuResult& gpu : measured.gpus) result.observed_gpu_ids.push_back(gpu.name);
  result.workers = workers_of(content, measured, window_s, result.contract);
  result.gpus = std::move(measured.gpus);
  if (!has_samples_) return findings;
  result.gap_bound = bound_of(content, package, labels, gaps_);
  if (auto warning = gap_warning(package, *result.gap_bound)) {
    result.warnings.push_back(std::move(*warning));
  }
  return findings;
}

// DCGM reads the sensor for each request; other exporters may answer from a cache.
std::optional<std::string> PackageMeter::doubt(
    const Package& package, const std::optional<std::string>& source_metric) const {
  constexpr double kSuspectShare = 0.5;
  const auto worst = stale_.worst();
  const bool is_dcgm = !source_metric || source_metric->starts_with("DCGM_");
  if (is_dcgm || !worst || worst->share < kSuspectShare) return std::nullopt;
  return fmt::format(
      "samples.csv: {:.0f} % of the samples of {} repeat the one before exactly: the exporter may have answered from its cache",
      100 * worst->share, package.samples.devices[worst->number].key.text());
}

// ---- Counts repeated readings.

void StaleReadings::begin(Window window) {
  window_ = window;
  devices_.clear();
}

void StaleReadings::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    if (!window_.contains(sample.unix_s)) continue;
    if (sample.device >= devices_.size()) devices_.resize(sample.device + 1);
    Count& count = devices_[sample.device];
    if (sample.watts == count.last_w) ++count.repeats;
    count.last_w = sample.watts;
    count.sum_w += sample.watts;
    ++count.samples;
  }
}

std::optional<StaleReadings::Device> StaleReadings::worst() const {
  const auto largest = std::ranges::max_element(devices_, {}, &Count::mean_w);
  if (largest == devices_.end()) return std::nullopt;
  Device worst;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const Count& count = devices_[i];
    if (count.samples < 2 || count.mean_w() < largest->mean_w() / 2) continue;
    const double share =
        static_cast<double>(count.repeats) / static_cast<double>(count.samples - 1);
    if (share > worst.share) worst = {i, share};
  }
  return worst;
}

// ---- Feeds the samples of a package to the integrators.

void WindowPower::begin(Window window) {
  window_ = window;
  integrators_.clear();
  outside_.clear();
  if (with_fleet_) fleet_.emplace();
  if (!extended_) return;
  utilization_.emplace(GpuQuantity::utilization_pct, window, kPackageMaxSampleGapS);
  temperature_.emplace(GpuQuantity::temperature_c, window, kPackageMaxSampleGapS);
}

void WindowPower::take(std::span<const PackageSample> samples) {
  for (const PackageSample& sample : samples) {
    while (sample.device >= integrators_.size()) integrators_.emplace_back(window_);
    integrators_[sample.device].add(sample.unix_s, sample.watts);
  }
  if (with_fleet_) {
    for (const PackageSample& sample : samples) add_to_fleet(sample);
  }
  if (extended_) take_states(samples);
}

DeviceEnergy WindowPower::energy(std::uint32_t device) {
  return device < integrators_.size() ? integrators_[device].finish() : DeviceEnergy();
}

FleetMeasurement WindowPower::fleet(std::span<const std::string> devices) {
  FleetMeasurement measured;
  if (!fleet_) return measured;
  FleetCurve curve = fleet_curve(std::move(*fleet_), window_);
  measured.power = std::move(curve.power);
  measured.samples_in_window = curve.samples_in_window;
  if (!extended_) return measured;
  const auto state = [&](GpuQuantity quantity) -> auto& {
    return measured.states[static_cast<std::size_t>(quantity)];
  };
  state(GpuQuantity::utilization_pct) = utilization_->finish(devices);
  state(GpuQuantity::temperature_c) = temperature_->finish(devices);
  return measured;
}

void WindowPower::add_to_fleet(const PackageSample& sample) {
  // The window's edges may be in a gap of any length: a gap rule decides, not this.
  if (sample.device >= outside_.size()) {
    outside_.resize(sample.device + 1);
    fleet_->resize(sample.device + 1);
  }
  Outside& outside = outside_[sample.device];
  std::vector<Sample>& samples = (*fleet_)[sample.device];
  if (sample.unix_s < window_.start_unix_s) {
    if (!outside.before.empty() && outside.before.back().unix_s != sample.unix_s) {
      outside.before.clear();
    }
    outside.before.push_back({sample.unix_s, sample.watts});
    return;
  }
  append(samples, outside.before);
  outside.before.clear();
  if (sample.unix_s > window_.end_unix_s) {
    if (!outside.after_unix_s) outside.after_unix_s = sample.unix_s;
    if (sample.unix_s != *outside.after_unix_s) return;
  }
  samples.push_back({sample.unix_s, sample.watts});
}

void WindowPower::take_states(std::span<const PackageSample> samples) {
  const auto take = [&](double PackageSample::*quantity, StateMean& mean) {
    readings_.clear();
    for (const PackageSample& sample : samples) {
      if (std::isnan(sample.*quantity)) continue;
      readings_.push_back({sample.unix_s, sample.*quantity, sample.device});
    }
    mean.take(readings_);
    mean.integrate();
  };
  take(&PackageSample::gpu_util_pct, *utilization_);
  take(&PackageSample::temperature_c, *temperature_);
}

}  // namespace aggregate_power
