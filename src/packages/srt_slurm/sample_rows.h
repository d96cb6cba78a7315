// Reads the rows of a package's samples.csv in one pass over the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/system/byte_source.h"
#include "base/files/file.h"
#include "packages/srt_slurm/manifest.h"
#include "packages/srt_slurm/package_samples.h"
#include "packages/srt_slurm/strict_table.h"

namespace aggregate_power {

// The devices as rows spell them.
class SpelledDevices {
 public:
  struct Entry {
    std::uint32_t device = 0;
    std::uint32_t uuid = 0;
    bool is_sound = false;
    std::uint32_t text_size = 0;
    std::size_t text_begin = 0;
  };

  // The rows of a scrape usually follow each other in the order of the last scrape. Not when
  // empty().
  const Entry& expected() const { return entries_[expected_]; }
  void pass() { expected_ = &expected() == &entries_.back() ? 0 : expected_ + 1; }
  bool empty() const { return entries_.empty(); }
  // The cells of host, index and uuid, each with the comma after it, if that text means this device
  // wherever it occurs in a row, and the device is sound; else empty.
  std::string_view text(const Entry& entry) const {
    return {texts_.data() + entry.text_begin, entry.text_size};
  }

  const Entry& find(std::string_view host, std::string_view index, std::string_view uuid);

  const std::vector<DeviceKey>& keys() const { return keys_; }
  const std::vector<std::string>& uuids() const { return uuids_; }

 private:
  std::string_view spelling_of(std::string_view host, std::string_view index, std::string_view uuid,
                               bool& is_plain);

  std::vector<Entry> entries_;
  std::string texts_;  // side by side, because they are read one after the other
  std::unordered_map<std::string, std::size_t> places_;
  std::map<DeviceKey, std::size_t> device_numbers_;
  std::unordered_map<std::string, std::size_t> uuid_numbers_;
  std::vector<DeviceKey> keys_;
  std::vector<std::string> uuids_;
  std::size_t expected_ = 0;
  std::string joined_;
};

// Reads as strictly as the package's producer: Python's csv module without skipping blanks, int()
// and float(), the header letter by letter. Findings go into `faults`: version, header, blank and
// malformed rows, and the first fault. Never throws because of the file.
class PackageRows {
 public:
  // `band` is the time in which faulty rows matter; a header newer than `newest_version` is
  // unknown.
  PackageRows(const OpenedFile& file, Window band, int newest_version, PackageSamples& faults)
      : file_(file), band_(band), newest_version_(newest_version), faults_(faults) {}

  // The next good rows; none at the end. Valid until the next call.
  std::span<const PackageSample> next();

  const std::vector<DeviceKey>& devices() const { return devices_.keys(); }
  const std::vector<std::string>& uuids() const { return devices_.uuids(); }

 private:
  void open();
  void read_known();
  const char* read_known_row(const char* at, const char* end, PackageSample& row);
  const char* read_scrape(const char* at, const char* end);
  void read_unknown();
  bool read_row(const CsvRow& csv);
  const char* read_cells(const CsvRow& csv, PackageSample& row);
  const char* read_states(const CsvRow& csv, PackageSample& row);
  void note(std::uint64_t& count, std::string_view what);

  const OpenedFile& file_;
  Window band_;
  int newest_version_;
  PackageSamples& faults_;
  std::unique_ptr<ByteSource> source_;
  std::optional<StrictTable> table_;
  SpelledDevices devices_;
  std::vector<PackageSample> batch_;
  std::size_t batch_size_ = 0;
  std::uint64_t row_ = 0;  // after the header
  bool is_over_ = false;
  std::size_t rows_at_once_ = 1;
  // The rows of one scrape of one host share these: the cells before the host, with their commas.
  std::string scrape_text_;
  double unix_s_ = 0;
  std::int64_t scrape_ = 0;
};

}  // namespace aggregate_power
