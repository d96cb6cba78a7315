// What a package and a processed benchmark result come to.
#include "packages/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/archive.h"
#include "base/text/unicode.h"
#include "energy/fleet_power.h"
#include "energy/integrate.h"
#include "energy/plausibility.h"
#include "energy/state_mean.h"
#include "runs/assess.h"

namespace aggregate_power {
namespace {

constexpr std::uint64_t kMostManifestBytes = 32 << 20;
constexpr std::size_t kMostDetail = 1000;  // characters of a message

// What the samples come to over the wanted window.
class WindowPower {
 public:
  WindowPower(bool with_fleet, bool extended) : with_fleet_(with_fleet), extended_(extended) {}

  void begin(Window window) {
    window_ = window;
    integrators_.clear();
    if (with_fleet_) fleet_.emplace(window, kPackageMaxSampleGapS);
    if (extended_) utilization_.emplace(window, kPackageMaxSampleGapS);
  }

  void take(std::span<const PackageSample> samples) {
    for (const PackageSample& sample : samples) {
      while (sample.device >= integrators_.size()) integrators_.emplace_back(window_);
      integrators_[sample.device].add(sample.unix_s, sample.watts);
    }
    if (with_fleet_) {
      for (const PackageSample& sample : samples) {
        fleet_->add(sample.device, {sample.unix_s, sample.watts});
      }
    }
    if (extended_) take_utilization(samples);
  }

  double energy_j(std::uint32_t device) {
    return device < integrators_.size() ? integrators_[device].finish().energy_j : 0;
  }

  // Of what was asked for; empty when no window was found.
  FleetMeasurement fleet(std::span<const std::string> devices) {
    FleetMeasurement measured;
    if (!fleet_) return measured;
    measured.power = fleet_->finish();
    measured.samples_in_window = fleet_->samples_in_window();
    if (!extended_) return measured;
    measured.states[static_cast<std::size_t>(GpuQuantity::utilization_pct)] =
        utilization_->finish(devices);
    return measured;
  }

 private:
  void take_utilization(std::span<const PackageSample> samples) {
    readings_.clear();
    for (const PackageSample& sample : samples) {
      if (std::isnan(sample.gpu_util_pct)) continue;
      readings_.push_back({sample.unix_s, sample.gpu_util_pct, sample.device});
    }
    utilization_->take(readings_);
  }

  bool with_fleet_;
  bool extended_;
  Window window_;
  std::vector<DeviceIntegrator> integrators_;  // by device
  std::optional<FleetPowerGatherer> fleet_;
  std::optional<StateMean> utilization_;
  std::vector<Reading> readings_;
};

bool same_bytes(const OpenedFile& a, const OpenedFile& b) {
  if (a.size() != b.size()) return false;
  std::array<char, 65536> of_a;
  std::array<char, 65536> of_b;
  for (std::uint64_t at = 0; at < a.size();) {
    const std::size_t count = a.read_at(at, of_a);
    if (count == 0) return false;
    for (std::size_t got = 0; got < count;) {
      const std::size_t more = b.read_at(at + got, std::span(of_b).subspan(got, count - got));
      if (more == 0) return false;
      got += more;
    }
    if (!std::equal(of_a.begin(), of_a.begin() + static_cast<std::ptrdiff_t>(count),
                    of_b.begin())) {
      return false;
    }
    at += count;
  }
  return true;
}

std::size_t gpus_asked_for(const RoleCounts& gpus) {
  std::size_t sum = 0;
  for (const std::int64_t count : {gpus.prefill, gpus.decode, gpus.aggregate, gpus.any}) {
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    sum = std::min(sum + static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), kMost);
  }
  return sum;
}

// A package states its unit: watts.
std::string impossible_gpu(const std::string& label, double mean_w) {
  const auto unit = likely_unit(mean_w, PowerUnit::Size::watt);
  return fmt::format("{}: a mean of {:.6g} W{}", label, mean_w,
                     unit ? fmt::format("; {}?", unit_word(*unit)) : "");
}

class Judging {
 public:
  explicit Judging(const PackageQuestion& question)
      : question_(question), power_(question.extended || question.with_power, question.extended) {}

  PackageVerdict judge() {
    const LoadReading reading = read_result();
    verdict_.load = reading.load;
    verdict_.extended = question_.extended;
    verdict_.asked_gpus = gpus_asked_for(question_.gpus);
    if (!question_.refusal.empty()) {
      verdict_.expected_gpus = verdict_.asked_gpus;
      verdict_.is_refused = true;
      add(question_.refusal);
      return std::move(verdict_);
    }
    concurrency_ = reading.max_concurrency;
    judge_package(reading);
    measure_cpus();
    add(reading.reasons);
    if (!verdict_.reasons.empty()) verdict_.metrics.clear();
    return std::move(verdict_);
  }

 private:
  void add(Reason reason, const std::string& detail) {
    verdict_.reasons.add(reason, printable(detail, kMostDetail));
    if (!detail.empty()) verdict_.failures.push_back(detail);
  }

  void add(const Reasons& others) {
    for (const Reasons::Entry& entry : others.entries()) add(entry.reason, entry.detail);
  }

  LoadReading read_result() const {
    LoadReading reading;
    const auto unreadable = [&](const std::string& what) {
      reading.reasons.add(Reason::invalid_benchmark_result, what);
    };
    if (!question_.result) {
      unreadable(question_.result_fault);
      return reading;
    }
    try {
      const auto source = decompressed(question_.result->source(), question_.result_name);
      return read_benchmark(*source, question_.result_name, LoadRules::schema_2);
    } catch (const FileError& error) {
      unreadable(error.what());
    }
    return reading;
  }

  void judge_package(const LoadReading& reading) {
    if (!read_manifest()) return;
    check_producer();
    try {
      content_.devices = expected_devices(content_.manifest);
      content_.windows = expected_windows(content_.manifest);
    } catch (const Error& error) {
      verdict_.recomputed_publication_valid = false;
      return add(Reason::manifest_malformed, fmt::format("manifest.json: {}", error.what()));
    }
    recompute();
    check_stored_verdict();
    count_gpus();
    check_topology();
    label_gpus();
    select_window(reading);
    const bool is_whole = verdict_.reasons.empty() && reading.reasons.empty();
    if (is_whole && verdict_.window && reading.load) integrate(*reading.load);
    measure_fleet();
  }

  // On its own: what is wrong with it changes nothing of the GPUs.
  void measure_cpus() {
    CpuPowerRequest request;
    if (verdict_.window) {
      request.window = Window{verdict_.window->start_unix_s, *verdict_.window->end_unix_s};
    }
    std::set<std::string> hosts;
    for (const ExpectedDevice& device : content_.devices) hosts.insert(device.key.hostname);
    request.expected_hosts.assign(hosts.begin(), hosts.end());
    request.expected_source = question_.expected_cpu_source;
    const PackagePlace& place = question_.place;
    verdict_.cpu = measure_cpu_power(*place.tree, path_below(place.power_dir, "cpu"), request);
  }

  void measure_fleet() {
    std::vector<std::string> names;
    for (const SeenDevice& device : package_.samples.devices) {
      names.push_back(device.key.text());
    }
    FleetMeasurement measured = power_.fleet(names);
    if (question_.with_power && !verdict_.metrics.empty()) verdict_.power = measured.power;
    if (!question_.extended) return;
    verdict_.fleet = std::move(measured);
    if (verdict_.metrics.empty()) return;
    const Metrics extended = dashboard_metrics(*verdict_.fleet, verdict_.gpus.size());
    verdict_.metrics.insert(verdict_.metrics.end(), extended.begin(), extended.end());
  }

  bool read_manifest() {
    const PackagePlace& place = question_.place;
    if (!place.tree->has_folder(place.power_dir)) {
      add(Reason::power_artifacts_missing, fmt::format("{}: no such folder", place.power_dir));
      return false;
    }
    const std::string path = path_below(place.power_dir, "manifest.json");
    if (!place.tree->find_file(path)) {
      add(Reason::manifest_missing, fmt::format("{}: no such file", path));
      return false;
    }
    try {
      const OpenedFile file = place.tree->open(path);
      if (file.size() > kMostManifestBytes) throw FileError(path, "is too large for a manifest");
      content_.manifest = parse_json(read_all(*file.source()));
    } catch (const FileError& error) {
      add(Reason::manifest_malformed, error.what());
      return false;
    } catch (const JsonError& error) {
      add(Reason::manifest_malformed, fmt::format("{}:{}", path, error.what()));
      return false;
    }
    if (content_.manifest.is_object()) return true;
    add(Reason::manifest_malformed, path + ": expected a JSON object");
    return false;
  }

  void check_producer() {
    const JsonValue& manifest = content_.manifest;
    const auto text = [](const JsonValue& value) {
      return value.is_string() ? std::optional(value.text) : std::nullopt;
    };
    const JsonValue& stored = manifest.at("publication_valid");
    if (stored.kind == JsonKind::boolean) verdict_.stored_publication_valid = stored.is_true();
    verdict_.producer_git_commit = text(manifest.at("producer_git_commit"));
    verdict_.exporter_image_sha256 =
        text(manifest.at("dcgm_exporter").at("container_image_sha256"));
    if (question_.expected_producer_sha.empty()) {
      add(Reason::producer_pin_missing, "nobody said which producer is trusted");
    } else if (verdict_.producer_git_commit != question_.expected_producer_sha) {
      add(Reason::producer_commit_mismatch,
          fmt::format("producer_git_commit is {}, expected '{}'",
                      manifest.at("producer_git_commit").shown(),
                      printable(question_.expected_producer_sha)));
    }
  }

  void recompute() {
    PackageRequest request;
    request.concurrency = concurrency_;
    request.salvage = question_.salvage;
    request.begin = [&](Window window) { power_.begin(window); };
    request.take = [&](std::span<const PackageSample> samples) { power_.take(samples); };
    package_ = recompute_package(question_.place, content_, request);
    verdict_.dialect = package_.dialect;
    const bool has_samples = !package_.samples.is_missing && !package_.samples.has_other_header;
    verdict_.samples_version = has_samples ? package_.samples.version : 0;
    std::vector<std::string> failures;
    for (const PackageFault& fault : package_.faults) {
      if (!question_.salvage || !fault.is_elsewhere) failures.push_back(fault.text);
    }
    if (question_.salvage) verdict_.salvaged = package_.elsewhere;
    verdict_.recomputed_publication_valid = failures.empty();
    if (failures.empty()) return;
    verdict_.reasons.add(
        Reason::package_recompute_invalid,
        printable(failures[0], kMostDetail) +
            (failures.size() == 1 ? "" : fmt::format("; and {} more", failures.size() - 1)));
    verdict_.failures.insert(verdict_.failures.end(), failures.begin(), failures.end());
  }

  void check_stored_verdict() {
    const auto& stored = verdict_.stored_publication_valid;
    const bool recomputed = *verdict_.recomputed_publication_valid;
    if (stored == true && recomputed) return;
    // It speaks of the whole package.
    if (stored == false && recomputed && !verdict_.salvaged.empty()) {
      verdict_.salvaged["publication_valid"] = 1;
    } else if (stored != recomputed) {
      add(Reason::producer_verdict_mismatch,
          fmt::format("publication_valid is {}, recomputed it is {}",
                      content_.manifest.at("publication_valid").shown(), recomputed));
    } else {
      add(Reason::package_recompute_invalid, "publication_valid is false, and so it is recomputed");
    }
  }

  void count_gpus() {
    gpus_ = question_.gpus;
    if (gpus_.any == 0) return;
    const auto& roles = package_.topology.roles;
    const bool are_aggregate = !roles.empty() && std::ranges::all_of(roles, [](const auto& device) {
      return device.second == "agg";
    });
    (are_aggregate ? gpus_.aggregate : gpus_.prefill) = gpus_.any;
  }

  void check_topology() {
    const RoleCounts& gpus = gpus_;
    const auto mismatch = [&](const std::string& what) {
      add(Reason::topology_env_mismatch, what);
    };
    if (gpus.aggregate > 0 && (gpus.prefill > 0 || gpus.decode > 0)) {
      mismatch("aggregate GPUs cannot be combined with prefill or decode GPUs");
    }
    std::map<std::string, std::int64_t> wanted;
    if (gpus.prefill > 0) wanted["prefill"] = gpus.prefill;
    if (gpus.decode > 0) wanted["decode"] = gpus.decode;
    if (gpus.aggregate > 0) wanted["agg"] = gpus.aggregate;
    if (wanted.empty()) {
      mismatch("no GPUs are expected: prefill, decode and aggregate are all 0");
    } else if (!package_.topology.roles.empty()) {
      for (const std::string& fault :
           topology_faults(content_.devices, package_.topology, wanted)) {
        mismatch(fault);
      }
    }
  }

  void label_gpus() {
    verdict_.expected_gpus = content_.devices.size();
    verdict_.observed_gpus = package_.observed.size();
    for (const SeenDevice& device : package_.observed) {
      if (device.uuids.size() != 1) continue;
      labels_[device.key] = fmt::format("{}/{}", device.key.hostname, device.uuids[0]);
    }
    for (const auto& [key, role] : package_.topology.roles) {
      verdict_.roles.emplace_back(label_of(key), role);
    }
  }

  std::string label_of(const DeviceKey& key) const {
    const auto label = labels_.find(key);
    return label == labels_.end() ? key.text() : label->second;
  }

  // The processed result was renamed on its way: what binds it to a window is its content.
  void select_window(const LoadReading& reading) {
    if (!question_.result || reading.reasons.contains(Reason::invalid_benchmark_result)) {
      const auto& entries = reading.reasons.entries();
      return add(Reason::invalid_benchmark_result, entries.front().detail);
    }
    const auto windows = windows_of(package_.scan, concurrency_);
    if (windows.size() != 1) {
      return add(Reason::window_for_result_missing,
                 fmt::format("{} completed windows have the result's max_concurrency, {}",
                             windows.size(), concurrency_.shown()));
    }
    const PackageWindow& window = windows[0];
    if (!question_.window_file.empty() && window.file != question_.window_file) {
      return add(Reason::agentic_concurrency_mismatch,
                 fmt::format("{}: its window is not {}, but {}", question_.result_name,
                             question_.window_file, window.file));
    }
    const std::string original = path_below(question_.place.logs_root, window.result_path);
    try {
      if (!is_copy_of(original)) {
        return add(Reason::result_content_mismatch,
                   fmt::format("{} is not what {} is", question_.result_name, original));
      }
    } catch (const FileError& error) {
      return add(Reason::measurement_window_result_missing, error.what());
    } catch (const JsonError& error) {
      return add(Reason::measurement_window_result_missing,
                 fmt::format("{}:{}", original, error.what()));
    }
    const bool has_other_window = reading.load && reading.reasons.empty() &&
                                  (reading.load->window.start_unix_s != window.start_unix_s ||
                                   reading.load->window.end_unix_s != *window.end_unix_s);
    if (has_other_window) {
      return add(
          Reason::measurement_window_result_mismatch,
          fmt::format("{} does not start and end as {} says", question_.result_name, window.file));
    }
    verdict_.window = window;
  }

  static std::string sound_json(const OpenedFile& file) {
    std::string text = read_all(*decompressed(file.source(), file.name()));
    MemorySource source(text);
    scan_json(source, [](const JsonMember&) {});
    return text;
  }

  // Throws FileError or JsonError.
  bool is_copy_of(const std::string& original) const {
    const OpenedFile file = question_.place.tree->open(original);
    if (same_bytes(file, *question_.result)) return true;
    const std::string text = sound_json(file);
    return same_json(text, sound_json(*question_.result));
  }

  void integrate(const Load& load) {
    std::map<DeviceKey, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < package_.samples.devices.size(); ++i) {
      numbers[package_.samples.devices[i].key] = i;
    }
    double total_j = 0;
    std::map<std::string, RoleEnergy> roles;
    std::map<std::pair<std::string, std::int64_t>, Worker> workers;
    bool are_shared = false;  // some GPU, among several workers: which drew what is not known
    for (const ExpectedDevice& device : content_.devices) {
      PackageGpu gpu;
      gpu.label = label_of(device.key);
      gpu.role = package_.topology.roles.at(device.key);
      gpu.energy_j = power_.energy_j(numbers.at(device.key));
      gpu.max_sample_gap_s = package_.max_sample_gap_s.at(device.key);
      total_j += gpu.energy_j;
      roles[gpu.role].energy_j += gpu.energy_j;
      const std::int64_t index = device.assignments.front().worker_index;
      are_shared |= std::ranges::any_of(device.assignments, [&](const Assignment& assignment) {
        return assignment.worker_index != index;
      });
      Worker& worker = workers[{gpu.role, index}];
      worker.role = gpu.role;
      worker.worker_idx = index;
      ++worker.num_gpus;
      worker.avg_power_w += gpu.energy_j;  // energy until all are counted
      if (std::ranges::find(worker.hosts, device.key.hostname) == worker.hosts.end()) {
        worker.hosts.push_back(device.key.hostname);
      }
      verdict_.gpus.push_back(std::move(gpu));
    }
    const double window_s = load.window.duration_s();
    const double total_w = total_j / window_s;
    if (are_shared) workers.clear();
    for (auto& [key, worker] : workers) {
      worker.avg_power_w /= window_s * static_cast<double>(worker.num_gpus);
      verdict_.workers.push_back(std::move(worker));
    }
    Metrics metrics =
        schema_2_metrics({total_w / static_cast<double>(content_.devices.size()), total_w, total_j,
                          load.completed, load.total_input_tokens, load.total_output_tokens});
    const auto role = [&](const char* name, std::int64_t count) {
      return RoleEnergy{static_cast<std::size_t>(std::max<std::int64_t>(count, 0)),
                        roles[name].energy_j};
    };
    const Metrics of_roles =
        role_metrics(role("prefill", gpus_.prefill), role("decode", gpus_.decode), window_s,
                     load.total_input_tokens, load.total_output_tokens);
    metrics.insert(metrics.end(), of_roles.begin(), of_roles.end());
    std::vector<std::string_view> infinite;
    for (const Metric& metric : metrics) {
      if (!std::isfinite(metric.value)) infinite.push_back(metric.key);
    }
    if (!infinite.empty()) {
      return add(Reason::non_finite_power_metric,
                 fmt::format("too large for a number: {}", fmt::join(infinite, ", ")));
    }
    for (const PackageGpu& gpu : verdict_.gpus) {
      if (is_impossible(gpu.energy_j / window_s)) {
        return add(Reason::implausible_power, impossible_gpu(gpu.label, gpu.energy_j / window_s));
      }
    }
    verdict_.metrics = std::move(metrics);
  }

  const PackageQuestion& question_;
  PackageContent content_;
  JsonValue concurrency_;
  RoleCounts gpus_;
  WindowPower power_;
  Package package_;
  std::map<DeviceKey, std::string> labels_;  // of GPUs with one UUID
  PackageVerdict verdict_;
};

}  // namespace

PackageVerdict judge_package(const PackageQuestion& question) { return Judging(question).judge(); }

bool claims_power(const PackageVerdict& verdict) {
  return verdict.reasons.empty() || (verdict.cpu && verdict.cpu->reasons.empty());
}

std::vector<JsonEdit> package_edits(const PackageVerdict& verdict, const std::string& record) {
  std::vector<JsonEdit> edits = schema_2_edits(verdict.reasons.empty(), verdict.metrics);
  if (verdict.cpu) {
    const std::vector<JsonEdit> of_cpu = cpu_power_edits(*verdict.cpu);
    edits.insert(edits.end(), of_cpu.begin(), of_cpu.end());
  }
  if (!verdict.extended) return edits;
  DashboardContent content;
  content.reasons = verdict.reasons;
  content.workers = verdict.workers;
  PowerAudit& audit = content.audit;
  if (verdict.load) audit.window = verdict.load->window;
  // Where the manifest could not be read, what was asked for is all that is known.
  const std::size_t expected =
      verdict.expected_gpus > 0 ? verdict.expected_gpus : verdict.asked_gpus;
  audit.expected_gpu_count = static_cast<std::int64_t>(expected);
  if (verdict.fleet) {
    audit.observed_gpu_count = verdict.observed_gpus;
    audit.sample_count = verdict.fleet->samples_in_window;
  }
  for (const PackageGpu& gpu : verdict.gpus) {
    audit.max_sample_gap_s = std::max(audit.max_sample_gap_s.value_or(0), gpu.max_sample_gap_s);
    audit.observed_gpu_ids.push_back(gpu.label);
  }
  audit.source = record;
  audit.producer_sha = verdict.producer_git_commit;
  audit.exporter_image_sha256 = verdict.exporter_image_sha256;
  if (verdict.cpu) audit.cpu = cpu_audit(*verdict.cpu);
  add_dashboard_keys(edits, content);
  return edits;
}

std::vector<JsonEdit> unaudited_package_edits(const PackageVerdict& verdict) {
  std::vector<JsonEdit> edits = unaudited_edits(2);
  if (!verdict.cpu) return edits;
  CpuPower unknown;
  unknown.reasons.add(Reason::cpu_window_unavailable);
  const std::vector<JsonEdit> of_cpu = cpu_power_edits(unknown);
  edits.insert(edits.end(), of_cpu.begin(), of_cpu.end());
  return edits;
}

}  // namespace aggregate_power
