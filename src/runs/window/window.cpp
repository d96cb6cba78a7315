// Tries one source of a window after the other.
#include "runs/window/window.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/time_zone.h"
#include "core/load/benchmark.h"
#include "energy/zones/load_place.h"
#include "generators/request_file.h"
#include "recorders/recorder_context.h"
#include "runs/evaluate/explain.h"
#include "runs/measure/series_doubts.h"
#include "runs/window/result_clock.h"
#include "runs/window/results_beside.h"

namespace aggregate_power {
namespace {

// A generator writes its stamp after it has computed its statistics.
constexpr double kMostLag_s = 30;
// The metrics, the profiler and a sleep may lie between.
constexpr double kMostTiedLag_s = 60;
constexpr double kLikelyLag_s = 1;
constexpr double kAroundLate_s = 5;  // a load that was found by its edges is this near
constexpr std::int32_t kFarthestZone_s = 14 * 3600;

// Searches for the window of one load.
struct WindowSearch {
  LoadReading& reading;
  const Recording& recording;
  const WindowOptions& options;
  RecorderContext context = recorder_context(recording);
  std::string fault = {};    // why a better source than the one found could not be used
  bool is_unplaced = false;  // in the command that the recorder ran
  bool lacks_zone = false;   // of the result's local times; the fault says why
  mutable std::optional<Telemetry> opened = {};  // not yet read

  Telemetry& telemetry() const { return opened ? *opened : opened.emplace(recording.open()); }
  runs::ResultClock clock() const {
    return {recording, telemetry(), options.result_zone, options.finds_zone,
            reading.stated_energy_j};
  }

  bool is_as_long(Window window) const {
    return std::abs(window.duration_s() - reading.work.reported_duration_s) <=
           most_difference_s(window);
  }

  // How long after an instant the second of a stamp ended. Without a zone it is the shortest time
  // that some zone allows; infinite if none does.
  double after_s(const WallStamp& stamp, double unix_s) const {
    const double shown_s = stamp.wall_s + stamp.resolution_s;
    if (stamp.is_utc) return shown_s - unix_s;
    if (const auto shift_s = clock().likely_shift_s(shown_s)) return shown_s + *shift_s - unix_s;
    const double apart_s = shown_s - unix_s;
    if (std::abs(apart_s) > kFarthestZone_s + kZoneStep_s) return INFINITY;
    return apart_s - kZoneStep_s * std::floor(apart_s / kZoneStep_s);
  }

  // Monotonic stamps of another machine would lie anywhere. The stamp of the end shows it; without
  // one, the times must lie between those at which the recorder read the clocks.
  bool is_of_this_machine(Window monotonic, Window unix) const {
    if (const auto& stamp = reading.clues.end_stamp) {
      const double lag_s = after_s(*stamp, unix.end_unix_s);
      return lag_s >= 0 && lag_s <= kMostTiedLag_s;
    }
    const auto& pairs = context.clock_pairs;
    return monotonic.start_unix_s >= pairs.front().monotonic_s &&
           monotonic.end_unix_s <= pairs.back().monotonic_s;
  }

  // The load did not run within a command that ran at another time.
  bool is_stamp_within(Window command) const {
    const WindowClues& clues = reading.clues;
    const std::optional<WallStamp>& stamp = clues.end_stamp ? clues.end_stamp : clues.start_stamp;
    if (!stamp) return true;
    const double into_s = after_s(*stamp, command.start_unix_s);
    return into_s >= 0 && into_s <= command.duration_s() + stamp->resolution_s;
  }

  // The command that the recorder ran, if it ran this load and no other. Of several benchmarks in a
  // result all but the last may be from earlier commands, and a longer command may have run more.
  std::optional<Window> wrapped(bool may_be_longer) const {
    const auto& command = context.window;
    if (!command || !reading.is_last || !is_stamp_within(*command)) return std::nullopt;
    const double least_s = reading.work.reported_duration_s - most_difference_s(*command);
    if (command->duration_s() < least_s) return std::nullopt;  // another load ran in it
    const bool failed = context.exit_status.value_or(0) != 0;
    const bool is_surely = options.takes_wrapped_as_long && !failed && is_as_long(*command);
    const bool is_it = is_surely || (may_be_longer && reading.is_only);
    return is_it ? command : std::nullopt;
  }

  std::optional<Window> tied() {
    if (!reading.clues.monotonic) return std::nullopt;
    TiedWindow found = tied_window(*reading.clues.monotonic, context.clock_pairs);
    fault = std::move(found.fault);
    if (!found.window) return std::nullopt;
    if (!is_of_this_machine(*reading.clues.monotonic, *found.window)) {
      fault =
          "the requests' monotonic times do not fit the stamp of the end, or the recording: another machine's clock?";
    } else if (!is_as_long(*found.window)) {
      fault = fmt::format("the requests whose times are known took {:.3f} s, the load {:.3f} s",
                          found.window->duration_s(), reading.work.reported_duration_s);
    }
    return fault.empty() ? found.window : std::nullopt;
  }

  // The time between two local times, if their zone is stated.
  std::optional<Window> local_stated() const {
    if (!reading.clues.local_window) return std::nullopt;
    const Window& wall = *reading.clues.local_window;
    const auto shift_s = clock().stated_shift_s(wall.start_unix_s);
    return shift_s ? std::optional(runs::moved(wall, *shift_s)) : std::nullopt;
  }

  // The same in the zone that the power shows.
  std::optional<Window> local_by_power() {
    if (!reading.clues.local_window) return std::nullopt;
    const Window& wall = *reading.clues.local_window;
    const auto shift_s =
        shift_by_power(runs::range_of_phase(wall, reading.work.reported_duration_s));
    return shift_s ? std::optional(runs::moved(wall, *shift_s)) : std::nullopt;
  }

  std::optional<double> shift_by_power(PlacementRange wall) {
    runs::ResultShift found = clock().shift_by_power(wall);
    reading.is_on_recorders_clock = found.is_recorders;
    lacks_zone = !found.shift_s;
    if (lacks_zone) fault = std::move(found.fault);
    return found.shift_s;
  }

  // The command in which the load ran, where it took longer and the result says for how long the
  // load did. Without a stamp the result may be another command's, if several lie in a store.
  std::optional<Window> command_around() const {
    const WindowClues& clues = reading.clues;
    const bool has_stamp = clues.end_stamp || clues.start_stamp;
    const bool is_known = has_stamp || (reading.is_only && options.takes_wrapped_as_long);
    const auto& command = context.window;
    if (!command || !is_known || clues.may_pause || !is_stamp_within(*command)) return std::nullopt;
    const double duration_s = reading.work.reported_duration_s;
    return duration_s > 0 && duration_s < command->duration_s() ? command : std::nullopt;
  }

  // Where an estimate may place the start of the load.
  std::optional<PlacementRange> range() {
    const WindowClues& clues = reading.clues;
    const double duration_s = reading.work.reported_duration_s;
    if (!(duration_s > 0) || clues.may_pause) return std::nullopt;
    std::optional<PlacementRange> range = range_by_stamp();
    const std::optional<Window> command = command_around();
    if (!command) return range;
    PlacementRange inside{.duration_s = duration_s,
                          .earliest_start_s = command->start_unix_s,
                          .latest_start_s = command->end_unix_s - duration_s,
                          .likely_start_s = command->end_unix_s - duration_s,
                          .is_of_command = true};
    if (!range) return inside;
    const double earliest_s = std::max(inside.earliest_start_s, range->earliest_start_s);
    const double latest_s = std::min(inside.latest_start_s, range->latest_start_s);
    if (earliest_s > latest_s) return inside;
    inside.earliest_start_s = earliest_s;
    inside.latest_start_s = latest_s;
    inside.likely_start_s = std::clamp(range->likely_start_s, earliest_s, latest_s);
    return inside;
  }

  // Other benchmarks had ended before the load began.
  void fence_by_others() {
    if (options.result.empty() || !reading.clues.end_stamp) return;
    for (const WallStamp& other : runs::end_stamps_beside(options.result, reading.generator)) {
      fence(other, reading.clues);
    }
  }

  std::optional<PlacementRange> range_by_stamp() {
    fence_by_others();
    const WindowClues& clues = reading.clues;
    const double duration_s = reading.work.reported_duration_s;
    const std::optional<WallStamp>& stamp = clues.end_stamp ? clues.end_stamp : clues.start_stamp;
    if (!stamp) return std::nullopt;
    const Window second{stamp->wall_s, stamp->wall_s + stamp->resolution_s};
    PlacementRange range;
    range.duration_s = duration_s;
    if (clues.end_stamp) {
      range.latest_start_s = second.end_unix_s - duration_s;
      range.earliest_start_s = second.start_unix_s - kMostLag_s - duration_s;
      if (clues.begins_after_wall_s) {
        const double fence_s = second.start_unix_s - (stamp->wall_s - *clues.begins_after_wall_s);
        if (fence_s < range.latest_start_s) {
          range.earliest_start_s = std::max(range.earliest_start_s, fence_s);
        }
      }
      range.likely_start_s = std::max(range.latest_start_s - kLikelyLag_s, range.earliest_start_s);
    } else {
      range.earliest_start_s = range.likely_start_s = second.start_unix_s;
      range.latest_start_s = second.end_unix_s + kMostLag_s;
      if (clues.ends_before_s) {
        range.latest_start_s = std::max(range.earliest_start_s, *clues.ends_before_s - duration_s);
      }
    }
    if (stamp->is_utc) return range;
    const auto shift_s = shift_by_power(range);
    return shift_s ? std::optional(runs::moved(range, *shift_s)) : std::nullopt;
  }

  std::optional<Placement> estimated() {
    const auto wanted = range();
    if (!wanted) return std::nullopt;
    // What the recording lacks is a reason of its own, which any window shows.
    Placement uncovered;
    uncovered.window = {wanted->likely_start_s, wanted->likely_start_s + wanted->duration_s};
    uncovered.half_width_s = std::max(wanted->likely_start_s - wanted->earliest_start_s,
                                      wanted->latest_start_s - wanted->likely_start_s);
    const SeriesFacts& facts = telemetry().facts();
    if (!facts.has_times() || !facts.has_power()) return uncovered;
    if (options.finds_zone && recording.lacks_zone()) {
      return clock().placement_in_any_zone(*wanted).value_or(uncovered);
    }
    const Samples samples = samples_around(*wanted);
    auto placement = find_placement(*wanted, samples);
    if (wanted->is_of_command && placement) return judged_in_command(*placement);
    if (!placement || !placement->is_by_power) {
      if (auto late = placed_before_late_stamp(*wanted)) return late;
    }
    if (placement) return placement;
    if (samples.size() == 0) return uncovered;
    fault =
        "the power does not show where the load was, and the recording does not cover all places where it may have been";
    return std::nullopt;
  }

  Samples samples_around(const PlacementRange& range) {
    Samples samples(placement_surroundings(range));
    read_rows(recording, telemetry(), true, {},
              [&](const Batch& batch) { samples.take(batch.readings); });
    opened.reset();
    samples.sort();
    return samples;
  }

  // Where the power does not show which part of a command was the load, or shows several that may
  // be, its energy is known only if all of them have about the same.
  std::optional<Placement> judged_in_command(const Placement& placement) {
    constexpr double kMostApart = 0.02;
    const double apart_j =
        placement.is_by_power ? placement.elsewhere_j : placement.high_j - placement.low_j;
    if (apart_j <= kMostApart * placement.energy_j) return placement;
    fault = fmt::format(
        "the load took {:.3f} s of the recorded command's {:.3f} s, and the power does not show which: its energy is between {:.1f} J and {:.1f} J",
        placement.window.duration_s(), context.window->duration_s(), placement.low_j,
        placement.high_j);
    is_unplaced = true;
    return std::nullopt;
  }

  // A result that was written or copied later than a generator does: the only load of its length
  // before the stamp.
  std::optional<Placement> placed_before_late_stamp(const PlacementRange& range) {
    if (!reading.clues.end_stamp) return std::nullopt;
    const Window likely = {range.likely_start_s, range.likely_start_s + range.duration_s};
    SeriesKeeper keeper(likely);
    read_rows(recording, telemetry(), true, {},
              [&](const Batch& batch) { keeper.take(batch.readings); });
    opened.reset();
    const Samples& samples = keeper.finish();
    std::vector<std::span<const Sample>> gpus;
    for (const std::vector<Sample>& device : samples.devices()) {
      if (!device.empty()) gpus.emplace_back(device);
    }
    const auto load = energy::load_elsewhere(gpus, likely);
    if (!load || !load->is_certain() || load->offset_s > 0 || !load->others_s.empty())
      return std::nullopt;
    PlacementRange there = range;
    there.likely_start_s = range.likely_start_s + load->offset_s;
    there.earliest_start_s = there.likely_start_s - kAroundLate_s;
    there.latest_start_s = there.likely_start_s + kAroundLate_s;
    auto placement = find_placement(there, samples);
    return placement && placement->is_by_power ? placement : std::nullopt;
  }

  bool may_be_estimated() const {
    if (command_around()) return true;
    const WindowClues& clues = reading.clues;
    return (clues.end_stamp || clues.start_stamp) && reading.work.reported_duration_s > 0 &&
           !clues.may_pause;
  }

  void use(Window window, WindowSource source) {
    reading.window_source = source;
    reading.work.window = window;
    if (reading.work.reported_duration_s <= 0) {
      reading.work.reported_duration_s = window.duration_s();
    }
    reading.load = reading.work;
    reading.has_window = true;
  }

  std::string set_up_note(Window command) const {
    const double load_s = reading.work.reported_duration_s;
    if (const int status = context.exit_status.value_or(0)) {
      return fmt::format("the command that the recorder ran ended with status {}", status);
    }
    return fmt::format(
        "the command that the recorder ran took {:.3f} s, the load {}: the energy includes its set-up",
        command.duration_s(), load_s > 0 ? fmt::format("{:.3f} s", load_s) : "less");
  }

  // What a command may be asked to accept, for its message.
  std::string acceptable() const {
    std::vector<std::string> ways;
    if (command_around() && !is_unplaced) {
      ways.emplace_back("--window estimated places it by the power inside the recorded command");
    } else if (may_be_estimated() && !options.takes_estimated) {
      ways.emplace_back("--window estimated places it by the power");
    }
    if (reading.clues.local_window) {
      ways.emplace_back("--result-timezone states its time zone");
      ways.emplace_back("--window estimated takes the recording's where the power agrees");
    }
    if (wrapped(true))
      ways.emplace_back("--window wrapped takes the whole command that the recorder ran");
    if (reading.clues.session)
      ways.emplace_back("'aggregate-power measure' shows the energy of the whole session");
    return joined_text(ways, "; ");
  }

  void refuse() {
    const std::string ways = acceptable();
    if (fault.empty() && context.window && !reading.is_only) {
      fault = "which of several benchmarks the recorded command ran is not known";
    }
    std::vector<std::string> why = {reading.no_window, fault};
    std::erase(why, std::string());
    const Obstacle obstacle = context.window ? Obstacle::recorded_command : Obstacle::none;
    Reasons counts = std::move(reading.reasons);
    reading.reasons = {};
    const std::string advice =
        !ways.empty() ? ways
        : context.window
            ? "give --start and --end"
            : "run it with 'aggregate-power-monitor run -- CMD', or give --start and --end";
    const bool is_inexact = lacks_zone || !ways.empty() || may_be_estimated();
    const std::string next = lacks_zone ? std::string() : ": " + advice;
    reading.reasons.add(is_inexact && !reading.is_of_contract ? Reason::window_not_exact
                                                              : Reason::invalid_benchmark_window,
                        fmt::format("{}{}", fmt::join(why, "; "), next), obstacle);
    reading.reasons.add(counts);
  }
};

void set_given_count(LoadReading& reading, std::int64_t Load::*count,
                     std::optional<std::int64_t> given, Reason fault) {
  if (!given) return;
  reading.work.*count = *given;
  reading.count_faults.remove(fault);
  if (reading.load) (*reading.load).*count = *given;
  reading.reasons.remove(fault);
}

// How long the load took by what the caller states; nullopt: the caller does not state it.
std::optional<double> given_duration_s(const GivenLoad& given) {
  if (given.start_unix_s && given.end_unix_s) return *given.end_unix_s - *given.start_unix_s;
  return given.duration_s;
}

// Of the whole load, a given count contradicts the result's own if more than rounding is between
// them.
void note_given_counts(const LoadReading& load, const GivenLoad& given,
                       std::vector<std::string>& notes) {
  constexpr double kRounding = 0.01;
  const double reported_s = load.work.reported_duration_s;
  const auto given_s = given_duration_s(given);
  if (given_s && reported_s > 0 && !is_length_of({0, *given_s}, reported_s)) return;
  const auto look_at = [&](const char* option, std::optional<std::int64_t> count,
                           std::int64_t own) {
    const double ratio =
        count && own > 0 ? static_cast<double>(*count) / static_cast<double>(own) : 1;
    if (std::abs(ratio - 1) <= kRounding) return;
    notes.push_back(fmt::format(
        "{} {}: the result states {}, and all that is divided by it is divided by {}: leave the option out if the result is right",
        option, *count, own, *count));
  };
  look_at("--request-count", given.requests, load.work.completed);
  look_at("--input-tokens", given.input_tokens, load.work.total_input_tokens);
  look_at("--output-tokens", given.output_tokens, load.work.total_output_tokens);
}

// Each of the three counts that the caller does not state.
template <typename Set>
void for_each_stated(const GivenLoad& given, Set set) {
  if (!given.requests) set(&Load::completed);
  if (!given.input_tokens) set(&Load::total_input_tokens);
  if (!given.output_tokens) set(&Load::total_output_tokens);
}

// The counts of a result belong to another time than its window: they are not published, and a
// report divides nothing by them.
void refuse_counts(WindowSearch& search, Reason reason, const std::string& why,
                   std::vector<std::string>& notes, std::string_view remedy = {}) {
  LoadReading& reading = search.reading;
  if (!search.options.reports) return reading.reasons.add(reason, why + std::string(remedy));
  for_each_stated(search.options.given, [&](std::int64_t Load::*count) {
    reading.work.*count = 0;
    if (reading.load) (*reading.load).*count = 0;
  });
  const GivenLoad& given = search.options.given;
  const bool has_given = given.requests || given.input_tokens || given.output_tokens;
  notes.push_back(why +
                  (has_given ? ", and only those that are given count; they must be the window's"
                             : ", so there are no joules per token") +
                  std::string(remedy));
}

// With pauses between its parts, a load takes longer than all of them, and its session longest.
bool is_of_whole_load(const LoadReading& reading, double reported_s) {
  const Window& window = reading.load->window;
  const auto& session = reading.clues.session;
  const bool may_be_longer =
      reading.clues.may_pause && session &&
      window.duration_s() <= session->duration_s() + most_difference_s(window);
  return is_length_of(window, reported_s) || (may_be_longer && window.duration_s() > reported_s);
}

// The counts of a result belong to its whole load. In a given window of another length, the
// requests that it lists count, as far as they ran there, unless the window reaches beyond them;
// without a list its counts do not belong to it.
void fit_counts(WindowSearch& search, double reported_s, std::vector<std::string>& notes) {
  const GivenLoad& given = search.options.given;
  LoadReading& reading = search.reading;
  Load& load = *reading.load;
  bool has_counts = false;
  for_each_stated(given, [&](std::int64_t Load::*count) { has_counts |= load.*count > 0; });
  if (!has_counts) return;
  const double window_s = load.window.duration_s();
  if (const auto inside = work_in(reading.requests, load.completed, load.window)) {
    const bool is_part = reach_beyond(reading.requests, load.window);
    const double without_s = without_requests_s(reading.requests, load.window);
    const bool is_own = !is_part && is_length_of(load.window, reported_s);
    if (!is_own && without_s > most_difference_s(load.window)) {
      refuse_counts(
          search, Reason::benchmark_duration_mismatch,
          fmt::format(
              "the requests of the load took {:.3f} s of the given window, which has {:.3f} s: its energy is not theirs alone",
              window_s - without_s, window_s),
          notes, "; without --start and --end the result's own times count");
    } else if (is_part) {
      const std::int64_t whole = load.total_output_tokens;
      set_work(reading, load, *inside,
               {given.requests.has_value(), given.input_tokens.has_value(),
                given.output_tokens.has_value()});
      notes.push_back(fmt::format(
          "the given window is a part of the load: {} of {} output tokens are counted, those of the requests in it",
          load.total_output_tokens, whole));
    }
  } else if (reported_s > 0 && !is_of_whole_load(reading, reported_s)) {
    refuse_counts(
        search, Reason::benchmark_duration_mismatch,
        fmt::format(
            "the load took {:.3f} s by its result, and the given window has {:.3f} s: the counts are those of the whole load",
            reported_s, window_s),
        notes, "; --start alone takes its duration");
  }
  reading.work = load;
}

// Returns false if the caller states no window.
bool set_given_window(WindowSearch& search, const GivenLoad& given,
                      std::vector<std::string>& notes) {
  if (!given.has_window()) return false;
  LoadReading& reading = search.reading;
  const double reported_s =
      reading.load ? reading.load->reported_duration_s : reading.work.reported_duration_s;
  const double duration_s = given.duration_s.value_or(reported_s);
  double start_s = given.start_unix_s.value_or(given.end_unix_s.value_or(0) - duration_s);
  double end_s = given.end_unix_s.value_or(start_s + duration_s);
  if (reading.load && !given.duration_s) {  // the other end stays as stated
    if (!given.start_unix_s) start_s = reading.load->window.start_unix_s;
    if (!given.end_unix_s) end_s = reading.load->window.end_unix_s;
  }
  for (const Reason fault :
       {Reason::invalid_benchmark_window, Reason::benchmark_duration_mismatch}) {
    reading.reasons.remove(fault);
  }
  if (!(end_s > start_s)) {
    reading.load.reset();
    reading.reasons.add(
        Reason::invalid_benchmark_window,
        "the given end is not after the start: give --start and --end, or one of them and --duration");
    return true;
  }
  if (reading.load) reading.work = *reading.load;
  reading.reasons.add(std::exchange(reading.count_faults, {}));
  reading.work.reported_duration_s = end_s - start_s;
  search.use({start_s, end_s}, WindowSource::given);
  fit_counts(search, reported_s, notes);
  return true;
}

// The command that the recorder ran, as a whole.
void use_command(WindowSearch& search, Window command, PlacedLoad& placed) {
  const bool failed = search.context.exit_status.value_or(0) != 0;
  if (failed || !search.is_as_long(command)) {
    placed.includes_set_up = true;
    placed.notes.push_back(search.set_up_note(command));
  }
  search.use(command, WindowSource::wrapped);
}

void use_placement(WindowSearch& search, PlacedLoad& placed) {
  search.use(placed.placement->window, WindowSource::estimated);
  if (placed.placement->is_in_command && search.context.exit_status.value_or(0) != 0) {
    placed.notes.push_back(search.set_up_note(*search.context.window));
  }
}

// A result laid out as InferenceX's, but without times, has those of the command that the recorder
// ran, or of the part of it that the power shows. Returns false if there is none.
bool take_command_of(WindowSearch& search, PlacedLoad& placed) {
  if (search.reading.work.reported_duration_s <= 0) return false;
  auto command = search.wrapped(false);
  if (!command && search.options.takes_estimated) placed.placement = search.estimated();
  if (!command && !placed.placement && search.is_unplaced) {
    search.reading.reasons.remove(Reason::invalid_benchmark_window);
    search.refuse();
    return true;
  }
  if (!command && search.options.takes_wrapped) command = search.wrapped(true);
  if (!command && !placed.placement) return false;
  search.reading.reasons.remove(Reason::invalid_benchmark_window);
  search.reading.reasons.add(std::exchange(search.reading.count_faults, {}));
  placed.placement ? use_placement(search, placed) : use_command(search, *command, placed);
  return true;
}

// Scales the bounds of the energy to the metrics, each of which is a share of it.
void add_intervals(Metrics& metrics, const Placement& placement) {
  for (Metric& metric : metrics) {
    const double share = metric.value / placement.energy_j;
    metric.interval = Interval{share * placement.low_j, share * placement.high_j, {}};
  }
}

// A number in the middle of wide bounds looks better known than it is.
void warn_of_width(const Placement& placement, Result& result) {
  constexpr double kWide = 0.2;
  const double width = (placement.high_j - placement.low_j) / placement.energy_j;
  if (width <= kWide) return;
  result.warnings.push_back(fmt::format(
      "where the load was is not certain: its energy may be anywhere between {:.1f} J and {:.1f} J",
      placement.low_j, placement.high_j));
}

}  // namespace

WindowOptions window_options(const RunOptions& run, const std::string& result) {
  WindowOptions options;
  options.result = result;
  options.contract = run.contract;
  options.given = run.given;
  options.takes_estimated = run.accepted_window == RunOptions::Accepted::estimated;
  options.takes_wrapped = run.accepted_window == RunOptions::Accepted::wrapped;
  options.result_zone = run.result_zone;
  options.finds_zone = run.finds_zone;
  return options;
}

WindowOptions any_window(const RunSpec& run) {
  WindowOptions options = window_options(run, run.bench_result);
  options.contract = Contract::october;
  options.takes_estimated = !options.takes_wrapped;
  options.takes_wrapped = options.reports = options.takes_session = true;
  return options;
}

void add_window_facts(const PlacedLoad& placed, const LoadReading& reading, Result& result) {
  const bool is_stated = reading.window_source == WindowSource::exact &&
                         (reading.states_window || reading.generator.empty());
  if (reading.load && !is_stated) {
    result.window_source = window_source_name(reading.window_source);
  }
  result.load_generator = reading.generator;
  const bool is_placed = placed.placement && placed.placement->energy_j > 0;
  if (is_placed && result.is_valid()) warn_of_width(*placed.placement, result);
  if (is_placed) {
    result.window_half_width_s = rounded(placed.placement->half_width_s, 3);
    result.is_window_in_command = placed.placement->is_in_command;
    add_intervals(result.metrics, *placed.placement);
  }
  const auto warn = [&](const std::string& text) { result.warnings.push_back(text); };
  if (reading.has_approximate_counts && result.is_valid()) {
    warn(
        "the tokens are means times the number of requests, or a rate times the duration: joules per token are approximate");
  }
  std::ranges::for_each(placed.notes, warn);
  std::ranges::for_each(reading.notes, warn);
  if (!reading.doubt.empty()) warn(reading.doubt);
}

PlacedLoad place_load(LoadReading reading, const Recording& recording,
                      const WindowOptions& options) {
  PlacedLoad placed{.reading = std::move(reading)};
  LoadReading& load = placed.reading;
  note_given_counts(load, options.given, placed.notes);
  set_given_count(load, &Load::completed, options.given.requests,
                  Reason::invalid_successful_query_count);
  set_given_count(load, &Load::total_input_tokens, options.given.input_tokens,
                  Reason::invalid_input_token_count);
  set_given_count(load, &Load::total_output_tokens, options.given.output_tokens,
                  Reason::invalid_output_token_count);
  WindowSearch search{load, recording, options};
  if (load.has_wrong_counts) {
    refuse_counts(search, Reason::invalid_benchmark_result, load.defect, placed.notes);
  } else if (!load.defect.empty() && options.reports) {
    placed.notes.push_back(load.defect);
  } else if (!load.defect.empty()) {
    load.reasons.add(Reason::invalid_benchmark_result, load.defect);
  }
  if (!options.reports) refuse_failed(options.contract, load);
  if (set_given_window(search, options.given, placed.notes)) return placed;
  if (!load.load && load.lacks_times && take_command_of(search, placed)) return placed;
  if (load.load || load.no_window.empty()) return placed;
  if (const auto window = search.tied()) {
    search.use(*window, WindowSource::tied);
    return placed;
  }
  if (const auto window = search.local_stated()) {
    search.use(*window, WindowSource::exact);
    return placed;
  }
  if (const auto window = search.wrapped(false)) {
    search.use(*window, WindowSource::wrapped);
    return placed;
  }
  if (options.takes_estimated) placed.placement = search.estimated();
  if (placed.placement) {
    use_placement(search, placed);
  } else if (const auto window = options.takes_estimated ? search.local_by_power() : std::nullopt) {
    search.use(*window, WindowSource::estimated);
  } else if (const auto command = options.takes_wrapped && !search.is_unplaced
                                      ? search.wrapped(true)
                                      : std::nullopt) {
    use_command(search, *command, placed);
  } else if (load.clues.session && options.takes_session) {
    search.use(*load.clues.session, WindowSource::session);
  } else {
    search.refuse();
  }
  return placed;
}

PlacedLoad placed_load(LoadReading reading, const Recording& recording,
                       const WindowOptions& options) {
  if (recording.faults().empty()) return place_load(std::move(reading), recording, options);
  if (!reading.load && !reading.no_window.empty()) reading.reasons.add(recording.faults());
  return {std::move(reading), {}, {}};
}

}  // namespace aggregate_power
