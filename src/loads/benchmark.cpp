// Reads a benchmark result and checks its fields.
#include "loads/benchmark.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text/json.h"
#include "base/text/python_number.h"
#include "base/text/shown_time.h"
#include "base/text/stated_gpus.h"
#include "loads/benchmark_outcome.h"

namespace aggregate_power {
namespace {

struct Field {
  std::string_view key;
  JsonKind kind = JsonKind::null;
  std::string spelling = {};  // of a number or boolean
  JsonValue content = {};     // of an object
  std::string text = {};      // as written, without quotes
};

enum FieldIndex {
  kStart,
  kEnd,
  kDuration,
  kCompleted,
  kInput,
  kOutput,
  kConcurrency,
  kPrompts,
  kOutcome,
  kFailed,
  kNumGpus,
  kWorldSize,
  kTensorParallel,
  kPipelineParallel,
  kDataParallel,
  kTp,
  kPp,
  kDp,
  kDpAttention,
  kFieldCount
};
using Fields = std::array<Field, kFieldCount>;
static_assert(std::size(kStatedFields) == kFieldCount);

Fields named_fields() {
  Fields fields;
  for (std::size_t i = 0; i < kFieldCount; ++i) fields[i].key = kStatedFields[i];
  return fields;
}

// What the field says, for comparisons; null: it is missing.
JsonValue value_of(const Field& field) {
  return field.kind == JsonKind::object ? field.content : JsonValue{field.kind, field.spelling};
}

std::string without_quotes(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

Fields read_fields(ByteSource& source, JsonKind& document_kind) {
  Fields fields = named_fields();
  const auto keep = [&](const JsonMember& member) {
    const auto field = std::ranges::find_if(
        fields, [&](const Field& known) { return member.key_kept && member.key == known.key; });
    if (field == fields.end()) return;
    field->kind = member.kind;  // the last one counts if a key occurs twice
    field->spelling = member.scalar;
    field->text = without_quotes(member.text);
    if (member.kind == JsonKind::object) field->content = outcome_in(member);
  };
  document_kind = scan_json(source, keep).kind;
  return fields;
}

bool is_number(const Field& field, LoadRules rules) {
  return field.kind == JsonKind::integer || field.kind == JsonKind::real ||
         (field.kind == JsonKind::boolean && rules == LoadRules::schema_1);
}

// A number of any spelling; infinite if it is too large for a double.
double as_double(const Field& field) {
  if (field.kind == JsonKind::boolean) return field.spelling == "true" ? 1 : 0;
  if (field.spelling == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (field.spelling.ends_with("Infinity") || field.spelling.empty()) {
    return std::numeric_limits<double>::infinity();
  }
  const double value = nearest_double(field.spelling).value_or(0);  // it was read as a number
  return field.kind == JsonKind::integer ? value + 0.0 : value;     // Python's integer -0 is 0
}

// A whole number above 0; nullopt for anything else, including numbers beyond 64 bits.
std::optional<std::int64_t> as_count(const Field& field, LoadRules rules) {
  if (field.kind == JsonKind::boolean && rules == LoadRules::schema_1) {
    return field.spelling == "true" ? std::optional<std::int64_t>(1) : std::nullopt;
  }
  if (field.kind != JsonKind::integer) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(field.spelling.data(), field.spelling.data() + field.spelling.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  return value;
}

std::string describe(const Field& field) {
  switch (field.kind) {
    case JsonKind::null:
      return fmt::format("'{}' is missing or null", field.key);
    case JsonKind::string:
    case JsonKind::array:
    case JsonKind::object:
      return fmt::format("'{}' is not a number", field.key);
    default:
      return fmt::format("'{}' is {:.40}{}", field.key, field.spelling,
                         field.spelling.size() > 40 ? "..." : "");
  }
}

// "; 'duration' is in milliseconds: divide by 1000", if that explains why the window cannot be
// used; else empty.
std::string unit_hint(const Fields& fields, LoadRules rules) {
  const auto hint = [](const Field& field, const std::string& unit) {
    return fmt::format("; '{}' is {}", field.key, unit);
  };
  for (const FieldIndex i : {kStart, kEnd, kDuration}) {
    if (!is_number(fields[i], rules)) return {};
  }
  for (const FieldIndex i : {kStart, kEnd}) {
    const std::string unit = wrong_unit_text(as_double(fields[i]));
    if (!unit.empty()) return hint(fields[i], unit);
  }
  const double window_s = as_double(fields[kEnd]) - as_double(fields[kStart]);
  for (const double factor : {1e3, 1e6, 1e9}) {
    constexpr double kNear = 0.01;
    const double duration_s = as_double(fields[kDuration]) / factor;
    if (window_s > 0 && std::abs(duration_s - window_s) <= window_s * kNear) {
      return hint(fields[kDuration], unit_text(factor));
    }
  }
  return {};
}

// What the load did, as far as the result says it.
void set_stated_work(LoadReading& reading, const Fields& fields, LoadRules rules) {
  const auto count = [&](FieldIndex field, Reason reason) {
    const auto value = as_count(fields[field], rules);
    const bool optional = rules == LoadRules::schema_1 && field != kOutput;
    if (!value && !optional) reading.count_faults.add(reason, describe(fields[field]));
    return value.value_or(0);
  };
  reading.work.completed = count(kCompleted, Reason::invalid_successful_query_count);
  reading.work.total_input_tokens = count(kInput, Reason::invalid_input_token_count);
  reading.work.total_output_tokens = count(kOutput, Reason::invalid_output_token_count);
  if (!is_number(fields[kDuration], rules)) return;
  const double duration_s = as_double(fields[kDuration]);
  if (std::isfinite(duration_s) && duration_s > 0) reading.work.reported_duration_s = duration_s;
}

LoadReading judged(const Fields& fields, LoadRules rules) {
  LoadReading result;
  result.states_window = true;
  set_stated_work(result, fields, rules);
  result.lacks_times = fields[kStart].kind == JsonKind::null && fields[kEnd].kind == JsonKind::null;
  result.max_concurrency = {fields[kConcurrency].kind, fields[kConcurrency].spelling};
  StatedGpus gpus = stated_gpus([&](std::string_view key) -> std::optional<std::string> {
    const auto field = std::ranges::find(fields, key, &Field::key);
    if (field == fields.end() || field->kind == JsonKind::null) return std::nullopt;
    return field->text;
  });
  result.gpus = gpus.count;
  result.gpus_fault = std::move(gpus.fault);
  result.failed_requests = static_cast<std::uint64_t>(as_count(fields[kFailed], rules).value_or(0));
  result.failure = benchmark_failure(value_of(fields[kOutcome]), value_of(fields[kCompleted]),
                                     value_of(fields[kPrompts]));

  const auto no_window = [&](std::string detail) {
    result.reasons.add(Reason::invalid_benchmark_window, std::move(detail));
    return result;
  };
  for (const FieldIndex i : {kStart, kEnd, kDuration}) {
    if (!is_number(fields[i], rules) || !std::isfinite(as_double(fields[i]))) {
      return no_window(describe(fields[i]));
    }
  }
  Load load = result.work;
  load.window = {as_double(fields[kStart]), as_double(fields[kEnd])};
  load.reported_duration_s = as_double(fields[kDuration]);
  if (load.window.end_unix_s <= load.window.start_unix_s) {
    return no_window("the end is not after the start" + unit_hint(fields, rules));
  }
  if (load.reported_duration_s <= 0) return no_window(describe(fields[kDuration]));
  result.has_window = true;

  if (rules == LoadRules::schema_2) {
    const double window_s = load.window.duration_s();
    if (std::abs(load.reported_duration_s - window_s) > most_difference_s(load.window)) {
      result.reasons.add(Reason::benchmark_duration_mismatch,
                         fmt::format("{:.3f} s reported, {:.3f} s between start and end{}",
                                     load.reported_duration_s, window_s, unit_hint(fields, rules)));
    }
  }
  result.reasons.add(std::exchange(result.count_faults, {}));
  if (rules == LoadRules::schema_2 || load.total_output_tokens > 0) {
    result.load = load;
  }
  return result;
}

}  // namespace

LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules) {
  LoadReading unreadable;
  try {
    JsonKind kind{};
    const Fields fields = read_fields(source, kind);
    if (kind == JsonKind::object) return judged(fields, rules);
    unreadable.reasons.add(Reason::invalid_benchmark_result, name + ": expected a JSON object");
  } catch (const JsonError& error) {
    unreadable.reasons.add(Reason::invalid_benchmark_result,
                           fmt::format("{}:{}", name, error.what()));
  }
  return unreadable;
}

bool states_window(const ResultValues& values) {
  return values.has(kStatedFields[kStart]) || values.has(kStatedFields[kEnd]);
}

LoadReading judge_stated(const ResultValues& values, LoadRules rules) {
  Fields fields = named_fields();
  for (Field& field : fields) {
    field.kind = values.kind(field.key);
    field.text = values.text(field.key);
    if (field.kind != JsonKind::string) field.spelling = field.text;
    if (field.kind == JsonKind::object) field.content = outcome_in(values);
  }
  return judged(fields, rules);
}

double most_difference_s(Window window) { return std::max(0.5, window.duration_s() * 0.01); }

double fits_benchmark(const ResultHead& head) {
  const bool states = head.has(kStatedFields[kStart]) || head.has(kStatedFields[kEnd]);
  return states ? 1 : 0.1;
}

std::vector<LoadReading> read_benchmark_files(const LoadFiles& files) {
  return {read_benchmark(*files.open(), files.name, files.rules)};
}

}  // namespace aggregate_power
