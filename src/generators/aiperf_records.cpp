// Reads the lines of a profile's records.
#include "generators/aiperf_records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/text/json_members.h"
#include "base/text/characters.h"

namespace aggregate_power {
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
    JsonMemberText cancelled;
    const bool is_object = find_members(metadata.spelling, {{"benchmark_phase", phase},
                                                            {"request_start_ns", start},
                                                            {"request_end_ns", end},
                                                            {"was_cancelled", cancelled},
                                                            {"x_request_id", id}});
    if (!is_object) throw Error("'metadata' is not an object");
    // Before there were phases, all requests were profiling.
    record.is_profiling = phase.kind == JsonKind::null || phase.scalar().text == "profiling";
    record.in_flight = in_flight(start, end);
    record.cancelled = cancelled.is_truthy();
    if (id.kind == JsonKind::string) record.id = id.scalar().text;
  }
  record.failed = error.is_truthy();
  if (record.is_profiling && !record.failed && metrics.kind == JsonKind::object) {
    JsonMemberText input;
    JsonMemberText output;
    find_members(metrics.spelling,
                 {{"input_sequence_length", input}, {"output_sequence_length", output}});
    record.input_tokens = tokens(input);
    record.output_tokens = tokens(output);
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
