// aggregate-power multinode: one run on several nodes.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "packages/native/node.h"
#include "runs/deployment/run_kinds.h"
#include "runs/measure/extras.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

// A run is measured by a package, of either kind, or by a recording of each host.
struct Parsed {
  RunSpec run;
  std::string nodes;
  std::vector<std::string> host_files;
  std::vector<std::string> roles;
  std::vector<std::string> clock_offsets;

  bool is_of_hosts() const { return !host_files.empty() || !nodes.empty(); }
};

HostFile parse_host(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string host = text.substr(0, equals);
  const std::string file = text.substr(std::min(equals + 1, text.size()));
  const bool is_name = !host.empty() && host.find_first_of(":,/") == host.npos;
  if (!is_name || file.empty() || file == "-") {
    const char* const fault = is_name ? "with a file after '='" : "with no ':', ',' or '/' in HOST";
    throw Error(fmt::format("--host: expected HOST=FILE, {}, got '{}'", fault, printable(text)));
  }
  return {host, normal_path(file), {}};
}

std::vector<HostFile> parse_hosts(const std::vector<std::string>& texts) {
  std::vector<HostFile> hosts;
  for (const std::string& text : texts) {
    hosts.push_back(parse_host(text));
    const std::string& name = hosts.back().host;
    if (std::ranges::count(hosts, name, &HostFile::host) > 1) {
      throw Error(fmt::format("--host: '{}' is named twice", printable(name)));
    }
  }
  return hosts;
}

std::map<std::string, double> parse_clock_offsets(const std::vector<std::string>& texts,
                                                  const std::vector<std::string>& hosts) {
  std::map<std::string, double> offsets;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.rfind('='), text.size());
    const std::string host = text.substr(0, equals);
    const auto seconds = python_float(text.substr(std::min(equals + 1, text.size())));
    if (host.empty() || !seconds || !std::isfinite(*seconds)) {
      throw Error(fmt::format("--clock-offset: expected HOST=SECONDS, got '{}'", printable(text)));
    }
    if (std::ranges::find(hosts, host) == hosts.end()) {
      throw Error(fmt::format("--clock-offset: unknown host '{}'", printable(host)));
    }
    if (!offsets.emplace(host, *seconds).second) {
      throw Error(fmt::format("--clock-offset: '{}' is named twice", printable(host)));
    }
  }
  return offsets;
}

// What is there to be read: named host by host, or found in a folder.
void add_hosts(RunSpec& request, const Parsed& parsed) {
  if (parsed.nodes.empty()) {
    request.hosts = parse_hosts(parsed.host_files);
    for (const HostFile& file : request.hosts) {
      request.telemetry_source +=
          fmt::format("{}{}={}", request.telemetry_source.empty() ? "" : ",", file.host, file.csv);
    }
    return;
  }
  request.telemetry_source = parsed.nodes;
  try {
    request.hosts = hosts_in(request.telemetry_source);
    request.no_hosts = request.telemetry_source + " does not contain a folder of a host";
  } catch (const FileError& error) {
    request.no_hosts = error.what();
  }
}

void settle_hosts(Parsed& parsed) {
  RunSpec& request = parsed.run;
  refuse_idle_stretch(request.idle, "is of one recording, and each host has its own");
  add_hosts(request, parsed);
  std::vector<std::string> names;
  for (const HostFile& host : request.hosts) names.push_back(host.host);
  if (!names.empty()) {  // that there are none is recorded
    request.roles = parse_roles(parsed.roles, names);
    request.clock_offsets_s = parse_clock_offsets(parsed.clock_offsets, names);
  }
}

// Options whose checks a native package has no evidence for.
void refuse_for_native(const Options& options) {
  constexpr const char* kNames[] = {"--expected-producer-sha", "--gap-policy",
                                    "--expected-cpu-source"};
  refuse_options(options, kNames, "is for a dcgm-power package, not for a native one");
}

void settle_package(Parsed& parsed, const Options& options) {
  const bool has_counts = options.is_given("--aggregate-gpus") ||
                          (options.is_given("--prefill-gpus") && options.is_given("--decode-gpus"));
  if (!has_counts) {
    throw Error(
        "give --host HOST=FILE for each host, or --nodes FOLDER; or, for a package, --prefill-gpus N and --decode-gpus N, or --aggregate-gpus N");
  }
  if (is_native_package({disk_tree(), parsed.run.power_dir})) refuse_for_native(options);
  if (!options.is_given("--expected-cpu-source")) {
    parsed.run.expected_cpu_source = expected_cpu_source_in_environment(parsed.run.contract);
  }
}

// Options that only one of the two ways takes.
void refuse_mixture(const Options& options, bool of_hosts) {
  constexpr const char* kOfPackage[] = {"--power-dir",           "--logs-root",
                                        "--prefill-gpus",        "--decode-gpus",
                                        "--aggregate-gpus",      "--expected-producer-sha",
                                        "--expected-cpu-source", "--gap-policy"};
  constexpr const char* kOfHosts[] = {"--role",           "--clock-offset",  "--expected-num-gpus",
                                      "--max-sample-gap", "--columns",       "--timestamp-column",
                                      "--power-column",   "--device-column", "--power-unit",
                                      "--timezone",       "--idle"};
  if (of_hosts) {
    refuse_options(options, kOfPackage, "is for a dcgm-power package, not for --host or --nodes");
  } else {
    refuse_options(options, kOfHosts, "is for --host or --nodes, not for a dcgm-power package");
  }
}

void settle_multinode(Parsed& parsed, const Options& options) {
  refuse_mixture(options, parsed.is_of_hosts());
  if (options.text("--bench-result") == "-" || options.text("--agg-result") == "-") {
    throw Error("--bench-result and --agg-result: expected a file");
  }
  if (parsed.is_of_hosts()) {
    settle_hosts(parsed);
  } else {
    settle_package(parsed, options);
  }
}

void add_gpu_count(Options& options, const std::string& name, std::int64_t& count,
                   const std::string& help) {
  const auto take = [&count](const std::string& text) {
    count = *python_int(text);
    return true;
  };
  options.value(name, "N", take, help).check(whole_number());
}

void add_options_of_packages(Options& options, RunSpec& request) {
  request.power_dir = normal_path(from_environment("POWER_ARTIFACT_DIR", "LOGS/power"));
  options
      .value(
          "--power-dir", "FOLDER", into_path(request.power_dir),
          "Folder of a dcgm-power package (manifest.json, samples.csv, windows, optionally cpu), or of a native package (node-0, node-1 ...) (default: $POWER_ARTIFACT_DIR, else LOGS/power)")
      .check(not_empty());
  add_gpu_count(options, "--prefill-gpus", request.role_gpus.prefill,
                "GPUs of prefill workers; 0: none");
  add_gpu_count(options, "--decode-gpus", request.role_gpus.decode,
                "GPUs of decode workers; 0: none");
  add_gpu_count(options, "--aggregate-gpus", request.role_gpus.aggregate,
                "GPUs of workers that do both; instead of the two options above");
  add_package_options(options, request,
                      "Folder below which the package's windows name their original results");
  options.at("--expected-cpu-source").help =
      "Source that CPU power of the package must come from, such as acpi; without it, CPU power may be missing (default: $POWER_EXPECTED_CPU_SOURCE)";
}

void add_host_options(Options& options, Parsed& parsed) {
  options.list(
      "--host", "HOST=FILE", into(parsed.host_files),
      "Telemetry of one host; repeatable. Files beside FILE are used as in a run on one node, and STEM_identity.csv, STEM_devices.json or STEM_identity.json gives its GPUs' UUIDs");
  options
      .value(
          "--nodes", "FOLDER", into_path(parsed.nodes),
          "Folder with one folder per host, which contains gpu_metrics.csv or exactly one CSV file")
      .check(not_empty())
      .excludes("--host");
  options.list(
      "--role", "ROLE=HOST[:GPUS],...", into(parsed.roles),
      "Which GPUs are prefill, decode or agg, as in prefill=hostA:0-3,6,hostB; repeatable; either all GPUs must have a role or none (default: one whole deployment)");
  options.list(
      "--clock-offset", "HOST=SECONDS", into(parsed.clock_offsets),
      "Seconds to add to a host's timestamps if its clock is known to be wrong; repeatable");
}

}  // namespace

Command multinode_command() {
  const auto parsed = std::make_shared<Parsed>();
  Command command;
  command.forms = {
      "--power-dir FOLDER --prefill-gpus N --decode-gpus N --bench-result FILE --agg-result FILE [OPTIONS]",
      "--host HOST=FILE... --bench-result FILE --agg-result FILE [OPTIONS]",
      "--nodes FOLDER --bench-result FILE --agg-result FILE [OPTIONS]"};
  command.first_choice = {
      "--power-dir",         "--logs-root",    "--bench-result",   "--agg-result",
      "--prefill-gpus",      "--decode-gpus",  "--aggregate-gpus", "--expected-producer-sha",
      "--validation-result", "--require-power"};
  Options& options = command.options;
  add_options_of_packages(options, parsed->run);
  add_host_options(options, *parsed);
  RunSpec& request = parsed->run;
  add_bench_result(options, request);
  add_agg_result(options, request.agg_result);
  add_validation_result(options, request, "power_validation_STEM.json beside the benchmark result");
  add_expected_num_gpus(
      options, request,
      "GPUs that the run used, on all hosts together; without it, a missing host goes unnoticed");
  add_max_sample_gap(options, request);
  add_recording_options(options, request);  // for every host
  add_outcome_options(
      options, request,
      "Also set the percentiles of power, the audit summary and the workers that today's dashboard reads");
  add_idle_of_many(options, request);
  add_uncertainty_options(options, request);
  tie_gpu_to_uncertainty(options);
  command.examples =
      "aggregate-power multinode --power-dir LOGS/power --logs-root LOGS --prefill-gpus 8 --decode-gpus 16 --expected-producer-sha SHA --bench-result run.json --agg-result agg_run.json\n"
      "aggregate-power multinode --host node0=node0.csv --host node1=node1.csv --role prefill=node0 --role decode=node1 --bench-result run.json --agg-result agg_run.json\n"
      "aggregate-power multinode --nodes nodes --bench-result run.json --agg-result agg_run.json";
  command.exit_statuses =
      "0 done, also when the telemetry could not be used (the reason is recorded); 1 when power is required and not valid; 2 for wrong options";
  command.settle = [parsed](const Options& given) { settle_multinode(*parsed, given); };
  command.run = [parsed] {
    return report(parsed->run.require_power, [&] {
      runs::refuse_swapped(parsed->run);
      return deliver_run(parsed->run);
    });
  };
  return command;
}

}  // namespace aggregate_power
