// One run on several hosts, each with a recording of its own, end to end.
#include "runs/hosts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/parallel.h"
#include "base/text/unicode.h"
#include "energy/clock_offset.h"
#include "energy/fleet_power.h"
#include "loads/benchmark.h"
#include "results/dashboard_keys.h"
#include "results/hosts_record.h"
#include "results/record.h"
#include "runs/assess.h"
#include "runs/host.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kMostThreads = 8;  // more would wait for memory

class HostsRun {
 public:
  explicit HostsRun(const HostsRequest& request) : request_(request) {}

  CommandOutput run() {
    const LoadReading reading = read_benchmark_file(request_.bench_result, LoadRules::schema_2);
    content_.telemetry_source = request_.telemetry_source;
    content_.benchmark_result = request_.bench_result;
    content_.load = reading.load;
    content_.expected_num_gpus = request_.expected_num_gpus;
    content_.reasons = reading.reasons;
    content_.extended = request_.extended;
    if (content_.load && is_request_good()) {
      read_hosts();
      check_the_whole();
      estimate_clocks();
      if (content_.reasons.empty()) work_out_metrics();
    }
    return deliver(finished(), {request_.require_power, request_.dry_run});
  }

 private:
  Reasons& reasons() { return content_.reasons; }

  bool is_request_good() {
    if (!std::isfinite(request_.max_sample_gap_s) || request_.max_sample_gap_s <= 0) {
      reasons().add(Reason::invalid_max_sample_gap, fmt::format("{}", request_.max_sample_gap_s));
      return false;
    }
    if (request_.expected_num_gpus && *request_.expected_num_gpus <= 0) {
      reasons().add(Reason::invalid_expected_gpu_count,
                    fmt::format("{}", *request_.expected_num_gpus));
    }
    if (request_.hosts.empty()) reasons().add(Reason::telemetry_file_missing, request_.no_hosts);
    return true;
  }

  void read_hosts() {
    std::vector<HostReading> readings(request_.hosts.size());
    in_parallel(readings.size(), kMostThreads, [&](std::size_t i) {
      const HostFile& file = request_.hosts[i];
      readings[i] = read_host(file, *content_.load, options_for(file.host));
    });
    std::vector<Reasons> identity_faults;
    for (HostReading& reading : readings) {
      add_of_host(reading.finding.host, reading.finding.reasons);
      hosts_.push_back(std::move(reading.finding));
      edges_.push_back(reading.edges);
      identity_faults.push_back(std::move(reading.identity_faults));
      column_faults_.add(reading.column_faults);
      std::ranges::copy(reading.hints, std::back_inserter(hints_));
      std::ranges::copy(reading.warnings, std::back_inserter(warnings_));
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i].reasons.add(identity_faults[i]);
      add_of_host(hosts_[i].host, identity_faults[i]);
    }
  }

  HostReadingOptions options_for(const std::string& host) const {
    const auto offset = request_.clock_offsets_s.find(host);
    const bool has_offset = offset != request_.clock_offsets_s.end();
    return {request_.max_sample_gap_s, has_offset ? offset->second : 0, request_.columns,
            request_.zone, request_.extended};
  }

  void add_of_host(const std::string& host, const Reasons& found) {
    for (const Reasons::Entry& entry : found.entries()) {
      reasons().add(entry.reason,
                    one_line(entry.detail.empty() ? host : host + ": " + entry.detail));
    }
  }

  void check_the_whole() {
    std::vector<RecordedGpu> gpus;
    bool any_unknown = hosts_.empty();
    for (const HostFinding& host : hosts_) {
      any_unknown = any_unknown || host.gpus.empty();
      gpus.insert(gpus.end(), host.gpus.begin(), host.gpus.end());
    }
    check_files();
    check_uuids(gpus);
    if (any_unknown) return;  // of a host without GPUs nothing else can be said
    const auto expected = request_.expected_num_gpus;
    if (expected && *expected > 0 && static_cast<std::int64_t>(gpus.size()) != *expected) {
      reasons().add(
          Reason::expected_gpu_count_mismatch,
          fmt::format("{} seen on {} hosts, {} expected", gpus.size(), hosts_.size(), *expected));
    }
    RoleAssignment assigned = assign_roles(request_.roles, gpus);
    reasons().add(assigned.reasons);
    if (assigned.reasons.empty()) content_.roles = std::move(assigned.roles);
  }

  // GPUs of one file are the same GPUs, whatever is known of them.
  void check_files() {
    std::map<std::string, std::string> hosts;
    for (const HostFinding& host : hosts_) {
      if (host.gpus.empty()) continue;
      const auto [other, is_new] = hosts.try_emplace(file_identity(host.csv), host.host);
      if (is_new) continue;
      reasons().add(Reason::gpu_uuid_repeated,
                    one_line(fmt::format("{} and {} have one file", other->second, host.host)));
    }
  }

  void check_uuids(std::span<const RecordedGpu> gpus) {
    std::map<std::string, const RecordedGpu*> by_uuid;
    for (const RecordedGpu& gpu : gpus) {
      if (gpu.uuid.empty()) continue;
      const auto [other, is_new] = by_uuid.try_emplace(gpu.uuid, &gpu);
      if (is_new) continue;
      reasons().add(Reason::gpu_uuid_repeated,
                    fmt::format("{}: GPU {} and {}: GPU {} are both {}",
                                printable(other->second->host), printable(other->second->id),
                                printable(gpu.host), printable(gpu.id), printable(gpu.uuid)));
    }
  }

  void estimate_clocks() {
    const auto estimates = estimate_clock_offsets(edges_);
    const bool has_load = std::ranges::any_of(
        edges_, [](const LoadEdges& edges) { return edges.rise && edges.fall; });
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i].clock_estimate = estimates[i];
      if (estimates[i] && is_large(*estimates[i], edges_[i].interval_s)) {
        warn_of_clock(i, estimates);
      } else if (has_load && !edges_[i].rise && !edges_[i].fall && !hosts_[i].gpus.empty()) {
        warnings_.push_back(fmt::format(
            "{}: clock_offset: no load comes or goes within {:.0f} s of the window's start and "
            "end, as it does on others; unless it did not work, its clock or its zone is wrong",
            printable(hosts_[i].host), LoadEdgeFinder::kNear_s));
      }
    }
  }

  void warn_of_clock(std::size_t i, std::span<const std::optional<ClockOffset>> estimates) {
    const ClockOffset& estimate = *estimates[i];
    const auto remedy = [&](std::size_t host, double offset_s) {
      return "--clock-offset " + shell_word(fmt::format("{}={:.6g}", printable(hosts_[host].host),
                                                        hosts_[host].clock_offset_s + offset_s));
    };
    // Of two hosts nothing tells whose clock is wrong.
    std::vector<std::size_t> others;
    for (std::size_t k = 0; k < estimates.size(); ++k) {
      if (estimates[k] && k != i) others.push_back(k);
    }
    const bool are_two = others.size() == 1;
    const std::string other = printable(hosts_[others.at(0)].host);
    std::string advice =
        fmt::format("if its clock is wrong, pass {}", remedy(i, estimate.offset_s));
    if (are_two) {
      advice += fmt::format("; if that of {} is, {}", other, remedy(others[0], -estimate.offset_s));
    }
    const double late_s = -estimate.offset_s;
    warnings_.push_back(fmt::format(
        "{}: clock_offset: the load comes and goes {:.6g} s {} than {} (give or take {:.6g} s); {}",
        printable(hosts_[i].host), std::abs(late_s), late_s > 0 ? "later" : "earlier",
        are_two ? "on " + other : "on the other hosts", estimate.uncertainty_s, advice));
  }

  void work_out_metrics() {
    const Load& load = *content_.load;
    RoleEnergy by_role[3];
    const RoleEnergy& prefill = by_role[static_cast<std::size_t>(Role::prefill)];
    const RoleEnergy& decode = by_role[static_cast<std::size_t>(Role::decode)];
    double energy_j = 0;
    std::size_t gpus = 0;
    for (const HostFinding& host : hosts_) {
      for (const DeviceEnergy& gpu : host.integration.gpus) {
        RoleEnergy& role = by_role[static_cast<std::size_t>(content_.roles[gpus++])];
        ++role.gpus;
        role.energy_j += gpu.energy_j;
        energy_j += gpu.energy_j;
      }
    }
    const double window_s = load.window.duration_s();
    const double power_w = energy_j / window_s;
    content_.metrics =
        schema_2_metrics({power_w / static_cast<double>(gpus), power_w, energy_j, load.completed,
                          load.total_input_tokens, load.total_output_tokens});
    std::ranges::copy(
        role_metrics(prefill, decode, window_s, load.total_input_tokens, load.total_output_tokens),
        std::back_inserter(content_.metrics));
    for (const Metric& metric : content_.metrics) {
      if (std::isfinite(metric.value)) continue;
      reasons().add(Reason::non_finite_power_metric, std::string(metric.key));
    }
    if (request_.extended) add_dashboard_metrics(gpus);
    success_line_ = fmt::format("avg_power_w={:.2f} total_gpu_energy_j={:.2f}",
                                power_w / static_cast<double>(gpus), energy_j);
    if (prefill.gpus + decode.gpus > 0) {
      success_line_ += fmt::format(" prefill_gpu_energy_j={:.2f} decode_gpu_energy_j={:.2f}",
                                   prefill.energy_j, decode.energy_j);
    }
    success_line_ += fmt::format(" (n={}) -> {}", gpus, request_.agg_result);
  }

  // Of all hosts together, on one clock.
  void add_dashboard_metrics(std::size_t gpus) {
    const Window window = content_.load->window;
    FleetMeasurement whole;
    std::vector<FleetPower> curves;
    for (const HostFinding& host : hosts_) {
      if (!host.fleet.power) return;  // a valid run has them all
      std::vector<Sample> knots(host.fleet.power->knots().begin(), host.fleet.power->knots().end());
      for (Sample& knot : knots) knot.unix_s += host.clock_offset_s;
      curves.emplace_back(std::move(knots));
    }
    whole.power = sum_of(std::move(curves), window);
    for (std::size_t i = 0; i < whole.states.size(); ++i) whole.states[i] = state_of_all(i);
    std::ranges::copy(dashboard_metrics(whole, gpus), std::back_inserter(content_.metrics));
  }

  // Nothing unless every host has it.
  std::optional<StateSummary> state_of_all(std::size_t quantity) const {
    StateSummary all;
    all.peak = -std::numeric_limits<double>::infinity();
    for (const HostFinding& host : hosts_) {
      const auto& state = host.fleet.states[quantity];
      if (!state) return std::nullopt;
      all.mean += state->mean * static_cast<double>(state->gpus);
      all.peak = std::max(all.peak, state->peak);
      all.gpus += state->gpus;
    }
    all.mean /= static_cast<double>(all.gpus);
    return all;
  }

  // What a role has of a host counts as a worker.
  std::vector<Worker> workers() const {
    std::map<std::pair<Role, std::size_t>, Worker> workers;
    std::map<Role, std::int64_t> count;
    std::size_t at = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      for (const DeviceEnergy& gpu : hosts_[i].integration.gpus) {
        if (at == content_.roles.size()) return {};
        const Role role = content_.roles[at++];
        Worker& worker = workers[{role, i}];
        if (worker.num_gpus++ == 0) {
          worker.role = role_name(role);
          worker.worker_idx = count[role]++;
          worker.hosts = {hosts_[i].host};
        }
        worker.avg_power_w += gpu.energy_j;  // energy until all are counted
      }
    }
    std::vector<Worker> all;
    for (auto& [key, worker] : workers) {
      worker.avg_power_w /=
          content_.load->window.duration_s() * static_cast<double>(worker.num_gpus);
      all.push_back(std::move(worker));
    }
    return all;
  }

  DashboardContent extended(const std::string& record) const {
    DashboardContent content;
    content.reasons = content_.reasons;
    PowerAudit& audit = content.audit;
    audit.source = record.substr(record.rfind('/') + 1);
    audit.expected_gpu_count = content_.expected_num_gpus;
    audit.observed_gpu_count = 0;
    audit.sample_count = 0;
    if (content_.load) audit.window = content_.load->window;
    for (const HostFinding& host : hosts_) {
      *audit.observed_gpu_count += host.integration.gpus.size();
      *audit.sample_count += host.fleet.samples_in_window;
      for (const DeviceEnergy& gpu : host.integration.gpus) {
        if (!gpu.bracketed) continue;
        audit.max_sample_gap_s = std::max(audit.max_sample_gap_s.value_or(0), gpu.max_sample_gap_s);
      }
    }
    audit.observed_gpu_ids = gpu_names(content_, hosts_);
    if (content_.reasons.empty()) content.workers = workers();
    return content;
  }

  FinishedRun finished() const {
    FinishedRun run;
    run.reasons = content_.reasons;
    run.plan = plan();
    run.success_line = success_line_;
    run.causes = column_faults_;
    run.hints = hints_;
    run.warnings = warnings_;
    return run;
  }

  WritePlan plan() const {
    WritePlan plan;
    plan.aggregate_path = request_.agg_result;
    plan.record_path = request_.validation_result.empty() ? record_beside(request_.bench_result)
                                                          : request_.validation_result;
    plan.make_record_folder = !request_.validation_result.empty();
    plan.valid = content_.reasons.empty();
    plan.edits = schema_2_edits(plan.valid, content_.metrics);
    if (request_.extended) add_dashboard_keys(plan.edits, extended(plan.record_path));
    plan.leftovers = {dashboard_leftovers(), cpu_leftovers()};
    plan.edits_without_audit = schema_2_edits(false, {});
    plan.record = [this](const Reasons& aggregate_reasons, std::string_view) {
      HostsContent content = content_;
      content.reasons.add(aggregate_reasons);
      return hosts_record_text(content, hosts_);
    };
    plan.inputs = {request_.bench_result, request_.agg_result};
    for (const HostFile& file : request_.hosts) {
      std::ranges::copy(files_of_host(file), std::back_inserter(plan.inputs));
    }
    plan.record_advice = kOtherValidationResult;
    return plan;
  }

  const HostsRequest& request_;
  HostsContent content_;
  std::vector<HostFinding> hosts_;
  std::vector<LoadEdges> edges_;  // by host
  std::string success_line_;
  Reasons column_faults_;
  std::vector<std::string> hints_;
  std::vector<std::string> warnings_;
};

}  // namespace

CommandOutput aggregate_hosts(const HostsRequest& request) { return HostsRun(request).run(); }

}  // namespace aggregate_power
