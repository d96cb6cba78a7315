// Reads an AIPerf profile and tallies its records.
#include "generators/aiperf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/whole_file.h"
#include "base/text/json_members.h"
#include "base/text/show_time.h"
#include "base/text/timestamp.h"
#include "base/text/characters.h"
#include "base/text/written_time.h"
#include "generators/aiperf_records.h"
#include "generators/aiperf_zone.h"

namespace aggregate_power {
namespace {

// Tallies the records of a profile.
class Tally {
 public:
  void take(const ProfileRecord& record) {
    if (!record.is_profiling) return;
    if (record.in_flight && seen_.is_repeated(record.id, record.in_flight->start_unix_s,
                                              record.in_flight->end_unix_s)) {
      ++repeated_;
      return;
    }
    if (record.in_flight) add(*record.in_flight);
    if (record.failed) {
      ++failed_;
      if (record.cancelled) ++cancelled_;
      return;
    }
    ++completed_;
    const bool has_input = add(record.input_tokens, input_tokens_);
    const bool has_output = add(record.output_tokens, output_tokens_);
    if (!has_input || !has_output) ++without_length_;
  }

  // From the start of the first to the end of the last; nullopt if no record says it.
  const std::optional<Window>& requests() const { return requests_; }
  std::uint64_t failed() const { return failed_; }
  std::uint64_t cancelled() const { return cancelled_; }  // of these
  std::int64_t repeated() const { return repeated_; }
  std::int64_t completed() const { return completed_; }
  std::int64_t input_tokens() const { return input_tokens_; }
  std::int64_t output_tokens() const { return output_tokens_; }
  // Empty: each record that counts has both lengths, and there are tokens.
  std::string fault() const {
    if (without_length_ > 0) {
      return fmt::format("{} of {} successful requests", without_length_, completed_);
    }
    if (input_tokens_ == 0) return "all inputs are empty";
    return output_tokens_ == 0 ? "all outputs are empty" : "";
  }

 private:
  void add(Window request) {
    if (!requests_) requests_ = request;
    requests_->start_unix_s = std::min(requests_->start_unix_s, request.start_unix_s);
    requests_->end_unix_s = std::max(requests_->end_unix_s, request.end_unix_s);
  }
  // Returns false if there is no number, or if the sum becomes too large.
  static bool add(const std::optional<std::int64_t>& tokens, std::int64_t& sum) {
    return tokens && *tokens >= 0 && !__builtin_add_overflow(sum, *tokens, &sum);
  }

  SeenRequests seen_;
  std::int64_t repeated_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t cancelled_ = 0;
  std::int64_t completed_ = 0;
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
  std::uint64_t without_length_ = 0;
  std::optional<Window> requests_;
};

// ---- Times

std::optional<WrittenTime> written_time(const JsonMemberText& value) {
  const JsonValue scalar = value.scalar();
  if (!scalar.is_string()) return std::nullopt;
  std::string iso;
  for (const char c : strip(scalar.text)) c == 'Z' ? iso += "+00:00" : iso += c;
  return read_iso(iso);
}

bool is_naive(const JsonMemberText& value) {
  const std::optional<WrittenTime> written = written_time(value);
  return written && !written->offset_us;
}

std::optional<double> unix_seconds(const JsonMemberText& value, const Zone& zone) {
  if (const JsonValue scalar = value.scalar(); scalar.is_number()) {
    if (!scalar.is_finite_number()) return std::nullopt;
    return epoch_seconds(scalar.as_double());
  }
  constexpr std::int64_t kMicros = 1'000'000;
  const std::optional<WrittenTime> written = written_time(value);
  if (!written) return std::nullopt;
  if (written->offset_us) {
    return seconds_of(written->clock_s * kMicros + written->micros - *written->offset_us);
  }
  const std::optional<std::int64_t> unix_s = zone.unix_from_local(written->clock_s);
  if (!unix_s) return std::nullopt;
  return seconds_of(*unix_s * kMicros + written->micros);
}

std::string described(std::string_view key, const JsonMemberText& value) {
  return fmt::format("'{}' is {}", key, printable(value.spelling));
}

bool is_after(Window window) {
  return window.duration_s() > 0 && std::isfinite(window.duration_s());
}

// The window, or the reason against it.
struct WindowReading {
  std::optional<Window> window = {};
  Reasons fault = {};
  std::string doubt = {};
};

WindowReading no_window(Reason reason, std::string detail) {
  WindowReading none;
  none.fault.add(reason, std::move(detail));
  return none;
}

std::string doubt_about(Window window, Window requests) {
  if (requests.end_unix_s >= window.start_unix_s && requests.start_unix_s <= window.end_unix_s) {
    return {};
  }
  return fmt::format(
      "the window is from {:.3f} to {:.3f}, and all requests were from {:.3f} to {:.3f}: the zone of start_time and end_time may be wrong",
      window.start_unix_s, window.end_unix_s, requests.start_unix_s, requests.end_unix_s);
}

// From start_time to end_time. `requests` as Tally has them.
WindowReading window_of(const JsonMemberText& start, const JsonMemberText& end,
                        const ProfileZone& stated, const std::optional<Window>& requests) {
  if (start.kind == JsonKind::null || end.kind == JsonKind::null) {
    return no_window(Reason::profile_window_missing,
                     fmt::format("'{}' is missing or null",
                                 start.kind == JsonKind::null ? "start_time" : "end_time"));
  }
  const bool needs_zone = is_naive(start) || is_naive(end);
  if (needs_zone && !stated.zone && !requests) return {.fault = stated.fault};
  const auto window_in = [&](const Zone& zone) -> std::optional<Window> {
    const std::optional<double> start_unix_s = unix_seconds(start, zone);
    const std::optional<double> end_unix_s = unix_seconds(end, zone);
    if (!start_unix_s || !end_unix_s) return std::nullopt;
    return Window{*start_unix_s, *end_unix_s};
  };
  const Zone zone = stated.zone.value_or(Zone::fixed(0));
  const std::optional<Window> window = window_in(zone);
  if (!window) {
    const bool is_start = !unix_seconds(start, zone);
    return no_window(Reason::profile_window_invalid,
                     is_start ? described("start_time", start) : described("end_time", end));
  }
  if (!is_after(*window)) {
    return no_window(Reason::profile_window_invalid, "the end is not after the start");
  }
  if (!needs_zone || !requests) {
    return {.window = *window, .doubt = requests ? doubt_about(*window, *requests) : ""};
  }
  ZoneOfRequests found = zone_of_requests(stated, *requests, window_in);
  if (!found.zone) return {.fault = std::move(found.fault)};
  return {.window = window_in(*found.zone)};
}

}  // namespace

LoadReading read_profile(const NamedSource& summary, const NamedSource& records,
                         const ProfileZone& stated) {
  LoadReading result;
  const auto fault = [&](Reason reason, std::string detail) {
    result.reasons.add(reason, std::move(detail));
    return result;
  };
  const std::string text = read_whole(summary.source, summary.name, kSummaryFile);
  JsonMemberText start;
  JsonMemberText end;
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
  result.cancelled_requests = tally.cancelled();
  if (tally.repeated() > 0) result.notes.push_back(repeated_text(tally.repeated()));

  WindowReading read = window_of(start, end, stated, tally.requests());
  if (!read.window) {
    result.reasons = std::move(read.fault);
    return result;
  }
  const Window window = *read.window;
  result.doubt = std::move(read.doubt);
  if (tally.completed() == 0) {
    return fault(Reason::successful_request_count_invalid,
                 fmt::format("{} failed", tally.failed()));
  }
  if (const std::string missing = tally.fault(); !missing.empty()) {
    return fault(Reason::incomplete_token_accounting, missing);
  }
  result.load = {window, window.duration_s(), tally.completed(), tally.input_tokens(),
                 tally.output_tokens()};
  result.has_window = true;
  return result;
}

std::vector<LoadReading> read_profile_files(const LoadFiles& files) {
  const ProfileZone captured = captured_zone_in(files.other(kProfileZoneRole));
  const LoadFile summary = files.other(kProfileSummaryRole);
  if (!summary.source) {
    LoadReading none;
    none.reasons.add(Reason::profile_artifacts_missing, summary.name);
    return {none};
  }
  const ProfileZone stated =
      files.zone ? ProfileZone{files.zone, {}, "--profile-timezone"} : captured;
  LoadReading reading =
      read_profile({*summary.source, summary.name}, {*files.open(), files.name}, stated);
  reading.captured_zone = captured.zone;
  return {reading};
}

std::string benchmark_text(const Load& load) {
  return fmt::format(
      "{{\n  \"benchmark_start_time_unix\": {},\n  \"benchmark_end_time_unix\": {},\n"
      "  \"duration\": {},\n  \"completed\": {},\n  \"total_input_tokens\": {},\n"
      "  \"total_output_tokens\": {}\n}}",
      json_number(load.window.start_unix_s), json_number(load.window.end_unix_s),
      json_number(load.reported_duration_s), load.completed, load.total_input_tokens,
      load.total_output_tokens);
}

}  // namespace aggregate_power
