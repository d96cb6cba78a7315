// Any bytes as what a sensor beside the GPUs recorded. Readings must be finite, and so must be the
// energy between two of them, unless a fault says why there is none.
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "aggregate_power/error.h"
#include "energy/shares/node_meter.h"
#include "fuzz/fuzz_util.h"
#include "recorders/node_sensors.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

// Between two of its readings, or in its own span.
Window window_of(const NodeWitness& witness) {
  if (witness.readings.empty()) return witness.span;
  const double a_s = witness.readings.front().unix_s;
  const double b_s = witness.readings[witness.readings.size() / 2].unix_s;
  return {std::min(a_s, b_s), std::max(a_s, b_s)};
}

void require_sound(const NodeWitness& witness) {
  for (const NodeWitness::Reading& reading : witness.readings) {
    require(std::isfinite(reading.unix_s) && std::isfinite(reading.value));
  }
  const Window window = window_of(witness);
  if (!(window.start_unix_s < window.end_unix_s)) return;
  const WitnessEnergy seen = WitnessMeter(witness).measure(window);
  require(!seen.fault.empty() || std::isfinite(seen.energy_j));
}

}  // namespace

// The first byte decides whether times without an offset have a zone.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto zone = data[0] % 2 == 1 ? std::optional(Zone::fixed(3600)) : std::nullopt;
  NodeWitnesses read;
  try {
    read = read_node_witnesses(fuzz::text_of(data + 1, size - 1), "w", zone);
  } catch (const Error&) {
    return 0;
  }
  require(!read.witnesses.empty());
  std::set<std::pair<NodeWitness::Kind, std::string>> names;
  for (const NodeWitness& witness : read.witnesses) {
    require(names.emplace(witness.kind, witness.name).second);
    require_sound(witness);
  }
  return 0;
}
