// Reads the recorder's notes, and translates between its clocks.
#include "recorders/recorder_context.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text/characters.h"
#include "base/text/csv.h"
#include "base/text/decimal.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "base/text/json_value.h"

namespace aggregate_power {
namespace {

// The system slews a clock by at most 500 ppm; reading both clocks takes far less than this.
constexpr double kMostSlew = 5e-4;
constexpr double kMostReading_s = 0.05;

std::optional<double> number_at(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.is_object() ? object.find(key) : nullptr;
  return value != nullptr && value->is_finite_number() ? std::optional(value->as_double())
                                                       : std::nullopt;
}

std::optional<ClockPair> pair_of(const JsonValue& value) {
  const auto epoch_s = number_at(value, "epoch_s");
  const auto monotonic_s = number_at(value, "monotonic_s");
  if (!epoch_s || !monotonic_s) return std::nullopt;
  const JsonValue* const boot = value.find("boot_id");
  return ClockPair{*epoch_s, *monotonic_s,
                   boot != nullptr && boot->is_string() ? boot->text : std::string()};
}

// How much more time passed on the Unix clock than on the monotonic one.
double step_between(const ClockPair& a, const ClockPair& b) {
  return (b.epoch_s - a.epoch_s) - (b.monotonic_s - a.monotonic_s);
}

}  // namespace

RecorderContext recorder_context(const Recording& recording) {
  RecorderContext context;
  try {
    const auto source = recording.beside("_context.json");
    if (!source) return context;
    const JsonValue json = parse_json(read_whole(*source, "_context.json", kContextFile));
    if (!json.is_object()) return context;
    if (const JsonValue* const window = json.find("window")) {
      const auto start = number_at(*window, "start_unix");
      const auto end = number_at(*window, "end_unix");
      if (start && end && *end > *start) context.window = Window{*start, *end};
    }
    if (const auto status = number_at(json, "exit_status"); status && std::abs(*status) < 1000) {
      context.exit_status = static_cast<int>(*status);
    }
    if (const JsonValue* const pairs = json.find("clock_pairs"); pairs != nullptr) {
      for (const JsonValue& value : pairs->items) {
        if (auto pair = pair_of(value)) context.clock_pairs.push_back(std::move(*pair));
      }
    }
  } catch (const JsonError&) {  // reported with the zone, if that is needed
  } catch (const FileError&) {
  }
  return context;
}

std::optional<double> clock_step_s(Window window, const std::vector<ClockPair>& pairs) {
  constexpr double kLeastStep_s = 0.5;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const ClockPair& a = pairs[i - 1];
    const ClockPair& b = pairs[i];
    const bool is_apart = b.epoch_s <= window.start_unix_s || a.epoch_s >= window.end_unix_s;
    const double step_s = step_between(a, b);
    const double slewed_s = kMostSlew * std::abs(b.monotonic_s - a.monotonic_s);
    if (is_apart || a.boot_id != b.boot_id || std::abs(step_s) < kLeastStep_s + slewed_s) continue;
    return step_s;
  }
  return std::nullopt;
}

TiedWindow tied_window(Window monotonic, const std::vector<ClockPair>& pairs) {
  if (pairs.empty()) {
    return {std::nullopt, "the recorder wrote no pair of clocks beside the recording"};
  }
  const ClockPair& first = pairs.front();
  const ClockPair& last = pairs.back();
  for (const ClockPair& pair : pairs) {
    if (pair.boot_id == first.boot_id) continue;
    return {std::nullopt, "the machine was restarted while it was recorded"};
  }
  for (const ClockPair& pair : pairs) {
    const double step_s = step_between(first, pair);
    const double most_s =
        kMostReading_s + kMostSlew * std::abs(pair.monotonic_s - first.monotonic_s);
    if (std::abs(step_s) <= most_s) continue;
    return {std::nullopt,
            fmt::format("the machine's clock was set by {:.3f} s while it was recorded", step_s)};
  }
  const double passed_s = last.monotonic_s - first.monotonic_s;
  const double rate = passed_s > 1 ? 1 + step_between(first, last) / passed_s : 1;
  const auto unix_s = [&](double monotonic_s) {
    return first.epoch_s + (monotonic_s - first.monotonic_s) * rate;
  };
  return {Window{unix_s(monotonic.start_unix_s), unix_s(monotonic.end_unix_s)}, {}};
}

// ---- Energy counters

std::optional<std::map<std::string, double>> read_energy_snapshot(ByteSource& source) {
  const std::string text = read_whole(source, "energy snapshot", kEnergySnapshotFile);
  const std::vector<CsvTextRow> rows = split_csv(text, text.size() + 1, true);
  std::optional<std::size_t> gpu;
  std::optional<std::size_t> energy;
  std::map<std::string, double> joules;
  for (const CsvTextRow& row : rows) {
    if (row.blank) continue;
    if (!gpu || !energy) {  // the header is still to come
      gpu.reset();
      energy.reset();
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (strip(row.cells[i]) == "gpu") gpu = i;
        if (strip(row.cells[i]) == "total_energy_consumption") energy = i;
      }
      continue;
    }
    if (row.cells.size() <= std::max(*gpu, *energy)) continue;
    const std::string id = replace_invalid_utf8(strip(row.cells[*gpu]));
    const auto value = python_float(row.cells[*energy]);
    if (!id.empty() && value && std::isfinite(*value)) joules[id] = *value;
  }
  if (joules.empty()) return std::nullopt;
  return joules;
}

std::optional<EnergySnapshots> read_energy_snapshots(const Recording& recording) {
  EnergySnapshots snapshots;
  const auto read = [&](const char* which, std::unique_ptr<ByteSource> source,
                        std::map<std::string, double>& into) {
    if (!snapshots.unavailable.empty()) return;
    auto joules = read_energy_snapshot(*as_utf8(std::move(source)));
    if (joules) {
      into = std::move(*joules);
    } else {
      snapshots.unavailable = fmt::format("unparseable_{}_snapshot", which);
    }
  };
  try {
    std::unique_ptr<ByteSource> start = recording.beside("_energy_start.csv");
    std::unique_ptr<ByteSource> end = recording.beside("_energy_end.csv");
    if (!start && !end) return std::nullopt;
    if (!start || !end) {
      snapshots.unavailable = fmt::format("missing_{}_snapshot", start ? "end" : "start");
      return snapshots;
    }
    read("start", std::move(start), snapshots.start);
    read("end", std::move(end), snapshots.end);
  } catch (const FileError&) {
    snapshots.unavailable = "cross_check_error";
    snapshots.could_not_read = true;
  } catch (const std::exception&) {
    snapshots.unavailable = "cross_check_error";
  }
  return snapshots;
}

}  // namespace aggregate_power
