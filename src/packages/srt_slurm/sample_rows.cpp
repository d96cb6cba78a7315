// Reads the rows of samples.csv, quickly where they look as expected.
#include "packages/srt_slurm/sample_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/text/decimal.h"
#include "base/text/python_number.h"
#include "base/text/utf8.h"

namespace aggregate_power {
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
  double value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [at, error] = std::from_chars(cell.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : python_float(cell);
}

std::optional<std::int64_t> whole_number(std::string_view cell) {
  std::int64_t value = 0;
  const char* const end = cell.data() + cell.size();
  const auto [at, error] = std::from_chars(cell.data(), end, value);
  return error == std::errc() && at == end ? std::optional(value) : python_int(cell);
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

}  // namespace aggregate_power
