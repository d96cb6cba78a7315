// Gives each window the samples near it.
#include "packages/srt_slurm/shared_samples.h"

#include <algorithm>
#include <utility>

namespace aggregate_power {
namespace {

// Distributes samples, those of each device in time order. A window receives what its WindowPower
// considers: of each device the samples in it and up to the margin around it, and one more on each
// side.
class SampleDistributor {
 public:
  SampleDistributor(std::span<const Window> windows, bool extended)
      : windows_(windows), extended_(extended) {
    start_over();
  }

  void start_over() {
    devices_.clear();
    powers_.clear();
    parts_.assign(windows_.size(), {});
    for (const Window& window : windows_) {
      powers_.emplace_back(WindowPower(extended_, extended_)).value().begin(window);
    }
  }

  void take(std::span<const PackageSample> samples) {
    for (const PackageSample& sample : samples) take(sample);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].empty()) continue;
      powers_[i]->take(parts_[i]);
      parts_[i].clear();
    }
  }

  std::vector<std::optional<WindowPower>> finish() && { return std::move(powers_); }

 private:
  enum class Stage : char { before, near, after };
  struct Device {
    std::optional<PackageSample> last;
    std::vector<Stage> stages;  // by window
    std::size_t first = 0;      // the windows before it are over
  };

  void take(const PackageSample& sample) {
    if (sample.device >= devices_.size()) {
      devices_.resize(sample.device + 1, {{}, std::vector<Stage>(windows_.size()), 0});
    }
    Device& device = devices_[sample.device];
    for (std::size_t i = device.first; i < windows_.size(); ++i) {
      const Window& window = windows_[i];
      if (sample.unix_s < window.start_unix_s - WindowPower::kMarginS) break;
      Stage& stage = device.stages[i];
      if (stage == Stage::after) continue;
      if (stage == Stage::before && device.last) parts_[i].push_back(*device.last);
      parts_[i].push_back(sample);
      const bool is_over = sample.unix_s > window.end_unix_s + WindowPower::kMarginS;
      stage = is_over ? Stage::after : Stage::near;
      if (is_over && i == device.first) ++device.first;
    }
    device.last = sample;
  }

  std::span<const Window> windows_;  // sorted by start
  bool extended_;
  std::vector<Device> devices_;                     // by number
  std::vector<std::vector<PackageSample>> parts_;   // of one batch, by window
  std::vector<std::optional<WindowPower>> powers_;  // by window
};

// Whether the samples are the same whatever window they are read for.
bool is_sound(const PackageSamples& samples) {
  return !samples.is_missing && !samples.has_other_header && samples.blank_rows == 0 &&
         !samples.malformed.any() && !samples.repeated.any() && !samples.turned_back.any() &&
         !samples.same_stamp.any();
}

bool is_same(const Window& a, const Window& b) {
  return a.start_unix_s == b.start_unix_s && a.end_unix_s == b.end_unix_s;
}

}  // namespace

std::optional<SharedSamples::Served> SharedSamples::serve(const OpenedFile& file,
                                                          const PackageSamplesRequest& request,
                                                          Window window, bool extended) {
  if (!has_read(file, request, extended)) read(file, request, extended);
  if (!is_sound(samples_)) return std::nullopt;
  for (std::size_t i = 0; i < powers_.size(); ++i) {
    if (!is_same(samples_.windows[i], window) || !powers_[i]) continue;
    return Served{samples_, *std::exchange(powers_[i], std::nullopt)};
  }
  return std::nullopt;
}

bool SharedSamples::has_read(const OpenedFile& file, const PackageSamplesRequest& request,
                             bool extended) const {
  return file_ == file.name() && facts_ == file.facts() && extended_ == extended &&
         newest_version_ == request.newest_version && gap_budget_s_ == request.gap_budget_s &&
         most_devices_ == request.most_devices &&
         std::ranges::equal(samples_.windows, request.windows, is_same);
}

void SharedSamples::read(const OpenedFile& file, const PackageSamplesRequest& request,
                         bool extended) {
  SampleDistributor distributor(request.windows, extended);
  PackageSamplesRequest ours = request;
  ours.take = [&](std::span<const PackageSample> samples) { distributor.take(samples); };
  ours.start_over = [&] { distributor.start_over(); };
  samples_ = read_package_samples(file, ours);
  samples_.windows = request.windows;  // also if it could not be read
  powers_ = std::move(distributor).finish();
  file_ = file.name();
  facts_ = file.facts();
  extended_ = extended;
  newest_version_ = request.newest_version;
  gap_budget_s_ = request.gap_budget_s;
  most_devices_ = request.most_devices;
}

}  // namespace aggregate_power
