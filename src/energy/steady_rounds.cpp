// Finds rounds, then takes them GPU by GPU: what changes with each sample stays in registers.
#include "energy/steady_rounds.h"

#include <algorithm>

namespace aggregate_power {
namespace {

// The readings of the first round, if another one follows; 0: there is none.
std::size_t round_at(std::span<const Reading> readings) {
  constexpr std::size_t kMostDevices = 256;
  const std::size_t most = std::min(kMostDevices, readings.size() / 2);
  for (std::size_t size = 1; size <= most; ++size) {
    if (readings[size].device == readings[0].device) return size;
  }
  return 0;
}

// Whether it is steady if its time is right.
bool is_plain(const Reading& reading) {
  return reading.kind == Reading::Kind::power && !DeviceIntegrator::is_odd(reading.watts);
}

// Whether a round is in order of time behind the one before, and of the same devices, each later.
bool follows_round(const Reading* round, std::size_t size) {
  for (const Reading* reading = round; reading != round + size; ++reading) {
    const Reading& before = *(reading - size);
    const bool follows = reading->device == before.device && reading->unix_s > before.unix_s &&
                         reading->unix_s >= (reading - 1)->unix_s && is_plain(*reading);
    if (!follows) return false;
  }
  return true;
}

}  // namespace

// Borrows from none if one of them cannot lend, or comes twice.
bool SteadyRounds::borrow(std::span<const Reading> round, Integrators& integrators) {
  lanes_.clear();
  for (const Reading& reading : round) {
    const std::uint32_t device = reading.device;
    std::optional<DeviceIntegrator::Steady> steady;
    if (device < integrators.size() && integrators[device]) {
      steady = integrators[device]->lend_steady();
    }
    if (!steady) break;
    lanes_.push_back({device, *steady});
  }
  if (lanes_.size() == round.size()) return true;
  for (const RoundLane& lane : lanes_) integrators[lane.device]->give_back(lane.steady, 0);
  return false;
}

// How many rounds from the front are of steady samples in order of time, of the devices that lend.
std::size_t SteadyRounds::steady_rounds(std::span<const Reading> readings) const {
  const std::size_t size = lanes_.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (!is_plain(readings[i]) || !(readings[i].unix_s > lanes_[i].steady.stamp.unix_s)) return 0;
    if (i > 0 && readings[i].unix_s < readings[i - 1].unix_s) return 0;
  }
  std::size_t count = size;
  while (count + size <= readings.size() && follows_round(&readings[count], size)) count += size;
  const auto end =
      std::ranges::lower_bound(readings.first(count), window_.end_unix_s, {}, &Reading::unix_s);
  return static_cast<std::size_t>(end - readings.begin()) / size;
}

std::size_t SteadyRounds::add(std::span<const Reading> readings, Integrators& integrators) {
  const std::size_t size = round_at(readings);
  if (size == 0 || !borrow(readings.first(size), integrators)) return 0;
  const std::size_t rounds = steady_rounds(readings);
  for (std::size_t i = 0; i < size; ++i) {
    DeviceIntegrator::Steady steady = lanes_[i].steady;
    for (std::size_t at = i; at < rounds * size; at += size) {
      steady.add({readings[at].unix_s, readings[at].watts});
    }
    integrators[lanes_[i].device]->give_back(steady, rounds);
  }
  return rounds * size;
}

}  // namespace aggregate_power
