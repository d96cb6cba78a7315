// Finds the header of a telemetry CSV and reads the rows below it.
#include "core/telemetry/csv_telemetry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/encoding.h"
#include "base/text/pattern.h"
#include "base/text/written_time.h"
#include "core/telemetry/lines.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kHeadRows = 64;  // the header must be among these
constexpr std::size_t kLongHeadRows = 4096;

// An absolute time, not seconds since some start: after 1973.
bool is_absolute_time(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  return stamp && stamp->unix_s >= kFirstAbsoluteUnixS;
}

// The rows at a file's beginning, and what is known about them.
struct Head {
  std::vector<CsvTextRow> rows;
  std::vector<std::vector<std::string>> cells;  // by row

  Rows behind(std::size_t row) const { return Rows(cells).subspan(row + 1); }
  bool is_comment(std::size_t row) const {
    return !rows[row].blank && strip(cells[row][0]).starts_with('#');
  }
};

Head split_head(std::string_view text, bool at_end, std::size_t most_rows = kHeadRows) {
  Head head;
  try {
    split_csv(text, most_rows, at_end, head.rows);
  } catch (const CsvError&) {
    if (head.rows.empty()) throw;  // otherwise the reader reports the fault later
  }
  head.cells.reserve(head.rows.size());
  std::size_t names = 0;  // cells of the last row without a list, which may be the header
  for (CsvTextRow& row : head.rows) {
    std::vector<std::string>& cells = head.cells.emplace_back(std::move(row.cells));
    const auto begins_list = [](const std::string& cell) { return cell.starts_with('['); };
    if (std::ranges::none_of(cells, begins_list)) {
      names = cells.size();
    } else if (cells.size() > names) {
      join_lists(cells, names);
    }
  }
  return head;
}

// The first row that a schema knows, else the first that the loose rule accepts; the number of rows
// if there is none.
std::size_t find_known_header(const Head& head) {
  const std::size_t none = head.rows.size();
  std::size_t first_loose = none;
  for (std::size_t i = 0; i < none; ++i) {
    if (head.rows[i].blank) continue;
    const HeaderKind kind = header_kind(head.cells[i], head.behind(i), is_absolute_time);
    if (kind == HeaderKind::of_schema) return i;
    if (kind == HeaderKind::loose && first_loose == none) first_loose = i;
  }
  return first_loose;
}

// The first row that is neither blank nor a comment; the number of rows if there is none.
std::size_t find_first_row(const Head& head) {
  std::size_t i = 0;
  while (i < head.rows.size() && (head.rows[i].blank || head.is_comment(i))) ++i;
  return i;
}

// The known header, else the first line; the number of rows if there is none.
std::size_t find_header(const Head& head) {
  std::size_t header = find_known_header(head);
  if (header == head.rows.size()) header = find_first_row(head);
  if (header == head.rows.size()) return header;
  // A repeated header counts where it first occurred, whatever the rows after it say.
  return static_cast<std::size_t>(std::ranges::find(head.cells, head.cells[header]) -
                                  head.cells.begin());
}

// Of the rows before `end`.
Skipped skipped_before(std::size_t end, const Head& head) {
  Skipped skipped;
  for (std::size_t i = 0; i < end; ++i) {
    ++(head.rows[i].blank   ? skipped.blank
       : head.is_comment(i) ? skipped.comment
                            : skipped.preamble);
  }
  return skipped;
}

// How a file begins.
struct Beginning {
  Columns columns;
  std::vector<std::string> header = {};  // or the names given
  Skipped skipped = {};                  // before the header, or before the first row
  std::size_t first = 0;                 // the first row after the header
  std::size_t end = 0;                   // the byte at which it begins
};

Columns no_columns(Reason reason, std::string detail = {}) {
  Columns columns = choose_columns({}, {}, is_absolute_time);
  columns.reasons.add(reason, std::move(detail));
  return columns;
}

std::size_t unnamed_at_end(const std::vector<std::string>& header) {
  const auto last = std::find_if_not(header.rbegin(), header.rend(),
                                     [](const std::string& name) { return strip(name).empty(); });
  return static_cast<std::size_t>(last - header.rbegin());
}

Beginning begin_by_header(const Head& head, std::size_t header, const ColumnNames& wanted) {
  Beginning begin;
  begin.header = head.cells[header];
  begin.columns = choose_columns(begin.header, head.behind(header), is_absolute_time, wanted);
  begin.columns.unnamed_cells = unnamed_at_end(begin.header);
  if (looks_like_data(begin.header)) begin.columns.reasons.add(Reason::no_header);
  begin.skipped = skipped_before(header, head);
  begin.first = header + 1;
  begin.end = head.rows[header].end;
  return begin;
}

// Why `columns`, which the given names make, are not those of the file; empty: they are. `first` is
// the file's first row.
std::string why_not_named(const ColumnNames& wanted, const Columns& columns, const Head& head,
                          std::size_t first) {
  if (first == head.rows.size()) return "the file has no row that --columns could name";
  const std::size_t header = find_known_header(head);
  if (header != head.rows.size()) {
    return fmt::format("--columns is for a file without a header, and row {} is one", header + 1);
  }
  const std::vector<std::string>& cells = head.cells[first];
  const std::size_t names = wanted.all.size();
  if (cells.size() < names ||
      !std::ranges::all_of(cells.begin() + static_cast<std::ptrdiff_t>(names), cells.end(),
                           [](const std::string& cell) { return strip(cell).empty(); })) {
    return fmt::format("--columns names {} columns, and row {} has {}", names, first + 1,
                       cells.size());
  }
  if (!columns.timestamp) return {};
  const std::string_view stamp = strip(cells[columns.timestamp->index]);
  if (StampParser(Zone::fixed(0)).parse(stamp)) return {};
  return fmt::format(
      "--columns names column {} '{}', and row {} has '{}' there, which is not a time",
      columns.timestamp->index + 1, printable(columns.timestamp->name), first + 1,
      printable(stamp));
}

// Every row is one of values. A doubt about that makes the file unusable.
Beginning begin_by_names(const Head& head, const ColumnNames& wanted) {
  Beginning begin;
  begin.header = wanted.all;
  begin.first = find_first_row(head);
  const Rows rows = Rows(head.cells).subspan(begin.first);
  begin.columns = choose_columns(begin.header, rows, is_absolute_time, wanted);
  std::string doubt = why_not_named(wanted, begin.columns, head, begin.first);
  if (!doubt.empty()) {
    begin.columns = no_columns(Reason::columns_do_not_fit, std::move(doubt));
    return begin;
  }
  begin.skipped = skipped_before(begin.first, head);
  begin.end = head.rows[begin.first].begin;
  return begin;
}

// A header with exactly the names given is the header.
Beginning begin_of(const Head& head, const ColumnNames& wanted) {
  const std::size_t header = find_header(head);
  const bool has_header = header != head.rows.size();
  const auto stripped = [](const std::string& cell) { return strip(cell); };
  const bool is_named =
      !wanted.all.empty() &&
      !(has_header && std::ranges::equal(head.cells[header], wanted.all, {}, stripped));
  if (is_named) return begin_by_names(head, wanted);
  if (has_header) return begin_by_header(head, header, wanted);
  return {.columns = no_columns(Reason::no_header)};
}

// Whether the column of the devices may be one of loads, and all rows so far are idle.
bool may_be_idle_loads(const Head& head, const Beginning& begin) {
  static const Pattern load = "(gpu|card|device).*";
  const std::optional<Column>& device = begin.columns.device;
  if (!device || head.rows.size() < kHeadRows || !load.matches(lower_ascii(device->name))) {
    return false;
  }
  const auto name_in = [&](const std::vector<std::string>& cells) {
    return device->index < cells.size() ? strip(cells[device->index]) : std::string_view();
  };
  return std::all_of(head.cells.begin() + static_cast<std::ptrdiff_t>(begin.first),
                     head.cells.end(), [&](const std::vector<std::string>& cells) {
                       return name_in(cells) == name_in(head.cells.back());
                     });
}

// The same reasons, of which the first says what the file is.
Reasons with_cause(const Reasons& reasons, std::string_view cause) {
  Reasons explained;
  for (const Reasons::Entry& entry : reasons.entries()) {
    explained.add(entry.reason, explained.empty() ? std::string(cause) : entry.detail);
  }
  return explained;
}

}  // namespace

CsvTelemetry::CsvTelemetry(std::unique_ptr<ByteSource> source, const std::optional<Zone>& zone,
                           const ColumnNames& wanted, const GpuSelection& gpus, bool reads_counters,
                           NameFormat name_format)
    : source_(as_utf8(std::move(source))),
      zone_(zone ? *zone : Zone::local()),
      reads_counters_(reads_counters),
      name_format_(name_format),
      rows_(Columns(), zone_, 0) {
  read_head(wanted, gpus);
  if (!zone && columns().naive_is_utc) use_zone(Zone::parse("UTC"));
}

void CsvTelemetry::use_zone(const Zone& zone) {
  zone_ = zone;
  rows_.use_zone(zone_);
}

void CsvTelemetry::read_head(const ColumnNames& wanted, const GpuSelection& gpus) {
  std::string text = read_up_to(*source_, kHeadBytes);
  Head head;
  try {
    head = split_head(text, text.size() < kHeadBytes);
  } catch (const CsvError& error) {
    const std::optional<ForeignFormat> foreign = format_of(text);
    if (!foreign) throw;
    throw TelemetryError(fmt::format("{}; {}", error.what(), foreign->sentence));
  }
  Beginning begin = begin_of(head, wanted);
  if (may_be_idle_loads(head, begin) || begin.columns.may_take_turns) {
    begin = begin_of(split_head(text, text.size() < kHeadBytes, kLongHeadRows), wanted);
  }
  note_format(text, begin.columns);
  const auto& timestamp = begin.columns.timestamp;
  if (timestamp && begin.first < head.cells.size() &&
      timestamp->index < head.cells[begin.first].size()) {
    note_first_stamp(strip(head.cells[begin.first][timestamp->index]));
  }
  header_ = std::move(begin.header);
  counter_ = choose_counter_column(
      header_, begin.columns.schema,
      begin.first < head.cells.size() ? head.cells[begin.first] : std::vector<std::string>());
  if (reads_counters_) count_energy(begin.columns);
  gpu_names_ = GpuNames(begin.columns.key && begin.columns.key->by_id);
  rows_ = RowReader(std::move(begin.columns), zone_, header_.size(), gpus);
  rows_.counts().skipped = begin.skipped;
  dropped_nuls_ = static_cast<std::uint64_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin.end), '\0'));
  text.erase(0, begin.end);
  ahead_ = std::move(text);
}

// Puts the counter in the place of the power. In a long table it is in other rows.
void CsvTelemetry::count_energy(Columns& columns) const {
  static const EnergyCounter& dcgm = *counter_metric("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION");
  columns.other_power.clear();
  if (columns.metric_name) {
    columns.metric = dcgm.name;
    columns.counter_unit_j = dcgm.unit_j;
  } else if (counter_) {
    columns.power = Column{counter_->index, counter_->counter.name, ""};
    columns.counter_unit_j = counter_->counter.unit_j;
    columns.counter_resolution = counter_->resolution;
  } else {
    columns.power.reset();
  }
}

std::optional<EnergyCounter> CsvTelemetry::counter() const {
  if (rows_.counts().other_counter != nullptr) return *rows_.counts().other_counter;
  if (!counter_ || columns().metric_name) return std::nullopt;
  EnergyCounter counter = counter_->counter;
  counter.unit_j *= rows_.counts().resolution.value_or(1);
  return counter;
}

std::optional<ForeignFormat> CsvTelemetry::format_of(std::string_view text) const {
  return name_format_ ? name_format_(text) : std::nullopt;
}

// For a file that is not understood, or that the loose rule may have misunderstood.
void CsvTelemetry::note_format(std::string_view text, Columns& columns) {
  first_lines_ = aggregate_power::first_lines(text);
  if (columns.timestamp && columns.power && columns.schema != "loose") return;
  const std::optional<ForeignFormat> foreign = format_of(text);
  if (!foreign || columns.reasons.contains(Reason::columns_do_not_fit)) return;
  foreign_ = foreign->sentence;
  if (foreign->is_binary) first_lines_.clear();
  columns.reasons = with_cause(columns.reasons, foreign_);
}

void CsvTelemetry::note_first_stamp(std::string_view text) {
  const auto stamp = StampParser(Zone::fixed(0)).parse(text);
  if (!stamp) return;
  if (stamp->naive) first_wall_s_ = stamp->unix_s;
  const std::optional<WrittenTime> written = read_iso(text);
  if (stamp->naive || !written || !written->offset_us) return;
  first_offset_ = {stamp->unix_s, static_cast<std::int32_t>(*written->offset_us / 1'000'000)};
}

std::string CsvTelemetry::first_bad_stamp() const {
  const RowCounts& counts = rows_.counts();
  if (counts.first_bad_row == 0) return {};
  return fmt::format("'{}' in row {} after the header", counts.first_bad_stamp,
                     counts.first_bad_row);
}

std::string CsvTelemetry::first_misfit() const {
  const RowCounts& counts = rows_.counts();
  if (counts.first_misfit_row == 0) return {};
  return fmt::format("row {} after the header {}", counts.first_misfit_row, counts.first_misfit);
}

bool CsvTelemetry::has_power_limit() const {
  const GpuStateColumns found = choose_state_columns(header_, columns().schema);
  return found.quantities[static_cast<std::size_t>(GpuQuantity::power_limit_w)].has_value();
}

void CsvTelemetry::read(const Take& take) {
  read_rows({rows_.columns_to_select(), header_.size(), nullptr},
            [&](std::span<const Reading> readings, const RowStates&) { take(readings); });
}

void CsvTelemetry::read_with_states(const TakeStates& take, GpuQuantitySet states) {
  RowSelection selection = {rows_.columns_to_select(), header_.size(), nullptr};
  GpuStateColumns cells;  // the positions in a row, as selected
  GpuStateColumns found = choose_state_columns(header_, columns().schema);
  for (std::size_t i = 0; i < kGpuQuantities; ++i) {
    if (!states[i]) found.quantities[i].reset();
  }
  if (!states[static_cast<std::size_t>(GpuQuantity::clock_reasons)]) found.reasons = {};
  if (!states[static_cast<std::size_t>(GpuQuantity::power_limit_w)]) found.other_limit.reset();
  const auto select = [&](const std::optional<std::size_t>& column) -> std::optional<std::size_t> {
    if (!column || selection.columns.size() == kMaxWantedColumns) return std::nullopt;
    selection.columns.push_back(*column);
    return selection.columns.size() - 1;
  };
  for (std::size_t i = 0; i < kGpuQuantities; ++i)
    cells.quantities[i] = select(found.quantities[i]);
  for (std::size_t i = 0; i < kReasonColumns; ++i) cells.reasons[i] = select(found.reasons[i]);
  cells.other_limit = select(found.other_limit);
  // Beside a power in another unit, a bare limit may be in either, and does not count.
  const double bare_w =
      columns().unit.size == PowerUnit::Size::watt ? 1 : std::numeric_limits<double>::quiet_NaN();
  cells.limit_unit_w = found.limit_unit_w.value_or(bare_w);
  cells.other_limit_unit_w = found.other_limit_unit_w.value_or(bare_w);
  selection.states = &cells;
  read_rows(selection, take);
}

std::vector<std::string> CsvTelemetry::devices() const {
  return columns().key ? gpu_names_.names() : rows_.devices().names();
}

// Passes on readings by the numbers of their GPUs.
void CsvTelemetry::give(RowReadings& found, const TakeStates& take) {
  const std::vector<std::string>& keys = rows_.devices().names();
  while (columns().key && numbers_.size() < keys.size()) {
    const GpuKey key = read_key(keys[numbers_.size()]);
    numbers_.push_back(names_gpu(key) ? gpu_names_.add(key) : kNoDevice);
  }
  const std::span<Reading> readings(found.readings.data(), found.count);
  for (Reading& reading : readings) {
    if (reading.device < numbers_.size()) reading.device = numbers_[reading.device];
  }
  take(readings, found.row_states());
}

std::vector<std::string> CsvTelemetry::names_of(const RowSelection& selection) const {
  return mapped<std::string>(selection.columns,
                             [&](const std::size_t column) { return header_[column]; });
}

void CsvTelemetry::fail_at_other_header() const {
  const std::uint64_t row = rows_.counts().other_header_row;
  if (row == 0) return;
  throw TelemetryError(fmt::format(
      "row {} after the header is a header with other columns: split the recording before it",
      row));
}

// Reads the rows of any blocks. It numbers the devices itself.
class CsvTelemetry::RowWorker : public BlockWorker {
 public:
  RowWorker(CsvTelemetry& whole, const RowSelection& selection, const TakeStates& take)
      : whole_(whole),
        selection_(selection),
        take_(take),
        reader_(whole.columns(), whole.zone_, selection.header_cells, whole.rows_.gpus()) {
    reader_.use_names(whole.names_of(selection));
  }

  void read(BlockSource& blocks) override {
    constexpr std::size_t kMostRows = 4096;  // that are given out at once
    csv_.emplace(blocks, "");
    csv_->select(selection_.columns, reader_.named_cells());
    while (reader_.counts().other_header_row == 0) {
      const std::span<const CsvRow> rows = csv_->next_batch();
      if (rows.empty()) return;
      reader_.read(rows, selection_.states, found_);
      if (found_.count + kMaxBatchRows > kMostRows && blocks.wait_for_turn()) give();
    }
  }

  void give() override {
    const std::unique_ptr<RowReadings, void (*)(RowReadings*)> given(
        &found_, [](RowReadings* readings) { readings->clear(); });
    const std::vector<std::string>& names = reader_.devices().names();
    while (numbers_.size() < names.size()) {
      numbers_.push_back(whole_.rows_.devices().find(names[numbers_.size()]));
      has_others_ = has_others_ || numbers_.back() + 1 != numbers_.size();
    }
    for (Reading& reading : std::span(found_.readings).first(has_others_ ? found_.count : 0)) {
      if (reading.device < numbers_.size()) reading.device = numbers_[reading.device];
    }
    whole_.rows_.counts().add(std::exchange(reader_.counts(), {}));
    whole_.dropped_nuls_ += csv_->dropped_nuls() - dropped_nuls_;
    dropped_nuls_ = csv_->dropped_nuls();
    if (found_.count > 0) whole_.give(found_, take_);
    whole_.fail_at_other_header();
  }

 private:
  CsvTelemetry& whole_;
  const RowSelection& selection_;
  const TakeStates& take_;
  RowReader reader_;
  std::optional<CsvReader> csv_;
  RowReadings found_;
  std::vector<std::uint32_t> numbers_;  // of the worker's devices in the whole file
  bool has_others_ = false;             // some have other numbers there
  std::uint64_t dropped_nuls_ = 0;      // as far as they were added
};

void CsvTelemetry::read_rows(const RowSelection& selection, const TakeStates& take) {
  if (!columns().device) rows_.devices().add_only_device(only_device_);
  std::vector<std::unique_ptr<BlockWorker>> workers;
  while (workers.size() < useful_workers()) {
    workers.push_back(std::make_unique<RowWorker>(*this, selection, take));
  }
  // As long as there was no quote, a line break certainly ends a row.
  const CutOff end_of_rows = [](std::string_view bytes) {
    return bytes.find('"') == bytes.npos ? bytes.rfind('\n') + 1 : 0;
  };
  parallel_read({{}, ahead_, *source_, end_of_rows}, workers_.block_bytes, workers);
}

// One where the rows must tell which metric is the power. Long rows take most of their time in the
// system's read(), which several do not speed up.
std::size_t CsvTelemetry::useful_workers() const {
  constexpr std::size_t kLongRowBytes = 256;
  const auto rows = static_cast<std::size_t>(std::ranges::count(ahead_, '\n'));
  const bool knows_power = !columns().metric_name || !columns().metric.empty();
  return knows_power && ahead_.size() < kLongRowBytes * rows ? workers_.count : 1;
}

namespace {

std::vector<GpuKey> keys_of(const CsvTelemetry& csv) {
  if (csv.columns().key) return csv.gpu_names().keys();
  std::vector<GpuKey> keys;
  const auto& device = csv.columns().device;
  for (const std::string& name : csv.devices()) {
    keys.push_back(key_of_name(name, csv.columns().host.has_value()));
    if (device && is_uuid_name(device->name)) keys.back() = {.uuid = name};
  }
  return keys;
}

std::vector<std::string> conflicts_of(const CsvTelemetry& csv) {
  std::vector<std::string> conflicts = csv.gpu_names().conflicts();
  const std::string& doubt = csv.columns().identity_doubt;
  if (!doubt.empty()) conflicts.push_back(doubt);
  return conflicts;
}

TelemetryCounts counts_of(const CsvTelemetry& csv) {
  return {.devices = csv.devices(),
          .keys = keys_of(csv),
          .identity_conflicts = conflicts_of(csv),
          .identity_notes = csv.gpu_names().notes(),
          .skipped = csv.skipped(),
          .rows = csv.rows(),
          .stamps = csv.stamps(),
          .naive_stamps = csv.naive_stamps(),
          .dropped_nuls = csv.dropped_nuls(),
          .first_bad_stamp = csv.first_bad_stamp(),
          .first_misfit = csv.first_misfit(),
          .counter = csv.counter()};
}

// The number in "run+gpu3.power.csv"; empty: the file has another name.
std::string gpu_of_zeus_file(std::string_view path) {
  static constexpr Pattern name = "(.*\\+)?gpu[0-9]+\\.power\\.csv(\\.gz|\\.zst)?";
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (!name.matches(file)) return {};
  const std::size_t begin = file.rfind("gpu") + 3;
  return std::string(file.substr(begin, file.find('.', begin) - begin));
}

// Names the device of all rows; `column` and `why` are for people.
void name_only_device(const std::string& gpu, const char* column, const char* why,
                      SeriesFacts& facts) {
  facts.device_column = column;
  Reasons others;
  for (const Reasons::Entry& entry : facts.reasons.entries()) {
    if (entry.reason != Reason::gpu_identity_column_missing) others.add(entry.reason, entry.detail);
  }
  facts.reasons = std::move(others);
  for (SeriesFacts::Line& line : facts.lines) {
    if (line.what == "device") line = {"device", gpu, why};
  }
}

void read_csv(CsvTelemetry& csv, const Telemetry::Wants& wants, const Telemetry::TakeStates& take,
              TelemetryCounts& counts) {
  if (!csv.columns().timestamp || !csv.columns().power) return;  // no counter
  csv.use_zone(wants.zone);
  csv.use_workers(wants.workers);
  try {
    if (wants.states.any()) {
      csv.read_with_states(take, wants.states);
    } else {
      csv.read([&](std::span<const Reading> readings) { take(readings, {}); });
    }
  } catch (const CsvError& error) {
    counts = counts_of(csv);
    throw TelemetryError(error.what());
  } catch (...) {
    counts = counts_of(csv);
    throw;
  }
  counts = counts_of(csv);
}

// Any file may be a CSV.
}  // namespace

Telemetry open_csv(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  try {
    const auto csv =
        std::make_shared<CsvTelemetry>(std::move(source), options.zone, options.columns,
                                       options.gpus, options.counters, options.name_format);
    TelemetryHead head = {series_facts(csv->columns(), options.columns), csv->first_wall_s(),
                          csv->first_offset(), counts_of(*csv)};
    if (head.facts.schema == "zeus-monitor" && !head.facts.device_column) {
      const std::string gpu = gpu_of_zeus_file(options.path);
      if (!gpu.empty()) {
        csv->use_only_device(gpu);
        name_only_device(gpu, "file name", "from the file's name", head.facts);
      }
    }
    if (const std::string& gpu = csv->columns().only_device;
        !gpu.empty() && !head.facts.device_column) {
      csv->use_only_device(gpu);
      name_only_device(gpu, "none", "the recorder's only one", head.facts);
    }
    head.facts.foreign = csv->foreign();
    head.facts.first_lines = csv->first_lines();
    head.facts.counter = csv->counter();
    head.facts.has_power_limit = csv->has_power_limit();
    return Telemetry(std::move(head), csv->zone(),
                     [csv](const Telemetry::Wants& wants, const Telemetry::TakeStates& take,
                           TelemetryCounts& counts) { read_csv(*csv, wants, take, counts); });
  } catch (const CsvError& error) {
    throw TelemetryError(error.what());
  }
}

}  // namespace aggregate_power
