// Opens a stream: its beginning first, then all of it.
#include "recorders/stream_telemetry.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/text/encoding.h"
#include "base/text/json.h"
#include "base/text/unicode.h"
#include "recorders/foreign_format.h"
#include "recorders/gpu_models.h"
#include "recorders/lines.h"

namespace aggregate_power {
namespace {

// The stamp of the first row in the beginning, as it would be in UTC.
std::optional<Stamp> first_stamp_in(std::string_view head, const ReadInto& read) {
  TelemetryCounts counts;
  const Telemetry::TakeStates ignore = [](std::span<const Reading>, const RowStates&) {};
  ReadingSink sink({}, ignore, counts);
  MemorySource source(head);
  try {
    read(source, sink);
  } catch (const std::exception&) {  // cut off, or reported when all is read
  }
  return sink.first_stamp();
}

// How much of the beginning suffices to read the rest in parts; 0: none of it does. What is known
// by then of the columns, or of the metric and its labels, must not depend on what follows.
std::size_t end_of_beginning(std::string_view head, const CutOff& cut_off,
                             const StreamFormat& format) {
  if (!cut_off || head.size() < kHeadBytes) return 0;
  const std::size_t end = cut_off(head);
  if (end == 0) return 0;
  const SeriesFacts facts = format.facts_of(head.substr(0, end));
  return facts.power_column && facts.device_column ? end : 0;
}

// A recording of which `head` was read.
struct BegunStream {
  std::string head;
  std::unique_ptr<ByteSource> rest;
};

// Columns that the user names and that the format does not have.
void note_other_names(const SeriesNames& names, const ColumnNames& wanted, SeriesFacts& facts) {
  const auto check = [&](const char* option, const std::string& given,
                         const std::optional<std::string>& own) {
    if (given.empty() || given == own) return;
    facts.reasons.add(Reason::named_column_missing,
                      fmt::format("{}: no '{}'; this format has {}", option, printable(given),
                                  own ? fmt::format("'{}'", printable(*own)) : "none"));
  };
  check("--timestamp-column", wanted.timestamp, names.timestamp);
  check("--device-column", wanted.device, names.device);
  if (!wanted.all.empty()) {
    facts.reasons.add(Reason::columns_do_not_fit,
                      "--columns is for a CSV without a header, and this is not one");
  }
}

}  // namespace

Telemetry open_stream(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                      const StreamFormat& format) {
  source = as_utf8(std::move(source));
  const auto stream = std::make_shared<BegunStream>();
  stream->head = read_up_to(*source, kHeadBytes);
  stream->rest = std::move(source);
  const std::string& head = stream->head;
  TelemetryHead known;
  known.facts = format.facts_of(head);
  known.facts.first_lines = first_lines(head);
  known.facts.gpu_models = gpu_models_in(head);
  known.has_sensors = format.has_sensors;
  const std::optional<Stamp> stamp = first_stamp_in(head, format.read);
  if (stamp && stamp->naive) known.first_wall_s = stamp->unix_s;
  const Zone by_habit = known.facts.naive_is_utc ? Zone::parse("UTC") : Zone::local();
  const CutOff cut_off = format.cut_off_after ? format.cut_off_after(head) : nullptr;
  const std::size_t beginning = end_of_beginning(head, cut_off, format);
  ReadingSink::Options sink = {
      .gpus = options.gpus, .names_hosts = known.facts.names_hosts, .unit = known.facts.unit};
  return Telemetry(
      std::move(known), options.zone.value_or(by_habit),
      [=, read = format.read, has_lines = format.has_lines](const Telemetry::Wants& wants,
                                                            const Telemetry::TakeStates& take,
                                                            TelemetryCounts& counts) mutable {
        sink.zone = wants.zone;
        const StreamWants all = {sink, take, counts, wants.counters};
        const std::string_view text = stream->head;
        const StreamParts parts = {text.substr(0, beginning), text.substr(beginning), *stream->rest,
                                   cut_off};
        if (wants.threads && beginning > 0 && read_stream_on_threads(parts, read, has_lines, all)) {
          return;
        }
        ResumedSource resumed(std::move(stream->head), std::move(stream->rest));
        read_stream(resumed, read, has_lines, all);
      });
}

std::size_t end_of_lines(std::string_view bytes) { return bytes.rfind('\n') + 1; }

CutOff at_any_line(std::string_view /*head*/) { return end_of_lines; }

// A string has no bare line break, and within a text a comma or a bracket is between "}" and "{".
CutOff at_any_json_line(std::string_view /*head*/) {
  return [](std::string_view bytes) -> std::size_t {
    constexpr std::string_view kBetween = "}\n{";
    const std::size_t found = bytes.rfind(kBetween);
    return found == bytes.npos ? 0 : found + kBetween.size() - 1;
  };
}

SeriesFacts facts_of_names(const SeriesNames& names, const TelemetryOptions& options) {
  SeriesFacts facts;
  facts.schema = names.schema;
  facts.timestamp_column = names.timestamp;
  facts.power_column = names.power;
  facts.device_column = names.device;
  const bool is_named = names.power && *names.power == options.columns.power;
  const auto by_name = is_named ? power_unit_in_name(*names.power) : std::nullopt;
  facts.unit = options.columns.power_unit.value_or(by_name.value_or(names.unit));
  note_other_names(names, options.columns, facts);
  const auto add = [&](const char* what, const std::optional<std::string>& name, Reason missing,
                       const std::string& why) {
    facts.lines.push_back(
        {what, name ? fmt::format("'{}'", printable(*name)) : "none", name ? why : ""});
    if (!name) facts.reasons.add(missing);
  };
  const std::string own = "the format's own";
  add("timestamp", names.timestamp, Reason::timestamp_column_missing, own);
  add("power", names.power, Reason::power_column_missing,
      names.power_why.empty() ? own : names.power_why);
  if (names.power) {
    facts.lines.push_back({"unit", std::string(unit_symbol(facts.unit)),
                           options.columns.power_unit ? "from --power-unit"
                           : by_name                  ? "from the metric's name"
                                                      : own});
  }
  add("device", names.device, Reason::gpu_identity_column_missing, own);
  if (is_named && !options.columns.power_unit) {
    if (auto text = other_unit_text(*names.power)) {
      facts.reasons.add(Reason::power_column_missing, std::move(*text));
    }
  }
  return facts;
}

}  // namespace aggregate_power
