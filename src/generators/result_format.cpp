// Reads a result by the description of its format.
#include "generators/generators.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/stated_gpus.h"
#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "core/load/stated_totals.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kInner = "[][]";
constexpr std::string_view kElement = "[]";
constexpr std::string_view kMembers = ".*";

std::string joined(std::string_view base, std::string_view path) {
  const bool is_direct = base.empty() || path.empty() || path.starts_with('[');
  return fmt::format("{}{}{}", base, is_direct ? "" : ".", path);
}

// What conclude_serving() reads.
constexpr std::string_view kServingPaths[] = {"date",
                                              "duration",
                                              "completed",
                                              "failed",
                                              "total_input_tokens",
                                              "total_output_tokens",
                                              "model_id",
                                              "request_rate",
                                              "max_concurrency",
                                              "num_prompts",
                                              "benchmark_start_time_unix",
                                              "benchmark_end_time_unix"};

void add_new(std::span<const std::string_view> more, std::vector<std::string_view>& fields) {
  for (const std::string_view key : more) {
    if (!key.empty() && std::ranges::find(fields, key) == fields.end()) fields.push_back(key);
  }
}

std::vector<std::string_view> all_fields(const ResultFormat& format, bool with_requests) {
  std::vector<std::string_view> fields;
  const auto add = [&](std::span<const std::string_view> more) { add_new(more, fields); };
  const CountPaths& counts = format.counts;
  const std::string_view stated[] = {
      counts.completed,     counts.failed,       counts.sent,        counts.input_tokens,
      counts.output_tokens, counts.mean_input,   counts.mean_output, counts.duration,
      counts.rate,          format.start,        format.end,         counts.requests_per_s,
      counts.input_per_s,   counts.output_per_s, counts.tokens_per_s};
  add(format.fields);
  add(stated);
  add(format.settings);
  if (with_requests) add(format.request_lists);
  add(kGpuKeys);
  for (const loads::SettingName& setting : loads::setting_names()) add(std::span(&setting.key, 1));
  if (format.is_serving) {
    add(kServingPaths);
    add(kOutcomePaths);
    add(total_paths());
  }
  return fields;
}

std::vector<std::string_view> request_fields(const ResultFormat& format) {
  const RequestPaths& paths = format.request_paths;
  std::vector<std::string_view> fields = format.request_fields;
  const std::string_view stated[] = {paths.start, paths.end,          paths.ttft,
                                     paths.e2e,   paths.input_tokens, paths.output_tokens,
                                     paths.id,    paths.error,        paths.recount};
  add_new(stated, fields);
  add_new(paths.place, fields);
  return fields;
}

RequestTimes stated_request(const RequestPaths& paths, const ResultValues& values) {
  const auto seconds = [&](std::string_view path, double units) {
    return values.number(path).value_or(RequestTimes::kUnknown) / units;
  };
  RequestTimes request;
  request.start_s = seconds(paths.start, paths.units);
  request.first_token_s = request.start_s + seconds(paths.ttft, paths.ttft_units);
  request.end_s = seconds(paths.end, paths.units);
  if (paths.start.empty()) request.stated_ttft_s = seconds(paths.ttft, paths.ttft_units);
  request.stated_e2e_s = seconds(paths.e2e, 1);
  request.input_tokens = values.count(paths.input_tokens).value_or(-1);
  request.output_tokens = values.count(paths.output_tokens).value_or(-1);
  request.id = values.text(paths.id);
  request.failed = values.has(paths.error);
  return request;
}

// Empty: it is not stated.
std::string place_of(const RequestPaths& paths, const ResultValues& values) {
  const auto has = [&](std::string_view path) { return values.has(path); };
  std::string place;
  if (!std::ranges::all_of(paths.place, has)) return place;
  for (const std::string_view path : paths.place) place += values.text(path) + ' ';
  return place;
}

bool overlap(Window a, Window b) {
  return a.start_unix_s <= b.end_unix_s && b.start_unix_s <= a.end_unix_s;
}

// Sorts the values that a walk meets into those of the benchmark and those of the request.
class ResultWalk : public JsonVisitor {
 public:
  ResultWalk(const ResultFormat& format, const LoadFiles& files)
      : format_(format),
        files_(files),
        fields_(all_fields(format, files.request != nullptr)),
        values_(fields_),
        request_fields_(request_fields(format)),
        request_values_(request_fields_) {
    add_paths(format.benchmark, fields_, Target::benchmark);
    if (format.request) add_paths(*format.request, request_fields_, Target::request);
    if (!format.is_whole_file) add(std::string(format.benchmark), {Target::whole_benchmark, 0});
    if (format.request) add(std::string(*format.request), {Target::whole_request, 0});
  }

  std::vector<std::string_view> paths() const { return {paths_.begin(), paths_.end()}; }

  std::vector<LoadReading> finish() {
    if (format_.is_whole_file) conclude();
    if (format_.settle != nullptr) format_.settle(readings_);
    return std::move(readings_);
  }

  void begin(std::size_t path) override {
    const Place place = places_[path];
    if (place.target == Target::whole_benchmark) {
      values_.clear();
      requests_ = {};
      doubts_ = {};
      greatest_ = 0;
    } else if (place.target == Target::whole_request) {
      request_values_.clear();
    } else if (place.target == Target::inner_list) {
      sum_ = 0;
    } else {
      values_of(place).set(place.index, JsonKind::object, {});
    }
  }

  void end(std::size_t path) override {
    const Place place = places_[path];
    if (place.target == Target::whole_benchmark) conclude();
    if (place.target == Target::whole_request) take_request();
    if (place.target == Target::inner_list) values_.append_sum(place.index, sum_);
  }

  void scalar(std::size_t path, JsonKind kind, std::string_view text) override {
    const Place place = places_[path];
    if (place.target == Target::inner_list) {
      values_.append_sum(place.index, std::nan(""));
    } else if (place.target != Target::benchmark && place.target != Target::request) {
      return;
    } else if (place.is_inner) {
      sum_ += number_of(kind, text);
    } else if (place.is_element) {
      values_of(place).append(place.index, kind, text);
    } else {
      values_of(place).set(place.index, kind, text);
    }
  }

 private:
  enum class Target { benchmark, request, inner_list, whole_benchmark, whole_request };
  struct Place {
    Target target = Target::benchmark;
    std::size_t index = 0;  // of the field
    bool is_element = false;
    bool is_inner = false;
  };

  ResultValues& values_of(Place place) {
    return place.target == Target::request ? request_values_ : values_;
  }

  void add(std::string path, Place place) {
    paths_.push_back(std::move(path));
    places_.push_back(place);
  }

  void add_paths(std::string_view base, std::span<const std::string_view> fields, Target target) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const bool is_inner = fields[i].ends_with(kInner);
      const bool is_list =
          fields[i].find(kElement) != std::string_view::npos || fields[i].ends_with(kMembers);
      add(joined(base, fields[i]), {target, i, is_list, is_inner});
      if (!is_inner) continue;
      std::string list = joined(base, fields[i]);
      list.resize(list.size() - kElement.size());
      add(std::move(list), {Target::inner_list, i});
    }
  }

  void take_request() {
    std::optional<RequestTimes> request = stated_request(format_.request_paths, request_values_);
    if (format_.request_of) request = format_.request_of(request_values_, *request);
    if (!request || (request->is_warm_up && !files_.with_warm_up)) return;
    const RequestPaths& paths = format_.request_paths;
    if (seen_.is_repeated(request_values_.text(paths.id), *request,
                          place_of(paths, request_values_))) {
      ++requests_.repeated;
      return;
    }
    if (!request->is_warm_up) {
      requests_.take(*request);
      if (!request->failed) {
        doubts_.take(request->output_tokens, request_values_.count(paths.recount));
      }
    }
    greatest_ = std::max(greatest_, request_values_.number(format_.greatest_of).value_or(0));
    if (files_.request) files_.request(*request);
  }

  void conclude() {
    LoadReading reading = format_.conclude({format_, values_, requests_, files_, greatest_});
    if (reading.generator.empty()) reading.generator = format_.generator;
    if (!reading.gpus && reading.gpus_fault.empty()) {
      StatedGpus gpus = stated_gpus([&](std::string_view key) -> std::optional<std::string> {
        return values_.has(key) ? std::optional(values_.text(key)) : std::nullopt;
      });
      reading.gpus = gpus.count;
      reading.gpus_fault = std::move(gpus.fault);
    }
    for (const std::string_view field : fields_) {
      const std::string_view name = loads::setting_name(field);
      if (name.empty() || field.ends_with(kElement) || !values_.has(field)) continue;
      if (std::string text = values_.text(field); !text.empty()) {
        reading.configuration.emplace_back(name, std::move(text));
      }
    }
    if (requests_.listed > 0) reading.requests = requests_;
    if (requests_.repeated > 0) reading.notes.push_back(repeated_text(requests_.repeated));
    const RequestPaths& paths = format_.request_paths;
    for (std::string& text : doubts_.texts(paths.output_tokens, paths.recount)) {
      reading.notes.push_back(std::move(text));
    }
    const bool counts_list = format_.counts.completed.empty();
    const auto refuse_counts = [&](std::string why) {
      reading.has_wrong_counts |= !why.empty();
      reading.defect = std::move(why);
    };
    if (reading.defect.empty() && counts_list) refuse_counts(seen_.doubt());
    if (reading.load && requests_.window && !overlap(reading.load->window, *requests_.window)) {
      refuse_counts("all of its requests were outside its window");
    }
    readings_.push_back(std::move(reading));
  }

  const ResultFormat& format_;
  const LoadFiles& files_;
  std::vector<std::string_view> fields_;
  ResultValues values_;
  std::vector<std::string_view> request_fields_;
  ResultValues request_values_;
  std::vector<std::string> paths_;
  std::vector<Place> places_;  // by path
  RequestTally requests_;
  double greatest_ = 0;
  SeenRequests seen_;
  OutputDoubts doubts_;
  double sum_ = 0;
  std::vector<LoadReading> readings_;
};

LoadReading unreadable(const ResultFormat& format, std::string detail) {
  LoadReading reading;
  reading.generator = format.generator;
  reading.reasons.add(Reason::invalid_benchmark_result, std::move(detail));
  return reading;
}

// No two requests begin and end at the same moments of a clock that shows more than milliseconds.
bool is_finer_than_1_ms(double unix_s) {
  constexpr double kNearMs = 0.01;
  const double ms = unix_s * 1e3;
  return std::abs(ms - std::round(ms)) > kNearMs;
}

}  // namespace

void RequestTally::take(const RequestTimes& request) {
  ++listed;
  if (request.has_times()) {
    if (!window) window = {request.start_s, request.end_s};
    window->start_unix_s = std::min(window->start_unix_s, request.start_s);
    window->end_unix_s = std::max(window->end_unix_s, request.end_s);
  }
  if (request.failed) {
    ++failed;
    if (request.cancelled) ++cancelled;
    return;
  }
  if (request.input_tokens < 0 || request.output_tokens < 0) has_tokens = false;
  const auto add = [&](std::int64_t tokens, std::int64_t& sum) {
    if (__builtin_add_overflow(sum, std::max<std::int64_t>(tokens, 0), &sum)) has_tokens = false;
  };
  add(request.input_tokens, input_tokens);
  add(request.output_tokens, output_tokens);
  if (!request.has_times()) return;
  const bool has_first = request.first_token_s >= request.start_s;
  spans.push_back({request.start_s, has_first ? request.first_token_s : request.start_s,
                   request.end_s, std::max<std::int64_t>(request.input_tokens, 0),
                   std::max<std::int64_t>(request.output_tokens, 0)});
}

void OutputDoubts::take(std::optional<std::int64_t> tokens, std::optional<std::int64_t> recounted) {
  ++requests_;
  if (tokens == 0) ++empty_;
  if (!tokens || *tokens < 0 || !recounted || *recounted < 0) return;
  tokens_ += static_cast<double>(*tokens);
  recounted_ += static_cast<double>(*recounted);
}

std::vector<std::string> OutputDoubts::texts(std::string_view name,
                                             std::string_view recount) const {
  constexpr std::int64_t kOneIn = 100;  // answers may be empty
  std::vector<std::string> texts;
  if (empty_ * kOneIn > requests_ && empty_ < requests_) {
    texts.push_back(fmt::format(
        "{} of {} successful requests have no output tokens: if they were answered, the energy per output token is too high",
        empty_, requests_));
  }
  const std::string other = recount_text(name, tokens_, recount, recounted_);
  if (!other.empty()) texts.push_back(fmt::format("{}{}", kContradiction, other));
  return texts;
}

bool SeenRequests::is_repeated(std::string_view id, const RequestTimes& request,
                               std::string_view place) {
  if (!id.empty() && !place.empty()) {
    const bool has_place = is_repeated(place, request);
    return is_repeated(id, request) || has_place;
  }
  if (id.empty()) id = place;
  if (!request.has_times() && !(request.stated_e2e_s > 0)) return false;
  const bool is_known =
      request.has_times() &&
      (!id.empty() || (is_finer_than_1_ms(request.start_s) && is_finer_than_1_ms(request.end_s)));
  // The odd number is 2^64 divided by the golden ratio: Fibonacci hashing.
  const auto mixed = [](std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value ^ (hash >> 29U)) * 0x9E3779B97F4A7C15U;
  };
  std::uint64_t hash = std::hash<std::string_view>{}(id);
  const auto mix = [&](double seconds) {
    if (seconds >= 0) hash = mixed(hash, std::bit_cast<std::uint64_t>(seconds));
  };
  mix(request.start_s);
  mix(request.end_s);
  if (is_known) return !seen_.insert(hash).second;
  mix(request.first_token_s);
  mix(request.stated_ttft_s);
  mix(request.stated_e2e_s);
  hash = mixed(hash, static_cast<std::uint64_t>(request.input_tokens));
  hash = mixed(hash, static_cast<std::uint64_t>(request.output_tokens));
  ++coarse_;
  if (!alike_.insert(hash).second) alike_again_.insert(hash);
  return false;
}

std::string SeenRequests::doubt() const {
  constexpr std::size_t kFewest = 10;
  constexpr std::size_t kMostCopies = 3;  // more of a coarse clock are batches
  const bool is_copied = coarse_ >= kFewest && alike_again_.size() == alike_.size() &&
                         coarse_ <= kMostCopies * alike_.size();
  if (!is_copied) return {};
  return fmt::format(
      "each of its requests is listed again with the same times and tokens, {} where {} differ: give a file that lists each request once",
      coarse_, alike_.size());
}

std::string repeated_text(std::int64_t repeated) {
  return fmt::format("{} {} listed twice, with one id and the same times: each counts once",
                     repeated, repeated == 1 ? "request is" : "requests are");
}

double fits_format(const ResultFormat& format, const ResultHead& head) {
  constexpr double kSure = 0.95;
  const auto fit_of = [&](std::span<const std::string_view> marks) {
    if (marks.empty() || !std::ranges::all_of(marks, [&](auto mark) { return head.has(mark); })) {
      return 0.0;
    }
    const auto count = static_cast<double>(marks.size());
    return format.is_sure ? kSure : 0.5 + 0.4 * count / (count + 4);
  };
  return std::max(fit_of(format.marks), fit_of(format.other_marks));
}

std::vector<LoadReading> read_format(const ResultFormat& format, const LoadFiles& files) {
  ResultWalk walk(format, files);
  std::vector<LoadReading> readings;
  try {
    const std::vector<std::string_view> paths = walk.paths();
    walk_json(*files.open(), JsonPaths(paths), walk, format.texts);
    readings = walk.finish();
  } catch (const JsonError& error) {
    return {unreadable(format, fmt::format("{}:{}", files.name, error.what()))};
  }
  if (!readings.empty()) return readings;
  return {unreadable(
      format, fmt::format("{}: {} wrote no benchmark into it", files.name, format.generator))};
}

void set_counts(LoadReading& reading, LoadRules rules, std::optional<std::int64_t> completed,
                std::optional<std::int64_t> input_tokens,
                std::optional<std::int64_t> output_tokens) {
  const bool requires_all = rules == LoadRules::schema_2;
  const auto set = [&](std::int64_t& count, std::optional<std::int64_t> value, Reason reason,
                       bool is_required, const char* what) {
    count = value.value_or(0);
    if (count > 0 || !is_required) return;
    reading.reasons.add(reason, value ? fmt::format("{} is 0", what)
                                      : fmt::format("the result does not say {}", what));
  };
  set(reading.work.completed, completed, Reason::invalid_successful_query_count, requires_all,
      "the number of successful requests");
  set(reading.work.total_input_tokens, input_tokens, Reason::invalid_input_token_count,
      requires_all, "the number of input tokens");
  set(reading.work.total_output_tokens, output_tokens, Reason::invalid_output_token_count, true,
      "the number of output tokens");
}

void set_counts(LoadReading& reading, LoadRules rules, const RequestTally& requests) {
  const auto if_all = [&](std::int64_t sum) {
    return requests.has_tokens ? std::optional(sum) : std::nullopt;
  };
  set_counts(reading, rules, requests.listed - requests.failed, if_all(requests.input_tokens),
             if_all(requests.output_tokens));
  reading.failed_requests = static_cast<std::uint64_t>(requests.failed);
  reading.cancelled_requests = static_cast<std::uint64_t>(requests.cancelled);
}

void set_exact_window(LoadReading& reading, Window window) {
  if (!(window.duration_s() > 0)) {
    reading.reasons.add(Reason::invalid_benchmark_window, "the end is not after the start");
    return;
  }
  reading.work.window = window;
  const double stated_s = reading.work.reported_duration_s;
  if (stated_s > 0 && std::abs(stated_s - window.duration_s()) > most_difference_s(window)) {
    reading.reasons.add(Reason::benchmark_duration_mismatch,
                        fmt::format("{:.3f} s reported, {:.3f} s between start and end", stated_s,
                                    window.duration_s()));
  }
  if (reading.work.reported_duration_s <= 0) {
    reading.work.reported_duration_s = window.duration_s();
  }
  reading.load = reading.work;
  reading.has_window = true;
}

std::optional<double> instant_of(const std::string& text) {
  std::string iso = text;
  if (iso.ends_with('Z')) iso.replace(iso.size() - 1, 1, "+00:00");
  const auto time = read_iso(iso);
  if (!time || !time->offset_us) return std::nullopt;
  return static_cast<double>(time->clock_s) +
         static_cast<double>(time->micros - *time->offset_us) / 1e6;
}

void add_settings(LoadReading& reading, const ResultValues& values,
                  std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::string text = values.text(key);
    if (!text.empty()) reading.settings.emplace_back(key, text);
  }
}

namespace {

std::optional<std::int64_t> stated_completed(const CountPaths& paths, const ResultValues& values) {
  const auto sent = values.count(paths.sent);
  if (!paths.completed.empty() || !sent) return values.count(paths.completed);
  return std::max<std::int64_t>(*sent - values.count(paths.failed).value_or(0), 0);
}

double stated_duration_s(const CountPaths& paths, const ResultValues& values) {
  if (const auto duration = values.number(paths.duration)) {
    return *duration / paths.duration_units;
  }
  const auto completed = stated_completed(paths, values);
  const auto rate = values.number(paths.rate);
  if (!completed || !rate || !(*rate > 0)) return 0;
  return static_cast<double>(*completed) / *rate * paths.rate_unit_s;
}

void set_stated_counts(const ResultScope& scope, LoadReading& reading) {
  const CountPaths& paths = scope.format.counts;
  const ResultValues& values = scope.values;
  const auto completed = stated_completed(paths, values);
  const auto tokens = [&](std::string_view total, std::string_view mean) {
    const auto count = values.count(total);
    const auto each = values.number(mean);
    if (count || !each || !completed) return count;
    reading.has_approximate_counts = true;
    return whole_count(*each * static_cast<double>(*completed));
  };
  const auto input = tokens(paths.input_tokens, paths.mean_input);
  const auto output = tokens(paths.output_tokens, paths.mean_output);
  set_counts(reading, scope.files.rules, completed, input, output);
  const std::int64_t failed = values.count(paths.failed).value_or(0);
  const std::int64_t lost = values.count(paths.sent).value_or(0) - completed.value_or(0);
  reading.failed_requests = static_cast<std::uint64_t>(completed ? std::max(failed, lost) : failed);
}

void judge_rates(const CountPaths& paths, const ResultValues& values, LoadReading& reading) {
  const double duration_s = reading.work.reported_duration_s;
  if (paths.duration.empty() || !(duration_s > 0)) return;
  const Load& work = reading.work;
  const auto count = [](std::int64_t number) {
    return number > 0 ? std::optional(static_cast<double>(number)) : std::nullopt;
  };
  const auto path = [](std::string_view total, std::string_view mean) {
    return total.empty() ? mean : total;
  };
  const auto input = count(work.total_input_tokens);
  const auto output = count(work.total_output_tokens);
  const std::string_view of_output = path(paths.output_tokens, paths.mean_output);
  const std::pair<std::string_view, Rated> rates[] = {
      {paths.requests_per_s, {"requests", paths.completed, count(work.completed)}},
      {paths.input_per_s, {"input tokens", path(paths.input_tokens, paths.mean_input), input}},
      {paths.output_per_s, {"output tokens", of_output, output}},
      {paths.tokens_per_s,
       {"tokens", of_output, input && output ? std::optional(*input + *output) : std::nullopt}}};
  for (const auto& [rate, rated] : rates) {
    const std::string text = rate_contradiction(rate, rated, paths.duration, duration_s, values);
    if (!text.empty()) reading.notes.push_back(fmt::format("{}{}", kContradiction, text));
  }
}

}  // namespace

LoadReading stated_reading(const ResultScope& scope) {
  const ResultFormat& format = scope.format;
  LoadReading reading;
  if (!format.not_result.empty()) {
    reading.reasons.add(Reason::invalid_benchmark_result, std::string(format.not_result));
    return reading;
  }
  reading.no_window = format.no_window;
  reading.work.reported_duration_s = stated_duration_s(format.counts, scope.values);
  if (format.request && format.counts.completed.empty()) {
    set_counts(reading, scope.files.rules, scope.requests);
  } else {
    set_stated_counts(scope, reading);
    judge_rates(format.counts, scope.values, reading);
  }
  add_settings(reading, scope.values, format.settings);
  const std::optional<Window>& window = scope.requests.window;
  const auto start = scope.values.number(format.start);
  const auto end = scope.values.number(format.end);
  if (start && end) set_exact_window(reading, {*start, *end});
  if (!window || format.clock == RequestClock::none) return reading;
  if (format.clock == RequestClock::unix) {
    set_exact_window(reading, *window);
  } else {
    reading.clues.monotonic = window;
    reading.work.reported_duration_s = window->duration_s();
  }
  return reading;
}

}  // namespace aggregate_power
