// One row for each option.
#include "runs/evaluate/option_codec.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/sample.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "energy/shares/good_work.h"

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

// The member at the end of a path: &RunSpec::columns, &ColumnNames::power.
template <auto... kPath>
auto& member_of(auto& run) {
  return (run.*....*kPath);
}

// An option that is one member of the run.
template <auto... kPath>
constexpr OptionRow row(const char* name, unsigned kinds) {
  return {
      name, kinds, [](const RunSpec& run) { return value_of(member_of<kPath...>(run)); },
      [](const std::string& text, RunSpec& run) { read_value(text, member_of<kPath...>(run)); }};
}

// ---- Options that have a spelling of their own

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

void set_schema(const std::string& text, RunSpec& run) {
  run.schema_version = static_cast<int>(python_int(text).value_or(2));
}
Value schema_value(const RunSpec& run) { return Value(std::int64_t{run.schema_version}); }

Value gpus_of_store(const RunSpec& run) {
  return Value(run.expected_num_gpus ? std::to_string(*run.expected_num_gpus) : "auto");
}
Value gpus_of_agents(const RunSpec& run) {
  return run.expected_num_gpus || run.finds_gpus ? gpus_of_store(run) : Value();
}

Value zone_value(const RunSpec& run) {
  return Value(run.zone ? run.zone->name() : run.one_witness ? "evidence" : "auto");
}

Value sample_gap_value(const RunSpec& run) { return Value(run.max_sample_gap_s); }
Value unusual_sample_gap_value(const RunSpec& run) {
  if (run.max_sample_gap_s == kDefaultMaxSampleGapS) return {};
  return Value(fmt::format("{}", run.max_sample_gap_s));
}

void set_clock_offset(const std::string& text, RunSpec& run) {
  run.clock_offset_s = python_float(text).value_or(0);
}
Value clock_offset_value(const RunSpec& run) {
  return run.clock_offset_s == 0 ? Value() : Value(run.clock_offset_s);
}

void set_power_unit(const std::string& text, RunSpec& run) {
  for (const PowerUnit::Size unit : kPowerUnits) {
    if (unit_symbol(unit) == text) run.columns.power_unit = unit;
  }
}
Value power_unit_value(const RunSpec& run) {
  const auto& unit = run.columns.power_unit;
  return unit ? Value(std::string(unit_symbol(*unit))) : Value();
}

// Codes that this version does not know are left out.
void set_accepted(const std::string& text, RunSpec& run) {
  try {
    run.accepted = parse_accepted(text);
  } catch (const Error&) {
  }
}
Value accepted_value(const RunSpec& run) {
  return if_not_empty(joined_text(run.accepted, ",", code));
}

void set_columns(const std::string& text, RunSpec& run) {
  run.columns.all = parse_column_names(text);
}
Value columns_value(const RunSpec& run) { return if_not_empty(joined_text(run.columns.all, ",")); }

void set_window(const std::string& text, RunSpec& run) {
  if (text == "estimated") run.accepted_window = Accepted::estimated;
  if (text == "wrapped") run.accepted_window = Accepted::wrapped;
}
Value window_value(const RunSpec& run) {
  constexpr const char* kNames[] = {"", "estimated", "wrapped"};  // by Accepted
  return if_not_empty(kNames[static_cast<std::size_t>(run.accepted_window)]);
}

void set_result_zone(const std::string& text, RunSpec& run) {
  try {
    run.result_zone = Zone::parse(text);
  } catch (const Error&) {
  }
}
Value result_zone_value(const RunSpec& run) {
  return run.result_zone ? Value(run.result_zone->name()) : Value();
}

void set_share(const std::string& text, RunSpec& run) {
  for (const RequestShare share :
       {RequestShare::equal, RequestShare::tokens, RequestShare::phase}) {
    if (name(share) == text) run.requests.share = share;
  }
}
Value share_value(const RunSpec& run) {
  const RequestShare share = run.requests.share;
  return share == RequestShare::equal ? Value() : Value(std::string(name(share)));
}

void set_slo(const std::string& text, RunSpec& run) { run.requests.slo = shares::parse_slo(text); }
Value slo_value(const RunSpec& run) { return if_not_empty(run.requests.slo.text()); }

void set_keys(const std::string& text, RunSpec& run) { run.keys = row_keys_named(text); }
// What else the record and the aggregate show is not repeated.
Value keys_value(const RunSpec& run) {
  const bool is_row = run.keys == RowKeys::row || run.keys == RowKeys::agentx_row;
  return is_row ? Value(std::string(name(run.keys))) : Value();
}

void set_gap_policy(const std::string&, RunSpec& run) { run.consumer_gaps = true; }
Value gap_policy_value(const RunSpec& run) {
  return run.consumer_gaps ? Value("consumer") : Value();
}

void set_profile_zone(const std::string& text, RunSpec& run) {
  run.profile_zone = Zone::parse(text);
}
Value profile_zone_value(const RunSpec& run) {
  return run.profile_zone ? Value(run.profile_zone->name()) : Value();
}

// An empty one is written, too.
Value logs_root_value(const RunSpec& run) { return Value(run.logs_root); }
void set_logs_root(const std::string& text, RunSpec& run) { run.logs_root = text; }

// ---- The table, in the order of the record

// clang-format off
using Run = RunSpec;
constexpr OptionRow kOptions[] = {
    {"schema_version", kStored, schema_value, set_schema},
    {"expected_num_gpus", kStored, gpus_of_store, set_expected_gpus},
    {"timezone", kStored, zone_value, set_zone},
    {"max_sample_gap_s", kStored, sample_gap_value, set_sample_gap},
    {"max_sample_gap_s", kSingle, unusual_sample_gap_value, set_sample_gap},
    {"clock_offset_s", kSingle | kStoredRecording, clock_offset_value, set_clock_offset},
    row<&Run::expected_producer_sha>("expected_producer_sha", kStoredPackage),
    row<&Run::salvage>("salvage", kStored),
    row<&Run::columns, &ColumnNames::timestamp>("timestamp_column", kSingle),
    row<&Run::columns, &ColumnNames::power>("power_column", kSingle),
    row<&Run::columns, &ColumnNames::device>("device_column", kSingle),
    {"power_unit", kSingle | kStoredRecording, power_unit_value, set_power_unit},
    {"accept", kSingle | kStored, accepted_value, set_accepted},
    {"columns", kStoredRecording, columns_value, set_columns},
    row<&Run::select>("select", kSingle | kStoredRecording),
    {"window", kSingle | kStoredRecording, window_value, set_window},
    {"result_timezone", kSingle | kStoredRecording, result_zone_value, set_result_zone},
    row<&Run::idle>("idle", kSingle | kStored),
    row<&Run::uncertainty, &UncertaintyOptions::is_wanted>("uncertainty", kSingle | kStored),
    row<&Run::uncertainty, &UncertaintyOptions::gpu>("gpu", kSingle | kStored),
    row<&Run::uncertainty, &UncertaintyOptions::sensor_accuracy>("sensor_accuracy", kSingle | kStored),
    row<&Run::uncertainty, &UncertaintyOptions::clock_uncertainty_s>("clock_uncertainty_s", kSingle | kStored),
    row<&Run::calibration>("calibration", kSingle | kStoredRecording),
    row<&Run::requests, &RequestOptions::file>("requests_file", kSingle),
    row<&Run::requests, &RequestOptions::per_request>("per_request", kSingle),
    {"share", kSingle, share_value, set_share},
    row<&Run::requests, &RequestOptions::phases>("phases", kSingle),
    {"slo", kSingle, slo_value, set_slo},
    row<&Run::quality, &QualityOptions::file>("quality", kSingle),
    row<&Run::quality, &QualityOptions::accuracy>("accuracy", kSingle),
    row<&Run::quality, &QualityOptions::questions>("questions", kSingle),
    row<&Run::given, &GivenLoad::start_unix_s>("start", kSingle),
    row<&Run::given, &GivenLoad::end_unix_s>("end", kSingle),
    row<&Run::given, &GivenLoad::duration_s>("duration", kSingle),
    row<&Run::given, &GivenLoad::requests>("requests", kSingle),
    row<&Run::given, &GivenLoad::input_tokens>("input_tokens", kSingle),
    row<&Run::given, &GivenLoad::output_tokens>("output_tokens", kSingle),
    {"logs_root", kPackages, logs_root_value, set_logs_root},
    row<&Run::role_gpus, &RoleCounts::prefill>("prefill_gpus", kPackages),
    row<&Run::role_gpus, &RoleCounts::decode>("decode_gpus", kPackages),
    row<&Run::role_gpus, &RoleCounts::aggregate>("aggregate_gpus", kPackages),
    row<&Run::role_gpus, &RoleCounts::any>("gpus", kPackages),
    row<&Run::expected_producer_sha>("expected_producer_sha", kPackages),
    row<&Run::expected_cpu_source>("expected_cpu_source", kPackages),
    row<&Run::salvage>("salvage", kSingle),
    {"gap_policy", kPackages, gap_policy_value, set_gap_policy},
    row<&Run::artifact_dir>("artifact_dir", kRecording),
    {"profile_timezone", kRecording, profile_zone_value, set_profile_zone},
    {"expected_num_gpus", kAgents, gpus_of_agents, set_expected_gpus},
    {"keys", kSingle, keys_value, set_keys},
    row<&Run::audit_source>("audit_source", kRecording | kAgents),
};
// clang-format on

std::string spelling_of(const RecordedOption& option) {
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
    if ((kSingle & bit(kind)) != 0) options.back().value = spelling_of(options.back());
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
