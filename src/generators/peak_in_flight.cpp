// Walks along the starts and ends of all requests.
#include "generators/peak_in_flight.h"

#include <algorithm>

namespace aggregate_power {

void PeakInFlight::take(const RequestTimes& request) {
  if (!request.has_times()) return;
  starts_.push_back(request.start_s);
  ends_.push_back(request.end_s);
}

std::size_t PeakInFlight::peak() const {
  std::vector<double> starts = starts_;
  std::vector<double> ends = ends_;
  std::ranges::sort(starts);
  std::ranges::sort(ends);
  std::size_t peak = 0;
  std::size_t ended = 0;
  for (std::size_t started = 0; started < starts.size(); ++started) {
    while (ended <= started && ends[ended] <= starts[started]) ++ended;
    peak = std::max(peak, started + 1 - ended);
  }
  return peak;
}

}  // namespace aggregate_power
