// Declares the options that several commands share.
#include "commands/options/shared_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/timestamp.h"
#include "energy/shares/good_work.h"
#include "generators/benchmark_choice.h"
#include "runs/measure/extras.h"

namespace aggregate_power {
namespace {

bool required_by_environment() {
  const std::string value = lower_ascii(from_environment("REQUIRE_POWER", ""));
  return value == "1" || value == "true" || value == "yes";
}

// Why the variable may not do what was meant; empty: it is clear.
std::string doubt_of_environment() {
  constexpr std::string_view kNo[] = {"", "0", "false", "no", "off"};
  const std::string text = from_environment("REQUIRE_POWER", "");
  if (required_by_environment() || std::ranges::find(kNo, lower_ascii(text)) != std::end(kNo)) {
    return {};
  }
  return fmt::format(
      "REQUIRE_POWER is '{}', which counts as no: only 1, true and yes require power",
      printable(text, 40));
}

void add_keys(Options& options, RunOptions& run, const std::string& extended) {
  const auto take = [&run](const std::string& text) {
    run.keys = row_keys_named(text);
    return true;
  };
  options
      .value(
          "--keys", "seed|row|agentx-row|all", take,
          "Which keys of power the aggregate gets; seed: those of the original script; row, agentx-row: exactly those that the original's collector accepts; all: those for dashboards, too; see 'help extended' (default: seed)")
      .one_of({std::begin(kRowKeys), std::end(kRowKeys)});
  const auto take_all = [&run](const std::string&) {
    run.keys = RowKeys::all;
    return true;
  };
  options
      .flag("--extended", take_all,
            extended + "; with --uncertainty also the bounds and verdicts; the same as --keys all")
      .excludes("--keys");
}

bool has_option(const Options& options, std::string_view name) {
  return std::ranges::find(options.all(), name, &Option::name) != options.all().end();
}

}  // namespace

std::string from_environment(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

void add_recording_options(Options& options, RecordingOptions& recording) {
  add_columns(options, recording);
  options.value("--timestamp-column", "TEXT", into(recording.columns.timestamp),
                "Name of the time column (default: chosen from the header)");
  options.value(
      "--power-column", "TEXT", into(recording.columns.power),
      "Name of the power draw column; 'power.draw' also finds 'power.draw [W]' (default: chosen from the header)");
  options.value("--device-column", "TEXT", into(recording.columns.device),
                "Name of the column that identifies the GPU (default: chosen from the header)");
  add_power_unit(options, recording);
  add_timezone(options, recording);
  add_max_unpacked(options);
}

Option& add_columns(Options& options, RecordingOptions& recording) {
  const auto take = [&recording](const std::string& text) {
    recording.columns.all = parse_column_names(text);
    return true;
  };
  return options
      .value(
          "--columns", "NAME,NAME,...", take,
          "Names of all columns of a CSV without a header, as in timestamp,index,,power.draw; an empty name skips a column; a file with a header of its own is refused (default: from the header)")
      .late();
}

Option& add_power_unit(Options& options, RecordingOptions& recording) {
  const auto take = [&recording](const std::string& text) {
    recording.columns.power_unit = power_unit(text);
    return true;
  };
  return options
      .value(
          "--power-unit", "uW|mW|W|kW", take,
          "Unit of bare numbers in the power column: uW, mW, W or kW; then a cell that states another unit keeps it (default: the unit in the column's name, where a cell with another unit is no reading; else W)")
      .one_of({"uW", "mW", "W", "kW"});
}

Option& add_timezone(Options& options, RecordingOptions& recording) {
  const auto take = [&recording](const std::string& text) {
    recording.zone = text.empty() ? std::nullopt : std::optional(Zone::parse(text));
    return true;
  };
  return options
      .value(
          "--timezone", "TEXT", take,
          "Time zone of timestamps without an offset: local, UTC, +HH:MM, -HH:MM or Area/City (default: timestamp_timezone of STEM_context.json beside the file, else local)")
      .offer({"local", "UTC"})
      .late();
}

Option& accept_evidence(Option& timezone, RunOptions& run) {
  timezone.value_name = "ZONE";
  timezone.help =
      "Time zone of timestamps without an offset: auto, evidence, local, UTC, +HH:MM, -HH:MM or Area/City; auto and evidence: see 'aggregate-power help time-zones' (default: timestamp_timezone of STEM_context.json beside the file, else local)";
  timezone.offer({"auto", "evidence", "local", "UTC"});
  timezone.take = [&run](const std::string& text) {
    run.one_witness = text == "evidence";
    run.finds_zone = text == "auto" || run.one_witness;
    run.zone = run.finds_zone || text.empty() ? std::nullopt : std::optional(Zone::parse(text));
    return true;
  };
  return timezone;
}

Option& add_idle_option(Options& options, RunOptions& run) {
  return options
      .value(
          "--idle", "START:END|auto|WATTS", into(run.idle),
          "Also state the energy above idle; idle power is read from a stretch of the recording, from a plateau beside the load (auto), or given for each GPU, as in 85 or 85+-3; needs schema 2; see 'help uncertainty'")
      .check(idle_fault)
      .offer({"auto"});
}

Option& add_idle_of_many(Options& options, RunOptions& run) {
  Option& idle = add_idle_option(options, run);
  idle.value_name = "auto|WATTS";
  idle.help =
      "Also state the energy above idle; idle power is read from a plateau beside the load (auto), or given for each GPU, as in 85 or 85+-3; see 'help uncertainty'";
  return idle;
}

void add_uncertainty_options(Options& options, RunOptions& run) {
  UncertaintyOptions& wanted = run.uncertainty;
  options.flag(
      "--uncertainty", wanted.is_wanted,
      "Put an interval on the energy: adds 'uncertainty' to the audit record; needs schema 2; see 'help uncertainty'");
  options
      .value(
          "--gpu-model", "NAME", into(wanted.gpu),
          "Model of the GPUs, such as H100 or MI300X, where no file names it; for intervals and --phases")
      .formerly("--gpu")
      .check(model_of_gpus());
  options
      .value(
          "--sensor-accuracy", "R", into(wanted.sensor_accuracy),
          "Relative standard uncertainty of the gain of calibrated sensors, such as 0.01 (default: 0.022 for the boards of one model together and 0.029 for each)")
      .check(number_between(0, 1))
      .needs("--uncertainty");
  options
      .value(
          "--clock-uncertainty", "SECONDS", into(wanted.clock_uncertainty_s),
          "Standard uncertainty between the clocks of recorder and load generator (default: 0.01; for several hosts 0.05, as under NTP)")
      .check(number_between(0, 3600))
      .needs("--uncertainty");
}

void add_measuring_options(Options& options, RunSpec& measuring) {
  measuring.shows_interval = true;
  add_calibration_of_measured(options, measuring);
  add_gpus(options, measuring).help =
      "GPUs of runs that are measured here, since nothing is published of them (default: all)";
  add_window(
      options, measuring,
      "Window of runs that are measured here; wrapped: always the whole command that the recorder ran (default: the best that is known)");
  const auto take_zone = [&measuring](const std::string& text) {
    measuring.zone = text.empty() ? std::nullopt : std::optional(Zone::parse(text));
    return true;
  };
  options
      .value(
          "--timezone", "ZONE", take_zone,
          "Time zone of timestamps without an offset in recordings of runs that are measured here (default: as for 'measure')")
      .offer({"local", "UTC"})
      .late();
  add_result_timezone(options, measuring);
}

void show_interval(Options& options, RunOptions& run) {
  run.shows_interval = true;
  options
      .flag(
          "--no-uncertainty",
          [&run](const std::string&) {
            run.shows_interval = false;
            return true;
          },
          "Leave out the interval of the energy, which is printed otherwise")
      .excludes("--uncertainty");
  for (const char* const name : {"--sensor-accuracy", "--clock-uncertainty"}) {
    std::erase(options.at(name).needed, "--uncertainty");
    options.at(name).excludes("--no-uncertainty");
  }
}

void tie_gpu_to_uncertainty(Options& options) {
  options.at("--gpu-model").needs("--uncertainty").help =
      "Model of the GPUs, such as H100 or MI300X, where no file names it";
}

void add_outcome_options(Options& options, RunOptions& run, const std::string& extended) {
  add_keys(options, run, extended);
  options.flag("--json", run.json, "Print the run as one JSON object, as 'measure' does");
  add_accept(options, run);
  add_require_power(options, run);
  add_compat(options, run);
  add_lock_timeout(options);
  add_dry_run(options, run);
}

Option& add_accept(Options& options, RunOptions& run) {
  const auto take = [&run](const std::string& text) {
    run.accepted = parse_accepted(text);
    return true;
  };
  return options
      .value(
          "--accept", "CODE,CODE,...", take,
          "Publish in spite of these reasons, which 'help reasons' marks as ours; the record and the message name them")
      .late();
}

Option& add_require_power(Options& options, RunOptions& run) {
  run.require_power = required_by_environment();
  Option& option = options.flag(
      "--require-power", run.require_power,
      "End with status 1 when power is not valid (also: REQUIRE_POWER=1, true or yes)");
  option.doubt = doubt_of_environment();
  return option;
}

Option& add_dry_run(Options& options, RunOptions& run) {
  return options.flag("--dry-run", run.dry_run, "Print what would change; write nothing");
}

Option& add_lock_timeout(Options& options) {
  const auto take = [](const std::string& text) {
    set_lock_timeout(python_float(text).value());
    return true;
  };
  return options
      .value(
          "--lock-timeout", "SECONDS", take,
          "Longest wait for an aggregate that another process has locked; then nothing is written, and the reason is aggregate_result_locked (default: 60)")
      .check(number_between(0, 1e9))
      .late();
}

Option& add_expected_num_gpus(Options& options, RunOptions& run, const std::string& help) {
  return options.value("--expected-num-gpus", "N", into(run.expected_num_gpus), help)
      .check(whole_number());
}

Option& accept_auto_count(Option& gpus, RunOptions& run) {
  gpus.value_name = "auto|N";
  gpus.checks = {expecting("auto or a whole number", [](const std::string& text) {
    return text == "auto" || whole_number()(text).empty();
  })};
  gpus.take = [&run, take_number = gpus.take](const std::string& text) {
    run.finds_gpus = text == "auto";
    run.expected_num_gpus.reset();
    return run.finds_gpus || take_number(text);
  };
  return gpus.offer({"auto"});
}

Option& add_gpus(Options& options, RunOptions& run) {
  const auto take = [&run](const std::string& text) {
    run.gpus = parse_gpus(text);
    return true;
  };
  return options
      .value(
          "--gpus", "LIST", take,
          "GPUs of the recording that count, as in 0-3,5 or GPU-5f0c1a2b; rows of others are left out, and --expected-num-gpus counts these (default: all)")
      .late();
}

Option& add_schema_version(Options& options, RunOptions& run, const std::string& otherwise) {
  const std::string help = fmt::format(
      "1: three best-effort keys; 2: seven checked ones and a verdict (default: {})", otherwise);
  return options.value("--schema-version", "1|2", into(run.schema_version), help)
      .one_of({"1", "2"});
}

Option& add_witness(Options& options, RunOptions& run) {
  return options.list(
      "--witness", "FILE", into_paths(run.witnesses),
      "What a sensor beside the GPUs recorded: sacct -P, logs of /sys/cray/pm_counters, of RAPL, of power meters or of ipmitool dcmi; its energy is shown beside that of the GPUs, never summed with it; may be repeated");
}

Option& add_calibration(Options& options, RunOptions& run) {
  return options
      .value(
          "--calibration", "FILE", into_optional_path(run.calibration),
          "A profile of 'calibrate': of a node, its energy is modelled from that of the GPUs, apart from what was measured; of the GPUs alone, it narrows the interval")
      .check(not_empty());
}

void add_calibration_of_measured(Options& options, RunOptions& run) {
  add_calibration(options, run).help =
      "A profile of 'calibrate' for runs that are measured here: of a meter of the GPUs alone, it narrows their intervals; the energy of a node, which is only modelled, is not compared";
}

void add_request_options(Options& options, RunOptions& run, const std::string& otherwise) {
  const auto is_count = std::ranges::find(options.all(), "--request-count", &Option::name);
  const bool takes_count = is_count != options.all().end();
  const std::string help = fmt::format(
      "The result that lists the requests with their times, of any generator that writes them{} (default: {})",
      takes_count ? "; a number is that of --request-count" : "", otherwise);
  Option& requests = options.value("--requests", "FILE", into_path(run.requests.file), help);
  requests.check(not_empty());
  if (takes_count) {  // a number was the count before that had an option
    requests.checks.push_back([check = is_count->checks.front()](const std::string& text) {
      return python_int(text) ? check(text) : std::string();
    });
    requests.take = [&run, take = is_count->take](const std::string& text) {
      return python_int(text) ? take(text) : into_path(run.requests.file)(text);
    };
  }
  options
      .value("--per-request", "FILE", into_path(run.requests.per_request),
             "Write the energy of each request there, one JSON object a line")
      .check(not_empty());
  options.choice(
      "--share", "equal|tokens|phase",
      {{"equal", RequestShare::equal},
       {"tokens", RequestShare::tokens},
       {"phase", RequestShare::phase}},
      run.requests.share,
      "How the power is shared among the requests in flight: equally, by output tokens over lifetime, or by the watts of prefill and decode (default: equal)");
  options.flag("--phases", run.requests.phases,
               "Find the power of prefill and of decode from the readings and the requests' times");
}

Option& add_slo(Options& options, Slo& slo) {
  const auto fault = [](const std::string& text) -> std::string {
    try {
      std::ignore = shares::parse_slo(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  const auto take = [&slo](const std::string& text) {
    slo = shares::parse_slo(text);
    return true;
  };
  return options
      .value(
          "--slo", "LIMITS", take,
          "A service level objective, as in ttft=500ms,tpot=30ms,e2e=10s: which of the listed requests keep all limits, and the joules of these; p90:ttft=500ms holds if 90 % of the requests keep it; see 'help good-work'")
      .check(fault);
}

void add_quality_options(Options& options, QualityOptions& quality) {
  options
      .value(
          "--quality", "FILE", into_path(quality.file),
          "What an evaluation of the same model wrote: how many answers are correct, and the joules of each; results of lm-evaluation-harness, a report of evalscope, MLPerf's accuracy.txt, or lines of JSON with \"correct\"; see 'help good-work'")
      .check(not_empty());
  const auto share = [](const std::string& text) {
    const auto number = python_float(text);
    return number && *number >= 0 && *number <= 1;
  };
  options
      .value(
          "--accuracy", "SHARE",
          [&quality](const std::string& text) {
            quality.accuracy = python_float(text);
            return true;
          },
          "Instead of --quality, the share of the answers that are correct, as in 0.731")
      .check(expecting("a share from 0 to 1 such as 0.731", share))
      .excludes("--quality")
      .needs("--questions");
  options.value("--questions", "N", into(quality.questions), "How many answers --accuracy is of")
      .check(whole_number_between(1, 1000000000))
      .needs("--accuracy");
}

void settle_request_options(const Options& options, const RunOptions& run) {
  if (!options.is_given("--share") || run.requests.is_asked()) return;
  throw Error(
      "--share: shares the power among requests, and none are asked for: add --per-request FILE, or --requests with the file that lists them");
}

Option& add_max_sample_gap(Options& options, RunOptions& run) {
  const auto take = [&run](const std::string& text) {
    run.max_sample_gap_s = python_float(text).value_or(run.max_sample_gap_s);
    return true;
  };
  return options
      .value(
          "--max-sample-gap", "SECONDS", take,
          "Longest allowed gap between two samples of a GPU; rows this close to the window are used too (default: 3)")
      .check(seconds());
}

Option& add_clock_offset(Options& options, RunOptions& run) {
  const auto is_number = [](const std::string& text) {
    const auto seconds = python_float(text);
    return seconds && std::isfinite(*seconds);
  };
  const auto take = [&run](const std::string& text) {
    run.clock_offset_s = python_float(text).value_or(0);
    return true;
  };
  return options
      .value(
          "--clock-offset", "SECONDS", take,
          "Seconds to add to the recording's timestamps if its clock, or the client's, is known to be wrong (default: 0)")
      .check(expecting("a number of seconds, such as -30", is_number));
}

Option& add_select(Options& options, RunOptions& run) {
  return options
      .value(
          "--select", "WHICH", into(run.select),
          "Which benchmark of a result with several: a number from 1, last, or KEY=VALUE such as max_concurrency=8")
      .check(expecting("a number, 'last' or KEY=VALUE", [](const std::string& text) {
        return text != "all" && is_selection(text);
      }));
}

void add_load_choice(Options& options, RunOptions& run) {
  add_select(options, run);
  add_window(
      options, run,
      "Accept a window that the result does not state: placed by the power, or the whole command that the recorder ran (default: exact)");
  add_result_timezone(options, run);
}

Option& add_result_timezone(Options& options, RunOptions& run) {
  const auto take = [&run](const std::string& text) {
    run.result_zone = text.empty() ? std::nullopt : std::optional(Zone::parse(text));
    return true;
  };
  return options
      .value(
          "--result-timezone", "ZONE", take,
          "Time zone of times that the result states without an offset, such as vLLM's date: local, UTC, +HH:MM, -HH:MM or Area/City (default: the recording's, where the power agrees)")
      .offer({"local", "UTC"})
      .late();
}

void refuse_options(const Options& options, std::span<const char* const> names,
                    const std::string& why) {
  for (const char* const name : names) {
    if (options.is_given(name)) throw Error(fmt::format("{}: {}", name, why));
  }
}

std::span<const char* const> options_of_loads() {
  static constexpr const char* kNames[] = {"--select", "--window", "--output-tokens",
                                           "--input-tokens", "--request-count"};
  return kNames;
}

std::span<const char* const> options_of_recordings() {
  static constexpr const char* kNames[] = {"--columns",
                                           "--timestamp-column",
                                           "--power-column",
                                           "--device-column",
                                           "--power-unit",
                                           "--timezone",
                                           "--witness",
                                           "--calibration",
                                           "--max-sample-gap",
                                           "--clock-offset",
                                           "--gpus",
                                           "--select",
                                           "--window",
                                           "--start",
                                           "--end",
                                           "--duration",
                                           "--requests",
                                           "--request-count",
                                           "--input-tokens",
                                           "--output-tokens",
                                           "--per-request",
                                           "--share",
                                           "--phases",
                                           "--idle"};
  return kNames;
}

Option& add_window(Options& options, RunOptions& run, const std::string& help) {
  using enum RunOptions::Accepted;
  return options.choice("--window", "exact|estimated|wrapped",
                        {{"exact", exact}, {"estimated", estimated}, {"wrapped", wrapped}},
                        run.accepted_window, help);
}

void add_access_options(Options& options, StoreAccess& access) {
  options.flag(
      "--follow-links", access.follow_links,
      "Also read what links, and names in audit records, lead to outside of the store; see 'help stores'");
  if (!has_option(options, "--artifacts")) {
    options
        .value("--artifacts", "FOLDER", into_path(access.artifacts),
               "Folder outside of the store to which links and names in audit records may lead")
        .check(not_empty());
  }
  add_max_unpacked(options);
}

void add_no_sandbox(Options& options) {
  const auto take_nothing = [](const std::string&) { return true; };
  options.flag(
      "--no-sandbox", take_nothing,
      "Do not confine the command to the files that its options name, without network and programs; see 'help security'");
}

void add_max_unpacked(Options& options) {
  if (has_option(options, "--max-unpacked")) return;  // of a store
  const auto take_gib = [](const std::string& text) {
    set_most_unpacked_bytes(static_cast<std::uint64_t>(python_int(text).value_or(1)) << 30);
    return true;
  };
  options
      .value(
          "--max-unpacked", "GIB", take_gib,
          "GiB that a compressed file, or an archive with the archives in it, may expand to (default: 64)")
      .check(whole_number_between(1, 1 << 20));
}

void add_facility_options(Options& options, FacilityOptions& facility) {
  const auto is_pue = [](const std::string& text) {
    const auto factor = python_float(text);
    return factor && std::isfinite(*factor) && *factor >= 1;
  };
  const auto take_pue = [&facility](const std::string& text) {
    facility.pue = python_float(text);
    return true;
  };
  options
      .value(
          "--pue", "FACTOR", take_pue,
          "Energy of the facility over that of its computers: power, energy, cost and carbon are also stated times this factor; see 'help cost' (default: none, they are of what was measured)")
      .check(
          expecting("a factor from 1, the facility's energy over that of its computers", is_pue));
  add_rate_options(options, facility);
}

void add_rate_options(Options& options, FacilityOptions& facility) {
  const auto is_rate = [](double least) {
    return [least](const std::string& text) {
      const auto number = python_float(text);
      return !text.empty() && (!number || (std::isfinite(*number) && *number >= least));
    };
  };
  options
      .value(
          "--carbon", "G|FILE", into(facility.carbon),
          "Grams of CO2e per kWh, or a file with them for each hour: JSON of Electricity Maps, or a CSV time,value; also states the carbon")
      .check(expecting("grams of CO2e per kWh from 0, or a file", is_rate(0)));
  options
      .value(
          "--price", "PRICE|FILE", into(facility.price),
          "Price of a kWh, or of a MWh as in 85/MWh, or a CSV time,value with it for each hour; also states the cost")
      .check(expecting("a price per kWh, or a file",
                       is_rate(-std::numeric_limits<double>::infinity())));
  options
      .value("--currency", "TEXT", into(facility.currency),
             "What the price is in, such as EUR (default: not named)")
      .check(not_empty())
      .needs("--price");
}

Option& add_tdp(Options& options, Take take, const std::string& help) {
  const auto is_limit = [](const std::string& text) {
    const auto watts = python_float(text);
    return text == "auto" || (watts && *watts > 0 && *watts <= 1e5);
  };
  return options.value("--tdp", "auto|WATTS", std::move(take), help)
      .check(expecting("'auto' or a number of watts above 0", is_limit))
      .offer({"auto"});
}

void refuse_facility_options(const FacilityOptions& facility, const std::string& what) {
  if (!facility.is_asked()) return;
  throw Error(fmt::format("--pue, --carbon and --price: {} has no form for them", what));
}

Option& add_compat(Options& options, RunOptions& run) {
  const auto take = [&run](const std::string& text) {
    run.contract = contract_named(text);
    return true;
  };
  return options
      .value(
          "--compat", "august|october", take,
          "Version of the original whose rules judge; august gives the verdicts of archives from before (default: october)")
      .one_of({"august", "october"});
}

Option& add_bench_result(Options& options, RunSpec& files) {
  return options
      .value("--bench-result", "FILE", into_path(files.bench_result),
             "Raw benchmark result: the window and the token counts")
      .required();
}

Option& add_agg_result(Options& options, std::string& path) {
  return options
      .value("--agg-result", "FILE", into_path(path), "Aggregate result, patched in place")
      .required();
}

Option& add_validation_result(Options& options, RunSpec& files, const std::string& otherwise) {
  return options.value("--validation-result", "FILE", into_optional_path(files.validation_result),
                       fmt::format("Audit record (default: {})", otherwise));
}

void read_package_environment(PackageOptions& package) {
  package.logs_root = normal_path(from_environment("POWER_RESULT_ROOT", "LOGS"));
  package.expected_producer_sha = from_environment("POWER_PRODUCER_SHA", "");
}

std::optional<std::string> expected_cpu_source_in_environment(Contract contract) {
  std::string source = from_environment("POWER_EXPECTED_CPU_SOURCE", "");
  if (!rules_of(contract).reads_environment || source.empty()) return std::nullopt;
  return source;
}

void add_package_options(Options& options, RunSpec& package, const std::string& root) {
  read_package_environment(package);
  options
      .value("--logs-root", "FOLDER", into_path(package.logs_root),
             root + " (default: $POWER_RESULT_ROOT, else LOGS)")
      .check(not_empty());
  add_expected_producer_sha(options, package);
  add_salvage(options, package);
  options.choice(
      "--gap-policy", "evidence|consumer", {{"evidence", false}, {"consumer", true}},
      package.consumer_gaps,
      "Which gaps between samples a package may have; evidence: those of the rule that gives what its recorder stored; consumer: none above 3 s, as dashboards judge (default: evidence)");
  options.value(
      "--expected-cpu-source", "SOURCE", into(package.expected_cpu_source),
      "Source that CPU power of the package must come from, such as acpi; without this option, CPU power may be missing");
}

Option& add_expected_producer_sha(Options& options, PackageOptions& package) {
  return options.value("--expected-producer-sha", "SHA", into(package.expected_producer_sha),
                       "Commit of the package's recorder to trust (default: $POWER_PRODUCER_SHA)");
}

Option& add_salvage(Options& options, RunOptions& run) {
  return options.flag(
      "--salvage", run.salvage,
      "Bound the energy of a run that is not valid for gaps or single cells without a reading alone; in a package, do not let faults in other windows, or in rows far from this window, invalidate this window");
}

// ---- Reads instants and durations from the command line.

namespace {

// A time without an offset, too: settle_given_load() knows its zone.
std::optional<double> any_instant(std::string_view text) {
  const Zone utc = Zone::parse("UTC");
  return instant_of(text, &utc);
}

Take into_instant(std::optional<double>& instant) {
  return [&instant](const std::string& text) {
    instant = any_instant(text);
    return instant.has_value();
  };
}

std::optional<Zone> zone_given(const Options& options) {
  const std::string text = options.text("--timezone");
  const bool is_named = !text.empty() && text != "auto" && text != "evidence";
  return is_named ? std::optional(Zone::parse(text)) : std::nullopt;
}

void settle_instant(const Options& options, const char* name, const std::optional<Zone>& zone,
                    std::optional<double>& instant) {
  const std::string text = options.text(name);
  if (!instant || instant_of(text)) return;
  if (!zone) {
    throw Error(
        fmt::format("{}: '{}' has no offset: append Z or +HH:MM, or name the zone with --timezone",
                    name, printable(text)));
  }
  instant = instant_of(text, &*zone);
  if (!instant) {
    throw Error(fmt::format("{}: '{}' is no time that the zone {} has", name, printable(text),
                            zone->name()));
  }
}

// An instant, or "+60s" after the start.
Take into_end(GivenLoad& given) {
  return [&given](const std::string& text) {
    if (!text.starts_with('+')) return into_instant(given.end_unix_s)(text);
    given.duration_s = duration_in(std::string_view(text).substr(1));
    return given.duration_s.has_value();
  };
}

Take into_count(std::optional<std::int64_t>& count) {
  return [&count](const std::string& text) {
    count = python_int(text);
    return count && *count > 0;
  };
}

Check good(const std::string& what,
           const std::function<std::optional<double>(std::string_view)>& read) {
  return expecting(what, [read](const std::string& text) { return read(text).has_value(); });
}

std::optional<double> end_of(std::string_view text) {
  return text.starts_with('+') ? duration_in(text.substr(1)) : any_instant(text);
}

}  // namespace

std::optional<double> duration_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
  double unit_s = 1;
  const std::size_t digits = text.find_last_of("0123456789.") + 1;
  const std::string_view unit = text.substr(digits);
  if (!unit.empty()) {
    unit_s = 0;
    for (const auto& [name, value] : kUnits) {
      if (unit == name) unit_s = value;
    }
  }
  const auto number = python_float(text.substr(0, digits));
  const double seconds = number.value_or(0) * unit_s;
  return std::isfinite(seconds) && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

std::optional<double> share_of_percent(std::string text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.pop_back();
  while (is_percent && text.ends_with(' ')) text.pop_back();
  const std::optional<double> number = nearest_double(text);
  if (!number || !(*number >= 0 && *number <= 100)) return std::nullopt;
  if (!is_percent && *number != 0) return std::nullopt;
  return *number / 100;
}

Option& add_percent(Options& options, const std::string& name, ShareBounds bounds,
                    const std::function<void(double)>& take, const std::string& help) {
  const auto share_in = [bounds](const std::string& text) {
    const auto share = share_of_percent(text);
    return share && *share > bounds.above && *share < bounds.below ? share : std::nullopt;
  };
  return options
      .value(
          name, "PERCENT",
          [share_in, take](const std::string& text) {
            take(share_in(text).value_or(0));
            return true;
          },
          help)
      .check(expecting("a percentage " + bounds.text,
                       [share_in](const std::string& text) { return share_in(text).has_value(); }));
}

Option& add_alpha(Options& options, double& alpha) {
  return add_percent(
      options, "--alpha", {0, 0.5, "above 0% and below 50% such as 5%"},
      [&alpha](double share) { alpha = share; },
      "How often an interval may miss the change (default: 5%)");
}

void settle_given_load(const Options& options, GivenLoad& given) {
  const std::optional<Zone> zone = zone_given(options);
  settle_instant(options, "--start", zone, given.start_unix_s);
  settle_instant(options, "--end", zone, given.end_unix_s);
  const bool ends_after = options.text("--end").starts_with('+');
  if (ends_after && options.is_given("--duration")) {
    throw Error("--end and --duration: both say how long the load took; give one of them");
  }
  if (given.start_unix_s && given.end_unix_s && given.duration_s) {
    throw Error("--start, --end and --duration: two of them are enough; leave one out");
  }
  if (given.duration_s && !given.has_window()) {
    throw Error(fmt::format("{}: expected --start beside it{}", ends_after ? "--end" : "--duration",
                            ends_after ? "" : ", or --end"));
  }
}

void add_given_load(Options& options, GivenLoad& given) {
  constexpr const char* kInstant = "a time such as 2026-09-08T07:20:30Z, or seconds since 1970";
  options
      .value(
          "--start", "TIME", into_instant(given.start_unix_s),
          "When the load began: ISO 8601, what 'date' or nvidia-smi prints, or seconds since 1970; a time without an offset needs --timezone (default: what the result says)")
      .check(good(kInstant, any_instant));
  options
      .value("--end", "TIME", into_end(given),
             "When it ended: a time, or +60s after the start (default: what the result says)")
      .check(good(fmt::format("{}, or +60s", kInstant), end_of));
  const auto into_duration = [&given](const std::string& text) {
    given.duration_s = duration_in(text);
    return given.duration_s.has_value();
  };
  options.value("--duration", "TIME", into_duration, "How long it took: 60, 60s, 1.5m, 2h")
      .check(good("a time such as 60s", duration_in));
  const auto count = [&](const char* name, std::optional<std::int64_t>& into,
                         const char* help) -> Option& {
    return options.value(name, "N", into_count(into), help)
        .check(expecting("a whole number above 0", [](const std::string& text) {
          const auto number = python_int(text);
          return number && *number > 0;
        }));
  };
  count("--output-tokens", given.output_tokens, "Output tokens, in place of the result's");
  count("--input-tokens", given.input_tokens, "Input tokens, in place of the result's");
  count("--request-count", given.requests, "Successful requests, in place of the result's")
      .formerly("--requests");
}

}  // namespace aggregate_power
