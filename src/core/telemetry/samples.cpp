// Sorts samples, and finds the samples of a window.
#include "core/telemetry/samples.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace aggregate_power {
namespace {

// Asks for pages of 2 MiB: to bring the small ones takes a tenth of a run on a file of 50 MB. Where
// the system has none, nothing changes.
void prefer_large_pages(std::vector<Sample>& samples) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  void* begin = samples.data();
  std::size_t bytes = samples.capacity() * sizeof(Sample);
  if (std::align(kLargePage, kLargePage, begin, bytes) == nullptr) return;
  std::ignore = ::madvise(begin, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
}

}  // namespace

// Makes room for all those up to the end at the pace so far: then they are moved seldom, and memory
// that is never written to costs nothing but address space.
void Samples::make_room(std::vector<Sample>& samples) const {
  constexpr std::size_t kFewest = 64;
  constexpr std::size_t kFew = 1024;
  constexpr double kMost = 256;  // times as many: the recording may end before
  const std::size_t count = samples.size();
  double factor = count < (1 << 16) ? 2 : 1.25;
  if (count >= kFew) {
    const double seen_s = samples.back().unix_s - samples.front().unix_s;
    const double wanted_s = 1.02 * (within_.end_unix_s - samples.front().unix_s);
    if (seen_s > 0 && std::isfinite(wanted_s)) factor = std::clamp(wanted_s / seen_s, 1.25, kMost);
  }
  samples.reserve(std::max(kFewest, static_cast<std::size_t>(factor * static_cast<double>(count))));
  prefer_large_pages(samples);
}

void Samples::take(std::span<const Reading> readings) {
  const Window within = within_;  // in registers
  const Reading::Kind kind = kind_;
  std::size_t taken = 0;
  bool is_sorted = is_sorted_;
  for (const Reading& reading : readings) {
    if (reading.kind != kind || !within.contains(reading.unix_s)) continue;
    if (reading.device >= devices_.size()) devices_.resize(reading.device + 1);
    std::vector<Sample>& samples = devices_[reading.device];
    if (samples.size() == samples.capacity()) make_room(samples);
    is_sorted &= samples.empty() || samples.back().unix_s <= reading.unix_s;
    samples.push_back({reading.unix_s, reading.watts});
    ++taken;
  }
  size_ += taken;
  is_sorted_ = is_sorted;
}

void Samples::clear(Window within) {
  within_ = within;
  for (std::vector<Sample>& samples : devices_) samples.clear();
  size_ = 0;
  is_sorted_ = true;
}

void Samples::narrow(Window within) {
  within_ = within;
  size_ = 0;
  for (std::vector<Sample>& samples : devices_) {
    std::erase_if(samples, [&](const Sample& sample) { return !within.contains(sample.unix_s); });
    size_ += samples.size();
  }
}

void Samples::sort() {
  if (is_sorted_) return;
  for (std::vector<Sample>& samples : devices_) {
    if (std::ranges::is_sorted(samples, {}, &Sample::unix_s)) continue;
    std::ranges::stable_sort(samples, {}, &Sample::unix_s);
  }
  is_sorted_ = true;
}

std::span<const Sample> samples_in(std::span<const Sample> samples, Window window) {
  const auto first = std::ranges::lower_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  const auto behind = std::ranges::upper_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  return first < behind ? std::span(first, behind) : std::span<const Sample>();
}

}  // namespace aggregate_power
