// One row for each such option.
#include "runs/run_sources.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate_power/power_unit.h"
#include "base/text/json.h"
#include "base/text/python_number.h"

namespace aggregate_power {
namespace {

using Accepted = RunOptions::Accepted;

// Nullopt: the option has its default.
using Text = std::optional<std::string>;

struct UnrecordedOption {
  const char* name;
  Text (*text)(const RunOptions& run);
  void (*set)(const std::string& text, RunOptions& run);
};

Text not_empty_text(const std::string& text) { return text.empty() ? Text() : Text(text); }

template <std::optional<double> GivenLoad::*kMember>
constexpr UnrecordedOption given_seconds(const char* name) {
  return {
      name,
      [](const RunOptions& run) {
        const auto& value = run.given.*kMember;
        return value ? Text(json_number(*value)) : Text();
      },
      [](const std::string& text, RunOptions& run) { run.given.*kMember = python_float(text); }};
}

template <std::optional<std::int64_t> GivenLoad::*kMember>
constexpr UnrecordedOption given_count(const char* name) {
  return {name,
          [](const RunOptions& run) {
            const auto& value = run.given.*kMember;
            return value ? Text(std::to_string(*value)) : Text();
          },
          [](const std::string& text, RunOptions& run) { run.given.*kMember = python_int(text); }};
}

constexpr UnrecordedOption kUnrecorded[] = {
    {"max_sample_gap_s",
     [](const RunOptions& run) {
       return run.max_sample_gap_s == kDefaultMaxSampleGapS
                  ? Text()
                  : Text(fmt::format("{}", run.max_sample_gap_s));
     },
     [](const std::string& text, RunOptions& run) {
       if (const auto gap_s = python_float(text)) run.max_sample_gap_s = *gap_s;
     }},
    {"timestamp_column",
     [](const RunOptions& run) { return not_empty_text(run.columns.timestamp); },
     [](const std::string& text, RunOptions& run) { run.columns.timestamp = text; }},
    {"power_column", [](const RunOptions& run) { return not_empty_text(run.columns.power); },
     [](const std::string& text, RunOptions& run) { run.columns.power = text; }},
    {"device_column", [](const RunOptions& run) { return not_empty_text(run.columns.device); },
     [](const std::string& text, RunOptions& run) { run.columns.device = text; }},
    {"power_unit",
     [](const RunOptions& run) {
       const auto& unit = run.columns.power_unit;
       return unit ? Text(unit_symbol(*unit)) : Text();
     },
     [](const std::string& text, RunOptions& run) {
       using enum PowerUnit::Size;
       for (const PowerUnit::Size unit : {milliwatt, watt, kilowatt}) {
         if (unit_symbol(unit) == text) run.columns.power_unit = unit;
       }
     }},
    {"select", [](const RunOptions& run) { return not_empty_text(run.select); },
     [](const std::string& text, RunOptions& run) { run.select = text; }},
    {"window",
     [](const RunOptions& run) {
       switch (run.accepted_window) {
         case Accepted::exact:
           return Text();
         case Accepted::estimated:
           return Text("estimated");
         case Accepted::wrapped:
           return Text("wrapped");
       }
       return Text();
     },
     [](const std::string& text, RunOptions& run) {
       if (text == "estimated") run.accepted_window = Accepted::estimated;
       if (text == "wrapped") run.accepted_window = Accepted::wrapped;
     }},
    {"idle", [](const RunOptions& run) { return not_empty_text(run.idle); },
     [](const std::string& text, RunOptions& run) { run.idle = text; }},
    {"uncertainty",
     [](const RunOptions& run) { return run.uncertainty.is_wanted ? Text("true") : Text(); },
     [](const std::string& text, RunOptions& run) { run.uncertainty.is_wanted = text == "true"; }},
    {"gpu", [](const RunOptions& run) { return not_empty_text(run.uncertainty.gpu); },
     [](const std::string& text, RunOptions& run) { run.uncertainty.gpu = text; }},
    {"sensor_accuracy",
     [](const RunOptions& run) {
       const auto& accuracy = run.uncertainty.sensor_accuracy;
       return accuracy ? Text(json_number(*accuracy)) : Text();
     },
     [](const std::string& text, RunOptions& run) {
       run.uncertainty.sensor_accuracy = python_float(text);
     }},
    {"clock_uncertainty_s",
     [](const RunOptions& run) {
       const auto& seconds = run.uncertainty.clock_uncertainty_s;
       return seconds ? Text(json_number(*seconds)) : Text();
     },
     [](const std::string& text, RunOptions& run) {
       run.uncertainty.clock_uncertainty_s = python_float(text);
     }},
    {"requests_file", [](const RunOptions& run) { return not_empty_text(run.requests.file); },
     [](const std::string& text, RunOptions& run) { run.requests.file = text; }},
    {"per_request", [](const RunOptions& run) { return not_empty_text(run.requests.per_request); },
     [](const std::string& text, RunOptions& run) { run.requests.per_request = text; }},
    {"share",
     [](const RunOptions& run) {
       return run.requests.share == RequestShare::equal
                  ? Text()
                  : Text(std::string(name(run.requests.share)));
     },
     [](const std::string& text, RunOptions& run) {
       for (const RequestShare share :
            {RequestShare::equal, RequestShare::tokens, RequestShare::phase}) {
         if (name(share) == text) run.requests.share = share;
       }
     }},
    {"phases", [](const RunOptions& run) { return run.requests.phases ? Text("true") : Text(); },
     [](const std::string& text, RunOptions& run) { run.requests.phases = text == "true"; }},
    given_seconds<&GivenLoad::start_unix_s>("start"),
    given_seconds<&GivenLoad::end_unix_s>("end"),
    given_seconds<&GivenLoad::duration_s>("duration"),
    given_count<&GivenLoad::requests>("requests"),
    given_count<&GivenLoad::input_tokens>("input_tokens"),
    given_count<&GivenLoad::output_tokens>("output_tokens"),
};

struct NamedCount {
  const char* name;
  std::int64_t RoleCounts::*gpus;
};
constexpr NamedCount kCounts[] = {{"prefill_gpus", &RoleCounts::prefill},
                                  {"decode_gpus", &RoleCounts::decode},
                                  {"aggregate_gpus", &RoleCounts::aggregate},
                                  {"gpus", &RoleCounts::any}};

}  // namespace

NamedOptions unrecorded_options(const RunOptions& run) {
  NamedOptions options;
  for (const UnrecordedOption& option : kUnrecorded) {
    if (const Text text = option.text(run)) options.emplace_back(option.name, *text);
  }
  return options;
}

void set_unrecorded_options(const NamedOptions& options, RunOptions& run) {
  for (const auto& [name, text] : options) {
    const auto option = std::ranges::find(
        kUnrecorded, name, [](const UnrecordedOption& known) { return std::string(known.name); });
    if (option != std::end(kUnrecorded)) option->set(text, run);
  }
}

NamedOptions unrecorded_options(const RunOptions& run, const PackageOptions& package,
                                const RoleCounts& gpus) {
  NamedOptions options = unrecorded_options(run);
  options.emplace_back("logs_root", package.logs_root);
  for (const NamedCount& count : kCounts) {
    if (gpus.*count.gpus != 0) options.emplace_back(count.name, std::to_string(gpus.*count.gpus));
  }
  if (!package.expected_producer_sha.empty()) {
    options.emplace_back("expected_producer_sha", package.expected_producer_sha);
  }
  if (package.expected_cpu_source) {
    options.emplace_back("expected_cpu_source", *package.expected_cpu_source);
  }
  if (package.salvage) options.emplace_back("salvage", "true");
  if (package.consumer_gaps) options.emplace_back("gap_policy", "consumer");
  return options;
}

void set_unrecorded_options(const NamedOptions& options, PackageOptions& package,
                            RoleCounts& gpus) {
  for (const auto& [name, text] : options) {
    for (const NamedCount& count : kCounts) {
      if (name == count.name) gpus.*count.gpus = python_int(text).value_or(0);
    }
    if (name == "logs_root") package.logs_root = text;
    if (name == "expected_producer_sha") package.expected_producer_sha = text;
    if (name == "expected_cpu_source") package.expected_cpu_source = text;
    if (name == "salvage") package.salvage = true;
    if (name == "gap_policy") package.consumer_gaps = true;
  }
}

}  // namespace aggregate_power
