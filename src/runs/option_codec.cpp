// One row for each option.
#include "runs/option_codec.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "aggregate_power/power_unit.h"
#include "base/text/json.h"
#include "base/text/python_number.h"

namespace aggregate_power {
namespace {

using Accepted = RunOptions::Accepted;
using Value = std::optional<decltype(RecordedOption::value)>;  // absent: it is not written

constexpr unsigned bit(RunKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kAgents = bit(RunKind::agents_package);
constexpr unsigned kPackages = bit(RunKind::package) | kAgents;
constexpr unsigned kRecording = bit(RunKind::recording);
constexpr unsigned kSingle = kRecording | kPackages;
constexpr unsigned kStoredRecording = bit(RunKind::stored_recording);
constexpr unsigned kStoredPackage = bit(RunKind::stored_package);
constexpr unsigned kStored = kStoredRecording | kStoredPackage;

struct OptionRow {
  const char* name;
  unsigned kinds;
  Value (*value)(const RunSpec& run);
  void (*set)(const std::string& text, RunSpec& run);
};

Value if_not_empty(const std::string& text) { return text.empty() ? Value() : Value(text); }

// Empty texts, false, 0 and no number are defaults.
Value value_of(const std::string& text) { return if_not_empty(text); }
Value value_of(bool is_given) { return is_given ? Value(true) : Value(); }
Value value_of(std::int64_t count) { return count != 0 ? Value(count) : Value(); }
template <typename T>
Value value_of(const std::optional<T>& given) {
  return given ? Value(*given) : Value();
}

void read_value(const std::string& text, std::string& into) { into = text; }
void read_value(const std::string& text, bool& into) { into = text == "true"; }
void read_value(const std::string& text, std::int64_t& into) {
  into = python_int(text).value_or(0);
}
void read_value(const std::string& text, std::optional<std::string>& into) { into = text; }
void read_value(const std::string& text, std::optional<double>& into) { into = python_float(text); }
void read_value(const std::string& text, std::optional<std::int64_t>& into) {
  into = python_int(text);
}

// An option that is one member of the run.
template <auto kMember>
constexpr OptionRow row(const char* name, unsigned kinds) {
  return {name, kinds, [](const RunSpec& run) { return value_of(kMember(run)); },
          [](const std::string& text, RunSpec& run) { read_value(text, kMember(run)); }};
}

void set_sample_gap(const std::string& text, RunSpec& run) {
  if (const auto gap_s = python_float(text)) run.max_sample_gap_s = *gap_s;
}

void set_expected_gpus(const std::string& text, RunSpec& run) {
  run.finds_gpus = text == "auto";
  run.expected_num_gpus = python_int(text);
}

// A zone that this machine does not know is left out.
void set_zone(const std::string& text, RunSpec& run) {
  run.one_witness = text == "evidence";
  if (text == "auto" || run.one_witness) return;
  try {
    run.zone = Zone::parse(text);
  } catch (const Error&) {
  }
}

// Codes that this version does not know are left out.
void set_accepted(const std::string& text, RunSpec& run) {
  try {
    run.accepted = parse_accepted(text);
  } catch (const Error&) {
  }
}

constexpr const char* kAcceptedNames[] = {"", "estimated", "wrapped"};  // by Accepted

constexpr OptionRow kOptions[] = {
    {"schema_version", kStored,
     [](const RunSpec& run) { return Value(std::int64_t{run.schema_version}); },
     [](const std::string& text, RunSpec& run) {
       run.schema_version = static_cast<int>(python_int(text).value_or(2));
     }},
    {"expected_num_gpus", kStored,
     [](const RunSpec& run) {
       return Value(run.expected_num_gpus ? std::to_string(*run.expected_num_gpus) : "auto");
     },
     set_expected_gpus},
    {"timezone", kStored,
     [](const RunSpec& run) {
       return Value(run.zone ? run.zone->name() : run.one_witness ? "evidence" : "auto");
     },
     set_zone},
    {"max_sample_gap_s", kStored, [](const RunSpec& run) { return Value(run.max_sample_gap_s); },
     set_sample_gap},
    {"max_sample_gap_s", kSingle,
     [](const RunSpec& run) {
       return run.max_sample_gap_s == kDefaultMaxSampleGapS
                  ? Value()
                  : Value(fmt::format("{}", run.max_sample_gap_s));
     },
     set_sample_gap},
    row < [](auto& run) -> auto& {return run.expected_producer_sha;
}  // namespace
> ("expected_producer_sha", kStoredPackage), row < [](auto& run) -> auto& { return run.salvage; }
> ("salvage", kStoredPackage), row < [](auto& run) -> auto& { return run.columns.timestamp; }
> ("timestamp_column", kSingle), row < [](auto& run) -> auto& { return run.columns.power; }
> ("power_column", kSingle), row < [](auto& run) -> auto& { return run.columns.device; }
> ("device_column", kSingle),
    {"power_unit", kSingle | kStoredRecording,
     [](const RunSpec& run) {
       const auto& unit = run.columns.power_unit;
       return unit ? Value(std::string(unit_symbol(*unit))) : Value();
     },
     [](const std::string& text, RunSpec& run) {
       for (const PowerUnit::Size unit : kPowerUnits) {
         if (unit_symbol(unit) == text) run.columns.power_unit = unit;
       }
     }},
    {"accept", kSingle | kStored,
     [](const RunSpec& run) {
       std::vector<std::string_view> codes;
       for (const Reason reason : run.accepted) codes.push_back(code(reason));
       return if_not_empty(fmt::format("{}", fmt::join(codes, ",")));
     },
     set_accepted},
    {"columns", kStoredRecording,
     [](const RunSpec& run) {
       return if_not_empty(fmt::format("{}", fmt::join(run.columns.all, ",")));
     },
     [](const std::string& text, RunSpec& run) { run.columns.all = parse_column_names(text); }},
    row < [](auto& run) -> auto& {
  return run.select;
}
> ("select", kSingle | kStoredRecording),
    {"window", kSingle | kStoredRecording,
     [](const RunSpec& run) {
       return if_not_empty(kAcceptedNames[static_cast<std::size_t>(run.accepted_window)]);
     },
     [](const std::string& text, RunSpec& run) {
       if (text == "estimated") run.accepted_window = Accepted::estimated;
       if (text == "wrapped") run.accepted_window = Accepted::wrapped;
     }},
    row < [](auto& run) -> auto& {
  return run.idle;
}
> ("idle", kSingle | kStored), row < [](auto& run) -> auto& { return run.uncertainty.is_wanted; }
> ("uncertainty", kSingle | kStored), row < [](auto& run) -> auto& { return run.uncertainty.gpu; }
> ("gpu", kSingle | kStored), row < [](auto& run) -> auto& {
  return run.uncertainty.sensor_accuracy;
}
> ("sensor_accuracy", kSingle | kStored), row < [](auto& run) -> auto& {
  return run.uncertainty.clock_uncertainty_s;
}
> ("clock_uncertainty_s", kSingle | kStored), row < [](auto& run) -> auto& {
  return run.requests.file;
}
> ("requests_file", kSingle), row < [](auto& run) -> auto& { return run.requests.per_request; }
> ("per_request", kSingle),
    {"share", kSingle,
     [](const RunSpec& run) {
       const RequestShare share = run.requests.share;
       return share == RequestShare::equal ? Value() : Value(std::string(name(share)));
     },
     [](const std::string& text, RunSpec& run) {
       for (const RequestShare share :
            {RequestShare::equal, RequestShare::tokens, RequestShare::phase}) {
         if (name(share) == text) run.requests.share = share;
       }
     }},
    row < [](auto& run) -> auto& {
  return run.requests.phases;
}
> ("phases", kSingle), row < [](auto& run) -> auto& { return run.given.start_unix_s; }
> ("start", kSingle), row < [](auto& run) -> auto& { return run.given.end_unix_s; }
> ("end", kSingle), row < [](auto& run) -> auto& { return run.given.duration_s; }
> ("duration", kSingle), row < [](auto& run) -> auto& { return run.given.requests; }
> ("requests", kSingle), row < [](auto& run) -> auto& { return run.given.input_tokens; }
> ("input_tokens", kSingle), row < [](auto& run) -> auto& { return run.given.output_tokens; }
> ("output_tokens", kSingle),
    {"logs_root", kPackages, [](const RunSpec& run) { return Value(run.logs_root); },
     [](const std::string& text, RunSpec& run) { run.logs_root = text; }},
    row < [](auto& run) -> auto& {
  return run.role_gpus.prefill;
}
> ("prefill_gpus", kPackages), row < [](auto& run) -> auto& { return run.role_gpus.decode; }
> ("decode_gpus", kPackages), row < [](auto& run) -> auto& { return run.role_gpus.aggregate; }
> ("aggregate_gpus", kPackages), row < [](auto& run) -> auto& { return run.role_gpus.any; }
> ("gpus", kPackages), row < [](auto& run) -> auto& { return run.expected_producer_sha; }
> ("expected_producer_sha", kPackages), row < [](auto& run) -> auto& {
  return run.expected_cpu_source;
}
> ("expected_cpu_source", kPackages), row < [](auto& run) -> auto& { return run.salvage; }
> ("salvage", kPackages),
    {"gap_policy", kPackages,
     [](const RunSpec& run) { return run.consumer_gaps ? Value("consumer") : Value(); },
     [](const std::string&, RunSpec& run) { run.consumer_gaps = true; }},
    row < [](auto& run) -> auto& {
  return run.artifact_dir;
}
> ("artifact_dir", kRecording),
    {"profile_timezone", kRecording,
     [](const RunSpec& run) {
       return run.profile_zone ? Value(run.profile_zone->name()) : Value();
     },
     [](const std::string& text, RunSpec& run) { run.profile_zone = Zone::parse(text); }},
    {"expected_num_gpus", kAgents,
     [](const RunSpec& run) {
       return run.expected_num_gpus ? Value(std::to_string(*run.expected_num_gpus))
              : run.finds_gpus      ? Value("auto")
                                    : Value();
     },
     set_expected_gpus},
};  // namespace aggregate_power

std::string text_of(const RecordedOption& option) {
  struct {
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(double number) const { return json_number(number); }
    std::string operator()(std::int64_t count) const { return std::to_string(count); }
    std::string operator()(bool is_given) const { return is_given ? "true" : "false"; }
  } spelling;
  return std::visit(spelling, option.value);
}

}  // namespace

std::vector<RecordedOption> options_for_record(const RunSpec& run, RunKind kind) {
  std::vector<RecordedOption> options;
  for (const OptionRow& row : kOptions) {
    if ((row.kinds & bit(kind)) == 0) continue;
    Value value = row.value(run);
    if (!value) continue;
    options.push_back({row.name, std::move(*value)});
    if ((kSingle & bit(kind)) != 0) options.back().value = text_of(options.back());
  }
  return options;
}

void set_recorded_options(std::span<const std::pair<std::string, std::string>> options,
                          RunSpec& run) {
  for (const auto& [name, text] : options) {
    const auto row =
        std::ranges::find(kOptions, std::string_view(name),
                          [](const OptionRow& known) -> std::string_view { return known.name; });
    if (row != std::end(kOptions)) row->set(text, run);
  }
}

}  // namespace aggregate_power
