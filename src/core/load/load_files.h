// The files that a load generator leaves, and what is read from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aggregate_power/load.h"
#include "aggregate_power/reason.h"
#include "aggregate_power/request.h"
#include "base/system/byte_source.h"
#include "base/text/json_value.h"
#include "base/text/time_zone.h"

namespace aggregate_power {

inline constexpr double kNanosInSecond = 1e9;

struct NamedSource {
  ByteSource& source;
  std::string name;  // for messages
};

// The checks for a benchmark result. Schema 1 (contract.md A.3): true and false count as 1 and 0,
// the output tokens are required, the input tokens and `completed` are not. Schema 2: B.2.
enum class LoadRules { schema_1, schema_2 };

// Another file of a load.
struct LoadFile {
  std::unique_ptr<ByteSource> source;  // expanded; null: the file is missing or unreadable
  std::string name;                    // for messages; without a source: what to say about the file
  bool is_unreadable = false;
};

// The files of a load, opened by the caller, who knows where they are.
struct LoadFiles {
  // The file that identifies the load: a benchmark result; for AIPerf, profile_export.jsonl.
  std::string name;
  std::function<std::unique_ptr<ByteSource>()> open;  // expanded; called at most once
  // Opens another file of the load by its role, each at most once. If this is empty, only a load of
  // one file can be read.
  std::function<LoadFile(std::string_view role)> other = {};
  // Opens the file that the generator writes next to this one, if it is there. May be empty.
  std::function<LoadFile()> companion = {};
  LoadRules rules = LoadRules::schema_2;
  std::optional<Zone> zone = {};  // named by the user for times without an offset
  // Receives the requests of the load, as far as its files list them with their times, in any
  // order. If this is empty, lists that only it needs are skipped.
  std::function<void(const RequestTimes&)> request = {};
  bool with_warm_up = false;  // `request` also receives those before the load, which count nowhere
};

// A stamp of the wall clock.
struct WallStamp {
  double wall_s = 0;        // as if the clock showed UTC
  bool is_utc = false;      // else it is in the zone of the machine that wrote it
  double resolution_s = 1;  // the instant lies in [wall_s, wall_s + resolution_s)
};

// What a result says about when its load ran, other than its window.
struct WindowClues {
  std::optional<Window> session;         // with the set-up
  std::optional<Window> local_window;    // of the wall clock in an unknown zone, as if it were UTC
  std::optional<Window> monotonic;       // seconds of the machine's monotonic clock
  std::optional<WallStamp> start_stamp;  // the load began then, or up to half a minute later
  std::optional<WallStamp> end_stamp;    // the load ended then, or up to half a minute earlier
  std::optional<double> ends_before_s;   // Unix time
  // On the clock of end_stamp: another benchmark had ended by then, and the load began afterwards.
  std::optional<double> begins_after_wall_s;
  // The load's time from its start to its end may be longer than the duration.
  bool may_pause = false;
};

// When a request ran, and its tokens. `first_token_s` is `start_s` where it is unknown.
struct RequestSpan {
  double start_s = 0;
  double first_token_s = 0;
  double end_s = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

// What the requests of a load add up to.
struct RequestTally {
  std::int64_t listed = 0;  // with failed ones
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;     // of these, by the generator itself
  std::int64_t repeated = 0;      // listed again, with the same id and times: these count once
  std::optional<Window> window;   // from the first start to the last end
  std::int64_t input_tokens = 0;  // of those that succeeded
  std::int64_t output_tokens = 0;
  bool has_tokens = true;          // each that succeeded says both numbers
  std::vector<RequestSpan> spans;  // of those that succeeded and have times

  void take(const RequestTimes& request);
};

// What speaks against the output tokens of the requests that succeeded.
class OutputDoubts {
 public:
  // `recounted` by another tokenizer, where it is stated.
  void take(std::optional<std::int64_t> tokens, std::optional<std::int64_t> recounted);
  std::vector<std::string> texts(std::string_view name, std::string_view recount) const;

 private:
  std::int64_t requests_ = 0;
  std::int64_t empty_ = 0;
  double tokens_ = 0;  // of those with both counts
  double recounted_ = 0;
};

// Recognizes requests that a file lists twice, such as an export joined with its copy.
class SeenRequests {
 public:
  // Whether a request of this id, or of this place in the load, and these times was here before.
  // One without times is always another one; so is one without an id and a place, unless its times
  // are finer than 1 ms.
  bool is_repeated(std::string_view id, const RequestTimes& request, std::string_view place = {});

  // Why requests without an id, with coarse times or only latencies, are probably a copy: each was
  // here with its times and tokens twice, or three times. Empty: they are others.
  std::string doubt() const;

 private:
  std::unordered_set<std::uint64_t> seen_;  // by a hash
  std::unordered_set<std::uint64_t> alike_;
  std::unordered_set<std::uint64_t> alike_again_;  // of these, those that came again
  std::size_t coarse_ = 0;
};
std::string repeated_text(std::int64_t repeated);

// The load cannot reach back to the end of a benchmark that was written earlier.
void fence(const WallStamp& other, WindowClues& clues);

struct LoadReading {
  std::optional<Load> load = {};  // nullopt: there is no window, or its counts cannot be used
  Reasons reasons = {};
  bool has_window = false;               // any faults concern only the counts
  Reasons count_faults = {};             // of a load without a window, once one is given
  std::string model = {};                // that it names; empty: none
  JsonValue max_concurrency = {};        // a number, true or false; for anything else only the kind
  std::uint64_t failed_requests = 0;     // failed, cancelled or cut off; without the warm-up
  std::uint64_t cut_off_requests = 0;    // of these, under way when the load ended
  std::uint64_t cancelled_requests = 0;  // of these, by the generator itself, as it was told to
  std::optional<Zone> captured_zone = {};  // of the machine that generated the load, from one of
                                           // its files
  // Why the window can hardly match the requests, for people; empty: it can.
  std::string doubt = {};

  bool states_window = false;     // as InferenceX does
  bool lacks_times = false;       // it has that layout, and neither start nor end
  bool is_of_contract = false;    // InferenceX's older results: without a window they are invalid
  std::string defect = {};        // why the result must not be published; empty: nothing
  bool has_wrong_counts = false;  // by the defect: nothing is divided by them
  std::string failure = {};       // why the benchmark counts as failed; empty: it does not

  // ---- Of the generators in the table of formats.
  std::string_view generator = {};  // empty: a result that states its window as InferenceX does
  WindowSource window_source = WindowSource::exact;
  bool is_on_recorders_clock = false;  // its local times were read in the zone of the recording
  Load work = {};                      // the counts and the duration; its window is not used
  WindowClues clues = {};
  std::string no_window = {};  // why the result has no exact window, in the generator's terms
  // Which of several benchmarks in a file this is: "request_rate" and "4.0".
  std::vector<std::pair<std::string, std::string>> settings = {};
  // How the run was run, by the names that aggregates use: "tp" and "8"; a name may come twice.
  std::vector<std::pair<std::string, std::string>> configuration = {};
  std::vector<std::string> notes = {};  // what is special about the counts, for people
  bool has_approximate_counts = false;  // means times the number of requests
  bool is_only = true;                  // no other benchmark is in the result
  bool is_last = true;                  // no other benchmark follows in it
  RequestTally requests = {};
  std::optional<double> stated_energy_j = {};  // the generator's own figure
  // The generator's own judgement by the limits that it was given.
  std::optional<double> stated_good = {};           // requests
  std::optional<double> stated_goodput_per_s = {};  // requests
  // In which unit the latencies of its requests are stated; 0: in one that is not known.
  double latency_unit_s = 1;
  std::optional<bool> stated_constraints_met = {};
  std::optional<std::int64_t> gpus = {};  // GPUs that the result names
  std::string gpus_fault = {};  // "'tp' is \"two\"": it names a number, and none can be read
};

}  // namespace aggregate_power
