// Puts a package's samples in order and finds their gaps.
#include "packages/srt_slurm/srt_slurm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "packages/srt_slurm/package.h"

namespace aggregate_power {
namespace {

// The progress through the rows of one device. Small, because there may be thousands of devices,
// and each row needs its own.
struct Progress {
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  std::int64_t scrape = -1;
  double unix_s = kNever;
  double first_unix_s = -kNever;
  std::uint32_t uuid = std::numeric_limits<std::uint32_t>::max();
};

class SamplesReader {
 public:
  SamplesReader(const OpenedFile& file, const PackageSamplesRequest& request)
      : file_(file), request_(request) {}

  PackageSamples read() {
    if (!read_in_order()) {
      result_ = PackageSamples();
      progress_.clear();
      uuids_.clear();
      gaps_.clear();
      request_.start_over();
      read_sorted();
    }
    return std::move(result_);
  }

 private:
  // Returns false as soon as a device's rows are not in the order of its scrapes and of time.
  bool read_in_order() {
    PackageRows rows(file_, request_.band, request_.newest_version, result_);
    for (auto batch = rows.next(); !batch.empty(); batch = rows.next()) {
      for (const PackageSample& row : batch) {
        Progress& device = progress_of(row.device);
        if (row.scrape <= device.scrape || row.unix_s < device.unix_s) return false;
        if (row.unix_s == device.unix_s) note_same_stamp(row);
        reach(row, device);
        follow(row, device);
      }
      result_.rows += batch.size();
      request_.take(batch);
    }
    finish(rows);
    return true;
  }

  void read_sorted() {
    PackageRows reader(file_, request_.band, request_.newest_version, result_);
    std::vector<PackageSample> rows;
    for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
      append(rows, batch);
    }
    std::ranges::stable_sort(rows, [](const PackageSample& a, const PackageSample& b) {
      return std::pair(a.device, a.scrape) < std::pair(b.device, b.scrape);
    });
    const auto end =
        std::unique(rows.begin(), rows.end(), [&](const PackageSample& a, const PackageSample& b) {
          const bool is_same = a.device == b.device && a.scrape == b.scrape;
          if (is_same) note(result_.repeated, b, "the same scrape of this device again");
          return is_same;
        });
    rows.erase(end, rows.end());
    for (const PackageSample& row : rows) {
      Progress& device = progress_of(row.device);
      if (row.unix_s < device.unix_s) {
        note(result_.turned_back, row, "an earlier timestamp than the scrape before");
      }
      if (row.unix_s == device.unix_s) note_same_stamp(row);
      follow(row, device);
    }
    result_.rows = rows.size();

    std::ranges::stable_sort(rows, [](const PackageSample& a, const PackageSample& b) {
      return std::tuple(a.device, a.unix_s, a.watts) < std::tuple(b.device, b.unix_s, b.watts);
    });
    for (Progress& device : progress_) device.unix_s = Progress::kNever;
    for (const PackageSample& row : rows) {
      reach(row, progress_[row.device]);
      progress_[row.device].unix_s = row.unix_s;
    }
    request_.take(rows);
    finish(reader);
  }

  // Called in the order of scrapes.
  void follow(const PackageSample& row, Progress& device) {
    device.scrape = row.scrape;
    device.unix_s = row.unix_s;
    if (row.uuid != device.uuid) add_uuid(row, device);
  }

  void add_uuid(const PackageSample& row, Progress& device) {
    device.uuid = row.uuid;
    // More than one is a fault, no matter how many.
    constexpr std::size_t kMostUuids = 16;
    auto& uuids = uuids_[row.device];
    if (uuids.size() < kMostUuids && std::ranges::find(uuids, row.uuid) == uuids.end()) {
      uuids.push_back(row.uuid);
    }
  }

  // Called in the order of time.
  void reach(const PackageSample& row, Progress& device) {
    if (device.unix_s == Progress::kNever) {
      device.first_unix_s = row.unix_s;
    } else if (row.device < request_.most_devices) {
      note_gap(row.device, device.unix_s, row.unix_s);
    }
  }

  void note_gap(std::uint32_t device, double before, double after) {
    SampleGaps* gaps = gaps_.data() + device * request_.windows.size();
    for (const Window& window : request_.windows) {
      if (after <= window.start_unix_s) break;
      if (before < window.end_unix_s) gaps->add(before, after, window, request_.gap_budget_s);
      ++gaps;
    }
  }

  void note_same_stamp(const PackageSample& row) {
    note(result_.same_stamp, row, "the same timestamp as the scrape before");
  }

  void note(FaultyRows& rows, const PackageSample& row, const char* what) {
    const Window& band = request_.band;
    const bool is_outside = row.unix_s < band.start_unix_s || row.unix_s > band.end_unix_s;
    ++(is_outside ? rows.outside : rows.in_band);
    if (result_.first_fault.empty()) {
      result_.first_fault = fmt::format("at {:.3f}: {}", row.unix_s, what);
    }
  }

  Progress& progress_of(std::uint32_t device) {
    if (device >= progress_.size()) make_room(device + 1);
    return progress_[device];
  }

  void make_room(std::size_t devices) {
    progress_.resize(devices);
    uuids_.resize(devices);
    gaps_.resize(std::min(devices, request_.most_devices) * request_.windows.size());
  }

  void finish(const PackageRows& rows) {
    result_.windows = request_.windows;
    const std::size_t windows = request_.windows.size();
    for (std::uint32_t i = 0; i < progress_.size(); ++i) {
      SeenDevice seen;
      seen.key = rows.devices()[i];
      for (const std::uint32_t uuid : uuids_[i]) seen.uuids.push_back(rows.uuids()[uuid]);
      seen.first_unix_s = progress_[i].first_unix_s;
      seen.last_unix_s = progress_[i].unix_s;
      result_.last_scrape = std::max(result_.last_scrape, progress_[i].scrape);
      if (i < request_.most_devices) {
        const SampleGaps* const gaps = gaps_.data() + i * windows;
        seen.gaps.assign(gaps, gaps + windows);
      }
      result_.devices.push_back(std::move(seen));
    }
  }

  const OpenedFile& file_;
  const PackageSamplesRequest& request_;
  PackageSamples result_;
  std::vector<Progress> progress_;                 // by device
  std::vector<std::vector<std::uint32_t>> uuids_;  // by device; empty: not seen
  std::vector<SampleGaps> gaps_;                   // by device, then window
};

}  // namespace

SeenDevices seen_devices(const PackageSamples& samples) {
  SeenDevices seen;
  for (const SeenDevice& device : samples.devices) {
    if (!device.uuids.empty()) seen[device.key] = &device;
  }
  return seen;
}

const SampleGaps* gaps_of(const PackageSamples& samples, const SeenDevice& device, Window window) {
  if (device.first_unix_s > window.start_unix_s || device.last_unix_s < window.end_unix_s ||
      device.gaps.empty()) {
    return nullptr;
  }
  const auto start_and_end = [](const Window& one) {
    return std::pair(one.start_unix_s, one.end_unix_s);
  };
  const auto at =
      std::ranges::lower_bound(samples.windows, start_and_end(window), {}, start_and_end);
  return &device.gaps[static_cast<std::size_t>(at - samples.windows.begin())];
}

PackageSamples read_package_samples(const OpenedFile& file, const PackageSamplesRequest& request) {
  return SamplesReader(file, request).read();
}

// ---- Turns what was odd about samples.csv into faults.

PackageFaults sample_faults(const PackageSamples& samples, const PackageDialect& dialect) {
  PackageFaults faults;
  const std::string first =
      samples.first_fault.empty() ? "" : fmt::format(" ({})", samples.first_fault);
  const auto fault = [&](std::string_view code, bool is_elsewhere) {
    faults.add(fmt::format("{} in samples.csv{}", code, first), is_elsewhere);
  };
  if (samples.is_missing) fault("samples_csv_missing", false);
  if (samples.has_other_header) fault("samples_csv_header_mismatch", false);
  if (samples.malformed.any() || samples.blank_rows > 0) {
    fault("samples_csv_malformed", samples.malformed.in_band == 0);
    faults.list.back().is_of_cells =
        samples.malformed.in_band > 0 && samples.malformed.in_band == samples.without_power.size();
    faults.count_elsewhere("blank_sample_row", samples.blank_rows);
    faults.count_elsewhere("malformed_sample_row", samples.malformed.outside);
  }
  if (samples.repeated.any()) {
    fault("duplicate_sample_row", samples.repeated.in_band == 0);
    faults.count_elsewhere("duplicate_sample_row", samples.repeated.outside);
  }
  const FaultyRows same = dialect.refuses_same_stamp ? samples.same_stamp : FaultyRows();
  if (samples.turned_back.any() || same.any()) {
    fault("timestamp_non_monotonic", samples.turned_back.in_band + same.in_band == 0);
    faults.count_elsewhere("timestamp_non_monotonic", samples.turned_back.outside + same.outside);
  }
  return faults;
}

// ---- Reads the rows of samples.csv, quickly where they look as expected.

namespace {

constexpr std::array<std::string_view, 10> kHeader = {
    "schema_version", "timestamp_unix", "scrape_seq",   "hostname",  "gpu_index",
    "gpu_uuid",       "power_w",        "gpu_util_pct", "sm_active", "temperature_c"};
enum Cell {
  kVersion,
  kTime,
  kScrape,
  kHost,
  kIndex,
  kUuid,
  kPower,
  kUtil,
  kSmActive,
  kTemperature
};
static_assert(kHeader.size() <= kMaxWantedColumns);
constexpr TableVersion kVersions[] = {
    {3, kHeader}, {2, std::span(kHeader).first<9>()}, {1, std::span(kHeader).first<7>()}};

// What a temperature may be, in degrees Celsius. Above the highest that a GPU can have, a cell says
// nothing; from NVML's smallest value for "unknown" on, it makes the row malformed.
constexpr double kAbsoluteZeroC = -273.15;
constexpr double kHottestC = 200;
constexpr double kUnknownC = 2147483632;

constexpr const char* kNoPower = "power_w is not a number from 0 on";
constexpr std::size_t kBatchRows = 128;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::optional<double> number(std::string_view cell) {
  const auto plain = from_text<double>(cell);
  return plain ? plain : python_float(cell);
}

std::optional<std::int64_t> whole_number(std::string_view cell) {
  const auto plain = from_text<std::int64_t>(cell);
  return plain ? plain : python_int(cell);
}

// ---- The parts of nearly all rows besides decimals, also read in place.

const char* read_comma(const char* at, const char* end) {
  return at < end && *at == ',' ? at + 1 : nullptr;
}

const char* read_text(const char* at, const char* end, std::string_view text) {
  if (static_cast<std::size_t>(end - at) < text.size()) return nullptr;
  return std::memcmp(at, text.data(), text.size()) == 0 ? at + text.size() : nullptr;
}

const char* read_line_end(const char* at, const char* end) {
  if (at < end && *at == '\r') ++at;
  return at < end && *at == '\n' ? at + 1 : nullptr;
}

// From 0 to `most`; NaN if blank.
const char* read_share(const char* at, const char* end, double most, double& share) {
  share = kNone;
  if (at < end && (*at == ',' || *at == '\r' || *at == '\n')) return at;
  at = read_decimal(at, end, share);
  return share <= most ? at : nullptr;
}

bool is_share(std::string_view cell, double most, double& share) {
  share = kNone;
  if (cell.empty()) return true;
  const auto value = number(cell);
  share = value.value_or(-1);
  return share >= 0 && share <= most;
}

// NaN if blank, or hotter than a GPU can be: `is_hot` then says so. Returns false if the row is
// malformed.
bool is_temperature(std::string_view cell, double& temperature_c, bool& is_hot) {
  temperature_c = kNone;
  if (cell.empty()) return true;
  const auto value = number(cell);
  if (!value || !(*value >= kAbsoluteZeroC && *value < kUnknownC)) return false;
  is_hot = *value > kHottestC;
  if (!is_hot) temperature_c = *value;
  return true;
}

}  // namespace

// ---- Devices

const SpelledDevices::Entry& SpelledDevices::find(std::string_view host, std::string_view index,
                                                  std::string_view uuid) {
  bool is_plain = false;
  const std::string_view spelling = spelling_of(host, index, uuid, is_plain);
  const auto [place, is_new] = places_.try_emplace(std::string(spelling), entries_.size());
  expected_ = place->second;
  if (!is_new) {
    pass();
    return entries_[place->second];
  }
  Entry& entry = entries_.emplace_back();
  pass();
  const auto number = whole_number(index);
  entry.is_sound =
      !host.empty() && !uuid.empty() && number && *number >= 0 && is_utf8(host) && is_utf8(uuid);
  if (!entry.is_sound) return entry;
  const DeviceKey key{std::string(host), *number};
  entry.device = static_cast<std::uint32_t>(
      device_numbers_.try_emplace(key, device_numbers_.size()).first->second);
  if (entry.device == keys_.size()) keys_.push_back(key);
  entry.uuid = static_cast<std::uint32_t>(
      uuid_numbers_.try_emplace(std::string(uuid), uuid_numbers_.size()).first->second);
  if (entry.uuid == uuids_.size()) uuids_.emplace_back(uuid);
  if (is_plain) {
    entry.text_begin = texts_.size();
    texts_.append(spelling).append(",");
    entry.text_size = static_cast<std::uint32_t>(texts_.size() - entry.text_begin);
  }
  return entry;
}

std::string_view SpelledDevices::spelling_of(std::string_view host, std::string_view index,
                                             std::string_view uuid, bool& is_plain) {
  const bool is_one_piece = host.data() + host.size() + 1 == index.data() &&
                            index.data() + index.size() + 1 == uuid.data() && !host.empty() &&
                            !uuid.empty();
  if (is_one_piece) {
    const std::string_view spelling(
        host.data(), static_cast<std::size_t>(uuid.data() + uuid.size() - host.data()));
    is_plain = spelling.find_first_of(std::string_view("\"\r\n\0", 4)) == spelling.npos;
    if (is_plain) return spelling;
  }
  // A quoted cell may contain anything, so the joined text must not look like other cells.
  joined_ = fmt::format("\n{} {} {}{}{}", host.size(), index.size(), host, index, uuid);
  return joined_;
}

// ---- Rows

std::span<const PackageSample> PackageRows::next() {
  batch_size_ = 0;
  try {
    if (!source_) open();
    while (batch_size_ < kBatchRows && !is_over_) {
      read_known();
      if (batch_size_ < kBatchRows) read_unknown();
    }
  } catch (const CsvError& error) {
    is_over_ = true;
    note(faults_.malformed.in_band, error.what());
  } catch (const FileError& error) {
    is_over_ = true;
    note(faults_.malformed.in_band, error.what());
  }
  return {batch_.data(), batch_size_};
}

void PackageRows::open() {
  is_over_ = true;  // until everything below succeeds
  batch_.resize(kBatchRows + kMaxBatchRows);
  source_ = decompressed(file_.source(), file_.name());
  table_.emplace(*source_, kVersions);
  faults_.has_other_header = table_->version() == 0 || table_->version() > newest_version_;
  if (faults_.has_other_header) return;
  faults_.version = table_->version();
  is_over_ = false;
}

// Nearly every row is from the expected device, spelled as before, with plain numbers. Such a row
// has no quotes, so its bytes can be split at commas.
void PackageRows::read_known() {
  if (devices_.empty()) return;
  const std::string_view ahead = table_->ahead();
  const char* const begin = ahead.data();
  const char* const end = begin + ahead.size();
  const char* at = begin;
  const std::size_t size_before = batch_size_;
  for (PackageSample& row : std::span(batch_).first(kBatchRows).subspan(batch_size_)) {
    const char* const behind = read_known_row(at, end, row);
    if (behind == nullptr) break;
    at = behind;
    ++batch_size_;
  }
  if (at == begin) return;
  row_ += batch_size_ - size_before;
  table_->skip(static_cast<std::size_t>(at - begin));
  rows_at_once_ = 1;
}

// Inline, because it is the whole of the loop above.
inline const char* PackageRows::read_known_row(const char* at, const char* end,
                                               PackageSample& row) {
  const char* const behind_scrape = read_text(at, end, scrape_text_);
  at = behind_scrape != nullptr && !scrape_text_.empty() ? behind_scrape : read_scrape(at, end);
  const SpelledDevices::Entry& device = devices_.expected();
  if (at == nullptr || device.text_size == 0) return nullptr;
  at = read_text(at, end, devices_.text(device));
  if (at == nullptr) return nullptr;
  at = read_decimal(at, end, row.watts);
  row.gpu_util_pct = row.temperature_c = kNone;
  if (at != nullptr && faults_.version >= 2) {
    double sm_active = kNone;
    at = read_comma(at, end);
    if (at != nullptr) at = read_share(at, end, 100, row.gpu_util_pct);
    if (at != nullptr) at = read_comma(at, end);
    if (at != nullptr) at = read_share(at, end, 1, sm_active);
  }
  if (at != nullptr && faults_.version >= 3) {
    at = read_comma(at, end);
    if (at != nullptr) at = read_share(at, end, kHottestC, row.temperature_c);
  }
  if (at != nullptr) at = read_line_end(at, end);
  if (at == nullptr) return nullptr;
  row.unix_s = unix_s_;
  row.scrape = scrape_;
  row.device = device.device;
  row.uuid = device.uuid;
  devices_.pass();
  return at;
}

// The cells before the host.
const char* PackageRows::read_scrape(const char* at, const char* end) {
  const char* const begin = at;
  const char version[] = {static_cast<char>('0' + faults_.version), ','};
  at = read_text(at, end, {version, sizeof(version)});
  double unix_s = 0;
  if (at != nullptr) at = read_long_decimal(at, end, unix_s);
  if (at != nullptr) at = read_comma(at, end);
  std::int64_t scrape = 0;
  if (at != nullptr) at = read_digits(at, end, scrape);
  if (at != nullptr) at = read_comma(at, end);
  if (at == nullptr) return nullptr;
  scrape_text_.assign(begin, at);
  unix_s_ = unix_s;
  scrape_ = scrape;
  return at;
}

void PackageRows::read_unknown() {
  const auto rows = table_->next_batch(rows_at_once_);
  rows_at_once_ = std::min(2 * rows_at_once_, kBatchRows);
  for (const CsvRow& row : rows) {
    if (!read_row(row)) {
      is_over_ = true;
      return;
    }
  }
  if (!rows.empty()) return;
  is_over_ = true;
  if (table_->had_nul()) note(faults_.malformed.in_band, "a NUL byte");
}

// Returns false if what follows cannot be read either.
bool PackageRows::read_row(const CsvRow& csv) {
  ++row_;
  const char* const fault = read_cells(csv, batch_[batch_size_]);
  if (fault == nullptr) {
    ++batch_size_;
    return true;
  }
  if (csv.cell_count == 0) {
    note(faults_.blank_rows, "a blank line");
    return true;
  }
  const auto unix_s = number(csv.cells[kTime]);
  const bool is_outside = unix_s && std::isfinite(*unix_s) &&
                          (*unix_s < band_.start_unix_s || *unix_s > band_.end_unix_s);
  if (fault == kNoPower && !is_outside) {
    const PackageSample& row = batch_[batch_size_];
    faults_.without_power.emplace_back(row.device, row.unix_s);
  }
  note(is_outside ? faults_.malformed.outside : faults_.malformed.in_band, fault);
  return table_->is_text(csv);
}

// What is wrong with the row; null: nothing.
const char* PackageRows::read_cells(const CsvRow& csv, PackageSample& row) {
  if (const char* const fault = table_->shape_fault(csv)) return fault;
  const auto unix_s = number(csv.cells[kTime]);
  if (!unix_s || !std::isfinite(*unix_s)) return "timestamp_unix is not a finite number";
  row.unix_s = *unix_s;
  const auto scrape = whole_number(csv.cells[kScrape]);
  if (!scrape || *scrape < 0) return "scrape_seq is not a whole number from 0 on";
  row.scrape = *scrape;
  const SpelledDevices::Entry& device =
      devices_.find(csv.cells[kHost], csv.cells[kIndex], csv.cells[kUuid]);
  if (!device.is_sound) return "no host, no uuid, or gpu_index is not a whole number from 0 on";
  row.device = device.device;
  row.uuid = device.uuid;
  const auto watts = number(csv.cells[kPower]);
  if (!watts || !std::isfinite(*watts) || *watts < 0) return kNoPower;
  row.watts = *watts;
  return read_states(csv, row);
}

const char* PackageRows::read_states(const CsvRow& csv, PackageSample& row) {
  row.gpu_util_pct = row.temperature_c = kNone;
  double sm_active = kNone;
  const bool has_shares =
      faults_.version < 2 || (is_share(csv.cells[kUtil], 100, row.gpu_util_pct) &&
                              is_share(csv.cells[kSmActive], 1, sm_active));
  if (!has_shares) return "gpu_util_pct or sm_active is out of range";
  bool is_hot = false;
  const bool has_temperature =
      faults_.version < 3 || is_temperature(csv.cells[kTemperature], row.temperature_c, is_hot);
  if (!has_temperature) return "temperature_c is not a temperature";
  if (is_hot) ++faults_.hot_cells;
  return nullptr;
}

void PackageRows::note(std::uint64_t& count, std::string_view what) {
  ++count;
  if (faults_.first_fault.empty()) {
    faults_.first_fault = row_fault(row_, what);
  }
}

// ---- Checks header, versions and cells of a strict table.

namespace {

constexpr std::size_t kHeaderBytes = 4096;

void select(CsvReader& csv, std::size_t columns) {
  std::array<std::size_t, kMaxWantedColumns> numbers;
  std::iota(numbers.begin(), numbers.end(), 0);
  csv.select(std::span(numbers).first(columns), columns);
}

bool has_header(std::string_view head, std::span<const std::string_view> columns) {
  MemorySource source(head);
  CsvReader csv(source, "", CsvBlanks::kept);
  select(csv, columns.size());
  const auto rows = csv.next_batch(1);
  return !rows.empty() && rows[0].cell_count == columns.size() &&
         std::ranges::equal(columns, std::span(rows[0].cells).first(columns.size()));
}

}  // namespace

StrictTable::StrictTable(ByteSource& source, std::span<const TableVersion> versions)
    : head_(read_up_to(source, kHeaderBytes)), csv_(source, head_, CsvBlanks::kept) {
  const auto version = std::ranges::find_if(
      versions, [&](const TableVersion& one) { return has_header(head_, one.columns); });
  if (version == versions.end()) return;
  version_ = version->number;
  columns_ = version->columns;
  select(csv_, columns());
  csv_.next_batch(1);  // the header
}

std::optional<std::size_t> StrictTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  return found == columns_.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - columns_.begin()));
}

std::string_view StrictTable::first_line() const {
  return std::string_view(head_).substr(0, head_.find_first_of("\r\n"));
}

const char* StrictTable::shape_fault(const CsvRow& row) const {
  if (row.cell_count != columns()) return "the number of cells is not the header's";
  const std::string_view cell = row.cells[0];
  const bool is_plain = cell.size() == 1 && cell[0] == static_cast<char>('0' + version_);
  return is_plain || python_int(cell) == version_ ? nullptr : "a different schema_version";
}

bool StrictTable::is_text(const CsvRow& row) const {
  return std::ranges::all_of(std::span(row.cells).first(columns()), is_utf8);
}

std::string row_fault(std::uint64_t row, std::string_view what) {
  return fmt::format("row {} after the header{}{}", row, what.empty() ? "" : ": ", what);
}

}  // namespace aggregate_power
