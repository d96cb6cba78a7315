// The samples of a `dcgm-power` package.
#include "aggregate_power/inputs/package_samples.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/inputs/package_rows.h"

namespace aggregate_power {
namespace {

// What is known of a device while its rows come in the order of its scrapes.
struct Progress {
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  std::int64_t scrape = -1;
  double unix_s = kNever;
  double least_unix_s = -kNever;
  double most_unix_s = kNever;
  std::uint32_t uuid = 0;
  std::vector<std::uint32_t> uuids;  // empty: not met

  void add(const PackageRow& row) {
    least_unix_s = std::min(least_unix_s, row.unix_s);
    most_unix_s = std::max(most_unix_s, row.unix_s);
    scrape = row.scrape;
    unix_s = row.unix_s;
    if (row.uuid != uuid || uuids.empty()) add_uuid(row.uuid);
  }

 private:
  void add_uuid(std::uint32_t number) {
    uuid = number;
    // More than one are a fault, however many.
    constexpr std::size_t kMostUuids = 16;
    if (uuids.size() < kMostUuids && std::ranges::find(uuids, number) == uuids.end()) {
      uuids.push_back(number);
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
    PackageRows rows(file_, band_, result_);
    for (auto batch = rows.next(); !batch.empty(); batch = rows.next()) {
      samples_.clear();
      for (const PackageRow& row : batch) {
        Progress& device = progress_of(row.device);
        if (row.scrape <= device.scrape || row.unix_s < device.unix_s) return false;
        count(row, device);
        samples_.push_back({row.unix_s, row.watts, row.device, row.gpu_util_pct});
      }
      take_(samples_);
    }
    finish(rows);
    return true;
  }

  void read_sorted() {
    PackageRows reader(file_, band_, result_);
    std::vector<PackageRow> rows;
    for (auto batch = reader.next(); !batch.empty(); batch = reader.next()) {
      rows.insert(rows.end(), batch.begin(), batch.end());
    }
    std::ranges::stable_sort(rows, [](const PackageRow& a, const PackageRow& b) {
      return std::pair(a.device, a.scrape) < std::pair(b.device, b.scrape);
    });
    const auto end =
        std::unique(rows.begin(), rows.end(), [&](const PackageRow& a, const PackageRow& b) {
          const bool is_same = a.device == b.device && a.scrape == b.scrape;
          if (is_same) note(result_.repeated, b, "a scrape of this device again");
          return is_same;
        });
    rows.erase(end, rows.end());
    for (const PackageRow& row : rows) count(row, progress_of(row.device));
    finish(reader);
    give_by_time(rows);
  }

  void count(const PackageRow& row, Progress& device) {
    if (row.unix_s < device.unix_s) {
      note(result_.turned_back, row, "an earlier stamp than the scrape before");
    }
    if (row.unix_s == device.unix_s) {
      note(result_.same_stamp, row, "the same stamp as the scrape before");
    }
    device.add(row);
    ++result_.rows;
    result_.last_scrape = std::max(result_.last_scrape, row.scrape);
  }

  void give_by_time(std::vector<PackageRow>& rows) {
    std::ranges::stable_sort(rows, [](const PackageRow& a, const PackageRow& b) {
      return std::tuple(a.device, a.unix_s, a.watts) < std::tuple(b.device, b.unix_s, b.watts);
    });
    samples_.clear();
    for (const PackageRow& row : rows) {
      samples_.push_back({row.unix_s, row.watts, row.device, row.gpu_util_pct});
    }
    take_(samples_);
  }

  void note(FaultyRows& rows, const PackageRow& row, const char* what) {
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

  void finish(const PackageRows& rows) {
    for (std::uint32_t i = 0; i < progress_.size(); ++i) {
      SeenDevice seen;
      seen.key = rows.devices()[i];
      for (const std::uint32_t uuid : progress_[i].uuids) {
        seen.uuids.push_back(rows.uuids()[uuid]);
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
