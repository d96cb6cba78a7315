// Puts a package's samples in order and finds their gaps.
#include "packages/srt_slurm/samples.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "packages/srt_slurm/sample_rows.h"

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
      rows.insert(rows.end(), batch.begin(), batch.end());
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

}  // namespace aggregate_power
