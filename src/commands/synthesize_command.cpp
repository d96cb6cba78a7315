// aggregate-power synthesize: generates telemetry of known power, for testing programs that read
// it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/time_zone.h"
#include "commands/options/command.h"
#include "commands/options/terminal.h"
#include "packages/native/node.h"
#include "packages/synthetic/synthetic.h"
#include "recorders/synthetic.h"

namespace aggregate_power {
namespace {

using NamedSchema = std::pair<std::string_view, SyntheticSchema>;
constexpr NamedSchema kSchemas[] = {
    {"nvidia-smi", SyntheticSchema::nvidia_smi},
    {"amd-smi", SyntheticSchema::amd_smi},
    {"generic", SyntheticSchema::generic},
};

enum class PackageKind { none, samples, native };

struct NamedPackage {
  std::string_view name;
  PackageKind kind;
  int samples_version;
};
constexpr NamedPackage kPackages[] = {{"v1", PackageKind::samples, 1},
                                      {"v2", PackageKind::samples, 2},
                                      {"v3", PackageKind::samples, 3},
                                      {"native", PackageKind::native, 0}};

using NamedExporter = std::pair<std::string_view, SyntheticExporter>;
constexpr NamedExporter kExporterNames[] = {{"dcgm", SyntheticExporter::dcgm},
                                            {"amd", SyntheticExporter::amd},
                                            {"custom", SyntheticExporter::custom}};

struct Synthesis {
  SyntheticOptions telemetry;
  PackageKind kind = PackageKind::none;
  SyntheticPackageOptions package;  // without the telemetry
  int benchmark_phase = 0;          // counted from 1; 0: the one with the most watts
  std::string out;
  std::string bench_out;
  std::string agg_out;
  std::int64_t requests = 100;
  std::int64_t input_tokens = 819200;
  std::int64_t output_tokens = 102400;
};

std::optional<double> finite_number(std::string_view text) {
  const auto value = from_text<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Phase> parse_phase(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const auto duration_s = finite_number(std::string_view(text).substr(0, colon));
  const auto watts = finite_number(std::string_view(text).substr(colon + 1));
  if (!duration_s || *duration_s <= 0 || !watts || *watts < 0) return std::nullopt;
  return Phase{*duration_s, *watts};
}

std::optional<Fault> parse_fault_at(const std::string& text) {
  const std::size_t at = text.find('@');
  const auto kind = parse_fault(std::string_view(text).substr(0, at));
  if (!kind) return std::nullopt;
  if (at == std::string::npos) return Fault{*kind, std::nullopt};
  const auto second = finite_number(std::string_view(text).substr(at + 1));
  if (!second) return std::nullopt;
  return Fault{*kind, second};
}

Check phase_check() {
  return expecting("SECONDS:WATTS",
                   [](const std::string& text) { return parse_phase(text).has_value(); });
}

Check fault_check() {
  return [](const std::string& text) {
    return parse_fault_at(text) ? std::string()
                                : fmt::format("expected NAME or NAME@SECOND, got '{}'; names: {}",
                                              text, fmt::join(fault_names(), ", "));
  };
}

// A file written as its content arrives; standard output for "-".
class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path),
        file_(path == "-" ? stdout : ::fdopen(opened_for_writing(path, O_WRONLY | O_TRUNC), "wb")) {
    if (file_ == nullptr) throw FileError(path_, "open for writing", errno);
  }
  ~Output() {
    if (file_ != nullptr && file_ != stdout) std::ignore = std::fclose(file_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
      throw FileError(path_, "write", errno);
    }
  }
  void close() {
    std::FILE* const file = std::exchange(file_, nullptr);
    const int status = file == stdout ? std::fflush(file) : std::fclose(file);
    if (status != 0) throw FileError(path_, "write", errno);
  }

 private:
  std::string path_;
  std::FILE* file_;
};

void write_text(const std::string& path, const std::string& text) {
  Output output(path);
  output.write(text);
  output.close();
}

void check_faults(const SyntheticOptions& telemetry) {
  double duration_s = 0;
  for (const Phase& phase : telemetry.phases) duration_s += phase.duration_s;
  for (const Fault& fault : telemetry.faults) {
    if (fault.at_s.value_or(0) <= duration_s) continue;
    throw Error(fmt::format("--fault: the recording ends before second {}, at {}", *fault.at_s,
                            duration_s));
  }
}

// Options that mean nothing for a package of this kind, and numbers that do not divide.
void check_package_options(const Synthesis& wanted, const Options& options) {
  const auto refuse = [&](const char* name, const char* why) {
    if (options.is_given(name)) throw Error(fmt::format("{}: {}", name, why));
  };
  if (wanted.kind == PackageKind::none) return;
  refuse("--timezone", "the times of a package are UTC");
  if (wanted.kind == PackageKind::native) {
    refuse("--exporter",
           "is for packages with samples; --schema chooses the recorder of the nodes");
    if (wanted.telemetry.schema == SyntheticSchema::generic) {
      throw Error("--schema: the nodes of a native package record with nvidia-smi or amd-smi");
    }
  } else {
    refuse("--schema", "is for recordings and native packages; --exporter chooses the exporter");
    refuse("--fault", "is for recordings and native packages");
  }
  const int nodes = wanted.package.nodes;
  if (wanted.telemetry.gpus % nodes != 0) {
    throw Error(fmt::format("--gpus: expected a multiple of the {} nodes, got {}", nodes,
                            wanted.telemetry.gpus));
  }
  if (wanted.package.prefill_nodes >= nodes) {
    throw Error(fmt::format("--prefill-nodes: expected less than the {} nodes, so that some decode",
                            nodes));
  }
  if (wanted.out == "-") throw Error("--out: expected a folder for the package");
}

void check_length(const SyntheticOptions& telemetry) {
  constexpr double kMostRows = 1e9;
  double duration_s = 0;
  for (const Phase& phase : telemetry.phases) duration_s += phase.duration_s;
  const double rows = duration_s / telemetry.interval_s * telemetry.gpus;
  if (rows <= kMostRows) return;
  throw Error(fmt::format(
      "--phase: {:.3g} rows are too many, expected at most {:.0e}; shorten the phases, or lengthen --interval",
      rows, kMostRows));
}

void check(const Synthesis& wanted) {
  check_length(wanted.telemetry);
  const std::vector<Phase>& phases = wanted.telemetry.phases;
  if (wanted.benchmark_phase > static_cast<int>(phases.size())) {
    throw Error(fmt::format("--benchmark-phase: there are {} phases, got {}", phases.size(),
                            wanted.benchmark_phase));
  }
  const bool clash = (!wanted.bench_out.empty() && wanted.bench_out == wanted.out) ||
                     (!wanted.agg_out.empty() &&
                      (wanted.agg_out == wanted.out || wanted.agg_out == wanted.bench_out));
  if (clash) throw Error("--out, --bench-out and --agg-out: expected three different files");
  if (wanted.telemetry.jitter_s >= wanted.telemetry.interval_s / 2) {
    throw Error(
        "--jitter: expected less than half of --interval, so that samples keep their order");
  }
}

std::size_t benchmark_phase_of(const Synthesis& wanted) {
  if (wanted.benchmark_phase > 0) return static_cast<std::size_t>(wanted.benchmark_phase - 1);
  const std::vector<Phase>& phases = wanted.telemetry.phases;
  const auto most = std::ranges::max_element(phases, {}, &Phase::watts);
  return static_cast<std::size_t>(most - phases.begin());
}

std::string result_text(const Synthesis& wanted, const Window& window) {
  Json result = {{"backend", "synthetic"},
                 {"num_prompts", wanted.requests},
                 {"duration", window.duration_s()},
                 {"benchmark_start_time_unix", window.start_unix_s},
                 {"benchmark_end_time_unix", window.end_unix_s},
                 {"completed", wanted.requests},
                 {"total_input_tokens", wanted.input_tokens},
                 {"total_output_tokens", wanted.output_tokens}};
  if (wanted.kind != PackageKind::none) result["max_concurrency"] = kSyntheticConcurrency;
  return line_text(result, JsonCharacters::utf8);
}

void write_package(const Synthesis& wanted, const SyntheticOptions& telemetry,
                   const std::string& result) {
  SyntheticPackageOptions package = wanted.package;
  package.telemetry = telemetry;
  const bool is_native = wanted.kind == PackageKind::native;
  for (const char* const name : {"power", kNativeFolder}) {
    const std::string folder = path_below(normal_path(wanted.out), name);
    if (disk_tree()->has_folder(folder)) {
      throw Error(fmt::format("--out: {} exists already; name a new folder", printable(folder)));
    }
    for (const std::string& file : {wanted.bench_out, wanted.agg_out}) {
      if (!normal_path(file).starts_with(folder + "/")) continue;
      throw Error(fmt::format(
          "--bench-out and --agg-out: {} is in the package; name another folder", printable(file)));
    }
  }
  const std::vector<SyntheticFile> files =
      is_native ? synthetic_native_package(package) : synthetic_package(package, result);
  for (const SyntheticFile& file : files) {
    constexpr bool kMakeFolders = true;
    PendingFile(join_path(wanted.out, file.path), file.text, kMakeFolders, Sync::later).commit();
  }
}

int run_synthesize(const Synthesis& wanted) {
  check(wanted);
  SyntheticOptions telemetry = wanted.telemetry;
  telemetry.benchmark_phase = benchmark_phase_of(wanted);
  const Window window = benchmark_window(telemetry);
  const std::string result = result_text(wanted, window);
  if (wanted.kind == PackageKind::none) {
    Output output(wanted.out);
    write_synthetic(telemetry, [&](std::string_view bytes) { output.write(bytes); });
    output.close();
  } else {
    write_package(wanted, telemetry, result);
  }
  if (!wanted.bench_out.empty()) write_text(wanted.bench_out, result);
  if (!wanted.agg_out.empty()) {
    const Json aggregate = {
        {"hw", "synthetic"}, {"framework", "synthetic"}, {"tp", telemetry.gpus}};
    write_text(wanted.agg_out, indented_text(aggregate, JsonCharacters::utf8));
  }
  return 0;
}

void add_schema(Options& options, SyntheticOptions& telemetry) {
  std::vector<std::string> names;
  for (const auto& [name, schema] : kSchemas) names.emplace_back(name);
  const auto take = [&telemetry](const std::string& text) {
    telemetry.schema = std::ranges::find(kSchemas, text, &NamedSchema::first)->second;
    return true;
  };
  options
      .value("--schema", "NAME", take,
             fmt::format("The recorder to imitate: {} (default: {})", fmt::join(names, ", "),
                         names.front()))
      .one_of(names);
}

void add_package(Options& options, Synthesis& wanted) {
  const auto take_package = [&wanted](const std::string& text) {
    const auto& found = *std::ranges::find(kPackages, text, &NamedPackage::name);
    wanted.kind = found.kind;
    wanted.package.samples_version = found.samples_version;
    return true;
  };
  std::vector<std::string> names;
  for (const NamedPackage& package : kPackages) names.emplace_back(package.name);
  options
      .value(
          "--package", "NAME", take_package,
          "Write a package of several nodes instead: v1, v2 or v3, a dcgm-power package whose samples have that version, or native")
      .one_of(names);
  const auto take_exporter = [&wanted](const std::string& text) {
    wanted.package.exporter =
        std::ranges::find(kExporterNames, text, &NamedExporter::first)->second;
    return true;
  };
  options
      .value(
          "--exporter", "NAME", take_exporter,
          "The exporter that the package's samples come from: dcgm, amd or custom (default: dcgm)")
      .one_of({"dcgm", "amd", "custom"})
      .needs("--package");
  options
      .value("--nodes", "N", into(wanted.package.nodes),
             "Nodes of the package; each has the same part of the GPUs (default: 2)")
      .check(whole_number_between(1, 10000))
      .needs("--package");
  options
      .value("--prefill-nodes", "N", into(wanted.package.prefill_nodes),
             "How many of the nodes prefill; the others decode (default: 0, all do both)")
      .check(whole_number_between(0, 10000))
      .needs("--package");
}

}  // namespace

Command synthesize_command() {
  const auto wanted = std::make_shared<Synthesis>();
  SyntheticOptions& telemetry = wanted->telemetry;
  Command command;
  Options& options = command.options;
  add_schema(options, telemetry);
  add_package(options, *wanted);
  const auto take_phase = [&telemetry](const std::string& text) {
    telemetry.phases.push_back(*parse_phase(text));
    return true;
  };
  options
      .list("--phase", "SECONDS:WATTS", take_phase,
            "Duration and power per GPU of one phase; repeatable")
      .required()
      .check(phase_check());
  options.value("--gpus", "N", into(telemetry.gpus), "GPUs (default: 8)")
      .check(whole_number_between(1, 100000));
  options
      .value("--interval", "SECONDS", into(telemetry.interval_s),
             "Time between samples (default: 1)")
      .check(number_between(0.0001, 1e6));
  options
      .value("--noise", "WATTS", into(telemetry.noise_w),
             "Random error of each reading, up to WATTS (default: 0)")
      .check(number_between(0.0, 1e9));
  options
      .value("--jitter", "SECONDS", into(telemetry.jitter_s),
             "Random error of each timestamp, up to SECONDS (default: 0)")
      .check(number_between(0.0, 1e9));
  options
      .value("--gpu-offset", "WATTS", into(telemetry.gpu_offset_w),
             "Extra watts per index: GPU i draws i * WATTS more (default: 0)")
      .check(number_between(-1e9, 1e9));
  telemetry.start_unix_s = 1767225600;
  options
      .value("--start", "UNIX", into(telemetry.start_unix_s),
             "Unix time of the first sample (default: 1767225600)")
      .check(number_between(0.0, 2e11));
  const auto take_zone = [&telemetry](const std::string& text) {
    telemetry.zone = Zone::parse(text);
    return true;
  };
  options
      .value(
          "--timezone", "ZONE", take_zone,
          "Time zone of the timestamps: local, UTC, +HH:MM, -HH:MM or Area/City (default: local)")
      .offer({"local", "UTC"})
      .late();
  options.value("--seed", "N", into(telemetry.seed), "Seed of noise and jitter (default: 1)")
      .check(whole_number_between(0, UINT64_MAX));
  const auto take_fault = [&telemetry](const std::string& text) {
    telemetry.faults.push_back(*parse_fault_at(text));
    return true;
  };
  options
      .list(
          "--fault", "NAME[@SECOND]", take_fault,
          fmt::format(
              "A fault, and when it happens (default: in the middle of the benchmark); repeatable: {}",
              fmt::join(fault_names(), ", ")))
      .check(fault_check())
      .offer(fault_names());
  options
      .value(
          "--out", "FILE", into(wanted->out),
          "Telemetry to write; - is standard output. For a package, the folder LOGS to write it to")
      .required();
  options.value("--bench-out", "FILE", into(wanted->bench_out), "Benchmark result to write");
  options.value("--agg-out", "FILE", into(wanted->agg_out), "Aggregate result to write");
  options
      .value("--benchmark-phase", "N", into(wanted->benchmark_phase),
             "The phase that is the benchmark, from 1 (default: the one with the most watts)")
      .check(whole_number_between(1, 1000000));
  options.value("--requests", "N", into(wanted->requests), "Completed requests (default: 100)")
      .check(whole_number_between(1, INT64_MAX));
  options
      .value("--input-tokens", "N", into(wanted->input_tokens),
             "Total input tokens (default: 819200)")
      .check(whole_number_between(1, INT64_MAX));
  options
      .value("--output-tokens", "N", into(wanted->output_tokens),
             "Total output tokens (default: 102400)")
      .check(whole_number_between(1, INT64_MAX));
  command.examples =
      "aggregate-power synthesize --gpus 8 --phase 60:120 --phase 120:720 --phase 30:300 --out gpu_metrics.csv --bench-out run.json --agg-out agg_run.json\n"
      "aggregate-power synthesize --schema amd-smi --phase 60:500 --fault na@30 --out gpu_metrics.csv\n"
      "aggregate-power synthesize --package v3 --exporter amd --nodes 2 --prefill-nodes 1 --phase 60:120 --phase 120:720 --phase 30:300 --out LOGS --bench-out run.json --agg-out agg_run.json";
  command.exit_statuses = "0 written; 2 a file cannot be written, or wrong options";
  command.notes =
      "During the benchmark, the faults gap, na, garbage-time and dropped-gpu make a run of schema 2 not valid; the others do not.";
  command.settle = [&telemetry, wanted](const Options& parsed) {
    check_faults(telemetry);
    check_package_options(*wanted, parsed);
    if (!parsed.is_given("--timezone")) telemetry.zone = Zone::local();
  };
  command.run = [wanted] { return run_synthesize(*wanted); };
  return command;
}

}  // namespace aggregate_power
