// aggregate-power synthesize: generates telemetry of known power, for testing programs that read
// it.
#include <unistd.h>

#include <algorithm>
#include <charconv>
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
#include <nlohmann/json.hpp>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/text/zone.h"
#include "commands/command.h"
#include "commands/output.h"
#include "recorders/synthetic.h"

namespace aggregate_power {
namespace {

using NamedSchema = std::pair<std::string_view, SyntheticSchema>;
constexpr NamedSchema kSchemas[] = {
    {"nvidia-smi", SyntheticSchema::nvidia_smi},
    {"amd-smi", SyntheticSchema::amd_smi},
    {"generic", SyntheticSchema::generic},
};

struct Synthesis {
  SyntheticOptions telemetry;
  int benchmark_phase = 0;  // counted from 1; 0: the one with the most watts
  std::string out;
  std::string bench_out;
  std::string agg_out;
  std::int64_t requests = 100;
  std::int64_t input_tokens = 819200;
  std::int64_t output_tokens = 102400;
};

std::optional<double> finite_number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !std::isfinite(value)) return std::nullopt;
  return value;
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
      : path_(path), file_(path == "-" ? stdout : std::fopen(path.c_str(), "wb")) {
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

void check(const Synthesis& wanted) {
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

int run_synthesize(const Synthesis& wanted) {
  check(wanted);
  SyntheticOptions telemetry = wanted.telemetry;
  telemetry.benchmark_phase = benchmark_phase_of(wanted);
  Output output(wanted.out);
  write_synthetic(telemetry, [&](std::string_view bytes) { output.write(bytes); });
  output.close();

  const Window window = benchmark_window(telemetry);
  if (!wanted.bench_out.empty()) {
    const nlohmann::ordered_json result = {{"backend", "synthetic"},
                                           {"num_prompts", wanted.requests},
                                           {"duration", window.duration_s()},
                                           {"benchmark_start_time_unix", window.start_unix_s},
                                           {"benchmark_end_time_unix", window.end_unix_s},
                                           {"completed", wanted.requests},
                                           {"total_input_tokens", wanted.input_tokens},
                                           {"total_output_tokens", wanted.output_tokens}};
    write_text(wanted.bench_out, result.dump());
  }
  if (!wanted.agg_out.empty()) {
    const nlohmann::ordered_json result = {
        {"hw", "synthetic"}, {"framework", "synthetic"}, {"tp", telemetry.gpus}};
    write_text(wanted.agg_out, result.dump(2));
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

}  // namespace

Command synthesize_command() {
  const auto wanted = std::make_shared<Synthesis>();
  SyntheticOptions& telemetry = wanted->telemetry;
  Command command;
  Options& options = command.options;
  add_schema(options, telemetry);
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
  options.value("--out", "FILE", into(wanted->out), "Telemetry to write; - is standard output")
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
      "aggregate-power synthesize --schema amd-smi --phase 60:500 --fault na@30 --out gpu_metrics.csv";
  command.exit_statuses = "0 written; 2 a file cannot be written, or wrong options";
  command.notes =
      "During the benchmark, the faults gap, na, garbage-time and dropped-gpu make a run of schema 2 not valid; the others do not.";
  command.settle = [&telemetry](const Options& parsed) {
    check_faults(telemetry);
    if (!parsed.is_given("--timezone")) telemetry.zone = Zone::local();
  };
  command.run = [wanted] { return run_synthesize(*wanted); };
  return command;
}

}  // namespace aggregate_power
