// aggregate-power multinode: one run on several nodes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/python_number.h"
#include "base/text/unicode.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/package_options.h"
#include "commands/shared_options.h"
#include "runs/hosts.h"
#include "runs/package.h"

namespace aggregate_power {
namespace {

struct Texts {
  std::vector<std::string> hosts;
  std::string nodes;
  std::vector<std::string> roles;
  std::vector<std::string> clock_offsets;
  std::optional<std::string> power_dir;
  std::string prefill_gpus;
  std::string decode_gpus;
  std::string aggregate_gpus;
  PackageOptionTexts package;
  std::string bench_result;
  std::string validation_result;
  std::string expected_num_gpus;
  TelemetryOptionTexts telemetry;
  RunOptionTexts run;
};

HostFile parse_host(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string host = text.substr(0, equals);
  const std::string file = text.substr(std::min(equals + 1, text.size()));
  const bool is_name = !host.empty() && host.find_first_of(":,/") == host.npos;
  if (!is_name || file.empty() || file == "-") {
    const char* const fault =
        is_name ? "with a file behind '='" : "with no ':', ',' or '/' in HOST";
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
void add_hosts(HostsRequest& request, const Texts& texts) {
  if (texts.nodes.empty()) {
    request.hosts = parse_hosts(texts.hosts);
    for (const HostFile& file : request.hosts) {
      request.telemetry_source +=
          fmt::format("{}{}={}", request.telemetry_source.empty() ? "" : ",", file.host, file.csv);
    }
    return;
  }
  request.telemetry_source = normal_path(texts.nodes);
  try {
    request.hosts = hosts_in(request.telemetry_source);
    request.no_hosts = request.telemetry_source + " has no folder of a host in it";
  } catch (const FileError& error) {
    request.no_hosts = error.what();
  }
}

HostsRequest hosts_request_of(const Texts& texts) {
  HostsRequest request;
  add_hosts(request, texts);
  std::vector<std::string> names;
  for (const HostFile& host : request.hosts) names.push_back(host.host);
  if (!names.empty()) {  // that there are none is recorded
    request.roles = parse_roles(texts.roles, names);
    request.clock_offsets_s = parse_clock_offsets(texts.clock_offsets, names);
  }
  request.bench_result = normal_path(texts.bench_result);
  request.validation_result = path_of(texts.validation_result);
  request.expected_num_gpus = python_int(texts.expected_num_gpus);
  request.max_sample_gap_s = *python_float(texts.run.max_sample_gap);
  request.columns = columns_of(texts.telemetry);
  request.zone = zone_of(texts.telemetry.timezone);
  set_run_options(request, texts.run);
  return request;
}

std::int64_t gpus_of(const std::string& text) { return text.empty() ? 0 : *python_int(text); }

MultinodeRequest package_request_of(const Texts& texts) {
  if (texts.aggregate_gpus.empty() && (texts.prefill_gpus.empty() || texts.decode_gpus.empty())) {
    throw Error(
        "give --host HOST=FILE for each host, or --nodes FOLDER; or of a dcgm-power package "
        "--prefill-gpus N and --decode-gpus N, or --aggregate-gpus N");
  }
  MultinodeRequest request;
  request.power_dir =
      normal_path(or_environment(texts.power_dir, "POWER_ARTIFACT_DIR", "LOGS/power"));
  request.bench_result = normal_path(texts.bench_result);
  request.validation_result = path_of(texts.validation_result);
  request.gpus.prefill = gpus_of(texts.prefill_gpus);
  request.gpus.decode = gpus_of(texts.decode_gpus);
  request.gpus.aggregate = gpus_of(texts.aggregate_gpus);
  set_package_options(request, texts.package);
  set_run_options(request, texts.run);
  return request;
}

// Options that only one of the two ways takes.
void refuse_mixture(const Options& options, bool of_hosts) {
  constexpr const char* kOfPackage[] = {"--power-dir",      "--logs-root",
                                        "--prefill-gpus",   "--decode-gpus",
                                        "--aggregate-gpus", "--expected-producer-sha",
                                        "--salvage",        "--expected-cpu-source"};
  constexpr const char* kOfHosts[] = {
      "--role",           "--clock-offset",     "--expected-num-gpus",
      "--max-sample-gap", "--timestamp-column", "--power-column",
      "--device-column",  "--power-unit",       "--timezone"};
  const auto refuse = [&](std::span<const char* const> names, const char* why) {
    for (const char* const name : names) {
      if (options.is_given(name)) throw Error(fmt::format("{}: {}", name, why));
    }
  };
  if (of_hosts) {
    refuse(kOfPackage, "is for a dcgm-power package, not for --host or --nodes");
  } else {
    refuse(kOfHosts, "is for --host or --nodes, not for a dcgm-power package");
  }
}

int run(const Texts& texts, const Options& options) {
  const bool of_hosts = !texts.hosts.empty() || !texts.nodes.empty();
  refuse_mixture(options, of_hosts);
  if (texts.bench_result == "-" || texts.run.agg_result == "-") {
    throw Error("--bench-result and --agg-result: expected a file");
  }
  if (of_hosts) {
    const HostsRequest request = hosts_request_of(texts);
    return report(request.require_power, [&] { return aggregate_hosts(request); });
  }
  const MultinodeRequest request = package_request_of(texts);
  return report(request.require_power, [&] { return multinode(request); });
}

void add_options_of_packages(Options& options, Texts& texts) {
  options
      .value("--power-dir", "FOLDER", into(texts.power_dir),
             "Folder of a dcgm-power package: manifest.json, samples.csv, windows, perhaps cpu "
             "(default: $POWER_ARTIFACT_DIR, else LOGS/power)")
      .check(not_empty());
  options.value("--prefill-gpus", "N", into(texts.prefill_gpus), "GPUs of prefill workers; 0: none")
      .check(whole_number());
  options.value("--decode-gpus", "N", into(texts.decode_gpus), "GPUs of decode workers; 0: none")
      .check(whole_number());
  options
      .value("--aggregate-gpus", "N", into(texts.aggregate_gpus),
             "GPUs of workers that do both; instead of the two above")
      .check(whole_number());
  add_package_options(options, texts.package,
                      "Folder below which the package's windows name their original results");
}

void add_host_options(Command& command, Texts& texts) {
  Options& options = command.options;
  options.list("--host", "HOST=FILE", into(texts.hosts),
               "Telemetry of one host; repeatable. What stands beside FILE counts as in a "
               "run on one node, and STEM_identity.csv, STEM_devices.json or "
               "STEM_identity.json for its GPUs' UUIDs");
  options
      .value("--nodes", "FOLDER", into(texts.nodes),
             "Folder with a folder for each host that holds gpu_metrics.csv, or just one CSV")
      .check(not_empty())
      .excludes("--host");
  options.list("--role", "ROLE=HOST[:GPUS],...", into(texts.roles),
               "Which GPUs are prefill, decode or agg, as in prefill=hostA:0-3,6,hostB; "
               "repeatable; all or none must have one (default: one whole deployment)");
  options.list("--clock-offset", "HOST=SECONDS", into(texts.clock_offsets),
               "Seconds to add to a host's stamps, where its clock is known to be wrong; "
               "repeatable");
}

}  // namespace

Command multinode_command() {
  auto texts = std::make_shared<Texts>();
  Command command;
  command.forms = {
      "--power-dir FOLDER --prefill-gpus N --decode-gpus N --bench-result FILE --agg-result FILE "
      "[OPTIONS]",
      "--host HOST=FILE... --bench-result FILE --agg-result FILE [OPTIONS]",
      "--nodes FOLDER --bench-result FILE --agg-result FILE [OPTIONS]"};
  command.first_choice = {
      "--power-dir",         "--logs-root",    "--bench-result",   "--agg-result",
      "--prefill-gpus",      "--decode-gpus",  "--aggregate-gpus", "--expected-producer-sha",
      "--validation-result", "--require-power"};
  Options& options = command.options;
  add_options_of_packages(options, *texts);
  add_host_options(command, *texts);
  add_bench_result(options, texts->bench_result);
  add_agg_result(options, texts->run);
  options.value("--validation-result", "FILE", into(texts->validation_result),
                "Audit record (default: power_validation_STEM.json beside the benchmark result)");
  options
      .value(
          "--expected-num-gpus", "N", into(texts->expected_num_gpus),
          "GPUs that the run used, on all hosts together: without it a host that is not there is "
          "not missed")
      .check(whole_number());
  add_max_sample_gap(options, texts->run);
  add_telemetry_options(options, texts->telemetry);  // of every host
  add_outcome_options(options, texts->run,
                      "Also the percentiles of power, the audit summary and the workers that "
                      "today's dashboard takes");
  command.examples =
      "aggregate-power multinode --power-dir LOGS/power --logs-root LOGS --prefill-gpus 8 "
      "--decode-gpus 16 --expected-producer-sha SHA --bench-result run.json --agg-result "
      "agg_run.json\n"
      "aggregate-power multinode --host node0=node0.csv --host node1=node1.csv --role "
      "prefill=node0 --role decode=node1 --bench-result run.json --agg-result agg_run.json\n"
      "aggregate-power multinode --nodes nodes --bench-result run.json --agg-result agg_run.json";
  command.exit_statuses =
      "0 done, also when the telemetry could not be used (the reason is recorded); 1 when power is "
      "required and not valid; 2 for wrong options";
  command.run = [texts](const Options& parsed) { return run(*texts, parsed); };
  return command;
}

}  // namespace aggregate_power
