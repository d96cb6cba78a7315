// Reads an AIPerf profile and tallies its records.
#include "loads/aiperf.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/json_members.h"
#include "base/text/shown_time.h"
#include "base/text/stamp.h"
#include "base/text/unicode.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

// Tallies the records of a profile.
class Tally {
 public:
  void take(const ProfileRecord& record) {
    if (!record.is_profiling) return;
    if (record.in_flight) add(*record.in_flight);
    if (record.failed) {
      ++failed_;
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

  std::uint64_t failed_ = 0;
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

std::optional<double> unix_seconds(const JsonMemberText& value, const std::optional<Zone>& zone) {
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
  const std::optional<std::int64_t> unix_s = zone->unix_from_local(written->clock_s);
  if (!unix_s) return std::nullopt;
  return seconds_of(*unix_s * kMicros + written->micros);
}

std::string described(std::string_view key, const JsonMemberText& value) {
  return fmt::format("'{}' is {}", key, printable(value.spelling));
}

}  // namespace

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

namespace {

ProfileZone zone_in(const LoadFile& file) {
  ProfileZone zone;
  if (file.source) zone.zone = captured_zone(read_up_to(*file.source, kMostZoneBytes));
  if (!zone.zone) {
    zone.fault.add(file.source || file.is_unreadable ? Reason::profile_timezone_offset_invalid
                                                     : Reason::profile_timezone_offset_missing,
                   file.name);
  }
  return zone;
}

}  // namespace

LoadReading read_profile(const NamedSource& summary, const NamedSource& records,
                         const ProfileZone& zone) {
  LoadReading result;
  const auto fault = [&](Reason reason, std::string detail) {
    result.reasons.add(reason, std::move(detail));
    return result;
  };
  const std::string text = read_all(summary.source);
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
  if (const auto& requests = tally.requests();
      requests &&
      (requests->end_unix_s < window.start_unix_s || requests->start_unix_s > window.end_unix_s)) {
    result.doubt = fmt::format(
        "the window is from {} to {}, and all requests were from {} to {}: the zone of start_time and end_time may be wrong",
        unix_and_iso(window.start_unix_s), unix_and_iso(window.end_unix_s),
        unix_and_iso(requests->start_unix_s), unix_and_iso(requests->end_unix_s));
  }
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

LoadReading read_profile_files(const LoadFiles& files) {
  ProfileZone zone{files.zone, {}};
  if (!zone.zone) zone = zone_in(files.other(kProfileZoneRole));
  const LoadFile summary = files.other(kProfileSummaryRole);
  if (!summary.source) {
    LoadReading none;
    none.reasons.add(Reason::profile_artifacts_missing, summary.name);
    return none;
  }
  LoadReading reading =
      read_profile({*summary.source, summary.name}, {*files.open(), files.name}, zone);
  if (!files.zone) reading.captured_zone = zone.zone;
  return reading;
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
