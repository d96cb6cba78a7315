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

// Passes bytes on and counts their lines.
class LineCounter : public ByteSource {
 public:
  explicit LineCounter(ByteSource& source) : source_(source) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    lines_ += line_breaks(into.first(count));
    if (count > 0) ends_in_line_ = into[count - 1] != '\n';
    is_at_end_ = count == 0;
    return count;
  }
  // Whether everything was read and `line`, counted from 1, is the last one and has no line break.
  bool is_cut_off(std::uint64_t line) const {
    return is_at_end_ && ends_in_line_ && line == lines_ + 1;
  }

 private:
  ByteSource& source_;
  std::uint64_t lines_ = 0;
  bool ends_in_line_ = false;
  bool is_at_end_ = false;
};

void read_stream(ByteSource& source, const ReadInto& read, bool has_lines, ReadingSink& sink) {
  LineCounter counted(source);
  try {
    read(counted, sink);
    sink.check_series();
  } catch (const JsonError& error) {
    sink.finish();
    if (!has_lines || !counted.is_cut_off(error.line())) throw TelemetryError(error.what());
    sink.skip(&Skipped::torn_tail);
  } catch (...) {
    sink.finish();
    throw;
  }
  sink.finish();
}

// The stamp of the first row in the beginning, as it would be in UTC.
std::optional<Stamp> first_stamp_in(std::string_view head, const ReadInto& read) {
  TelemetryCounts counts;
  const Telemetry::TakeStates ignore = [](std::span<const Reading>, std::span<const GpuState>) {};
  ReadingSink sink(Zone::fixed(0), {}, false, PowerUnit::Size::watt, ignore, counts);
  MemorySource source(head);
  try {
    read(source, sink);
  } catch (const std::exception&) {  // cut off, or reported when all is read
  }
  return sink.first_stamp();
}

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
                      const FactsOf& facts_of, ReadInto read, bool has_lines, bool has_sensors) {
  source = as_utf8(std::move(source));
  std::string head = read_up_to(*source, kHeadBytes);
  TelemetryHead known;
  known.facts = facts_of(head);
  known.facts.first_lines = first_lines(head);
  known.facts.gpu_models = gpu_models_in(head);
  known.has_sensors = has_sensors;
  const std::optional<Stamp> stamp = first_stamp_in(head, read);
  if (stamp && stamp->naive) known.first_wall_s = stamp->unix_s;
  const Zone by_habit = known.facts.naive_is_utc ? Zone::parse("UTC") : Zone::local();
  const std::shared_ptr<ByteSource> all =
      std::make_shared<ResumedSource>(std::move(head), std::move(source));
  const PowerUnit::Size unit = known.facts.unit;
  const bool names_hosts = known.facts.names_hosts;
  return Telemetry(
      std::move(known), options.zone.value_or(by_habit),
      [=, gpus = options.gpus](const Telemetry::Wants& wants, const Telemetry::TakeStates& take,
                               TelemetryCounts& counts) {
        ReadingSink sink(wants.zone, gpus, names_hosts, unit, take, counts);
        if (wants.counters == nullptr) return read_stream(*all, read, has_lines, sink);
        const Telemetry::TakeStates take_counters = [&](std::span<const Reading> readings,
                                                        std::span<const GpuState>) {
          wants.counters->take(readings);
        };
        ReadingSink counters(wants.zone, gpus, names_hosts, unit, take_counters,
                             wants.counters->counts);
        sink.set_counters(counters);
        read_stream(*all, read, has_lines, sink);
        counters.finish();
      });
}

SeriesFacts facts_of_names(const SeriesNames& names, const TelemetryOptions& options) {
  SeriesFacts facts;
  facts.schema = names.schema;
  facts.timestamp_column = names.timestamp;
  facts.power_column = names.power;
  facts.device_column = names.device;
  facts.unit = options.columns.power_unit.value_or(names.unit);
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
                           options.columns.power_unit ? "from --power-unit" : own});
  }
  add("device", names.device, Reason::gpu_identity_column_missing, own);
  return facts;
}

}  // namespace aggregate_power
