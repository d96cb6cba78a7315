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

bool is_steady(const Reading& reading, double before_unix_s) {
  return reading.kind == Reading::Kind::power && reading.unix_s > before_unix_s &&
         !DeviceIntegrator::is_odd(reading.watts);
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

// How many readings from the front are steady samples in order of time, of the devices that lend.
std::size_t SteadyRounds::steady_front(std::span<const Reading> readings) const {
  const std::size_t round = lanes_.size();
  for (std::size_t i = 0; i < round; ++i) {
    if (!is_steady(readings[i], lanes_[i].steady.stamp.unix_s)) return 0;
    if (i > 0 && readings[i].unix_s < readings[i - 1].unix_s) return 0;
  }
  std::size_t count = round;
  while (count < readings.size()) {
    const Reading& reading = readings[count];
    const Reading& last_round = readings[count - round];
    if (reading.device != last_round.device || !is_steady(reading, last_round.unix_s)) break;
    if (reading.unix_s < readings[count - 1].unix_s) break;
    ++count;
  }
  const auto end =
      std::ranges::lower_bound(readings.first(count), window_.end_unix_s, {}, &Reading::unix_s);
  return static_cast<std::size_t>(end - readings.begin());
}

std::size_t SteadyRounds::add(std::span<const Reading> readings, Integrators& integrators) {
  const std::size_t size = round_at(readings);
  if (size == 0 || !borrow(readings.first(size), integrators)) return 0;
  const std::size_t rounds = steady_front(readings) / size;
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
