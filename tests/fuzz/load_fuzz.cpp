// Any bytes to what says when work ran: results of load generators, traces of profilers, layers and
// windows files. What is read must make sense, and must not depend on how the bytes arrive.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/error.h"
#include "base/files/byte_source.h"
#include "energy/attribution.h"
#include "energy/power_trace.h"
#include "energy/window_tree.h"
#include "loads/chrome_trace.h"
#include "loads/layer_intervals.h"
#include "loads/load_generator.h"
#include "loads/windows_file.h"

namespace {

using namespace aggregate_power;

void require(bool holds) {
  if (!holds) std::abort();
}

// Gives a few bytes at a time.
class DripSource : public ByteSource {
 public:
  explicit DripSource(std::string_view text) : rest_(text) {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = rest_.copy(into.data(), std::min<std::size_t>(into.size(), 7));
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

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
  DripSource drip(text);
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

void read_window_list(std::string_view text) {
  std::vector<NamedWindow> named;
  try {
    named = read_windows(text, "w", {{1777118400, 1777118500}, Zone::fixed(0)});
  } catch (const Error&) {
    return;
  }
  require(!named.empty());
  std::vector<Window> windows;
  for (const NamedWindow& window : named) windows.push_back(window.window);
  const WindowTree tree(windows);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    require(std::isfinite(windows[i].start_unix_s) && std::isfinite(windows[i].end_unix_s));
    require(windows[i].start_unix_s <= windows[i].end_unix_s);
    for (const Window& own : tree.own(i)) {
      require(windows[i].start_unix_s <= own.start_unix_s &&
              own.end_unix_s <= windows[i].end_unix_s);
    }
  }
}

void read_results(std::string_view text) {
  LoadFiles files;
  files.name = "r.json";
  files.open = [&] { return std::make_unique<MemorySource>(text); };
  files.request = [](const RequestTimes&) {};
  const std::vector<LoadReading> readings = read_loads(files);
  require(!readings.empty());
  for (const LoadReading& reading : readings) {
    if (!reading.load) continue;
    const Window window = reading.load->window;
    require(std::isfinite(window.start_unix_s) && std::isfinite(window.end_unix_s));
    require(window.start_unix_s < window.end_unix_s);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_trace(text, false);
      break;
    case 1:
      read_trace(text, true);
      break;
    case 2:
      read_window_list(text);
      break;
    default:
      read_results(text);
  }
  return 0;
}
