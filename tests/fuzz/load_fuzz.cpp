// Any bytes as the result of a load generator. A window that is read must be one.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_util.h"
#include "generators/generator_table.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

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
  read_results(fuzz::text_of(data, size));
  return 0;
}
