// AIPerf's exports read by themselves: profile_export_aiperf.json, or profile_export.jsonl.
// ai-dynamo/aiperf: src/aiperf/exporters/metrics_json_exporter.py.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "base/text/written_time.h"
#include "core/load/benchmark.h"
#include "generators/generators.h"

namespace aggregate_power {
namespace {

// The phase, from its first credit to its completion, in local time or as instants. It is the
// load's window unless it is longer than the load, which ends with the last response.
void set_phase(LoadReading& reading, const ResultValues& values) {
  const auto start = read_iso(values.text("start_time"));
  const auto end = read_iso(values.text("end_time"));
  if (!start || !end) return;
  const bool are_instants = start->offset_us && end->offset_us;
  const auto seconds = [&](const WrittenTime& time) {
    const double offset_s = are_instants ? static_cast<double>(*time.offset_us) / 1e6 : 0;
    return static_cast<double>(time.clock_s) + time.micros / 1e6 - offset_s;
  };
  const Window phase{seconds(*start), seconds(*end)};
  const double stated_s = reading.work.reported_duration_s;
  if (stated_s > 0 && phase.duration_s() - stated_s > most_difference_s(phase)) {
    if (are_instants) reading.clues.session = phase;
    reading.clues.end_stamp = WallStamp{phase.end_unix_s, are_instants, 0.001};
  } else if (are_instants) {
    set_exact_window(reading, phase);
  } else {
    reading.clues.local_window = phase;
  }
}

// AIPerf writes seconds ("sec") and milliseconds. 0: a unit that is not known.
double unit_s(const std::string& unit) {
  const auto is = [&](const char* name, const char* word) {
    return unit == name || unit.starts_with(word);
  };
  if (unit.starts_with('s')) return 1;
  return is("ms", "milli") ? 1e-3 : is("us", "micro") ? 1e-6 : is("ns", "nano") ? 1e-9 : 0;
}

LoadReading conclude_aiperf_summary(const ResultScope& scope) {
  const ResultValues& values = scope.values;
  LoadReading reading = stated_reading(scope);
  reading.work.reported_duration_s *= unit_s(values.text("benchmark_duration.unit"));
  reading.failed_requests = static_cast<std::uint64_t>(std::max(
      values.count("error_request_count.avg").value_or(0), values.sum("error_summary[].count")));
  if (values.text("was_cancelled") == "true") reading.defect = "AIPerf was cancelled";
  reading.stated_good = values.number("good_request_count.avg");
  reading.stated_goodput_per_s = values.number("goodput.avg");
  const auto first_ns = values.number("min_request_timestamp.avg");
  const auto last_ns = values.number("max_response_timestamp.avg");
  if (first_ns && last_ns) {
    set_exact_window(reading, {*first_ns / kNanosInSecond, *last_ns / kNanosInSecond});
  } else {
    set_phase(reading, values);
    reading.notes.emplace_back(
        "AIPerf's phase, from 'start_time' to 'end_time', may be longer than its load: profile_export.jsonl has the requests");
  }
  return reading;
}

constexpr std::string_view kTtft = "metrics.time_to_first_token.value";
constexpr std::string_view kTtftUnit = "metrics.time_to_first_token.unit";

std::optional<RequestTimes> aiperf_request(const ResultValues& values, RequestTimes request) {
  const std::string phase = values.text("metadata.benchmark_phase");
  request.cancelled = values.text("metadata.was_cancelled") == "true";
  request.failed = request.failed || request.cancelled;
  request.is_warm_up = !phase.empty() && phase != "profiling";
  const std::string unit = values.text(kTtftUnit);
  if (unit.empty() || unit == "ms") return request;  // as the paths have it
  const double known_s = unit_s(unit) > 0 ? unit_s(unit) : RequestTimes::kUnknown;
  request.first_token_s =
      request.start_s + values.number(kTtft).value_or(RequestTimes::kUnknown) * known_s;
  return request;
}

// As AIPerf's own benchmark_duration: from the first request that succeeded to the last response.
std::optional<Window> window_of_successes(const RequestTally& requests) {
  std::optional<Window> window;
  for (const RequestSpan& span : requests.spans) {
    if (!window) window = {span.start_s, span.end_s};
    window->start_unix_s = std::min(window->start_unix_s, span.start_s);
    window->end_unix_s = std::max(window->end_unix_s, span.end_s);
  }
  return window ? window : requests.window;
}

LoadReading conclude_aiperf_requests(const ResultScope& scope) {
  LoadReading reading = stated_reading(scope);
  const std::int64_t completed = scope.requests.listed - scope.requests.failed;
  const auto cancelled = static_cast<std::uint64_t>(scope.requests.cancelled);
  if (!failure_by_counts(cancelled, completed).empty()) {
    reading.notes.push_back(fmt::format(
        "AIPerf cancelled {} of {} requests itself: what they drew counts in the joules of the others",
        cancelled, scope.requests.listed));
  }
  if (const auto window = window_of_successes(scope.requests)) set_exact_window(reading, *window);
  return reading;
}

}  // namespace

const ResultFormat kAiperfSummary = {
    .generator = "AIPerf",
    .marks = {"input_config", "benchmark_duration.unit", "request_latency.unit"},
    .counts = {.completed = "request_count.avg",
               .input_tokens = "total_isl.avg",
               .output_tokens = "total_osl.avg",
               .mean_input = "input_sequence_length.avg",
               .mean_output = "output_sequence_length.avg",
               .duration = "benchmark_duration.avg"},
    .fields = {"error_summary[].count", "benchmark_duration.unit", "min_request_timestamp.avg",
               "max_response_timestamp.avg", "start_time", "end_time", "error_request_count.avg",
               "good_request_count.avg", "goodput.avg", "was_cancelled"},
    .no_window =
        "AIPerf writes 'start_time' and 'end_time' in local time without an offset; profile_export.jsonl has instants",
    .conclude = conclude_aiperf_summary};

const ResultFormat kAiperfRequests = {
    .generator = "AIPerf requests",
    .marks = {"metadata.request_start_ns", "metadata.request_end_ns", "metrics"},
    .texts = JsonTexts::several,
    .is_whole_file = true,
    .request = "",
    .request_paths = {.start = "metadata.request_start_ns",
                      .end = "metadata.request_end_ns",
                      .units = kNanosInSecond,
                      .ttft = kTtft,
                      .ttft_units = 1e3,
                      .input_tokens = "metrics.input_sequence_length.value",
                      .output_tokens = "metrics.output_sequence_length.value",
                      .recount = "metrics.usage_completion_tokens.value",
                      .id = "metadata.x_request_id",
                      .place = {"metadata.session_num", "metadata.turn_index"},
                      .error = "error"},
    .request_fields = {"metadata.benchmark_phase", "metadata.was_cancelled", "error.code",
                       kTtftUnit},
    .request_of = aiperf_request,
    .no_window = "no request in it has both times",
    .conclude = conclude_aiperf_requests};

// ---- Finds the zone of a profile's times by its requests.

namespace {

// How far a request may reach beyond the window. Requests are timed by the workers, start_time and
// end_time by the manager, whose clock may differ by seconds if they are on several machines, and
// the last responses come after the phase has ended. Offsets are 900 s apart, so with less than
// half of that no request fits two offsets because of the tolerance alone.
constexpr double kTolerance_s = 60;

constexpr std::int32_t kQuarterHour_s = 900;
constexpr std::int32_t kFarthestWest_s = -12 * 3600;
constexpr std::int32_t kFarthestEast_s = 14 * 3600;

// Requests whose times are missing would only reach further: the zone that was is never excluded.
bool contains(const std::optional<Window>& window, Window requests) {
  return window && window->duration_s() > 0 &&
         window->start_unix_s <= requests.start_unix_s + kTolerance_s &&
         window->end_unix_s >= requests.end_unix_s - kTolerance_s;
}

std::vector<Zone> zones_of(Window requests, const WindowIn& window_in) {
  std::vector<Zone> zones;
  for (std::int32_t offset_s = kFarthestWest_s; offset_s <= kFarthestEast_s;
       offset_s += kQuarterHour_s) {
    const Zone zone = Zone::fixed(offset_s);
    if (contains(window_in(zone), requests)) zones.push_back(zone);
  }
  return zones;
}

std::string names_of(const std::vector<Zone>& zones) {
  constexpr std::size_t kMostShown = 3;
  std::vector<std::string> names;
  for (const Zone& zone : zones) {
    if (names.size() < kMostShown) names.push_back(zone.name());
  }
  return fmt::format("{}{}", fmt::join(names, ", "), zones.size() > kMostShown ? ", ..." : "");
}

std::string contradiction_text(Window requests, const std::vector<Zone>& zones) {
  const std::string when = fmt::format("the requests, from {:.3f} to {:.3f},",
                                       requests.start_unix_s, requests.end_unix_s);
  return zones.empty() ? fmt::format("{} are between start_time and end_time under no offset", when)
                       : fmt::format("{} are between start_time and end_time under {}", when,
                                     names_of(zones));
}

ZoneOfRequests none(Reason reason, std::string detail) {
  ZoneOfRequests found;
  found.fault.add(reason, std::move(detail));
  return found;
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

ProfileZone captured_zone_in(const LoadFile& file) {
  ProfileZone zone;
  zone.source = file.name;
  if (file.source) zone.zone = captured_zone(read_up_to(*file.source, kMostZoneBytes));
  if (!zone.zone) {
    zone.fault.add(file.source || file.is_unreadable ? Reason::profile_timezone_offset_invalid
                                                     : Reason::profile_timezone_offset_missing,
                   file.name);
  }
  return zone;
}

ZoneOfRequests zone_of_requests(const ProfileZone& stated, Window requests,
                                const WindowIn& window_in) {
  if (stated.zone && contains(window_in(*stated.zone), requests)) return {.zone = stated.zone};
  const std::vector<Zone> zones = zones_of(requests, window_in);
  const std::string requests_text = contradiction_text(requests, zones);
  if (stated.zone) {
    return none(
        Reason::profile_timezone_offset_invalid,
        fmt::format("{} says {}, but {}", stated.source, stated.zone->name(), requests_text));
  }
  if (zones.empty()) return none(Reason::profile_window_invalid, requests_text);
  const Reasons::Entry& fault = stated.fault.entries().front();
  if (zones.size() > 1) {
    return none(fault.reason, fmt::format("{}; {}", fault.detail, requests_text));
  }
  return {.zone = zones.front()};
}

}  // namespace aggregate_power
