// Any bytes to the readers of profilers' traces and of layers. What is read must not depend on how
// the bytes arrive, and the energy that is attributed to it must add up.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "aggregate_power/error.h"
#include "core/energy/curve.h"
#include "energy/shares/attribution.h"
#include "fuzz/fuzz_util.h"
#include "generators/gpu_trace.h"

namespace {

using namespace aggregate_power;
using fuzz::PieceSource;
using fuzz::require;

bool is_near(double a, double b, double largest) { return std::abs(a - b) <= 1e-6 * largest; }

// Events of one GPU under 100 W: what they and the rest get is 100 W times the span.
void require_conserved(IntervalStore& events) {
  constexpr double kWatts = 100;
  constexpr double kLongestS = 1e9;
  if (events.size() == 0) return;
  const Window span{events.first_start_s(), events.last_end_s()};
  require(std::isfinite(span.start_unix_s) && span.start_unix_s <= span.end_unix_s);
  if (std::abs(span.start_unix_s) > kLongestS || std::abs(span.end_unix_s) > kLongestS) return;
  const PowerTrace power("0", {{span.start_unix_s, kWatts}, {span.end_unix_s + 1, kWatts}},
                         Interpolation::linear);
  EnergyShares shares;
  attribute_energy(power, events, {.window = span}, shares);
  double sum_j = shares.rest.energy_j.value();
  std::uint64_t calls = shares.outside;
  for (const EnergyShare& share : shares.by_name) {
    require(share.energy_j.value() >= 0);
    sum_j += share.energy_j.value();
    calls += share.calls;
  }
  require(calls == events.size());
  require(is_near(sum_j, kWatts * span.duration_s(), kWatts * (1 + kLongestS)));
}

std::optional<GpuTrace> trace_in(ByteSource& source, bool is_layers) {
  try {
    return is_layers ? read_layer_intervals(source, "t")
                     : read_chrome_trace(source, "t", TraceRanges::annotations);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void read_trace(std::string_view text, bool is_layers) {
  MemorySource whole(text);
  PieceSource drip(text, 7);
  std::optional<GpuTrace> trace = trace_in(whole, is_layers);
  const std::optional<GpuTrace> again = trace_in(drip, is_layers);
  require(trace.has_value() == again.has_value());
  if (!trace) return;
  require(trace->names.names() == again->names.names());
  require(trace->devices.size() == again->devices.size());
  require(trace->host_ranges.size() == again->host_ranges.size());
  if (is_layers) require_conserved(trace->host_ranges);
  for (auto& [number, device] : trace->devices) {
    require(device.events.size() == again->devices.at(number).events.size());
    require_conserved(device.events);
  }
}

}  // namespace

// The first byte decides which of the two it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0) read_trace(fuzz::text_of(data + 1, size - 1), data[0] % 2 == 1);
  return 0;
}
