// Reads the recorder's notes, and translates between its clocks.
#include "recorders/recorder_context.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

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

}  // namespace aggregate_power
