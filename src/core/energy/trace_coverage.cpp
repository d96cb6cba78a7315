// Finds a trace's long gaps once, and looks at both edges of each window.
#include "core/energy/trace_coverage.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/show_time.h"

namespace aggregate_power {

TraceCoverage::TraceCoverage(const PowerTrace& trace, double max_sample_gap_s)
    : trace_(trace), max_sample_gap_s_(max_sample_gap_s) {
  if (trace.interpolation() == Interpolation::hold) return;
  const std::span<const Sample> samples = trace.samples();
  has_zeros_ = std::ranges::find(samples, 0.0, &Sample::watts) != samples.end();
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Window between{samples[i - 1].unix_s, samples[i].unix_s};
    if (between.duration_s() > max_sample_gap_s) gaps_.push_back(between);
  }
}

// A GPU that is being set up or torn down reports 0 W: such a sample outside the window says
// nothing about the power at its edge (states_power()).
std::string TraceCoverage::edge_fault(Window window) const {
  if (!has_zeros_) return {};
  const std::span<const Sample> samples = trace_.samples();
  const auto first = std::ranges::lower_bound(samples, window.start_unix_s, {}, &Sample::unix_s);
  if (first->unix_s > window.start_unix_s && (first - 1)->watts == 0) {
    return "the last reading before the window is 0 W";
  }
  const auto last = std::ranges::lower_bound(samples, window.end_unix_s, {}, &Sample::unix_s);
  if (last->unix_s > window.end_unix_s && last->watts == 0) {
    return "the first reading after the window is 0 W";
  }
  return {};
}

std::string TraceCoverage::fault(Window window) const {
  const std::span<const Sample> samples = trace_.samples();
  if (!(window.start_unix_s < window.end_unix_s)) return "the window takes no time";
  if (window.end_unix_s < samples.front().unix_s) {
    return fmt::format("the window ends {:.3f} s before the first reading",
                       samples.front().unix_s - window.end_unix_s);
  }
  if (window.start_unix_s > samples.back().unix_s) {
    return fmt::format("the window begins {:.3f} s after the last reading",
                       window.start_unix_s - samples.back().unix_s);
  }
  if (window.start_unix_s < samples.front().unix_s) {
    return fmt::format("the window begins {:.3f} s before the first reading",
                       samples.front().unix_s - window.start_unix_s);
  }
  if (window.end_unix_s > samples.back().unix_s) {
    return fmt::format("the window ends {:.3f} s after the last reading",
                       window.end_unix_s - samples.back().unix_s);
  }
  const auto gap = std::ranges::upper_bound(gaps_, window.start_unix_s, {}, &Window::end_unix_s);
  if (gap != gaps_.end() && gap->start_unix_s < window.end_unix_s) {
    return fmt::format("{:.3f} s between two readings, at most {} s", gap->duration_s(),
                       max_sample_gap_s_);
  }
  if (const auto invalid_unix_s = trace_.first_invalid_unix_s(window)) {
    return "invalid_power_sample: a row states no power, or an impossible one, at " +
           unix_and_iso(*invalid_unix_s);
  }
  if (!trace_.covers(window)) return "the recorder was stopped for a while inside the window";
  return edge_fault(window);
}

}  // namespace aggregate_power
