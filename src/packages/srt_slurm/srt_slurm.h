// What the files of a `dcgm-power` package of srt-slurm say, and how they are checked.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aggregate_power/contract.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/sample.h"
#include "base/files/file.h"
#include "base/files/tree.h"
#include "base/system/byte_source.h"
#include "base/text/csv.h"
#include "base/text/json_value.h"
#include "core/energy/cpu_power.h"
#include "packages/srt_slurm/gap_rules.h"

namespace aggregate_power {

// ---- The CPU power of a package of several nodes, from its folder `cpu`, or from what its hosts
// recorded. It is judged separately and never affects the GPUs. Contract-october.md 2.9, 9.1.

// Where recordings of CPU power may be. The recording of the hosts counts only where the package
// has none.
struct CpuFolders {
  std::string of_package;     // LOGS/power/cpu
  std::string of_hosts = {};  // LOGS/cpu_power; empty: it is not looked for
};

// The files that CPU power may come from, whether they exist or not.
std::vector<std::string> cpu_files_of_hosts(const CpuFolders& folders);

// Returns nullopt if there is no such folder and no source is expected. Faults of the files are
// reasons, never exceptions.
std::optional<CpuPower> measure_cpu_power(const Tree& tree, const CpuFolders& folders,
                                          const CpuPowerRequest& request);

// ---- The CPU power samples of a package: `power/cpu/samples.csv`, which srt-slurm writes on the
// head node, or `cpu_power/samples.csv`, which its hosts write. Contract-october.md 9.1.

// Where a recording is from: their versions have different columns.
enum class CpuRecorder { head_node, hosts };

// Passes all good rows to `take`, in the file's order; the view is valid only during the call. The
// reasons are cpu_samples_header_mismatch, without any row, and cpu_samples_malformed: a blank row,
// too many or too few cells, another version's number, an empty name, a malformed or negative
// number, an unterminated cell. Throws what `source` throws, after the rows before it.
Reasons read_cpu_samples(ByteSource& source, CpuRecorder recorder,
                         const std::function<void(const CpuSample&)>& take);

// ---- The generations of the producer of `dcgm-power` packages, and how their rules differ. A new
// generation is one row in dialect.cpp. Contract.md C.9.

struct PackageDialect {
  std::string_view name;           // in the audit record: "pinned"
  int newest_samples_version = 1;  // of the samples.csv files that it writes

  // ---- Samples
  bool refuses_same_stamp = false;  // a scrape of a device with the stamp of the previous one is a
                                    // fault

  // ---- Windows
  bool is_lax_with_numbers = false;  // true counts as 1, and a schema_version may be 1.0
  bool needs_json_suffix = false;    // other files in the windows folder are faults
  bool needs_positive_span = false;  // a window must end after its start
  // Every further window of the same load is also a fault of the first one, not only the second.
  bool repeats_first_duplicate = false;
  bool omits_gaps_of_faulty_windows = false;  // in window_validations
};

// Those that a contract knows, ordered from the oldest.
std::span<const PackageDialect> package_dialects(Contract contract);

// ---- The manifest of a `dcgm-power` package: what was to be recorded, and by whom. Contract.md
// C.1, C.4.

// A GPU of a host. Keys sort as the producer sorts them.
struct DeviceKey {
  std::string hostname;
  std::int64_t gpu_index = 0;
  auto operator<=>(const DeviceKey&) const = default;
  std::string text() const;  // "host/3"
};

// What a worker used a GPU for.
struct Assignment {
  std::string role;  // prefill, decode, agg
  std::int64_t worker_index = 0;
  std::optional<std::int64_t> het_group;
};

struct ExpectedDevice {
  DeviceKey key;
  std::vector<Assignment> assignments;  // at least one
};

// One measured load.
struct WindowKey {
  std::string benchmark_type;
  std::int64_t concurrency = 0;
  auto operator<=>(const WindowKey&) const = default;
  std::string text() const;  // "sa-bench/4"
};

// These throw Error if the manifest is not what a producer writes. A missing list is empty.
std::vector<ExpectedDevice> expected_devices(const JsonValue& manifest);
std::vector<WindowKey> expected_windows(const JsonValue& manifest);

std::set<DeviceKey> keys_of(const std::vector<ExpectedDevice>& devices);

struct PackageContent {
  JsonValue manifest;
  std::vector<ExpectedDevice> devices;
  std::vector<WindowKey> windows;
};

// Faults of its identity, its status and its counts, one sentence each.
std::vector<std::string> manifest_faults(const JsonValue& manifest, Contract contract);

// What speaks against the clocks of the nodes, in one sentence. Returns nullopt if all clocks are
// in step, or the producer did not check. Contract-october.md 2.7.
std::optional<std::string> clock_fault(const JsonValue& manifest);

// When the recorder says that it ran; one sentence for each contradiction with the samples, which
// are from `first_unix_s` to `last_unix_s`. Contract-october.md 2.6.
std::vector<std::string> lifecycle_faults(const JsonValue& manifest, double first_unix_s,
                                          double last_unix_s);

// ---- What the samples of a package hold.

struct PackageSample {
  double unix_s = 0;
  double watts = 0;
  double gpu_util_pct = 0;   // from version 2 on, if the exporter reported it; else NaN
  double temperature_c = 0;  // from version 3 on; NaN if it was not reported
  std::int64_t scrape = 0;
  std::uint32_t device = 0;  // index into PackageSamples::devices
  std::uint32_t uuid = 0;    // equal numbers mean equal UUIDs
};

// A GPU as it appears in the samples.
struct SeenDevice {
  DeviceKey key;
  std::vector<std::string> uuids;  // in the order of their scrapes; empty: no good row names it
  double first_unix_s = 0;
  double last_unix_s = 0;
  std::vector<SampleGaps> gaps;  // by PackageSamples::windows; empty beyond `most_devices`
};
using SeenDevices = std::map<DeviceKey, const SeenDevice*>;

// Rows with one kind of fault: how many matter for a window, and how many do not.
struct FaultyRows {
  std::uint64_t in_band = 0;  // including rows of unknown time
  std::uint64_t outside = 0;
  bool any() const { return in_band + outside > 0; }
};

struct PackageSamples {
  bool is_missing = false;
  bool has_other_header = false;
  int version = 1;
  std::uint64_t rows = 0;  // good ones, each scrape of a device once
  std::int64_t last_scrape = -1;
  std::vector<Window> windows;      // PackageSamplesRequest's
  std::vector<SeenDevice> devices;  // indexed by PackageSample::device
  std::uint64_t blank_rows = 0;
  std::uint64_t hot_cells = 0;  // temperatures that no GPU has, and that are left out
  FaultyRows malformed;         // other than blank
  FaultyRows repeated;          // a scrape of a device that occurred before
  FaultyRows turned_back;       // a stamp before that of the previous scrape
  FaultyRows same_stamp;        // the same stamp as that of the previous scrape
  // Of the malformed rows that matter, those that only lack a number of power: device and stamp.
  std::vector<std::pair<std::uint32_t, double>> without_power;
  std::string first_fault;  // for people: "row 3: ..."; empty: none
};

// ---- A CSV file of a package, read as strictly as its producer reads it: Python's csv module
// without skipping blanks, the header letter by letter, UTF-8 without NUL.

// The names of a version's columns. The first one contains the version.
struct TableVersion {
  int number = 0;  // from 1 to 9
  std::span<const std::string_view> columns;
};

class StrictTable {
 public:
  // Reads the header, which must be one of these. Throws what `source` throws.
  StrictTable(ByteSource& source, std::span<const TableVersion> versions);

  int version() const { return version_; }  // 0: unknown header; the rows mean nothing then
  std::size_t columns() const { return columns_.size(); }
  // The index of a column of the header; nullopt: this version has none.
  std::optional<std::size_t> column(std::string_view name) const;
  // The header as it is in the file, for messages.
  std::string_view first_line() const;

  // As in CsvReader.
  std::span<const CsvRow> next_batch(std::size_t most_rows = kMaxBatchRows) {
    return csv_.next_batch(most_rows);
  }
  std::string_view ahead() const { return csv_.ahead(); }
  void skip(std::size_t bytes) { csv_.skip(bytes); }

  // What is wrong with the number of cells or the version of a row; null: nothing.
  const char* shape_fault(const CsvRow& row) const;
  // Whether its cells are UTF-8. If they are not, the rows after it cannot be read either.
  bool is_text(const CsvRow& row) const;
  // Only at the end: whether there was a NUL.
  bool had_nul() const { return csv_.dropped_nuls() > 0; }

 private:
  std::string head_;
  CsvReader csv_;
  int version_ = 0;
  std::span<const std::string_view> columns_;
};

// "row 3 after the header: WHAT"; WHAT may be empty.
std::string row_fault(std::uint64_t row, std::string_view what);

// ---- Reads the rows of a package's samples.csv in one pass over the file.

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

// ---- The samples of a `dcgm-power` package: samples.csv, versions 1 to 3. Contract.md C.1,
// C.4; contract-october.md 2.3.
//
// Read as strictly as its producer reads it: Python's csv module without skipping blanks, int() and
// float(), the header letter by letter.

struct PackageSamplesRequest {
  Window band;                                  // where faulty rows matter
  int newest_version = 3;                       // a newer header is unknown
  std::vector<Window> windows;                  // whose gaps are wanted; sorted by start
  double gap_budget_s = kPackageMaxSampleGapS;  // of SampleGaps
  // Gaps take memory for each device and window; with more devices they are not computed.
  std::size_t most_devices = 1 << 20;
  // Receives the samples, those of each device in time order.
  std::function<void(std::span<const PackageSample>)> take;
  // Called before everything starts over: rows out of order are read again, sorted, in memory that
  // grows with the file. Rows in order need none.
  std::function<void()> start_over = [] {};
};

// The devices with a good row. They point into `samples`.
SeenDevices seen_devices(const PackageSamples& samples);

// The gaps of a device around one of PackageSamples::windows. Returns null if its samples do not
// cover that window.
const SampleGaps* gaps_of(const PackageSamples& samples, const SeenDevice& device, Window window);

// Never throws because of the file.
PackageSamples read_package_samples(const OpenedFile& file, const PackageSamplesRequest& request);

// ---- Faults of a package, as its checks find them.

struct PackageFault {
  std::string text;
  // It concerns only other windows, or rows that no window of ours needs.
  bool is_elsewhere = false;
  // It says that one window is not usable; the package may still be what its manifest says.
  bool is_of_window = false;
  bool is_of_cells = false;  // rows of samples lack a number of power, and nothing else
  bool is_of_clock = false;  // nobody knows whether the clocks of the nodes agree
};

struct PackageFaults {
  std::vector<PackageFault> list;
  // Number of faults elsewhere, by name.
  std::map<std::string, std::uint64_t> elsewhere;

  void add(std::string text, bool is_elsewhere = false);
  // The same, but counts a fault that is elsewhere under `name`.
  void add(std::string text, bool is_elsewhere, const std::string& name);
  void count_elsewhere(const std::string& name, std::uint64_t count);
  void add(PackageFaults others);
};

}  // namespace aggregate_power
