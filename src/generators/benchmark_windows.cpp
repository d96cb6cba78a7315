// Takes only windows that the result states.
#include "generators/benchmark_windows.h"

#include <utility>

#include <fmt/format.h>

#include "base/files/path.h"
#include "generators/generator_table.h"
#include "generators/benchmark_choice.h"

namespace aggregate_power {

BenchmarkWindows read_benchmark_windows(const std::string& path) {
  BenchmarkWindows found;
  std::vector<LoadReading> loads = read_loads(load_file(path));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    LoadReading& load = loads[i];
    std::string name = loads.size() == 1 ? plain_stem(path) : benchmark_label(load, i + 1);
    require_window(load);
    if (load.load && load.defect.empty() && load.window_source == WindowSource::exact) {
      found.windows.push_back({std::move(name), load.load->window});
    } else {
      found.missing.push_back(fmt::format("{}: {}", name, load.reasons.text()));
    }
  }
  return found;
}

}  // namespace aggregate_power
