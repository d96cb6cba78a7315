// Reads an AIPerf profile and tallies its records.
#include "generators/aiperf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "base/text/timestamp.h"
#include "base/text/written_time.h"

namespace aggregate_power {
namespace {

// Tallies the records of a profile.
class Tally {
 public:
  void take(const ProfileRecord& record) {
    if (!record.is_profiling) return;
    if (is_repeated(record)) {
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
    if (record.in_flight && record.in_flight->duration_s() > 0) {
      doubts_.take(record.output_tokens, record.usage_tokens);
    }
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
  std::string doubt() const { return seen_.doubt(); }
  const OutputDoubts& doubts() const { return doubts_; }
  // Empty: each record that counts has both lengths, and there are tokens.
  std::string fault() const {
    if (without_length_ > 0) {
      return fmt::format("{} of {} successful requests", without_length_, completed_);
    }
    if (input_tokens_ == 0) return "all inputs are empty";
    return output_tokens_ == 0 ? "all outputs are empty" : "";
  }

 private:
  bool is_repeated(const ProfileRecord& record) {
    if (!record.in_flight) return false;
    return seen_.is_repeated(record.id,
                             {.start_s = record.in_flight->start_unix_s,
                              .end_s = record.in_flight->end_unix_s,
                              .input_tokens = record.input_tokens.value_or(-1),
                              .output_tokens = record.output_tokens.value_or(-1)},
                             record.place);
  }
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
  OutputDoubts doubts_;
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
  if (std::string doubt = tally.doubt(); !doubt.empty()) {
    return fault(Reason::profile_artifacts_invalid,
                 fmt::format("{}: {}", records.name, std::move(doubt)));
  }
  result.failed_requests = tally.failed();
  result.cancelled_requests = tally.cancelled();
  if (tally.repeated() > 0) result.notes.push_back(repeated_text(tally.repeated()));
  for (std::string& note :
       tally.doubts().texts("output_sequence_length", "usage_completion_tokens")) {
    result.notes.push_back(std::move(note));
  }

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

// ---- Finds the files of an agentic run.

bool is_records_name(std::string_view name) { return is_compressed_or(name, kProfileRecords); }

std::vector<std::string> all_records(const Tree& tree, const std::string& profile_folder) {
  std::vector<std::string> all;
  const auto look_in = [&](const std::string& prefix) {
    for (const std::string_view compression : kCompressions) {
      std::string path = fmt::format("{}{}{}", prefix, kProfileRecords, compression);
      if (!tree.find_file(fmt::format("{}/{}", profile_folder, path))) continue;
      all.push_back(std::move(path));
      return;
    }
  };
  look_in("");
  if (!tree.has_folder(profile_folder)) return all;
  std::set<std::string> folders;
  tree.list(profile_folder, [&](const TreeEntry& entry) {
    const bool is_folder =
        entry.kind == TreeEntry::Kind::folder || entry.kind == TreeEntry::Kind::folder_link;
    if (is_folder) folders.insert(entry.name);
  });
  for (const std::string& folder : folders) look_in(folder + "/");
  return all;
}

std::optional<std::string> find_records(const Tree& tree, const std::string& profile_folder) {
  std::vector<std::string> all = all_records(tree, profile_folder);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

std::optional<std::string> written_concurrency(std::string_view text) {
  const bool is_number =
      !text.empty() && text[0] != '0' && text.find_first_not_of("0123456789") == text.npos;
  return is_number ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<std::string> formal_concurrency(std::string_view name) {
  constexpr std::string_view kBegin = "agentic_power_concurrency_";
  constexpr std::string_view kEnd = ".json";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  if (name.size() < kBegin.size() + kEnd.size()) return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  return written_concurrency(name);
}

std::vector<std::string> formal_results(const Tree& tree, const std::string& folder) {
  std::vector<std::string> names;
  if (!tree.has_folder(folder)) return names;
  tree.list(folder, [&](const TreeEntry& entry) {
    const bool is_file = entry.kind == TreeEntry::Kind::file;
    if (is_file && formal_concurrency(entry.name)) names.push_back(entry.name);
  });
  std::ranges::sort(names);
  return names;
}

// ---- Reads the lines of a profile's records.

namespace {

// A request's stamps are a few hundred bytes, and the gaps between its tokens some 20 each.
constexpr std::size_t kMostRecordBytes = std::size_t{64} << 20;

// Splits text at the line ends that Python's text files have: \n, \r, or both.
class Lines {
 public:
  explicit Lines(const NamedSource& from) : from_(from) {}

  // Passes each line with its number, counted from 1; blank lines are left out.
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
std::optional<std::int64_t> tokens(const JsonMemberText& metric) {
  if (metric.kind != JsonKind::object) return metric.scalar().to_int();
  JsonMemberText value;
  find_members(metric.spelling, {{"value", value}});
  return value.scalar().to_int();
}

std::optional<Window> in_flight(const JsonMemberText& start, const JsonMemberText& end) {
  const auto start_ns = start.scalar().as_integer();
  const auto end_ns = end.scalar().as_integer();
  if (!start_ns || !end_ns || *end_ns < *start_ns) return std::nullopt;
  return Window{static_cast<double>(*start_ns) / kNanosInSecond,
                static_cast<double>(*end_ns) / kNanosInSecond};
}

ProfileRecord record_of(std::string_view line) {
  JsonMemberText metadata;
  JsonMemberText metrics;
  JsonMemberText error;
  if (!find_members(line, {{"metadata", metadata}, {"metrics", metrics}, {"error", error}})) {
    throw Error("expected a JSON object");
  }
  ProfileRecord record;
  if (!metadata.spelling.empty()) {
    JsonMemberText phase;
    JsonMemberText start;
    JsonMemberText end;
    JsonMemberText id;
    JsonMemberText session;
    JsonMemberText turn;
    JsonMemberText cancelled;
    const bool is_object = find_members(metadata.spelling, {{"benchmark_phase", phase},
                                                            {"request_start_ns", start},
                                                            {"request_end_ns", end},
                                                            {"was_cancelled", cancelled},
                                                            {"session_num", session},
                                                            {"turn_index", turn},
                                                            {"x_request_id", id}});
    if (!is_object) throw Error("'metadata' is not an object");
    // Before there were phases, all requests were profiling.
    record.is_profiling = phase.kind == JsonKind::null || phase.scalar().text == "profiling";
    record.in_flight = in_flight(start, end);
    record.cancelled = cancelled.is_truthy();
    if (session.kind == JsonKind::integer && turn.kind == JsonKind::integer) {
      record.place = fmt::format("{} {}", session.spelling, turn.spelling);
    }
    if (id.kind == JsonKind::string) record.id = id.scalar().text;
  }
  record.failed = error.is_truthy();
  if (record.is_profiling && !record.failed && metrics.kind == JsonKind::object) {
    JsonMemberText input;
    JsonMemberText output;
    JsonMemberText usage;
    find_members(metrics.spelling, {{"input_sequence_length", input},
                                    {"output_sequence_length", output},
                                    {"usage_completion_tokens", usage}});
    record.input_tokens = tokens(input);
    record.output_tokens = tokens(output);
    record.usage_tokens = tokens(usage);
  }
  return record;
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

}  // namespace aggregate_power
