// Reads a benchmark result and checks its fields.
#include "core/load/benchmark.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text/decimal.h"
#include "base/text/json.h"
#include "base/text/show_time.h"
#include "base/text/stated_gpus.h"
#include "core/load/stated_totals.h"

namespace aggregate_power {
namespace {

struct Field {
  std::string_view key;
  JsonKind kind = JsonKind::null;
  std::string spelling = {};  // of a number or boolean
  JsonValue content = {};     // of an object
  std::string text = {};      // as written, without quotes
};

constexpr std::string_view kStart = "benchmark_start_time_unix";
constexpr std::string_view kEnd = "benchmark_end_time_unix";
constexpr std::string_view kDuration = "duration";
constexpr std::string_view kCompleted = "completed";
constexpr std::string_view kOutput = "total_output_tokens";

// The fields of a result, by key.
class Fields {
 public:
  explicit Fields(const ResultValues& values) {
    for (const std::string_view key : kStatedFields) {
      Field& field = fields_.emplace_back(Field{.key = key, .kind = values.kind(key)});
      field.text = values.text(key);
      if (field.kind != JsonKind::string) field.spelling = field.text;
      if (field.kind == JsonKind::object) field.content = outcome_in(values);
    }
  }
  const Field* find(std::string_view key) const { return find_item(fields_, key, &Field::key); }
  const Field& operator[](std::string_view key) const { return *find(key); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// What the field says, for comparisons; null: it is missing.
JsonValue value_of(const Field& field) {
  return field.kind == JsonKind::object ? field.content : JsonValue{field.kind, field.spelling};
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
  const auto value = from_text<std::int64_t>(field.spelling);
  return value.value_or(0) > 0 ? value : std::nullopt;
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
  for (const std::string_view i : {kStart, kEnd, kDuration}) {
    if (!is_number(fields[i], rules)) return {};
  }
  for (const std::string_view i : {kStart, kEnd}) {
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
  const auto count = [&](std::string_view field, Reason reason) {
    const auto value = as_count(fields[field], rules);
    const bool optional = rules == LoadRules::schema_1 && field != kOutput;
    if (!value && !optional) reading.count_faults.add(reason, describe(fields[field]));
    return value.value_or(0);
  };
  reading.work.completed = count(kCompleted, Reason::invalid_successful_query_count);
  reading.work.total_input_tokens = count("total_input_tokens", Reason::invalid_input_token_count);
  reading.work.total_output_tokens = count(kOutput, Reason::invalid_output_token_count);
  if (!is_number(fields[kDuration], rules)) return;
  const double duration_s = as_double(fields[kDuration]);
  if (std::isfinite(duration_s) && duration_s > 0) reading.work.reported_duration_s = duration_s;
}

LoadReading judged(const Fields& fields, const ResultValues& values, LoadRules rules) {
  LoadReading result;
  result.states_window = true;
  set_stated_work(result, fields, rules);
  result.lacks_times = fields[kStart].kind == JsonKind::null && fields[kEnd].kind == JsonKind::null;
  if (const Field& model = fields["model_id"]; model.kind == JsonKind::string) {
    result.model = model.text;
  }
  result.max_concurrency = {fields["max_concurrency"].kind, fields["max_concurrency"].spelling};
  StatedGpus gpus = stated_gpus([&](std::string_view key) -> std::optional<std::string> {
    const Field* const field = fields.find(key);
    if (field == nullptr || field->kind == JsonKind::null) return std::nullopt;
    return field->text;
  });
  for (const Field& field : fields) {
    const std::string_view name = loads::setting_name(field.key);
    if (!name.empty() && !field.text.empty()) result.configuration.emplace_back(name, field.text);
  }
  result.gpus = gpus.count;
  result.gpus_fault = std::move(gpus.fault);
  result.failed_requests =
      static_cast<std::uint64_t>(as_count(fields["failed"], rules).value_or(0));
  result.failure = benchmark_failure(value_of(fields["benchmark_outcome"]),
                                     value_of(fields[kCompleted]), value_of(fields["num_prompts"]));
  judge_totals(values, result);

  const auto no_window = [&](std::string detail) {
    result.reasons.add(Reason::invalid_benchmark_window, std::move(detail));
    return result;
  };
  for (const std::string_view i : {kStart, kEnd, kDuration}) {
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

// Every path of a result in InferenceX's form.
std::vector<std::string_view> stated_paths() {
  std::vector<std::string_view> paths(std::begin(kStatedFields), std::end(kStatedFields));
  const auto add = [&](std::span<const std::string_view> more) {
    for (const std::string_view path : more) {
      if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    }
  };
  add(kOutcomePaths);
  add(total_paths());
  return paths;
}

// Keeps the values of a result, and counts the elements of a list.
class StatedWalk : public JsonVisitor {
 public:
  explicit StatedWalk(std::span<const std::string_view> paths) : values_(paths), paths_(paths) {
    all_.assign(paths.begin(), paths.end());
    all_.insert(all_.end(), {"", "[]"});
  }

  std::span<const std::string_view> paths() const { return all_; }
  const ResultValues& values() const { return values_; }
  std::size_t elements() const { return elements_; }  // of a list at the top

  void begin(std::size_t path) override {
    if (path < paths_.size()) values_.set(path, JsonKind::object, {});
    if (path > paths_.size()) ++elements_;
  }
  void end(std::size_t) override {}
  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    if (path > paths_.size()) ++elements_;
    if (path >= paths_.size()) return;
    if (paths_[path].ends_with("[]")) {
      values_.append(path, kind, text);
    } else {
      values_.set(path, kind, text);
    }
  }

 private:
  ResultValues values_;
  std::span<const std::string_view> paths_;
  std::vector<std::string_view> all_;
  std::size_t elements_ = 0;
};

// Keeps the first character that is no blank.
class Watched : public ByteSource {
 public:
  explicit Watched(ByteSource& source) : source_(source) {}
  char first() const { return first_; }
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    const std::string_view text(into.data(), count);
    const std::size_t at = text.find_first_not_of(" \t\r\n");
    if (first_ == ' ' && at != text.npos) first_ = text[at];
    return count;
  }

 private:
  ByteSource& source_;
  char first_ = ' ';
};

}  // namespace

LoadReading read_benchmark(ByteSource& source, const std::string& name, LoadRules rules) {
  static const std::vector<std::string_view> paths = stated_paths();
  LoadReading unreadable;
  try {
    StatedWalk walk(paths);
    Watched watched(source);
    walk_json(watched, JsonPaths(walk.paths()), walk, JsonTexts::one);
    if (watched.first() == '{') return judge_stated(walk.values(), rules);
    unreadable.reasons.add(
        Reason::invalid_benchmark_result,
        watched.first() == '[' && walk.elements() > 0
            ? fmt::format("{}: a list of {}, where one JSON object is expected: write the one that "
                          "counts into a file of its own",
                          name, walk.elements())
            : name + ": expected a JSON object");
  } catch (const JsonError& error) {
    unreadable.reasons.add(Reason::invalid_benchmark_result,
                           fmt::format("{}:{}", name, error.what()));
  }
  return unreadable;
}

bool states_window(const ResultValues& values) { return values.has(kStart) || values.has(kEnd); }

LoadReading judge_stated(const ResultValues& values, LoadRules rules) {
  return judged(Fields(values), values, rules);
}

double most_difference_s(Window window) { return std::max(0.5, window.duration_s() * 0.01); }

bool is_length_of(Window window, double reported_s) {
  constexpr double kUnits[] = {1, 1e3, 1e6, 1e9};
  return std::ranges::any_of(kUnits, [&](double unit) {
    return std::abs(reported_s / unit - window.duration_s()) <= most_difference_s(window);
  });
}

double fits_benchmark(const ResultHead& head) {
  const bool states = head.has(kStart) || head.has(kEnd);
  return states ? 1 : 0.1;
}

std::vector<LoadReading> read_benchmark_files(const LoadFiles& files) {
  return {read_benchmark(*files.open(), files.name, files.rules)};
}

// ---- Recomputes the outcome of a benchmark.

namespace {

struct Counts {
  std::int64_t requested = 0;
  std::int64_t completed = 0;

  std::int64_t failed() const { return requested - completed; }
  bool is_failure() const {
    return static_cast<double>(failed()) / static_cast<double>(requested) > kMaxFailureRate;
  }
  std::string text() const { return fmt::format("{} of {} requests failed", failed(), requested); }
  // Empty: no more failed than may.
  std::string failure() const {
    return is_failure() ? fmt::format("{}, at most {:g} % may", text(), kMaxFailureRate * 100) : "";
  }
};

std::optional<Counts> counts_of(const JsonValue& requested, const JsonValue& completed) {
  const auto asked = requested.as_integer();
  const auto done = completed.as_integer();
  if (!asked || !done || *asked <= 0 || *done < 0 || *done > *asked) return std::nullopt;
  return Counts{*asked, *done};
}

// A result need not have its own counts.
bool contradicts(const JsonValue& own, std::int64_t stated) {
  return !own.is_null() && !equal_in_python(own, JsonValue::integer(stated));
}

}  // namespace

JsonValue outcome_in(const ResultValues& values) {
  const std::string_view whole = kOutcomePaths[0];
  JsonValue outcome{values.kind(whole), values.text(whole)};
  for (const std::string_view path : std::span(kOutcomePaths).subspan(1)) {
    outcome.members.emplace_back(path.substr(whole.size() + 1),
                                 JsonValue{values.kind(path), values.text(path)});
  }
  return outcome;
}

JsonValue outcome_in(const JsonMember& member) {
  try {
    return member.text.empty() ? JsonValue::object() : parse_json(member.text);
  } catch (const JsonError&) {
    return JsonValue::object();
  }
}

std::string benchmark_failure(const JsonValue& outcome, const JsonValue& completed,
                              const JsonValue& num_prompts) {
  if (outcome.is_null()) {
    const auto counts = counts_of(num_prompts, completed);
    return counts ? counts->failure() : "";
  }
  const auto stated = counts_of(outcome.at("requested"), outcome.at("completed"));
  if (!stated) return "benchmark_outcome does not state how many requests completed";
  const std::string_view status = stated->is_failure() ? "failed" : "passed";
  const bool follows =
      outcome.at("status").text == status &&
      equal_in_python(outcome.at("failed"), JsonValue::integer(stated->failed())) &&
      equal_in_python(outcome.at("max_failure_rate"), JsonValue::real(kMaxFailureRate));
  if (!follows) {
    return fmt::format(
        "benchmark_outcome does not follow from its counts: {}, so its status is '{}'",
        stated->text(), status);
  }
  if (contradicts(completed, stated->completed) || contradicts(num_prompts, stated->requested)) {
    return fmt::format("benchmark_outcome has {} of {} requests completed, the result {} of {}",
                       stated->completed, stated->requested,
                       completed.is_null() ? "an unknown number" : completed.shown(),
                       num_prompts.is_null() ? "an unknown number" : num_prompts.shown());
  }
  return stated->is_failure() ? "benchmark_outcome: " + stated->text() : std::string();
}

std::string failure_by_counts(std::uint64_t failed, std::int64_t completed) {
  std::int64_t requested = 0;
  const bool is_sum =
      failed > 0 && completed >= 0 && !__builtin_add_overflow(completed, failed, &requested);
  return is_sum ? Counts{requested, completed}.failure() : "";
}

void refuse_failed(Contract contract, LoadReading& reading) {
  if (!rules_of(contract).refuses_failed_benchmark || reading.failure.empty()) return;
  reading.reasons.add(Reason::benchmark_failed, reading.failure);
}

}  // namespace aggregate_power
