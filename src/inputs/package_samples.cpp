// The samples of a `dcgm-power` package.
#include "aggregate_power/inputs/package_samples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/base/archive.h"
#include "aggregate_power/base/csv.h"
#include "aggregate_power/base/python_number.h"
#include "aggregate_power/base/unicode.h"

namespace aggregate_power {
namespace {

constexpr std::array<std::string_view, 9> kHeader = {
    "schema_version", "timestamp_unix", "scrape_seq",   "hostname", "gpu_index",
    "gpu_uuid",       "power_w",        "gpu_util_pct", "sm_active"};
enum Cell { kVersion, kTime, kScrape, kHost, kIndex, kUuid, kPower, kUtil, kSmActive };
constexpr std::size_t kCells[] = {0, 7, 9};  // by version

constexpr std::size_t kHeadBytes = 4096;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool is_utf8(std::string_view text) { return replace_invalid_utf8(text) == text; }

// At most 15 digits with a point among them: they and the power of ten are exact in a double, so
// that the quotient is the nearest one. NaN for all others.
double short_number(std::string_view cell) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
  if (cell.size() < 3 || cell.size() > 16) return kNone;
  std::uint64_t digits = 0;
  std::size_t point = 0;
  if (cell[0] == '.') return kNone;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const auto digit = static_cast<unsigned>(cell[i] - '0');
    if (digit <= 9) {
      digits = digits * 10 + digit;
    } else if (cell[i] == '.' && point == 0) {
      point = i;
    } else {
      return kNone;
    }
  }
  if (point == 0 || point + 1 == cell.size()) return kNone;
  return static_cast<double>(digits) / kPowers[cell.size() - point - 1];
}

std::optional<double> number(std::string_view cell) {
  double value = short_number(cell);
  if (!std::isnan(value)) return value;
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

// Devices as rows spell them. The rows of one scrape mostly follow each other as those of the last
// one did.
class SpelledDevices {
 public:
  struct Entry {
    std::string spelling;  // host, index and uuid with commas between, or spelling_of() joined them
    bool is_sound = false;
    std::uint32_t device = 0;
    std::uint32_t uuid = 0;
  };

  const Entry& find(const CsvRow& row) {
    const std::string_view spelling = spelling_of(row);
    if (expected_ < entries_.size() && entries_[expected_].spelling == spelling) {
      const Entry& found = entries_[expected_];
      expected_ = expected_ + 1 == entries_.size() ? 0 : expected_ + 1;
      return found;
    }
    return look_up(row, spelling);
  }

  std::vector<DeviceKey>& keys() { return keys_; }
  const std::vector<std::string>& uuids() const { return uuids_; }

 private:
  std::string_view spelling_of(const CsvRow& row) {
    const std::string_view host = row.cells[kHost];
    const std::string_view index = row.cells[kIndex];
    const std::string_view uuid = row.cells[kUuid];
    const bool is_one_piece = host.data() + host.size() + 1 == index.data() &&
                              index.data() + index.size() + 1 == uuid.data() && !host.empty() &&
                              !uuid.empty();
    if (is_one_piece) {
      return {host.data(), static_cast<std::size_t>(uuid.data() + uuid.size() - host.data())};
    }
    // A quoted cell may hold anything: what is joined must not look like other cells.
    joined_ = fmt::format("\n{} {} {}{}{}", host.size(), index.size(), host, index, uuid);
    return joined_;
  }

  const Entry& look_up(const CsvRow& row, std::string_view spelling) {
    const auto [place, is_new] = places_.try_emplace(std::string(spelling), entries_.size());
    if (is_new) entries_.push_back(entry_of(row, spelling));
    expected_ = place->second + 1 == entries_.size() ? 0 : place->second + 1;
    return entries_[place->second];
  }

  Entry entry_of(const CsvRow& row, std::string_view spelling) {
    Entry entry;
    entry.spelling = spelling;
    const std::string_view host = row.cells[kHost];
    const auto index = whole_number(row.cells[kIndex]);
    entry.is_sound = !host.empty() && !row.cells[kUuid].empty() && index && *index >= 0 &&
                     is_utf8(host) && is_utf8(row.cells[kUuid]);
    if (!entry.is_sound) return entry;
    const DeviceKey key{std::string(host), *index};
    entry.device = static_cast<std::uint32_t>(
        device_numbers_.try_emplace(key, device_numbers_.size()).first->second);
    if (entry.device == keys_.size()) keys_.push_back(key);
    const std::string uuid(row.cells[kUuid]);
    entry.uuid = static_cast<std::uint32_t>(
        uuid_numbers_.try_emplace(uuid, uuid_numbers_.size()).first->second);
    if (entry.uuid == uuids_.size()) uuids_.push_back(uuid);
    return entry;
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> places_;
  std::map<DeviceKey, std::size_t> device_numbers_;
  std::unordered_map<std::string, std::size_t> uuid_numbers_;
  std::vector<DeviceKey> keys_;  // by number
  std::vector<std::string> uuids_;
  std::size_t expected_ = 0;
  std::string joined_;
};

struct Row {
  double unix_s = 0;
  double watts = 0;
  double gpu_util_pct = kNone;
  std::int64_t scrape = 0;
  std::uint32_t device = 0;
  std::uint32_t uuid = 0;
};

// One pass over the file, row by row.
class RowReader {
 public:
  RowReader(const OpenedFile& file, Window band, PackageSamples& result)
      : file_(file), band_(band), result_(result) {}

  SpelledDevices& devices() { return devices_; }

  // Gives all good rows to `take`, batch by batch, until it says that it has enough.
  template <typename Take>
  void read(const Take& take) {
    try {
      auto source = decompressed(file_.source(), file_.name());
      const std::string head = read_up_to(*source, kHeadBytes);
      if (!find_version(head)) return;
      CsvReader csv(*source, head, CsvBlanks::kept);
      select(csv, kCells[result_.version]);
      bool is_header = true;
      for (auto rows = csv.next_batch(); !rows.empty(); rows = csv.next_batch()) {
        batch_.clear();
        bool goes_on = true;
        for (const CsvRow& row : rows.subspan(is_header ? 1 : 0)) {
          goes_on = read_row(row);
          if (!goes_on) break;
        }
        is_header = false;
        if (!take(std::span<const Row>(batch_)) || !goes_on) return;
      }
      if (csv.dropped_nuls() > 0) note(result_.malformed.in_band, "a NUL");
    } catch (const CsvError& error) {
      note(result_.malformed.in_band, error.what());
    } catch (const FileError& error) {
      note(result_.malformed.in_band, error.what());
    }
  }

 private:
  static void select(CsvReader& csv, std::size_t cells) {
    std::array<std::size_t, kHeader.size()> columns;
    std::iota(columns.begin(), columns.end(), 0);
    csv.select(std::span(columns).first(cells), cells);
  }

  bool find_version(std::string_view head) {
    for (const int version : {2, 1}) {
      MemorySource source(head);
      CsvReader csv(source, "", CsvBlanks::kept);
      const std::size_t cells = kCells[version];
      select(csv, cells);
      const auto rows = csv.next_batch();
      if (rows.empty() || rows[0].cell_count != cells) continue;
      if (!std::equal(kHeader.begin(), kHeader.begin() + static_cast<std::ptrdiff_t>(cells),
                      rows[0].cells.begin())) {
        continue;
      }
      result_.version = version;
      return true;
    }
    result_.has_other_header = true;
    return false;
  }

  void note(std::uint64_t& count, std::string_view what) {
    ++count;
    if (result_.first_fault.empty()) {
      result_.first_fault = fmt::format("row {} behind the header: {}", row_, what);
    }
  }

  // False: what follows cannot be read either.
  bool read_row(const CsvRow& csv) {
    ++row_;
    Row row;
    const char* const fault = read_cells(csv, row);
    if (fault == nullptr) {
      batch_.push_back(row);
      return true;
    }
    if (csv.cell_count == 0) {
      note(result_.blank_rows, "a blank line");
      return true;
    }
    const auto unix_s = number(csv.cells[kTime]);
    const bool is_outside = unix_s && std::isfinite(*unix_s) &&
                            (*unix_s < band_.start_unix_s || *unix_s > band_.end_unix_s);
    note(is_outside ? result_.malformed.outside : result_.malformed.in_band, fault);
    return std::ranges::all_of(csv.cells, is_utf8);
  }

  // What is wrong with it; null: nothing.
  const char* read_cells(const CsvRow& csv, Row& row) {
    if (csv.cell_count != kCells[result_.version]) return "another number of cells";
    if (!is_version(csv.cells[kVersion])) return "another schema_version";
    if (csv.cells[kTime] != time_text_) {
      const auto unix_s = number(csv.cells[kTime]);
      if (!unix_s || !std::isfinite(*unix_s)) return "timestamp_unix is no finite number";
      time_text_ = csv.cells[kTime];
      unix_s_ = *unix_s;
    }
    row.unix_s = unix_s_;
    if (csv.cells[kScrape] != scrape_text_) {
      const auto scrape = whole_number(csv.cells[kScrape]);
      if (!scrape || *scrape < 0) return "scrape_seq is no whole number from 0 on";
      scrape_text_ = csv.cells[kScrape];
      scrape_ = *scrape;
    }
    row.scrape = scrape_;
    const SpelledDevices::Entry& device = devices_.find(csv);
    if (!device.is_sound) return "no host, no uuid, or gpu_index is no whole number from 0 on";
    row.device = device.device;
    row.uuid = device.uuid;
    const std::string_view power = csv.cells[kPower];
    row.watts = short_number(power);
    if (std::isnan(row.watts)) {
      const auto any = number(power);
      if (!any || !std::isfinite(*any) || *any < 0) return "power_w is no number from 0 on";
      row.watts = *any;
    }
    if (result_.version == 2) {
      double sm_active = kNone;
      if (!read_share(csv.cells[kUtil], 100, row.gpu_util_pct) ||
          !read_share(csv.cells[kSmActive], 1, sm_active)) {
        return "gpu_util_pct or sm_active is out of range";
      }
    }
    return nullptr;
  }

  bool is_version(std::string_view cell) const {
    const char digit = static_cast<char>('0' + result_.version);
    if (cell.size() == 1 && cell[0] == digit) return true;
    return whole_number(cell) == result_.version;
  }

  static bool read_share(std::string_view cell, double most, double& share) {
    if (cell.empty()) return true;
    const auto value = number(cell);
    share = value.value_or(-1);
    return share >= 0 && share <= most;
  }

  const OpenedFile& file_;
  Window band_;
  PackageSamples& result_;
  SpelledDevices devices_;
  std::vector<Row> batch_;
  std::uint64_t row_ = 0;  // behind the header
  // The rows of one scrape of one host share these.
  std::optional<std::string> time_text_;
  double unix_s_ = 0;
  std::optional<std::string> scrape_text_;
  std::int64_t scrape_ = 0;
};

// What is known of a device while its rows come in the order of its scrapes.
struct Progress {
  bool is_met = false;
  std::int64_t scrape = -1;
  double unix_s = 0;
  double least_unix_s = 0;
  double most_unix_s = 0;
  std::vector<std::uint32_t> uuids;

  void add(const Row& row) {
    least_unix_s = is_met ? std::min(least_unix_s, row.unix_s) : row.unix_s;
    most_unix_s = is_met ? std::max(most_unix_s, row.unix_s) : row.unix_s;
    is_met = true;
    scrape = row.scrape;
    unix_s = row.unix_s;
    // More than one are a fault, however many.
    constexpr std::size_t kMostUuids = 16;
    if (uuids.size() < kMostUuids && std::ranges::find(uuids, row.uuid) == uuids.end()) {
      uuids.push_back(row.uuid);
    }
  }
};

class SamplesReader {
 public:
  SamplesReader(const OpenedFile& file, Window band,
                const std::function<void(std::span<const PackageSample>)>& take,
                const std::function<void()>& start_over)
      : file_(file), band_(band), take_(take), start_over_(start_over) {}

  PackageSamples read() {
    if (!read_in_order()) {
      result_ = PackageSamples();
      progress_.clear();
      start_over_();
      read_sorted();
    }
    return std::move(result_);
  }

 private:
  // False as soon as a device's rows are not in the order of its scrapes and of time.
  bool read_in_order() {
    RowReader rows(file_, band_, result_);
    bool is_in_order = true;
    rows.read([&](std::span<const Row> batch) {
      samples_.clear();
      for (const Row& row : batch) {
        Progress& device = progress_of(row.device);
        if (device.is_met && (row.scrape <= device.scrape || row.unix_s < device.unix_s)) {
          is_in_order = false;
          return false;
        }
        count(row, device);
        samples_.push_back({row.unix_s, row.watts, row.device, row.gpu_util_pct});
      }
      take_(samples_);
      return true;
    });
    if (is_in_order) finish(rows.devices());
    return is_in_order;
  }

  void read_sorted() {
    RowReader reader(file_, band_, result_);
    std::vector<Row> rows;
    reader.read([&](std::span<const Row> batch) {
      rows.insert(rows.end(), batch.begin(), batch.end());
      return true;
    });
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
      return std::pair(a.device, a.scrape) < std::pair(b.device, b.scrape);
    });
    const auto end = std::unique(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      const bool is_same = a.device == b.device && a.scrape == b.scrape;
      if (is_same) note(result_.repeated, b, "a scrape of this device again");
      return is_same;
    });
    rows.erase(end, rows.end());
    for (const Row& row : rows) count(row, progress_of(row.device));
    finish(reader.devices());
    give_by_time(rows);
  }

  void count(const Row& row, Progress& device) {
    if (device.is_met && row.unix_s < device.unix_s) {
      note(result_.turned_back, row, "an earlier stamp than the scrape before");
    }
    if (device.is_met && row.unix_s == device.unix_s) {
      note(result_.same_stamp, row, "the same stamp as the scrape before");
    }
    device.add(row);
    ++result_.rows;
    result_.last_scrape = std::max(result_.last_scrape, row.scrape);
  }

  void give_by_time(std::vector<Row>& rows) {
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
      return std::tuple(a.device, a.unix_s, a.watts) < std::tuple(b.device, b.unix_s, b.watts);
    });
    samples_.clear();
    for (const Row& row : rows) {
      samples_.push_back({row.unix_s, row.watts, row.device, row.gpu_util_pct});
    }
    take_(samples_);
  }

  void note(FaultyRows& rows, const Row& row, const char* what) {
    const bool is_outside = row.unix_s < band_.start_unix_s || row.unix_s > band_.end_unix_s;
    ++(is_outside ? rows.outside : rows.in_band);
    if (result_.first_fault.empty()) {
      result_.first_fault = fmt::format("at {:.3f}: {}", row.unix_s, what);
    }
  }

  Progress& progress_of(std::uint32_t device) {
    if (device >= progress_.size()) progress_.resize(device + 1);
    return progress_[device];
  }

  void finish(SpelledDevices& devices) {
    for (std::uint32_t i = 0; i < progress_.size(); ++i) {
      SeenDevice seen;
      seen.key = devices.keys()[i];
      for (const std::uint32_t uuid : progress_[i].uuids) {
        seen.uuids.push_back(devices.uuids()[uuid]);
      }
      seen.first_unix_s = progress_[i].least_unix_s;
      seen.last_unix_s = progress_[i].most_unix_s;
      result_.devices.push_back(std::move(seen));
    }
  }

  const OpenedFile& file_;
  Window band_;
  const std::function<void(std::span<const PackageSample>)>& take_;
  const std::function<void()>& start_over_;
  PackageSamples result_;
  std::vector<Progress> progress_;
  std::vector<PackageSample> samples_;
};

}  // namespace

PackageSamples read_package_samples(const OpenedFile& file, Window band,
                                    const std::function<void(std::span<const PackageSample>)>& take,
                                    const std::function<void()>& start_over) {
  return SamplesReader(file, band, take, start_over).read();
}

}  // namespace aggregate_power
