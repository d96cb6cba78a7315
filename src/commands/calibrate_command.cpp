// aggregate-power calibrate: what a meter beside the GPUs adds to their watts.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/text/characters.h"
#include "base/text/timestamp.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/calibrate/calibrate.h"

namespace aggregate_power {
namespace {

struct CalibrateCall : CalibrateRequest {
  std::vector<std::string> window_texts;
};

int print_calibration(const CalibrateRequest& request) {
  try {
    const CalibrateOutcome outcome = run_calibrate(request);
    request.json ? print(stdout, outcome.out) : print_result(outcome.out);
    print_after_report(outcome.err);
    return outcome.exit_status;
  } catch (const FileError& error) {
    refuse_missing({request.telemetry, request.witnesses}, error);
  }
}

Window window_of(const std::string& text, const std::optional<Zone>& zone) {
  const std::size_t comma = text.find(',');
  const auto instant = [&](std::string_view part) {
    return instant_of(strip(part), zone ? &*zone : nullptr);
  };
  const auto from = instant(std::string_view(text).substr(0, comma));
  const auto to =
      comma == text.npos ? std::nullopt : instant(std::string_view(text).substr(comma + 1));
  if (!from || !to || !(*from < *to)) {
    throw Error(fmt::format(
        "--window: expected two times with a comma between them, the earlier one first, each with an offset or with --timezone, got '{}'",
        printable(text)));
  }
  return {*from, *to};
}

}  // namespace

Command calibrate_command() {
  const auto call = std::make_shared<CalibrateCall>();
  Command command;
  command.called_here = {{"--csv", "RECORDING without an option's name"}};
  Options& options = command.options;
  options
      .positionals(
          "RECORDING", into_paths(call->telemetry),
          "Recordings of all GPUs that the meter measures; those of one time are one, of GPUs in files of their own")
      .required();
  add_witness(options, *call).help =
      "What the meter recorded, in any form of 'help windows' (default: a column such as node_power_w of RECORDING); may be repeated, for logs one after the other or of several supplies";
  options.list(
      "--meter", "NAME", into(call->meters),
      "Which sensor of the witness is the meter, where several can be: NAME, or FILE:NAME with the file's name without its end; may be repeated, for supplies that are added up");
  options
      .value(
          "--scope", "node|gpu", into(call->scope),
          "What the meter measures: the node with its GPUs, or the GPUs alone (default: what its form says)")
      .one_of({"node", "gpu"});
  options
      .value(
          "--meter-accuracy", "R", into(call->meter_accuracy),
          "Relative standard uncertainty of the meter itself, as its maker or a laboratory states it, such as 0.005")
      .check(number_between(0, 1));
  options.list(
      "--window", "A,B", into(call->window_texts),
      "Compare from time A to time B only; may be repeated (default: wherever both were recorded)");
  options.value("--out", "FILE", into_optional_path(call->out),
                "Write a profile, a JSON file that --calibration of measure and patch uses");
  options.flag("--json", call->json, "Print the profile instead of a report");
  add_gpus(options, *call).help =
      "GPUs of the recording that the meter measures; rows of others are left out (default: all)";
  options
      .value("--gpu-model", "NAME", into(call->uncertainty.gpu),
             "Model of the GPUs, such as H100, where no file names it")
      .formerly("--gpu");
  add_max_sample_gap(options, *call).help =
      "Longest stretch between two samples of a GPU that is compared (default: 3)";
  add_accept(options, *call).help =
      "Calibrate in spite of these reasons, which 'help reasons' marks as ours";
  add_clock_offset(options, *call);
  add_recording_options(options, *call);
  options.at("--timezone").help += "; also of times of the witness without an offset";
  command.examples =
      "aggregate-power calibrate gpu_metrics.csv --witness ipmi.log --timezone UTC --out node.json\n"
      "aggregate-power calibrate gpu_metrics.csv --witness spl.txt --timezone UTC --window 2026-09-08T07:20:00Z,2026-09-08T07:40:00Z\n"
      "aggregate-power calibrate monday.csv tuesday.csv --witness bmc.csv --out node.json\n"
      "aggregate-power calibrate gpu_metrics.csv --witness psu1.csv --witness psu2.csv --meter psu1:power_w --meter psu2:power_w --scope node\n"
      "aggregate-power measure result.json gpu_metrics.csv --calibration node.json";
  command.exit_statuses =
      "0 calibrated; 1 the recordings do not say it, with the reason and what to record instead; 2 a file cannot be opened or used, or wrong options";
  command.settle = [call](const Options&) {
    for (const std::string& text : call->window_texts) {
      call->windows.push_back(window_of(text, call->zone));
    }
  };
  command.run = [call] { return print_calibration(*call); };
  return command;
}

}  // namespace aggregate_power
