// The table of recorders.
#include "recorders/recorder.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "recorders/csv_telemetry.h"

namespace aggregate_power {
namespace {

constexpr Recorder kRecorders[] = {
    // It also takes files that fit nothing else, and says what they lack.
    {.name = "CSV", .fits = fits_csv, .open = open_csv, .schemas = csv_schemas},
};

}  // namespace

std::span<const Recorder> recorders() { return kRecorders; }

Telemetry open_telemetry(std::unique_ptr<ByteSource> source, const TelemetryOptions& options,
                         std::span<const Recorder> rows) {
  assert(!rows.empty());
  std::string head = read_up_to(*source, kHeadBytes);
  const auto best = std::ranges::max_element(
      rows, {}, [&](const Recorder& recorder) { return recorder.fits(head); });
  return best->open(std::make_unique<ResumedSource>(std::move(head), std::move(source)), options);
}

}  // namespace aggregate_power
