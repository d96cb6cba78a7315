// Compares sets of published runs, configuration by configuration: is a change certain, certainly
// small, or not known well enough?
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/facility.h"
#include "aggregate_power/request.h"
#include "base/files/tree.h"
#include "decide/compare/change.h"
#include "decide/compare/power.h"
#include "runs/evaluate/run_options.h"
#include "store/catalogue/published_runs.h"

namespace aggregate_power {

// Whether runs were measured on the same boards, and what that means for their comparison.

enum class Boards {
  same,          // the UUIDs of the GPUs are equal
  assumed_same,  // no UUIDs; ids, hardware and hosts are equal as far as they are known
  different,
};

std::string_view boards_name(Boards boards);

// None may be nullptr.
Boards boards_of(const std::vector<const PublishedRun*>& runs);

// What boards_of() and are_of_one_model() see of these runs: equal texts are alike to them.
std::string boards_text(const std::vector<const PublishedRun*>& runs);

// Whether all runs state the hardware, and the same. None may be nullptr.
bool are_of_one_model(const std::vector<const PublishedRun*>& runs);

// What the sensors of a run's boards do to an energy: relative standard uncertainties.
struct SensorDoubt {
  double shared_gain = 0;  // alike for all boards of one model; negative below the pivot
  double own = 0;
};

// By the public measurements of other boards, for a run that states none itself.
SensorDoubt prior_doubt(const PublishedRun& run);

// Of the ratio of two sides, whose doubts are the largest of their runs. Between boards of one
// model only what their shared gains differ by is left of these. Neither side is empty.
double doubt_of_ratio(const std::vector<SensorDoubt>& base, const std::vector<SensorDoubt>& next,
                      bool are_of_one_model);

inline constexpr const char* kDefaultCompareMetric = "joules_per_output_token";

enum class ChangeVerdict { worse, better, equivalent, insufficient };

std::string_view change_verdict_name(ChangeVerdict verdict);

// How runs are compared.
struct CompareRule {
  std::string metric;
  bool is_higher_better = false;
  double margin = 0;  // relative: changes that are certainly within it are equivalent
  // Empty: all members that are known to say how a run was run.
  std::vector<std::string> match_by = {};
  std::optional<Boards> boards = {};  // instead of what the runs say
  // How often all intervals together may miss: smaller for one of several looks.
  double alpha = kChangeAlpha;
};

struct ExcludedRun {
  std::string file;
  bool is_new = false;  // of the new side
  std::string reason;
};

// The mean of several runs, and the widest of their intervals of 95 %; infinite: one has none.
struct NumberOfRuns {
  double value = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// The runs of one configuration on one side that count.
struct ComparedSide {
  std::vector<std::string> files;  // sorted, in the order of the values
  RepeatedValues repeats;
  std::optional<RepeatStatistics> statistics;  // absent: no run is left, or `endless`
  // Which run has no good work, so that the mean of the side is infinite or 0; empty: none.
  std::string endless = {};
  std::optional<NumberOfRuns> missed_share = {};  // of the energy; only with an objective
};

struct RunComparison {
  Configuration configuration;
  std::string label;  // the members that differ from those of others
  ComparedSide base;
  ComparedSide next;
  bool uses_estimates = false;  // of the uncertainty of all runs, instead of published numbers
  Boards boards = Boards::assumed_same;
  double accuracy = 0;  // between different boards
  // How far off a run may be, relative, where that widens the interval; 0: it does not.
  double estimated_share = 0;
  std::optional<RelativeChange> change;
  ChangeVerdict verdict = ChangeVerdict::insufficient;
  std::string lack;                // why it is insufficient, and what to do
  std::vector<std::string> notes;  // what was assumed, and what to look at
  std::vector<ExcludedRun> excluded;
};

enum class CompareKind {
  two_sides,
  base_alone,  // repeats are summarized
  mirrored,    // the base is also the new side: what the gate sees of runs that did not change
};

// How much less the best of several configurations of the same work uses than another one.
struct ChangeToBest {
  std::size_t best = 0;  // their places in `comparisons`
  std::size_t other = 0;
  RunComparison comparison;  // the other one is the base
};

struct RunComparisons {
  CompareRule rule;
  CompareKind kind = CompareKind::two_sides;
  Configuration shared = {};  // the members that all configurations share, if there are several
  std::vector<RunComparison> comparisons = {};  // in the order of their configurations
  // Of configurations that have no power on either side: not compared.
  std::vector<ExcludedRun> without_power = {};
  std::vector<std::string> warnings = {};
  std::vector<std::string> notes = {};
  FacilityRates rates = {};
  std::vector<ChangeToBest> to_best = {};  // of the base alone: the first ones, the nearest first
};

struct CompareRequest {
  CompareRule rule;
  std::vector<std::string> base;
  std::vector<std::string> next;
  FacilityOptions facility = {};  // what they cost and emit is a metric, too
  Slo slo = {};                   // so is what their good work used
  CompareKind kind = CompareKind::two_sides;
  bool parts_limits = false;  // runs at several power limits are of several configurations
  RunSpec measuring = {};     // how runs are measured that nothing is published of
  StoreAccess access = {};
  unsigned most_threads = 1;
};

// Throws FileError for a place that cannot be opened; Error for one that holds nothing of the kind,
// for a run on both sides, and for a metric or member that no run has.
RunComparisons compare_runs(const CompareRequest& request);

// Computes the statistics of each side from its values.
void summarize_sides(RunComparison& comparison);
// The same, with the change and the verdict.
void judge_change(RunComparison& comparison, const CompareRule& rule);
// Fills in why the verdict is insufficient, where nothing says it yet.
void explain_lack(RunComparison& comparison, const CompareRule& rule);

// The repeats of one configuration, or the change from `base` to `next` if that is not empty, as
// compare_runs() has them; that also names differing limits, and explains what is lacking.
RunComparison compare_repeats(std::vector<const PublishedRun*> base,
                              std::vector<const PublishedRun*> next, const CompareRule& rule);

// For each pair of sides, at base * sides + next, whether the change is certainly above 0, as
// compare_repeats() has it, in much less time. Estimates count where all runs have one.
std::vector<bool> certain_rises(std::vector<std::vector<const PublishedRun*>> sides,
                                const CompareRule& rule);

// The verdict of all: worse before insufficient, better before equivalent. `decided_by` is the
// comparison with that verdict and the largest change; nullptr: there are none.
struct OverallVerdict {
  ChangeVerdict verdict = ChangeVerdict::insufficient;
  const RunComparison* decided_by = nullptr;
};
OverallVerdict overall_verdict(const RunComparisons& compared);

// Whether a metric of this name is one of which more is better.
bool is_higher_better_by_name(std::string_view metric);

// ---- Whether a comparison could have said "worse": the same runs, made worse by known amounts.

struct GateTrial {
  double amount = 0;  // 0.01: 1 % more of what less is better, or less of what more is better
  ChangeVerdict verdict = ChangeVerdict::insufficient;
  std::optional<RelativeChange> change;
};

struct GateTest {
  const RunComparison* comparison = nullptr;
  std::vector<GateTrial> trials = {};
  std::optional<double> smallest_caught = {};  // all larger ones are caught as well
};

// One for each comparison, which must live as long. Nothing is written.
std::vector<GateTest> test_gate(const RunComparisons& compared);

// Whether there is a configuration, and something is caught in each.
bool gate_can_fail(const std::vector<GateTest>& tests);

// ---- What a comparison came to, for people, pull requests and programs.

enum class CompareFormat { table, json, markdown };

// Of two sides, or of the base alone.
std::string comparison_text(const RunComparisons& compared, CompareFormat format);

// What the gate would have caught.
std::string gate_test_text(const RunComparisons& compared, CompareFormat format);

// ---- The order of configurations, and what tells them apart.

// Numbers by their value: "conc=8" is before "conc=16".
struct ConfigurationLess {
  bool operator()(const Configuration& a, const Configuration& b) const;
};

// The members that say what was asked for: configurations that differ in these do other work.
Configuration work_of(const Configuration& configuration);

// The members that all of several configurations have with the same value. Empty for a single one.
Configuration shared_members(const std::vector<Configuration>& configurations);

// The members that are not shared, in the order in which they appear; all of a single one.
std::vector<std::string> distinguishing_keys(const std::vector<Configuration>& configurations);
// A configuration by such members: "tp=8 conc=16". One that lacks a member of others has "tp=?".
std::string distinguishing_text(const Configuration& configuration,
                                const std::vector<std::string>& keys);

// ---- Whether runs that are compared were at one power limit.

using LimitsByRun = std::map<const PublishedRun*, double>;

// The limits that are known, in watts: of valid runs, by the members of their aggregates; of up to
// 200 runs also by their recordings, which are read, and which name the boards (`gpu_uuids`) of
// runs whose records do not.
LimitsByRun limits_by_run(const std::vector<PublishedRun*>& runs, unsigned most_threads);

// What is odd about the limits of the two sides of a comparison, for people; `next` may be empty.
std::vector<std::string> limit_notes(const LimitsByRun& limits_w,
                                     const std::vector<const PublishedRun*>& base,
                                     const std::vector<const PublishedRun*>& next);

// ---- The good work of published runs, by the requests that their load generators listed.

namespace compare {

inline constexpr const char* kGoodMetric = "joules_per_good_output_token";
inline constexpr const char* kSloHolds = "slo_holds";  // 1 or 0
inline constexpr const char* kMissedShare = "missed_energy_share";
// Of prefill and decode workers.
inline constexpr const char* kGoodRoleKeys[] = {"prefill_joules_per_good_output_token",
                                                "decode_joules_per_good_output_token"};

// Whether it is the name of a number that add_good_numbers() adds.
bool is_good_key(std::string_view key);

// "p90_ttft_s": the latency that so many of the requests kept.
std::string latency_key(const SloLimit& limit);

// Of a number that some run lacks, the value is infinite.
NumberOfRuns number_of_runs(const std::vector<const PublishedRun*>& runs, std::string_view key);

// "30.0 % (28.1 to 32.4) of the energy for requests that missed it"
std::string missed_share_text(const NumberOfRuns& share);

// Adds what good_numbers() has to the numbers of valid runs, slo_holds, and the latency of each
// limit; of at most 200 runs also missed_energy_share, by their recordings, which are read. Runs
// without a list of requests are named in `warnings`, and get none.
void add_good_numbers(const Slo& slo, unsigned most_threads, const std::vector<PublishedRun*>& runs,
                      std::vector<std::string>& warnings);

}  // namespace compare

}  // namespace aggregate_power
