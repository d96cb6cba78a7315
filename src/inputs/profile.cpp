// What AIPerf exports of a benchmark.
#include "aggregate_power/inputs/profile.h"

#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/json.h"
#include "aggregate_power/base/python_number.h"
#include "aggregate_power/base/stamp.h"
#include "aggregate_power/base/unicode.h"
#include "aggregate_power/base/written_time.h"

namespace aggregate_power {
namespace {

// A request's stamps are a few hundred bytes, and the gaps between its tokens some 20 each.
constexpr std::size_t kMostRecordBytes = std::size_t{64} << 20;

// ---- Members of a JSON text that is in memory

struct Value {
  JsonKind kind = JsonKind::null;
  std::string_view spelling;  // empty: there is no such member
};

struct Wanted {
  std::string_view key;
  Value& value;
};

// Of a key that is there twice the last counts, as in Python. False: `text` is no object.
bool find_members(std::string_view text, std::initializer_list<Wanted> wanted) {
  MemorySource source(text);
  const auto keep = [&](const JsonMember& member) {
    for (const Wanted& one : wanted) {
      if (!member.key_kept || member.key != one.key) continue;
      const auto size = static_cast<std::size_t>(member.value_end - member.value_begin);
      one.value = {member.kind, text.substr(static_cast<std::size_t>(member.value_begin), size)};
    }
  };
  return scan_json(source, keep).kind == JsonKind::object;
}

// Nothing when it is no string, or holds half a surrogate pair.
std::optional<std::string> text_of(const Value& value) {
  if (value.kind != JsonKind::string) return std::nullopt;
  const auto text = nlohmann::json::parse(value.spelling, nullptr, false);
  return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

// As bool() has it: what is empty or zero is false.
bool is_truthy(const Value& value) {
  const std::string_view spelling = value.spelling;
  switch (value.kind) {
    case JsonKind::null:
      return false;
    case JsonKind::boolean:
      return spelling == "true";
    case JsonKind::string:
      return spelling != "\"\"";
    case JsonKind::array:
    case JsonKind::object:
      return !strip(spelling.substr(1, spelling.size() - 2)).empty();
    default:
      return nearest_double(spelling) != 0.0;  // nothing: NaN or infinite
  }
}

// As int() has it: numbers lose their fraction, and texts may be numerals.
std::optional<std::int64_t> whole_number(const Value& value) {
  constexpr double kBeyond = 9223372036854775808.0;
  switch (value.kind) {
    case JsonKind::boolean:
      return value.spelling == "true" ? 1 : 0;
    case JsonKind::integer:
      return python_int(value.spelling);
    case JsonKind::real: {
      const std::optional<double> number = nearest_double(value.spelling);
      if (!number || !(std::abs(*number) < kBeyond)) return std::nullopt;
      return static_cast<std::int64_t>(*number);
    }
    case JsonKind::string: {
      const std::optional<std::string> text = text_of(value);
      return text ? python_int(*text) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// ---- Records

// Ends lines where Python does in a text file: at \n, \r, or both.
class Lines {
 public:
  explicit Lines(const NamedSource& from) : from_(from) {}

  // With its number, from 1; lines without text are left out.
  void each(const std::function<void(std::string_view, std::uint64_t)>& take) {
    std::array<char, 65536> chunk;
    while (const std::size_t count = from_.source.read(chunk)) {
      std::string_view rest(chunk.data(), count);
      for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
        append(rest.substr(0, end));
        give(take);
      }
      append(rest);
    }
    give(take);
  }

 private:
  void append(std::string_view bytes) {
    if (line_.size() + bytes.size() > kMostRecordBytes) {
      throw Error(fmt::format("{}:{}: a record of more than {} MiB", from_.name, number_,
                              kMostRecordBytes >> 20));
    }
    line_ += bytes;
  }

  void give(const std::function<void(std::string_view, std::uint64_t)>& take) {
    std::string_view rest = line_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\r'), rest.size());
      const std::string_view text = strip(rest.substr(0, end));
      if (!text.empty()) take(text, number_);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    line_.clear();
    ++number_;
  }

  const NamedSource& from_;
  std::string line_;
  std::uint64_t number_ = 1;
};

// A metric is a bare value, or an object that has one.
std::optional<std::int64_t> tokens(const Value& metric) {
  if (metric.kind != JsonKind::object) return whole_number(metric);
  Value value;
  find_members(metric.spelling, {{"value", value}});
  return whole_number(value);
}

std::optional<Window> in_flight(const Value& start, const Value& end) {
  constexpr double kNanos = 1e9;
  const bool are_known = start.kind == JsonKind::integer && end.kind == JsonKind::integer;
  const auto start_ns = are_known ? python_int(start.spelling) : std::nullopt;
  const auto end_ns = are_known ? python_int(end.spelling) : std::nullopt;
  if (!start_ns || !end_ns || *end_ns < *start_ns) return std::nullopt;
  return Window{static_cast<double>(*start_ns) / kNanos, static_cast<double>(*end_ns) / kNanos};
}

ProfileRecord record_of(std::string_view line) {
  Value metadata;
  Value metrics;
  Value error;
  if (!find_members(line, {{"metadata", metadata}, {"metrics", metrics}, {"error", error}})) {
    throw Error("expected a JSON object");
  }
  ProfileRecord record;
  if (!metadata.spelling.empty()) {
    Value phase;
    Value start;
    Value end;
    const bool is_object = find_members(
        metadata.spelling,
        {{"benchmark_phase", phase}, {"request_start_ns", start}, {"request_end_ns", end}});
    if (!is_object) throw Error("'metadata' is no object");
    // Before there were phases there was only this one.
    record.is_profiling = phase.kind == JsonKind::null || text_of(phase) == "profiling";
    record.in_flight = in_flight(start, end);
  }
  record.failed = is_truthy(error);
  if (record.is_profiling && !record.failed && metrics.kind == JsonKind::object) {
    Value input;
    Value output;
    find_members(metrics.spelling,
                 {{"input_sequence_length", input}, {"output_sequence_length", output}});
    record.input_tokens = tokens(input);
    record.output_tokens = tokens(output);
  }
  return record;
}

// What the records of a profile come to.
class Tally {
 public:
  void take(const ProfileRecord& record) {
    if (!record.is_profiling) return;
    if (record.failed) {
      ++failed_;
      return;
    }
    ++completed_;
    const bool has_input = add(record.input_tokens, input_tokens_);
    const bool has_output = add(record.output_tokens, output_tokens_);
    if (!has_input || !has_output) ++without_length_;
  }

  std::uint64_t failed() const { return failed_; }
  std::int64_t completed() const { return completed_; }
  std::int64_t input_tokens() const { return input_tokens_; }
  std::int64_t output_tokens() const { return output_tokens_; }
  // Empty: each that counts has both lengths, and there are tokens.
  std::string fault() const {
    if (without_length_ > 0) {
      return fmt::format("{} of {} successful requests", without_length_, completed_);
    }
    if (input_tokens_ == 0) return "all inputs are empty";
    return output_tokens_ == 0 ? "all outputs are empty" : "";
  }

 private:
  // False: there is none, or too many together.
  static bool add(const std::optional<std::int64_t>& tokens, std::int64_t& sum) {
    return tokens && *tokens >= 0 && !__builtin_add_overflow(sum, *tokens, &sum);
  }

  std::uint64_t failed_ = 0;
  std::int64_t completed_ = 0;
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
  std::uint64_t without_length_ = 0;
};

// ---- Times

std::optional<WrittenTime> written_time(const Value& value) {
  std::optional<std::string> text = text_of(value);
  if (!text) return std::nullopt;
  std::string iso;
  for (const char c : strip(*text)) c == 'Z' ? iso += "+00:00" : iso += c;
  return read_iso(iso);
}

bool is_naive(const Value& value) {
  const std::optional<WrittenTime> written = written_time(value);
  return written && !written->offset_us;
}

std::optional<double> unix_seconds(const Value& value, const std::optional<Zone>& zone) {
  if (value.kind == JsonKind::integer || value.kind == JsonKind::real) {
    const std::optional<double> number = nearest_double(value.spelling);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return epoch_seconds(*number);
  }
  constexpr std::int64_t kMicros = 1'000'000;
  const std::optional<WrittenTime> written = written_time(value);
  if (!written) return std::nullopt;
  if (written->offset_us) {
    return seconds_of(written->clock_s * kMicros + written->micros - *written->offset_us);
  }
  const std::optional<std::int64_t> unix_s = zone->unix_from_local(written->clock_s);
  if (!unix_s) return std::nullopt;
  return seconds_of(*unix_s * kMicros + written->micros);
}

std::string described(std::string_view key, const Value& value) {
  return fmt::format("'{}' is {}", key, printable(value.spelling));
}

}  // namespace

void read_profile_records(const NamedSource& records,
                          const std::function<void(const ProfileRecord&)>& take) {
  Lines(records).each([&](std::string_view line, std::uint64_t number) {
    try {
      take(record_of(line));
    } catch (const JsonError& error) {
      const std::string_view in_line = std::strchr(error.what(), ':');
      throw Error(fmt::format("{}:{}{}", records.name, number, in_line));
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", records.name, number, error.what()));
    }
  });
}

std::optional<Zone> captured_zone(std::string_view text) {
  std::string offset = ascii_digits(strip(text));
  if (offset.size() == 6 && offset[3] == ':') offset.erase(3, 1);
  const bool is_offset = offset.size() == 5 && (offset[0] == '+' || offset[0] == '-') &&
                         offset.find_first_not_of("0123456789", 1) == offset.npos;
  if (!is_offset) return std::nullopt;
  const auto two_digits = [&](std::size_t at) {
    return (offset[at] - '0') * 10 + (offset[at + 1] - '0');
  };
  const int hours = two_digits(1);
  const int minutes = two_digits(3);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return Zone::fixed((offset[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60));
}

ProfileReading read_profile(const NamedSource& summary, const NamedSource& records,
                            const ProfileZone& zone) {
  ProfileReading result;
  const auto fault = [&](Reason reason, std::string detail) {
    result.reasons.add(reason, std::move(detail));
    return result;
  };
  const std::string text = read_all(summary.source);
  Value start;
  Value end;
  Tally tally;
  try {
    if (!find_members(text, {{"start_time", start}, {"end_time", end}})) {
      throw Error(summary.name + ": expected a JSON object");
    }
    read_profile_records(records, [&](const ProfileRecord& record) { tally.take(record); });
  } catch (const JsonError& error) {
    return fault(Reason::profile_artifacts_invalid,
                 fmt::format("{}:{}", summary.name, error.what()));
  } catch (const Error& error) {
    return fault(Reason::profile_artifacts_invalid, error.what());
  }
  result.failed_requests = tally.failed();

  if (start.kind == JsonKind::null || end.kind == JsonKind::null) {
    return fault(Reason::profile_window_missing,
                 fmt::format("'{}' is missing or null",
                             start.kind == JsonKind::null ? "start_time" : "end_time"));
  }
  if (!zone.zone && (is_naive(start) || is_naive(end))) {
    result.reasons = zone.fault;
    return result;
  }
  const std::optional<double> start_unix_s = unix_seconds(start, zone.zone);
  const std::optional<double> end_unix_s = unix_seconds(end, zone.zone);
  if (!start_unix_s) return fault(Reason::profile_window_invalid, described("start_time", start));
  if (!end_unix_s) return fault(Reason::profile_window_invalid, described("end_time", end));
  const Window window{*start_unix_s, *end_unix_s};
  if (!(window.duration_s() > 0) || !std::isfinite(window.duration_s())) {
    return fault(Reason::profile_window_invalid, "the end is not after the start");
  }
  if (tally.completed() == 0) {
    return fault(Reason::successful_request_count_invalid,
                 fmt::format("{} failed", tally.failed()));
  }
  if (const std::string missing = tally.fault(); !missing.empty()) {
    return fault(Reason::incomplete_token_accounting, missing);
  }
  result.benchmark = {window, window.duration_s(), tally.completed(), tally.input_tokens(),
                      tally.output_tokens()};
  return result;
}

std::string benchmark_text(const Benchmark& benchmark) {
  return fmt::format(
      "{{\n  \"benchmark_start_time_unix\": {},\n  \"benchmark_end_time_unix\": {},\n"
      "  \"duration\": {},\n  \"completed\": {},\n  \"total_input_tokens\": {},\n"
      "  \"total_output_tokens\": {}\n}}",
      json_number(benchmark.window.start_unix_s), json_number(benchmark.window.end_unix_s),
      json_number(benchmark.reported_duration_s), benchmark.completed, benchmark.total_input_tokens,
      benchmark.total_output_tokens);
}

}  // namespace aggregate_power
