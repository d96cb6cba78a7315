// One request of a load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/metric.h"

namespace aggregate_power {

// Times are seconds of one clock: the Unix clock, or a monotonic one.
struct RequestTimes {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  double start_s = kUnknown;
  double first_token_s = kUnknown;  // its answer begins: prefill before it, decode after it
  double end_s = kUnknown;
  std::int64_t input_tokens = -1;  // -1: unknown
  std::int64_t output_tokens = -1;
  bool failed = false;
  bool cancelled = false;  // failed, because the load generator cancelled it as it was told to
  bool is_warm_up = false;
  std::string id = {};  // empty: the file has none
  // Of a list that states how long a request took, and not when.
  double stated_ttft_s = kUnknown;
  double stated_e2e_s = kUnknown;

  bool has_times() const { return end_s >= start_s; }  // false if one is unknown
};

// ---- A service level objective (SLO), and the work that met it.

enum class LatencyKind {
  ttft,  // time to the first token: first token - start
  tpot,  // time per output token: (e2e - ttft) / (output tokens - 1), as vLLM's benchmark has it
  e2e,   // end - start
};
std::string_view name(LatencyKind kind);

struct SloLimit {
  LatencyKind kind = LatencyKind::e2e;
  double most_s = 0;
  double share = 1;       // of the requests that must keep it, for the objective to hold
  std::string text = {};  // "p90:ttft=500ms"
};

struct Slo {
  std::vector<SloLimit> limits = {};

  bool is_asked() const { return !limits.empty(); }
  std::string text() const;  // "p90:ttft=500ms,tpot=30ms"
};

struct GoodWork {
  Slo slo = {};
  std::string refused = {};  // a word why there are no numbers; empty: there are
  std::string why = {};      // the same in a sentence
  std::string source = {};   // the file with the requests
  std::size_t requests = 0;  // that count: the sum of the next four
  std::size_t good = 0;      // kept every limit
  std::size_t late = 0;
  std::size_t failed = 0;
  std::size_t unknown = 0;  // succeeded, and lack a time or a count that a limit needs
  // That do not count.
  std::size_t outside = 0;  // did not end in the window
  std::size_t warm_up = 0;
  std::size_t cancelled = 0;                 // by the load generator, as it was told to
  Interval good_share = {};                  // Wilson's interval of good / requests
  std::vector<std::size_t> kept = {};        // by limit: requests that kept it
  std::vector<Interval> range_s = {};        // by limit: the least and the most latency
  std::optional<double> output_tokens = {};  // of good requests, in the window; nullopt: unknown
  double duration_s = 0;
  // Of the whole window, and of the requests that count and are not good; 95 %.
  std::optional<double> energy_j = {};
  std::optional<Interval> energy_bounds_j = {};
  std::optional<double> missed_j = {};
  std::optional<Interval> missed_bounds_j = {};
  std::vector<std::string> assumptions = {};

  // Whether the limit of this place was kept by its share of the requests.
  bool holds(const SloLimit& limit, std::size_t place) const;
  bool holds() const;  // each limit
  double per_second(double count) const { return duration_s > 0 ? count / duration_s : 0; }
};

// ---- Correct answers

struct AnswerQuality {
  std::string source = {};     // the file; empty: the caller states it
  std::string evaluator = {};  // "lm-evaluation-harness"
  std::string what = {};       // "gsm8k, exact_match,strict-match"
  std::string model = {};      // as the file names it; empty: it does not
  double accuracy = 0;         // the share of the questions that were answered correctly
  std::int64_t questions = 0;
};

// The joules of a request over the share of correct answers, which another run of the same model
// may have given.
struct CorrectAnswers {
  AnswerQuality quality = {};
  Interval accuracy_bounds = {};  // Wilson
  std::string refused = {};       // why there are no joules, in a sentence; empty: there are
  std::optional<double> joules = {};
  std::optional<Interval> bounds = {};
};

// ---- What the requests of a load used, and what their phases did.

// By what the power at an instant is shared among the requests in flight.
enum class RequestShare {
  equal,
  tokens,  // output tokens over the request's lifetime
  phase,   // the watts of the phase that each request is in
};
std::string_view name(RequestShare share);

// Joules within the window of a run.
struct RequestEnergy {
  RequestShare share = RequestShare::equal;
  std::string source;              // the file with the requests
  std::size_t requests = 0;        // that were in flight in the window, with failed ones
  std::size_t without_times = 0;   // of which nothing is known
  std::size_t without_bounds = 0;  // shorter than the sensor's window, or not resolved
  // Of all requests without bounds together; nullopt: no intervals were asked for.
  std::optional<double> unresolved_j = {};
  std::optional<double> unattributed_j =
      {};  // while nothing was in flight; nullopt: nothing is shared
  double mean_j = 0;
  double p50_j = 0;
  double p95_j = 0;
  double failed_j = 0;
  std::vector<std::string> assumptions = {};
  std::vector<std::string> refused = {};  // why the power is not shared; then there are no numbers
};

// The interval of an energy that is shared out by times: of a request, a kernel or a layer.
struct PlacedInterval {
  std::string_view none = {};  // why there is no interval; empty: there is one
  double joules = 0;           // the middle
  double low_j = 0;
  double high_j = 0;
};

enum class PhaseModel {
  counts,  // idle power, and a power for each request in a phase
  states,  // the power of an idle, of a prefilling and of a decoding server
};
std::string_view name(PhaseModel model);

// A power with its standard error, and the energy that it makes of the window.
struct PhasePower {
  double watts = 0;
  double standard_error_w = 0;
  double energy_j = 0;
  double energy_standard_error_j = 0;
};

struct PhaseEnergy {
  std::vector<std::string> refused = {};  // if set, nothing below is
  PhaseModel model = PhaseModel::counts;
  double r2 = 0;
  double condition = 0;  // of the correlations of what the power is explained by
  double sensor_window_s = 0;
  std::optional<PhasePower> idle = {};  // nullopt: the server never was
  // Counts: of each request in the phase. States: of the server; the energy of decode includes
  // that of further requests.
  PhasePower prefill = {};
  PhasePower decode = {};
  std::optional<PhasePower> further_decode =
      {};  // states: of each but the first, in the state decode
  std::optional<double> joules_per_input_token = {};
  std::optional<double> joules_per_output_token = {};
  double unexplained_j = 0;
  std::vector<std::string> assumptions = {};
};

}  // namespace aggregate_power
