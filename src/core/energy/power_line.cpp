// Integrates straight lines.
#include "core/energy/power_line.h"

#include <algorithm>

#include "core/energy/sum_of.h"

namespace aggregate_power {
namespace {

double area_j(const Sample& left, const Sample& right) {
  return (right.unix_s - left.unix_s) * (left.watts + right.watts) / 2;
}

// From one sample to another.
double areas_j(std::span<const Sample> samples, std::size_t first, std::size_t last) {
  return sum_of(first, last, [&](std::size_t i) { return area_j(samples[i], samples[i + 1]); });
}

}  // namespace

std::size_t PowerLine::first_from(double unix_s) const {
  const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
  return static_cast<std::size_t>(std::ranges::lower_bound(samples_, unix_s, {}, place) -
                                  samples_.begin());
}

std::size_t PowerLine::first_after(double unix_s) const {
  const auto place = [this](const Sample& sample) { return sample.unix_s - older_s_; };
  return static_cast<std::size_t>(std::ranges::upper_bound(samples_, unix_s, {}, place) -
                                  samples_.begin());
}

double PowerLine::watts_at(double at_unix_s) const {
  const std::size_t after = first_from(at_unix_s);
  if (after == 0) return samples_.front().watts;
  if (after == samples_.size()) return samples_.back().watts;
  const Sample& left = samples_[after - 1];
  const Sample& right = samples_[after];
  return left.watts + (at_unix_s - unix_s(after - 1)) / (right.unix_s - left.unix_s) *
                          (right.watts - left.watts);
}

double PowerLine::inside_j(std::size_t first, std::size_t last) const {
  const std::size_t first_block = (first + kBlock - 1) / kBlock;
  const std::size_t end_block = std::min(last / kBlock, blocks_j_.size());
  if (first_block >= end_block) return areas_j(samples_, first, last);
  const double blocks_j =
      sum_of(first_block, end_block, [this](std::size_t block) { return blocks_j_[block]; });
  return areas_j(samples_, first, first_block * kBlock) + blocks_j +
         areas_j(samples_, end_block * kBlock, last);
}

double PowerLine::energy_j(Window window) const {
  const Sample start = {window.start_unix_s, watts_at(window.start_unix_s)};
  const Sample end = {window.end_unix_s, watts_at(window.end_unix_s)};
  const std::size_t first = first_after(start.unix_s);
  const std::size_t last = first_from(end.unix_s);
  if (first >= last) return area_j(start, end);
  return area_j(start, sample(first)) + inside_j(first, last - 1) + area_j(sample(last - 1), end);
}

double PowerLine::later_energy_change_j(Window window, double later_s) const {
  // What a stretch that begins here holds.
  const auto passed_j = [&](double from) {
    return later_s < 0 ? -energy_j({from + later_s, from}) : energy_j({from, from + later_s});
  };
  return passed_j(window.end_unix_s) - passed_j(window.start_unix_s);
}

std::vector<Sample> PowerLine::samples_near(Window stretch) const {
  const std::size_t first = first_from(stretch.start_unix_s);
  const std::size_t end = std::min(first_after(stretch.end_unix_s) + 1, samples_.size());
  std::vector<Sample> near;
  for (std::size_t i = first - std::min<std::size_t>(first, 1); i < end; ++i) {
    near.push_back(sample(i));
  }
  return near;
}

std::vector<double> line_blocks_j(std::span<const Sample> samples) {
  std::vector<double> blocks_j;
  for (std::size_t last = PowerLine::kBlock; last < samples.size(); last += PowerLine::kBlock) {
    blocks_j.push_back(areas_j(samples, last - PowerLine::kBlock, last));
  }
  return blocks_j;
}

bool share_stamps(std::span<const Sample> samples) {
  return std::ranges::adjacent_find(samples, {}, &Sample::unix_s) != samples.end();
}

std::vector<Sample> merged(std::span<const Sample> samples) {
  std::vector<Sample> found;
  std::size_t same = 0;
  for (const Sample& sample : samples) {
    if (!found.empty() && found.back().unix_s == sample.unix_s) {
      ++same;
      found.back().watts += (sample.watts - found.back().watts) / static_cast<double>(same);
    } else {
      found.push_back(sample);
      same = 1;
    }
  }
  return found;
}

}  // namespace aggregate_power
