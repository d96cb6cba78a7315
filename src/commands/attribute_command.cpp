// aggregate-power attribute: what the energy of a recording was used for.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/decompress.h"
#include "base/files/file.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/attribute/attribute.h"
#include "runs/attribute/report.h"
#include "runs/measure/named_files.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kTopOfTable = 10;

struct AttributeCall : AttributeRequest {
  std::uint64_t top = 0;  // 0: all, or as many as a table has
  std::string format = "table";
  std::vector<std::string> files;  // recordings and traces
  std::string other;               // normal path; empty: none

  std::optional<std::size_t> most() const {
    if (top > 0) return top;
    return format == "table" ? std::optional(kTopOfTable) : std::nullopt;
  }
};

std::string compared(const AttributeCall& call, const AttributionReport& report) {
  const auto source = decompressed(open_source(call.other), call.other);
  const auto changes =
      attribution_changes(report, read_whole(*source, call.other, kCommandOutput), call.other);
  if (call.format == "json") return changes_json(report, changes, call.other, call.most());
  if (call.format == "csv") return changes_csv(changes, call.most());
  return changes_table(changes, call.most(), text_width());
}

std::string formatted(const AttributeCall& call, const AttributionReport& report) {
  if (!call.other.empty()) return compared(call, report);
  if (call.format == "json") return attribution_json(report, call.most());
  if (call.format == "csv") return attribution_csv(report, call.most());
  if (call.format == "gpupp") return attribution_gpupp(report, call.most());
  return attribution_table(report, call.most(), text_width());
}

int run_attribute(const AttributeCall& call) {
  try {
    const AttributionReport report = attribute_run(call);
    const std::string text = formatted(call, report);
    call.format == "table" ? print_result(text) : print(stdout, text);
    for (const std::string& warning : report.warnings) print_note("warning: " + warning);
    return 0;
  } catch (const FileError& error) {
    print_message(fmt::format("error: {}", error.what()));
    return 2;
  } catch (const std::exception& error) {
    print_message(fmt::format("error: {}", error.what()));
    return 1;
  }
}

void add_form_options(Options& options, AttributeCall& call) {
  constexpr std::uint64_t kMostRows = 1'000'000'000;
  options
      .value(
          "--by", "kernel|layer|annotation|phase", into(call.by),
          "What a row is: the name of a kernel or copy, of a layer, of an annotation, or of an outermost annotation (default: kernel; layer for a CSV)")
      .one_of({"kernel", "layer", "annotation", "phase"});
  options
      .value("--top", "N", into(call.top),
             "Show N rows and the sum of the others (default: 10 in a table, else all)")
      .check(whole_number_between(1, kMostRows));
  options.choice("--sort", "energy|time|power",
                 {{"energy", AttributionOrder::energy},
                  {"time", AttributionOrder::time},
                  {"power", AttributionOrder::power}},
                 call.order,
                 "What comes first: the most energy, time or mean power (default: energy)");
  options.choice(
      "--span", "events|recording", {{"events", false}, {"recording", true}}, call.whole_recording,
      "What is shared out: the energy from the first to the last event, or all that was recorded (default: events)");
  options
      .value(
          "--format", "table|csv|json|gpupp", into(call.format),
          "gpupp: GPUPP's CSV of each call; with --top, its CSV of the top rows (default: table)")
      .one_of({"table", "csv", "json", "gpupp"});
  options
      .value("--warm-up", "N", into(call.warm_up),
             "How many iterations come before the measured ones; the rows have both (default: 0)")
      .check(whole_number_between(0, kMostRows));
  options.value(
      "--with", "FILE", into_optional_path(call.other),
      "Compare with another attribution, as --format json writes it: the largest changes of energy first");
}

// Each is a recording, or else a trace; an option has taken what follows it, too.
void take_files(AttributeCall& call) {
  if (call.telemetry.empty() || call.traces.empty()) {
    for (std::vector<std::string>* const taken : {&call.telemetry, &call.traces}) {
      std::ranges::move(std::exchange(*taken, {}), std::back_inserter(call.files));
    }
  }
  for (std::string& file : std::exchange(call.files, {})) {
    (runs::is_recording(file) ? call.telemetry : call.traces).push_back(std::move(file));
  }
  constexpr const char* kHint = "see 'aggregate-power attribute --help'";
  if (call.telemetry.empty()) throw Error(fmt::format("--telemetry is required; {}", kHint));
  if (call.traces.empty()) throw Error(fmt::format("--trace is required; {}", kHint));
}

}  // namespace

Command attribute_command() {
  const auto call = std::make_shared<AttributeCall>();
  Command command;
  command.called_here = {{"--csv", "--telemetry"}};
  Options& options = command.options;
  options.list("--telemetry", "FILE", into_paths(call->telemetry),
               "The recording of the power; may be repeated, for several hosts");
  options.list(
      "--trace", "FILE", into_paths(call->traces),
      "A trace of torch.profiler (JSON), also compressed, or a CSV of layers as GPUPP writes; may be repeated, for several ranks");
  options.positionals("FILE", into_paths(call->files), "Recordings and traces, in any order");
  add_form_options(options, *call);
  add_gpus(options, *call).help =
      "GPUs of the recording that the devices of the traces are, in their order, as in 0-3,5 or GPU-5f0c1a2b (default: those of the same numbers); for a CSV of layers, those that ran each layer (default: the only one recorded)";
  add_max_sample_gap(options, *call).help =
      "Longest allowed gap between two samples of a GPU (default: 3)";
  add_facility_options(options, call->facility);
  add_uncertainty_options(options, *call);
  tie_gpu_to_uncertainty(options);
  add_calibration(options, *call).help =
      "A profile of 'calibrate' for a meter of the GPUs alone: it narrows the intervals of --uncertainty";
  options.at("--uncertainty").help = "Put an interval on each energy; see 'help uncertainty'";
  add_accept(options, *call).help =
      "Measure in spite of these reasons, which 'help reasons' marks as ours";
  add_clock_offset(options, *call);
  add_recording_options(options, *call);
  command.examples =
      "aggregate-power attribute gpu_metrics.csv trace.json.gz\n"
      "aggregate-power attribute --telemetry gpu_metrics.csv --trace trace.json --by phase --format json\n"
      "aggregate-power attribute --telemetry gpu_metrics.csv --trace layers.csv --format gpupp\n"
      "aggregate-power attribute --telemetry gpu_metrics.csv --trace trace.json --with before.json";
  command.exit_statuses =
      "0 done; 1 the trace or the recording cannot be used, or they do not fit; 2 a file cannot be opened, or wrong options";
  command.settle = [call](const Options&) {
    take_files(*call);
    call->lists_calls = call->format == "gpupp";
    if (call->lists_calls) refuse_facility_options(call->facility, "--format gpupp");
    if (!call->other.empty()) refuse_facility_options(call->facility, "--with");
    if (call->uncertainty.is_wanted && (call->lists_calls || !call->other.empty())) {
      throw Error(fmt::format("--uncertainty: {} has no form for it",
                              call->lists_calls ? "--format gpupp" : "--with"));
    }
    if (call->lists_calls && !call->other.empty()) {
      throw Error("attribute: --format gpupp has no form for --with");
    }
  };
  command.run = [call] { return run_attribute(*call); };
  return command;
}

}  // namespace aggregate_power
