// The checks of a package in the contract's order, and its metrics.
#include "packages/srt_slurm/check.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/text/characters.h"
#include "core/load/benchmark.h"
#include "generators/generator_table.h"
#include "packages/srt_slurm/energy.h"
#include "packages/srt_slurm/launcher_limits.h"
#include "packages/srt_slurm/manifest.h"
#include "packages/srt_slurm/package.h"
#include "packages/srt_slurm/srt_slurm.h"

namespace aggregate_power {
namespace {

LoadReading read_result(const PackageQuestion& question) {
  LoadReading reading;
  const auto unreadable = [&](const std::string& what) {
    reading.reasons.add(Reason::invalid_benchmark_result, what);
  };
  if (!question.result) {
    unreadable(question.result_fault);
    return reading;
  }
  try {
    return read_load({.name = question.result_name, .open = [&] {
                        return decompressed(question.result->source(), question.result_name);
                      }});
  } catch (const FileError& error) {
    unreadable(error.what());
  }
  return reading;
}

// ---- Manifest and producer

Findings check_producer(const JsonValue& manifest, PackageFacts& facts) {
  const auto text = [](const JsonValue& value) {
    return value.is_string() ? std::optional(value.text) : std::nullopt;
  };
  const JsonValue& stored = manifest.at("publication_valid");
  if (stored.kind == JsonKind::boolean) facts.stored_publication_valid = stored.is_true();
  facts.producer_git_commit = text(manifest.at("producer_git_commit"));
  facts.exporter_image_sha256 = text(manifest.at("dcgm_exporter").at("container_image_sha256"));
  facts.source_metric = text(manifest.at("source_metric"));
  facts.power_scope = text(manifest.at("power_scope"));
  Findings findings;
  if (facts.expected_producer_sha.empty()) {
    findings.add(Reason::producer_pin_missing, "no trusted producer was named");
  } else if (facts.producer_git_commit != facts.expected_producer_sha) {
    findings.add(Reason::producer_commit_mismatch,
                 fmt::format("producer_git_commit is {}, expected '{}'",
                             manifest.at("producer_git_commit").shown(),
                             printable(facts.expected_producer_sha)));
  }
  return findings;
}

// ---- The package, recomputed from its bytes

Findings check_recomputed(const Package& package, PackageFacts& facts) {
  facts.dialect = package.dialect.name;
  const bool has_samples = !package.samples.is_missing && !package.samples.has_other_header;
  facts.samples_version = has_samples ? package.samples.version : 0;
  facts.gap_rule = package.gap_rule;
  for (const WindowValidation& window : package.validations) {
    facts.windows.push_back({window.key.benchmark_type, window.key.concurrency, window.file,
                             window.codes, window.gaps_s});
  }
  Findings findings;
  for (const PackageFault& fault : package.faults) {
    if (!facts.salvage || !fault.is_elsewhere) findings.failures.push_back(fault.text);
  }
  if (facts.salvage) facts.salvaged = package.elsewhere;
  const std::vector<std::string>& failures = findings.failures;
  facts.recomputed_publication_valid = failures.empty();
  if (failures.empty()) return findings;
  // A window that is not usable is why other things differ, such as the stored rows.
  const auto cause = std::ranges::find_if(package.faults, [&](const PackageFault& fault) {
    return fault.is_of_window && !(facts.salvage && fault.is_elsewhere);
  });
  std::string detail = shortened(cause == package.faults.end() ? failures[0] : cause->text);
  if (failures.size() > 1) {
    detail += fmt::format("; and {} more, in 'failures' of the record", failures.size() - 1);
  }
  findings.reasons.add(Reason::package_recompute_invalid, std::move(detail));
  return findings;
}

Findings check_stored_verdict(const JsonValue& manifest, PackageFacts& facts) {
  const auto& stored = facts.stored_publication_valid;
  const bool recomputed = *facts.recomputed_publication_valid;
  Findings findings;
  if (stored == true && recomputed) return findings;
  // The stored verdict is about the whole package.
  if (stored == false && recomputed && !facts.salvaged.empty()) {
    facts.salvaged["publication_valid"] = 1;
  } else if (stored != recomputed) {
    findings.add(Reason::producer_verdict_mismatch,
                 fmt::format("publication_valid is {}, the recomputed verdict is {}",
                             manifest.at("publication_valid").shown(), recomputed));
  } else {
    findings.add(Reason::package_recompute_invalid,
                 "publication_valid is false, and the recomputed verdict is false too");
  }
  return findings;
}

// ---- GPUs and their roles

std::size_t gpus_asked_for(const RoleCounts& gpus) {
  std::size_t sum = 0;
  for (const std::int64_t count : {gpus.prefill, gpus.decode, gpus.aggregate, gpus.any}) {
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
    sum = std::min(sum + static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), kMost);
  }
  return sum;
}

// GPUs of any one role become GPUs of the role that the package has.
RoleCounts with_known_role(RoleCounts gpus, const Topology& topology) {
  if (gpus.any == 0) return gpus;
  const bool are_aggregate =
      !topology.roles.empty() && std::ranges::all_of(topology.roles, [](const auto& device) {
        return device.second == "agg";
      });
  (are_aggregate ? gpus.aggregate : gpus.prefill) = gpus.any;
  return gpus;
}

Findings check_topology(const RoleCounts& gpus, const std::vector<ExpectedDevice>& devices,
                        const Topology& topology) {
  Findings findings;
  const auto mismatch = [&](const std::string& what) {
    findings.add(Reason::topology_env_mismatch, what);
  };
  if (gpus.aggregate > 0 && (gpus.prefill > 0 || gpus.decode > 0)) {
    mismatch("aggregate GPUs cannot be combined with prefill/decode GPUs");
  }
  std::map<std::string, std::int64_t> wanted;
  if (gpus.prefill > 0) wanted["prefill"] = gpus.prefill;
  if (gpus.decode > 0) wanted["decode"] = gpus.decode;
  if (gpus.aggregate > 0) wanted["agg"] = gpus.aggregate;
  if (wanted.empty()) {
    mismatch("prefill, decode, and aggregate GPU counts are all zero");
  } else if (!topology.roles.empty()) {
    for (const std::string& fault : topology_faults(devices, topology, wanted)) mismatch(fault);
  }
  return findings;
}

// What was found about the window of the run itself. Null: the manifest does not expect that
// window.
const WindowFinding* own_window(const PackageFacts& facts) {
  const auto own = std::ranges::find_if(facts.windows, [&](const WindowFinding& window) {
    return window.benchmark_type == facts.window->benchmark_type &&
           window.concurrency == facts.window->concurrency;
  });
  return own == facts.windows.end() ? nullptr : &*own;
}

bool is_covered(const PackageFacts& facts) {
  const WindowFinding* const own = own_window(facts);
  return own != nullptr && own->codes.empty();
}

// What the GPUs' samples lack does not concern the CPUs. August took a window that nobody expected.
bool is_usable_for_cpus(const PackageFacts& facts, Contract contract) {
  constexpr std::string_view kOfGpus[] = {"measurement_window_not_bracketed", "sample_gap_exceeded",
                                          "sample_loss_exceeded", "gpu_uuid_changed"};
  const WindowFinding* const own = own_window(facts);
  if (own == nullptr) return !rules_of(contract).judges_own_window;
  return std::ranges::all_of(own->codes, [&](const std::string& code) {
    return std::ranges::find(kOfGpus, code) != std::end(kOfGpus);
  });
}

// CPUs are judged separately: their faults do not affect the GPUs.
std::optional<CpuPower> measure_cpus(const PackageQuestion& question,
                                     const std::vector<ExpectedDevice>& devices,
                                     std::optional<Window> window) {
  CpuPowerRequest request;
  request.window = window;
  std::set<std::string> hosts;
  for (const ExpectedDevice& device : devices) hosts.insert(device.key.hostname);
  request.expected_hosts.assign(hosts.begin(), hosts.end());
  request.expected_source = question.expected_cpu_source;
  const PackagePlace& place = question.place;
  return measure_cpu_power(*place.tree, cpu_folders(place), request);
}

SelectedWindow selected(const PackageWindow& window) {
  return {window.file,
          window.result_path,
          window.key.benchmark_type,
          window.key.concurrency,
          {window.start_unix_s, *window.end_unix_s},
          *window.duration_s};
}

// Whether the package is what its manifest says, apart from windows that are not usable.
bool is_integral(const Package& package, const Findings& findings, const Findings& verdict,
                 const PackageFacts& facts, bool despite_clocks) {
  constexpr Reason kOfPin[] = {Reason::producer_pin_missing, Reason::producer_commit_mismatch};
  const bool is_trusted = std::ranges::none_of(
      kOfPin, [&](Reason reason) { return findings.reasons.contains(reason); });
  const bool is_as_written = std::ranges::all_of(package.faults, [&](const PackageFault& fault) {
    return fault.is_of_window || (facts.salvage && fault.is_elsewhere) ||
           (despite_clocks && fault.is_of_clock);
  });
  return is_trusted && is_as_written &&
         !verdict.reasons.contains(Reason::producer_verdict_mismatch);
}

// Whether it is, except that samples are missing: in gaps, or where rows have no number of power.
// The recorder has refused it.
bool lacks_only_samples(const Package& package, const Findings& findings,
                        const PackageFacts& facts) {
  const bool has_other_reason =
      std::ranges::any_of(findings.reasons.entries(), [](const Reasons::Entry& entry) {
        return entry.reason != Reason::package_recompute_invalid;
      });
  return !has_other_reason && facts.stored_publication_valid == false &&
         std::ranges::all_of(package.faults, [](const PackageFault& fault) {
           return fault.is_of_window || fault.is_elsewhere || fault.is_of_cells;
         });
}

// The rules of one dialect may give another window than those of another.
bool is_integrated(const PackageWindow& window, const Package& package) {
  const Window span = span_of(window);
  return package.integrated && package.integrated->start_unix_s == span.start_unix_s &&
         package.integrated->end_unix_s == span.end_unix_s;
}

void describe(const PackageContent& content, const Package& package, const Labels& labels,
              Result& result) {
  result.expected_gpus = static_cast<std::int64_t>(content.devices.size());
  result.metric_gpus = content.devices.size();
  result.observed_gpus = package.observed.size();
  for (const auto& [key, role] : package.topology.roles) {
    result.roles.emplace_back(label_of(key, labels), role);
  }
}

// Whether the energy of the run's window can be told: in August only of a package without a fault.
bool is_measurable(const PackageQuestion& question, const Package& package,
                   const Findings& findings, const Findings& topology, const Result& result,
                   const std::optional<PackageWindow>& window) {
  if (!window || !is_integrated(*window, package)) return false;
  if (!rules_of(question.contract).judges_own_window) return findings.reasons.empty();
  const PackageFacts& facts = *result.package;
  return (facts.is_integral || facts.has_unproven_clocks) && topology.reasons.empty() &&
         is_covered(facts);
}

// What refuses a package for the place of its window. The windows are by the recorder's own clock:
// that it is off by less than the window is not certain, and warns.
Reasons place_faults(PackageMeter& meter, const PackageContent& content, const Package& package,
                     std::vector<std::string>& warnings) {
  energy::WindowDoubts doubts = meter.place_doubts(content, package);
  Reasons faults;
  for (const Reasons::Entry& entry : doubts.certain.entries()) {
    const bool is_own_clock = entry.reason == Reason::clock_offset_suspected;
    (is_own_clock ? doubts.possible : faults).add(entry.reason, entry.detail);
  }
  for (const Reasons::Entry& entry : doubts.possible.entries()) {
    warnings.push_back(fmt::format("samples.csv: {}: {}", code(entry.reason), entry.detail));
  }
  return faults;
}

// Finds the run's window, and measures it if nothing that concerns it speaks against that.
void measure_window(const PackageQuestion& question, const LoadReading& reading,
                    const PackageContent& content, const Package& package, PackageMeter& meter,
                    Findings& findings, Result& result) {
  PackageFacts& facts = *result.package;
  const RoleCounts asked = with_known_role(question.role_gpus, package.topology);
  const Findings topology = check_topology(asked, content.devices, package.topology);
  findings.add(topology);
  const auto window = match_window({question.place, package.scan, question.result,
                                    question.result_name, question.window_file, reading},
                                   findings);
  if (window) facts.window = selected(*window);
  if (window && !is_integrated(*window, package)) {
    findings.add(Reason::window_for_result_missing,
                 fmt::format("{}: by an older rule of the recorder another window is the result's",
                             window->file));
  }
  FleetMeasurement fleet = meter.fleet(package);
  if (is_measurable(question, package, findings, topology, result, window) && reading.load &&
      reading.reasons.empty()) {
    Findings faults =
        meter.integrate(content, package, asked,
                        has_percentiles(question.keys) ? fleet : FleetMeasurement(), result);
    if (rules_of(question.contract).warns_of_packages) {
      faults.add(place_faults(meter, content, package, result.warnings));
      if (!is_accepted(faults, result.accepts)) result.metrics.clear();
    }
    findings.add(faults);
    if (question.readings != nullptr) *question.readings = meter.readings(content, package);
    facts.window->power_valid = is_accepted(faults, result.accepts) && facts.is_integral;
    facts.window->metrics = result.metrics;
  }
  if (facts.lacks_only_samples && result.gpus.empty() && question.readings != nullptr) {
    *question.readings = meter.readings(content, package);
  }
  if (question.with_power && !result.metrics.empty()) result.curve = fleet.power;
  if (has_percentiles(question.keys)) result.fleet = std::move(fleet);
  if (!rules_of(question.contract).warns_of_packages || !findings.reasons.empty()) return;
  if (auto doubt = meter.doubt(package, facts.source_metric)) {
    result.warnings.push_back(std::move(*doubt));
  }
}

// What the launcher applied to the package's GPUs.
std::vector<GpuLimit> limits_in_force(const PackageContent& content, const Package& package,
                                      const packages::LauncherLimits& launcher,
                                      const PackageMeter& meter) {
  const Labels labels = labels_of(package.observed);
  std::vector<GpuLimit> limits;
  for (const ExpectedDevice& device : content.devices) {
    auto limit = launcher.of(device.key);
    if (!limit) continue;
    limit->gpu = label_of(device.key, labels);
    const auto seen = std::ranges::find(package.samples.devices, device.key, &SeenDevice::key);
    if (seen != package.samples.devices.end()) {
      const auto number = static_cast<std::uint32_t>(seen - package.samples.devices.begin());
      limit->share_at_limit = meter.share_at(number, limit->limits_w[0]);
    }
    limits.push_back(std::move(*limit));
  }
  return limits;
}

// Checks manifest, package and window in the contract's order. Fills in what is known of `result`,
// and returns what speaks against it. `content` receives the manifest's content.
Findings check_content(const PackageQuestion& question, const LoadReading& reading,
                       PackageContent& content, Result& result) {
  Findings findings;
  PackageFacts& facts = *result.package;
  auto manifest = packages::read_manifest(question.place, findings);
  if (!manifest) return findings;
  content.manifest = std::move(*manifest);
  findings.add(check_producer(content.manifest, facts));
  try {
    content.devices = expected_devices(content.manifest);
    content.windows = expected_windows(content.manifest);
  } catch (const Error& error) {
    facts.recomputed_publication_valid = false;
    findings.add(Reason::manifest_malformed, fmt::format("manifest.json: {}", error.what()));
    return findings;
  }
  PackageMeter meter({.fleet = has_percentiles(question.keys) || question.with_power,
                      .states = has_states(question.keys),
                      .readings = question.readings != nullptr});
  const packages::LauncherLimits limits(question.place, result.warnings);
  meter.watch_limits(limits.different_w());
  PackageRequest request;
  request.concurrency = reading.max_concurrency;
  request.contract = question.contract;
  request.salvage = question.salvage;
  request.consumer_gaps = question.consumer_gaps;
  request.begin = [&](Window window) { meter.begin(window); };
  request.take = [&](std::span<const PackageSample> samples) { meter.take(samples); };
  if (question.readings == nullptr) request.shared = question.shared_samples;
  request.extended = has_percentiles(question.keys);
  request.measured = [&](WindowPower measured) { meter.use(std::move(measured)); };
  request.samples_sha256 = question.samples_sha256;
  const Package package = recompute_package(question.place, content, request);
  findings.add(check_recomputed(package, facts));
  const Findings verdict = check_stored_verdict(content.manifest, facts);
  findings.add(verdict);
  facts.is_integral = is_integral(package, findings, verdict, facts, false);
  facts.lacks_only_samples = facts.salvage && lacks_only_samples(package, findings, facts);
  // With --salvage the record shows what clocks that may differ make of it; nothing is published.
  facts.has_unproven_clocks =
      facts.salvage && !facts.is_integral && is_integral(package, findings, verdict, facts, true);
  describe(content, package, labels_of(package.observed), result);
  result.limits = limits_in_force(content, package, limits, meter);
  measure_window(question, reading, content, package, meter, findings, result);
  append(result.warnings, package.warnings);
  return findings;
}

}  // namespace

Result check_package(const PackageQuestion& question) {
  LoadReading reading = read_result(question);
  if (reading.failure.empty()) reading.failure = question.failure;
  refuse_failed(question.contract, reading);
  Result result;
  result.way = Way::package;
  result.load = reading.load;
  result.accepts = question.accepted;
  result.contract = question.contract;
  result.keys = question.keys;
  result.requires_cpu =
      question.contract == Contract::october && question.expected_cpu_source.has_value();
  result.expected_gpus = 0;
  PackageFacts& facts = result.package.emplace();
  facts.asked_gpus = gpus_asked_for(question.role_gpus);
  facts.expected_producer_sha = question.expected_producer_sha;
  facts.is_pin_of_package = question.is_pin_of_package;
  facts.salvage = question.salvage;
  Findings findings;
  if (!question.refusal.empty()) {
    result.expected_gpus = static_cast<std::int64_t>(facts.asked_gpus);
    facts.is_refused = true;
    findings.add(question.refusal);
  } else {
    PackageContent content;
    findings = check_content(question, reading, content, result);
    const bool has_window = facts.window && is_usable_for_cpus(facts, question.contract);
    result.cpu = measure_cpus(question, content.devices,
                              has_window ? std::optional(facts.window->window) : std::nullopt);
    if (result.cpu) {
      for (const std::string& note : result.cpu->notes) {
        result.warnings.push_back("CPU power: " + note);
      }
    }
    if (facts.window && rules_of(question.contract).warns_of_packages) {
      result.reported_energies = packages::compare_energy_reports(
          question.place, content, *facts.window,
          [&](Window window) { return measure_cpus(question, content.devices, window); },
          result.warnings);
    }
    findings.add(reading.reasons);
    if (!is_accepted(findings, result.accepts)) result.metrics.clear();
  }
  result.reasons = std::move(findings.reasons);
  result.failures = std::move(findings.failures);
  return result;
}

// ---- Collects faults of a package.

void PackageFaults::add(std::string text, bool is_elsewhere) {
  list.push_back({std::move(text), is_elsewhere});
}

void PackageFaults::add(std::string text, bool is_elsewhere, const std::string& name) {
  add(std::move(text), is_elsewhere);
  if (is_elsewhere) count_elsewhere(name, 1);
}

void PackageFaults::count_elsewhere(const std::string& name, std::uint64_t count) {
  if (count > 0) elsewhere[name] += count;
}

void PackageFaults::add(PackageFaults others) {
  list.insert(list.end(), std::make_move_iterator(others.list.begin()),
              std::make_move_iterator(others.list.end()));
  for (const auto& [name, count] : others.elsewhere) count_elsewhere(name, count);
}

// ---- Collects reasons and their sentences.

namespace {

constexpr std::size_t kMostDetail = 1000;  // characters of a message

}  // namespace

std::string shortened(const std::string& detail) { return printable(detail, kMostDetail); }

bool is_accepted(const Findings& findings, std::span<const Reason> accepts) {
  Reasons open = findings.reasons;
  Reasons accepted;
  open.accept(accepts, accepted);
  return open.empty();
}

void Findings::add(Reason reason, const std::string& detail) {
  reasons.add(reason, shortened(detail));
  if (!detail.empty()) failures.push_back(detail);
}

void Findings::add(const Reasons& others) {
  for (const Reasons::Entry& entry : others.entries()) add(entry.reason, entry.detail);
}

void Findings::add(const Findings& others) {
  reasons.add(others.reasons);
  append(failures, others.failures);
}

}  // namespace aggregate_power
