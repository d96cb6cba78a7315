// Opens a stream: its beginning first, then all of it, by one worker or several.
#include "recorders/recorders.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/text/csv.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "core/energy/recording_summary.h"
#include "core/telemetry/gpu_names.h"
#include "core/telemetry/lines.h"

namespace aggregate_power {
namespace {

// Passes bytes on and counts their lines.
class LineCounter : public ByteSource {
 public:
  explicit LineCounter(ByteSource& source) : source_(source) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = source_.read(into);
    lines_ += static_cast<std::uint64_t>(std::ranges::count(into.first(count), '\n'));
    if (count > 0) ends_in_line_ = into[count - 1] != '\n';
    is_at_end_ = count == 0;
    return count;
  }
  std::uint64_t lines() const { return lines_; }
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

// Throws `fault`, whose line is `lines` further down in the recording.
[[noreturn]] void throw_as_telemetry_error(const std::exception_ptr& fault, std::uint64_t lines) {
  try {
    std::rethrow_exception(fault);
  } catch (const JsonError& error) {
    throw TelemetryError(error.moved_by(lines).what());
  } catch (const CsvError& error) {
    throw TelemetryError(error.what());
  } catch (const OtherHeader& header) {
    throw TelemetryError(
        fmt::format("line {} is a header with other columns: split the recording before it",
                    header.line + lines));
  }
}

// Null: there was none, apart from a torn tail, which is counted.
std::exception_ptr read_or_fault(LineCounter& source, const ReadInto& read, bool has_lines,
                                 ReadingSink& sink) {
  try {
    read(source, sink);
  } catch (const JsonError& error) {
    if (!has_lines || !source.is_cut_off(error.line())) return std::current_exception();
    sink.skip(&Skipped::torn_tail);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void name_bad_row(TelemetryCounts& counts) {
  if (counts.first_bad_row == 0) return;
  counts.first_bad_stamp += fmt::format(" in row {}", counts.first_bad_row);
  counts.first_bad_row = 0;
}

void note_series(const SeriesOverlap& series, TelemetryCounts& counts) {
  counts.silent_series = series.silent();
  counts.identity_conflicts = series.conflicts();
  for (auto& [device, key] : series.keys()) {
    if (device >= counts.devices.size()) continue;
    while (counts.keys.size() <= device) {
      counts.keys.push_back(key_of_name(counts.devices[counts.keys.size()], false));
    }
    counts.keys[device] = key;
  }
}

// What is read from a recording, and where it goes.
struct StreamWants {
  ReadingSink::Options options;
  const Telemetry::TakeStates& take;
  TelemetryCounts& counts;
  CounterStream* counters = nullptr;  // may be null
};

// Where the readings of one kind of all workers go.
struct StreamOutput {
  Telemetry::TakeStates take;
  TelemetryCounts& counts;
  DeviceNames devices = {};
};

// A worker's readings of one kind, which it passes on when it is its turn.
class WorkerSink {
 public:
  WorkerSink(const ReadingSink::Options& options, StreamOutput& output)
      : output_(output), sink_(options, pass_, counts_) {}

  ReadingSink& sink() { return sink_; }
  void begin(BlockSource& blocks) { blocks_ = &blocks; }
  void give() {
    sink_.finish();
    add_counts();
  }
  void forget() {
    sink_.finish();
    TelemetryCounts none;
    none.devices = std::move(counts_.devices);
    counts_ = std::move(none);
  }
  // Of the worker's devices in the whole recording.
  std::span<const std::uint32_t> numbers() const { return numbers_; }

 private:
  void add_counts() {
    for (const std::string& name : counts_.devices) {
      std::vector<std::string>& all = output_.counts.devices;
      const std::uint32_t number = output_.devices.find(name);
      if (number == all.size()) all.push_back(name);
      has_others_ = has_others_ || number != numbers_.size();
      numbers_.push_back(number);
    }
    output_.counts.add_rows(std::exchange(counts_, {}));
  }

  void pass_on(std::span<const Reading> readings, const RowStates& states) {
    if (!blocks_->wait_for_turn()) return;  // another worker's beginning
    add_counts();
    if (!has_others_) return output_.take(readings, states);
    renumbered_.assign(readings.begin(), readings.end());
    for (Reading& reading : renumbered_) {
      if (reading.device < numbers_.size()) reading.device = numbers_[reading.device];
    }
    output_.take(renumbered_, states);
  }

  StreamOutput& output_;
  BlockSource* blocks_ = nullptr;
  TelemetryCounts counts_;  // of rows that were not passed on yet
  std::vector<std::uint32_t> numbers_;
  bool has_others_ = false;  // some devices have other numbers in the whole recording
  std::vector<Reading> renumbered_;
  const Telemetry::TakeStates pass_ = [this](std::span<const Reading> readings,
                                             const RowStates& states) {
    pass_on(readings, states);
  };
  ReadingSink sink_;  // last, because it uses the others
};

// Reads any blocks of a recording, after its beginning.
class StreamWorker : public BlockWorker {
 public:
  StreamWorker(const StreamFormat& format, const ReadingSink::Options& options, StreamOutput& power,
               StreamOutput* counters, std::uint64_t& lines)
      : format_(format), lines_(lines), power_(options, power) {
    if (counters != nullptr)
      power_.sink().set_counters(counters_.emplace(options, *counters).sink());
  }

  void read(BlockSource& blocks) override {
    for_each_sink([&](WorkerSink& sink) { sink.begin(blocks); });
    counted_.emplace(blocks);
    const std::exception_ptr fault =
        read_or_fault(*counted_, format_.read, format_.has_lines, power_.sink());
    if (!fault) return;
    throw_as_telemetry_error(fault, blocks.wait_for_turn() ? lines_ - lines_before_ : 0);
  }
  void give() override {
    for_each_sink([](WorkerSink& sink) { sink.give(); });
  }
  void end_block() override {
    lines_ += counted_->lines() - lines_before_;
    lines_before_ = counted_->lines();
  }
  void forget() override {
    for_each_sink([](WorkerSink& sink) { sink.forget(); });
    lines_before_ = counted_->lines();
  }
  void merge_series(SeriesOverlap& into) { into.merge(power_.sink().series(), power_.numbers()); }

 private:
  template <typename Do>
  void for_each_sink(const Do& act) {
    act(power_);
    if (counters_) act(*counters_);
  }

  const StreamFormat& format_;
  std::uint64_t& lines_;  // of all blocks that were given out
  WorkerSink power_;
  std::optional<WorkerSink> counters_;
  std::optional<LineCounter> counted_;
  std::uint64_t lines_before_ = 0;  // which this worker read before its block
};

void read_stream(const StreamParts& parts, const StreamFormat& format, const Workers& most,
                 const StreamWants& wants) {
  StreamOutput power = {wants.take, wants.counts};
  std::optional<StreamOutput> counters;
  if (wants.counters != nullptr) {
    counters.emplace(StreamOutput{[&](std::span<const Reading> readings, const RowStates&) {
                                    wants.counters->take(readings);
                                  },
                                  wants.counters->counts});
  }
  std::uint64_t lines = 0;
  std::vector<std::unique_ptr<BlockWorker>> workers;
  std::vector<StreamWorker*> of_stream;
  while (workers.size() < most.count) {
    auto worker = std::make_unique<StreamWorker>(format, wants.options, power,
                                                 counters ? &*counters : nullptr, lines);
    of_stream.push_back(worker.get());
    workers.push_back(std::move(worker));
  }
  std::exception_ptr fault;
  try {
    parallel_read(parts, most.block_bytes, workers);
  } catch (...) {
    fault = std::current_exception();
  }
  name_bad_row(wants.counts);
  if (counters) name_bad_row(counters->counts);
  if (fault) std::rethrow_exception(fault);
  SeriesOverlap series;
  for (StreamWorker* const worker : of_stream) worker->merge_series(series);
  note_series(series, wants.counts);
}

// ---- The beginning

struct FirstRows {
  std::optional<Stamp> stamp;  // of the first one, as it would be in UTC
  double step_s = 0;           // between two of the first device, usually; 0: there are none
};

FirstRows first_rows_in(std::string_view head, const ReadInto& read) {
  TelemetryCounts counts;
  std::vector<double> steps_s;
  std::optional<double> last_unix_s;
  const Telemetry::TakeStates take = [&](std::span<const Reading> readings, const RowStates&) {
    for (const Reading& reading : readings) {
      if (reading.kind != Reading::Kind::power || reading.device != 0) continue;
      if (last_unix_s) steps_s.push_back(reading.unix_s - *last_unix_s);
      last_unix_s = reading.unix_s;
    }
  };
  ReadingSink sink({}, take, counts);
  MemorySource source(head);
  try {
    read(source, sink);
  } catch (const std::exception&) {  // cut off, or reported when all is read
  }
  sink.finish();
  return {sink.first_stamp(), steps_s.empty() ? 0 : quantile_of(std::move(steps_s), 0.5)};
}

// To version 0.17.8 W&B writes the mean of 15 samples each 30 s, and no file says the version.
void note_means(double step_s, SeriesFacts& facts) {
  constexpr double kMeans_s = 30;
  constexpr double kOff_s = 1.5;
  if (facts.sensor.collector != "W&B" || std::abs(step_s - kMeans_s) > kOff_s) return;
  facts.sensor.averaging = "over the period before the stamp";
  facts.warnings.emplace_back(
      "means_of_30_s: W&B up to 0.17.8 writes the mean of each 30 s, stamped at the end: the rows, 30 s apart, are read so");
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
  const FirstRows first = first_rows_in(head, format.read);
  const std::optional<Stamp>& stamp = first.stamp;
  note_means(first.step_s, known.facts);
  if (stamp && stamp->naive) known.first_wall_s = stamp->unix_s;
  const Zone by_habit = known.facts.naive_is_utc ? Zone::parse("UTC") : Zone::local();
  const CutOff cut_off = format.cut_off_after ? format.cut_off_after(head) : nullptr;
  const std::size_t beginning = end_of_beginning(head, cut_off, format);
  ReadingSink::Options sink = {
      .gpus = options.gpus, .names_hosts = known.facts.names_hosts, .unit = known.facts.unit};
  return Telemetry(
      std::move(known), options.zone.value_or(by_habit),
      [=, how = StreamFormat{{}, format.read, format.has_lines}](const Telemetry::Wants& wants,
                                                                 const Telemetry::TakeStates& take,
                                                                 TelemetryCounts& counts) mutable {
        sink.zone = wants.zone;
        const std::string_view text = stream->head;
        Workers workers = wants.workers;
        if (beginning == 0) workers.count = 1;
        read_stream({text.substr(0, beginning), text.substr(beginning), *stream->rest, cut_off},
                    how, workers, {sink, take, counts, wants.counters});
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
  if (names.is_only_power && !options.columns.power.empty() && !is_named) {
    facts.reasons.add(Reason::named_column_missing, "--power-column: this format has its own");
  }
  return facts;
}

SeriesFacts facts_of_series(SeriesNames names, const PowerSeries& power,
                            const TelemetryOptions& options, std::string_view no_power) {
  if (!names.power && !power.metric().empty()) names.power = power.metric();
  if (!names.device && !power.label().empty()) names.device = power.label();
  if (!options.columns.power.empty()) names.power_why = "named by --power-column";
  TelemetryOptions others = options;
  if (!power.label().empty()) others.columns.device.clear();
  SeriesFacts facts = facts_of_names(names, others);
  facts.names_hosts = power.names_hosts();
  facts.sensor = power.sensor();
  if (!names.power) facts.reasons.explain(Reason::power_column_missing, std::string(no_power));
  return facts;
}

// ---- Rows of tables with commas

void split_row(std::string_view line, RowCells& cells, Cells& copies) {
  cells.clear();
  if (std::ranges::any_of(line, [](char c) { return c == '"' || (c >= 0 && c < ' '); })) {
    copies = cells_of_line(line);
    cells.assign(copies.begin(), copies.end());
    return;
  }
  for (std::size_t comma = line.find(','); comma != line.npos; comma = line.find(',')) {
    cells.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  cells.push_back(line);
}

Cells cells_if_any(std::string_view line) {
  try {
    return cells_of_line(line);
  } catch (const CsvError&) {
    return {};
  }
}

std::string_view cell_of(const RowCells& cells, std::size_t index) {
  return index < cells.size() ? strip(cells[index]) : std::string_view();
}

}  // namespace aggregate_power
