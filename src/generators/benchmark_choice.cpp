// Selects benchmarks by number or by setting.
#include "generators/benchmark_choice.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/decimal.h"

namespace aggregate_power {
namespace {

std::string listed(const std::vector<LoadReading>& loads) {
  constexpr std::size_t kMostListed = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(loads.size(), kMostListed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "; ", benchmark_label(loads[i], i + 1));
  }
  if (loads.size() > kMostListed) text += fmt::format("; and {} more", loads.size() - kMostListed);
  return text;
}

// A setting by its whole key or the part behind the last dot; numbers by value: 4 is 4.0.
bool has_setting(const LoadReading& load, std::string_view key, std::string_view value) {
  return std::ranges::any_of(load.settings, [&](const auto& setting) {
    const std::string_view name = setting.first;
    if (name != key && !name.ends_with(fmt::format(".{}", key))) return false;
    if (setting.second == value) return true;
    const auto wanted = python_float(value);
    return wanted && python_float(setting.second) == wanted;
  });
}

bool matches(const LoadReading& load, std::size_t number, std::size_t count,
             const std::string& selection) {
  if (selection == "all") return true;
  if (selection == "last") return number == count;
  const std::size_t equals = selection.find('=');
  if (equals != selection.npos) {
    const std::string_view text = selection;
    return has_setting(load, text.substr(0, equals), text.substr(equals + 1));
  }
  return python_int(selection) == static_cast<std::int64_t>(number);
}

}  // namespace

bool is_selection(const std::string& text) {
  if (text == "last" || text == "all") return true;
  if (const std::size_t equals = text.find('='); equals != text.npos) return equals > 0;
  const auto number = python_int(text);
  return number && *number > 0;
}

std::string benchmark_label(const LoadReading& reading, std::size_t number) {
  std::string text = fmt::format("{}:", number);
  for (const auto& [key, value] : reading.settings) {
    text += fmt::format(" {}={}", std::string_view(key).substr(key.rfind('.') + 1),
                        printable(value, 60));
  }
  return reading.settings.empty() ? fmt::format("{}", number) : text;
}

SelectedLoads select_loads(std::vector<LoadReading> loads, const std::string& selection) {
  SelectedLoads selected;
  if (selection.empty() && loads.size() > 1) {
    selected.fault = fmt::format(
        "holds {} benchmarks: give --select with one of their numbers, 'last', or KEY=VALUE ({})",
        loads.size(), listed(loads));
    return selected;
  }
  const std::string& wanted = selection.empty() ? "all" : selection;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (!matches(loads[i], i + 1, loads.size(), wanted)) continue;
    selected.loads.push_back(loads[i]);
    selected.numbers.push_back(i + 1);
  }
  if (selected.loads.empty()) {
    selected.fault =
        fmt::format("has no benchmark '{}'; it holds {}", printable(selection), listed(loads));
  }
  return selected;
}

// ---- Walks along the starts and ends of all requests.

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
